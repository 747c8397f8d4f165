"""Tables with the mistakes that people's tables have: what each command says of them."""

import sys
from html import unescape

import numpy as np
import pandas as pd
import pytest

from greedyfirst.cli import main

N = 40


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Exit code, output and lines of errors, in a directory of its own."""
    monkeypatch.chdir(tmp_path)

    def ran(*arguments):
        monkeypatch.setattr(sys, "argv", ["greedyfirst", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return end.value.code, said.out, said.err.splitlines()

    return ran


def table(**columns):
    rng = np.random.default_rng(0)
    plain = {
        "age": rng.integers(20, 60, N),
        "x": rng.normal(size=N).round(3),
        "dose": ["lo", "hi"] * 20,
    }
    return pd.DataFrame({**plain, **columns})


AGES = [20 + 7 * place % 31 for place in range(N - 1)]
DAYS = pd.date_range("2020-01-01", periods=N // 2).strftime("%d/%m/%Y").repeat(2)
#: File, contents, and the message; {0} is the file's name.
REFUSED = {
    "Excel": (
        "t.xlsx",
        b"PK\x03\x04",
        "{0} is an Excel workbook; in Excel: File, Save As, CSV UTF-8; or with pandas: "
        "read_excel('t.xlsx').to_csv('t.csv', index=False)",
    ),
    "JSON": (
        "t.json",
        b"[]",
        "{0} is JSON; with pandas: read_json('t.json').to_csv('t.csv', index=False)",
    ),
    "Windows text": (
        "t.csv",
        table(sex=["é", "m"] * 20).to_csv(index=False).encode("cp1252"),
        "{0}: column 'sex', data row 1 is not UTF-8 text; name its encoding (--encoding cp1252 for "
        "most files of Windows programs) or save it as UTF-8",
    ),
    "missing numbers": (
        "t.csv",
        table(age=[None, *AGES]),
        "column 'age' has missing values in 1 row, first in data row 1; fill them with "
        "impute='median' (--impute median; or mean, most-frequent), or leave it out with "
        "drop=['age'] (--drop age)",
    ),
    "a question mark among numbers": (
        "t.csv",
        table(age=["?", *AGES]),
        "text in a numeric column: column 'age', data row 1 is '?', expected a number; correct it, "
        "make it missing (--na '?'), or declare the column with categorical=['age'] (--categorical "
        "age)",
    ),
    "an identifier": (
        "t.csv",
        table(patient=[f"p{i}" for i in range(N)]),
        "column 'patient' has 40 different values in 40 rows, expected at most 1000 and at most "
        "one for every two rows: if it is an identifier, drop it with drop=['patient'] (--drop "
        "patient)",
    ),
    "dates": (
        "t.csv",
        table(day=DAYS),
        "column 'day' holds dates, as in '01/01/2020'; leave it out with drop=['day'] (--drop "
        "day), read it as days (--numeric day), or declare it with categorical=['day'] "
        "(--categorical day)",
    ),
    "dollars": (
        "t.csv",
        table(**{"net price": [f"${1000 + i:,}.50" for i in range(N)]}),
        "column 'net price' holds amounts, as in '$1,000.50'; read them as numbers (--numeric 'net "
        "price'), or declare it with categorical=['net price'] (--categorical 'net price')",
    ),
    "euros": (
        "t.csv",
        table(price=[f"1.2{i:02d},50 €" for i in range(N)]),
        "column 'price' holds amounts, as in '1.200,50 €'; read them as numbers (--numeric price), "
        "or declare it with categorical=['price'] (--categorical price)",
    ),
    "percentages": (
        "t.csv",
        table(share=[f"{i} %" for i in range(N)]),
        "column 'share' holds percentages, as in '0 %'; read them as numbers (--numeric share), or "
        "declare it with categorical=['share'] (--categorical share)",
    ),
    "quoted decimal commas": (
        "t.csv",
        table(share=[f"{i},5" for i in range(N)]),
        "column 'share' holds numbers with commas or spaces, as in '0,5'; read them as numbers "
        "(--numeric share), or declare it with categorical=['share'] (--categorical share)",
    ),
    "measurements as classes": (
        "t.csv",
        pd.DataFrame({"x": np.arange(300) % 7, "dose": np.arange(300) / 8}),
        "label column 'dose' has 300 different numbers in 300 rows, from 0 to 37.375: "
        "measurements, not classes; name another column (--label), or cut this one into a few "
        "classes first (pandas.qcut)",
    ),
}


def write(folder, name, content):
    path = folder / name
    path.write_bytes(
        content if isinstance(content, bytes) else content.to_csv(index=False).encode()
    )
    return path.name


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_the_way_out(case, run, tmp_path):
    name, content, message = REFUSED[case]
    code, said, errors = run("replay", write(tmp_path, name, content), "--label", "dose")
    assert (code, said, errors) == (2, "", [f"greedyfirst: {message.format(name)}"])
    assert [path.name for path in tmp_path.iterdir()] == [name]


SEVERAL = table(
    day=DAYS, share=[f"{i} %" for i in range(N)], gap=[None, *range(N - 1)], dose=np.arange(N) / 7
)


def test_everything_that_stands_in_the_way_is_one_message(run, tmp_path):
    write(tmp_path, "t.csv", SEVERAL)
    code, _, errors = run("replay", "t.csv", "--label", "dose")
    assert code == 2
    assert errors[1] == "greedyfirst: 4 things stand in the way:"
    for fault, begin in zip(
        errors[2:],
        [
            "label column 'dose' has",
            "column 'day' holds",
            "column 'share' holds",
            "column 'gap' has",
        ],
        strict=True,
    ):
        assert fault.startswith(f"- {begin}")
    assert "'gap'" in errors[0]  # the numbers 0 to 38, once each


#: Contents, options, and what is said and done; the command goes on.
NOTED = {
    "semicolons and decimal commas": (
        table().to_csv(index=False, sep=";", decimal=",").encode(),
        (),
        [
            "t.csv is read as cells between ';' (--separator says otherwise).",
            "Numbers in t.csv have a decimal comma, as in -0,129 (--decimal . says otherwise).",
        ],
    ),
    "constant and empty columns": (
        table(site=["Bern"] * N, unit=[1] * N, remark=[None] * N),
        (),
        ["Left out, since the same in every row: 'site' ('Bern'), 'unit' (1), 'remark' (empty)."],
    ),
    "missing categories": (
        table(sex=["f", None, "m", "f"] * 10),
        (),
        [
            "Missing values of 'sex' (10 rows) are a category of their own (--impute most-frequent "
            "fills them)."
        ],
    ),
    "a code for missing": (
        table(age=[-999, *AGES]),
        (),
        [
            "Column 'age' is -999 in 1 row and between 20 and 50 otherwise; it is used as a number "
            "(--na -999 makes it missing)."
        ],
    ),
    "a code for missing, told": (
        table(age=[-999, *AGES]),
        ("--na", "-999", "--impute", "mean"),
        [],
    ),
    "row numbers": (
        table(nr=range(1, N + 1)),
        (),
        [
            "Column 'nr' has another whole number in every row, as an identifier has; it is used "
            "as a number (--drop nr leaves it out)."
        ],
    ),
    "dates as numbers": (
        table(day=[20200101 + i % 20 for i in range(N)]),
        ("--standardise",),
        [
            "Column 'day' holds dates written as numbers, as in 20200101; it is used as a number, "
            "in which months have 100 days (--drop day leaves it out)."
        ],
    ),
    "dollars, told": (
        table(price=[f"${1000 + i:,}.50" for i in range(N)]),
        ("--numeric", "price"),
        ["Column 'price' is read as numbers: '$1,000.50' is 1000.5."],
    ),
    "dates, told": (
        table(day=DAYS),
        ("--numeric", "day"),
        ["Column 'day' is read as days since 1970-01-01: '01/01/2020' is 18262."],
    ),
    "Windows text, told": (
        table(sex=["é", "m"] * 20).to_csv(index=False).encode("cp1252"),
        ("--encoding", "cp1252"),
        [],
    ),
}


@pytest.mark.parametrize("case", NOTED)
def test_said_and_done(case, run, tmp_path):
    """In the terminal and on the page; all commands read tables by the same function."""
    content, options, notes = NOTED[case]
    write(tmp_path, "t.csv", content)
    played = ("--policy", "Greedy", "--permutations", 1)
    code, _, errors = run("replay", "t.csv", "--label", "dose", *played, *options)
    assert code == 0, errors
    assert errors == [f"greedyfirst: {note}" for note in notes]
    page = unescape((tmp_path / "figures" / "t-replay.html").read_text())
    assert ("What was noticed in the table" in page) is bool(notes)
    assert all(f"<li>{note}</li>" in page for note in notes)


COMMANDS = {
    "diversity": ("diversity", "t.csv", "--label", "dose", "--html"),
    "evaluate": ("evaluate", "t.csv", "--arm", "dose", "--reward", "x", "--always", "lo"),
    "plan": ("plan", "t.csv", "--drop", "dose", "--people", "30", "--trials", "2"),
    "bounds": (
        *("bounds", "arms.csv", "--contexts", "t.csv", "--drop", "dose", "--h", "0.3"),
        *("--sigma", "0.1", "--pulls", "9", "--simulate", "--runs", "2", "--horizon", "50"),
    ),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reads_the_same_tables_and_overwrites_nothing(command, run, tmp_path):
    write(tmp_path, "t.csv", table(age=["?", *AGES]).to_csv(index=False, sep=";").encode())
    (tmp_path / "arms.csv").write_text("1,0\n-1,0\n")
    words = (*COMMANDS[command], "--na", "?", "--impute", "mean", "--standardise")
    code, _, errors = run(*words)
    assert (code, errors) == (
        0,
        ["greedyfirst: t.csv is read as cells between ';' (--separator says otherwise)."],
    )
    made = {path: path.read_bytes() for path in (tmp_path / "figures").iterdir()}
    code, said, errors = run(*words)
    assert (code, said) == (2, "")
    assert len(errors) == 1
    assert "is there already" in errors[0]
    assert errors[0].endswith("write elsewhere, or overwrite it (--force)")
    assert made == {path: path.read_bytes() for path in (tmp_path / "figures").iterdir()}
    assert run(*words, "--force")[0] == 0


def test_figures_are_not_overwritten_either(run, tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "fig2a.png").write_text("mine")
    for name in ("fig2a", "all"):
        code, _, errors = run("figure", name, "--instances", 2)
        assert code == 2
        assert "fig2a.png is there already; write elsewhere" in errors[0].replace("\n", "")
    assert (tmp_path / "figures" / "fig2a.png").read_text() == "mine"


@pytest.mark.parametrize("words", [("replay", "wine", "--na", "?"), ("plan", "--decimal", ",")])
def test_options_of_files_are_not_ignored_where_there_is_no_file(words, run):
    code, said, errors = run(*words)
    assert (code, said, len(errors)) == (2, "", 1)
    assert "TABLE must be" in errors[0]
