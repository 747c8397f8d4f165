"""Calls on threads: results in their order, few ahead, none begun after an error."""

import threading
from functools import partial

import pytest

from greedyfirst.engines.calls import calls_on, results_in_order


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_results_in_their_order_a_few_ahead(n_jobs):
    made, taken = [], []

    def call(item):
        made.append((item, len(taken)))
        return partial(pow, item, 2)

    with calls_on(n_jobs=n_jobs) as calls:
        for item, result in results_in_order(calls, range(10), call, ahead=4):
            taken.append((item, result))
    assert taken == [(item, item**2) for item in range(10)]
    # What a call is given follows from the results before it, whatever the number of threads.
    assert made == [(item, max(0, item - 3)) for item in range(10)]


def test_an_error_ends_what_has_not_begun():
    begun, told = [], threading.Event()

    def work(item):
        begun.append(item)
        if item == 1:
            raise ValueError("item 1")
        assert item < 1 or told.wait(60)  # the third waits until the error has been raised

    with calls_on(n_jobs=1) as calls:
        results = results_in_order(calls, range(100), lambda item: partial(work, item), ahead=50)
        with pytest.raises(ValueError, match="item 1"):
            list(results)
        told.set()
    assert begun in ([0, 1], [0, 1, 2])


def test_preparation_comes_first_and_once():
    order = []
    with calls_on(n_jobs=2, prepare=lambda: order.append("prepared")) as calls:
        for _ in results_in_order(
            calls, range(5), lambda _: partial(order.append, "call"), ahead=5
        ):
            pass
    assert order == ["prepared", *["call"] * 5]
