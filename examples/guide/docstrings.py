"""Docstrings as pages: formulas, members of classes, and references to other modules."""

import importlib
import re

from docutils import nodes
from generated_pages import public_names, public_object
from sphinx.util import inspect

GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "eps": "ε",
    "eta": "η",
    "mu": "μ",
    "pi": "π",
}
GREEK |= {"rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "psi": "ψ"}
SIGNS = {
    "<=": "≤",
    ">=": "≥",
    "!=": "≠",
    "-+": "±",
    "->": "→",
    "infinity": "∞",
    "sqrt": "√",
    "grad": "∇",
} | GREEK
SIGN = re.compile(
    "|".join([r"<=|>=|!=|-\+|->", *(rf"\b{word}(?![a-zA-Z_])" for word in SIGNS if word.isalpha())])
)
#: A letter, some words, sums, or norms, with an index: u_i, x*_ij, sum_{i, j}, C_psi; and a power:
#: x^2, n^(a - 1).
WORDS = "rank|click|relevant|estimate|sum|prod|max|min|sup|inf|log|argmin|argmax"
NAME = rf"(?<![\w.])(?:[A-Za-z]|{'|'.join(GREEK)}|{WORDS})['*+-]?|\|\|"
INDEX = rf"\{{[^}}]*\}}|(?:[A-Za-z0-9]{{1,2}}|ideal|power|{'|'.join(GREEK)})(?!\w)|\*"
POWER = r"\((?:[^()]|\([^()]*\))*\)|-?\w+|[*+]"
PART = re.compile(rf"(?P<name>{NAME})_(?P<index>{INDEX})|(?<=\S)\^(?P<power>{POWER})")
#: A part of a formula, an expectation, a root, or a function of a variable.
FORMULA = re.compile(
    rf"{PART.pattern}|\bE\[|\bsqrt\(|"
    rf"^(?:[A-Za-z]'?|log|exp|{'|'.join(GREEK)})(?:\(-?[a-z]\)| [a-z])$"
)
LARGE = {"sum": "Σ", "prod": "Π"}
#: A parameter of a function, with or without its value; and an inner product, <s, u>.
NAME_OF_CODE = re.compile(r"[a-z_]{3,}(=\w+)?")
PRODUCT = re.compile(r"<(?=\S)([^<>=]+, [^<>=]+)(?<=\S)>")
#: What stands between the terms of a formula, and the bar of a fraction; both outside of brackets.
OUTSIDE = r"(?!(?:[^(){}]|\([^()]*\)|\{[^{}]*\})*[)}])"
BETWEEN, BAR = re.compile(rf"( = | [-+] ){OUTSIDE}"), re.compile(rf" / {OUTSIDE}")
#: A text of variables, functions, numbers and signs alone.
TERMS = re.compile(
    rf"(?:\b(?:[A-Za-z]|exp|log2?|max|min|softmax|diag|{'|'.join(GREEK)})\b|"
    r"\d[\d.]*|[-+*/<>=()|\[\],^' ])+"
)
#: Variables, which are single letters; and minus signs, which are no hyphens.
VARIABLE = re.compile(r"(?<![A-Za-z0-9_.-])([A-Za-z])(?![A-Za-z0-9_-])")
MINUS = re.compile(r"(?<=\s)-(?=\s)|(?<![\w)\]'*|])-(?=[\w(|])")


def setup(app):
    # numpydoc changes docstrings with the priority 500.
    app.connect("autodoc-process-docstring", mark_formulas, priority=400)
    app.connect("autodoc-process-docstring", escape_names, priority=600)
    app.connect("autodoc-process-signature", signature_of_constructor)
    app.connect("autodoc-skip-member", is_inherited_from_others)
    app.connect("missing-reference", resolve)
    app.connect("doctree-read", draw_formulas)


def mark_formulas(app, kind, name, value, options, lines):
    """Make each indented block of formulas a block of its own, as code is.

    reST would read it as a quotation.
    """
    block, changed = None, []
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if line and block is not None and indent < block:
            block = None
        if line and block is None and number > 1 and not lines[number - 1]:
            before = next(text for text in reversed(lines[:number]) if text)
            outside = len(before) - len(before.lstrip())
            if (
                indent >= outside + 4
                and not before.endswith("::")
                and not before.lstrip().startswith((".. ", "- "))
            ):
                block = indent
                changed += [
                    " " * outside + ".. code-block:: text",
                    " " * indent + ":class: formula",
                    "",
                ]
        changed.append(line)
    lines[:] = changed


def escape_names(app, kind, name, value, options, lines):
    """Names with a final underscore in the shapes of arrays are no references."""
    lines[:] = [re.sub(r"(shape \([^)`]*?\w)_(?=[,)])", r"\1\\_", line) for line in lines]


def signature_of_constructor(app, kind, name, value, options, signature, returns):
    """The arguments of `__init__` for a class with a mock as base.

    The mock has a `__new__` of any arguments.
    """
    if kind != "class" or not hasattr(value, "__sphinx_mock__"):
        return None
    constructor = inspect.signature(value.__init__, bound_method=True)
    return inspect.stringify_signature(constructor, show_annotation=False), returns


def is_inherited_from_others(app, kind, name, value, skip, options):
    """Leave out inherited members of scikit-learn, pandas and Python, and of metadata routing.

    Fields of named tuples are left out too: the section "Attributes" describes them.
    """
    if getattr(value, "__objclass__", None) is tuple or type(value).__name__ == "_tuplegetter":
        return True
    function = getattr(value, "fget", None) or getattr(value, "__func__", value)
    module = getattr(function, "__module__", None)
    return True if module and not module.startswith("boostrank") else None


def resolve(app, env, node, contnode):
    """A link for the name of an object of the package, by which module it may be called.

    Other names get no link.
    """
    if node.get("refdomain") != "py":
        return None
    value, name = find(node)
    if value is None:
        return None
    targets = env.get_domain("py").objects
    by_value = {
        id(public_object(full)): full
        for names in public_names().values()
        for full in names.values()
    }
    full = name if name in targets else by_value.get(id(value))
    if full not in targets:
        return contnode
    entry = targets[full]
    uri = app.builder.get_relative_uri(node["refdoc"], entry.docname)
    return nodes.reference("", "", contnode, internal=True, refuri=f"{uri}#{entry.node_id}")


def find(node):
    """The object that a reference names, and its full name; None if there is none."""
    target, own = (
        node["reftarget"],
        ".".join(filter(None, (node.get("py:module"), node.get("py:class")))),
    )
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
    """Write indices of formulas as indices, and names of Greek letters as letters.

    Measures get no link.
    """
    for literal in list(doctree.findall(nodes.literal_block)):
        if "formula" in literal["classes"]:
            # Columns are aligned by spaces, which need letters of equal width.
            if len(re.findall(r"^ *\S.*\S {2,}\S", literal.astext(), re.MULTILINE)) < 2:
                literal["classes"].append("typeset")
            literal[:] = with_fractions(literal.astext().strip())
            # Sphinx highlights blocks whose source is their text, and nothing else.
            literal.rawsource = ""
    for link in list(doctree.findall(nodes.reference)):
        # A measure such as ndcg@10 looks like an address.
        if link.get("refuri", "").startswith("mailto:"):
            link.replace_self(link.children)
    for literal in list(doctree.findall(nodes.literal)):
        text = literal.astext()
        is_name = (
            NAME_OF_CODE.fullmatch(text)
            and text not in {*SIGNS, "exp", "log"}
            and not PART.match(text)
        )
        is_formula = FORMULA.search(text) or (
            TERMS.fullmatch(text) and re.search(r" [-+*/<>=]+ ", text)
        )
        is_link = isinstance(literal.parent, nodes.reference) or "xref" in literal["classes"]
        is_code = is_link or is_name or '"' in text or not is_formula
        if not is_code:
            literal["classes"] += ["formula", "typeset"]
            literal[:] = drawn(text)


def with_fractions(text):
    """A formula whose fractions are drawn with a line, if their bars stand between spaces."""
    parts, end = [], text[-1] if text[-1] in ",." else ""
    for term in BETWEEN.split(text.removesuffix(end)):
        halves = [nodes.inline("", "", *drawn(half.strip())) for half in BAR.split(term)]
        parts += (
            [nodes.inline("", "", *halves, classes=["fraction"])]
            if len(halves) == 2
            else drawn(term)
        )
    return [*parts, nodes.Text(end)]


def drawn(text):
    """A formula as nodes: text, variables, subscripts and superscripts."""
    parts, end, text = [], 0, PRODUCT.sub(r"⟨\1⟩", text)
    for part in PART.finditer(text):
        name, index, power = part["name"], part["index"], part["power"]
        parts += with_variables(
            text[end : part.start()] + LARGE.get(name, (name or "").rstrip("+-"))
        )
        if name and name[-1] in "+-":
            parts.append(nodes.superscript("", "", nodes.Text(name[-1].replace("-", "−"))))
        if index:
            content = index.removeprefix("{").removesuffix("}")
            is_pair = content.isalpha() and content not in SIGNS
            inside = [nodes.emphasis("", content)] if is_pair else drawn(content)
            parts.append(nodes.subscript("", "", *inside))
        else:
            content = power[1:-1] if power.startswith("(") else power
            parts.append(nodes.superscript("", "", *with_variables(content)))
        end = part.end()
    return [*parts, *with_variables(text[end:])]


def with_variables(text):
    """Text of a formula as nodes.

    Variables are in italics, and signs and Greek letters replace their names.
    """
    text = (
        SIGN.sub(lambda word: SIGNS[word[0]], MINUS.sub("−", text))
        .replace("'", "′")
        .replace("log2", "log₂")
    )
    pieces = VARIABLE.split(text)
    return [
        nodes.emphasis("", piece) if i % 2 else nodes.Text(piece)
        for i, piece in enumerate(pieces)
        if piece
    ]
