r"""The benefit of the doubt: by how many of its deviations an arm's expected reward may be raised.

.. math:: w^2 = \nu\left(e^{q/\nu} - 1\right), \qquad
          q = c\,\frac{t}{t + 2Kd}\,g(u), \quad g(u) = u - \log(1 + u), \quad c = 2.5 ,

u the logarithm of how much the arm lacks. A normal estimate is wrong by more than w deviations with
a likelihood of :math:`e^{-w^2/2}`: for noise of a known scale :math:`w^2 = q`. The scale of an
arm's own noise rests on ν rows, so that the likelihood is Student's,
:math:`(1 + w^2/\nu)^{-\nu/2}`, and w is where it is :math:`e^{-q/2}` (as in the index of Cowan,
Honda and Katehakis 2018 for normal noise of unknown variance). c is above 2, so that an arm comes
back soon enough whatever its bad luck. While rounds are few to the K·d coefficients most of the
doubt is not worth its cost: q grows to its value.
"""

from __future__ import annotations

import math
from typing import Any

from greedyfirst.compiling.kernels import inline_kernel
from greedyfirst.models import posterior

#: c: how much the benefit of the doubt grows with the logarithm of what an arm lacks.
DOUBT = 2.5
#: Half of c is reached after so many rounds for each coefficient.
EARLY = 2.0


@inline_kernel
def squared_width(model: Any, arm: int, lack: float, rounds: float) -> float:
    """w² of an arm that lacks a factor ``lack``, at least 1, after so many ``rounds``."""
    u = math.log(lack)
    n_arms, d = model.estimate.shape
    q = DOUBT * rounds / (rounds + EARLY * n_arms * d) * (u - math.log(1.0 + u))
    rows = posterior.scale_rows(model, arm)
    return rows * math.expm1(q / rows) if rows < math.inf else q
