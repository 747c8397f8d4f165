"""A main file beside the write-ahead log of another time: refused, and neither is harmed."""

from __future__ import annotations

import shutil
from itertools import pairwise, product
from pathlib import Path

import apsw
import pytest
from log_entries import entries

from greedyfirst.service.errors import DamagedLogError
from greedyfirst.service.log.access_keys import AccessKey, add_key
from greedyfirst.service.log.backup import back_up
from greedyfirst.service.log.read_only import reading
from greedyfirst.service.log.sqlite_log import SqliteLog

#: Entries at the moments at which copies are made; some lie behind a checkpoint.
MOMENTS = [0, 40, 90, 200, 420, 650, 700]


@pytest.fixture
def copies(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Path]]:
    """Copies of a running log at many moments, made in four ways."""
    monkeypatch.setattr("greedyfirst.service.log.sqlite_log._PAGES_IN_WAL", 60)
    made: dict[str, list[Path]] = {"raw": [], "vacuum": [], "pages": [], "backup": []}
    log = SqliteLog(path)
    outside = apsw.Connection(str(path))
    for number, (before, now) in enumerate(pairwise([0, *MOMENTS])):
        for seq in range(before + 1, now + 1):
            log.append(entries(seq, seq))
        if log._copying is not None:
            log._copying.result()
        for how in made:
            made[how].append(tmp_path / how / str(number) / "log.db")
            made[how][-1].parent.mkdir(parents=True)
        for ending in ("", "-wal"):
            shutil.copy(f"{path}{ending}", f"{made['raw'][-1]}{ending}")
        outside.execute(f"VACUUM INTO '{made['vacuum'][-1]}'")
        target = apsw.Connection(str(made["pages"][-1]))
        with target.backup("main", outside, "main") as copying:
            copying.step()
        target.close()
        back_up(path, made["backup"][-1])
    outside.close()
    log.close()
    return made


def test_a_copy_put_back_beside_another_wal_is_refused_or_whole(
    copies: dict[str, list[Path]], tmp_path: Path
) -> None:
    refused, whole = 0, 0
    numbers = range(len(MOMENTS))
    for how, i, j in product(copies, numbers, numbers):
        main, wal = copies[how][i], copies["raw"][j]
        place = tmp_path / "mixed" / f"{how}-{i}-{j}" / "log.db"
        place.parent.mkdir(parents=True)
        shutil.copy(main, place)
        shutil.copy(f"{wal}-wal", f"{place}-wal")
        before = [Path(f"{place}{ending}").read_bytes() for ending in ("", "-wal")]
        try:
            with reading(place) as looked_at:
                looked_at.check()
        except DamagedLogError:
            refused += 1
            with pytest.raises(DamagedLogError, match="beside a -wal of another state"):
                add_key(place, AccessKey("clinic", "reader", b"h"))
            with pytest.raises(DamagedLogError, match="beside a -wal of another state"):
                SqliteLog(place)
            after = [Path(f"{place}{ending}").read_bytes() for ending in ("", "-wal")]
            assert after == before, (how, i, j)
            continue
        whole += 1
        log = SqliteLog(place)
        assert log.check() == MOMENTS[j], (how, i, j)
        log.append(entries(MOMENTS[j] + 1, MOMENTS[j] + 1))
        assert log.check() == MOMENTS[j] + 1
        log.close()
        assert how not in ("vacuum", "backup") or not before[1]
    assert whole >= len(MOMENTS)  # each with its own
    assert refused >= 2 * len(MOMENTS) * (len(MOMENTS) - 1)


def test_each_beginning_of_the_wal_has_its_own_token(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greedyfirst.service.log.sqlite_log._PAGES_IN_WAL", 20)
    log = SqliteLog(path)
    tokens = set()
    for seq in range(1, 200):
        log.append(entries(seq, seq))
        if log._copying is not None:
            log._copying.result()
        tokens.add(log._wal.token)
    assert len(tokens) > 3
    log.close()


def test_another_programs_checkpoint_is_no_reason_to_refuse(path: Path) -> None:
    log = SqliteLog(path)
    other = apsw.Connection(str(path))
    for seq in range(1, 60):
        log.append(entries(seq, seq))
        if seq % 7 == 0:
            other.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    other.close()
    killed = path.with_name("killed.db")
    for ending in ("", "-wal"):
        shutil.copy(f"{path}{ending}", f"{killed}{ending}")
    log.close()
    again = SqliteLog(killed)
    assert again.check() == 59
    again.close()
