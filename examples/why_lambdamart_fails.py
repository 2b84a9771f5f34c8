"""Why LambdaMART fails where judges disagree: two documents and the field of boosting.

python examples/why_lambdamart_fails.py [--full] [--output FOLDER]

The proofs are in examples/guide/theory/lambdamart.md. CatBoost is compared too if it is installed.
"""

import argparse
import itertools
import warnings
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

import lightgbm
import numpy as np
import xgboost

import boostrank as br
from boostrank.displays import style
from boostrank.surrogates import LambdaMART

try:
    import matplotlib.pyplot as plt
    from matplotlib.colors import PowerNorm
except ImportError as error:
    raise SystemExit(f"This example needs matplotlib ({error}): pip install matplotlib") from None

#: Labels of the documents in the usual queries and in the others, and the share of the usual ones.
DATA = {
    "3 4 | 3 0": ((3, 4), (3, 0), 0.62),
    "2 1 1 | 0 3 2": ((2, 1, 1), (0, 3, 2), 0.38),
    "0 1 3 5 | 2 2 1 0": ((0, 1, 3, 5), (2, 2, 1, 0), 0.18),
    "5 1 1 | 3 4 4": ((5, 1, 1), (3, 4, 4), 0.35),
}
#: Data sets of the picture, with the percentages of the usual queries.
DRAWN = {"3 4 | 3 0": range(50, 81), "2 1 1 | 0 3 2": range(20, 71, 2)}
LIGHTGBM, XGBOOST = (
    partial(lightgbm.LGBMRanker, n_jobs=1, verbosity=-1),
    partial(xgboost.XGBRanker, n_jobs=1),
)
OURS = partial(br.LightGBMRanker, n_jobs=1)
RANKERS = {
    "LGBMRanker": LIGHTGBM,
    "LGBMRanker, lambdarank_norm off": partial(LIGHTGBM, lambdarank_norm=False),
    "LGBMRanker, rank_xendcg": partial(LIGHTGBM, objective="rank_xendcg"),
    "XGBRanker": XGBOOST,
    "XGBRanker, rank:pairwise": partial(XGBOOST, objective="rank:pairwise"),
    "XGBRanker, lambdarank_normalization off": partial(XGBOOST, lambdarank_normalization=False),
    "XGBRanker, lambdarank_pair_method mean": partial(XGBOOST, lambdarank_pair_method="mean"),
}
if find_spec("catboost"):
    from catboost import CatBoostRanker

    QUIET = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    RANKERS["CatBoostRanker, YetiRank"] = partial(CatBoostRanker, iterations=100, **QUIET)
RANKERS |= {
    "LightGBMRanker": OURS,
    "XGBoostRanker": partial(br.XGBoostRanker, n_jobs=1),
    "LightGBMRanker, consistent-lambdarank": partial(OURS, "consistent-lambdarank"),
    "LightGBMRanker, pairwise-exponential": partial(OURS, "pairwise-exponential"),
    "LightGBMRanker, squared": partial(OURS, "squared"),
}
#: LambdaMART by its two settings, and our loss.
FIELDS = {
    "divided by distance, with the factor of the query (default)": LambdaMART(None),
    "divided, without the factor": LambdaMART(None, normalize=False),
    "not divided, with the factor": LambdaMART(None, divide_by_distance=False),
    "not divided, without the factor (lambdarank_norm off)": LambdaMART(
        None, False, normalize=False
    ),
    "consistent-lambdarank": br.surrogates.ConsistentLambdaRank(None),
}
#: Labels of documents of five kinds, for most users and for the others, who seek another meaning of
#: an ambiguous query: the first kind is always good, the second one mostly excellent, and otherwise
#: useless.
KINDS = np.array([[3.0, 4.0, 2.0, 1.0, 0.0], [3.0, 0.0, 1.0, 1.0, 0.0]])
#: A limit ranks wrongly if its expected NDCG is smaller than the largest one by more than this.
MIN_REGRET = 1e-3
#: NDCG that is lost counts in the picture if it is not due to rounding, nor to scores that nearly
#: converged.
MIN_LOST = 5e-4


def judged(usual, other, share, n_queries=1000):
    """Queries of the same documents: X, y, qid and query sizes.

    Each document has a feature of its own.
    """
    is_usual = np.arange(n_queries)[:, None] < round(share * n_queries)
    labels, m = np.where(is_usual, usual, other), len(usual)
    return (
        np.tile(np.eye(m), (n_queries, 1)),
        labels.ravel(),
        np.repeat(np.arange(n_queries), m),
        [m] * n_queries,
    )


