"""Regret bounds and success probabilities, and the constants that they need."""
