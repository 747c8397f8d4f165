"""Tables from OpenML, which is played here: kept whole in the cache, or not at all."""

from types import SimpleNamespace

import pandas as pd
import pytest

from greedyfirst.cli import main
from greedyfirst.tables import datasets
from greedyfirst.tables.datasets import load_data_set


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """Where downloads are kept; OpenML answers the first time only."""
    answers = [pd.DataFrame({"a": [1.5, 2.0, 3.0, 4.0] * 5})]

    def fetch_openml(**options):
        assert options["data_id"] == 1471
        if not answers:
            raise OSError("no route to host")
        return SimpleNamespace(data=answers.pop(), target=["1", "2"] * 10)

    monkeypatch.delenv(datasets.ENVIRONMENT, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    openml = SimpleNamespace(fetch_openml=fetch_openml)
    monkeypatch.setattr(datasets, "_sklearn_datasets", lambda name: openml)
    return tmp_path / "cache" / "greedyfirst" / "data"


def test_a_download_is_asked_for_once(cache):
    frame, label = load_data_set("eeg")
    assert label == "Class"
    assert [path.name for path in cache.iterdir()] == ["eeg.csv"]
    again, label = load_data_set("eeg")
    assert label == "Class"
    assert again["a"].tolist() == frame["a"].tolist()
    assert again["Class"].astype(str).tolist() == frame["Class"].tolist()


def test_a_download_that_is_cut_off_leaves_nothing(cache, monkeypatch):
    def cut_off(frame, path, **options):
        path.write_text("a,Class\n1.5,")
        raise KeyboardInterrupt

    monkeypatch.setattr(pd.DataFrame, "to_csv", cut_off)
    with pytest.raises(KeyboardInterrupt):
        load_data_set("eeg")
    assert list(cache.iterdir()) == []


def test_a_cache_that_cannot_be_written_stops_nothing(cache):
    cache.parent.mkdir(parents=True)
    cache.write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match=r"cannot be kept as .*eeg\.csv \(file exists\)"):
        frame, _ = load_data_set("eeg")
    assert len(frame) == 20


@pytest.mark.filterwarnings("always")
def test_the_command_says_so_in_one_line(cache, tmp_path, monkeypatch, capsys):
    cache.parent.mkdir(parents=True)
    cache.write_text("a file where the folder should be")
    words = ["replay", "eeg", "--permutations", 1, "--jobs", 1, "--out", tmp_path / "out"]
    monkeypatch.setattr("sys.argv", ["greedyfirst", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    said = capsys.readouterr()
    assert end.value.code == 0
    (sentence,) = said.err.splitlines()
    assert sentence.startswith("greedyfirst: the download cannot be kept")
    assert (tmp_path / "out" / "eeg-replay.html").exists()
