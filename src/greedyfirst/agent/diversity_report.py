"""How diverse each arm's samples are, in the decision-maker's words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ArmDiversity:
    """One arm's samples."""

    name: str
    pulls: int
    #: λ_min of the arm's Gram matrix (inside the span of all contexts, if the policy tests there).
    min_eigenvalue: float
    #: λ₀t/4, which it must not fall below; None when nothing is tested (yet).
    threshold: float | None
    #: About how many more samples at usual contexts would lift the eigenvalue to the threshold;
    #: None when nothing is tested, or when no number of them would.
    samples_needed: int | None
    #: The direction in which the samples are weakest: weight by feature name, largest first.
    weakest_direction: dict[str, float]
    #: The number of rewards at which the arm tripped the test, None if it has not.
    tripped_at: int | None
    dropped: bool
    #: Whether the arm is tested.
    watched: bool


@dataclass(frozen=True, kw_only=True)
class DiversityReport:
    """All arms' samples and what the policy made of them."""

    arms: tuple[ArmDiversity, ...]
    #: Rewards so far.
    rewards: int
    #: "greedy" or "fallback" for Greedy-First, else "not tested".
    mode: str
    #: λ₀ in force, None until it is estimated.
    lambda0: float | None
    #: The number of rewards at which the fallback took over, None while it has not.
    switched_at: int | None
    #: The arm that tripped the test last.
    culprit: str | None
    #: Smallest eigenvalues computed for the test so far.
    eigenvalue_computations: int

    def __str__(self) -> str:
        lines = [
            f"{'arm':<16}{'pulls':>8}{'min eigenvalue':>16}{'threshold':>12}  weakest direction"
        ]
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
        if self.switched_at is not None:
            cause = "by hand" if self.culprit is None else f"because of {self.culprit}"
            lines.append(f"switched after {self.switched_at} rewards, {cause}")
        elif self.culprit is not None:
            lines.append(f"alarm: {self.culprit} does not get diverse enough samples")
        return "\n".join(lines)
