"""``boostrank check``: whether a loss is consistent with NDCG, and what a click log can tell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from boostrank.cli.options import MEASURING, RUNNING, GainOption, SeedOption, console, given, option, refuse_unused
from boostrank.cli.python_files import load_surrogate
from boostrank.cli.tables import open_table
from boostrank.inputs.checks import check_choice, did_you_mean
from boostrank.queries.dcg import DCG
from boostrank.queries.targets import NORMALIZATIONS
from boostrank.surrogates import SURROGATES, LambdaMART, Surrogate
from boostrank.tables.text import text_lines

#: Name of LightGBM's objective, which is no surrogate to train with.
LAMBDAMART = "lambdarank"
LOSS = "Loss"


def check(
    surrogate: Annotated[
        str | None,
        typer.Argument(
            metavar="[SURROGATE]",
            help="Name of a surrogate (softmax), lambdarank for LambdaMART as LightGBM computes it, or FILE.py:NAME "
            "for a class or an instance of your own; the file is executed. /NORMALIZE after it gives it other targets, "
            f"{', '.join(NORMALIZATIONS)} (by default dcg): softmax/softmax is ListNet. Left out with --clicks.",
        ),
    ] = None,
    clicks: Annotated[
        str | None,
        option(
            LOSS,
            "FILE",
            "A CSV, TSV or Parquet file: a click log, which is examined in place of a loss.",
        ),
    ] = None,
    k: Annotated[
        int | None, option(MEASURING, "N", "Cutoff of the targets and of NDCG; by default none.", "-k", "--k", min=1)
    ] = None,
    gain: GainOption = None,
    discount: Annotated[
        Literal["log2", "zipf"], option(MEASURING, "log2|zipf", "1 / log2(1 + rank) or 1 / rank.")
    ] = "log2",
    distributions: Annotated[
        int,
        option(
            RUNNING,
            "N",
            "Number of random label distributions to try, besides those of the paper and neighbours of the worst ones.",
            min=1,
        ),
    ] = 1600,
    seed: SeedOption = 0,
) -> None:
    """Check whether a loss is consistent with NDCG, or what a click log can tell.

    A loss is checked by a search for label distributions on which it is not.
    On such a distribution the scores that minimize the expected loss do not
    maximize the expected NDCG. The worst one that is found is printed. The
    exit code is 0 if none is found, 1 if one is found, and 2 after an error,
    as where the loss has no minimum.

    --clicks FILE says what a click log can tell, and which estimator of
    propensities to use. A line of FILE is a document that was shown: qid,
    document, position, click, session. The exit code is 1 if a check fails.
    """
    if clicks is not None:
        refuse_unused("a loss, and no click log", surrogate=surrogate, k=k, gain=gain)
        _check_log(Path(clicks))
        return
    if surrogate is None:
        raise ValueError("give the name of a SURROGATE, such as softmax, or a click log as --clicks FILE")
    loss, targets = _parse(surrogate)
    check_choice("targets", targets, NORMALIZATIONS)
    dcg = DCG(k, discount=discount, **given(gain=gain))
    from boostrank.theory import check_consistency

    report = check_consistency(loss, targets, dcg, n_distributions=distributions, random_state=seed)
    console.print(repr(report), soft_wrap=True)
    if not report.consistent:
        raise typer.Exit(1)


def _check_log(path: Path) -> None:
    """Print what a click log can tell; exit with 1 if a check fails."""
    from boostrank.clicks import diagnose, from_table

    table = open_table(path)
    if table is None:
        raise ValueError(f"--clicks needs a click log as .csv, .tsv or .parquet file; got {path}")
    frame = table.read(table.names)
    log = from_table(frame.drop(columns="row", errors="ignore") if "document" in frame else frame)
    found = diagnose(log)
    rows = [[check, verdict, f"{value:.3f}", meaning] for check, value, verdict, meaning in found.table.to_numpy()]
    lines = text_lines([["check", "verdict", "value", ""], *rows], 2, last_is_text=True)
    last = f"Use {found.estimator}: {found.reason}" if found.estimator else found.reason
    console.print("\n".join([repr(log), "", *lines, "", last]), soft_wrap=True)
    if (found.table["verdict"] == "bad").any():
        raise typer.Exit(1)


def _parse(text: str) -> tuple[str | Surrogate, Any]:
    """Surrogate and targets of ``NAME``, ``NAME/NORMALIZE``, ``FILE.py:NAME`` or ``FILE.py:NAME/NORMALIZE``."""
    file, colon, rest = text.rpartition(".py:")
    name, slash, targets = (rest if colon else text).partition("/")
    targets = targets if slash else "dcg"
    if colon:
        return load_surrogate(Path(f"{file}.py"), name), targets
    if name == LAMBDAMART:
        return LambdaMART(), targets
    if name not in SURROGATES:
        raise ValueError(
            f"unknown surrogate {name!r}{did_you_mean(name, [*SURROGATES, LAMBDAMART])}; use one of "
            f"{', '.join([*SURROGATES, LAMBDAMART])}, or FILE.py:NAME for your own"
        )
    return name, targets
