"""The package as a whole: import, layers, docstrings, public names and the links of the READMEs."""

import ast
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from cases import for_each

import boostrank as br

PACKAGE = Path(br.__file__).parent
REPOSITORY = Path(__file__).parents[1]
SOURCES = {
    path.relative_to(PACKAGE): path.read_text(encoding="utf-8")
    for path in sorted(PACKAGE.rglob("*.py"))
}
MAX_LINES = 600
MAX_NODES_OF_A_FIT = 34_500


@cache
def nodes(source):
    """All nodes of a source, which several tests walk over."""
    return list(ast.walk(ast.parse(source)))


def read_layers(docstring):
    """The lists of packages of a docstring, each from its lowest layer to its highest.

    A line of a list has an indentation of four spaces: a name, two or more spaces, and a text.
    """
    lines = [re.match(r" {4}(\w+) {2,}\S", line) for line in docstring.splitlines()]
    lists, is_open = [], False
    for line in lines:
        if line and not is_open:
            lists.append([])
        if line:
            lists[-1].append(line[1])
        is_open = bool(line)
    return lists


CORE, EXTENSIONS, COMMANDS = read_layers(br.__doc__)


def is_type_checking(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imported_modules(source, package):
    """Names of the imported modules of boostrank, such as "metrics.ndcg", and "" for the package
    itself.

    `package` is the dotted name of the package of the file, which relative imports begin at.
    Imports within functions count, and imports for type checkers do not."""
    checked = [
        statement for node in nodes(source) if is_type_checking(node) for statement in node.body
    ]
    for_type_checkers = {node for statement in checked for node in ast.walk(statement)}
    for node in nodes(source):
        if node in for_type_checkers:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = (
                package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            )
            module = ".".join([*parents, *([node.module] if node.module else [])])
            names = (
                [f"{module}.{alias.name}" for alias in node.names]
                if module == "boostrank"
                else [module]
            )
        else:
            continue
        for name in names:
            if name == "boostrank" or name.startswith("boostrank."):
                yield name.removeprefix("boostrank").removeprefix(".")


def module_name(path):
    """Name of the module of a file of the package, such as "metrics.ndcg"."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def layer_faults(layers, files):
    """Imports of the files {path relative to the package: source} that do not run downward."""
    height = {name: i for i, name in enumerate(layers)}
    for path, source in files.items():
        importer = path.parts[0].removesuffix(".py")
        for imported in imported_modules(source, ".".join(["boostrank", *path.parent.parts])):
            target = imported.split(".")[0]
            if target != importer and not height.get(target, len(layers)) < height[importer]:
                yield f"{path} imports {imported or 'boostrank'}"


def circles(files):
    """Groups of modules that import each other, directly or by others; functions that import count
    too."""
    names = {module_name(path) for path in files}
    graph = {}
    for path, source in files.items():
        imported = set()
        for node in nodes(source):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("boostrank."):
                module = node.module.removeprefix("boostrank.")
                imported |= {
                    found if (found := f"{module}.{alias.name}") in names else module
                    for alias in node.names
                }
        graph[module_name(path)] = imported & names - {module_name(path)}
    # Modules that import nothing that is left are on no circle.
    while leaves := [name for name, imported in graph.items() if not imported & graph.keys()]:
        for name in leaves:
            del graph[name]
    return sorted(graph)


def test_modules_import_no_public_names_from_the_package():
    # A thread that imports such a module and one that imports a public name would wait for each
    # other.
    for path, source in SOURCES.items():
        for node in nodes(source):
            if (
                isinstance(node, ast.ImportFrom)
                and node.module == "boostrank"
                and path != Path("__init__.py")
            ):
                assert not {alias.name for alias in node.names} & set(br.__all__), path


def test_a_missing_backend_is_an_error_that_says_what_to_install(monkeypatch):
    X, y, qid = br.make_ranking(n_queries=5, random_state=0)
    for ranker, name in ((br.LightGBMRanker(), "lightgbm"), (br.XGBoostRanker(), "xgboost")):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match=f"pip install {name}"):
            ranker.fit(X, y, qid)


def test_layers_list_every_package_once_and_imports_run_downward():
    modules = {path.parts[0].removesuffix(".py") for path in SOURCES}
    assert sorted(CORE + EXTENSIONS + COMMANDS) == sorted(modules - {"__init__", "__main__"})
    assert list(layer_faults(CORE + EXTENSIONS + COMMANDS, WITHOUT_ENTRY)) == []


WITHOUT_ENTRY = {
    path: source
    for path, source in SOURCES.items()
    if path not in {Path("__init__.py"), Path("__main__.py")}
}


def test_the_core_imports_no_extension():
    # The order of the lists says so too. Features in files are an extension within a package of the
    # core.
    for path, source in WITHOUT_ENTRY.items():
        if path.parts[0] in CORE and path.name != "feature_files.py":
            imported = set(imported_modules(source, ".".join(["boostrank", *path.parent.parts])))
            assert not [name for name in imported if name.split(".")[0] in EXTENSIONS], path
            assert "datasets.feature_files" not in imported, path


def test_no_modules_import_each_other():
    assert circles(WITHOUT_ENTRY) == []
    circle = {
        Path("a.py"): "from boostrank.b import f",
        Path("b.py"): "def g():\n    from boostrank import c",
    }
    assert circles(circle) == []
    assert circles({**circle, Path("b.py"): "def g():\n    from boostrank.a import f"}) == [
        "a",
        "b",
    ]


def test_only_backends_import_the_boosting_libraries():
    # Distributed training needs the networks of the libraries, which they have nowhere else.
    for path, source in SOURCES.items():
        if path.parts[0] != "backends" and path != Path("clusters/collective.py"):
            for node in nodes(source):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_backend":
                    names += [
                        argument.value
                        for argument in node.args
                        if isinstance(argument, ast.Constant)
                    ]
                assert not [
                    name for name in names if name.split(".")[0] in ("lightgbm", "xgboost")
                ], path


@pytest.mark.slow
def test_a_plain_fit_score_and_search_import_no_extension():
    code = (
        "import json, sys, boostrank as br\n"
        "data = br.make_ranking(n_queries=20, random_state=0)\n"
        "ranker, imported = br.LightGBMRanker(n_estimators=2, n_jobs=1), []\n"
        "for use in (lambda: ranker.fit(*data), lambda: ranker.score(*data),\n"
        "            lambda: br.grid_search(ranker, {'num_leaves': [4, 8]}, *data, cv=2)):\n"
        "    use()\n"
        "    imported.append([name for name in sys.modules if name.startswith('boostrank.')])\n"
        "print(json.dumps(imported))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    of_fit, _, of_search = (set(names) for names in json.loads(done.stdout))
    for name in of_search:
        assert name.split(".")[1] in {*CORE, "__init__"}, name
    assert "boostrank.datasets.feature_files" not in of_search
    # A fit without validation sets needs no measures, and none of the other library.
    assert not [
        name
        for name in of_fit
        if name.startswith(("boostrank.metrics", "boostrank.backends.xgboost"))
    ]
    sizes = {module_name(path): n_nodes(source) for path, source in SOURCES.items()}
    imported = [name.removeprefix("boostrank.") for name in of_fit]
    assert sum(sizes.get(name, 0) for name in imported) < MAX_NODES_OF_A_FIT


def n_nodes(source):
    """Number of nodes of the syntax tree, which the width of the lines does not change."""
    marks = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
    return sum(not isinstance(node, marks) for node in nodes(source))


@for_each(
    ("path", "source", "is_fault"),
    [
        ("low.py", "from boostrank.high import f", True),
        ("low.py", "def f():\n    from boostrank.high.part import g", True),
        ("low.py", "import boostrank.high", True),
        ("low.py", "from . import high", True),
        ("low.py", "from boostrank import LightGBMRanker", True),
        ("low.py", "if TYPE_CHECKING:\n    from boostrank.high import f", False),
        ("low.py", "if TYPE_CHECKING:\n    pass\nelse:\n    from boostrank.high import f", True),
        ("low.py", "import numpy", False),
        ("left.py", "from boostrank.right import f", True),
        ("right.py", "from boostrank.left import f", False),
        ("high/part.py", "from ..low import f", False),
        ("high/part.py", "from .other import f\nfrom boostrank.high import g", False),
        ("low.py", "from boostrank.unlisted import f", True),
        ("low.py", "from boostrankings import f", False),
    ],
)
def test_faults_of_layers_are_found(path, source, is_fault):
    lists = read_layers(
        "Layers.\n\n    low     first\n    high    second\n\nOthers:\n\n    left    third\n    "
        "right   fourth\n"
    )
    assert lists == [["low", "high"], ["left", "right"]]
    assert bool(list(layer_faults([*lists[0], *lists[1]], {Path(path): source}))) == is_fault


def test_files_are_short():
    assert [path for path, source in SOURCES.items() if len(source.splitlines()) > MAX_LINES] == []


def test_docstrings_say_what_a_thing_is_or_does():
    for path, source in SOURCES.items():
        for node in nodes(source):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                assert not (ast.get_docstring(node) or "").startswith("What "), path


def test_examples_import_public_names_from_the_package(public_names):
    # That they import all that they use is tested by running them: see
    # `pytest_collection_modifyitems`.
    for path, source in SOURCES.items():
        for node in (
            node for node in nodes(source)[0].body if getattr(node, "name", "") in public_names
        ):
            imports = re.findall(
                r"(?:>>>|\.\.\.) +((?:from|import) boostrank.*)", ast.unparse(node)
            )
            assert set(imports) <= {"import boostrank as br"}, path


def test_public_names_exist_and_are_documented():
    assert len(set(br.__all__)) == len(br.__all__)
    for name in [*br.__all__, "dask", "ray", "spark"]:
        assert name in dir(br)
        assert getattr(br, name).__doc__, name


def test_a_missing_dask_is_an_error_that_says_what_to_install(monkeypatch):
    for name in list(sys.modules):
        if name == "boostrank.clusters.dask" or name.startswith("boostrank.clusters.dask."):
            monkeypatch.delitem(sys.modules, name)
    # delattr would import the module, to restore it.
    for package in (br, br.clusters):
        monkeypatch.delitem(vars(package), "dask", raising=False)
    # Other packages may have imported parts of Dask.
    for name in ("dask", "dask.array"):
        monkeypatch.setitem(sys.modules, name, None)
    message = re.escape("pip install 'dask[array,dataframe,distributed]'")
    with pytest.raises(ImportError, match=message):
        br.dask  # noqa: B018
    with pytest.raises(ImportError, match=message):
        from boostrank import dask  # noqa: F401


@pytest.mark.parametrize("readme", ["README.md", "benchmarks/README.md", ".github/CONTRIBUTING.md"])
def test_links_and_scripts_of_readmes_exist(readme):
    path = REPOSITORY / readme
    text = path.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:|#)([^)]+)\)", text)
    assert [link for link in links if not (path.parent / link.partition("#")[0]).exists()] == []
    assert len(links) > 3
    scripts = re.findall(r"\bpython ([\w/]+\.py)", text)
    assert [script for script in scripts if not (REPOSITORY / script).exists()] == []
