"""Why LambdaMART fails where judges disagree: two documents, the field of boosting, and scores that documents share.

python examples/why_lambdamart_fails.py [--full] [--output FOLDER]

The proofs are in examples/guide/theory/lambdamart.md.
"""

import argparse
import itertools
import warnings
from functools import cache, partial
from pathlib import Path

import lightgbm
import numpy as np
import xgboost

import boostrank as br
from boostrank.displays import style
from boostrank.surrogates import LambdaMART, get_surrogate

try:
    import matplotlib.pyplot as plt
except ImportError as error:
    raise SystemExit(f"This example needs matplotlib ({error}): pip install matplotlib") from None

#: Labels of the documents in the usual queries and in the others, and the share of the usual ones.
DATA = {
    "3 4 | 3 0": ((3, 4), (3, 0), 0.62),
    "1 2 | 1 0": ((1, 2), (1, 0), 0.62),
    "5 1 1 | 3 4 4": ((5, 1, 1), (3, 4, 4), 0.35),
    "2 0 3 2 4 | 5 5 5 5 0": ((2, 0, 3, 2, 4), (5, 5, 5, 5, 0), 0.7),
}
RANKERS = {
    "LGBMRanker": partial(lightgbm.LGBMRanker, verbosity=-1),
    "LGBMRanker, lambdarank_norm off": partial(lightgbm.LGBMRanker, verbosity=-1, lambdarank_norm=False),
    "LGBMRanker, rank_xendcg": partial(lightgbm.LGBMRanker, verbosity=-1, objective="rank_xendcg"),
    "XGBRanker": xgboost.XGBRanker,
    "XGBRanker, rank:pairwise": partial(xgboost.XGBRanker, objective="rank:pairwise"),
    "XGBRanker, lambdarank_normalization off": partial(xgboost.XGBRanker, lambdarank_normalization=False),
    "LightGBMRanker": br.LightGBMRanker,
    "XGBoostRanker": br.XGBoostRanker,
}
#: LambdaMART by its two settings, and our loss.
FIELDS = {
    "divided by distance, with the factor of the query (default)": LambdaMART(None),
    "divided, without the factor": LambdaMART(None, normalize=False),
    "not divided, with the factor": LambdaMART(None, divide_by_distance=False),
    "not divided, without the factor (lambdarank_norm off)": LambdaMART(None, False, normalize=False),
    "consistent-lambdarank": br.surrogates.ConsistentLambdaRank(None),
}
#: Labels of documents of five kinds, for most users and for the others, who seek another meaning of an ambiguous query:
#: the first kind is always good, the second one mostly excellent, and otherwise useless.
KINDS = np.array([[3.0, 4.0, 2.0, 1.0, 0.0], [3.0, 0.0, 1.0, 1.0, 0.0]])
#: A limit ranks wrongly if its expected NDCG is smaller than the largest one by more than this.
MIN_REGRET = 1e-3
#: Scores go in cycles if one of them turns by more than this at the end.
MIN_TURN = 0.05


def judged(usual, other, share, n_queries=1000):
    """Queries of the same documents, each of which has a feature of its own: X, y, qid and query sizes."""
    is_usual = np.arange(n_queries)[:, None] < share * n_queries
    labels, m = np.where(is_usual, usual, other), len(usual)
    return np.tile(np.eye(m), (n_queries, 1)), labels.ravel(), np.repeat(np.arange(n_queries), m), [m] * n_queries


@cache
def largest_ndcg(usual, other, share):
    """The largest NDCG of all rankings."""
    _, y, qid, sizes = judged(usual, other, share)
    return max(br.ndcg_score(y, np.tile(one, len(sizes)), qid) for one in itertools.permutations(range(sizes[0])))


def ndcg_difference(make, usual, other, share):
    """NDCG of the ranking that a ranker learns, less the largest one."""
    X, y, qid, sizes = judged(usual, other, share)
    ranker = make(n_jobs=1)
    groups = {"group": sizes} if isinstance(ranker, lightgbm.LGBMRanker) else {"qid": qid}
    scores = ranker.fit(X, y, **groups).predict(X[: sizes[0]])
    return br.ndcg_score(y, np.tile(scores, len(sizes)), qid) - largest_ndcg(usual, other, share)


