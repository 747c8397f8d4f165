"""Slopes of a link over an interval, and for which links the paper's GLM results are proved."""

from __future__ import annotations

from greedyfirst.links.link import LINKS, Link, find_link
from greedyfirst.theory.bounds.assumption_errors import BOUNDED, required_by
from greedyfirst.validation import number, wrong

# Steps of the search for a link's steepest point; each keeps 2/3 of the interval.
TERNARY_STEPS = 120


def proved_link(name: str, result: str) -> type[Link]:
    """The link of this name, if the paper's results for generalised linear rewards hold for it.

    Their proofs use that the estimate solves Σ x(y - μ(x'β̂)) = 0, which is the likelihood's
    equation for a canonical link only, and that the noise y - μ(x'β) is sub-Gaussian. Probit is not
    canonical; the tail of a Poisson count is heavier than any normal's. A link of your own says so
    itself (``canonical`` and ``subgaussian``).

    Parameters
    ----------
    name
        The link's name.
    result
        What is asked for, for the message.
    """
    link = find_link("link", name)
    proved = [each for each, one in LINKS.items() if one.canonical and one.subgaussian]
    allowed = "one of " + ", ".join(map(repr, proved))
    if not link.canonical:
        reason = "a canonical link, whose estimate solves Σ x(y - μ(x'β̂)) = 0"
        raise wrong("link", name, f"{allowed} ({result} is proved for {reason})")
    if not link.subgaussian:
        reason = "sub-Gaussian noise, which rewards of this link do not have"
        raise wrong("link", name, f"{allowed} ({result} is proved for {reason})")
    return link


def smallest_slope(link: type[Link], reach: float) -> float:
    """The smallest μ' on ±reach, above 0; a slope has one peak at most, so it is at an end."""
    reach = number("reach", reach, at_least=0)
    slope = min(link.slope(-reach), link.slope(reach))
    if not slope > 0:
        expected = f"so small that the slope of {link.name!r} stays above 0 on ±{reach:g}"
        with required_by(BOUNDED):
            raise wrong("the largest |x'β|", reach, expected)
    return slope


def largest_slope(link: type[Link], reach: float) -> float:
    """L_μ, the largest μ' on ±reach; the slope may have at most one peak."""
    low, high = -reach, reach
    best = max(link.slope(low), link.slope(high), link.slope(0.0))
    for _ in range(TERNARY_STEPS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        best = max(best, link.slope(left), link.slope(right))
        if link.slope(left) < link.slope(right):
            low = left
        else:
            high = right
    return best
