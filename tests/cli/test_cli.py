"""The command line, as a user meets it: files, exit codes, one sentence on bad input."""

import csv
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pandas
import pytest

import greedyfirst
from greedyfirst.cli import figure as figure_command
from greedyfirst.cli import main
from greedyfirst.cli.application import output_name
from greedyfirst.experiments import EXPERIMENTS
from greedyfirst.tables.datasets import DATA_SETS
from support.interrupts import hear_interrupts
from support.real_data import DATA

POLICIES = ["Greedy", "Greedy-First", "OLS Bandit", "OFUL", "Prior-free TS", "Prior-dependent TS"]
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "greedyfirst", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


@pytest.fixture(scope="module")
def figure(tmp_path_factory):
    out = tmp_path_factory.mktemp("figures") / "deep" / "er"
    done = run("figure", "fig2a", "--instances", 3, "--seed", 5, "--jobs", 2, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    return out, done.stdout


def test_figure_says_where_its_files_are(figure):
    out, said = figure
    names = ["fig2a.csv", "fig2a.json", "fig2a.png"]
    assert sorted(path.name for path in out.iterdir()) == names
    for name in names:
        assert str(out / name) in said.replace("\n", "")


def test_figure_shows_a_table(figure):
    _, said = figure
    assert all(policy in said for policy in POLICIES)


def test_figure_csv(figure):
    out, _ = figure
    with open(out / "fig2a.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["policy", "t", "mean", "half_width"]
    steps = [str(t) for t in range(20, 10_000, 200)]
    assert [row[:2] for row in rows[1:]] == [[name, t] for name in POLICIES for t in steps]
    result = EXPERIMENTS["fig2a"].run(n_instances=3, seed=5)
    assert [float(row[2]) for row in rows[1:]] == result.mean.ravel().tolist()
    assert [float(row[3]) for row in rows[1:]] == result.half_width.ravel().tolist()


def test_figure_json(figure):
    out, _ = figure
    facts = json.loads((out / "fig2a.json").read_text())
    assert {"settings", "seed", "version", "switches", "seconds"} <= set(facts)
    assert facts["seed"] == 5
    assert facts["version"] == greedyfirst.__version__
    assert facts["switches"] == {"Greedy-First": 0}
    assert list(facts["seconds"]) == POLICIES
    assert all(0 < seconds < 60 for seconds in facts["seconds"].values())
    assert facts["settings"]["instances"] == 3
    assert facts["settings"]["horizon"] == 10_000


def test_figure_png(figure):
    out, _ = figure
    content = (out / "fig2a.png").read_bytes()
    assert content.startswith(PNG_SIGNATURE)
    assert len(content) > 10_000


def test_the_same_seed_gives_the_same_bytes(figure, tmp_path):
    out, _ = figure
    for seed, same in ((5, True), (6, False)):
        options = ("--seed", seed, "--jobs", 1, "--out", tmp_path, "--force")
        assert run("figure", "fig2a", "--instances", 3, *options).returncode == 0
        again = (tmp_path / "fig2a.csv").read_bytes() == (out / "fig2a.csv").read_bytes()
        assert again is same


@pytest.mark.skipif(not DATA.exists(), reason=f"the tables are not at {DATA}")
def test_a_figure_of_real_data(tmp_path):
    options = ("--instances", 2, "--jobs", 1, "--data-dir", DATA, "--out", tmp_path)
    done = run("figure", "fig4a", *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert "share of wrong decisions at t = 14970" in done.stdout
    with open(tmp_path / "fig4a.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    labels = ["Greedy", "Greedy-First", "OLS Bandit", "OFUL", "Prior-dependent TS", "Oracle"]
    steps = [str(t) for t in range(20, 14_981, 299)]
    assert [(row["policy"], row["t"]) for row in rows] == [(p, t) for p in labels for t in steps]
    assert all(0.1 < float(row["mean"]) < 0.9 for row in rows)
    facts = json.loads((tmp_path / "fig4a.json").read_text())
    assert facts["settings"]["data set"] == "eeg"
    assert facts["switches"] == {"Greedy-First": 0}
    assert list(facts["seconds"]) == labels
    assert (tmp_path / "fig4a.png").read_bytes().startswith(PNG_SIGNATURE)


def test_all_figures_that_can_be_made_are_on_one_page(tmp_path, monkeypatch, capsys):
    """Of a list of three: a figure without data is listed with the reason."""
    few = {name: EXPERIMENTS[name] for name in ("fig2a", "fig4d", "fig3a")}
    monkeypatch.setattr(figure_command, "EXPERIMENTS", few)
    monkeypatch.delenv("GREEDYFIRST_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    out = tmp_path / "out"
    arguments = ["figure", "all", "--instances", "2", "--jobs", "1", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["greedyfirst", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    said, progress = capsys.readouterr()
    assert end.value.code == 0
    assert "2 of 3: fig4d" in progress
    assert "left out: warfarin is not here" in progress
    page = (out / "figures.html").read_text()
    assert str(out / "figures.html") in said.replace("\n", "")
    assert few["fig2a"].title in page
    assert few["fig3a"].title in page
    assert f"{few['fig4d'].title}: warfarin is not here" in page
    assert sorted(path.name for path in out.iterdir()) == [
        *(f"{name}.{kind}" for name in ("fig2a", "fig3a") for kind in ("csv", "json", "png")),
        "figures.html",
    ]


def in_process(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["greedyfirst", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0


def test_figure_2_as_written_has_files_of_its_own(tmp_path, monkeypatch, capsys):
    """One panel, and all of them on a page."""
    options = ("--as-written", "--instances", 2, "--jobs", 1, "--out", tmp_path)
    in_process(monkeypatch, "figure", "fig2c", *options)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"fig2c-as-written.{kind}" for kind in ("csv", "json", "png")
    ]
    in_process(monkeypatch, "figure", "all", *options, "--force")
    assert "4 of 4: fig2d-as-written" in capsys.readouterr().err
    page = (tmp_path / "figures-as-written.html").read_text()
    assert page.count("; as written</h2>") == 4
    assert "4 figures; 24 published end values beside ours" in page


def test_raw_curves_on_request(tmp_path, monkeypatch, capsys):
    options = ("--raw", "--instances", 2, "--jobs", 1, "--out", tmp_path)
    in_process(monkeypatch, "figure", "fig3a", *options)
    raw = tmp_path / "fig3a-raw.parquet"
    assert str(raw) in capsys.readouterr().out.replace("\n", "")
    frame = pandas.read_parquet(raw)
    with open(tmp_path / "fig3a.csv", newline="") as file:
        means = [float(row["mean"]) for row in csv.DictReader(file)]
    found = frame.groupby(["policy", "t"], observed=True, sort=False).regret.mean()
    assert found.tolist() == pytest.approx(means)


BAD = {
    "unknown figure": (("figure", "fig9z"), "fig9z"),
    "no figure": (("figure",), "name"),
    "zero instances": (("figure", "fig2a", "--instances", "0"), "--instances"),
    "negative instances": (("figure", "fig2a", "--instances", "-3"), "--instances"),
    "instances in words": (("figure", "fig2a", "--instances", "x"), "--instances"),
    "half an instance": (("figure", "fig2a", "--instances", "1.5"), "--instances"),
    "zero jobs": (("figure", "fig2a", "--jobs", "0"), "--jobs"),
    "negative jobs": (("figure", "fig2a", "--jobs", "-2"), "--jobs"),
    "negative seed": (("figure", "fig2a", "--seed", "-1"), "--seed"),
    "seed in words": (("figure", "fig2a", "--seed", "x"), "--seed"),
    "unknown option": (("figure", "fig2a", "--colour", "red"), "--colour"),
    "option without a value": (("figure", "fig2a", "--seed"), "--seed"),
    "a place that is not there": (("figure", "fig4a", "--data-dir", "nowhere"), "nowhere"),
    "no table of warfarin": (("figure", "fig4d"), "warfarin"),
    "no such table": (("replay", "bogus"), "bogus does not exist; give a file's path or a known"),
    "two figures": (("figure", "fig2a", "fig2b"), "fig2b"),
    "no other way of writing": (
        ("figure", "fig4a", "--as-written"),
        "NAME must be one of fig2a, fig2b, fig2c, fig2d or all with --as-written, got 'fig4a'",
    ),
    "no single curves": (("figure", "fig1", "--raw"), "--raw must be left out for fig1"),
    "unknown command": (("paint",), "paint"),
}


def check_refusal(code, out, err, mentioned, directory):
    assert code == 2
    assert mentioned in err
    assert "Traceback" not in err + out
    assert len(err.strip().splitlines()) == 1
    assert out == ""
    assert not list(directory.iterdir())


@pytest.mark.parametrize("case", BAD)
def test_bad_input_ends_with_2_and_one_sentence(case, tmp_path, monkeypatch, capsys):
    """In this process: starting another takes two seconds."""
    arguments, mentioned = BAD[case]
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GREEDYFIRST_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "argv", ["greedyfirst", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    check_refusal(end.value.code, *capsys.readouterr(), mentioned, tmp_path)


@pytest.mark.parametrize("case", ["unknown figure", "instances in words", "unknown command"])
def test_bad_input_as_a_user_meets_it(case, tmp_path):
    arguments, mentioned = BAD[case]
    done = run(*arguments, cwd=tmp_path)
    check_refusal(done.returncode, done.stdout, done.stderr, mentioned, tmp_path)


def test_names_of_known_tables_are_listed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["greedyfirst", "replay", str(tmp_path / "none.csv")])
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().err.strip().endswith(f"a known table: {', '.join(DATA_SETS)}")


@pytest.mark.parametrize("size", [None, 2**50])
def test_too_little_memory_is_one_sentence(size, tmp_path, monkeypatch, capsys):
    def ask_for_too_much(*arguments, **options):
        if size is None:
            raise MemoryError
        return np.empty(size)

    monkeypatch.setattr(figure_command, "make", ask_for_too_much)
    arguments = ["figure", "fig2a", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["greedyfirst", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    check_refusal(end.value.code, out, err, "there is not enough memory", tmp_path)
    assert ("Unable to allocate" in err) is (size is not None)
    assert "fewer --jobs" in err


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("patients.csv", "patients"),
        ("in/a/folder/patients.2023.csv", "patients.2023"),
        ("patients.2024.CSV.gz", "patients.2024"),
        ("my.data.v2.tsv", "my.data.v2"),
        ("v1.parquet", "v1"),
        ("measured.gz", "measured.gz"),
        (".csv", ".csv"),
        ("breast_cancer", "breast_cancer"),
    ],
)
def test_files_are_named_after_the_table_without_its_ending(table, name):
    assert output_name(table) == name


def test_no_arguments_show_the_help():
    done = run()
    assert done.returncode == 2
    assert "Usage" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_place_that_cannot_be_written_is_noticed_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        start = time.monotonic()
        done = run("figure", "fig2a", "--instances", 10**6, "--out", out)
        assert time.monotonic() - start < 30
        assert done.returncode == 2
        assert str(out) in done.stderr.replace("\n", "")
        assert "Traceback" not in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("arguments", [("--help",), ("figure", "--help")])
def test_help_has_an_example(arguments):
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Example" in done.stdout
    assert "greedyfirst figure fig2" in done.stdout


def test_help_names_every_option_and_figure():
    said = run("figure", "--help").stdout
    assert all(
        option in said
        for option in (
            *("--instances", "--seed", "--jobs", "--out", "--data-dir", "--as-written", "--raw"),
        )
    )
    assert all(name in said for name in EXPERIMENTS)


def test_version():
    done = run("--version")
    assert (done.returncode, done.stdout.strip()) == (0, greedyfirst.__version__)


def test_a_reader_that_leaves_is_no_error():
    command = f"{sys.executable} -m greedyfirst figure --help | head -c 5"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_interrupt_ends_with_130_and_one_word(tmp_path, figure):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "greedyfirst", "figure", "fig2a", "--instances", "1000000"]
    with subprocess.Popen(
        [*command, "--jobs", "2", "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    ) as process:
        deadline = time.monotonic() + 30
        while not out.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1.5)  # the kernels are loaded from the cache by then
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        try:
            said, complained = process.communicate(timeout=20)
        finally:
            process.kill()
    assert time.monotonic() - start < 5
    assert (process.returncode, said, complained.strip()) == (130, "", "interrupted")
