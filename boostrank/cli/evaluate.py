"""``boostrank evaluate``: measures of scores, and of runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import typer

from boostrank.cli import reports
from boostrank.cli.documents import named_option, read_groups, read_judged, read_scores
from boostrank.cli.options import (
    ALL_MEASURES,
    DEFAULT_MEASURES,
    MEASURING,
    OUTPUT,
    EmptyOption,
    GainOption,
    LabelOption,
    LayoutOption,
    OutputOption,
    QidOption,
    QueriesPlotOption,
    console,
    from_pipes,
    given,
    option,
    parse_measures,
    refuse_unused,
)
from boostrank.cli.reports import OutputFiles, counted
from boostrank.cli.tables import ColumnOptions
from boostrank.displays import PrecisionRecallDisplay
from boostrank.metrics import Measure
from boostrank.metrics import evaluate as compute_measures
from boostrank.metrics.names import printed_name
from boostrank.metrics.query_groups import GROUP
from boostrank.queries.queries import Queries
from boostrank.runs import (
    CONVENTIONS,
    Reconciliation,
    compare_runs,
    evaluate_run,
    read_qrels,
    read_run,
    reconcile,
    reconcile_run,
)
from boostrank.runs.evaluation import TREC_EVAL
from boostrank.runs.trec_tables import QUERY

RUN_MEASURES = "nDCG@10,AP,RR"
RUNS = "TREC runs"


class Request(NamedTuple):
    """Measures, settings of runs, groups of queries, files to write, and the measure to explain."""

    measures: dict[str, Measure]
    settings: dict[str, Any]
    by: pd.Series | None
    files: OutputFiles
    explained: Measure | None


def evaluate(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DATA SCORES",
            callback=from_pipes,
            help="LETOR, CSV, TSV (also .gz) or Parquet file, and one score a line, or a table with a column score; "
            "one of them may be -, standard input. With --qrels: runs, as those of --run.",
        ),
    ] = None,
    qid: QidOption = None,
    label: LabelOption = None,
    qrels: Annotated[Path | None, option(RUNS, "FILE", "Relevance judgments.")] = None,
    run: Annotated[
        list[Path] | None,
        option(RUNS, "FILE", "Run, named by tag or file; several are compared.", callback=from_pipes),
    ] = None,
    baseline: Annotated[str | None, option(RUNS, "NAME", "Run to compare with; by default the first one.")] = None,
    unjudged: Annotated[
        Literal["zero", "remove"] | None,
        option(RUNS, "zero|remove", "Documents without judgment have relevance 0 (default), or are removed."),
    ] = None,
    queries: Annotated[
        Literal["judged", "common"] | None,
        option(RUNS, "judged|common", "All with judgments, 0 where a run lacks one (default), or those in all runs."),
    ] = None,
    seed: Annotated[int | None, option(RUNS, "N", "Seed of the tests of runs; by default 0.", min=0)] = None,
    measures: Annotated[
        str | None,
        option(MEASURING, "NAMES", f"{ALL_MEASURES} By default {DEFAULT_MEASURES}; of runs {RUN_MEASURES}."),
    ] = None,
    gain: GainOption = None,
    empty: EmptyOption = None,
    ties: Annotated[
        Literal["average", "stable", "best", "worst", "trec_eval"] | None,
        option(
            MEASURING,
            "RULE",
            "Equal scores: average of all permutations (default), stable (by row), best, worst, trec_eval (by "
            "decreasing document id; default of runs).",
        ),
    ] = None,
    by: Annotated[
        Path | None,
        option(MEASURING, "FILE", "CSV or TSV file with columns query_id and group: means by group of queries."),
    ] = None,
    output: OutputOption = None,
    per_query: Annotated[Path | None, option(OUTPUT, "FILE", ".csv or .tsv file of the values of each query.")] = None,
    plot: Annotated[Path | None, option(OUTPUT, "FILE", "Image: precision by recall, or differences of runs.")] = None,
    queries_plot: QueriesPlotOption = None,
    layout: LayoutOption = None,
    explain: Annotated[
        bool,
        option(
            OUTPUT,
            None,
            f"Also print what other libraries compute, and why, for the last measure that is {', '.join(CONVENTIONS)}.",
            "--explain",
        ),
    ] = False,
) -> None:
    """Print measures of scores for documents, or of TREC runs.

    Give either DATA and SCORES, or --qrels and one --run or several.
    --gain and --empty, and --ties for SCORES, apply to those measures
    that have such a setting.
    """
    files_given, of_runs = list(paths or ()), qrels is not None
    run = [*(run or ()), *files_given] if of_runs else run
    if (of_runs and not run) or (not of_runs and (run or len(files_given) != 2)):
        raise ValueError("give either DATA and SCORES, or --qrels and one --run or several; see boostrank evaluate -h")
    if of_runs:
        refuse_unused("DATA and SCORES", qid=qid, label=label)
        if run and len(run) > 1:
            refuse_unused("DATA and SCORES, or one --run", explain=explain)
    else:
        refuse_unused("--qrels and --run", unjudged=unjudged, queries=queries, plot=plot)
    if not run or len(run) < 2:
        refuse_unused(
            "several runs, as in --qrels Q --run A --run B", baseline=baseline, seed=seed, plot_queries=queries_plot
        )
    files = OutputFiles(output, plot, per_query, None, queries_plot)
    files.check()
    if ties == TREC_EVAL and not of_runs:
        raise ValueError("--ties trec_eval needs ids of documents: it is for --qrels and --run")
    settings = given(gain=gain, empty=empty, ties=None if of_runs else ties)
    default = RUN_MEASURES if of_runs else DEFAULT_MEASURES
    chosen = parse_measures(default if measures is None else measures, settings, "runs" if of_runs else "arrays")
    known = [measure for measure in chosen.values() if getattr(measure, "name", None) in CONVENTIONS]
    if explain and not known:
        raise ValueError(f"--explain needs one of {', '.join(CONVENTIONS)}, such as ndcg@10, among --measures")
    explained = known[-1] if explain else None
    groups = None if by is None else read_groups(by)
    options = {"ties": TREC_EVAL, "queries": None}
    options |= given(ties=ties, unjudged=unjudged, queries=queries)
    request = Request(chosen, options, groups, files, explained)
    with named_option(by):
        if qrels is None or not run:
            data, scores = files_given
            _evaluate_scores(request, data, ColumnOptions(qid, label), scores)
        elif len(run) == 1:
            _evaluate_run(request, qrels, run[0])
        else:
            _compare_runs(request, qrels, run, baseline, seed or 0, layout or "marks")


def _evaluate_scores(request: Request, data: Path, columns: ColumnOptions, scores: Path) -> None:
    y, qid = read_judged(data, columns)
    values = read_scores(scores, qid)
    if len(values) != len(y):
        raise ValueError(f"{scores} has {len(values)} scores for the {len(y)} documents of {data}")
    # Query ids in files of groups are text.
    arrays = y, values, qid if request.by is None else qid.astype(str)
    result = compute_measures(*arrays, request.measures, by=request.by)
    queries = Queries.from_qid(qid).n_queries
    console.print(f"{counted(queries, 'query', 'queries')}, {counted(len(values), 'document')}")
    _show_values(request, result)
    if request.files.per_query is not None:
        table: Any = compute_measures(*arrays, request.measures, by=request.by, per_query=True)
        request.files.write_per_query(table.rename_axis("query_id").reset_index())
    if request.explained is not None:
        _print_reconciliation(reconcile(y, values, qid, request.explained))


def _print_reconciliation(found: Reconciliation) -> None:
    """Print the values of other libraries and why they differ; each part of a difference has its own line."""
    head = ["library", "metric", "value", "diff", "because of"]
    rows = [head, *([*row[:-1], row[-1].replace("; ", "\n")] for row in found.rows)]
    console.print()
    reports.show_text(found.head)
    reports.show_table(rows, 2, last_is_text=True)
    reports.show_text(
        "Each row shows what a library computes for these scores, its difference to the value above, and the parts "
        "of this difference. For these parts the settings of boostrank are replaced by those of the library, one "
        "after the other, and each part is the change of the value by one replacement. Where a library has no fixed "
        "rule for ties, the lowest and the highest possible value are shown."
        + " Libraries that take arrays get only the retrieved documents of a run."
        * (found.settings.documents is not None)
    )


def run_names(paths: Sequence[Path], tags: Sequence[str]) -> list[str]:
    """Names of runs: their tags if all have different ones, else their files without ending, else the paths.

    Examples
    --------
    >>> run_names([Path("a/bm25.run.gz"), Path("b/dense.txt")], ["x", "x"])
    ['bm25', 'dense']
    >>> run_names([Path("a/bm25.run"), Path("b/bm25.run")], ["x", "x"])
    ['a/bm25.run', 'b/bm25.run']
    """
    stems = [path.name.removesuffix(".gz").rpartition(".")[0] or path.name for path in paths]
    candidates = [list(tags) if all(tags) else [], stems, [str(path) for path in paths]]
    return next((names for names in candidates if len(set(names)) == len(paths)), candidates[-1])


def _evaluate_run(request: Request, qrels: Path, run: Path) -> None:
    """Print measures of a run, and write them to files."""
    judgments, table, settings = read_qrels(qrels), read_run(run), request.settings
    result: Any = evaluate_run(judgments, table, request.measures, **settings, by=request.by)
    ids, in_run = judgments[QUERY].unique(), table[QUERY].unique()
    if settings["queries"] == "common":
        ids = ids[np.isin(ids, in_run)]
    n_documents = int(table[QUERY].isin(ids).sum())
    console.print(f"{len(ids)} queries, {n_documents} documents retrieved")
    _show_values(request, result, {"ties": settings["ties"]})
    # The warning about queries, if there is one, was given above.
    settings = {**settings, "queries": settings["queries"] or "judged"}
    if request.files.per_query is not None:
        values: Any = evaluate_run(judgments, table, request.measures, **settings, by=request.by, per_query=True)
        request.files.write_per_query(values.reset_index())
    named = {run_names([run], [table.attrs["tag"]])[0]: table}
    request.files.write_plot(lambda: PrecisionRecallDisplay.from_runs(judgments, named, **settings).figure_)
    if request.explained is not None:
        _print_reconciliation(reconcile_run(judgments, table, request.explained, **settings))


def _show_values(request: Request, result: Any, changed: Mapping[str, str] | None = None) -> None:
    """Print a dict of means, or a table of means by group, and write it to a file.

    `changed` are settings that have other values than in the measures.
    """
    measures = request.measures
    n_texts = 1 if isinstance(result, dict) else 2
    if isinstance(result, dict):
        reports.show_table(_measure_rows(measures, result, changed or {}), last_is_text=True)
        table = pd.DataFrame({"metric": list(result), "value": list(result.values())})
        rows = [["measure", "value"], *([printed_name(name), f"{value:.6f}"] for name, value in result.items())]
    else:
        table, rows = result, _group_rows(result)
        for name in measures:
            console.print(f"{printed_name(name)} by {GROUP}")
            shown = [row[1:] for row in rows if row[0] in (printed_name(name), rows[0][0])]
            reports.show_table(shown)
            console.print()
        is_sum = any(getattr(measure, "summary", "mean") == "sum" for measure in measures.values())
        sums = " Counts are sums." if is_sum else ""
        reports.show_text(f"95% interval: that of the mean, by Student's t distribution.{sums}")
    request.files.write_table(table, rows, n_texts)


def _measure_rows(measures: dict[str, Any], values: dict[str, float], changed: Mapping[str, str]) -> list[list[str]]:
    """Values and settings of measures, a row each, below the head."""
    rows = [["measure", "value", "settings"]]
    for name, measure in measures.items():
        names = [field.name for field in dataclasses.fields(measure)]
        settings = {key: changed.get(key, getattr(measure, key)) for key in names}
        # The cutoff is part of the name. Settings that are off are not shown.
        hidden = [key for key, value in settings.items() if key == "k" or value is None or value is False]
        shown = [f"{key} {value}" for key, value in settings.items() if key not in hidden]
        rows.append([printed_name(name), f"{values[name]:.6f}", ", ".join(shown)])
    return rows


def _group_rows(means: pd.DataFrame) -> list[list[str]]:
    """Rows of text of the means by group that :func:`boostrank.evaluate` returns, below the head."""
    rows = [["measure", GROUP, "queries", "mean", "95% interval"]]
    row: dict[Any, Any]
    for row in means.to_dict("records"):
        interval = "" if np.isnan(row["low"]) else f"{row['low']:.4f} to {row['high']:.4f}"
        rows.append([printed_name(row["metric"]), str(row[GROUP]), str(row["queries"]), f"{row['mean']:.4f}", interval])
    return rows


def _compare_runs(
    request: Request, qrels: Path, runs: Sequence[Path], baseline: str | None, seed: int, layout: str
) -> None:
    """Print a comparison of runs, and write it to files."""
    repeated = [path for i, path in enumerate(runs) if path in runs[:i]]
    if repeated:
        raise ValueError(f"--run {repeated[0]} is given twice")
    judgments, tables = read_qrels(qrels), [read_run(path) for path in runs]
    names = run_names(runs, [table.attrs["tag"] for table in tables])
    if baseline is not None:
        baseline = dict(zip(map(str, runs), names, strict=True)).get(baseline, baseline)
    named = dict(zip(names, tables, strict=True))
    tests: dict[str, Any] = {"by": request.by, "baseline": baseline, "random_state": seed}
    comparison = compare_runs(judgments, named, request.measures, **request.settings, **tests)
    n_queries = comparison.per_query["query"].nunique()
    console.print(f"{n_queries} queries, {len(runs)} runs\n")
    reports.show_comparison(comparison)
    n_tests = "runs" if comparison.groups is None else "runs, and by group for that of groups and runs"
    reports.show_text(
        "diff: to the baseline. p (Holm): paired randomization test over queries, adjusted by Holm's method for the "
        f"number of {n_tests}; significant below 0.05. w/t/l: queries won, tied, lost."
    )
    request.files.write_comparison(comparison, list(request.measures)[-1], layout)