@cache
def largest_ndcg(usual, other, share):
    """The largest NDCG of all rankings."""
    return max(ndcg_of_rankings(usual, other, share))


def ndcg_of_rankings(usual, other, share):
    """NDCG of each ranking of the documents."""
    _, y, qid, sizes = judged(usual, other, share)
    rankings = itertools.permutations(range(sizes[0]))
    return [br.ndcg_score(y, np.tile(scores, len(sizes)), qid) for scores in rankings]


def fit(ranker, X, y, qid):
    """Fit a ranker of any of the libraries to sorted queries."""
    if isinstance(ranker, lightgbm.LGBMRanker):
        return ranker.fit(X, y, group=np.bincount(qid))
    return ranker.fit(X, y, **{"group_id" if hasattr(ranker, "get_all_params") else "qid": qid})


def ndcg_difference(make, usual, other, share, n_queries=1000):
    """NDCG of the ranking that a ranker learns, less the largest one."""
    X, y, qid, sizes = judged(usual, other, share, n_queries)
    scores = fit(make(), X, y, qid).predict(X[: sizes[0]])
    return br.ndcg_score(y, np.tile(scores, n_queries), qid) - largest_ndcg(usual, other, share)


def demonstrate():
    """Print the NDCG of each ranker on each data set, less the best one."""
    print(
        "Labels of the documents in the usual queries | in the others; NDCG less the largest "
        "possible one:"
    )
    print(f"{'':42}" + "".join(f"{name:>20}" for name in DATA))
    failures = {}
    for name, make in RANKERS.items():
        differences = [ndcg_difference(make, *labels) for labels in DATA.values()]
        print(f"{name:42}" + "".join(f"{difference:20.4f}" for difference in differences))
        failures[name] = sum(difference < -MIN_REGRET for difference in differences)
    return failures


def divided(n_queries, seed, share=0.66):
    """Queries with 2 to 8 documents of five kinds: X, y, qid, and the expected targets.

    X says the kind.
    """
    random = np.random.RandomState(seed)
    queries = br.Queries.from_sizes(random.randint(2, 9, size=n_queries))
    kind = random.randint(5, size=queries.n_documents)
    most, others = KINDS[:, kind]
    y = np.where(queries.repeat(random.random_sample(n_queries) < share), most, others)
    expected = share * br.make_targets(most, queries) + (1.0 - share) * br.make_targets(
        others, queries
    )
    return np.eye(5)[kind], y, queries.qid, expected


def compare_on_many_queries(n_queries):
    """Print how far the expected NDCG of default rankers is from the best one.

    New queries have documents of five kinds.
    """
    X, y, qid, _ = divided(n_queries, seed=0)
    X_test, _, qid_test, best = divided(2000, seed=1)
    print(
        f"\nDocuments of five kinds, {n_queries} queries; expected NDCG on new queries less the "
        "largest possible one:"
    )
    largest = br.expected_ndcg(best, best, qid_test)
    for name in ("LGBMRanker", "XGBRanker", "LightGBMRanker", "XGBoostRanker"):
        scores = fit(RANKERS[name](), X, y, qid).predict(X_test)
        differences = br.expected_ndcg(best, scores, qid_test) - largest
        low, high = br.significance.confidence_interval(differences, np.zeros(len(differences)))
        print(f"  {name:60} {differences.mean():.4f} ({low:.4f} to {high:.4f})")


def draw_shares(folder):
    """A picture of the NDCG of all rankings, and of what each ranker loses.

    Both are shown by the percentage of the usual queries.
    """
    settings = {
        "figsize": (10.0, 6.8),
        "layout": "constrained",
        "sharex": "col",
        "height_ratios": [2, 3],
    }
    figure, panels = plt.subplots(2, 2, **settings)
    for (above, below), (name, percentages) in zip(panels.T, DRAWN.items(), strict=True):
        usual, other, _ = DATA[name]
        of_rankings = np.array(
            [ndcg_of_rankings(usual, other, percentage / 100) for percentage in percentages]
        )
        above.plot(percentages, of_rankings, color=style.GREY, linewidth=1)
        above.plot(percentages, of_rankings.max(axis=1), color=style.BLUE, linewidth=2)
        above.set_title(f"labels of the documents: {name.replace('|', 'or')}", fontsize="medium")
        style.light_grid(above)
        # Queries of the same shares teach the same, so that a hundred of them are enough.
        lost = [
            [
                -ndcg_difference(make, usual, other, percentage / 100, 100)
                for percentage in percentages
            ]
            for make in RANKERS.values()
        ]
        # White is the largest NDCG.
        shown = np.ma.masked_less(lost, MIN_LOST)
        colors = {"cmap": "YlOrRd", "norm": PowerNorm(0.5, vmin=0.0, vmax=0.12)}
        image = below.pcolormesh(
            percentages, np.arange(len(RANKERS)), shown, edgecolors="white", **colors
        )
        below.set_xlabel(f"queries with the labels {name.split(' |')[0]}, percent")
        below.tick_params(left=False)
        below.hlines(
            np.arange(len(RANKERS) - 1) + 0.5, *below.get_xlim(), color=style.GREY, linewidth=0.3
        )
    panels[0, 0].set_ylabel("NDCG of each ranking")
    panels[0, 0].annotate("largest", (60, 0.915), color=style.BLUE)
    for below, names in zip(panels[1], (RANKERS, [""] * len(RANKERS)), strict=True):
        below.set_yticks(np.arange(len(RANKERS)), list(names))
        below.invert_yaxis()
    figure.colorbar(image, ax=panels[1], label="largest NDCG less that of the ranker (white: none)")
    figure.savefig(folder / "why_lambdamart_fails.png", dpi=112)
    plt.close(figure)


