"""Source distribution, wheel and installation: what they hold, and that no C compiler is needed."""

import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

import boostrank as br

ROOT = Path(__file__).parents[1]
FILES = ("LICENSE", "README.md", "pyproject.toml")
FOLDERS = (".build", ".ci", ".github", "benchmarks", "boostrank", "examples", "tests")
LEFT_OUT = (
    "description.md",
    "*.so",
    "*.pyd",
    "*.egg-info",
    "__pycache__",
    "_build",
    "_doctrees",
    "_generated",
)


def run_python(code, folder, *options):
    command = [sys.executable, *options, "-c", code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_the_source_distribution_makes_a_wheel_without_a_compiler(tmp_path, monkeypatch):
    source, installed = tmp_path / "source", tmp_path / "installed"
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for name in FILES:
        shutil.copy(ROOT / name, source)
    files = {path.relative_to(source) for path in source.rglob("*") if path.is_file()}
    monkeypatch.setenv("CC", "false")
    build = "import sys; sys.path.insert(0, '.build'); import backend; backend.build_{}({!r})"
    run_python(build.format("sdist", str(tmp_path)), source)
    shutil.unpack_archive(next(tmp_path.glob("*.tar.gz")), tmp_path)
    unpacked = next(tmp_path.glob("boostrank-*/"))
    assert [path for path in files if not (unpacked / path).exists()] == []
    run_python(build.format("wheel", str(tmp_path)), unpacked)
    ZipFile(next(tmp_path.glob("*.whl"))).extractall(installed)
    assert {path.suffix for path in installed.glob("boostrank/**/*.*")} == {".py", ".pyi", ".typed"}
    monkeypatch.setenv("PYTHONPATH", str(installed))
    # The workflow of wheels does the same with each of them.
    smoke = [sys.executable, ROOT / ".ci" / "smoke.py", "numpy"]
    used = subprocess.run(smoke, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert used.startswith(f"boostrank {br.__version__} works: not used (")


@pytest.mark.slow
def test_scripts_above_the_clone_import_an_editable_installation(tmp_path, monkeypatch):
    # There, the folder of the clone has the name of the package.
    clone = tmp_path / "boostrank"
    installed = tmp_path / "installed"
    for folder in (".build", "boostrank"):
        shutil.copytree(ROOT / folder, clone / folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for name in FILES:
        shutil.copy(ROOT / name, clone)
    monkeypatch.setenv("CC", "false")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    build = "import sys; sys.path.insert(0, '.build'); import backend; backend.build_editable({!r})"
    run_python(build.format(str(tmp_path)), clone)
    ZipFile(next(tmp_path.glob("*.whl"))).extractall(installed)
    # Without `site`, another editable installation in this environment does not count.
    code = (
        f"import site, sys; sys.path.append({sysconfig.get_path('purelib')!r}); "
        f"site.addsitedir({str(installed)!r}); import boostrank as br; "
        "print(br.LightGBMRanker.__name__, br.__file__)"
    )
    imported = clone / "boostrank" / "__init__.py"
    assert run_python(code, tmp_path, "-S") == f"LightGBMRanker {imported}\n"


def test_links_of_the_description_are_absolute_or_none(tmp_path):
    (tmp_path / "README.md").write_text("[a](b.md#c) ![d](e.png)[f](#g) [h](https://i)")
    description = runpy.run_path(ROOT / ".build" / "backend.py")["description"]
    configuration = tmp_path / "pyproject.toml"
    (tmp_path / "boostrank").mkdir()
    (tmp_path / "boostrank" / "__init__.py").write_text('import os\n\n__version__ = "1"\n')
    configuration.write_text("[project]\n")
    assert description(tmp_path) == "a f [h](https://i)"
    configuration.write_text('[project]\nurls.Source = "https://x/y"\n')
    page, picture = "[a](https://x/y/blob/v1/b.md#c)", "![d](https://x/y/raw/v1/e.png)"
    assert (
        description(tmp_path)
        == f"{page} {picture}[f](https://x/y/blob/v1/README.md#g) [h](https://i)"
    )


def test_an_installation_with_xgboost_cpu_has_all_other_requirements():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = [*project["dependencies"], *project["optional-dependencies"]["cli"]]
    names = {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}
    page = (ROOT / "examples" / "guide" / "get_started.md").read_text(encoding="utf-8")
    shown = " ".join(re.findall(r"^pip install (\w[^#\n]*)", page, re.MULTILINE)).split()
    assert set(shown) == names - {"xgboost"} | {"xgboost-cpu"}
