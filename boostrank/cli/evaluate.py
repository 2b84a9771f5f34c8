"""``boostrank evaluate``: measures of scores, and of runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import typer
from numpy.typing import NDArray
from typer import Argument, Option

import boostrank.displays
import boostrank.runs
from boostrank.cli import options, reports
from boostrank.cli.app import COMMANDS
from boostrank.cli.columns import (
    ADVICE_ON_EQUAL_LABELS,
    EQUAL_LABELS,
    are_equal_within_queries,
)
from boostrank.cli.documents import ColumnOptions, read_documents, read_groups, read_scores
from boostrank.cli.options import refuse_unused, set_options
from boostrank.cli.reports import counted
from boostrank.cli.tables import column_names, is_table, read_columns
from boostrank.comparison import Comparison
from boostrank.inputs.arrays import Floats
from boostrank.inputs.warnings import warn
from boostrank.metrics import Measure
from boostrank.metrics import evaluate as compute_measures
from boostrank.metrics.names import printed_name
from boostrank.ndcg.labels import Labels
from boostrank.queries.queries import Queries
from boostrank.text.tables import latex_table, markdown_table, text_lines

DEFAULT = "ndcg@1,ndcg@5,ndcg@10"
RUN_DEFAULT = "nDCG@10,AP,RR"
PATHS = (
    "Documents, LETOR file or table, and scores, one a line or in a table's column score; with "
    "--qrels: runs."
)
MEASURES = f"{options.MEASURES_HELP} By default {DEFAULT}; of runs {RUN_DEFAULT}."
QUERIES = (
    "Queries of runs: all with judgments, 0 where a run lacks one (default), or those in all runs."
)
GROUP = (
    "Column of DATA with what queries belong to, or for runs a table of query ids and groups: "
    "tests and 95% intervals by group."
)
TIES = (
    "Equal scores: average of all permutations (default), by row (stable), by decreasing id "
    "(default of runs), ..."
)
Ties = Literal["average", "stable", "best", "worst", "trec_eval"]


def evaluate(
    paths: Annotated[list[Path] | None, Argument(metavar="DATA SCORES", help=PATHS)] = None,
    qid: options.QidOption = None,
    label: options.LabelOption = None,
    group: Annotated[str | None, Option(help=GROUP)] = None,
    qrels: Annotated[Path | None, Option(help="Relevance judgments of TREC.")] = None,
    run: Annotated[
        list[Path] | None, Option(help="TREC run, named by tag or file; several are compared.")
    ] = None,
    baseline: Annotated[
        str | None, Option(help="Run to compare with; by default the first one.")
    ] = None,
    queries: Annotated[Literal["judged", "common"] | None, Option(help=QUERIES)] = None,
    measures: Annotated[str | None, Option(help=MEASURES)] = None,
    gain: options.GainOption = None,
    empty: options.EmptyOption = None,
    ties: Annotated[Ties | None, Option(help=TIES)] = None,
    output: options.OutputOption = None,
    per_query: Annotated[
        Path | None, Option(help="File for the values of each query: .csv or .tsv.")
    ] = None,
    plot: Annotated[
        Path | None, Option(help="Image: precision by recall of a run, or differences of runs.")
    ] = None,
    plot_queries: Annotated[
        Path | None, Option(help="File for an image of the differences query by query.")
    ] = None,
    layout: Annotated[
        Literal["marks", "pairs", "differences"], Option(help="Of .md and .tex files.")
    ] = "marks",
) -> None:
    """Print measures of scores for documents, or of TREC runs.

    Give either DATA and SCORES, or --qrels and one --run or several.
    --gain and --empty, and --ties for SCORES, apply to those measures
    that have such a setting. Ids and names are written as they are; a
    spreadsheet runs an id such as =1+1, unless it is imported as text.
    """
    paths = [*(run or ()), *(paths or ())]
    if (qrels is None and (run or len(paths) != 2)) or not paths:
        raise ValueError(
            f"give either DATA and SCORES, or --qrels and one --run or several: boostrank evaluate "
            f"{COMMANDS['evaluate'].arguments} [OPTIONS]"
        )
    compares = qrels is not None and len(paths) > 1
    if qrels is None:
        refuse_unused("--qrels and --run", queries=queries, plot=plot)
    else:
        refuse_unused("DATA and SCORES", qid=qid, label=label)
    if not compares:
        refuse_unused("--qrels and several runs", baseline=baseline, plot_queries=plot_queries)
    files = {"output": output, "per_query": per_query, "plot": plot, "plot_queries": plot_queries}
    reports.check_files(**files)
    groups = _read_groups(group, paths[0] if qrels is None else None)
    settings = set_options(gain=gain, empty=empty)
    of_runs: dict[str, Any] = {}
    if qrels is None:
        settings |= set_options(ties=ties)
        measured = options.parse_measures("--measures", measures or DEFAULT, settings)
        compute, measured = _of_scores(paths, ColumnOptions(qid, label), measured)
    else:
        from boostrank.runs.evaluation import measures_of_runs

        of_runs = {"ties": ties or "trec_eval", "queries": queries}
        measured = options.parse_measures(
            "--measures", measures or RUN_DEFAULT, settings, measures_of_runs
        )
        if compares:
            comparison = _compare_runs(measured, qrels, paths, baseline, groups=groups, **of_runs)
            reports.write_comparison(comparison, list(measured)[-1], layout, files)
            return
        compute = _of_run(qrels, paths[0], measured, of_runs, plot)
    if groups is None:
        table = pd.DataFrame({"value": compute()})
    else:
        means = compute(groups=groups).set_index("metric").rename(columns={"mean": "value"})
        table = means[["value", "low", "high"]]
    shown = _measure_rows(measured, table, of_runs)
    typer.echo("\n".join(text_lines(shown, last_is_text=True)))
    _write_means(output, table)
    if per_query is not None:
        values = compute(per_query=True).rename_axis("query_id").reset_index()
        reports.write_unrounded("values of queries", per_query, values)


def _read_groups(group: str | None, data: Path | None) -> Any:
    """The groups of the documents in a column of `data`; or a table of them by query id."""
    if group is None:
        return None
    path = data or Path(group)
    if not is_table(path):
        refuse_unused(f"a CSV, TSV or Parquet file, and {path} is none", group=group)
    if data is not None:
        return read_groups(data, group)
    names = column_names(path)
    return read_columns(path, names, names)


def _write_means(path: Path | None, table: pd.DataFrame) -> None:
    """Write the means of measures, by the ending of the file's name."""
    rows = [["measure", *table]]
    for name, numbers in zip(table.index, table.to_numpy(), strict=True):
        rows.append([printed_name(name), *_texts(numbers)])
    named = table.rename_axis("metric").reset_index()
    reports.write_table(
        path, named, partial(markdown_table, rows, 1), partial(latex_table, rows, 1)
    )


