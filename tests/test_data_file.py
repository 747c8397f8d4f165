"""Files of plain data: what was written is read, anything else is a ValueError naming the file."""

import gc
import json
import os
import pickle

import numpy as np
import pytest

from greedyfirst import Agent, Greedy, data_file


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


def rewrite(path, *, arrays=None, **changes):
    """Change fields of the file's header, or its arrays, and leave the rest as it is."""
    with np.load(path) as stored:
        content = dict(stored)
    top = json.loads(bytes(content.pop("header"))) | changes
    content |= arrays or {}
    header = np.frombuffer(json.dumps(top).encode(), np.uint8)
    with open(path, "wb") as file:
        np.savez(file, header=header, **content)


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


@pytest.mark.parametrize("version", [0, 99, None, "1"])
def test_another_version_is_refused(written, version):
    rewrite(written, version=version)
    assert f"version {version}" in refused(written)


def test_a_changed_array_is_refused(written):
    rewrite(written, arrays={"a": np.zeros((3, 4))})
    refused(written)


def test_an_array_too_many_is_refused(written):
    rewrite(written, arrays={"c": np.zeros(1)})
    refused(written)


@pytest.mark.parametrize("field", ["hashes", "greedyfirst"])
def test_a_header_of_another_shape_is_refused(written, field):
    rewrite(written, **{field: None})
    refused(written)


def test_every_truncation_is_refused(written):
    content = written.read_bytes()
    for length in range(0, len(content), 41):
        written.write_bytes(content[:length])
        refused(written)


def test_every_damaged_byte_is_refused_or_harmless(written):
    """Bytes of the archive's own book-keeping (dates, say) may change without any effect."""
    content = written.read_bytes()
    expected = data_file.read(written, "thing")
    for place in range(0, len(content), 3):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        written.write_bytes(damaged)
        try:
            header, arrays = data_file.read(written, "thing")
        except ValueError as error:
            message = str(error)
        else:
            assert header == expected[0]
            assert all(np.array_equal(arrays[name], expected[1][name]) for name in expected[1])
            continue
        assert str(written) in message


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"\x00" * 100, b"PK\x03\x04rest", b"\x93NUMPY", pickle.dumps([1])],
    ids=["empty", "text", "zeros", "zip", "npy", "pickle"],
)
def test_foreign_files_are_refused(path, content):
    path.write_bytes(content)
    refused(path)


@pytest.mark.parametrize(
    "header",
    [b"[]", b"1", b"null", b"{", b"\xff", b'"text"'],
    ids=["list", "number", "null", "cut", "not text", "string"],
)
def test_foreign_headers_are_refused(path, header):
    with open(path, "wb") as file:
        np.savez(file, header=np.frombuffer(header, np.uint8))
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
    with open(path, "wb") as file:
        np.savez(file, header=np.array([Boom()], dtype=object))
    refused(path)
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
    with np.load(saved) as stored:
        top = json.loads(bytes(stored["header"]))
    rewrite(saved, header=top["header"] | header if header else {})
    with pytest.raises(ValueError, match=r"state|policy|seed|arm"):
        Agent.load(saved)


def test_an_agent_file_of_another_size_is_refused(saved):
    with np.load(saved) as stored:
        top = json.loads(bytes(stored["header"]))
    header = top["header"] | {"feature_names": ["a", "b", "c"]}
    rewrite(saved, header=header)
    with pytest.raises(ValueError, match="state"):
        Agent.load(saved)
