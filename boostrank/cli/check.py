"""``boostrank check``: is a loss NDCG consistent."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from boostrank.cli.options import GainName, GainOption, SeedOption, console
from boostrank.dcg import DCG
from boostrank.surrogates import SURROGATES
from boostrank.targets import NORMALIZATIONS
from boostrank.theory import check_consistency


class DiscountName(StrEnum):
    """Discounts that have a name."""

    log2 = "log2"
    zipf = "zipf"


def check(
    surrogate: Annotated[
        str, typer.Argument(help="SURROGATE, or SURROGATE/NORMALIZE: softmax/softmax is ListNet.", show_default=False)
    ],
    normalize: Annotated[
        str | None, typer.Option(help=f"Targets: {', '.join(NORMALIZATIONS)}; dcg by default.", show_default=False)
    ] = None,
    k: Annotated[int | None, typer.Option("-k", "--k", min=1, help="Cutoff of both targets and NDCG.")] = None,
    gain: GainOption = GainName.exp2,
    discount: Annotated[DiscountName, typer.Option(help="Discount: 1 / log2(1 + rank), or 1 / rank.")] = (
        DiscountName.log2
    ),
    distributions: Annotated[int, typer.Option(min=1, help="Distributions of labels to try, about.")] = 1600,
    seed: SeedOption = 0,
) -> None:
    """Search for labels on which minimizing the loss does not maximize expected NDCG.

    Prints the worst counterexample found. Exit code 0: none was found; 1: the loss is not consistent; 2: bad input.
    """
    name, _, target = surrogate.partition("/")
    if name not in SURROGATES:
        raise ValueError(f"unknown surrogate {name!r}; known are {', '.join(SURROGATES)}")
    if "/" in surrogate and normalize is not None and normalize != target:
        raise ValueError(f"{surrogate!r} and --normalize {normalize} disagree; give the targets once")
    chosen: Any = target if "/" in surrogate else normalize or "dcg"
    if chosen not in NORMALIZATIONS:
        raise ValueError(f"targets must be one of {', '.join(NORMALIZATIONS)}; got {chosen!r}")
    dcg = DCG(k, gain.value, discount.value)
    report = check_consistency(name, chosen, dcg, n_distributions=distributions, random_state=seed)
    console.print(repr(report), highlight=False, markup=False, soft_wrap=True)
    if not report.consistent:
        raise typer.Exit(1)
