r"""The regret of one round: Lemma 6, and Lemma 12 for generalised linear rewards.

A round costs something for two reasons. Estimates of two arms are mixed up where the arms' gap is
of the size of the estimation error, which is of the order 1/√t: a share of contexts that falls like
1/√t times a loss that falls like 1/√t. Or an arm's samples still lack diversity, and the estimates
can be anything.
"""

from __future__ import annotations

from greedyfirst.theory.bounds.diversity_lemmas import lacking_diversity_probability
from greedyfirst.theory.bounds.link_slopes import largest_slope, proved_link, smallest_slope
from greedyfirst.theory.bounds.peeling_sum import generalized_factor, linear_factor
from greedyfirst.theory.bounds.regret_inputs import RegretInputs
from greedyfirst.validation import number, whole_number, wrong


def estimation_coefficient(inputs: RegretInputs, factor: float) -> float:
    """4 C₀ x_max² · factor / C₃: what two arms that are mixed up cost in round t, times t - 1."""
    return 4 * inputs.margin_constant * inputs.x_max**2 * factor / inputs.c3


def greedy_round_regret(inputs: RegretInputs, t: int, *, lacking: float | None = None) -> float:
    r"""Lemma 6: the expected regret of the Greedy Bandit in round t ≥ 2, at most

    .. math:: \binom K2 \frac{4 C_0 \bar C x_{\max}^2 (\log d)^{3/2}}{C_3\,(t-1)}
              + 4 (K-1) b_{\max} x_{\max} \max_i P[\lambda_{\min}(\hat\Sigma_{i,t-1})
              < \lambda_0 (t-1)/4] .

    Parameters
    ----------
    inputs
        The constants.
    t
        The round.
    lacking
        The last probability. ``None`` takes Lemma 4, which is about two arms.

    Departure from the paper
    ------------------------
    K(K-1)/2 for its K-1 in the first term, the same for two arms: see
    :func:`~greedyfirst.theory.bounds.greedy_first_regret.greedy_first_regret`.

    Examples
    --------
    >>> from greedyfirst.theory import RegretInputs, greedy_round_regret
    >>> inputs = RegretInputs(n_features=2, horizon=1000, x_max=1.0, b_max=1.0, sigma=0.5,
    ...                       margin_constant=1.0, lambda0=0.1)
    >>> first = greedy_round_regret(inputs, 2, lacking=0.0)
    >>> round(first / greedy_round_regret(inputs, 101, lacking=0.0), 6)  # falls like 1/(t - 1)
    100.0
    """
    factor = linear_factor(inputs.n_features)
    return _round_regret(inputs, t, factor, _lacking(inputs, t, lacking))


def generalized_round_regret(
    inputs: RegretInputs, t: int, *, link: str, lacking: float | None = None
) -> float:
    r"""Lemma 12: as Lemma 6, for rewards of a generalised linear model.

    C̄_μ of Proposition 1 takes the place of C̄(log d)^{3/2}, and all is multiplied by L_μ.

    Parameters
    ----------
    inputs, t, lacking
        As for `greedy_round_regret`.
    link
        A canonical link with sub-Gaussian noise, by name.

    Departure from the paper
    ------------------------
    The lemma prints its second term without L_μ, its proof with it. Where L_μ > 1 the printed one
    is too small.

    Examples
    --------
    >>> from greedyfirst.theory import RegretInputs, generalized_round_regret
    >>> inputs = RegretInputs(n_features=2, horizon=1000, x_max=1.0, b_max=1.0, sigma=0.5,
    ...                       margin_constant=1.0, lambda0=0.1)
    >>> early, late = (generalized_round_regret(inputs, t, link="logistic") for t in (10, 1000))
    >>> early > late
    True
    """
    formulas = proved_link(link, "Lemma 12")
    reach = inputs.x_max * inputs.b_max
    factor = generalized_factor(inputs.n_features, smallest_slope(formulas, 2 * reach))
    regret = _round_regret(inputs, t, factor, _lacking(inputs, t, lacking))
    return largest_slope(formulas, reach) * regret


def _lacking(inputs: RegretInputs, t: int, given: float | None) -> float:
    t = whole_number("t", t, at_least=2)
    if given is not None:
        return number("lacking", given, at_least=0, at_most=1)
    if inputs.n_arms != 2:
        raise wrong("lacking", None, f"a probability: Lemma 4 has none for {inputs.n_arms} arms")
    return lacking_diversity_probability(inputs, t - 1)


def _round_regret(inputs: RegretInputs, t: int, factor: float, lacking: float) -> float:
    K = inputs.n_arms
    estimates = K * (K - 1) / 2 * estimation_coefficient(inputs, factor) / (t - 1)
    return estimates + 2 * (K - 1) * inputs.largest_regret * lacking
