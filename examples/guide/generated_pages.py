"""Pages of the guide from other files: API, losses, gallery, benchmarks, commands."""

import ast
import importlib
import inspect
import re
import shutil
from functools import cache
from pathlib import Path

import pandas as pd
from notebooks import has_notebook, notebook
from numpydoc.docscrape import NumpyDocString
from sphinx.util import rst

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "boostrank"
EXAMPLES = REPOSITORY / "examples"
BENCHMARKS = REPOSITORY / "benchmarks"
#: Path from a page in _generated/FOLDER to the repository.
UP = "../../../.."
#: What stands above the questions of a page of the benchmarks.
ABOUT_QUESTIONS = (
    "Here are the questions that were measured, each with its answer, its command and its table. "
    "The date of a table says which defaults it is of."
)
#: Tables of the benchmarks with more columns are split.
MAX_COLUMNS = 6


def write_all(folder):
    """Write all pages into a folder, from which everything else is deleted."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = {
        **api_pages(),
        **loss_pages(),
        **gallery_pages(),
        **benchmark_pages(),
        **command_pages(),
    }
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def heading(text, line="="):
    return f"{text}\n{line * len(text)}\n\n"


def directive(name, argument="", *, content="", **options):
    """A directive of reST, with its options and content."""
    lines = [
        f".. {name}:: {argument}".rstrip(),
        *(f"   :{key}: {value}".rstrip() for key, value in options.items()),
    ]
    return "\n".join(
        [*lines, "", *(f"   {line}".rstrip() for line in content.splitlines()), "", ""]
    )


@cache
def public_names():
    """Public names: {"boostrank.metrics": {"ndcg_score": "boostrank.ndcg_score", ...}, ...}.

    The values are the shortest names of the same objects.
    """
    short, names = {}, {}
    for stub in sorted(PACKAGE.rglob("__init__.pyi"), key=lambda path: len(path.parts)):
        package = ".".join(stub.parent.relative_to(REPOSITORY).parts)
        imported = re.findall(
            r"^from \.\S+ import (\w+)", stub.read_text(encoding="utf-8"), re.MULTILINE
        )
        module = importlib.import_module(package)
        names[package] = {}
        for name in imported:
            full = f"{package}.{name}"
            names[package][name] = next(
                (s for s, value in short.items() if value is getattr(module, name)), full
            )
            short.setdefault(full, getattr(module, name))
    names["boostrank.clusters.dask"] = {
        name: f"boostrank.clusters.dask.{name}" for name in ("LightGBMRanker", "XGBoostRanker")
    }
    names["boostrank.clusters.ray"] = {"train": "boostrank.clusters.ray.train"}
    public = (
        "LightGBMRanker",
        "LightGBMRankerModel",
        "MeasureEvaluator",
        "XGBoostRanker",
        "XGBoostRankerModel",
    )
    names["boostrank.clusters.spark"] = {
        name: f"boostrank.clusters.spark.{name}" for name in public
    }
    return names


def comments_of_constants():
    """The comments that begin with #: by name of the constant that they describe."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for comment, name in re.findall(
            r"((?:^#: .*\n)+)^(\w+)\b", path.read_text(encoding="utf-8"), re.MULTILINE
        ):
            found[name] = " ".join(line.removeprefix("#: ") for line in comment.splitlines())
    return found


def title_of(docstring):
    """The beginning of the first line, up to its first comma, colon or bracket."""
    return re.split(r"[,:.] | \(|\.$", docstring.strip().splitlines()[0])[0]


#: The beginning of the API reference: what users need first, by purpose.
FIRST = {
    "Rankers": "LightGBMRanker XGBoostRanker load_model BaggedRanker QueryFeatures "
    "rankers.base.BoostedRanker",
    "Measures": "ndcg_score evaluate get_measure make_scorer reconcile",
    "Compare": "compare comparison.Comparison permutation_test",
    "Split and search": "split_queries QueryKFold cross_validate grid_search",
    "Explain": "explain feature_importance",
    "Data": "read_letor read_letor_folds make_ranking Dataset FeatureFiles",
    "Runs": "evaluate_run compare_runs read_qrels read_run write_run reconcile_run fuse "
    "fusion_weights",
    "Native training": "lightgbm_objective lightgbm_metric xgboost_objective xgboost_metric",
}
#: The packages after them.
PACKAGES = (
    "rankers surrogates model_selection comparison metrics significance serving datasets clicks "
)
PACKAGES += (
    "calibration preferences objectives clusters.dask clusters.ray clusters.spark displays theory"
)


