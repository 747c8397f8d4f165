"""How diverse each arm's samples are, in the decision-maker's words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from greedyfirst.compiling.families import member_of
from greedyfirst.policies.greedy_first.arm_by_arm import ArmWatch
from greedyfirst.policies.greedy_first.watch import POOLED, Watch
from greedyfirst.validation import FloatArray

#: What is measured of an arm's samples: what ``min_eigenvalue`` and ``threshold`` are.
Measure = Literal["smallest eigenvalue", "share of samples", "share of what is known"]
#: The measures where arms are explored one by one: by rule 1, and by both rules.
FIRST_SHARES: Measure = "share of samples"
SHARES: tuple[Measure, ...] = (FIRST_SHARES, "share of what is known")


@dataclass(frozen=True, kw_only=True)
class ArmDiversity:
    """One arm's samples.

    Examples
    --------
    >>> from greedyfirst import Agent, GreedyFirst
    >>> agent = Agent(GreedyFirst(), n_arms=2, n_features=1, seed=1, arm_names=["low", "high"])
    >>> agent.update([1.0], 0, 1.0)
    >>> low, high = agent.diversity().arms
    >>> low.name, low.pulls, high.pulls
    ('low', 1, 0)
    """

    name: str
    pulls: int
    #: λ_min of the arm's Gram matrix (inside the span of all contexts, if the policy tests there).
    #: Where arms are explored one by one: the smallest share that the arm holds, in any direction,
    #: of all that is known; 0 to 1, and 1 before the first reward. By rule 1 of all samples.
    min_eigenvalue: float
    #: λ₀t/4, or the share that an arm needs in every direction, 0.6/K (by rule 1 0.05/K, K the arms
    #: that are not dropped); None when nothing is tested (yet).
    threshold: float | None
    #: About how many more samples at usual contexts would lift the value to the threshold; None
    #: when nothing is tested, or when no number of them would.
    samples_needed: int | None
    #: The direction in which the arm falls shortest: weight by feature name, largest first; of
    #: shares, for features in their own units.
    weakest_direction: dict[str, float]
    #: The number of rewards at which the arm tripped the test, None if it has not.
    tripped_at: int | None
    dropped: bool
    #: Whether the arm is tested.
    watched: bool
    #: Where arms are explored one by one: whether it starves, that is, lacks its share in some
    #: direction; whether it then gets the benefit of the doubt; and the number of rewards at which
    #: it was found to be fed last; else None. An arm that is surely worse starves for good.
    starving: bool | None = None
    explored: bool | None = None
    fed_at: int | None = None


@dataclass(frozen=True, kw_only=True)
class DiversityReport:
    """All arms' samples and what the policy made of them.

    Examples
    --------
    >>> from greedyfirst import Agent, GreedyFirst
    >>> agent = Agent(GreedyFirst(), n_arms=2, n_features=1, seed=1)
    >>> agent.update([1.0], 0, 1.0)
    >>> report = agent.diversity()
    >>> report.rewards, report.mode, len(report.arms)
    (1, 'greedy', 2)
    """

    arms: tuple[ArmDiversity, ...]
    #: Rewards so far.
    rewards: int
    #: "greedy" or, while all arms are explored, "fallback" for Greedy-First; else "not tested".
    mode: str
    #: λ₀ in force, None until it is estimated.
    lambda0: float | None
    #: The number of rewards at which the fallback took over, None while it has not.
    switched_at: int | None
    #: The arm that tripped the test last.
    culprit: str | None
    #: Smallest eigenvalues computed for the test so far.
    eigenvalue_computations: int
    #: What is measured: shares where arms are explored one by one.
    measure: Measure = "smallest eigenvalue"
    #: Where arms are explored one by one: the number of rewards at which the policy looked last at
    #: which of them starve. The shares here are those of now.
    looked_at: int | None = None

    def __repr__(self) -> str:
        return f"DiversityReport({len(self.arms)} arms, {self.rewards} rewards: {self.mode})"

    def __str__(self) -> str:
        lines = [
            f"{'arm':<16}{'pulls':>8}{'min eigenvalue':>16}{'threshold':>12}  weakest direction"
        ]
        shares = self.measure in SHARES
        if shares:
            lines = [f"{'arm':<16}{'pulls':>8}{'least share':>16}{'needed':>12}  weakest direction"]
        for arm in self.arms:
            threshold = "-" if arm.threshold is None else f"{arm.threshold:.4g}"
            direction = ", ".join(
                f"{weight:+.2f} {name}" for name, weight in list(arm.weakest_direction.items())[:3]
            )
            mark = " (dropped)" if arm.dropped else ""
            lines.append(
                f"{arm.name + mark:<16}{arm.pulls:>8}{arm.min_eigenvalue:>16.4g}{threshold:>12}"
                f"  {direction}"
            )
        if shares:
            starving = [arm for arm in self.arms if arm.starving and not arm.dropped]
            lines += [_in_words(arm, self.measure, self.looked_at) for arm in starving]
        if self.switched_at is not None and shares:
            lines.append(f"all arms are explored since reward {self.switched_at}")
        elif self.switched_at is not None:
            cause = "by hand" if self.culprit is None else f"because of {self.culprit}"
            lines.append(f"switched after {self.switched_at} rewards, {cause}")
        elif self.culprit is not None and not shares:
            lines.append(f"alarm: {self.culprit} does not get diverse enough samples")
        return "\n".join(lines)


def _in_words(arm: ArmDiversity, measure: Measure, looked_at: int | None) -> str:
    """Whether an arm starved at the last look, and what is done about it."""
    look = "" if looked_at is None else f" by the look at reward {looked_at}"
    since = "" if arm.tripped_at is None else f" (alarm since reward {arm.tripped_at})"
    where = "where it may be best" if measure == FIRST_SHARES else "for the people whom it lacks"
    doing = f"its score is raised {where}" if arm.explored else "nothing is done about it"
    return f"{arm.name} starves{look}{since}: {doing}"


class Reported(Protocol):
    """What a report needs of an agent."""

    policy: Any
    state: Any
    arm_names: tuple[str, ...]
    feature_names: tuple[str, ...]

    @property
    def rewards(self) -> int:
        """Rewards learned from so far."""

    @property
    def dropped(self) -> np.ndarray:
        """Which arms are never chosen any more (n_arms,)."""


def report(agent: Reported) -> DiversityReport:
    """How diverse each arm's samples are."""
    watch = agent.policy.watch(agent.state)
    model = _watched_model(agent, watch)
    arms = (
        _share_reports(agent, watch, model)
        if isinstance(watch, ArmWatch)
        else _eigenvalue_reports(agent, watch, model)
    )
    if watch is None:
        return DiversityReport(
            arms=arms,
            rewards=agent.rewards,
            mode="not tested",
            lambda0=None,
            switched_at=None,
            culprit=None,
            eigenvalue_computations=0,
        )
    return DiversityReport(
        arms=arms,
        rewards=agent.rewards,
        mode="fallback" if watch.explores else "greedy",
        lambda0=watch.lambda0 or None,
        switched_at=watch.switched_at or None,
        culprit=None if watch.culprit < 0 else agent.arm_names[watch.culprit],
        eigenvalue_computations=watch.eigenvalue_computations,
        measure=watch.measure,
        looked_at=(watch.last_look or None) if isinstance(watch, ArmWatch) else None,
    )