def _texts(numbers: Floats) -> list[str]:
    return [f"{number:.6f}" for number in numbers]


def _of_scores(
    paths: list[Path], columns: ColumnOptions, measures: dict[str, Measure]
) -> tuple[Callable[..., Any], dict[str, Measure]]:
    """A function that computes measures of scores, and these by name, in several objectives too."""
    takes_negative = all(measure.takes_negative for measure in measures.values())
    _, y, qid = read_documents(
        paths[0], columns, roles=("qid", "label"), may_be_negative=takes_negative
    )
    scores = read_scores(paths[1], qid)
    _check_number(paths, scores, qid)
    if isinstance(y, Labels):
        measures = dict(y.measures(measures))
    elif are_equal_within_queries(y, qid):
        warn(f"{paths[0]}: {EQUAL_LABELS}, and measures say nothing. {ADVICE_ON_EQUAL_LABELS}")
    n_queries = counted(Queries.from_qid(qid).n_queries, "query", "queries")
    typer.echo(f"{n_queries}, {counted(len(scores), 'document')}")
    return partial(compute_measures, y, scores, qid, measures), measures


def _check_number(paths: list[Path], scores: Floats, qid: NDArray[Any]) -> None:
    """Raise ValueError if there is not one score for each document."""
    data, file = paths
    n_scores = len(scores)
    if n_scores == len(qid):
        return
    advice = "predict writes one score for each document, in the sequence of its file"
    counts = f"{file} has {n_scores:,} scores for the {len(qid):,} documents of {data}"
    if n_scores > len(qid):
        raise ValueError(f"{counts}, {n_scores - len(qid):,} too many: {advice}")
    raise ValueError(
        f"{counts}: the first document without a score is in row {n_scores + 1:,}, of the query "
        f"{str(qid[n_scores])!r}; {advice}"
    )


