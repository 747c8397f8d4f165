"""Run with ``NUMBA_DISABLE_JIT=1``: the arms of every listed policy, as JSON on standard output."""

import json

import numba

from listed_policies import POLICIES_WITH_OPTIONS
from trial_runs import draw_trial, new_agent, play_in_batches, play_one_by_one

if __name__ == "__main__":
    assert numba.config.DISABLE_JIT
    trial = draw_trial()
    arms = {
        name: [run(new_agent(policy), *trial) for run in (play_one_by_one, play_in_batches)]
        for name, policy in POLICIES_WITH_OPTIONS.items()
    }
    print(json.dumps(arms))
