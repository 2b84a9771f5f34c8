"""README.md as the description of the package, which is read where the files that it links to are not."""

import re
import tomllib
from functools import partial
from pathlib import Path

from setuptools import setup

RELATIVE_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:)([^)]+)\)")


def absolute(link, *, repository, version):
    """A link to a file of the repository; without its address, the text of the link, and of a picture nothing."""
    is_picture, text, path = link.groups()
    if repository is None:
        return "" if is_picture else text
    path = f"README.md{path}" if path.startswith("#") else path
    return f"{is_picture}[{text}]({repository}/{'raw' if is_picture else 'blob'}/v{version}/{path})"


def description(folder):
    """The text of README.md, with links that begin with the address of the sources in pyproject.toml."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository = project.get("urls", {}).get("Source")
    readme = (folder / "README.md").read_text(encoding="utf-8")
    return RELATIVE_LINK.sub(partial(absolute, repository=repository, version=project["version"]), readme)


if __name__ == "__main__":
    setup(long_description=description(Path(__file__).parent), long_description_content_type="text/markdown")
