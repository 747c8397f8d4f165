"""Deployments: their state, and what each event does to it."""
