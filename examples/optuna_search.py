"""Optuna over objectives and hyperparameters, with unpromising trials stopped by round.

python examples/optuna_search.py [--trials 16] [--output FOLDER]

Needs the packages optuna and optuna-integration. Each trial trains on some queries, reports NDCG@10
of held-out queries after every round, and is pruned in a round in which it is worse than the median
of earlier trials, but not before the 57 rounds that the default trains at least. The test queries
are used only at the end.
"""

import argparse
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import boostrank as br
from boostrank.displays import style

try:
    import optuna
    from optuna_integration.lightgbm import LightGBMPruningCallback
except ImportError as error:
    raise SystemExit(
        f"This example needs optuna and optuna-integration ({error}): pip install optuna "
        "optuna-integration"
    ) from None

X, y, qid = br.make_ranking(n_queries=300, random_state=0)
rest, test = br.split_queries(qid, 0.4, random_state=0)
train, held_out = br.split_queries(qid[rest], 0.25, random_state=0)
train, held_out = rest[train], rest[held_out]
OBJECTIVES = ["softmax", "pairwise-exponential", "cosine", "lambdarank"]
# The queries that rounds leave out choose the number of rounds of a trial: chosen by the few
# held-out queries, it would be chosen by chance.
COMMON = {"random_state": 0, "n_jobs": 1}


def score(trial):
    """NDCG@10 of the held-out queries with the settings that a trial suggests."""
    ranker = br.LightGBMRanker(
        objective=trial.suggest_categorical("objective", OBJECTIVES),
        k=trial.suggest_categorical("k", [5, 10, 100]),
        num_leaves=trial.suggest_int("num_leaves", 4, 64, log=True),
        colsample_bynode=trial.suggest_float("colsample_bynode", 0.2, 1.0),
        reg_lambda=trial.suggest_float("reg_lambda", 1.0, 100.0, log=True),
        min_child_samples=trial.suggest_int("min_child_samples", 5, 100, log=True),
        **COMMON,
    )
    ranker.fit(
        X[train],
        y[train],
        qid[train],
        eval_set=[(X[held_out], y[held_out], qid[held_out])],
        eval_metric="ndcg@10",
        callbacks=[LightGBMPruningCallback(trial, "ndcg@10")],
    )
    return ranker.evals_result_["valid_0"]["ndcg@10"][-1]


def test_ndcg(parameters):
    """NDCG@10 by test query of a ranker with these parameters, trained on all other queries."""
    ranker = br.LightGBMRanker(**parameters, **COMMON).fit(X[rest], y[rest], qid[rest])
    return br.ndcg_score(y[test], ranker.predict(X[test]), qid[test], k=10, per_query=True)


def plot(study, path):
    """Draw the last NDCG@10 of each trial, and the best one so far.

    Each objective has a colour and a marker.
    """
    ax, completed = style.axes(None), optuna.trial.TrialState.COMPLETE
    looks = dict(zip(OBJECTIVES, style.styles(len(OBJECTIVES)), strict=True))
    for trial in study.trials:
        color, marker, _ = looks[trial.params["objective"]]
        value = trial.intermediate_values[trial.last_step]
        face = color if trial.state == completed else "none"
        ax.plot(
            trial.number + 1,
            value,
            marker,
            color=color,
            markerfacecolor=face,
            markersize=9,
            markeredgewidth=1.5,
        )
    values = [trial.value if trial.state == completed else -np.inf for trial in study.trials]
    numbers = np.arange(1, len(values) + 1)
    ax.step(
        numbers,
        np.maximum.accumulate(values),
        where="post",
        color=style.DARK,
        linewidth=1,
        label="best so far",
    )
    for name, (color, marker, _) in looks.items():
        ax.plot([], [], marker, color=color, markersize=9, label=name)
    ax.plot(
        [],
        [],
        "o",
        color=style.DARK,
        markerfacecolor="none",
        markersize=9,
        label="stopped early as weak",
    )
    ax.set(xlabel="trial", ylabel="NDCG@10 of held-out queries, last round")
    style.whole_ticks(ax)
    style.light_grid(ax)
    style.legend_below(ax, n_columns=3)
    path.parent.mkdir(parents=True, exist_ok=True)
    ax.figure.savefig(path, dpi=160)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=16, help="number of settings to try")
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="write the picture optuna_search.png there"
    )
    arguments = parser.parse_args()
    if arguments.output and not find_spec("matplotlib"):
        parser.error("--output needs matplotlib: pip install matplotlib")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=57)
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=0), pruner=pruner
    )
    for objective in OBJECTIVES:
        # The first trials try each objective once; the sampler draws the other parameters.
        study.enqueue_trial({"objective": objective})
    study.optimize(score, n_trials=arguments.trials)
    pruned = len(study.get_trials(states=[optuna.trial.TrialState.PRUNED]))
    print(
        f"Of {len(study.trials)} trials, {pruned} were stopped early because they were worse than "
        "the median."
    )
    print(f"The best NDCG@10 on held-out queries is {study.best_value:.4f}, with these parameters:")
    for name, value in study.best_params.items():
        print(f"  {name:17} {value:.3g}" if isinstance(value, float) else f"  {name:17} {value}")

    found, default = test_ndcg(study.best_params), test_ndcg({})
    print(
        f"Trained on all but the test queries, they have NDCG@10 {found.mean():.4f} on "
        f"{len(found)} test queries; the default parameters have {default.mean():.4f}."
    )
    difference, p_value = br.permutation_test(found, default)[:2]
    print(
        f"Learned: on queries that the search has not seen, the best of {len(study.trials)} trials "
        f"has NDCG@10 {difference:+.4f} compared with the default (p = {p_value:.3f} in a paired "
        "permutation test)."
    )
    if arguments.output:
        plot(study, arguments.output / "optuna_search.png")


if __name__ == "__main__":
    main()