def api_pages():
    """The reference: first what users need first, then each package with its other public names."""
    text, names, shown = heading("API reference"), public_names(), set()
    text += (
        "Which name do you need? Those of the first weeks stand first, by purpose, and all others "
        "follow by package. All parameters of the two rankers in one table: :doc:`parameters`.\n\n"
    )
    text += directive("toctree", hidden="", content="parameters")
    for title, first in FIRST.items():
        section = [f"boostrank.{name}" for name in first.split()]
        shown.update(section)
        # First sentences name objects of their own module.
        module = public_object(section[-1]).__module__
        text += heading(title, "-") + directive("py:currentmodule", module) + summary(section)
    comments = comments_of_constants()
    packages = [f"boostrank.{name}" for name in PACKAGES.split()]
    packages += sorted(set(names) - set(packages), reverse=True)
    for package in packages:
        section = [
            name
            for name in names[package].values()
            if name not in shown and not inspect.ismodule(public_object(name))
        ]
        shown.update(section)
        text += heading(package, "-")
        text += directive("py:module", package)
        text += importlib.import_module(package).__doc__.strip().split("\n\n")[0] + "\n\n"
        constants = [
            name for name in section if name.split(".")[-1] in comments or not is_callable(name)
        ]
        text += summary([name for name in section if name not in constants])
        for name in constants:
            constant = name.split(".")[-1]
            text += directive(
                "py:data", constant, content=comments.get(constant, f"``{public_object(name)}``")
            )
    return {"api/index.rst": text, "api/parameters.rst": parameter_page()}


def summary(names):
    """A table of names, with links to their pages."""
    lines = "\n".join(f"~{name}" for name in names)
    return (
        directive("autosummary", toctree="names", nosignatures="", content=lines) if names else ""
    )


def parameter_page():
    """A page with the parameters of both rankers, and the arguments of `fit` and `predict`.

    They are those of their docstrings.
    """
    from boostrank import LightGBMRanker, XGBoostRanker
    from boostrank.rankers.base import BoostedRanker

    common, own = (
        parameters(BoostedRanker),
        {ranker: parameters(ranker) for ranker in (LightGBMRanker, XGBoostRanker)},
    )
    rows = [[name, "both", meaning] for name, meaning in common.values()]
    for ranker, section in own.items():
        of_one = [entry for names, entry in section.items() if names not in common]
        rows += [
            [name, f":class:`~boostrank.{ranker.__name__}`", meaning] for name, meaning in of_one
        ]
    text = heading("All parameters of the rankers")
    text += (
        "What can be set? Here are the parameters of the constructors, and then the arguments of "
        "``fit`` and ``predict``, which both rankers have.\n\n"
    )
    text += table([["parameter", "ranker", "meaning"], *rows])
    for method in ("fit", "predict"):
        arguments = parameters(getattr(LightGBMRanker, method))
        text += heading(method, "-") + table(
            [["argument", "meaning"], *map(list, arguments.values())]
        )
    return text


def parameters(documented):
    """The parameters of a docstring by name: name and type, and meaning, as texts of reST."""
    section = NumpyDocString(inspect.getdoc(documented))["Parameters"]
    return {
        entry.name: (
            f"``{entry.name}``" + f"\n\n{entry.type}" * bool(entry.type),
            "\n".join(entry.desc),
        )
        for entry in section
    }


def table(rows):
    """A table of reST, whose first row is its head; cells may have paragraphs."""
    cells = [["\n    ".join(cell.splitlines()) for cell in row] for row in rows]
    lines = ["* - " + "\n  - ".join(row) for row in cells]
    return directive("list-table", content="\n".join(lines), **{"header-rows": "1"})


def public_object(name):
    package, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(package), attribute)


def is_callable(name):
    value = public_object(name)
    return isinstance(value, type) or hasattr(value, "__code__")


def loss_pages():
    """A page with a table of all losses by name, and their traits."""
    from boostrank.surrogates import SURROGATES

    rows = [["name", "instance", "convex", "consistent", "targets", "Hessian"]]
    for name, surrogate in SURROGATES.items():
        low, high = surrogate.target_bounds
        traits = ("yes" if trait else "no" for trait in (surrogate.convex, surrogate.consistent))
        bounds = f"from {low:g} to {high:g}" if high < float("inf") else f"at least {low:g}"
        rows.append([f"``{name}``", f"``{surrogate!r}``", *traits, bounds, surrogate.hessian])
    text = heading("Losses by name") + (
        "Which losses are there, and what are their traits? This table has all that have a name; "
        ":doc:`/losses` helps to choose one.\n\n"
        "A loss is consistent if the minimizer of the expected loss sorts like the expected "
        'targets: it is then NDCG consistent with the targets of ``normalize="dcg"``. A majorant '
        "is at least as large as the Hessian. The weights of ``consistent-lambdarank`` depend on "
        "the scores: it is convex for fixed weights, and no single loss has its gradient.\n\n"
    )
    return {"losses.rst": text + table(rows)}


