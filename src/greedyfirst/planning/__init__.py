"""Before a trial starts: how many people, and how many of them on a worse arm?"""

from greedyfirst.planning.effects import Effects, given_effects, least_difference, random_effects
from greedyfirst.planning.plan import Plan, plan_trial
from greedyfirst.planning.population import (
    Population,
    normal_population,
    sampled_population,
    table_population,
)

__all__ = [
    "Effects",
    "Plan",
    "Population",
    "given_effects",
    "least_difference",
    "normal_population",
    "plan_trial",
    "random_effects",
    "sampled_population",
    "table_population",
]
