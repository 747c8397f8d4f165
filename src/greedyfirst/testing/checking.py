"""All common checks of one policy, or of a class of them."""

from __future__ import annotations

import os

from greedyfirst.policies.policy import Policy
from greedyfirst.testing.checks import IN_PROCESS, Trial, uncompiled_runs_take_the_same_arms
from greedyfirst.testing.examples import examples_of
from greedyfirst.testing.trial_runs import N_ARMS, N_FEATURES
from greedyfirst.testing.uncompiled import INSIDE
from greedyfirst.validation import wrong


def check_policy(
    policy: Policy | type[Policy], *, n_arms: int = N_ARMS, n_features: int = N_FEATURES
) -> None:
    """Check that a policy does what every policy must do; an error says what it does not.

    It plays some hundred rounds online, in batches, in the loop of ``simulate``, and uncompiled in
    a process of its own, saves and loads an agent, compares probabilities with frequencies, and
    looks at what ``score`` and ``update`` change. The policies of this package pass the same
    checks. Half a minute for a policy that must be compiled, and a few seconds for another.

    Parameters
    ----------
    policy
        A policy, or a class of policies: then each of its ``examples()``, and the first one as the
        fallback of Greedy-First.
    n_arms, n_features
        The size of the problem, at least 3 arms and 2 features.

    Raises
    ------
    AssertionError
        For a policy that does one thing here and another there.
    ValueError
        For an arm that cannot be taken, and for scores that are no numbers.

    Notes
    -----
    In a script, call it below ``if __name__ == "__main__":``, since another process imports the
    script. A class that no process can import, as in a notebook, is not checked uncompiled, with a
    warning. Frequencies are compared with a chance of 1e-6 that a right policy fails.

    What it cannot see: draws of a generator that a policy has written itself, if they depend on the
    step alone. Those are a schedule.

    Examples
    --------
    >>> from greedyfirst import Uniform
    >>> from greedyfirst.testing import check_policy
    >>> class FromOne(Uniform):  # in plain Python: it counts arms from 1
    ...     def score(policy, state, step, context, eligible):
    ...         return step % len(eligible) + 1
    ...     def update(policy, state, step, context, arm, reward):
    ...         state.model.pulls[arm] += 1
    >>> check_policy(FromOne())
    Traceback (most recent call last):
    ValueError: policy FromOne(), step 2: score returned arm 3: expected one of the arms 0 to 2, \
or -1 and scores
    """
    if os.environ.get(INSIDE):
        return
    if isinstance(policy, type) and issubclass(policy, Policy):
        policies = list(examples_of(policy).values())
    elif isinstance(policy, Policy):
        policies = [policy]
    else:
        raise wrong("policy", policy, "a policy or a class of policies")
    for size, least, name in ((n_arms, 3, "n_arms"), (n_features, 2, "n_features")):
        if size < least:
            raise wrong(name, size, f"at least {least}")
    for each in policies:
        trial = Trial(policy=each, n_arms=n_arms, n_features=n_features)
        checks = [*IN_PROCESS.values(), uncompiled_runs_take_the_same_arms]
        if each.is_compiled():  # an index past the end of an array is found before it is used
            checks = [checks[-1], *checks[:-1]]
        for check in checks:
            check(trial)
