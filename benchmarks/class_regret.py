"""Class regret of losses: how far their minimizers are from the best shared scores, in NDCG.

It is what the minimizer loses where documents share scores.

python benchmarks/class_regret.py [--problems 150] [--trained 150] [--copies 2 4 6]
                                  [--output FOLDER]

The problems are those of `boostrank.theory.class_regrets`: ten queries of two to four kinds of
documents with random labels, and the same with labels for which one scorer is perfect
("realizable"). Minimizers are found numerically. The first rows are all named losses, LambdaMART
with its settings, and ListNet; then members of our families. The weights of pairs of
consistent-lambdarank are divided by a power of `distance + offset`; the default is the power 1 and
0.01.

The last rows are rankers with default parameters, on 1,000 queries of each of the first problems:
whether boosting reaches the minimizer: LambdaMART ends at other zeros of its field. "Mean of the
minimizers" is that of softmax and consistent-lambdarank, the default until 2026-11-29.

With --copies, queries have up to so many documents of a kind, and the table,
class_regret_copies.csv, has the losses and rankers of COPIED.
"""

from dataclasses import dataclass, replace
from functools import partial

import lightgbm
import numpy as np
import pandas as pd
import xgboost
from reporting import make_parser, publish

import boostrank as br
from boostrank.surrogates import ConsistentLambdaRank, LambdaMART, NormalizedPNorm, Power, Surrogate
from boostrank.theory import QueryDistribution, class_regrets

SEED, N_QUERIES, LARGE_REGRET = 0, 1000, 0.005


@dataclass(frozen=True)
class DividedByPower(ConsistentLambdaRank):
    """consistent-lambdarank whose weights are divided by ``(offset + |s_i - s_j|) ** power``.

    With `sums_to_one`, the weights of each query are divided by their sum: a factor of the query,
    without its labels.
    """

    truncation: int | None = 30
    divide_by_distance: bool = False
    power: float = 1.0
    offset: float = 0.01
    uses_discounts: bool = True
    sums_to_one: bool = False

    def at(self, scores, queries):  # noqa: D102
        pairs = super().at(scores, queries)
        distance = self.offset + np.abs(scores[pairs.first] - scores[pairs.second])
        weight = pairs.weight if self.uses_discounts else np.ones_like(pairs.weight)
        weight = weight / distance**self.power
        if self.sums_to_one:
            weight = weight / pairs.sums(weight, queries)[pairs.queries_of_pairs(queries)]
        return replace(pairs, weight=weight)

    def gradient_hessian(self, scores, targets, queries):  # noqa: D102
        return self.at(scores, queries).gradient_hessian(scores, targets, queries)


@dataclass(frozen=True)
class Mixture(Surrogate):
    """The sum of softmax and consistent-lambdarank."""

    shift_invariant = reweighted = True
    parts: tuple = (Power(0), ConsistentLambdaRank())

    def loss(self, scores, targets, queries):  # noqa: D102
        return sum(part.loss(scores, targets, queries) for part in self.parts)

    def gradient_hessian(self, scores, targets, queries):  # noqa: D102
        both = [part.gradient_hessian(scores, targets, queries) for part in self.parts]
        return tuple(sum(arrays) for arrays in zip(*both, strict=True))

    def at(self, scores, queries):  # noqa: D102
        return Mixture(tuple(part.at(scores, queries) for part in self.parts))


#: Losses that have no name, by their names in the table; the second item is the kind of targets.
FAMILIES = {
    "lambdarank": (LambdaMART(), "dcg"),
    "lambdarank, not divided": (LambdaMART(divide_by_distance=False), "dcg"),
    "lambdarank, without the factor of the query": (LambdaMART(normalize=False), "dcg"),
    "lambdarank, neither": (LambdaMART(divide_by_distance=False, normalize=False), "dcg"),
    "softmax/softmax (ListNet)": ("softmax", "softmax"),
    "squared/none": ("squared", "none"),
    **{f"Power({a:g})": (Power(a, max_step=1), "dcg") for a in (-0.8, -0.5, -0.25, 0.5, 2)},
    **{f"NormalizedPNorm(q={q})": (NormalizedPNorm(q=q), "dcg") for q in (2, 8)},
    **{f"consistent-lambdarank, truncation {k}": (ConsistentLambdaRank(k), "dcg") for k in (1, 2)},
    "consistent-lambdarank, not divided": (ConsistentLambdaRank(divide_by_distance=False), "dcg"),
    **{
        f"consistent-lambdarank, power {p:g}, offset {offset:g}": (
            DividedByPower(power=p, offset=offset),
            "dcg",
        )
        for p, offset in [(0.5, 0.01), (1, 0.1), (1, 0.001), (2, 0.1), (2, 0.01), (3, 0.01)]
    },
    "consistent-lambdarank without differences of discounts": (
        DividedByPower(uses_discounts=False),
        "dcg",
    ),
    "consistent-lambdarank, weights of a query sum to 1": (DividedByPower(sums_to_one=True), "dcg"),
    "sum of softmax and consistent-lambdarank": (Mixture(), "dcg"),
}
RANKERS = {
    "LGBMRanker()": partial(lightgbm.LGBMRanker, verbosity=-1),
    "LGBMRanker(lambdarank_norm=False)": partial(
        lightgbm.LGBMRanker, verbosity=-1, lambdarank_norm=False
    ),
    "XGBRanker()": xgboost.XGBRanker,
    "XGBRanker(lambdarank_normalization=False)": partial(
        xgboost.XGBRanker, lambdarank_normalization=False
    ),
    "LightGBMRanker()": br.LightGBMRanker,
    "XGBoostRanker()": br.XGBoostRanker,
    'LightGBMRanker("softmax")': partial(br.LightGBMRanker, "softmax"),
    'LightGBMRanker("consistent-lambdarank")': partial(br.LightGBMRanker, "consistent-lambdarank"),
    "the same, not divided": partial(
        br.LightGBMRanker, ConsistentLambdaRank(divide_by_distance=False)
    ),
}
#: Losses and rankers for queries with several documents of a kind.
COPIED = {
    "softmax": ("softmax", "dcg"),
    "consistent-lambdarank": ("consistent-lambdarank", "dcg"),
    **{
        name: FAMILIES[name]
        for name in ("lambdarank", "lambdarank, without the factor of the query")
    },
}
COPIED_RANKERS = (
    "LGBMRanker()",
    "XGBRanker()",
    "LightGBMRanker()",
    'LightGBMRanker("consistent-lambdarank")',
)


