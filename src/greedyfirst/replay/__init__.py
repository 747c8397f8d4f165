"""A classified table replayed as a bandit problem: what would each policy have cost?"""

from greedyfirst.replay.costs import read_costs
from greedyfirst.replay.played import default_policies
from greedyfirst.replay.replay import Replay, replay_table

__all__ = ["Replay", "default_policies", "read_costs", "replay_table"]