def gallery_pages():
    """A page for each example, its source as a notebook, and a card in the gallery.

    The page has its first lines, its pictures and its source; the card what it shows, as a
    sentence, and its first picture.
    """
    pages, cards = {}, ""
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\w+)\.py\]\(\S+\) \| (.*?) \| (.*) \|$", readme, re.MULTILINE)
    for name, shows, links in rows:
        source = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
        docstring = ast.get_docstring(ast.parse(source))
        pictures = re.findall(r"\[(.*?)\]\((\S+\.png)\)", links)
        text = heading(title_of(docstring)) + docstring.splitlines()[0] + "\n\n"
        for title, picture in pictures:
            text += directive("image", f"{UP}/examples/{picture}", alt=title)
        text += f":download:`Download {name}.py <{UP}/examples/{name}.py>`"
        if has_notebook(source):
            pages[f"gallery/{name}.ipynb"] = notebook(name, title_of(docstring), source)
            text += f" or :download:`{name}.ipynb <{name}.ipynb>`, a Jupyter notebook"
        text += "\n\n"
        text += directive("literalinclude", f"{UP}/examples/{name}.py", language="python")
        pages[f"gallery/{name}.rst"] = text
        about = directive("container", "about", content=f":doc:`{name}`\n\n{capitalized(shows)}.")
        image = directive(
            "image", f"{UP}/examples/{pictures[0][1]}", alt=pictures[0][0], target=f"{name}.html"
        )
        cards += directive("container", "card", content=about + image)
    index = heading("Gallery") + (
        "Which script is like the task that you have? Each runs in seconds on synthetic data, and "
        "its page has the source, its pictures and, for most of them, a Jupyter notebook.\n\n"
    )
    index += directive("container", "gallery", content=cards)
    index += directive("toctree", hidden="", content="\n".join(name for name, *_ in rows))
    return {**pages, "gallery/index.rst": index}


def capitalized(text):
    return text[0].upper() + text[1:]


def benchmark_pages():
    """A page for each section of the README of the benchmarks, and below it one for each table.

    Their titles are questions: headings of sections, bold questions and first cells of tables.
    """
    readme = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    introduction, *sections = readme.split("\n## ")
    pages, names = {}, []
    for section in sections:
        title, text = section.split("\n", 1)
        names.append(re.sub(r"\W+", "-", title.lower()).strip("-"))
        tables = questions_of_tables(title, text)
        text = with_pictures(rows_as_sections(text))
        pages[f"benchmarks/{names[-1]}.md"] = f"# {title}\n{text}\n\n{hidden_menu(tables)}"
        for name, question in tables.items():
            pages[f"benchmarks/{name}.rst"] = table_page(name, question)
    missing = {f"benchmarks/{path.stem}.rst" for path in BENCHMARKS.glob("results/*.csv")} - {
        *pages
    }
    if missing:
        raise ValueError(f"benchmarks/README.md must link to each table; {sorted(missing)} miss")
    menu = "\n".join(["```{toctree}", ":maxdepth: 2", "", *names, "```"])
    pages["benchmarks/index.md"] = f"{with_pictures(introduction)}\n\n{menu}\n"
    return pages


def rows_as_sections(text):
    """A part of the README of the benchmarks, with a section for each row of tables of questions.

    Beside the answers and commands, the columns of such tables would be too narrow on the site.
    """
    head = "| question | answer | command → result |\n|---|---|---|\n"
    if text.strip().startswith(head):
        text = f"\n{ABOUT_QUESTIONS}\n\n{text.strip()}"
    rows = r"^\| ([^|\n]+\?) \| (.+?) \| ([^|\n]+) \|$"
    return re.sub(rows, r"## \1\n\n\2\n\n\3\n", text.replace(head, ""), flags=re.MULTILINE)


def hidden_menu(pages):
    """Pages that stand in the menu below another one, and not in its text."""
    return "\n".join(["```{toctree}", ":hidden:", "", *pages, "```", ""])


def questions_of_tables(heading, text):
    """The question that each table answers, as ``{name of its file: question}``.

    It is the first cell of the row that links to the table, the last question in bold above it, or
    the heading. Where it has several tables, the text of the link follows.
    """
    linked, question = {}, heading
    # A row of a table is a line, and a paragraph has several.
    for line in re.sub(r"(?<=[^|\n])\n(?=[^|\n])", " ", text).splitlines():
        if found := re.match(r"\*\*(.+\?)\*\*|\| (.+?\?) \|", line):
            question = re.sub(r"[`\[]|\]\([^)]*\)", "", found[1] or found[2])
        for label, name in re.findall(r"\[([^\]]+)\]\(results/([\w-]+)\.csv\)", line):
            linked.setdefault(question, {})[name] = label
    return {
        name: question if len(tables) == 1 else f"{question} {capitalized(label)}"
        for question, tables in linked.items()
        for name, label in tables.items()
    }


