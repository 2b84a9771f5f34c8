"""Check that a tag such as v0.1.0 may be released, and print its section of the changelog.

Use: python .ci/release.py v0.1.0
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHANGELOG = Path("examples", "guide", "changes.md")
CITATION = Path(".github", "CITATION.cff")


def read(path):
    """The text of a file."""
    return path.read_text(encoding="utf-8")


def version_of(root=ROOT):
    """The version of the package, whose one place is boostrank/__init__.py."""
    return re.search(r'^__version__ = "(.+)"$', read(root / "boostrank" / "__init__.py"), re.M)[1]


def sections_of(root=ROOT):
    """Versions of the changelog, the newest first, each with its date and its text."""
    parts = re.split(r"^## (\d\S*) - (\S+)\n", read(root / CHANGELOG), flags=re.MULTILINE)[1:]
    return list(zip(parts[::3], parts[1::3], map(str.strip, parts[2::3]), strict=True))


def cited_of(root=ROOT):
    """The values of CITATION.cff that are no lists, by their names."""
    return dict(re.findall(r"^([\w-]+): (\S.*)$", read(root / CITATION), re.MULTILINE))


def notes(tag, root=ROOT):
    """The section of the changelog of a tag; it is an error if the tag may not be released."""
    version = version_of(root)
    if tag != f"v{version}":
        sys.exit(f"The tag is {tag}, but boostrank/__init__.py has the version {version}.")
    newest, date, text = sections_of(root)[0]
    if newest != version or not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        sys.exit(
            f"The first section of {CHANGELOG} is '{newest} - {date}'. "
            f"It must be '{version} - ' and the date of today, such as 2027-01-31."
        )
    cited = cited_of(root)
    for name, value in {"version": version, "date-released": date}.items():
        if cited.get(name) != value:
            sys.exit(f"{CITATION} must have the line '{name}: {value}'.")
    return text


if __name__ == "__main__":
    sys.stdout.write(notes(*sys.argv[1:]) + "\n")
