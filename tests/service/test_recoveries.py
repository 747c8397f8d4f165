"""Erased persons and hidden rewards, attacked as `benchmarks/recoveries.py` does at length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

#: The chance that guesses by coins fail a test: 1 in 1000.
LEVEL = 0.001


@pytest.fixture
def attack(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import recoveries

    return recoveries


def nobody_is_recovered(found: list[Any]) -> None:
    for each in found:
        assert not each.by_seal
        assert not each.by_numbers
        assert each.traces == 0
        assert each.survivors > 100


def test_no_erased_person_is_recovered_from_the_file(
    attack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attack, "AGES", range(50, 70))
    monkeypatch.setattr(attack, "WEIGHTS", range(70, 90))
    nobody_is_recovered(attack.recover_persons(2, fine=1))


def test_an_operator_guesses_rewards_as_a_coin_does(
    attack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attack, "_CLOCKS", 1e-5)
    right, sealed, of = attack.guess_rewards(16)
    assert sealed == 0
    assert attack.better_than_chance(right, of) > LEVEL


@pytest.mark.nightly
def test_neither_at_length(attack: Any) -> None:
    nobody_is_recovered(attack.recover_persons(20, fine=10))
    right, sealed, of = attack.guess_rewards(400)
    assert sealed == 0
    assert attack.better_than_chance(right, of) > LEVEL