def table_page(name, question):
    """A page with a table of the benchmarks, and how it was measured."""
    path = BENCHMARKS / "results" / f"{name}.csv"
    with path.open(encoding="utf-8") as lines:
        comments = [line.removeprefix("# ").rstrip() for line in lines if line.startswith("# ")]
    title, command, *others = comments
    day, command = command.removesuffix(":").split(" with: ")
    text = heading(rst.escape(question)) + f"{rst.escape(title)}. {day.capitalize()}, with\n\n"
    text += directive("code-block", "bash", content=command, **{"class": "wrapped"})
    text += "".join(f"- {rst.escape(line)}\n" for line in others) + "\n"
    text += f":download:`{path.name} <{UP}/benchmarks/results/{path.name}>`\n\n"
    for part in narrow_parts(pd.read_csv(path, comment="#", skip_blank_lines=True)):
        shown = part.to_html(
            index=False,
            border=0,
            classes="table",
            float_format="{:.4g}".format,
            na_rep="",
            justify="left",
        )
        shown = f'<div class="pst-scrollable-table-container">{shown}</div>'
        text += directive("raw", "html", content=shown)
    return text


def narrow_parts(table):
    """A table as tables of at most `MAX_COLUMNS` columns, which can be read without scrolling.

    Each begins with the columns that tell the rows apart, which are joined if they are more than
    two.
    """
    if table.shape[1] <= MAX_COLUMNS:
        return [table]
    keys = columns_that_tell_rows_apart(table)
    rest = table.drop(columns=keys)
    named = table[keys]
    if len(keys) > 2:
        rows = table[keys].itertuples(index=False)
        joined = [", ".join(str(value) for value in row if pd.notna(value)) for row in rows]
        named = pd.DataFrame({", ".join(keys): joined})
    size = MAX_COLUMNS - named.shape[1]
    return [
        pd.concat([named, rest.iloc[:, i : i + size]], axis=1)
        for i in range(0, rest.shape[1], size)
    ]


def columns_that_tell_rows_apart(table):
    """The first columns in which no two rows are equal; columns of texts count first if needed."""
    numbers = list(table.select_dtypes("number"))
    texts_first = [column for column in table if column not in numbers] + numbers
    return next(
        columns[:n]
        for columns in (list(table), texts_first)
        for n in range(1, MAX_COLUMNS)
        if not table.duplicated(columns[:n]).any()
    )


def with_pictures(text):
    """A part of the README of the benchmarks, with the pictures below the links to them."""
    return "\n\n".join(paragraph_with_pictures(paragraph) for paragraph in text.split("\n\n"))


def paragraph_with_pictures(paragraph):
    pictures = re.findall(r"\]\(figures/(\S+\.png)\)", paragraph)
    paragraph = re.sub(r"\[([^\]]+)\]\(((?!https?:|#)[^)]+)\)", site_link, paragraph)
    return "\n\n".join(
        [paragraph, *(f"![{Path(name).stem}]({UP}/benchmarks/figures/{name})" for name in pictures)]
    )


def site_link(link):
    """The link to a file as one to its page, and as plain text if the file has no page."""
    path = Path(link[2])
    if path.parent == Path("results"):
        page = f"{path.stem}.rst"
    elif path.parent == Path("../examples"):
        page = f"../gallery/{path.stem}.rst"
    elif path.parent == Path("../examples/guide/theory"):
        page = f"../../theory/{path.stem}.md"
    elif path.parent == Path("../examples/guide"):
        page = f"../../{path.stem}.md"
    else:
        return link[1]
    return f"[{link[1]}]({page})"


def command_pages():
    """A page with the help of each command."""
    from typer.main import get_command
    from typer.testing import CliRunner

    from boostrank.cli.app import app

    text = heading("Command line") + (
        "What can be done without Python? Train, predict, evaluate, compare, check and export, for "
        "LETOR, CSV and Parquet files; :doc:`/get_started` has examples.\n\n"
    )
    for command in (None, *get_command(app).commands):
        title = f"boostrank {command}" if command else "boostrank"
        arguments = [command, "--help"] if command else ["--help"]
        shown = CliRunner().invoke(
            app, arguments, prog_name="boostrank", env={"COLUMNS": "90"}, catch_exceptions=False
        )
        if shown.exit_code:
            raise RuntimeError(f"{title} --help failed: {shown.output}")
        text += heading(title, "-") + directive("code-block", "text", content=shown.stdout.strip())
    return {"commands.rst": text}