def _of_run(
    qrels: Path,
    path: Path,
    measures: dict[str, Measure],
    settings: dict[str, Any],
    plot: Path | None,
) -> Callable[..., Any]:
    """A function that computes measures of a run; an image of the run is written."""
    judgments = boostrank.runs.read_qrels(qrels)
    run = boostrank.runs.read_run(path)
    ids = set(judgments["query_id"])
    if settings["queries"] == "common":
        ids &= set(run["query_id"])
    typer.echo(f"{len(ids)} queries, {run['query_id'].isin(ids).sum()} documents retrieved")
    (name,) = run_names([path], [run.attrs["tag"]])
    draw = boostrank.displays.PrecisionRecallDisplay.from_runs
    reports.write_image(plot, partial(draw, judgments, {name: run}, **settings))
    return partial(boostrank.runs.evaluate_run, judgments, run, measures, **settings)


def _compare_runs(
    measures: dict[str, Measure],
    qrels: Path,
    paths: list[Path],
    baseline: str | None,
    **settings: Any,
) -> Comparison:
    """Print a comparison of runs."""
    repeated = [path for path in paths if paths.count(path) > 1]
    if repeated:
        raise ValueError(f"--run {repeated[0]} is given twice")
    judgments = boostrank.runs.read_qrels(qrels)
    tables = [boostrank.runs.read_run(path) for path in paths]
    names = run_names(paths, [table.attrs["tag"] for table in tables])
    by_path = dict(zip(map(str, paths), names, strict=True))
    baseline = by_path.get(str(baseline), baseline)
    named = dict(zip(names, tables, strict=True))
    comparison = boostrank.runs.compare_runs(
        judgments, named, measures, baseline=baseline, **settings
    )
    typer.echo(f"{comparison.counts}, {len(paths)} runs\n")
    reports.show_comparison(comparison)
    return comparison


def run_names(paths: Sequence[Path], tags: Sequence[str]) -> list[str]:
    """Names of runs: their tags, else the names of their files without endings, else the paths.

    The first of these that all runs have, and that are different, are taken.

    Examples
    --------
    >>> run_names([Path("a/bm25.run.gz"), Path("b/dense.txt")], ["x", "x"])
    ['bm25', 'dense']
    >>> run_names([Path("a/bm25.run"), Path("b/bm25.run")], ["x", "x"])
    ['a/bm25.run', 'b/bm25.run']
    """
    stems = [path.name.removesuffix(".gz").rpartition(".")[0] or path.name for path in paths]
    for names in (tags, stems):
        if all(names) and len(set(names)) == len(paths):
            return list(names)
    return [str(path) for path in paths]


def _measure_rows(
    measures: Mapping[str, Any], table: pd.DataFrame, changed: Mapping[str, object]
) -> list[list[str]]:
    """Values and settings of measures, a row each, below the head.

    `changed` are settings of runs, which are not those of the measures.
    """
    rows = [["measure", *table, "settings"]]
    for (name, measure), numbers in zip(measures.items(), table.to_numpy(), strict=True):
        texts = []
        # A measure in one objective has the settings of the measure itself.
        with_settings = getattr(measure, "inner", measure)
        for field in dataclasses.fields(with_settings):
            value = changed.get(field.name, getattr(with_settings, field.name))
            # The cutoff is part of the name. Settings that are off are not shown.
            if field.name != "k" and value is not None and value is not False:
                texts.append(f"{field.name} {value}")
        rows.append([printed_name(name), *_texts(numbers), ", ".join(texts)])
    return rows
