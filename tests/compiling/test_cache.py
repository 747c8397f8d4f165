"""Compiled code on disk: when it is used again, when not, and where it may lie."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import greedyfirst
from greedyfirst.compiling import cache as kernel_cache
from greedyfirst.compiling import kernels, native_numba
from greedyfirst.compiling.cache import KEPT_SECONDS

pytestmark = pytest.mark.slow  # most compile in processes of their own

PACKAGE = Path(greedyfirst.__file__).parent
HOMES = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA")
posix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners and modes of POSIX")
as_root = pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files away"
)

# A user's module, one beside it, and what is run: the result, then hits and misses on disk.
HELPER = """
import os
from greedyfirst.compiling.kernels import kernel
CAP = float(os.environ.get("CAP", 100.0))

@kernel
def double(x):
    return min(2.0 * x, 50.0)
"""
MINE = """
import helper
from greedyfirst.compiling.families import Family, entry_for, generic, options_of
from greedyfirst.compiling.kernels import kernel
from greedyfirst.compiling.calls import run

@generic
def value(rule, x):
    raise NotImplementedError

class Doubled(Family):
    @staticmethod
    @kernel
    def value(rule, x):
        return min(helper.double(x), helper.CAP)

def made(factor):
    class Local(Family):
        @staticmethod
        @kernel
        def value(rule, x):
            return x * factor
    return Local

def work(rule, x):
    return value(rule, x)

