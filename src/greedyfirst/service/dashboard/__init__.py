"""The dashboard: pages for people, made on the server from the same views as the API's answers."""

from greedyfirst.service.dashboard.rendering import is_page, problem_page
from greedyfirst.service.dashboard.routes import router

__all__ = ["is_page", "problem_page", "router"]
