"""One model of several objectives against mixed labels and added scores, with known expectations.

python benchmarks/several_objectives.py [--problems 10] [--queries 2000] [--rounds 150]
                                        [--library lightgbm] [--objective softmax]
                                        [--output FOLDER]

In each random problem there are twelve kinds of documents, and lists of six to twelve of them. A
list has one of three outcomes, which are drawn at random: in each of them, each kind has a click
grade of 0 to 3, and a margin, which is 0 for two kinds of three. The features say the kind, and
nothing of the outcome. So the class of rankers are the rankings of twelve kinds, and the expected
normalized gains of a list are known: means over three outcomes. The best ranker of the class is
found by exchanges of two kinds, from the ranking by expected targets and from those of all methods,
as long as the expected weighted mean of the NDCGs of 1,000 test lists grows.

At eleven weights of clicks and margin, the methods are one model (MultipleLabels), mixed labels
(one model on the weighted mean of the gains, each divided by its mean over all documents), and
added scores (a model for each objective). A regret is the expected weighted mean of NDCGs of the
best ranker, less that of a method.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from reporting import make_parser, publish
from rich.progress import track

import boostrank as br

SEED, N_KINDS, N_OUTCOMES, N_TESTED = 0, 12, 3, 1000
WEIGHTS = np.linspace(1.0, 0.0, 11)
RANKERS = {"lightgbm": br.LightGBMRanker, "xgboost": br.XGBoostRanker}
METHODS = ("one_model", "mixed_labels", "added_scores")
GAINS = {"click": br.DCG(), "margin": br.DCG(gain="linear")}


class Lists(NamedTuple):
    """The kind of each document, and the queries."""

    kinds: np.ndarray
    queries: br.Queries


class Problem(NamedTuple):
    """Probability of each outcome, and labels of each kind, shape (n_outcomes, n_kinds)."""

    probabilities: np.ndarray
    labels: dict[str, np.ndarray]


def make_problem(random):
    probabilities = random.dirichlet(np.full(N_OUTCOMES, 3.0))
    shape = (N_OUTCOMES, N_KINDS)
    clicks = random.choice(4, shape, p=[0.5, 0.25, 0.15, 0.1])
    margins = np.exp(random.normal(size=shape)) * (random.random(shape) < 1 / 3)
    return Problem(probabilities, {"click": clicks, "margin": margins})


def make_lists(random, n_lists):
    """Lists of different kinds."""
    sizes = random.integers(6, 13, n_lists)
    kinds = [random.permutation(N_KINDS)[:size] for size in sizes]
    return Lists(np.concatenate(kinds), br.Queries.from_sizes(sizes))


def labels_of(problem, lists, outcomes):
    """The labels of both objectives, where each list has the outcome of its number."""
    of_documents = lists.queries.repeat(outcomes)
    return {name: values[of_documents, lists.kinds] for name, values in problem.labels.items()}


def expected_targets(problem, lists):
    """Expected normalized gains of both objectives, shape (2, n_documents)."""
    total = np.zeros((2, len(lists.kinds)))
    for outcome, probability in enumerate(problem.probabilities):
        labels = labels_of(problem, lists, np.full(lists.queries.n_queries, outcome))
        for row, name in zip(total, GAINS, strict=True):
            row += probability * br.make_targets(labels[name], lists.queries, GAINS[name])
    return total


def train(lists, rounds, library, objective):
    """A function of labels and gain that returns the score of each kind."""
    X = np.eye(N_KINDS)[lists.kinds]
    qid = lists.queries.qid
    settings = {"n_estimators": rounds, "learning_rate": 0.1, "random_state": SEED, "n_jobs": 1}

    def scores_of_kinds(labels, gain="exp2"):
        ranker = RANKERS[library](objective, gain=gain, **settings)
        return ranker.fit(X, labels, qid).predict(np.eye(N_KINDS))

    return scores_of_kinds


def scores_of_methods(labels, scores_of_kinds):
    """Scores of the kinds at each weight, shape (n_weights, n_kinds), by the method."""
    several = br.MultipleLabels(labels, gain={"margin": "linear"})
    gains = {name: GAINS[name].gains(values) for name, values in labels.items()}
    scaled = {name: values / values.mean() for name, values in gains.items()}
    found = {name: [] for name in METHODS}
    for weight in WEIGHTS:
        found["one_model"].append(scores_of_kinds(several.with_weights([weight, 1.0 - weight])))
        mixed = weight * scaled["click"] + (1.0 - weight) * scaled["margin"]
        found["mixed_labels"].append(scores_of_kinds(mixed, "linear"))
    first, last = found["one_model"][0], found["one_model"][-1]
    found["added_scores"] = [weight * first + (1.0 - weight) * last for weight in WEIGHTS]
    return {name: np.stack(rows) for name, rows in found.items()}


def best_value(starts, value):
    """The largest value that exchanges of two kinds reach."""
    best = -1.0
    for scores in starts:
        ranks = np.argsort(np.argsort(scores)).astype(float)
        reached = value(ranks)
        is_better = True
        while is_better:
            is_better = False
            for i, j in combinations(range(N_KINDS), 2):
                changed = ranks.copy()
                changed[[i, j]] = ranks[[j, i]]
                other = value(changed)
                if other > reached + 1e-12:
                    ranks, reached, is_better = changed, other, True
        best = max(best, reached)
    return best


def rows_of(number, n_queries, *settings):
    """A row for each weight in one problem: the value of the best ranker and those of methods."""
    random = np.random.default_rng([SEED, number])
    problem = make_problem(random)
    trained, tested = make_lists(random, n_queries), make_lists(random, N_TESTED)
    outcomes = random.choice(N_OUTCOMES, n_queries, p=problem.probabilities)
    labels = labels_of(problem, trained, outcomes)
    scores = scores_of_methods(labels, train(trained, *settings))
    expected = expected_targets(problem, tested)
    dcg = br.DCG()
    for i, weight in enumerate(WEIGHTS):
        targets = weight * expected[0] + (1.0 - weight) * expected[1]

        def value(of_kinds, targets=targets):
            return dcg.of_ranking(targets, of_kinds[tested.kinds], tested.queries).mean()

        by_kind = np.bincount(tested.kinds, targets) / np.bincount(tested.kinds)
        starts = {name: rows[i] for name, rows in scores.items()}
        best = best_value([by_kind, *starts.values()], value)
        regrets = {name: best - value(row) for name, row in starts.items()}
        yield {"problem": number, "weight": weight, "best": best, **regrets}


def note(table):
    """How often one model is clearly below the other methods, as a comment line."""
    counts = {name: int((table["one_model"] - table[name] > 0.003).sum()) for name in METHODS[1:]}
    return (
        f"of {len(table)} pairs of problem and weight, one model is more than 0.003 below mixed "
        f"labels in {counts['mixed_labels']}, and below added scores in {counts['added_scores']}"
    )


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--problems", type=int, default=10, help="number of random problems")
    parser.add_argument("--queries", type=int, default=2000, help="queries to train on")
    parser.add_argument("--rounds", type=int, default=150, help="boosting rounds of each model")
    parser.add_argument("--library", choices=RANKERS, default="lightgbm")
    parser.add_argument("--objective", default="softmax", help="name of the loss")
    arguments = parser.parse_args()
    settings = (arguments.queries, arguments.rounds, arguments.library, arguments.objective)
    rows = []
    for number in track(range(arguments.problems), description="problems"):
        rows += rows_of(number, *settings)
    table = pd.DataFrame(rows)
    means = table.groupby("weight", sort=False)[["best", *METHODS]].mean()
    for name in METHODS:
        means[f"largest_{name}"] = table.groupby("weight", sort=False)[name].max()
    means = means.reset_index().rename(columns={"weight": "weight_of_clicks"})
    overall = {"weight_of_clicks": "all", **means.drop(columns="weight_of_clicks").mean()}
    overall |= {f"largest_{name}": table[name].max() for name in METHODS}
    changed = [name for name in settings[2:] if name not in ("lightgbm", "softmax")]
    means["weight_of_clicks"] = means["weight_of_clicks"].map("{:.1f}".format)
    publish(
        pd.concat([means, pd.DataFrame([overall])], ignore_index=True),
        "_".join(["several_objectives", *changed]),
        arguments.output,
        title="Regret of one model, mixed labels and added scores at weights of clicks and margin",
        seeds=str(SEED),
        formats=dict.fromkeys(means.columns, ".4f"),
        notes=[note(table)],
    )


if __name__ == "__main__":
    main()
