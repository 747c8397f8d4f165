"""Laws of the arms' parameters β_1, …, β_K: one draw makes one problem instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from greedyfirst.problems.covariance import read_covariance, scale_normals, take_root
from greedyfirst.problems.frozen_array import frozen_array
from greedyfirst.validation import FloatArray, array, flag, whole_number, wrong

# How far from 1 a sum of weights written as decimals or fractions may be.
WEIGHT_SUM_TOLERANCE = 1e-9


@runtime_checkable
class ArmParameters(Protocol):
    """A law of K parameter vectors in R^d.

    Examples
    --------
    Anything with ``n_arms``, ``n_features`` and ``sample(rng)`` is one:

    >>> import numpy as np
    >>> from greedyfirst.problems import GaussianParameters
    >>> arms = GaussianParameters(n_arms=3, mean=np.zeros(2))
    >>> arms.sample(np.random.default_rng(0)).shape
    (3, 2)
    """

    @property
    def n_arms(self) -> int:
        """The number of arms K."""
        ...

    @property
    def n_features(self) -> int:
        """The dimension d of each arm's parameter."""
        ...

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw the parameters as a C-contiguous float64 array (n_arms, n_features)."""
        ...


def check_arm_parameters(name: str, value: Any) -> ArmParameters:
    """Return ``value`` if it has ``n_arms``, ``n_features`` and ``sample``; name it if not."""
    if not isinstance(value, ArmParameters) or isinstance(value, type):
        raise wrong(name, value, "arm parameters (with n_arms, n_features and sample(rng))")
    whole_number(f"{name}.n_arms", value.n_arms, at_least=1)
    whole_number(f"{name}.n_features", value.n_features, at_least=1)
    return value


@dataclass(frozen=True, kw_only=True, eq=False)
class FixedParameters:
    """The same parameters in every instance.

    Parameters
    ----------
    parameters : array (n_arms, n_features)
        Row k is β_k.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import FixedParameters
    >>> arms = FixedParameters(parameters=[[1.0, 0.0], [0.0, 1.0]])
    >>> arms.sample(np.random.default_rng(0)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    parameters: ArrayLike
    _parameters: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        parameters = frozen_array("parameters", self.parameters, (None, None))
        object.__setattr__(self, "parameters", parameters)
        object.__setattr__(self, "_parameters", parameters)

    @property
    def n_arms(self) -> int:
        """The number of rows of ``parameters``."""
        return int(self._parameters.shape[0])

    @property
    def n_features(self) -> int:
        """The number of columns of ``parameters``."""
        return int(self._parameters.shape[1])

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Return a copy of the parameters (n_arms, n_features); ``rng`` is not used."""
        return self._parameters.copy()


@dataclass(frozen=True, kw_only=True, eq=False)
class GaussianParameters:
    r"""Each arm's parameter drawn independently: β_k ~ N(mean, covariance).

    An intercept whose coefficient is shrunk by a factor c, as in Figure 2 (c, d), is a first
    entry of ``mean`` multiplied by c and a first entry of a diagonal ``covariance`` by c².

    Parameters
    ----------
    n_arms : int
        The number of arms K.
    mean : array (n_features,)
        The mean of each β_k.
    covariance : float, array (n_features,) or array (n_features, n_features)
        ``v`` for v·I, a vector for the diagonal, or the matrix (positive semi-definite).

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import GaussianParameters
    >>> arms = GaussianParameters(n_arms=2, mean=[5.0, 0.0], covariance=[0.0, 1.0])
    >>> arms.sample(np.random.default_rng(0))[:, 0].tolist()  # no variance in the first entry
    [5.0, 5.0]
    """

    n_arms: int
    mean: ArrayLike
    covariance: ArrayLike = 1.0
    _mean: FloatArray = field(init=False, repr=False)
    _root: float | FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n_arms = whole_number("n_arms", self.n_arms, at_least=1)
        mean = frozen_array("mean", self.mean, (None,))
        covariance = read_covariance("covariance", self.covariance, mean.size)
        object.__setattr__(self, "n_arms", n_arms)
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "covariance", covariance)
        object.__setattr__(self, "_mean", mean)
        object.__setattr__(self, "_root", take_root(covariance))

    @property
    def n_features(self) -> int:
        """The length of ``mean``."""
        return self._mean.size

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw the parameters (n_arms, n_features)."""
        normals = rng.standard_normal((self.n_arms, self.n_features))
        parameters = scale_normals(normals, self._root)
        parameters += self._mean
        return parameters


@dataclass(frozen=True, kw_only=True, eq=False)
class MixtureParameters:
    """A mixture: component c is chosen with probability weights[c], then it draws.

    Figure 2 (b, d), the "incorrect prior", is a shared fair mixture of N(+1, I)/2 and N(-1, I)/2.

    Parameters
    ----------
    components : sequence of arm parameters
        All with the same n_arms and n_features.
    weights : array (n_components,) or None
        Probabilities, which sum to 1; None makes the components equally likely.
    shared : bool
        True: one choice per instance, for all arms together. False: each arm makes its own
        choice and takes its row from that component's draw.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import FixedParameters, MixtureParameters
    >>> plus, minus = FixedParameters(parameters=[[1.0]]), FixedParameters(parameters=[[-1.0]])
    >>> arms = MixtureParameters(components=[plus, minus], weights=[1.0, 0.0])
    >>> arms.sample(np.random.default_rng(0)).tolist()
    [[1.0]]
    """

    components: Sequence[ArmParameters]
    weights: ArrayLike | None = None
    shared: bool = True
    _cumulative: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        components = _check_components(self.components)
        n_components = len(components)
        given = np.full(n_components, 1 / n_components) if self.weights is None else self.weights
        weights = frozen_array("weights", given, (n_components,))
        if (weights < 0).any() or abs(weights.sum() - 1) > WEIGHT_SUM_TOLERANCE:
            raise wrong("weights", self.weights, "probabilities that sum to 1")
        cumulative = np.cumsum(weights)
        # The last entry becomes exactly 1, so a uniform number below 1 always finds a component.
        cumulative /= cumulative[-1]
        object.__setattr__(self, "components", components)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "shared", flag("shared", self.shared))
        object.__setattr__(self, "_cumulative", cumulative)

    @property
    def n_arms(self) -> int:
        """The number of arms of every component."""
        return self.components[0].n_arms

    @property
    def n_features(self) -> int:
        """The dimension of every component."""
        return self.components[0].n_features

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw the parameters (n_arms, n_features): the choices first, then the components."""
        if self.shared:
            chosen = np.searchsorted(self._cumulative, rng.random(), side="right")
            return self.components[int(chosen)].sample(rng)
        choices = np.searchsorted(self._cumulative, rng.random(self.n_arms), side="right")
        parameters = np.empty((self.n_arms, self.n_features))
        for component in np.unique(choices):
            arms = choices == component
            parameters[arms] = self.components[component].sample(rng)[arms]
        return parameters


def _check_components(components: Sequence[ArmParameters]) -> tuple[ArmParameters, ...]:
    if isinstance(components, str) or not isinstance(components, Sequence) or not components:
        raise wrong("components", components, "a non-empty sequence of arm parameters")
    checked = tuple(
        check_arm_parameters(f"components[{i}]", component)
        for i, component in enumerate(components)
    )
    shapes = [(component.n_arms, component.n_features) for component in checked]
    if len(set(shapes)) > 1:
        raise wrong("components", shapes, "of one (n_arms, n_features)")
    return checked


@dataclass(frozen=True, kw_only=True)
class ParametersFromFunction:
    """Parameters drawn by the user's own function; what it returns is checked at every call.

    Parameters
    ----------
    n_arms, n_features : int
        The numbers K and d.
    draw : callable
        ``draw(rng)`` returns finite numbers of shape (n_arms, n_features). It should take all
        its randomness from ``rng``, or runs will not repeat.

    Examples
    --------
    >>> import numpy as np
    >>> from greedyfirst.problems import ParametersFromFunction
    >>> draw = lambda rng: rng.uniform(size=(2, 3))
    >>> arms = ParametersFromFunction(n_arms=2, n_features=3, draw=draw)
    >>> arms.sample(np.random.default_rng(0)).shape
    (2, 3)
    """

    n_arms: int
    n_features: int
    draw: Callable[[np.random.Generator], ArrayLike]

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_arms", whole_number("n_arms", self.n_arms, at_least=1))
        n_features = whole_number("n_features", self.n_features, at_least=1)
        object.__setattr__(self, "n_features", n_features)
        if not callable(self.draw):
            raise wrong("draw", self.draw, "a function draw(rng)")

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw the parameters (n_arms, n_features)."""
        drawn = self.draw(rng)
        # Copied, since the function may hand out an array that it keeps.
        return array("draw(rng)", drawn, (self.n_arms, self.n_features)).copy()
