"""Run with ``NUMBA_DISABLE_JIT=1``: the arms of a policy's examples, as JSON on standard output.

    python uncompiled_arms.py NAME [NAME ...]

NAME is a policy's registered name.
"""

import json
import sys
from pathlib import Path

import numba

sys.path.insert(0, str(Path(__file__).parents[1]))

from greedyfirst.policies import POLICIES
from support.examples import examples_of
from support.trial_runs import draw_trial, new_agent, play_in_batches, play_one_by_one

if __name__ == "__main__":
    assert numba.config.DISABLE_JIT
    trial = draw_trial()
    arms = {
        name: [run(new_agent(policy), *trial) for run in (play_one_by_one, play_in_batches)]
        for kind in sys.argv[1:]
        for name, policy in examples_of(POLICIES[kind]).items()
    }
    print(json.dumps(arms))
