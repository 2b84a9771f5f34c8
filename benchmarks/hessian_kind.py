"""Which Hessian is the better default where a surrogate has two, decided on validation queries.

python benchmarks/hessian_kind.py FOLDS ... [--seeds 5] [--output FOLDER]

FOLDS is a folder of LETOR folds, or the word "synthetic". In every fold the training queries are split into queries to
train on and queries to stop early on; the validation queries are scored, and the test queries are never used. A query
counts with its mean over seeds, and the paired randomization test pools the queries of all folds.
"""

from dataclasses import replace
from pathlib import Path

import pandas as pd
from reporting import make_parser, publish
from workloads import RANKERS, make_ranker, read_folds

import boostrank as br
from boostrank.model_selection import with_validation
from boostrank.surrogates import SURROGATES

NAMES = ("softmax", "centered-squared", "centered-logistic")
KINDS = ("majorant", "exact")
SETTINGS = {"n_estimators": 500, "early_stopping_rounds": 50, "learning_rate": 0.1}
LEAVES = 15


def training_folds(folds, seed):
    """Folds whose test queries are the validation queries of the given folds."""
    for fold in folds:
        yield with_validation(fold._replace(validation=None, test=fold.validation), random_state=seed)


def mean_over_seeds(folds, library, surrogate, seeds):
    """NDCG@10 of each query as Series with index (ranker, fold, query), the mean over seeds."""
    parts = []
    for seed in range(seeds):
        rankers = {
            kind: make_ranker(library, replace(surrogate, hessian=kind), LEAVES, random_state=seed, **SETTINGS)
            for kind in KINDS
        }
        per_query = br.compare(rankers, training_folds(folds, seed), measures="ndcg@10", n_permutations=1).per_query
        parts.append(per_query.set_index(["ranker", "fold", "query"])["ndcg@10"])
    return sum(parts) / len(parts)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("folds", nargs="+")
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    rows = []
    for data in arguments.folds:
        for library in RANKERS:
            for name in NAMES:
                values = mean_over_seeds(read_folds(data), library, SURROGATES[name], arguments.seeds)
                majorant, exact = (values.loc[kind].to_numpy() for kind in KINDS)
                test = br.permutation_test(exact, majorant)
                means = majorant.mean(), exact.mean(), test.difference, test.p_value
                rows.append((Path(data).name, library, name, *means))
    publish(
        pd.DataFrame(rows, columns=["data", "library", "surrogate", *KINDS, "difference", "p"]),
        "hessian_kind",
        arguments.output,
        title="NDCG@10 on validation queries with the majorant and with the exact Hessian",
        seeds=f"0 to {arguments.seeds - 1}",
    )


if __name__ == "__main__":
    main()
