"""A policy at work, one decision at a time."""

from greedyfirst.agent.agent import Agent, Mode
from greedyfirst.policies.greedy_first import ArmDiversity, DiversityReport

__all__ = ["Agent", "ArmDiversity", "DiversityReport", "Mode"]
