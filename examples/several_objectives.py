"""Clicks and margin of a shop in one model: the curve of the trade-off, and a choice on it.

python examples/several_objectives.py [--full] [--output FOLDER]

The data are synthetic. Users click on what fits their search, and rather on what is cheap; they
order some of what they have clicked, and the shop earns a margin that grows with the price. So the
ranking with the most clicks is not the one with the largest margin. Searches without an order have
no labels of the margin: NaN. The rankers see features of the search and the price. With --full
there are more queries, folds and weights, which takes a minute or two.
"""

import argparse
from pathlib import Path

import numpy as np

import boostrank as br

try:
    import matplotlib.pyplot as plt
except ImportError as error:
    raise SystemExit(f"This example needs matplotlib ({error}): pip install matplotlib") from None

LOSS_OF_CLICKS = 0.01


def make_shop(n_queries, random):
    """Features, clicks, margins of orders, and query ids."""
    X, grade, qid = br.make_ranking(n_queries, n_documents=(8, 15), noise=0.0, random_state=0)
    log_price = X[:, 5]
    fit = 1.5 * grade - 0.8 * log_price - 1.5
    is_clicked = random.random(len(X)) < 1.0 / (1.0 + np.exp(-fit))
    # Who clicks on what is dear, orders it as often as what is cheap.
    is_ordered = is_clicked & (random.random(len(X)) < 0.5)
    margin = 5.0 * np.exp(1.5 * log_price) * is_ordered
    queries = br.Queries.from_qid(qid)
    margin[queries.repeat(queries.max(margin)) == 0.0] = np.nan
    return X, is_clicked.astype(float), margin, qid


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--full", action="store_true", help="more queries, folds and weights: in two minutes"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="write several_objectives.png there"
    )
    arguments = parser.parse_args()
    n_queries, n_weights, n_folds = (2000, 11, 5) if arguments.full else (800, 6, 3)
    X, clicks, margin, qid = make_shop(n_queries, np.random.default_rng(0))
    labels = br.MultipleLabels({"click": clicks, "margin": margin}, gain={"margin": "linear"})
    ranker = br.LightGBMRanker(k=10, n_estimators=100, random_state=0, n_jobs=1)
    result = br.trade_off(ranker, X, labels, qid, weights=n_weights, cv=n_folds)
    print(result)

    # The largest margin of the weights that lose little of the clicks.
    pick = result.pick({"click": -LOSS_OF_CLICKS})
    of_margin, of_clicks = (pick.table.loc[name] for name in ("margin", "click"))
    print(
        f"\nWith the weight {pick.weights['margin']:.1f} of the margin, the clicks lose at most "
        f"{LOSS_OF_CLICKS} on the queries that chose it."
    )
    print(
        f"On the {pick.n_queries} other queries, NDCG@10 of clicks changes by "
        f"{of_clicks['difference']:+.4f}, and that of the margin by {of_margin['difference']:+.4f} "
        f"({of_margin['low']:+.4f} to {of_margin['high']:+.4f})."
    )
    means = result.table.groupby("method", sort=False)["weighted mean"].mean()
    gap = means["one model"] - means["added scores"]
    print(
        f"\nLearned: one model has {means['one model']:.4f} in the mean over all weights, and the "
        f"weighted scores of two models have {means['added scores']:.4f}, a difference of "
        f"{gap:+.4f}."
    )
    display = result.plot()
    if arguments.output:
        arguments.output.mkdir(parents=True, exist_ok=True)
        display.figure_.savefig(arguments.output / "several_objectives.png", dpi=160)
    plt.close(display.figure_)


if __name__ == "__main__":
    main()
