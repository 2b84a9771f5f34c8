"""Which Hessian should be the default where a surrogate has two? Decided on validation queries only.

For every fold the training part is split by query into queries to train on and to stop early on; the fold's own
validation part is scored, its test part is never touched. Folds without a validation part give a fifth of their
training queries for it. Several seeds; the table pools queries, folds and seeds.

    python benchmarks/hessian_kind.py DIRECTORY [DIRECTORY ...]
"""

import argparse
from pathlib import Path

import boostrank as br
from boostrank.model_selection import with_validation
from boostrank.surrogates import CenteredLogistic, CenteredSquared, Softmax

KINDS = ("majorant", "exact")
SETTINGS = {"n_estimators": 500, "early_stopping_rounds": 50, "learning_rate": 0.1}
SHAPES = {
    "lightgbm": (br.LightGBMRanker, {"num_leaves": 15}),
    "xgboost": (br.XGBoostRanker, {"max_leaves": 15, "max_depth": 0, "grow_policy": "lossguide"}),
}


def training_folds(folds, seed):
    """Folds whose test part is the validation part of the given ones."""
    for fold in folds:
        scored = with_validation(fold, random_state=0)
        yield with_validation(scored._replace(validation=None, test=scored.validation), random_state=seed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="*", type=Path, help="folders of LETOR folds; synthetic data without any")
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    data = {path.name: br.read_letor_folds(path) for path in arguments.directories}
    data["synthetic"] = br.query_folds(br.Dataset(*br.make_ranking(n_queries=300, random_state=100)), 5)
    print(f"| data | backend | surrogate | {' | '.join(KINDS)} | exact - majorant | p |\n|---|---|---|---|---|---|---|")
    for data_name, folds in data.items():
        for backend, (ranker, shape) in SHAPES.items():
            for surrogate in (Softmax, CenteredSquared, CenteredLogistic):
                rows = []
                for seed in range(arguments.seeds):
                    rankers = {k: ranker(surrogate(hessian=k), random_state=seed, **shape, **SETTINGS) for k in KINDS}
                    chosen = training_folds(folds, seed)
                    rows.append(br.compare(rankers, chosen, measures=["ndcg@10"], n_permutations=1).per_query)
                # One value per query and kind, averaged over seeds: seeds are not independent queries.
                seeds = [part.set_index(["ranker", "fold", "query"])["ndcg@10"] for part in rows]
                mean = sum(seeds) / len(seeds)
                majorant, exact = (mean.loc[kind].to_numpy() for kind in KINDS)
                test = br.permutation_test(exact, majorant)
                print(
                    f"| {data_name} | {backend} | {surrogate.__name__} | {majorant.mean():.4f} | {exact.mean():.4f} "
                    f"| {test.difference:+.4f} | {test.p_value:.3f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
