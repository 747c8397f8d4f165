"""Decisions that wait, against a dictionary."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedyfirst.service.state.deployment import Pending


def check(pending, known):
    steps, times = pending.columns()
    assert dict(zip(steps.tolist(), times.tolist(), strict=True)) == known
    assert list(steps) == sorted(known)
    assert len(pending) == len(known)
    if known:
        assert pending.oldest() == next(iter(sorted(known.items())))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["add", "oldest", "newest", "any", "copy"]), st.integers(1, 400)),
        max_size=60,
    )
)
def test_like_a_dictionary(doings):
    pending, known, step = Pending(), {}, 0
    for what, number in doings:
        if what == "add":
            for _ in range(8 * number):  # enough of them that holes are closed now and then
                step += 1 + step % 3
                pending.add(step, 0.25 * step)
                known[step] = 0.25 * step
        elif what == "copy":
            pending = Pending.from_bytes(*(column.tobytes() for column in pending.columns()))
        else:
            there = sorted(known)
            gone = {
                "oldest": there[: 8 * number],
                "newest": there[::-1][: 8 * number],
                "any": there[:: 1 + number % 5],
            }[what]
            for settled in gone:
                assert settled in pending
                pending.remove(settled)
                del known[settled]
                assert settled not in pending
        check(pending, known)


@pytest.mark.parametrize("step", [0, 2, 3, 9, -1])
def test_what_does_not_wait_is_refused(step):
    pending = Pending()
    for known in (1, 3, 5):
        pending.add(known, 7.0)
    pending.remove(3)
    assert step not in pending
    with pytest.raises(KeyError, match=str(step)):
        pending.remove(step)
    check(pending, {1: 7.0, 5: 7.0})


def test_holes_do_not_pile_up():
    """A decision that waits for ever keeps no memory of those that came after it."""
    pending = Pending()
    pending.add(1, 0.0)
    for step in range(2, 50_000):
        pending.add(step, float(step))
        pending.remove(step)
    assert pending.oldest() == (1, 0.0)
    assert len(pending) == 1
    assert len(pending._steps) < 2000


def test_a_copy_is_apart():
    pending = Pending()
    pending.add(1, 2.0)
    steps, times = pending.columns()
    pending.add(2, 3.0)
    pending.remove(1)
    assert np.array_equal(steps, [1])
    assert np.array_equal(times, [2.0])
