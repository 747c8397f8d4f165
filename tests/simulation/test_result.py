"""Tables, frames, plots and files of a result."""

from dataclasses import fields, replace

import matplotlib.axes
import numpy as np
import pytest

from greedyfirst import FixedArm, Greedy, GreedyFirst, SimulationResult, simulate
from greedyfirst.experiments.experiment import write_curves
from greedyfirst.problems import ClippedGaussian, GaussianNoise, GaussianParameters, LinearProblem

LABELS = ["Greedy", "Greedy-First", "Worst [q=1]", "Other"]


@pytest.fixture(scope="module")
def result():
    problem = LinearProblem(
        contexts=ClippedGaussian(n_features=2, covariance=0.5, bound=1.0),
        arms=GaussianParameters(n_arms=2, mean=np.zeros(2)),
        noise=GaussianNoise(sigma=0.5),
    )
    policies = [Greedy(), GreedyFirst(t0=5, lambda0=1.0), FixedArm(arm=0), FixedArm(arm=1)]
    return simulate(
        problem, dict(zip(LABELS, policies, strict=True)), n_instances=8, horizon=300, seed=3
    )


def test_shapes(result):
    assert result.policies == tuple(LABELS)
    assert result.steps[0] == 20
    assert result.mean.shape == result.half_width.shape == (4, len(result.steps))
    assert result.final.shape == result.switched_at.shape == (8, 4)
    assert (result.n_instances, result.horizon, result.seed) == (8, 300, 3)
    assert (result.seconds > 0).all()


def test_switches_are_counted_for_greedy_first_only(result):
    assert list(result.switches) == ["Greedy-First"]
    assert result.switches["Greedy-First"] == np.count_nonzero(result.switched_at[:, 1]) == 8
    assert (result.switched_at[:, [0, 2, 3]] == 0).all()


@pytest.mark.parametrize("label", LABELS)
def test_the_table_has_every_policy_and_its_numbers(result, label):
    lines = [line for line in result.table().splitlines() if label in line.replace("\\", "")]
    assert any(f"{result.mean[LABELS.index(label), -1]:.2f}" in line for line in lines)


def test_the_table_is_in_the_order_of_regret(result):
    text = result.table()
    order = np.argsort(result.mean[:, -1])
    places = [text.index(f"{result.mean[place, -1]:.2f}") for place in order]
    assert places == sorted(places)


def test_frame(result):
    frame = result.to_frame()
    assert list(frame.columns) == ["policy", "t", "mean", "half_width"]
    assert len(frame) == 4 * len(result.steps)
    for place, label in enumerate(LABELS):
        rows = frame[frame["policy"] == label]
        np.testing.assert_array_equal(rows["t"], result.steps)
        np.testing.assert_array_equal(rows["mean"], result.mean[place])
        np.testing.assert_array_equal(rows["half_width"], result.half_width[place])


def test_plot(result):
    axes = result.plot(title="A title")
    assert isinstance(axes, matplotlib.axes.Axes)
    assert axes.get_title() == "A title"
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert sorted(lines) == sorted(LABELS)
    for place, label in enumerate(LABELS):
        np.testing.assert_array_equal(lines[label].get_xdata(), result.steps)
        np.testing.assert_array_equal(lines[label].get_ydata(), result.mean[place])
    assert len(axes.collections) == len(LABELS)  # the bands
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        LABELS[place] for place in np.argsort(-result.mean[:, -1])
    ]
    styles = {(line.get_color(), line.get_linestyle()) for line in lines.values()}
    assert len(styles) == len(LABELS)


def test_plot_into_given_axes(result):
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    assert result.plot(ax=axes) is axes
    boxes = Figure().add_subplot()
    values = range(len(LABELS))
    assert result.plot_final(ax=boxes, symbol="q", values=values) is boxes


def test_plot_of_a_family_keeps_the_order_of_its_policies(result):
    axes = result.plot(family=True)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == LABELS
    assert [line.get_label() for line in axes.get_lines()] == LABELS
    assert len({tuple(line.get_color()) for line in axes.get_lines()}) == len(LABELS)
    figure = axes.get_figure()
    figure.canvas.draw()
    legend = axes.get_legend().get_window_extent()
    assert not legend.overlaps(axes.patch.get_window_extent())  # it covers no curve


