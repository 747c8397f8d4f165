"""The sum of the peeling argument in Lemma 6, and the paper's bounds on it.

Contexts are split into shells h = 0, 1, 2, … by the gap between the two arms: between h and h+1
times a scale that falls with t. A wrong choice in shell h costs at most h+1 times the scale and
needs estimates that are wrong by h times the scale, which has a probability of at most 4d·exp(-h²).
"""

from __future__ import annotations

import math

import numpy as np

# Terms are added in blocks of this length until the remainder is proved to be negligible.
BLOCK = 4096
NEGLIGIBLE = 1e-12
# With more shells of weight 1 than this the sum is not computed but infinite; the paper's formula,
# `generalized_factor`, still bounds it.
LONGEST_HEAD = 10**7


def peeling_sum(n_features: int, *, power: float = 2.0, slope: float = 1.0) -> float:
    r"""An upper bound, exact to a relative 1e-12, of the sum over shells h = 0, 1, 2, …

    .. math:: \sum_{h \ge 0} (h+1)^{p} \min\{1,\ 4d\,e^{-s^2h^2}\} ,

    where p = ``power`` is 1 + α for the margin exponent α and s = ``slope`` is 1 for linear
    rewards and m_{b_max} for generalised linear ones. The ratio of successive terms beyond the
    minimum, ((h+2)/(h+1))^p e^{-s²(2h+1)}, falls with h. With ρ the ratio at H, the remainder after
    term H is at most ρ/(1 - ρ) times that term, which is added.
    """
    shells = math.sqrt(math.log(4 * n_features)) / slope
    if shells > LONGEST_HEAD:
        return math.inf
    total, first = 0.0, 0
    while True:
        h = np.arange(first, first + BLOCK, dtype=np.float64)
        weights = np.minimum(1.0, 4 * n_features * np.exp(-((slope * h) ** 2)))
        terms = (h + 1) ** power * weights
        total += float(terms.sum())
        last = float(h[-1])
        ratio: float = ((last + 2) / (last + 1)) ** power * math.exp(-(slope**2) * (2 * last + 1))
        if last > shells and ratio < 1:
            rest = float(terms[-1]) * ratio / (1 - ratio)
            if rest <= NEGLIGIBLE * total:
                return total + rest
        first += BLOCK


def linear_factor(n_features: int) -> float:
    r"""The paper's bound of the sum for linear rewards: :math:`\bar C (\log d)^{3/2}`.

    .. math:: \tfrac13 (\log d)^{3/2} + \tfrac72 \log d + \tfrac{38}{3} (\log d)^{1/2}
              + \tfrac{67}{4} ,

    finite at d = 1, where the printed C̄ alone is not.
    """
    root = math.sqrt(math.log(n_features))
    return float(root**3 / 3 + 7 * root**2 / 2 + 38 * root / 3 + 67 / 4)


def linear_constant(n_features: int) -> float:
    r"""C̄ of Theorem 1, in (1/3, 52) for d ≥ 2; infinite for d = 1."""
    if n_features == 1:
        return math.inf
    return linear_factor(n_features) / math.sqrt(math.log(n_features)) ** 3


def generalized_factor(n_features: int, slope: float) -> float:
    r"""C̄_μ of Proposition 1, with m = ``slope`` = m_{b_max} and q = √log(4d)/m + 1.

    .. math:: \frac{q^3}{3} + \frac{3q^2}{2} + \frac{8q}{3}
              + \frac{1}{m^3}\Bigl(\frac{qm}{2} + \frac14\Bigr) + \frac1{m^2} + \frac1{2m} .

    The last step of its proof, 13h₀/6 + 1 ≤ 8h₀/3, needs h₀ ≥ 2, that is m ≤ √log(4d). The formula
    also bounds the sum for steeper links, for which only the first shells matter.
    """
    q = math.sqrt(math.log(4 * n_features)) / slope + 1
    tail = (q * slope / 2 + 0.25) / slope**3 + 1 / slope**2 + 1 / (2 * slope)
    return float(q**3 / 3 + 3 * q**2 / 2 + 8 * q / 3 + tail)
