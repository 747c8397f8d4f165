"""What the service asks about an agent's test of diversity: the only file that knows its policy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from greedyfirst.agent import Agent
from greedyfirst.policies import GLMGreedy, Greedy, GreedyFirst, Policy

#: How a decision was made: "forced" is an initial pull or a forced sample, "fallback" comes after a
#: switch, "policy" is any decision of a policy that explores by its own rules.
Mode = Literal["greedy", "forced", "fallback", "policy"]


def is_watched(agent: Agent) -> bool:
    """Whether the policy tests the arms' diversity and raises alarms."""
    return isinstance(agent.policy, GreedyFirst)


def explores(agent: Agent) -> bool:
    """Whether a policy that tests diversity has switched to exploring."""
    return is_watched(agent) and bool(agent.state.explores)


def mode(agent: Agent) -> Mode:
    """How the agent made its last decision."""
    policy = agent.policy
    if isinstance(policy, GreedyFirst) and agent.state.explores:
        return "fallback"
    if agent.forced:
        return "forced"
    return "greedy" if isinstance(policy, (GreedyFirst, Greedy, GLMGreedy)) else "policy"


def pulls(agent: Agent) -> Any:
    """How many rewards each arm has learned: a number per arm."""
    return agent.state.model.pulls


def with_answer(policy: Policy, answer: str) -> Policy:
    """The policy with this answer to its alarms, if it raises any."""
    return replace(policy, on_alarm=answer) if isinstance(policy, GreedyFirst) else policy


def set_answer(agent: Agent, answer: str) -> None:
    """Change the agent's own answer to alarms, if its policy raises any."""
    if is_watched(agent):
        agent.answer_alarms(answer)
