"""Examples as Jupyter notebooks, which the gallery offers to download."""

import ast
import json
import re

#: The arguments of the script, which a notebook has no command line for.
BEGIN = """import sys

import matplotlib

matplotlib.use("Agg")
sys.argv = ["{name}.py", "--output", "{name}"]"""
END = """from IPython.display import Image, display

display(*map(Image, sorted(Path("{name}").glob("*.png"))))"""
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def has_notebook(source):
    """Whether the script runs in a notebook.

    Other processes cannot import functions that a notebook defines.
    """
    return "multiprocessing" not in source


def notebook(name, title, source):
    """A notebook of the script, as a text of JSON.

    Its first comment becomes a text, and each of its parts a cell.
    """
    docstring = ast.get_docstring(ast.parse(source))
    text = re.sub(r"^python examples/.*\n+", "", docstring + "\n", flags=re.MULTILINE).strip()
    options = (
        f"The script gets its arguments here. It draws into the folder `{name}`, and the last cell "
        "shows that."
    )
    cells = [
        ("markdown", f"# {title}\n\n{text}"),
        ("markdown", options),
        ("code", BEGIN.format(name=name)),
    ]
    program = source.split('"""', 2)[2].strip()
    # Blank lines end a part where no import, and no line of a block, follows.
    for part in re.split(r"\n\n+(?=[^\s)\]}])(?!import |from )", program):
        comment, code = re.fullmatch(r"((?:# [^\n]*\n)*)(.*)", part, re.DOTALL).groups()
        before = re.sub(r"^# ", "", comment, flags=re.MULTILINE).strip()
        cells += [("markdown", before)] * bool(before) + [("code", code)]
    empty = {"markdown": {}, "code": {"execution_count": None, "outputs": []}}
    cells = [
        {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text, **empty[kind]}
        for number, (kind, text) in enumerate([*cells, ("code", END.format(name=name))])
    ]
    content = {
        "cells": cells,
        "metadata": {"kernelspec": KERNEL},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False)