def _eigenvalue_reports(
    agent: Reported, watch: Watch | None, model: Any
) -> tuple[ArmDiversity, ...]:
    """Each arm's smallest eigenvalue."""
    grams, outside = model.gram, _outside_span(agent, watch)
    usual = grams.sum(axis=0) / max(agent.rewards, 1)
    return tuple(
        _arm_report(agent, watch, arm, grams[arm], int(model.pulls[arm]), outside, usual)
        for arm in range(len(agent.arm_names))
    )


def _share_reports(agent: Reported, watch: ArmWatch, model: Any) -> tuple[ArmDiversity, ...]:
    """Each arm's smallest share, as the policy found or would find it now."""
    needed, shares, directions = watch.measured(model, agent.dropped)
    reports = []
    explored = (watch.explored | watch.explores) & ~agent.dropped
    for arm, name in enumerate(agent.arm_names):
        share, weakest = float(shares[arm]), directions[arm]
        order = np.argsort(-np.abs(weakest), kind="stable")
        missing = (needed - share) * agent.rewards / (1.0 - needed)
        reports.append(
            ArmDiversity(
                name=name,
                pulls=int(model.pulls[arm]),
                min_eigenvalue=share,
                threshold=needed,
                samples_needed=max(math.ceil(missing), 0) if agent.rewards else None,
                weakest_direction={agent.feature_names[i]: float(weakest[i]) for i in order},
                tripped_at=int(watch.tripped_at[arm]) or None,
                dropped=bool(agent.dropped[arm]),
                watched=not watch.exempt[arm],
                starving=bool(watch.starving[arm]),
                explored=bool(explored[arm]),
                fed_at=int(watch.fed_at[arm]) or None,
            )
        )
    return tuple(reports)


