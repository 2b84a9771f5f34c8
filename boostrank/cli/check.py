"""``boostrank check``: whether a loss is consistent with NDCG, and what a click log can tell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from boostrank.cli.columns import require_numbers
from boostrank.cli.options import GainOption, KOption, SeedOption, refuse_unused, set_options
from boostrank.cli.tables import column_names, read_columns
from boostrank.inputs.checks import check_choice
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.targets import NORMALIZATIONS
from boostrank.surrogates import SURROGATES, LambdaMART

#: Name of LightGBM's objective, which is no surrogate to train with.
LAMBDAMART = "lambdarank"
#: Columns of a click log that have numbers. The others have ids, whose texts are kept: 007 and 7
#: are different.
COUNTS = {"position", "click", "clicks", "impressions"}
SURROGATE_HELP = (
    "Name of a surrogate (softmax), or lambdarank for LambdaMART as LightGBM computes it. "
    "/NORMALIZE after it gives it "
    f"other targets, {', '.join(NORMALIZATIONS)} (by default dcg): softmax/softmax is ListNet."
)
DISTRIBUTIONS_HELP = "Number of random label distributions to try, besides those of the paper."


def check(
    surrogate: Annotated[str | None, Argument(metavar="[SURROGATE]", help=SURROGATE_HELP)] = None,
    clicks: Annotated[
        Path | None, Option(help="Table of a click log, which is checked in place of a loss.")
    ] = None,
    k: KOption = None,
    gain: GainOption = None,
    discount: Annotated[
        Literal["log2", "zipf"], Option(help="1 / log2(1 + rank) or 1 / rank.")
    ] = "log2",
    distributions: Annotated[int, Option(help=DISTRIBUTIONS_HELP, min=1)] = 1600,
    seed: SeedOption = 0,
) -> None:
    """Check whether a loss is consistent with NDCG, or what a click log can tell.

    A loss is checked by a search for label distributions on which it is not.
    On such a distribution the scores that minimize the expected loss do not
    maximize the expected NDCG. The worst one that is found is printed. The
    exit code is 0 if none is found, 1 if one is found, and 2 after an error,
    or if more than a tenth of the distributions was left out, as where the
    loss has no minimum: this says nothing. The last lines are the class
    regret: the NDCG that the loss loses where documents share scores, as in
    trees, which consistency says nothing about.

    --clicks FILE says what a click log can tell, and which estimator of
    propensities to use. A line of FILE is a document that was shown: qid,
    document, position, click, session. The exit code is 1 if a check fails.
    """
    if clicks is not None:
        refuse_unused("a loss, and no click log", surrogate=surrogate, k=k, gain=gain)
        is_good: bool | None = _print_diagnosis(clicks)
    elif surrogate is None:
        raise ValueError(
            "give the name of a SURROGATE, such as softmax, or a click log as --clicks FILE"
        )
    else:
        dcg = DCG(k, discount=discount, **set_options(gain=gain))
        is_good = _print_consistency(surrogate, dcg, distributions, seed)
    raise typer.Exit({True: 0, False: 1, None: 2}[is_good])


def _print_consistency(surrogate: str, dcg: DCG, n_distributions: int, seed: int) -> bool | None:
    """Print whether a loss is consistent with NDCG, and return it; None if it is not known."""
    from boostrank.theory import check_consistency, class_regrets

    name, _, normalize = surrogate.partition("/")
    targets: Any = normalize or "dcg"
    check_choice("SURROGATE", name, [*SURROGATES, LAMBDAMART])
    check_choice("NORMALIZE", targets, NORMALIZATIONS)
    loss = LambdaMART() if name == LAMBDAMART else name
    report = check_consistency(
        loss, targets, dcg, n_distributions=n_distributions, random_state=seed
    )
    typer.echo(repr(report), err=report.consistent is None)
    if report.consistent is not None and not report.n_outside:
        typer.echo(repr(class_regrets(loss, targets, dcg, random_state=seed)))
    return report.consistent


def _print_diagnosis(path: Path) -> bool:
    """Print what a click log can tell, and return whether no check fails."""
    from boostrank.clicks import diagnose, from_table

    names = column_names(path)
    table = read_columns(path, names, {*names} - COUNTS)
    for name in names:
        if name in COUNTS:
            require_numbers(path, table[name])
    log = from_table(table)
    diagnosis = diagnose(log)
    typer.echo(f"{log!r}\n\n{diagnosis!r}")
    return bool((diagnosis.table["verdict"] != "bad").all())
