"""Small vectors and matrices, extreme eigenvalues, random draws: compiled, in place."""
