"""The wheel and the source distribution: what they hold, and that the wheel works alone."""

import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from greedyfirst.version import __version__

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The directory with both files; a copy is built, so that nothing is left in the repository."""
    folder = tmp_path_factory.mktemp("built")
    names = subprocess.run(
        ["git", "ls-files", "src", "docs", "tests", "*.md", "*.toml", "LICENSE"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    for name in names:
        if (ROOT / name).is_file():
            copy = folder / "source" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((ROOT / name).read_bytes())
    words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist"]
    done = subprocess.run([*words, folder / "source"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr + done.stdout
    return folder / "dist"


def test_the_files_hold_what_the_package_needs(built):
    (wheel,) = built.glob("*.whl")
    assert wheel.name == f"greedyfirst-{__version__}-py3-none-any.whl"
    held = zipfile.ZipFile(wheel).namelist()
    for name in ("py.typed", "service/dashboard/templates/docs.html", "cli/doctor.py"):
        assert f"greedyfirst/{name}" in held
    assert not [name for name in held if name.startswith(("tests", "docs"))]
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "src/greedyfirst/py.typed"} <= inside


def test_the_wheel_works_in_an_environment_of_its_own(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "fresh", with_pip=False)
    fresh = tmp_path / "fresh" / "bin" / "python"
    installed = Path(sysconfig.get_path("purelib"))
    site = tmp_path / "fresh" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    install = [sys.executable, "-m", "pip", "--python", fresh, "install", "--no-deps", "--quiet"]
    subprocess.run([*install, wheel], check=True, timeout=60)
    # Dependencies come from this environment, after the fresh one: the wheel's package is first.
    (site / "dependencies.pth").write_text(f"{installed}\n")
    program = fresh.with_name("greedyfirst")
    for options, said in [(["--version"], __version__), (["doctor"], "all is well")]:
        words = [program, *options]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        assert said in done.stdout
    where = "import greedyfirst; print(greedyfirst.__file__)"
    words = [fresh, "-c", where]
    found = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True).stdout
    assert found.startswith(str(site))
