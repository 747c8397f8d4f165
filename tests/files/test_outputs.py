"""Files that are there are not overwritten, and a directory does not outlive work that failed."""

import pytest

from greedyfirst.files.outputs import check_free, output_directory


def test_a_file_that_is_there_is_refused_before_the_work(tmp_path):
    (tmp_path / "b.csv").write_text("mine")
    (tmp_path / "c.csv").write_text("mine")
    names = ["a.csv", "b.csv", "c.csv"]
    with (
        pytest.raises(ValueError, match=r"b\.csv is there already \(and 1 more\); .*--force"),
        output_directory(tmp_path, names, force=False),
    ):
        raise AssertionError("the work began")
    with output_directory(tmp_path, names, force=True):
        pass
    check_free([tmp_path / "a.csv"], force=False)


def work(directory, *, write):
    with output_directory(directory, ["a.csv"], force=False):
        assert directory.is_dir()
        if write:
            (directory / "a.csv").write_text("1")
        raise OSError("failed")


@pytest.mark.parametrize("write", [False, True])
def test_directories_go_again_if_nothing_was_made(write, tmp_path):
    with pytest.raises(OSError, match="failed"):
        work(tmp_path / "deep" / "er", write=write)
    assert (tmp_path / "deep").exists() is write
    assert (tmp_path / "deep" / "er" / "a.csv").exists() is write
