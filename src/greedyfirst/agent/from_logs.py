"""The part of an agent that learns logs of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from greedyfirst.agent import stored_state
from greedyfirst.agent.noise_sums import linear_model_of, miss, sums_of
from greedyfirst.agent.running_policy import RunningPolicy
from greedyfirst.validation import flag

if TYPE_CHECKING:
    from distributed import Client


class FromLogs(RunningPolicy):
    """What ``update`` would do row by row, by sums."""

    def learn_from(
        self,
        dataset: Any,
        *,
        arm: str = "arm",
        reward: str = "reward",
        rewarded_only: bool = False,
        n_jobs: int = 1,
        engine: Client | None = None,
        progress: bool | None = None,
    ) -> int:
        """Learn a log of any size, as ``update`` with ``step=0`` would row by row; how many rows.

        Memory is bounded, and sums are made on threads or on a Dask cluster:
        :mod:`greedyfirst.agent.learning_from_logs` says how. If a row is refused, or the cluster
        is lost, the agent is as it was.

        Parameters
        ----------
        dataset
            Parquet, Arrow, CSV or TSV: a file, a folder, several of these, or a
            ``pyarrow.dataset`` of files. Rows are learned in the files' order, a folder's by name.
            Contexts are made of its columns by the agent's schema; without one, columns have the
            names of the features.
        arm, reward
            The columns of the arm that was taken, by name or number, and of its reward.
        rewarded_only
            Leave out rows without a reward, which are refused otherwise.
        n_jobs
            Threads; -1 is one per processor. The result is the same, bit for bit, for any number.
        engine
            A ``dask.distributed.Client``, whose workers then take the place of threads. They must
            see the same files. The result is the same, bit for bit.
        progress
            Whether to show a progress bar; None shows it on a terminal.
        """
        from greedyfirst.agent import learning_from_logs  # slow to import, and seldom needed

        if progress is not None:
            flag("progress", progress)
        learned = learning_from_logs.learn_from(
            self,
            dataset,
            arm=arm,
            reward=reward,
            rewarded_only=flag("rewarded_only", rewarded_only),
            n_jobs=n_jobs,
            engine=engine,
            progress=progress,
        )
        self._make_room(learned.rows)
        model = linear_model_of(self.state) if self.noise.kept else None
        before = None if model is None else sums_of(model)
        stored_state.fill(self.state, dict(learned.state.arrays()))
        if model is not None:
            miss(self.noise, model, before)
        self.foreign += learned.rows
        return learned.rows
