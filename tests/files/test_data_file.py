"""Files of plain data: what was written is read, anything else is a ValueError naming the file."""

import gc
import hashlib
import io
import os
import pickle

import numpy as np
import pytest

from greedyfirst import Agent, Greedy
from greedyfirst.files import data_file


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state"


def refused(path, kind="thing"):
    with pytest.raises(ValueError, match="state") as raised:
        data_file.read(path, kind)
    message = str(raised.value)
    assert str(path) in message
    del raised
    gc.collect()  # a file left open would be told of here
    return message


def reseal(path, *, kind="thing", version=1, body=None):
    """Write the first line anew, for another body if one is given, with a hash that fits."""
    body = path.read_bytes().split(b"\n", 1)[1] if body is None else body
    seal = hashlib.sha256(body).hexdigest()
    path.write_bytes(f"greedyfirst {kind} {version} {seal}\n".encode() + body)


@pytest.fixture
def written(path):
    arrays = {"a": np.arange(12.0).reshape(3, 4), "b": np.array([1, 2, 3])}
    data_file.write(path, "thing", {"name": "é", "list": [1, None, 0.5]}, arrays)
    return path


def test_what_was_written_is_read(written):
    header, arrays = data_file.read(written, "thing")
    assert header == {"name": "é", "list": [1, None, 0.5]}
    assert np.array_equal(arrays["a"], np.arange(12.0).reshape(3, 4))
    assert arrays["b"].dtype == np.int64
    assert data_file.read(str(written), "thing")[0] == header


def test_writing_leaves_one_file_and_replaces_the_old_one(written):
    data_file.write(written, "thing", {"new": True}, {})
    assert data_file.read(written, "thing") == ({"new": True}, {})
    assert [entry.name for entry in written.parent.iterdir()] == ["state"]


def test_a_failed_write_keeps_the_old_file(written):
    with pytest.raises(ValueError, match="JSON"):
        data_file.write(written, "thing", {"bad": float("nan")}, {})
    assert data_file.read(written, "thing")[0]["name"] == "é"
    assert [entry.name for entry in written.parent.iterdir()] == ["state"]


def test_the_wrong_kind_is_refused(written):
    assert "other" in refused(written, "other")


@pytest.mark.parametrize("version", [0, 99])
def test_another_version_is_refused(written, version):
    reseal(written, version=version)
    assert f"version {version}" in refused(written)


@pytest.mark.parametrize("version", ["-1", "1.0", "one", ""])
def test_a_version_that_is_no_number_is_refused(written, version):
    reseal(written, version=version)
    refused(written)


def test_a_changed_array_is_refused(written, tmp_path):
    other = tmp_path / "other"
    data_file.write(other, "thing", {}, {"a": np.zeros((3, 4))})
    first = written.read_bytes().split(b"\n", 1)[0]
    written.write_bytes(first + b"\n" + other.read_bytes().split(b"\n", 1)[1])
    refused(written)


def test_every_truncation_is_refused(written):
    content = written.read_bytes()
    for length in range(0, len(content), 131):
        written.write_bytes(content[:length])
        refused(written)


def test_every_damaged_byte_is_refused(written):
    content = written.read_bytes()
    for place in range(0, len(content), 61):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        written.write_bytes(damaged)
        refused(written)


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"\x00" * 100, b"PK\x03\x04rest", b"\x93NUMPY", pickle.dumps([1])],
    ids=["empty", "text", "zeros", "zip", "npy", "pickle"],
)
def test_foreign_files_are_refused(path, content):
    path.write_bytes(content)
    refused(path)


def test_foreign_archives_are_refused(path):
    with open(path, "wb") as file:
        np.savez(file, something=np.zeros(3))
    refused(path)
    with open(path, "wb") as file:
        np.save(file, np.zeros(3))
    refused(path)


class Boom:
    def __reduce__(self):
        return os._exit, (3,)


def test_pickled_content_is_refused_and_never_run(path):
    stream = io.BytesIO()
    np.savez(stream, header=np.array([Boom()], dtype=object))
    reseal(path, body=stream.getvalue())
    with pytest.raises(ValueError, match="pickle"):
        data_file.read(path, "thing")
    path.write_bytes(pickle.dumps(Boom()))
    refused(path)


def test_a_missing_file_is_told_as_such(path):
    with pytest.raises(FileNotFoundError):
        data_file.read(path, "thing")


# ---------------------------------------------------------------- through the agent


@pytest.fixture
def saved(path):
    Agent(Greedy(), n_arms=2, n_features=2, seed=1).save(path)
    return path


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"policy": 3},
        {"policy": {"policy": "Nobody", "options": {}}},
        {"seed": -1},
        {"arm_names": []},
    ],
    ids=repr,
)
def test_an_agent_file_with_a_foreign_header_is_refused(saved, header):
    """A ValueError, also when a field is missing or makes no sense."""
    stored, arrays = data_file.read(saved, "agent")
    data_file.write(saved, "agent", stored | header if header else {}, arrays)
    with pytest.raises(ValueError, match="state"):
        Agent.load(saved)


def test_an_agent_file_of_another_size_is_refused(saved):
    header, arrays = data_file.read(saved, "agent")
    data_file.write(saved, "agent", header | {"feature_names": ["a", "b", "c"]}, arrays)
    with pytest.raises(ValueError, match="state"):
        Agent.load(saved)
