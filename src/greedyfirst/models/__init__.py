"""What is learned: least squares per arm, Gaussian posteriors, the noise scale."""
