"""Does the contexts' diversity promise that greedy works? In words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from greedyfirst.theory.diversity.result import CovariateDiversity

# Below this share of what symmetric contexts would have, λ₀ is called small.
WEAK_SHARE = 0.1
STARVE = "an arm may starve, that is, lack samples in some direction of the contexts"
NEXT = (
    "GreedyFirst() raises only the arms that starve. On a table with a column of classes, "
    "`greedyfirst replay` shows whether greedy would have been enough."
)


def write_verdict(found: CovariateDiversity) -> str:
    """The answer, what it means and what to do next."""
    if found.answer == "no":
        return (
            f"No: λ₀ = 0, because {found.cause}. So Theorem 1, which promises that greedy learns "
            f"without exploration, does not apply. That does not mean that greedy fails, only that "
            f"{STARVE}. {NEXT}"
        )
    if found.answer == "unknown":
        return (
            f"Too little data to say: λ₀ of these {found.n_rows} rows is 0, because {found.cause}, "
            f"but {found.doubt}. More rows may show λ₀ > 0. Until then {STARVE}. {NEXT}"
        )
    return f"{_positive(found)}{_weakness(found)} With more arms {STARVE}. {NEXT}"


def _positive(found: CovariateDiversity) -> str:
    where = ""
    if found.rank < len(found.feature_names):
        where = f" in the {_dimensions(found.rank)} that the rows span"
    if found.answer == "yes":
        return (
            f"Yes, for two arms with linear rewards: every half of the contexts varies in every "
            f"direction{where} (λ₀ > 0). That is what Theorem 1 asks of contexts: greedy learns "
            "without exploration."
        )
    return (
        f"Probably, for two arms with linear rewards: a search found no half of the contexts that "
        f"lacks a direction{where}. A search is no proof: it may have missed one. If there is "
        "none, Theorem 1 applies, and greedy learns without exploration."
    )


def _weakness(found: CovariateDiversity) -> str:
    if found.share >= WEAK_SHARE:
        return ""
    return (
        f" But λ₀ is small, at most {found.share:.1%} of that of symmetric contexts with the same "
        "second moments: the bound of Theorem 1 grows as 1/λ₀²."
    )


def describe_rest(rest: CovariateDiversity) -> str:
    """The answer for the columns that are no constants, in a sentence or two."""
    if rest.answer == "no":
        return f"The other columns alone have λ₀ = 0 as well, because {rest.cause}."
    if rest.answer == "unknown":
        return "Whether the other columns alone are diverse, these rows are too few to say."
    are = "are" if rest.answer == "yes" else "are probably"
    return (
        f"The other columns alone {are} diverse (their λ₀ is {rest.range_text}): Theorem 1 would "
        "apply if no arm's rewards needed a constant."
    )


def _dimensions(rank: int) -> str:
    return "one dimension" if rank == 1 else f"{rank} dimensions"
