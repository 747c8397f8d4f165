"""Many problem instances, several policies, the same contexts and noise."""

from greedyfirst.simulation.result import SimulationResult
from greedyfirst.simulation.simulate import simulate

__all__ = ["SimulationResult", "simulate"]
