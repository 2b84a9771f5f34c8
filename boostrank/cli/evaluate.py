"""``boostrank evaluate``: measures of scores, and of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from numpy.typing import NDArray

from boostrank.cli import reports
from boostrank.cli.data_files import read_judged
from boostrank.cli.evaluate_runs import compare_several, evaluate_one, show_values
from boostrank.cli.group_files import named_option, read_groups
from boostrank.cli.options import (
    DATA_HELP,
    DEFAULT_MEASURES,
    MEASURES_HELP,
    EmptyOption,
    GainOption,
    LabelOption,
    OutputOption,
    QidOption,
    console,
    given,
    parse_measures,
)
from boostrank.cli.output_files import OutputFiles
from boostrank.cli.reports import counted
from boostrank.cli.score_files import read_scores
from boostrank.core.queries import Queries
from boostrank.inputs.arrays import Floats
from boostrank.metrics import CONVENTIONS, Measure, Reconciliation, reconcile
from boostrank.metrics import evaluate as compute_measures
from boostrank.metrics.runs.evaluation import TREC_EVAL

RUN_MEASURES = "nDCG@10,AP,RR"


def evaluate(
    data: Annotated[Path | None, typer.Argument(help=DATA_HELP, show_default=False)] = None,
    scores: Annotated[
        Path | None,
        typer.Argument(
            help="File with one score per line, or a table with a column score, as predict writes them.",
            show_default=False,
        ),
    ] = None,
    qid: QidOption = None,
    label: LabelOption = None,
    qrels: Annotated[
        Path | None, typer.Option(help="TREC file of relevance judgments, to evaluate runs.", show_default=False)
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option(
            help="TREC file of a run. May be repeated: several runs are compared. They are named by their tags, or by "
            "their files if tags are equal.",
            show_default=False,
        ),
    ] = None,
    measures: Annotated[
        str | None,
        typer.Option(help=f"{MEASURES_HELP} By default {DEFAULT_MEASURES}, and {RUN_MEASURES} of runs."),
    ] = None,
    gain: GainOption = None,
    empty: EmptyOption = None,
    ties: Annotated[
        Literal["average", "stable", "best", "worst", "trec_eval"] | None,
        typer.Option(
            help="How documents of equal score are ranked: all permutations on average (the default), in the sequence "
            "of the rows (stable), or so that the measure is best or worst. Of runs, the default is trec_eval: by "
            "decreasing document id, where scores are equal as float32.",
            show_default=False,
        ),
    ] = None,
    unjudged: Annotated[
        Literal["zero", "remove"] | None,
        typer.Option(
            help="Documents of runs that were not judged have the relevance 0 (zero, the default), or are removed "
            "(remove).",
            show_default=False,
        ),
    ] = None,
    queries: Annotated[
        Literal["judged", "common"] | None,
        typer.Option(
            help="Queries of runs to evaluate: all that have judgments, with the value 0 if a run misses them (judged, "
            "the default, with a warning), or only those that all runs have (common).",
            show_default=False,
        ),
    ] = None,
    subtopics: Annotated[
        Literal["refuse", "max"] | None,
        typer.Option(
            help="Documents that are judged for several subtopics, in measures that need one judgment for each "
            "document: an error (refuse, the default), or the largest relevance (max).",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        Path | None,
        typer.Option(
            help="CSV or TSV file with the group of each query, for means by group. Its first line names two columns, "
            "one of them query_id, query or qid.",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="Run that the others are compared with. By default the first one.", show_default=False),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Seed of the tests and intervals of a comparison. By default 0.", show_default=False),
    ] = None,
    per_query: Annotated[
        Path | None, typer.Option(help="File to write the values of each query to: .csv.", show_default=False)
    ] = None,
    output: OutputOption = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Image file for a plot of the differences of runs in the last of --measures.", show_default=False
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            metavar="",
            help="Also print what other libraries compute for these scores, and why it differs, for the last of "
            f"--measures that is one of {', '.join(CONVENTIONS)}.",
        ),
    ] = False,
) -> None:
    """Print measures of scores for documents, or of TREC runs.

    Give either DATA and SCORES, or --qrels and one --run or several.
    --gain and --empty, and --ties for SCORES, apply to those measures
    that have such a setting.
    """
    of_runs = _is_of_runs(data, scores, qrels, run)
    for_scores = {"explain": explain or None, "qid": qid, "label": label}
    for_runs = {"unjudged": unjudged, "queries": queries, "subtopics": subtopics}
    for_several = {"baseline": baseline, "seed": seed, "plot": plot}
    if of_runs:
        _refuse(for_scores, "DATA and SCORES")
    else:
        _refuse(for_runs, "--qrels and --run")
    if not run or len(run) < 2:
        _refuse(for_several, "several runs, as in --qrels Q --run A --run B")
    files = OutputFiles(output, plot, per_query)
    files.check()
    rule = {} if of_runs else given(ties=ties)
    if rule.get("ties") == TREC_EVAL:
        raise ValueError("--ties trec_eval needs ids of documents: it is for --qrels and --run")
    settings = given(gain=gain, empty=empty) | rule
    if of_runs:
        chosen = parse_measures(RUN_MEASURES if measures is None else measures, settings, "runs")
    else:
        chosen = parse_measures(DEFAULT_MEASURES if measures is None else measures, settings, "arrays")
    groups = None if by is None else read_groups(by)
    with named_option(by):
        if qrels is None or not run:
            assert data is not None
            assert scores is not None
            _evaluate_scores(read_judged(data, qid, label), data, scores, chosen, groups, files, explain)
            return
        options = {"ties": TREC_EVAL, "queries": None, **given(ties=ties, **for_runs)}
        if len(run) == 1:
            evaluate_one(qrels, run[0], chosen, options, groups, files)
        else:
            compare_several(qrels, run, chosen, options, groups, files, baseline, seed or 0)


def _is_of_runs(data: Path | None, scores: Path | None, qrels: Path | None, run: list[Path] | None) -> bool:
    """Whether runs are evaluated; an error if neither those nor scores are given, or both."""
    of_data, of_runs = (data is not None, scores is not None), (qrels is not None, bool(run))
    if any(of_data) == any(of_runs) or not (all(of_data) or all(of_runs)):
        raise ValueError("give either DATA and SCORES, or --qrels and one --run or several; see boostrank evaluate -h")
    return all(of_runs)


def _refuse(options: dict[str, Any], needed: str) -> None:
    """Raise ValueError for an option that is given, but has no meaning without `needed`."""
    for name, value in options.items():
        if value is not None:
            shown = "" if value is True else f" {value}"
            raise ValueError(f"--{name.replace('_', '-')}{shown} needs {needed}")


def _evaluate_scores(
    documents: tuple[Floats, NDArray[Any]],
    data: Path,
    scores: Path,
    measures: dict[str, Measure],
    groups: Any,
    files: OutputFiles,
    explain: bool,
) -> None:
    explained = _last_explained(measures) if explain else None
    y, qid = documents
    values = read_scores(scores, qid)
    if len(values) != len(y):
        raise ValueError(f"{scores} has {len(values)} scores for the {len(y)} documents of {data}")
    # Query ids in files of groups are text.
    arrays = y, values, qid if groups is None else qid.astype(str)
    result = compute_measures(*arrays, measures, by=groups)
    queries = Queries.from_qid(qid).n_queries
    console.print(f"{counted(queries, 'query', 'queries')}, {counted(len(values), 'document')}")
    show_values(measures, result, files)
    if files.per_query is not None:
        table: Any = compute_measures(*arrays, measures, by=groups, per_query=True)
        files.write_per_query(table.rename_axis("query_id").reset_index())
    if explained is not None:
        _print_reconciliation(reconcile(y, values, qid, explained))


def _last_explained(measures: dict[str, Measure]) -> Measure:
    found = [measure for measure in measures.values() if getattr(measure, "name", None) in CONVENTIONS]
    if not found:
        raise ValueError(f"--explain needs one of {', '.join(CONVENTIONS)}, such as ndcg@10, among --measures")
    return found[-1]


def _print_reconciliation(found: Reconciliation) -> None:
    console.print()
    reports.show_text(found.head)
    reports.show_table(reports.reconciliation_rows(found), 2, last_is_text=True)
    reports.show_text(
        "Each row shows what a library computes for these scores, its difference to the value above, and the parts "
        "of this difference. For these parts the settings of boostrank are replaced by those of the library, one "
        "after the other, and each part is the change of the value by one replacement. Where a library has no fixed "
        "rule for ties, the lowest and the highest possible value are shown."
    )