def use(member):
    options = options_of(member)
    function = entry_for(work, options)
    result = run(function, options, 21.0)
    stats = function.dispatcher.stats
    print(result, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""
USE = "import mine; mine.use(mine.Doubled)"
WHERE = """
import greedyfirst.compiling.kernels
from greedyfirst.compiling.cache import directory_for
print(directory_for({"greedyfirst.compiling.kernels"}))
"""
EPISODE = """
import greedyfirst.policies.greedy
import greedyfirst.simulation.episode
from greedyfirst.compiling.cache import directory_for
print(directory_for({"greedyfirst.simulation.episode", "greedyfirst.policies.greedy"}))
"""


def python(code, *paths, without=(), **environment):
    """What a new process prints; nothing may be said on standard error."""
    env = {name: value for name, value in os.environ.items() if name not in without}
    env["PYTHONPATH"] = os.pathsep.join([*map(str, paths), str(PACKAGE.parent)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=env | {name: str(value) for name, value in environment.items()},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.fixture
def where(monkeypatch):
    """Where code would be kept with these variables of the environment: as a new process finds."""

    def found(**environment):
        with monkeypatch.context() as changed:
            changed.setattr(tempfile, "tempdir", None)
            for name, value in environment.items():
                changed.setenv(name, str(value))
            found_before = kernel_cache.kernel_home, kernel_cache.source_key
            for each in found_before:
                each.cache_clear()
            try:
                return str(kernel_cache.directory_for({kernels.__name__}))
            finally:
                for each in found_before:
                    each.cache_clear()

    return found


@pytest.fixture
def user(tmp_path):
    """The directory of a user's modules."""
    home = tmp_path / "user"
    home.mkdir()
    (home / "mine.py").write_text(MINE)
    (home / "helper.py").write_text(HELPER)
    return home


@pytest.fixture
def copied(tmp_path):
    """A copy of the package that may be edited."""
    home = tmp_path / "source"
    shutil.copytree(PACKAGE, home / "greedyfirst", ignore=shutil.ignore_patterns("__pycache__"))
    return home


def kept(cache):
    """The files with machine code."""
    return sorted(cache.rglob("*.nbc"))


def edit(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


# ---------------------------------------------------------------- when it is used again


def test_the_next_process_loads_what_was_compiled(user, tmp_path):
    cache = tmp_path / "cache"
    assert python(USE, user, NUMBA_CACHE_DIR=cache) == "42.0 0 1"
    assert len(kept(cache)) == 1
    assert python(USE, user, NUMBA_CACHE_DIR=cache) == "42.0 1 0"
    assert len(kept(cache)) == 1


def test_an_edit_beside_a_users_module_is_noticed(user, tmp_path):
    """Numba itself looks at the file of the entry only."""
    cache = tmp_path / "cache"
    assert python(USE, user, NUMBA_CACHE_DIR=cache) == "42.0 0 1"
    edit(user / "helper.py", "2.0 * x", "2.0 * x + 1.0")
    assert python(USE, user, NUMBA_CACHE_DIR=cache) == "43.0 0 1"


def test_a_constant_with_another_value_is_noticed(user, tmp_path):
    """It need not follow from the source."""
    cache = tmp_path / "cache"
    assert python(USE, user, NUMBA_CACHE_DIR=cache) == "42.0 0 1"
    assert python(USE, user, NUMBA_CACHE_DIR=cache, CAP=40) == "40.0 0 1"
    assert python(USE, user, NUMBA_CACHE_DIR=cache, CAP=40) == "40.0 1 0"


def test_a_users_module_may_begin_with_the_packages_name(user, tmp_path):
    (user / "mine.py").rename(user / "greedyfirst_mine.py")
    use = "import greedyfirst_mine as mine; mine.use(mine.Doubled)"
    edit(user / "greedyfirst_mine.py", "min(helper.double(x), helper.CAP)", "min(x, CAP)")
    edit(user / "greedyfirst_mine.py", "import helper", "from helper import CAP")
    assert python(use, user, NUMBA_CACHE_DIR=tmp_path, CAP=7) == "7.0 0 1"
    assert python(use, user, NUMBA_CACHE_DIR=tmp_path, CAP=5) == "5.0 0 1"


def test_only_edits_of_what_is_reached_start_another_cache(copied, tmp_path):
    package = copied / "greedyfirst"
    seen = [python(EPISODE, copied, NUMBA_CACHE_DIR=tmp_path)]
    assert Path(seen[0]).parent == tmp_path / "greedyfirst" / "kernels"
    for path in ("cli/application.py", "policies/oful.py", "service/errors.py"):
        with open(package / path, "a") as file:
            file.write("\n# an edit\n")
    assert python(EPISODE, copied, NUMBA_CACHE_DIR=tmp_path) == seen[0]
    for path in ("numerics/matrices.py", "models/least_squares.py", "policies/greedy.py"):
        with open(package / path, "a") as file:
            file.write("\n# an edit\n")
        seen.append(python(EPISODE, copied, NUMBA_CACHE_DIR=tmp_path))
    assert len(set(seen)) == 4


def test_an_edit_of_the_package_is_noticed(user, copied, tmp_path):
    edit(user / "helper.py", "2.0 * x", "inner(ROW, ROW) * x")
    with open(user / "helper.py", "a") as file:
        file.write("\nimport numpy as np\nfrom greedyfirst.numerics.vectors import inner\n")
        file.write("ROW = np.ones(2)\n")
    plain = {"NUMBA_CACHE_DIR": tmp_path, "GREEDYFIRST_PLAIN_NUMBA": "vectors"}
    assert python(USE, user, copied, **plain) == "42.0 0 1"
    vectors = copied / "greedyfirst" / "numerics" / "vectors.py"
    edit(vectors, "return (s0 + s1) + (s2 + s3)", "return (s0 + s1) + (s2 + s3) - 1.0")
    assert python(USE, user, copied, **plain) == "21.0 0 1"


def test_each_set_of_numbas_private_parts_has_its_own(where, monkeypatch, tmp_path):
    found = set()
    for parts in ((), ("counts",), ("compiler", "vectors"), native_numba.PARTS):
        monkeypatch.setattr(native_numba, "USED", frozenset(parts))
        found.add(where(NUMBA_CACHE_DIR=tmp_path))
    assert len(found - {"None"}) == 4


# ---------------------------------------------------------------- when nothing is kept


def test_classes_made_inside_functions_are_not_kept(user, tmp_path):
    """The same name and source stand for other code in the next process."""
    for factor in (2.0, 3.0):
        code = f"import mine; mine.use(mine.made({factor}))"
        assert python(code, user, NUMBA_CACHE_DIR=tmp_path / "cache") == f"{21 * factor} 0 1"
    assert kept(tmp_path / "cache") == []


def test_what_is_typed_in_at_a_prompt_is_not_kept(user, tmp_path):
    assert python(MINE + "\nuse(Doubled)", user, NUMBA_CACHE_DIR=tmp_path / "cache") == "42.0 0 1"
    assert kept(tmp_path / "cache") == []


def test_a_class_of_a_module_that_was_never_imported_is_not_kept(user, tmp_path):
    code = (
        f"names = {{'__name__': 'nowhere'}}\nexec({MINE!r}, names)\nnames['use'](names['Doubled'])"
    )
    assert python(code, user, NUMBA_CACHE_DIR=tmp_path / "cache") == "42.0 0 1"
    assert kept(tmp_path / "cache") == []


CHANGED = """
import time, mine
time.sleep(0.1)
text = {change}
mine.use(mine.Doubled)
"""
WRITE = "open(mine.helper.__file__, 'w').write('CAP = 1.0')"
REPLACE = "__import__('os').replace(mine.helper.__file__ + '.new', mine.helper.__file__)"


@pytest.mark.parametrize("change", [WRITE, REPLACE], ids=["written", "replaced by an older file"])
def test_nothing_is_kept_of_a_file_that_changed_while_the_process_runs(user, tmp_path, change):
    """What is in memory is older than the file: under its key it would be stale."""
    other = user / "helper.py.new"
    other.write_text(HELPER.replace("2.0 * x", "3.0 * x"))
    shutil.copystat(user / "helper.py", other)
    said = python(CHANGED.format(change=change), user, NUMBA_CACHE_DIR=tmp_path / "cache")
    assert said == "42.0 0 1"
    assert kept(tmp_path / "cache") == []


# ---------------------------------------------------------------- where it may lie


def made_for_all(place, mode=0o700):
    place.mkdir(parents=True)
    place.chmod(mode)
    return place


def test_directories_are_the_users_alone(where, tmp_path):
    place = Path(where(NUMBA_CACHE_DIR=tmp_path / "cache"))
    assert place.parent == tmp_path / "cache" / "greedyfirst" / "kernels"
    if hasattr(os, "getuid"):
        assert [path.stat().st_mode & 0o777 for path in (place, place.parent)] == [0o700] * 2


@posix
@pytest.mark.parametrize("mode", [0o770, 0o707], ids=["group", "world"])
def test_a_directory_that_others_may_write_to_is_not_used(where, tmp_path, mode):
    made_for_all(tmp_path / "cache" / "greedyfirst" / "kernels", mode)
    temporary = made_for_all(tmp_path / "tmp")
    places = {"NUMBA_CACHE_DIR": tmp_path / "cache", "TMPDIR": temporary}
    own = temporary / f"greedyfirst-{os.getuid()}"
    assert Path(where(**places)).parent == own / "greedyfirst" / "kernels"
    own.chmod(mode)
    assert where(**places) == "None"


@as_root
@pytest.mark.parametrize("inside", [True, False], ids=["itself", "the one around it"])
def test_a_directory_that_another_user_owns_is_not_used(where, tmp_path, inside):
    home = made_for_all(tmp_path / "cache" / "greedyfirst" / "kernels")
    os.chown(home if inside else home.parent, 12345, -1)
    temporary = made_for_all(tmp_path / "tmp")
    places = {"NUMBA_CACHE_DIR": tmp_path / "cache", "TMPDIR": temporary}
    own = temporary / f"greedyfirst-{os.getuid()}"
    assert Path(where(**places)).parent == own / "greedyfirst" / "kernels"
    os.chown(own, 12345, -1)
    assert where(**places) == "None"


@posix
@pytest.mark.parametrize("around", ["greedyfirst", "."], ids=["its parent", "further up"])
@pytest.mark.parametrize("sticky", [False, True], ids=["", "sticky"])
def test_a_directory_that_others_could_replace_is_not_used(where, tmp_path, around, sticky):
    """Unless the directory around it lets nobody move what is another's, as /tmp does."""
    cache = tmp_path / "cache"
    made_for_all(cache / "greedyfirst" / "kernels")
    (cache / around).chmod(0o1777 if sticky else 0o777)
    temporary = made_for_all(tmp_path / "tmp")
    found = Path(where(NUMBA_CACHE_DIR=cache, TMPDIR=temporary))
    assert found.is_relative_to(cache if sticky else temporary)


@posix
def test_a_key_whose_directory_others_may_write_to_is_not_used(where, tmp_path):
    place = Path(where(NUMBA_CACHE_DIR=tmp_path))
    place.chmod(0o777)
    assert where(NUMBA_CACHE_DIR=tmp_path) == "None"


@posix
def test_where_nothing_is_safe_it_works_all_the_same(user, tmp_path):
    """Below a regular file nothing can be made, not even by root."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    where = {"without": HOMES, "HOME": blocked / "home"}
    made_for_all(tmp_path / "tmp" / f"greedyfirst-{os.getuid()}", 0o777)
    assert python(USE, user, **where, TMPDIR=tmp_path / "tmp") == "42.0 0 1"
    assert kept(tmp_path) == []


@posix
def test_an_edit_is_noticed_without_a_writable_home(user, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    temporary = made_for_all(tmp_path / "tmp")
    where = {"without": HOMES, "HOME": blocked / "home", "TMPDIR": temporary}
    assert python(USE, user, **where) == "42.0 0 1"
    edit(user / "helper.py", "2.0 * x", "2.0 * x + 1.0")
    assert python(USE, user, **where) == "43.0 0 1"
    assert len(kept(temporary)) == 2


@posix
def test_a_user_without_a_home(tmp_path):
    """As in containers that run under a number of their own: no HOME, no entry in passwd."""
    code = (
        "import pwd\ndef getpwuid(uid):\n    raise KeyError(uid)\npwd.getpwuid = getpwuid\n" + WHERE
    )
    said = python(code, without=("HOME", *HOMES), TMPDIR=tmp_path)
    assert Path(said).is_relative_to(tmp_path)


# ---------------------------------------------------------------- what is removed


def test_what_was_not_used_for_long_is_removed(where, tmp_path):
    home = made_for_all(tmp_path / "greedyfirst" / "kernels")
    day = 24 * 3600
    for name, age in [("old", KEPT_SECONDS + day), ("young", KEPT_SECONDS - day)]:
        (home / name).mkdir()
        (home / name / "kernel.nbc").write_text("")
        os.utime(home / name, (time.time() - age,) * 2)
    mine = Path(where(NUMBA_CACHE_DIR=tmp_path))
    assert {path.name for path in home.iterdir()} == {mine.name, "young"}


def test_use_keeps_a_directory_young(where, tmp_path):
    place = Path(where(NUMBA_CACHE_DIR=tmp_path))
    before = time.time() - KEPT_SECONDS / 2
    os.utime(place, (before, before))
    assert Path(where(NUMBA_CACHE_DIR=tmp_path)) == place
    assert place.stat().st_mtime > before + KEPT_SECONDS / 4


def test_other_things_beside_the_caches_are_left(where, tmp_path):
    for place in (tmp_path / "others", tmp_path / "greedyfirst" / "notes"):
        place.mkdir(parents=True)
        os.utime(place, (1, 1))
    where(NUMBA_CACHE_DIR=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"others", "greedyfirst"}
    assert (tmp_path / "greedyfirst" / "notes").is_dir()