def summary(name, scorer, regrets, **others):
    """A row of the table."""
    shares = {"mean": regrets.mean(), "standard_error": regrets.std(ddof=1) / np.sqrt(len(regrets))}
    shares |= {"share_above_0.005": (regrets > LARGE_REGRET).mean(), "largest": regrets.max()}
    return {"loss": name, "scorer": scorer, "problems": len(regrets), **shares, **others}


def every_loss():
    """All named losses, and members of the families."""
    return {**{name: (name, "dcg") for name in br.surrogates.SURROGATES}, **FAMILIES}


def of_minimizers(losses, n_problems, copies=1):
    """A row for each loss."""
    settings = {"n_distributions": n_problems, "copies": copies, "random_state": SEED}
    for name, (loss, normalize) in losses.items():
        found, realizable = (
            class_regrets(loss, normalize, realizable=flag, **settings) for flag in (False, True)
        )
        yield summary(
            name,
            "minimizer",
            found.regrets,
            unsolved=found.n_unsolved,
            realizable_mean=realizable.regrets.mean(),
        )


def exchanged(problem, scores):
    """Ranks after exchanges of neighbours, always the best, while the expected NDCG increases."""
    ranks, best = np.argsort(np.argsort(scores)), -1.0
    while problem.expected_ndcg(ranks) > best:
        best = problem.expected_ndcg(ranks)
        # Ranks that are a or a + 1 change places.
        neighbours = [
            ranks + (ranks == a) - 1 * (ranks == a + 1) for a in range(problem.n_kinds - 1)
        ]
        ranks = max([ranks, *neighbours], key=problem.expected_ndcg)
    return ranks


def of_minimizers_together(n_problems):
    """The mean of the minimizers of softmax and consistent-lambdarank.

    The other result is that of exchanges from the minimizer of softmax.
    """
    first, second = (
        class_regrets(loss, n_distributions=n_problems, random_state=SEED)
        for loss in ("softmax", "consistent-lambdarank")
    )
    better = list(map(exchanged, first.distributions, first.minimizers))
    for name, scores in {
        "mean of the minimizers of softmax and consistent-lambdarank": (
            first.minimizers + second.minimizers
        )
        / 2,
        "exchanges of neighbours from the minimizer of softmax": better,
    }.items():
        regrets = map(QueryDistribution.ndcg_regret, first.distributions, scores)
        yield summary(name, "minimizer", np.array(list(regrets)))


def data_of(problem):
    """X, which says the kind, y, and sizes of queries.

    Queries are drawn in proportion to their probabilities.
    """
    copies = np.maximum(1, np.round(N_QUERIES * problem.probabilities)).astype(int)
    chosen = np.random.default_rng(SEED).permutation(np.repeat(np.arange(len(copies)), copies))
    kinds, labels = ([rows[query] for query in chosen] for rows in (problem.kinds, problem.labels))
    return (
        np.eye(problem.n_kinds)[np.concatenate(kinds)],
        np.concatenate(labels),
        [len(row) for row in kinds],
    )


def of_rankers(names, n_problems, copies=1):
    """A row for each ranker."""
    random = np.random.default_rng(SEED)
    problems = [
        QueryDistribution.random(copies=copies, random_state=random) for _ in range(n_problems)
    ]
    for name in names:
        make = RANKERS[name]
        regrets = []
        for problem in problems:
            X, y, group = data_of(problem)
            scores = make(n_jobs=1).fit(X, y, group=group).predict(np.eye(problem.n_kinds))
            regrets.append(problem.ndcg_regret(scores))
        yield summary(name, "trained", np.array(regrets))


def main():
    parser = make_parser(__doc__)
    parser.add_argument(
        "--problems", type=int, default=150, help="number of problems for the minimizers"
    )
    parser.add_argument(
        "--trained", type=int, default=150, help="number of problems that rankers are trained on"
    )
    parser.add_argument(
        "--copies", type=int, nargs="+", help="largest numbers of documents of a kind in a query"
    )
    arguments = parser.parse_args()
    title = (
        "Class regret: expected NDCG of the best scores that documents share, less that of the loss"
    )
    name = "class_regret"
    if arguments.copies:
        name = "class_regret_copies"
        rows = []
        for copies in arguments.copies:
            rows += [
                {"copies": copies, **row}
                for row in (
                    *of_minimizers(COPIED, arguments.problems, copies),
                    *of_rankers(COPIED_RANKERS, arguments.trained, copies),
                )
            ]
    else:
        rows = [
            *of_minimizers(every_loss(), arguments.problems),
            *of_minimizers_together(arguments.problems),
            *of_rankers(RANKERS, arguments.trained),
        ]
    formats = dict.fromkeys(("mean", "standard_error", "largest", "realizable_mean"), ".4f")
    publish(
        pd.DataFrame(rows),
        name,
        arguments.output,
        title=title,
        seeds=str(SEED),
        formats=formats,
    )


if __name__ == "__main__":
    main()
