"""Results as pages for people."""
