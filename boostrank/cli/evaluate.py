"""``boostrank evaluate``: the NDCG of scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from boostrank import reports
from boostrank.cli.options import (
    CutoffsOption,
    DataPath,
    EmptyName,
    EmptyOption,
    GainName,
    GainOption,
    TiesName,
    console,
    parse_cutoffs,
)
from boostrank.datasets import read_letor
from boostrank.metrics import check_scores, ndcg_score, reconcile
from boostrank.queries import Queries

DEFAULT_CUTOFFS = "1,5,10,all"


def evaluate(
    data: DataPath,
    scores: Annotated[Path, typer.Argument(help="One score a line, as written by predict.", show_default=False)],
    cutoffs: CutoffsOption = DEFAULT_CUTOFFS,
    gain: GainOption = GainName.exp2,
    empty: EmptyOption = EmptyName.zero,
    ties: Annotated[TiesName, typer.Option(help="Order of documents of equal score.")] = TiesName.average,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Also say what other libraries print for these scores, and why: at the first of --cutoffs, or 10.",
        ),
    ] = False,
) -> None:
    """Print the NDCG of scores on a LETOR file."""
    ks = parse_cutoffs(cutoffs)
    ranking = read_letor(data)
    values = _read_scores(scores)
    settings: dict[str, Any] = {"gain": gain.value, "empty": empty.value, "ties": ties.value}
    results = {str(k or "all"): ndcg_score(ranking.y, values, ranking.qid, k=k, **settings) for k in ks}
    queries = Queries.from_qid(ranking.qid).n_queries
    console.print(f"{queries} queries, {len(values)} documents; gain {gain}, ties {ties}, empty queries {empty}")
    console.print(reports.key_value_table(results))
    if explain:
        k = 10 if cutoffs == DEFAULT_CUTOFFS else ks[0]
        found = reconcile(ranking.y, values, ranking.qid, k=k, **settings)
        console.print(f"\n{found.head}", highlight=False)
        console.print(reports.reconciliation_table(found))
        console.print(
            "Each line: what a library prints for these scores, its difference to the value above the table, and the "
            "parts of that difference, from changing one convention of ours to its own after the other; ties from "
            "one value to another where no rule orders them."
        )


def _read_scores(path: Path) -> Any:
    lines = path.read_text().split()
    try:
        return check_scores([float(line) for line in lines])
    except ValueError:
        bad = next((i for i, line in enumerate(lines) if not _is_finite(line)), 0)
        raise ValueError(f"{path}, line {bad + 1}: {lines[bad][:40]!r} is not a finite score") from None


def _is_finite(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False
