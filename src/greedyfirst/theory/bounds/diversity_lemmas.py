"""Covariate diversity and what follows from it: Lemmas 1, 3 and 4."""

from __future__ import annotations

import math

from greedyfirst.theory.bounds.assumption_errors import BOUNDED, DIVERSITY, required_by
from greedyfirst.theory.bounds.regret_inputs import RegretInputs
from greedyfirst.validation import number, whole_number

SYMMETRY = "Lemma 1: a·p(-x) ≤ b·p(x) on a set W that is the same at x and -x"


def diversity_from_symmetry(*, a: float, b: float, moment: float, sharp: bool = False) -> float:
    r"""Lemma 1: λ₀ of a law that is roughly symmetric on some set, at least aλ/(2b).

    Let W = -W, let a·p(-x) ≤ b·p(x) for every x in W, and λ = ``moment`` be such that
    :math:`\int_W x x^\top p(x)\,dx \succeq \lambda I`. Then Assumption 3 holds with this λ₀.

    Parameters
    ----------
    a, b
        Above 0, with a ≤ b: the inequality at x and at -x gives p(x) ≤ (b/a)²p(x).
    moment
        λ of condition (c).
    sharp
        aλ/(a+b) instead, which holds too and is attained: of x and -x one is always kept, and the
        rarer one has at least a/(a+b) of their joint mass.

    Examples
    --------
    >>> from greedyfirst.theory import diversity_from_symmetry
    >>> diversity_from_symmetry(a=1.0, b=1.0, moment=0.5)
    0.25
    """
    with required_by(SYMMETRY):
        a = number("a", a, above=0)
        b = number("b", b, at_least=a)
        moment = number("moment", moment, at_least=0)
    return a * moment / (a + b if sharp else 2 * b)


def half_space_probability(*, lambda0: float, x_max: float) -> float:
    """Lemma 3: P[x'u ≥ 0] is at least λ₀/x_max² for every u, so greedy plays both of two arms.

    Examples
    --------
    >>> from greedyfirst.theory import half_space_probability
    >>> half_space_probability(lambda0=0.5, x_max=2.0)
    0.125
    """
    with required_by(BOUNDED):
        x_max = number("x_max", x_max, above=0)
    with required_by(DIVERSITY):
        # Two half-spaces share E‖x‖² ≤ x_max².
        lambda0 = number("lambda0", lambda0, above=0, at_most=x_max**2 / 2)
    return lambda0 / x_max**2


def lacking_diversity_probability(inputs: RegretInputs, t: int, *, sharp: bool = False) -> float:
    r"""Lemma 4: the chance that an arm's samples lack diversity after t rounds of greedy.

    .. math:: P[\lambda_{\min}(\hat\Sigma_{i,t}) < \lambda_0 t/4] \le d\,e^{-C_1 t} ,
              \qquad C_1 = \lambda_0/(40 x_{\max}^2) ,

    for each of two arms under Assumptions 1 and 3; at most 1.

    Parameters
    ----------
    inputs
        The constants; b_max, σ and C₀ do not matter.
    t
        Rounds played.
    sharp
        With the exponent that the proof gives when corrected: `RegretInputs.sharp_c1` for C₁.

    Examples
    --------
    >>> import math
    >>> from greedyfirst.theory import RegretInputs, lacking_diversity_probability
    >>> inputs = RegretInputs(n_features=2, horizon=1000, x_max=1.0, b_max=1.0, sigma=0.1,
    ...                       margin_constant=1.0, lambda0=0.1)
    >>> chance = lacking_diversity_probability(inputs, 1000)
    >>> math.isclose(chance, 2 * math.exp(-0.1 / 40 * 1000))
    True
    """
    inputs.require_two_arms("Lemma 4")
    inputs.require_diversity()
    t = whole_number("t", t, at_least=0)
    rate = inputs.sharp_c1 if sharp else inputs.c1
    return min(1.0, inputs.n_features * math.exp(-rate * t))
