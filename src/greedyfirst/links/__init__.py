"""How expected rewards depend on x'β: identity, logistic, probit, Poisson, and the user's own."""

from greedyfirst.links.identity import Identity
from greedyfirst.links.link import LINKS, Link
from greedyfirst.links.logistic import Logistic
from greedyfirst.links.poisson import Poisson
from greedyfirst.links.probit import Probit

__all__ = ["LINKS", "Identity", "Link", "Logistic", "Poisson", "Probit"]
