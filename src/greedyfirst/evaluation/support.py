"""Whether a log can tell what a target would have earned: overlap of what both would do."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from greedyfirst.evaluation.logged_data import LoggedData
from greedyfirst.validation import FloatArray

#: More of the target's decisions without support than this, for certain, and nothing is estimated.
TOLERATED = 0.05
#: Standard errors that count as certain.
CERTAIN = 3.0
#: Informative rows below which intervals may be too narrow, and below which nothing follows.
FEW_ROWS, TOO_FEW_ROWS = 50.0, 10.0
#: A smaller share of informative rows is that of rare rewards: clicks, or a few very large ones.
RARE = 0.15


@dataclass(frozen=True, kw_only=True)
class Support:
    """How far the log covers what the target would do.

    Where a log takes every arm that the target would take, weights average 1. What is missing of
    that is the share of the target's decisions that the log would never have made.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.evaluation import LoggedData, always, evaluate
    >>> arms = np.arange(1000) % 2
    >>> log = LoggedData(contexts=np.ones((1000, 1)), arms=arms, rewards=1.0 * arms,
    ...                  propensities=np.full(1000, 0.5), arm_names=["old", "new"])
    >>> support = evaluate(log, always(log, "new")).support
    >>> support.missing, support.too_few
    (False, False)
    """

    #: The share of the target's decisions without support, and its standard error.
    unsupported: float
    standard_error: float
    #: (Σw)²/Σw²: as many rows of a log made by the target would tell as much.
    effective_sample_size: float
    #: The same, of rows that tell something: where nearly all rewards are 0 the others count, of
    #: normal ones a third.
    informative_rows: float
    #: Whether nearly all rewards are alike, so that the few others decide.
    rare_rewards: bool
    #: Arms that the target would take and the log never took, with their shares.
    never_taken: dict[str, float]
    deterministic: bool

    @classmethod
    def of(cls, log: LoggedData, target: FloatArray, weights: FloatArray) -> Support:
        """What the weights say."""
        total, squares = float(weights.sum()), float((weights**2).sum())
        effective = total**2 / squares if squares else 0.0
        shares = target.mean(axis=0)
        informative = _informative_share(log.rewards)
        untaken = np.setdiff1d(np.flatnonzero(shares > 0), log.arms)
        return cls(
            unsupported=1.0 - total / len(log),
            standard_error=float(weights.std(ddof=1)) / math.sqrt(len(log))
            if len(log) > 1
            else 1.0,
            effective_sample_size=effective,
            informative_rows=effective * informative,
            rare_rewards=informative < RARE,
            never_taken={log.arm_names[arm]: float(shares[arm]) for arm in untaken},
            deterministic=bool(log.propensities is not None and (log.propensities == 1.0).all()),
        )

    @property
    def missing(self) -> bool:
        """Whether too much of what the target would do is surely not in the log."""
        if sum(self.never_taken.values()) > TOLERATED:
            return True
        return self.unsupported - CERTAIN * self.standard_error > TOLERATED

    @property
    def contradictory(self) -> bool:
        """Whether weights average more than they can: then the propensities are wrong."""
        return self.unsupported + (CERTAIN + 1) * self.standard_error < 0

    @property
    def too_few(self) -> bool:
        """Whether too few rows tell something for intervals to mean anything."""
        return self.informative_rows < TOO_FEW_ROWS

    def sentences(self) -> list[str]:
        """What to know before believing the estimates."""
        if self.contradictory:
            return [
                f"The weights average {1 - self.unsupported:.2f} where they can be 1 at most: the "
                "propensities of this log are wrong, or the target was made from the arms that "
                "it took. Nothing is estimated with them."
            ]
        if self.missing:
            return [*self._refusal()]
        said = []
        if self.unsupported > 2 * self.standard_error:
            said.append(
                f"About {self.unsupported:.1%} of the target's decisions have no support in the "
                "log; the estimates leave them out."
            )
        if self.informative_rows < FEW_ROWS:
            doubt = "mean nothing" if self.too_few else "may be too narrow"
            rare = f", with {self.informative_rows:.0f} rewards that stand out"
            said.append(
                f"The log tells no more than {self.effective_sample_size:.0f} rows of the target's "
                f"own would{rare if self.rare_rewards else ''}: intervals {doubt}."
            )
        return said

    def _refusal(self) -> list[str]:
        share = max(self.unsupported, sum(self.never_taken.values()))
        said = []
        if self.deterministic:
            said.append("Every decision of this log was certain (propensity 1): nothing was tried.")
        if self.never_taken:
            named = ", ".join(f"{arm} ({part:.0%})" for arm, part in self.never_taken.items())
            said.append(f"The log never takes arms that the target would: {named}.")
        said.append(
            f"{share:.0%} of the target's decisions are ones that the log would never have made "
            "in their contexts: what they would have earned is not in it. Only the direct method "
            "is given, which guesses there."
        )
        return said


def _informative_share(rewards: FloatArray) -> float:
    """(Σu²)²/(nΣu⁴) of the rewards about their mean: 1 for coins, 1/3 for normal ones."""
    around = rewards - rewards.mean()
    fourth = float((around**4).sum())
    if fourth == 0.0:
        return 0.0
    return float((around**2).sum()) ** 2 / (len(rewards) * fourth)
