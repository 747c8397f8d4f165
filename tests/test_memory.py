"""One buffer behind all arrays of a state."""

import numpy as np

from greedyfirst import Agent, Greedy, GreedyFirst, OLSBandit, ThompsonSampling
from greedyfirst.memory import Memory, allocate


def build(memory):
    return memory.take(2), memory.take(3, 4), memory.take(0), memory.take(1, 1, 2)


def place(array, buffer):
    return (array.ctypes.data - buffer.ctypes.data) // 8


def test_arrays_are_zeroed_views_of_one_buffer_in_order():
    buffer, arrays = allocate(build, rows=0)
    assert buffer.dtype == np.float64
    assert [array.shape for array in arrays] == [(2,), (3, 4), (0,), (1, 1, 2)]
    np.testing.assert_array_equal(buffer, 0.0)
    buffer[:] = np.arange(len(buffer))
    filled = [array for array in arrays if array.size]
    for array in filled:
        start = place(array, buffer)
        np.testing.assert_array_equal(array.ravel(), np.arange(start, start + array.size))
    places = [place(array, buffer) for array in filled]
    assert places == sorted(places)
    arrays[1][2, 3] = -1.0
    assert buffer[place(arrays[1], buffer) + 11] == -1.0
    assert all(array.flags.c_contiguous for array in arrays)


def test_arrays_start_at_cache_lines():
    buffer, arrays = allocate(build, rows=0)
    assert all(array.ctypes.data % 64 == 0 for array in arrays if array.size)
    assert buffer.size <= 8 * len(arrays) + sum(array.size for array in arrays)


def test_arrays_do_not_overlap():
    _, arrays = allocate(build, rows=0)
    for i, one in enumerate(arrays):
        for other in arrays[i + 1 :]:
            assert not np.shares_memory(one, other)


def test_without_a_buffer_only_the_place_is_counted():
    tape = Memory(0)
    arrays = build(tape)
    assert tape.used == allocate(build, rows=0)[0].size
    assert [array.shape for array in arrays] == [(2,), (3, 4), (0,), (1, 1, 2)]


def views(state):
    if isinstance(state, np.ndarray):
        yield state
    elif isinstance(state, tuple):
        for part in state:
            yield from views(part)


def test_a_state_lives_in_its_buffer_alone():
    """Copying the buffer back is going back in time: nothing is kept elsewhere."""
    for policy in (Greedy(), OLSBandit(), ThompsonSampling(), GreedyFirst()):
        agent = Agent(policy, n_arms=2, n_features=3, seed=0)
        assert all(np.shares_memory(view, agent.buffer) for view in views(agent.state) if view.size)
        rng = np.random.default_rng(0)
        contexts, rewards = rng.normal(size=(40, 3)), rng.normal(size=40)
        before = agent.buffer.copy()
        agent.update_many(contexts, rng.integers(2, size=40), rewards)
        estimates = agent.expected_rewards(contexts[0])
        assert (estimates != 0).all()
        agent.buffer[:] = before
        np.testing.assert_array_equal(agent.expected_rewards(contexts[0]), 0.0)
