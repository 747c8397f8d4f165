"""Imported once by the process that the service's processes are forked from: a quick start."""

from greedyfirst import Agent, GreedyFirst
from greedyfirst.service import server

__all__ = ["server"]

_agent = Agent(GreedyFirst(on_alarm="hold"), n_arms=3, n_features=3, seed=1)
_agent.update([1.0, 0.0, 0.0], _agent.choose([1.0, 0.0, 0.0]), 1.0)
_agent.diversity()