def test_plot_of_final_regret(result):
    axes = result.plot_final(symbol="d", values=[1, 2, 3.5, 4])
    assert axes.get_xlabel() == "d"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "3.5", "4"]
    assert len(axes.patches) == len(LABELS)
    for place, box in enumerate(axes.patches):
        heights = box.get_path().vertices[:, 1]
        expected = np.percentile(result.final[:, place], [25, 75])
        assert [heights.min(), heights.max()] == pytest.approx(expected)


def test_quantiles_of_final_regret(result):
    expected = np.percentile(result.final, [5, 25, 50, 75, 95], axis=0)
    np.testing.assert_allclose(result.final_quantiles, expected.T, rtol=1e-12)


def part(result, places, **changes):
    """The result of some of its policies."""
    return replace(
        result,
        policies=tuple(result.policies[place] for place in places),
        watched=tuple(result.watched[place] for place in places),
        mean=result.mean[places],
        half_width=result.half_width[places],
        seconds=result.seconds[places],
        final=result.final[:, places],
        switched_at=result.switched_at[:, places],
        eigenvalue_computations=result.eigenvalue_computations[:, places],
        pulls=result.pulls[:, places],
        culprit=result.culprit[:, places],
        weakest=result.weakest[:, places],
        alarmed_at=result.alarmed_at[:, places],
        **changes,
    )


def test_parts_are_joined(result):
    joined = SimulationResult.joined([part(result, [0]), part(result, [1, 2]), part(result, [3])])
    for field in fields(SimulationResult):
        np.testing.assert_array_equal(getattr(joined, field.name), getattr(result, field.name))
    assert joined.table() == result.table()


@pytest.mark.parametrize("changes", [{"seed": 4}, {"horizon": 301}])
def test_parts_that_do_not_belong_together_are_refused(result, changes):
    with pytest.raises(ValueError, match="parts"):
        SimulationResult.joined([part(result, [0]), part(result, [1], **changes)])


def test_parts_of_the_same_name_are_refused(result):
    with pytest.raises(ValueError, match="different names"):
        SimulationResult.joined([part(result, [0]), part(result, [0])])


def test_save_and_load(result, tmp_path):
    path = tmp_path / "result.npz"
    result.save(path)
    loaded = SimulationResult.load(path)
    for name in ("policies", "watched", "horizon", "seed", "switches", "n_instances"):
        assert getattr(loaded, name) == getattr(result, name)
    for name in ("steps", "mean", "half_width", "final", "switched_at", "seconds"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(result, name))
        assert getattr(loaded, name).dtype == getattr(result, name).dtype
    assert loaded.table() == result.table()
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.npz"]


def test_damaged_files(result, tmp_path):
    path = tmp_path / "result.npz"
    result.save(path)
    content = path.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :]
    for damaged in (content[:middle], b"", b"text", flipped):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"result\.npz"):
            SimulationResult.load(path)
    with pytest.raises(FileNotFoundError):
        SimulationResult.load(tmp_path / "nowhere.npz")


def test_one_instance_and_a_short_horizon(tmp_path):
    problem = LinearProblem(
        contexts=np.ones((3, 1)), arms=[[1.0], [2.0]], noise=GaussianNoise(sigma=0)
    )
    short = simulate(problem, {"first": FixedArm(arm=0)}, n_instances=1, horizon=3, seed=0)
    np.testing.assert_array_equal(short.mean, [[1.0, 2.0, 3.0]])
    assert np.isnan(short.half_width).all()  # one instance has no spread
    assert "1 instance, regret" in short.table()
    row = next(line for line in short.table().splitlines() if "first" in line)
    assert [cell.strip() for cell in row.split("│")[1:4]] == ["first", "3.00", ""]
    assert not short.plot().collections
    assert short.to_frame()["half_width"].isna().all()
    write_curves(short, tmp_path / "short.csv")
    assert (tmp_path / "short.csv").read_text().splitlines()[1] == "first,1,1.0,"
    short.save(tmp_path / "short.npz")
    assert np.isnan(SimulationResult.load(tmp_path / "short.npz").half_width).all()