def demonstrate():
    """Print the NDCG of each ranker on each data set, less the best one."""
    print("Labels of the documents in the usual queries | in the others; NDCG less the largest possible one:")
    print(f"{'':42}" + "".join(f"{name:>24}" for name in DATA))
    failures = {}
    for name, make in RANKERS.items():
        differences = [ndcg_difference(make, *labels) for labels in DATA.values()]
        print(f"{name:42}" + "".join(f"{difference:24.4f}" for difference in differences))
        failures[name] = sum(difference < -MIN_REGRET for difference in differences)
    return failures


def divided(n_queries, seed, share=0.66):
    """Queries with 2 to 8 documents of five kinds: X, which says the kind, y, qid, and the expected targets."""
    random = np.random.RandomState(seed)
    queries = br.Queries.from_sizes(random.randint(2, 9, size=n_queries))
    kind = random.randint(5, size=queries.n_documents)
    most, others = KINDS[:, kind]
    y = np.where(queries.repeat(random.random_sample(n_queries) < share), most, others)
    expected = share * br.make_targets(most, queries) + (1.0 - share) * br.make_targets(others, queries)
    return np.eye(5)[kind], y, queries.qid, expected


def compare_on_many_queries(n_queries):
    """Print the expected NDCG of default rankers on new queries with documents of five kinds, less the best one."""
    X, y, qid, _ = divided(n_queries, seed=0)
    X_test, _, qid_test, best = divided(2000, seed=1)
    print(
        f"\nDocuments of five kinds, {n_queries} queries; expected NDCG on new queries less the largest possible one:"
    )
    largest = br.expected_ndcg(best, best, qid_test)
    for name, make in RANKERS.items():
        ranker = make(n_jobs=1)
        groups = {"group": np.bincount(qid)} if isinstance(ranker, lightgbm.LGBMRanker) else {"qid": qid}
        scores = ranker.fit(X, y, **groups).predict(X_test)
        differences = br.expected_ndcg(best, scores, qid_test) - largest
        low, high = br.significance.confidence_interval(differences, np.zeros(len(differences)))
        print(f"  {name:60} {differences.mean():.4f} ({low:.4f} to {high:.4f})")


def draw_shares(folder):
    """A picture of the NDCG that is lost on "3 4 | 3 0", by the share of the usual queries."""
    shares = np.arange(0.5, 0.801, 0.02)
    ax = style.axes(None)
    names = ("LGBMRanker", "XGBRanker, rank:pairwise", "LightGBMRanker")
    for name, look in zip(names, style.styles(len(names)), strict=True):
        lost = [ndcg_difference(RANKERS[name], (3, 4), (3, 0), share) for share in shares]
        ax.plot(100 * shares, lost, label=name, markersize=5, **look._asdict())
    ax.set_title("labels of two documents: 3 and 4 in some queries, 3 and 0 in the others", fontsize="medium")
    ax.set_xlabel("share of queries with labels 3 and 4, percent")
    ax.set_ylabel("NDCG less the largest possible one")
    style.light_grid(ax)
    style.legend_below(ax)
    ax.figure.savefig(folder / "why_lambdamart_fails.png", dpi=160)
    plt.close(ax.figure)


def newton(surrogate, targets, weights, queries, owners, n_steps, rate=0.05):
    """Newton steps of scores that documents share; returns the mean of the scores in the last steps, and their turns.

    `owners` has the number of the score of each document. Documents with the same owner have the same score. The turns
    are the range of a score in the last steps less the distance from the first of these steps to the last one: 0 if the
    score has stopped, and if it only increases or only decreases.
    """
    scores, n = np.zeros(owners.max() + 1), owners.max() + 1
    last = []
    for step in range(n_steps):
        gradient, hessian = surrogate.gradient_hessian(scores[owners], targets, queries)
        sums = (np.bincount(owners, weights * values, n) for values in (gradient, hessian))
        slope, curvature = sums
        # Some scores grow without a limit; they are kept within the range in which rounding does not matter.
        scores = np.clip(scores - rate * slope / (curvature + 1e-4), -30.0, 30.0)
        if step >= 0.9 * n_steps:
            last.append(scores)
    return np.mean(last, axis=0), np.ptp(last, axis=0) - np.abs(last[-1] - last[0])