def newton(surrogate, targets, weights, queries, owners, n_steps, rate=0.05):
    """The mean scores of the last Newton steps, for documents that are in several queries.

    `owners` has the number of the score of each document of each query.
    """
    scores, n = np.zeros(owners.max() + 1), owners.max() + 1
    last = []
    for step in range(n_steps):
        gradient, hessian = surrogate.gradient_hessian(scores[owners], targets, queries)
        sums = (np.bincount(owners, weights * values, n) for values in (gradient, hessian))
        slope, curvature = sums
        # Some scores grow without a limit; they are kept within the range in which rounding does
        # not matter.
        scores = np.clip(scores - rate * slope / (curvature + 1e-4), -30.0, 30.0)
        if step >= 0.9 * n_steps:
            last.append(scores)
    return np.mean(last, axis=0)


def wrong_limits(n, n_steps):
    """The share of random label distributions on which a field ends with a wrong ranking."""
    random = np.random.default_rng(0)
    wrong = dict.fromkeys(FIELDS, 0)
    for m in (2, 3, 4, 5):
        # Two outcomes of each distribution are two queries with the same owners.
        queries = br.Queries.from_sizes([m] * 2 * n)
        targets = br.make_targets(random.integers(0, 5, 2 * n * m), queries)
        share = random.uniform(0.2, 0.8, n)
        weights = np.repeat(np.column_stack([share, 1.0 - share]).ravel(), m)
        owners = np.repeat(np.arange(n)[:, None] * m, 2, axis=0) + np.arange(m)
        expected = (weights * targets).reshape(n, 2, m).sum(axis=1)
        discounts = 1.0 / np.log2(2.0 + np.arange(m))
        for name, surrogate in FIELDS.items():
            scores = newton(surrogate, targets, weights, queries, owners.ravel(), n_steps)
            ranks = np.argsort(np.argsort(-scores.reshape(n, m), axis=1), axis=1)
            regret = np.sort(expected)[:, ::-1] @ discounts - (expected * discounts[ranks]).sum(
                axis=1
            )
            wrong[name] += int((regret > MIN_REGRET).sum())
    return {name: count / (4 * n) for name, count in wrong.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--full",
        action="store_true",
        help="more random distributions, in minutes instead of seconds",
    )
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="write why_lambdamart_fails.png there"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    failures = demonstrate()
    compare_on_many_queries(10_000 if arguments.full else 1000)
    if arguments.output:
        arguments.output.mkdir(parents=True, exist_ok=True)
        draw_shares(arguments.output)
    n, n_steps = (500, 3000) if arguments.full else (25, 300)
    print(
        f"\nShare of {4 * n} random label distributions on which boosting from equal scores ends "
        "with a wrong ranking:"
    )
    wrong = wrong_limits(n, n_steps)
    for name, share in wrong.items():
        print(f"  {name:60} {share:.1%}")
    ours = sum(failures[name] for name in ("LightGBMRanker", "XGBoostRanker"))
    print(
        f"Learned: the libraries' default rankers fail on {failures['LGBMRanker']} and "
        f"{failures['XGBRanker']} of {len(DATA)} data sets, ours on {ours}. The field of "
        f"LambdaMART ends wrongly on {wrong[next(iter(wrong))]:.1%} of random distributions, the "
        f"consistent one on {wrong['consistent-lambdarank']:.1%}."
    )


if __name__ == "__main__":
    main()
