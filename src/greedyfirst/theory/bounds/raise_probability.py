r"""How likely any arm is raised again, once each of two arms holds more than its share.

Let M = E[xx'], :math:`\theta^*` the least that greedy gives an arm of it, and a the slack

.. math:: a = \min_i \lambda_{\min}\bigl(M^{-1/2}(G_i - \theta \textstyle\sum_j G_j)M^{-1/2}\bigr)

at a look. Then nobody is raised at that look, and with R a bound of :math:`x^\top M^{-1}x`

.. math:: P[\text{an arm is raised ever after}] \le 2d\,e^{-y^*a/R}, \qquad
          \theta^*(1 - e^{-(1-\theta)y^*}) = (1 - \theta^*)(e^{\theta y^*} - 1), \; y^* > 0 .

The proof is on the page about the rule (docs/theory-arm-by-arm.md). Nothing in it depends on the
noise, nor on how estimates, priors and scales are learned.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq

from greedyfirst.theory.bounds.arm_by_arm_rule import ArmByArmRule
from greedyfirst.validation import FloatArray, number, whole_number, wrong


def raise_probability(
    rule: ArmByArmRule, *, slack: float, diversity: float, leverage: float, n_features: int
) -> float:
    r"""A bound of the chance that an arm is raised at any round after a look; at most 1.

    Parameters
    ----------
    rule
        θ and K, which must be 2: with more arms greedy may leave one out.
    slack
        a of the look, as `share_slack` has it; 1 is the answer where it is not above 0.
    diversity
        θ*, with E[xx'(1{x'u > 0} + 1{x'u = 0}/2)] ⪰ θ*·E[xx'] for every u. It is 1/2 for
        contexts that are as often x as -x, and never more.
    leverage
        R, a bound of x'E[xx']⁻¹x.
    n_features
        d.

    Examples
    --------
    Three features, each 1 or -1 with equal chances, 600 of them, equally shared:

    >>> from greedyfirst.theory import ArmByArmRule, raise_probability
    >>> rule = ArmByArmRule(n_arms=2, share=0.6)
    >>> common = {"diversity": 0.5, "leverage": 3.0, "n_features": 3}
    >>> bound = raise_probability(rule, slack=0.5 * 600 - 0.3 * 600, **common)
    >>> bool(bound < 1e-20)
    True
    >>> raise_probability(rule, slack=0.0, **common)
    1.0
    """
    diversity, leverage, d = _checked(rule, diversity, leverage, n_features)
    slack = number("slack", slack)
    rate = drift_rate(rule.theta, diversity)
    if slack <= 0 or rate == 0.0:
        return 1.0
    return min(1.0, 2 * d * math.exp(-rate * slack / leverage))


def raise_probability_after_pulls(
    rule: ArmByArmRule, *, pulls: int, diversity: float, leverage: float, n_features: int
) -> float:
    r"""A bound of the chance that an arm is ever raised after first pulls in turns; at most 1.

    For ``GreedyFirst(initial_pulls=m)``. With :math:`m' = \lfloor m/(1+\gamma)\rfloor` pairs of
    pulls before the last look at least, and for every y from 0 to y*, it is

    .. math:: d\,(\alpha_1\alpha_2)^{m'}(1 + 1/\alpha_1), \quad
              \alpha_1 = 1 - \frac{1-e^{-(1-\theta)y}}R, \quad
              \alpha_2 = 1 + \frac{e^{\theta y}-1}R .

    Parameters
    ----------
    rule, diversity, leverage, n_features
        As for `raise_probability`.
    pulls
        m, of each of the two arms.

    Examples
    --------
    >>> from greedyfirst.theory import ArmByArmRule, raise_probability_after_pulls
    >>> common = {"diversity": 0.5, "leverage": 3.0, "n_features": 3}
    >>> rule = ArmByArmRule(n_arms=2, share=0.6)
    >>> bound = raise_probability_after_pulls(rule, pulls=500, **common)
    >>> bool(bound < 1e-6)
    True
    """
    diversity, leverage, d = _checked(rule, diversity, leverage, n_features)
    pairs = int(rule.last_look(2 * whole_number("pulls", pulls, at_least=0) + 1) / 2)
    rates = np.linspace(0.0, drift_rate(rule.theta, diversity), 1001)
    own = np.log1p(np.expm1(-(1 - rule.theta) * rates) / leverage)
    other = np.log1p(np.expm1(rule.theta * rates) / leverage)
    return float(min(1.0, (d * np.exp(pairs * (own + other)) * (1 + np.exp(-own))).min()))


def _checked(
    rule: ArmByArmRule, diversity: float, leverage: float, n_features: int
) -> tuple[float, float, int]:
    if rule.n_arms != 2:
        raise wrong("rule.n_arms", rule.n_arms, "2 (greedy may leave one of more arms out)")
    d = whole_number("n_features", n_features, at_least=1)
    diversity = number("diversity", diversity, above=0, at_most=0.5)
    return diversity, number("leverage", leverage, at_least=d), d


def drift_rate(theta: float, diversity: float) -> float:
    """y*, 0 where greedy does not give more than θ."""
    if diversity <= theta:
        return 0.0

    def gain(y: float) -> float:
        return -diversity * math.expm1(-(1 - theta) * y) - (1 - diversity) * math.expm1(theta * y)

    # The gain is concave, 0 at 0 with slope diversity - θ, and negative at last.
    high = 1.0
    while gain(high) > 0:
        high *= 2
    low = high
    while gain(low) <= 0:
        low /= 2
    return float(brentq(gain, low, high, xtol=1e-13))


def share_slack(grams: FloatArray, *, moment: FloatArray, theta: float) -> float:
    """a: the least that any arm holds beyond its share θ, in units of E[xx'].

    Parameters
    ----------
    grams
        Σxx' of each arm (n_arms, d, d).
    moment
        E[xx'] (d, d), positive definite.
    theta
        θ.

    Examples
    --------
    One feature that is always 1; arms with 70 and 30 rows, of which each must hold 20 %:

    >>> import numpy as np
    >>> from greedyfirst.theory import share_slack
    >>> round(share_slack(np.array([[[70.0]], [[30.0]]]), moment=np.eye(1), theta=0.2), 9)
    10.0
    """
    total = grams.sum(axis=0)
    found = (
        eigh(gram - theta * total, moment, eigvals_only=True, subset_by_index=(0, 0))[0]
        for gram in np.asarray(grams, dtype=np.float64)
    )
    return float(min(found))