def wrong_limits(n, n_steps):
    """For each field, the share of random label distributions on which it ends with a wrong ranking."""
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
            scores, _ = newton(surrogate, targets, weights, queries, owners.ravel(), n_steps)
            ranks = np.argsort(np.argsort(-scores.reshape(n, m), axis=1), axis=1)
            regret = np.sort(expected)[:, ::-1] @ discounts - (expected * discounts[ranks]).sum(axis=1)
            wrong[name] += int((regret > MIN_REGRET).sum())
    return {name: count / (4 * n) for name, count in wrong.items()}


def shared_scores(n, n_steps, n_owners=5, n_queries=8, m=3):
    """Random problems in which documents share scores: NDCG less than that of the best ranking, and share of cycles."""
    random = np.random.default_rng(1)
    names = {"consistent-lambdarank": FIELDS["consistent-lambdarank"], "LambdaMART": FIELDS[next(iter(FIELDS))]}
    names["not divided"] = br.surrogates.ConsistentLambdaRank(None, divide_by_distance=False)
    names["softmax"] = get_surrogate("softmax")
    queries = br.Queries.from_sizes([m] * n_queries * n)
    labels = random.integers(0, 5, n * n_queries * m)
    targets = br.make_targets(labels, queries)
    within = np.concatenate([random.permutation(n_owners)[:m] for _ in range(n * n_queries)])
    owners = within + np.repeat(np.arange(n) * n_owners, n_queries * m)
    qid = queries.repeat(np.arange(len(queries.sizes)))

    def mean_ndcg(scores):
        values = br.ndcg_score(labels, scores, qid, per_query=True, empty="zero")
        return values.reshape(n, n_queries).mean(axis=1)

    ones, best = np.ones(len(owners)), np.zeros(n)
    for ranking in itertools.permutations(range(n_owners)):
        best = np.maximum(best, mean_ndcg(np.array(ranking)[within]))
    found = {}
    for name, surrogate in names.items():
        scores, turns = newton(surrogate, targets, ones, queries, owners, n_steps)
        lost = best - mean_ndcg(scores[owners])
        found[name] = lost.mean(), (turns.reshape(n, n_owners).max(axis=1) > MIN_TURN).mean()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="more random distributions, in minutes instead of seconds")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="write why_lambdamart_fails.png there")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    failures = demonstrate()
    compare_on_many_queries(10_000 if arguments.full else 1000)
    if arguments.output:
        arguments.output.mkdir(parents=True, exist_ok=True)
        draw_shares(arguments.output)
    n, n_steps = (500, 3000) if arguments.full else (25, 300)
    print(
        f"\nShare of {4 * n} random label distributions on which boosting from equal scores ends with a wrong ranking:"
    )
    wrong = wrong_limits(n, n_steps)
    for name, share in wrong.items():
        print(f"  {name:60} {share:.1%}")
    print(f"\nDocuments of 8 queries that share scores, {n} random problems. NDCG less than the best of the scores,")
    print("and share of the problems in which scores go in cycles at the end:")
    for name, (lost, cycles) in shared_scores(n, n_steps).items():
        print(f"  {name:60} {lost:.4f} {cycles:8.1%}")
    ours = sum(failures[name] for name in ("LightGBMRanker", "XGBoostRanker"))
    print(
        f"Learned: the libraries' default rankers fail on {failures['LGBMRanker']} and {failures['XGBRanker']} of "
        f"{len(DATA)} data sets, ours on {ours}. The field of LambdaMART ends wrongly on "
        f"{wrong[next(iter(wrong))]:.1%} of random distributions, the consistent one on "
        f"{wrong['consistent-lambdarank']:.1%}."
    )


if __name__ == "__main__":
    main()
