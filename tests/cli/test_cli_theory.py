"""`greedyfirst bounds` and `greedyfirst diversity`, as a user meets them."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from greedyfirst.cli import main

EXAMPLE = "1,0\n-0.5,0.8660254\n-0.5,-0.8660254\n"


def call(monkeypatch, capsys, *arguments):
    """Exit code, output and errors of a call in this process."""
    monkeypatch.setattr("sys.argv", ["greedyfirst", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    said = capsys.readouterr()
    return end.value.code, said.out, said.err


@pytest.fixture
def greedyfirst(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")  # the page's width: sentences are looked for in its cells
    return lambda *arguments: call(monkeypatch, capsys, *arguments)


def number_in(table, what):
    """The first number of a row of a printed table."""
    line = next(line for line in table.splitlines() if what in line)
    return float(re.findall(r"-?\d[\d.e+-]*", line.split("│")[2])[0])


def test_bounds_of_example_1(greedyfirst, tmp_path):
    (tmp_path / "arms.csv").write_text(EXAMPLE)
    arguments = ["bounds", "arms.csv", "--sigma", 0.003, "--pulls", 20, "--h", 0.3]
    code, said, errors = greedyfirst(*arguments, "--lambda0", 0.01, "--t0", 1000)
    assert (code, errors) == (0, "")
    assert number_in(said, "λ₁(h)") == pytest.approx(0.0255, abs=3e-4)
    assert number_in(said, "S^gb") == pytest.approx(0.611, abs=0.01)
    assert "more than two arms" in said  # of Theorem 1
    assert "Theorem 4" in said
    for what in ("Theorem 3", "Corollary 1", "Corollary 2", "Corollary 3", "Prop. 2", "Prop. 3"):
        assert what in said
    names = [line.split("│")[1].strip() for line in said.splitlines() if "│" in line]
    named = [name for name in names if name]
    assert len(named) == len(set(named)) > 15
    words = " ".join(said.partition("In words:")[2].split())
    assert "Greedy succeeds, that is, learns without exploring, with a chance of at least 61 %" in (
        words
    )
    assert "Greedy-First's regret bound (Theorem 3) promises nothing at T = 2000" in words
    assert "With an estimated λ₀ it is measured, not proved." in words
    assert "GreedyFirst()'s regret bound (arm by arm) promises nothing at T = 2000" in words


@pytest.mark.parametrize("columns", [60, 130])
def test_bounds_fit_the_terminal(greedyfirst, monkeypatch, tmp_path, columns):
    (tmp_path / "arms.csv").write_text("1,0\n-1,0\n")
    monkeypatch.setenv("COLUMNS", str(columns))
    said = greedyfirst("bounds", "arms.csv", "--sigma", 0.01, "--pulls", 9, "--h", 0.3)[1]
    assert max(map(len, said.splitlines())) <= min(max(columns, 78), 120)
    assert number_in(said, "regret (Theorem 1)") > 0
    assert "λ₀ (Assumption 3)" in said


def test_bounds_of_signs_are_scaled(greedyfirst, tmp_path):
    """x = ±s with s²d = x_max²: λ₀ = s²/2 = 1, and C₀ = 1/(2s) as all gaps are 2s."""
    (tmp_path / "arms.csv").write_text("1,0\n-1,0\n")
    arguments = ["--sigma", 0.01, "--pulls", 9, "--contexts", "rademacher", "--x-max", 2]
    arguments += ["--h", 1, "--alpha", 1, "--link", "logistic"]
    said = greedyfirst("bounds", "arms.csv", *arguments)[1]
    assert number_in(said, "x_max") == 2
    assert number_in(said, "λ₀ (Assumption 3)") == 1
    assert number_in(said, "C₀ (Assumption 2)") == pytest.approx(0.5 / math.sqrt(2), rel=1e-3)
    assert number_in(said, "Corollary 1, α = 1") <= number_in(said, "regret (Theorem 1)")
    assert number_in(said, "Prop. 1, logistic") > 0
    assert "σ = 0.5 of these rewards" in " ".join(said.split())


def test_bounds_say_what_a_steep_margin_supposes(greedyfirst, tmp_path):
    """With α > 1 the ratio P/κ^α has no bound near 0 for a law with a density."""
    (tmp_path / "arms.csv").write_text("1,0\n-1,0\n")
    arguments = ["bounds", "arms.csv", "--sigma", 0.01, "--pulls", 9, "--h", 0.3]
    said = " ".join(greedyfirst(*arguments, "--alpha", 1.5)[1].split())
    assert "stays bounded; C(α)" in said
    assert "if that holds" in said
    assert "no margin condition" in greedyfirst(*arguments)[1]


def test_bounds_on_a_table_of_contexts(greedyfirst, tmp_path):
    """Rows (±1, ±1): the same numbers as for signs, with λ₀ proved for the rows."""
    rows = [f"{a},{b},x" for a in (-1, 1) for b in (-1, 1)]
    (tmp_path / "corners.csv").write_text("\n".join(["left,right,note", *rows]) + "\n")
    (tmp_path / "arms.csv").write_text("1,0\n-1,0\n")
    arguments = ["bounds", "arms.csv", "--sigma", 0.01, "--pulls", 9, "--h", 0.5]
    arguments += ["--contexts", "corners.csv", "--drop", "note"]
    code, said, errors = greedyfirst(*arguments, "--lambda0", 2, "--t0", 50)
    assert (code, errors) == (0, "")
    assert number_in(said, "x_max") == pytest.approx(math.sqrt(2), rel=1e-3)
    assert number_in(said, "λ₀ (Assumption 3)") == pytest.approx(0.5, rel=1e-3)
    assert number_in(said, "regret (Theorem 3)") > 0  # also for a λ₀ that no law can have
    assert "needs λ₀ < 4λ₁ and t₀ > K·m" in " ".join(said.split())
    (tmp_path / "arms.csv").write_text("1,0,1\n-1,0,1\n")
    said = greedyfirst(*arguments, "--intercept")[1]
    assert number_in(said, "λ₀ (Assumption 3)") == 0
    assert "Greedy has no regret bound here (Theorem 1): λ₀ is not proved to be above 0." in said


def test_bounds_without_a_lead_promise_nothing(greedyfirst, tmp_path):
    """Two arms are the same, so that neither ever leads and neither trails everywhere."""
    (tmp_path / "arms.csv").write_text("1,1\n1,1.0001\n1,1\n")
    said = greedyfirst("bounds", "arms.csv", "--sigma", 0.1, "--pulls", 3)[1]
    assert "no promise: arms" in said
    assert "No bound on the chance that greedy succeeds" in said


def test_bounds_with_the_simulated_truth(greedyfirst, tmp_path):
    (tmp_path / "arms.csv").write_text("1,0\n-1,0\n")
    arguments = ["bounds", "arms.csv", "--sigma", 0.01, "--pulls", 20, "--h", 0.3, "--simulate"]
    code, said, errors = greedyfirst(*arguments, "--runs", 3, "--horizon", 200, "--out", "made")
    assert (code, errors) == (0, "")
    assert number_in(said, "λ₀ (Assumption 3)") == pytest.approx(1 / 8)  # R²/(2(d + 2))
    assert number_in(said, "Theorem 1") > 0
    assert number_in(said, "chance of a raise, ever") == 1  # 20 pulls are few
    lost = number_in(said, "regret, simulated")
    assert 0 < lost < number_in(said, "regret (arm by arm)")
    table = (tmp_path / "made" / "bounds.csv").read_text().splitlines()
    assert table[0] == "curve,sigma,probability,half_width"
    assert {line.split(",")[0] for line in table[1:]} == {
        "Theorem 2",
        "simulated: estimates stay inside",
        "simulated: no costly decision",
    }
    assert (tmp_path / "made" / "bounds.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("options", "content", "expected"),
    [
        (["--sigma", -1, "--pulls", 5], EXAMPLE, "--sigma must be a finite number above 0"),
        (["--sigma", 1, "--pulls", 1], EXAMPLE, "at least 2"),
        (["--sigma", 1, "--pulls", 5, "--h", -0.1], EXAMPLE, "Assumption 4"),
        (["--sigma", 1, "--pulls", 5, "--contexts", "moon"], EXAMPLE, "contexts must be one of"),
        (["--sigma", 1, "--pulls", 5, "--contexts", "rows.csv"], EXAMPLE, "each feature of rows"),
        (["--sigma", 1, "--pulls", 5, "--intercept"], EXAMPLE, "--contexts must be a table"),
        (["--sigma", 1, "--pulls", 5, "--x-max", 0], EXAMPLE, "--x-max must be"),
        (["--sigma", 1, "--pulls", 5, "--q", 2], EXAMPLE, "--q must be given with --lambda0"),
        (["--sigma", 1, "--pulls", 5, "--alpha", -1], EXAMPLE, "alpha must be"),
        (["--sigma", 1, "--pulls", 5, "--link", "probit"], EXAMPLE, "canonical link"),
        (["--sigma", 1, "--pulls", 5, "--link", "poisson"], EXAMPLE, "sub-Gaussian noise"),
        (["--sigma", 1, "--pulls", 5], "1,0\n1,0\n", "arms that differ on some contexts"),
        (["--sigma", 1, "--pulls", 5, "--t0", 10], EXAMPLE, "given together"),
        (["--sigma", 1, "--pulls", 5], "1,0\n", "2 or more arms"),
        (["--sigma", 1, "--pulls", 5], "1,0\n1\n", "row 2 of arms.csv"),
        (["--sigma", 1, "--pulls", 5], "1,0\n1,x\n", "row 2 of arms.csv"),
        (["--sigma", 1, "--pulls", 5], "", "2 or more arms"),
    ],
)
def test_bounds_refuse_in_one_sentence(greedyfirst, tmp_path, options, content, expected):
    (tmp_path / "arms.csv").write_text(content)
    (tmp_path / "rows.csv").write_text("a,b,c\n1,2,0\n3,1,0.5\n2,2,2\n")
    code, said, errors = greedyfirst("bounds", "arms.csv", *options)
    assert (code, said) == (2, "")
    assert expected in errors
    assert len(errors.splitlines()) == 1


def write_contexts(path, *, columns=("age", "weight", "lab"), shift=0.0):
    rows = np.random.default_rng(1).normal(size=(400, len(columns))) + shift
    lines = [",".join(columns), *(",".join(f"{x:.4f}" for x in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def test_diversity_of_a_table(greedyfirst, tmp_path):
    write_contexts(tmp_path / "patients.csv")
    code, said, errors = greedyfirst(
        "diversity", "patients.csv", "--html", "--png", "--out", "made"
    )
    assert (code, errors) == (0, "")
    assert "Probably" in said or "Yes" in said
    page = (tmp_path / "made" / "patients-diversity.html").read_text()
    assert "data:image/png;base64," in page
    assert not re.search(r'(src|href)="https?:', page)
    assert "age" in page
    assert (tmp_path / "made" / "patients-diversity.png").stat().st_size > 10_000


def test_an_intercept_or_a_label_left_in_is_found(greedyfirst, tmp_path):
    write_contexts(tmp_path / "patients.csv")
    code, said, _ = greedyfirst("diversity", "patients.csv", "--intercept", "--png")
    assert code == 0
    assert said.startswith("No: λ₀ = 0, because intercept is the same in every row.")
    assert "The other columns alone are diverse" in said
    assert "no picture" in said
    said = greedyfirst("diversity", "patients.csv", "--intercept", "--normalise")[1]
    assert "because intercept never changes sign" in said
    assert "--standardise" not in said  # centring would not help
    write_contexts(tmp_path / "old.csv", shift=10.0)
    assert greedyfirst("diversity", "old.csv")[1].startswith("No: ")
    assert greedyfirst("diversity", "old.csv", "--standardise")[1].startswith("Yes")


def write_columns(path, **columns):
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def test_constant_columns_of_a_table(greedyfirst, tmp_path):
    a, b = np.random.default_rng(0).normal(size=(2, 100))
    write_columns(tmp_path / "table.csv", a=a, b=b, k=[5] * 100, z=[0] * 100, s=["x"] * 100)
    code, said, errors = greedyfirst("diversity", "table.csv", "--html", "--out", "made")
    assert (code, errors) == (0, "")
    assert "- k is 5 in every row. A constant (an intercept) makes λ₀ = 0" in said
    assert "- Left out, since constant as the intercept is: s." in said
    assert "- Left out, since 0 in every row: z." in said
    assert "since 0 in every row: z." in (tmp_path / "made" / "table-diversity.html").read_text()
    said = greedyfirst("diversity", "table.csv", "--drop", "k", "--drop", "s")[1]
    assert said.startswith("Yes")


def test_the_dummies_of_a_category_are_one_finding(greedyfirst, tmp_path):
    rng = np.random.default_rng(0)
    city = [f"city{i:02d}" for i in rng.permutation(np.arange(1200) % 60)]
    write_columns(tmp_path / "table.csv", city=city, sex=rng.choice(["f", "m"], 1200))
    said = greedyfirst("diversity", "table.csv", "--html", "--out", "made")[1]
    assert said.startswith("No: λ₀ = 0, because dummies of city and sex are never negative.")
    assert said.count("\n- ") == 2  # the dummies, and that they are collinear
    assert "- 62 dummies of city and sex (city=city00, city=city01, …): " in said
    page = (tmp_path / "made" / "table-diversity.html").read_text()
    assert page.count("<li>") == 2
    assert "That does not mean that greedy fails" in page


def test_help_of_diversity_shows_examples(greedyfirst):
    code, said, _ = greedyfirst("diversity", "--help")
    assert code == 0
    assert "Examples: greedyfirst diversity patients.csv --label dose" in " ".join(said.split())


def test_a_table_without_a_header(greedyfirst, tmp_path):
    (tmp_path / "plain.csv").write_text("1,-2\n-1,2\n2,1\n-2,-1\n0.5,3\n")
    code, said, _ = greedyfirst("diversity", "plain.csv", "--no-header")
    assert code == 0
    assert f"{'rows':<28}5\n{'columns':<28}2\n" in said


def large_table(n=3000):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "one": np.full(n, 2.0),
            "age": rng.normal(60, 10, n),
            "weight": rng.normal(0, 1, n),
            "sex": rng.choice(["f", "m"], n),
            "nothing": np.zeros(n),
            "dose": rng.choice(["high", "low"], n),
        }
    )


@pytest.mark.parametrize("options", [[], ["--standardise"], ["--intercept", "--normalise"]])
def test_a_data_set_of_several_files_is_one_table(options, greedyfirst, tmp_path):
    frame = large_table()
    frame.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "parts").mkdir()
    frame.iloc[:1000].to_parquet(tmp_path / "parts" / "1.parquet", row_group_size=300)
    frame.iloc[1000:].to_parquet(tmp_path / "parts" / "2.parquet")
    whole = greedyfirst("diversity", "table.csv", "--label", "dose", *options)
    assert whole[0] == 0
    assert greedyfirst("diversity", "parts", "--label", "dose", *options) == whole
    parts = ("parts/1.parquet", "parts/2.parquet")
    assert greedyfirst("diversity", *parts, "--label", "dose", *options) == whole


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--impute", "mean"], "--impute must be left out for folders"),
        (["--label", "does"], "label must be the name of a column"),
        (["--drop", "height"], "drop must be the name of a column"),
    ],
)
def test_data_sets_are_refused_in_one_sentence(arguments, expected, greedyfirst, tmp_path):
    (tmp_path / "parts").mkdir()
    large_table(50).to_parquet(tmp_path / "parts" / "1.parquet")
    code, said, errors = greedyfirst("diversity", "parts", *arguments)
    assert (code, said, expected in errors) == (2, "", True)
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nowhere.csv"], "nowhere.csv does not exist"),
        (["patients.csv", "--label", "does"], "does"),
        (["patients.csv", "--drop", "height"], "height"),
        (["patients.csv", "--impute", "magic"], "impute"),
        (["empty.csv"], "empty.csv is empty"),
        (["zeros.csv"], "every column of zeros.csv is the same in every row"),
        (["one.csv"], "one.csv has 1 row, expected at least 2"),
        (["huge.csv"], "column 'a' has numbers of the size 1e+200"),
        (["patients.csv", "--seed", "-1"], "--seed must be a whole number"),
    ],
)
def test_diversity_refuses_in_one_sentence(greedyfirst, tmp_path, arguments, expected):
    write_columns(tmp_path / "zeros.csv", a=[0, 0, 0], b=[0, 0, 0])
    write_columns(tmp_path / "one.csv", a=[1], b=[2])
    write_columns(tmp_path / "huge.csv", a=["1e200", "-1e200", "3"], b=[1, -2, 3])
    write_contexts(tmp_path / "patients.csv")
    (tmp_path / "empty.csv").write_text("")
    code, said, errors = greedyfirst("diversity", *arguments)
    assert (code, said) == (2, "")
    assert expected in errors
    assert len(errors.splitlines()) == 1
