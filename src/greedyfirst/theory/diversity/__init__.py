"""Covariate diversity (Assumption 3): λ₀ of a law in closed form, and bounds on it from rows."""
