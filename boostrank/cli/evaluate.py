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
from boostrank.letor import read_letor
from boostrank.metrics import check_scores, ndcg_score
from boostrank.queries import Queries


def evaluate(
    data: DataPath,
    scores: Annotated[Path, typer.Argument(help="One score a line, as written by predict.", show_default=False)],
    cutoffs: CutoffsOption = "1,5,10,all",
    gain: GainOption = GainName.exp2,
    empty: EmptyOption = EmptyName.zero,
    ties: Annotated[TiesName, typer.Option(help="Order of documents of equal score.")] = TiesName.average,
) -> None:
    """Print the NDCG of scores on a LETOR file."""
    ranking = read_letor(data)
    values = _read_scores(scores)
    results = {
        str(k or "all"): ndcg_score(
            ranking.y, values, ranking.qid, k=k, gain=gain.value, empty=empty.value, ties=ties.value
        )
        for k in parse_cutoffs(cutoffs)
    }
    queries = Queries.from_qid(ranking.qid).n_queries
    title = f"{queries} queries, {len(values)} documents; gain {gain}, ties {ties}, empty queries {empty}"
    console.print(reports.key_value_table(results, title))


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
