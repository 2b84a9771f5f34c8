"""What a release needs: one version, its changelog and citation, workflows that can run, and the
guide of each version."""

import json
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import boostrank as br

ROOT = Path(__file__).parents[1]
RELEASE = runpy.run_path(str(ROOT / ".ci" / "release.py"))
INIT = Path("boostrank", "__init__.py")
CHANGELOG, CITATION = RELEASE["CHANGELOG"], RELEASE["CITATION"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_version_stands_in_one_place():
    assert RELEASE["version_of"](ROOT) == br.__version__
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "boostrank.__version__"}


def test_the_changelog_and_the_citations_have_the_version():
    sections = RELEASE["sections_of"](ROOT)
    # Before a release, the newest section has "unreleased" in place of a date.
    assert sections[0][0] == br.__version__.partition(".dev")[0]
    assert sections[0][1] == "unreleased" or ".dev" not in br.__version__
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", date) for _, date, _ in sections[1:])
    assert all(text for _, _, text in sections)
    assert RELEASE["cited_of"](ROOT)["version"] == br.__version__
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"version (\d+\.\d+\.\d+)", readme) == [sections[0][0]]


@pytest.fixture
def released(tmp_path):
    """A folder with the files of version 1.2.0, which may be released."""
    texts = {
        INIT: 'import os\n\n__version__ = "1.2.0"\n',
        CHANGELOG: "# Changelog\n\n## Rules\n\nText.\n\n"
        "## 1.2.0 - 2027-01-31\n\n### Added\n\n- All.\n\n## 1.1.0 - 2026-12-31\n\nThe first.\n",
        CITATION: "title: boostrank\nversion: 1.2.0\ndate-released: 2027-01-31\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_notes_of_a_release_are_its_section_of_the_changelog(released):
    assert RELEASE["notes"]("v1.2.0", released) == "### Added\n\n- All."


@pytest.mark.parametrize(
    ("name", "before", "after", "message"),
    [
        (INIT, "1.2.0", "1.2.1", r"The tag is v1\.2\.0, but boostrank/__init__\.py has .* 1\.2\.1"),
        (CHANGELOG, "2027-01-31", "unreleased", r"section .* is '1\.2\.0 - unreleased'"),
        (CHANGELOG, "1.2.0", "1.3.0", r"section .* must be '1\.2\.0 - ' and the date of today"),
        (CITATION, "1.2.0", "1.1.0", r"CITATION\.cff must have the line 'version: 1\.2\.0'"),
        (CITATION, "2027", "2026", "must have the line 'date-released: 2027-01-31'"),
    ],
)
def test_a_tag_that_does_not_fit_is_an_error(released, name, before, after, message):
    text = (released / name).read_text(encoding="utf-8")
    (released / name).write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(SystemExit, match=message):
        RELEASE["notes"]("v1.2.0", released)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_can_be_read_and_run_what_is_there(path):
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    # YAML reads the name "on" as a truth value.
    assert {"name", True, "permissions", "jobs"} <= workflow.keys()
    jobs = workflow["jobs"]
    for job in jobs.values():
        needed = job.get("needs", [])
        assert {*([needed] if isinstance(needed, str) else needed)} <= jobs.keys()
        assert job["runs-on"]
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            scripts = re.findall(r"(?:\.ci|examples)/[\w./]+", step.get("run", ""))
            assert [script for script in scripts if not (ROOT / script).exists()] == []


def test_the_guide_of_a_version_is_published_beside_the_others(tmp_path):
    site, remote = tmp_path / "site", tmp_path / "remote"
    (site / "_static").mkdir(parents=True)
    (site / "_static" / "guide.css").touch()
    subprocess.run(["git", "init", "--quiet", "--bare", remote], check=True)
    for i, version in enumerate(["0.9.0", "dev", "0.10.0", "dev"]):
        (site / "index.html").write_text(f"guide {i}", encoding="utf-8")
        script = ROOT / "examples" / "guide" / "publish.py"
        arguments = site, version, "https://host/boostrank", remote
        subprocess.run([sys.executable, script, *arguments], check=True)
    published = tmp_path / "published"
    clone = ["git", "clone", "--quiet", "--branch", "gh-pages", remote, published]
    subprocess.run(clone, check=True)
    versions = {"dev": "guide 3", "0.10.0": "guide 2", "0.9.0": "guide 0"}
    for version, text in versions.items():
        assert (published / version / "index.html").read_text(encoding="utf-8") == text
        assert (published / version / "_static" / "guide.css").exists()
    menu = json.loads((published / "switcher.json").read_text(encoding="utf-8"))
    assert [entry["version"] for entry in menu] == [*versions]
    assert [entry["url"] for entry in menu] == [f"https://host/boostrank/{v}/" for v in versions]
    assert [entry["version"] for entry in menu if entry["preferred"]] == ["0.10.0"]
    assert 'url=0.10.0/"' in (published / "index.html").read_text(encoding="utf-8")
    assert (published / ".nojekyll").exists()
    log = ["git", "-C", published, "rev-list", "--count", "HEAD"]
    assert subprocess.run(log, check=True, capture_output=True, text=True).stdout == "1\n"