def _watched_model(agent: Reported, watch: Watch | None) -> Any:
    """The model whose samples are tested, or the policy's own."""
    model = agent.state.greedy.model if watch is not None else getattr(agent.state, "model", None)
    if model is None:
        name = type(agent.policy).__name__
        raise ValueError(f"policy must be one that keeps a model of its samples: {name} does not")
    return model


def _outside_span(agent: Reported, watch: Watch | None) -> FloatArray:
    """Rows that span what no context has had, where the policy tests inside the span; else none."""
    n_features = len(agent.feature_names)
    if watch is None or watch.options.span != POOLED:
        return np.zeros((0, n_features))
    return watch.basis[: n_features - watch.rank]


def _arm_report(
    agent: Reported,
    watch: Watch | None,
    arm: int,
    gram: FloatArray,
    pulls: int,
    outside: FloatArray,
    usual: FloatArray,
) -> ArmDiversity:
    tested = gram + (np.trace(gram) + 1.0) * outside.T @ outside
    values, directions = np.linalg.eigh(tested)
    weakest = directions[:, 0]
    order = np.argsort(-np.abs(weakest), kind="stable")
    rounding = len(values) * np.finfo(float).eps * max(values[-1], 0.0)
    smallest = float(values[0]) if values[0] > rounding and math.isfinite(values[0]) else 0.0
    line, rise = _threshold(watch, arm)
    gain = float(weakest @ usual @ weakest)
    return ArmDiversity(
        name=agent.arm_names[arm],
        pulls=pulls,
        min_eigenvalue=smallest,
        threshold=line,
        samples_needed=_samples_needed(smallest, line, rise, gain) if agent.rewards else None,
        weakest_direction={agent.feature_names[i]: float(weakest[i]) for i in order},
        tripped_at=None if watch is None else int(watch.tripped_at[arm]) or None,
        dropped=bool(agent.dropped[arm]),
        watched=watch is not None and not watch.exempt[arm],
    )


def _threshold(watch: Watch | None, arm: int) -> tuple[float | None, float]:
    """What an arm's value must not fall below now, and how much that rises in a round."""
    if watch is None or watch.lambda0 == 0.0:
        return None, 0.0
    formula, age = member_of(watch.options.statistic).threshold, watch.clock - watch.since[arm]
    return float(formula(watch.lambda0, float(age))), float(formula(watch.lambda0, 1.0))


def _samples_needed(
    smallest: float, threshold: float | None, rise: float, gain: float
) -> int | None:
    """Pulls at usual contexts after which the value would be at the line, if each adds ``gain``.

    Each also moves the line by one round's ``rise``; if that is more than it adds, none would do.
    """
    if threshold is None:
        return None
    if smallest >= threshold:
        return 0
    return math.ceil((threshold - smallest) / (gain - rise)) if gain > rise else None
