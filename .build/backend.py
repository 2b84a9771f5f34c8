"""The build backend: that of setuptools, with what pyproject.toml cannot say.

The source distribution has all that the tests read, and the description of the package is README.md
with links that work where the files that it links to are not.
"""

import re
import tomllib
from functools import partial
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

ROOT = Path(__file__).parents[1]
VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
RELATIVE_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:)([^)]+)\)")
MANIFEST = """
graft .build
graft .ci
graft .github
graft benchmarks
graft examples
graft tests
include .pre-commit-config.yaml
prune examples/guide/_*
global-exclude *.py[cod] *.so
exclude .build/description.md
exclude MANIFEST.in
"""


def absolute(link, *, repository, version):
    """A link to a file of the repository.

    Without its address, it is the text of the link, and of a picture nothing.
    """
    is_picture, text, path = link.groups()
    if repository is None:
        return "" if is_picture else text
    path = f"README.md{path}" if path.startswith("#") else path
    return f"{is_picture}[{text}]({repository}/{'raw' if is_picture else 'blob'}/v{version}/{path})"


def description(folder):
    """The text of README.md, whose links begin with the address of the sources."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository = project.get("urls", {}).get("Source")
    readme = (folder / "README.md").read_text(encoding="utf-8")
    version = VERSION.search((folder / "boostrank" / "__init__.py").read_text(encoding="utf-8"))[1]
    return RELATIVE_LINK.sub(partial(absolute, repository=repository, version=version), readme)


def build_sdist(sdist_directory, config_settings=None):
    """Build the source distribution; setuptools reads which files it has only from this file."""
    manifest = ROOT / "MANIFEST.in"
    manifest.write_text(MANIFEST, encoding="utf-8")
    try:
        return build_meta.build_sdist(sdist_directory, config_settings)
    finally:
        manifest.unlink()


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Build the wheel of an editable installation, which puts this folder on the import path.

    The import finder that setuptools installs by default comes after the folders of the path. In
    the folder above this one, Python would take this folder, if its name is that of the package,
    for a package without code.
    """
    settings = {"editable_mode": "compat", **(config_settings or {})}
    return build_meta.build_editable(wheel_directory, settings, metadata_directory)


# pyproject.toml names this file as the description.
(ROOT / ".build" / "description.md").write_text(description(ROOT), encoding="utf-8")
