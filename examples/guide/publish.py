"""Put a guide that is built beside those of other versions.

Use: python examples/guide/publish.py SITE VERSION ADDRESS REMOTE

VERSION is "dev" or a release such as 0.1.0, ADDRESS that of the site, and REMOTE a git repository,
from whose branch gh-pages GitHub Pages takes the site.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BRANCH = "gh-pages"
REDIRECT = """<!doctype html>
<title>boostrank</title>
<meta http-equiv="refresh" content="0; url={}/">
"""


def publish(site, version, address, remote):
    """Replace the folder of a version on the branch, and what tells of all versions."""
    with tempfile.TemporaryDirectory() as folder:

        def git(*arguments):
            author = "-c", "user.name=guide", "-c", "user.email=guide@localhost"
            return subprocess.run(["git", *author, *arguments], cwd=folder, check=True)

        git("init", "--quiet", "--initial-branch", BRANCH)
        found = subprocess.run(["git", "ls-remote", "--exit-code", remote, BRANCH], check=False)
        # 2: there is no such branch yet.
        if found.returncode != 2:
            git("fetch", "--quiet", "--depth", "1", remote, BRANCH)
            git("restore", "--source", "FETCH_HEAD", ".")
        add(Path(site), version, address.rstrip("/"), Path(folder))
        git("add", "--all", "--force")
        # One commit without history: a site is large.
        git("commit", "--quiet", "--message", f"Guide of {version}")
        git("push", "--quiet", "--force", remote, f"HEAD:{BRANCH}")


def add(site, version, address, folder):
    """Copy the site of a version into the folder of all versions."""
    shutil.rmtree(folder / version, ignore_errors=True)
    shutil.copytree(site, folder / version)
    names = [path.name for path in folder.iterdir() if re.fullmatch(r"\d+(\.\d+)*", path.name)]
    releases = sorted(names, key=lambda name: [*map(int, name.split("."))], reverse=True)
    versions = [*(["dev"] if (folder / "dev").is_dir() else []), *releases]
    newest = (releases or versions)[0]
    # The menu of versions reads this file.
    entries = [
        {"version": name, "url": f"{address}/{name}/", "preferred": name == newest}
        for name in versions
    ]
    (folder / "switcher.json").write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")
    (folder / "index.html").write_text(REDIRECT.format(newest), encoding="utf-8")
    # Otherwise GitHub leaves out folders such as _static.
    (folder / ".nojekyll").touch()


if __name__ == "__main__":
    publish(*sys.argv[1:])
