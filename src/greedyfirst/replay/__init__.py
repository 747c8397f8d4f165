"""A classified table replayed as a bandit problem: what would each policy have cost?"""

from greedyfirst.replay.costs import read_costs
from greedyfirst.replay.replay import Replay, default_policies, replay_table

__all__ = ["Replay", "default_policies", "read_costs", "replay_table"]
