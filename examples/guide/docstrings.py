"""Docstrings as pages: formulas, members of classes, and references to names that stand in other modules."""

import importlib
import re

from docutils import nodes
from generated_pages import public_names, public_object

GREEK = {"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "mu": "μ", "pi": "π", "rho": "ρ"}
GREEK |= {"sigma": "σ", "tau": "τ", "phi": "φ", "psi": "ψ"}
SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "infinity": "∞", "sqrt": "√", "grad": "∇"} | GREEK
SIGN = re.compile("|".join([r"<=|>=|!=", *(rf"\b{word}(?![a-zA-Z_])" for word in SIGNS if word.isalpha())]))
#: A letter, a sum and so on, or a norm, with an index: u_i, x*_ij, sum_{i, j}, C_psi; and a power: x^2, n^(a - 1).
NAME = rf"(?<![\w.])(?:[A-Za-z]|{'|'.join(GREEK)}|sum|prod|max|min|sup|inf|log|argmin|argmax)['*+-]?|\|\|"
INDEX = rf"\{{[^}}]*\}}|(?:[A-Za-z0-9]{{1,2}}|{'|'.join(GREEK)})(?!\w)|\*"
POWER = r"\((?:[^()]|\([^()]*\))*\)|-?\w+|[*+]"
PART = re.compile(rf"(?P<name>{NAME})_(?P<index>{INDEX})|(?<=\S)\^(?P<power>{POWER})")
LARGE = {"sum": "Σ", "prod": "Π"}


def setup(app):
    # numpydoc changes docstrings with the priority 500.
    app.connect("autodoc-process-docstring", mark_formulas, priority=400)
    app.connect("autodoc-process-docstring", escape_names, priority=600)
    app.connect("autodoc-skip-member", is_inherited_from_others)
    app.connect("missing-reference", resolve)
    app.connect("doctree-read", draw_formulas)


def mark_formulas(app, kind, name, value, options, lines):
    """Make each indented block of formulas a block of its own, as code is: reST would read it as a quotation."""
    block, changed = None, []
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if line and block is not None and indent < block:
            block = None
        if line and block is None and number > 1 and not lines[number - 1]:
            before = next(text for text in reversed(lines[:number]) if text)
            outside = len(before) - len(before.lstrip())
            if indent >= outside + 4 and not before.endswith("::") and not before.lstrip().startswith((".. ", "- ")):
                block = indent
                changed += [" " * outside + ".. code-block:: text", " " * indent + ":class: formula", ""]
        changed.append(line)
    lines[:] = changed


def escape_names(app, kind, name, value, options, lines):
    """Names with a final underscore in the shapes of arrays are no references."""
    lines[:] = [re.sub(r"(shape \([^)`]*?\w)_(?=[,)])", r"\1\\_", line) for line in lines]


def is_inherited_from_others(app, kind, name, value, skip, options):
    """Leave out what classes inherit from scikit-learn, pandas and Python, and methods for metadata routing."""
    function = getattr(value, "fget", None) or getattr(value, "__func__", value)
    module = getattr(function, "__module__", None)
    return True if module and not module.startswith("boostrank") else None


def resolve(app, env, node, contnode):
    """A link for the name of an object of the package, by which module it may be called; other names get no link."""
    if node.get("refdomain") != "py":
        return None
    value, name = find(node)
    if value is None:
        return None
    targets = env.get_domain("py").objects
    by_value = {id(public_object(full)): full for names in public_names().values() for full in names.values()}
    full = name if name in targets else by_value.get(id(value))
    if full not in targets:
        return contnode
    entry = targets[full]
    uri = app.builder.get_relative_uri(node["refdoc"], entry.docname)
    return nodes.reference("", "", contnode, internal=True, refuri=f"{uri}#{entry.node_id}")


def find(node):
    """The object that a reference names, and its full name; None if there is none."""
    target, own = node["reftarget"], ".".join(filter(None, (node.get("py:module"), node.get("py:class"))))
    scopes = ["", own, node.get("py:module") or ""]
    page = imported(node["refdoc"].split("/")[-1])
    scopes += [page.__module__] if hasattr(page, "__module__") else []
    scopes += [parent.__module__ for parent in getattr(page, "__mro__", ())]
    for scope in scopes:
        name = f"{scope}.{target}".removeprefix(".")
        value = imported(name)
        if value is not None:
            return value, name
    return None, target


def imported(name):
    """The object of a dotted name of the package; None if there is none."""
    if name.split(".")[0] not in {"boostrank", "sklearn"}:
        return None
    parts = name.split(".")
    for number in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:number]))
        except ImportError:
            continue
        for part in parts[number:]:
            value = getattr(value, part, None)
        return value
    return None


def draw_formulas(app, doctree):
    """Write indices of formulas as indices, and names of Greek letters as letters; and link no measures."""
    is_theory = "/theory/" in app.env.docname
    for literal in list(doctree.findall(nodes.literal_block)):
        if "formula" in literal["classes"]:
            literal[:] = drawn(literal.astext())
            # Sphinx highlights blocks whose source is their text, and nothing else.
            literal.rawsource = ""
    for link in list(doctree.findall(nodes.reference)):
        # A measure such as ndcg@10 looks like an address.
        if link.get("refuri", "").startswith("mailto:"):
            link.replace_self(link.children)
    for literal in list(doctree.findall(nodes.literal)):
        text = literal.astext()
        is_code = isinstance(literal.parent, nodes.reference) or '"' in text or not (is_theory or PART.search(text))
        if not is_code:
            literal["classes"].append("formula")
            literal[:] = drawn(text)


def drawn(text):
    """A formula as nodes: text, subscripts and superscripts."""
    parts, end = [], 0
    for part in PART.finditer(text):
        name, index, power = part["name"], part["index"], part["power"]
        parts.append(nodes.Text(with_signs(text[end : part.start()] + LARGE.get(name, name or ""))))
        if index:
            content = with_signs(index.removeprefix("{").removesuffix("}"))
            parts.append(nodes.subscript("", content))
        else:
            content = with_signs(power[1:-1] if power.startswith("(") else power)
            parts.append(nodes.superscript("", content))
        end = part.end()
    return [*parts, nodes.Text(with_signs(text[end:]))]


def with_signs(text):
    return SIGN.sub(lambda word: SIGNS[word[0]], text)
