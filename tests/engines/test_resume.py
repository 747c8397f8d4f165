"""Finished blocks on disk: used for the same run, and for no other."""

import dataclasses
import warnings

import numpy as np
import pytest

from greedyfirst import FixedArm, Greedy, simulate
from greedyfirst.engines.engine import blocks_of, run_in_order
from greedyfirst.engines.resume import Resumed
from greedyfirst.engines.threads import Threads


@dataclasses.dataclass(frozen=True)
class Squares:
    """A task that counts how often each item was done."""

    done: list
    shift: int = 0

    def __reduce__(self):  # what was done says nothing about what would be
        return Squares, ([], self.shift)

    def prepare(self):
        def work(item):
            self.done.append(item)
            return {"square": np.array(item**2 + self.shift), "empty": np.zeros(0, np.int16)}

        return work


BLOCKS = blocks_of(10, 3)


def run(directory, *, blocks=BLOCKS, shift=0, n_jobs=1):
    """All squares, and the items that were worked on for them."""
    task = Squares([], shift)
    found = list(run_in_order(Resumed(Threads(n_jobs), directory), task, blocks))
    return np.concatenate([block["square"] for block in found]).tolist(), sorted(task.done)


SQUARES, ALL = [item**2 for item in range(10)], list(range(10))


def file_of(directory, first):
    (found,) = directory.glob(f"run-*/{first}-*.gf")
    return found


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_nothing_is_made_twice(tmp_path, n_jobs):
    assert run(tmp_path, n_jobs=n_jobs) == (SQUARES, ALL)
    assert run(tmp_path, n_jobs=n_jobs) == (SQUARES, [])


def test_a_run_that_was_cut_off_goes_on(tmp_path):
    results = run_in_order(Resumed(Threads(1), tmp_path), Squares([]), BLOCKS)
    next(results), next(results)
    results.close()
    assert run(tmp_path) == (SQUARES, [6, 7, 8, 9])


def test_blocks_found_in_the_middle_keep_their_places(tmp_path):
    run(tmp_path)
    file_of(tmp_path, 0).unlink()
    file_of(tmp_path, 6).unlink()
    assert run(tmp_path) == (SQUARES, [0, 1, 2, 6, 7, 8])


@pytest.mark.parametrize("damage", [b"", b"greedyfirst block 1 0\n", None])
def test_a_damaged_block_is_made_again_and_said(tmp_path, damage):
    run(tmp_path)
    path = file_of(tmp_path, 3)
    whole = bytearray(path.read_bytes())
    whole[-1] ^= 1
    path.write_bytes(bytes(whole) if damage is None else damage)
    with pytest.warns(UserWarning, match=rf"{path}.*damaged; the block is made again"):
        assert run(tmp_path) == (SQUARES, [3, 4, 5])
    assert run(tmp_path) == (SQUARES, [])


def test_a_block_in_the_place_of_another_is_made_again(tmp_path):
    run(tmp_path)
    file_of(tmp_path, 3).write_bytes(file_of(tmp_path, 0).read_bytes())
    with pytest.warns(UserWarning, match="another run or block"):
        assert run(tmp_path) == (SQUARES, [3, 4, 5])


def test_runs_share_a_directory_without_mixing(tmp_path, monkeypatch):
    run(tmp_path)
    assert run(tmp_path, shift=1) == ([square + 1 for square in SQUARES], ALL)
    assert run(tmp_path) == (SQUARES, [])
    # A later process that finds none of its own blocks there may have been given the wrong one.
    monkeypatch.setattr("greedyfirst.engines.resume._USED", set())
    with pytest.warns(UserWarning, match=r"blocks of other runs only .*starts from nothing"):
        run(tmp_path, shift=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(tmp_path, shift=3)


def test_more_items_go_on_from_fewer(tmp_path):
    run(tmp_path, blocks=blocks_of(6, 3))
    assert run(tmp_path) == (SQUARES, [6, 7, 8, 9])


# ------------------------------------------------------------------------------- simulations


class Draws:
    """Counts; to a pickle it is always the same."""

    count = 0

    def __reduce__(self):
        return Draws, ()


DRAWS = Draws()


class Counted:
    """A user's problem that counts its draws."""

    n_arms, n_features = 2, 2

    def draw(self, rng, horizon):
        DRAWS.count += 1
        contexts, rewards = rng.normal(size=(horizon, 2)), rng.normal(size=(horizon, 2))
        return contexts, rewards, rewards.max(axis=1, keepdims=True) - rewards


def simulated(**options):
    settings = {"n_instances": 7, "horizon": 40, "seed": 3, "chunk_size": 2, **options}
    policies = settings.pop("policies", {"Greedy": Greedy(), "fixed": FixedArm(arm=1)})
    before = DRAWS.count
    result = simulate(Counted(), policies, **settings)
    return result, DRAWS.count - before


def same(one, other):
    names = ("mean", "half_width", "final", "pulls", "switched_at", "alarmed_at", "weakest")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def test_a_simulation_goes_on_bit_for_bit(tmp_path):
    reference, _ = simulated()
    first, drawn = simulated(resume=tmp_path)
    assert same(first, reference)
    file_of(tmp_path, 2).unlink()
    again, drawn_again = simulated(resume=str(tmp_path), n_jobs=2)
    assert same(again, reference)
    np.testing.assert_array_equal(again.seconds >= 0, True)
    assert drawn >= 7
    assert drawn_again == 2


def test_arms_and_curves_come_from_the_disk_too(tmp_path):
    def gathered(**options):
        arms, curves = [], []
        simulated(
            collect=lambda instance, taken: arms.append((instance, taken.tolist())),
            collect_curves=lambda instance, each: curves.append((instance, each.tolist())),
            resume=tmp_path,
            **options,
        )
        return arms, curves

    assert gathered() == gathered()


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 4},
        {"horizon": 41},
        {"policies": {"Greedy": Greedy(), "fixed": FixedArm(arm=0)}},
        {"collect": lambda instance, arms: None},
    ],
    ids=lambda change: next(iter(change)),
)
def test_other_settings_are_another_run(tmp_path, change):
    simulated(resume=tmp_path)
    _, drawn = simulated(resume=tmp_path, **change)
    assert drawn >= 7


def test_names_of_policies_are_not_part_of_a_run(tmp_path):
    simulated(resume=tmp_path)
    other = {"other name": Greedy(), "fixed": FixedArm(arm=1)}
    assert simulated(resume=tmp_path, policies=other)[1] == 0


def test_a_file_is_no_directory(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ValueError, match=r"resume must be a directory.* \(it is a file\), got '"):
        simulated(resume=file)
    with pytest.raises(ValueError, match="resume must be a directory"):
        simulated(resume=file / "below")
    for none in (3, ""):
        with pytest.raises(ValueError, match="resume must be a directory for finished blocks"):
            simulated(resume=none)
