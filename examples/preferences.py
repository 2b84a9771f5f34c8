"""Learning to rank from A/B choices: NDCG@10 by number of choices, against training on all grades.

python examples/preferences.py [FOLDS] [--output FOLDER] [--small] [--seeds N] [--wrong P]

FOLDS is a folder of LETOR folds such as MQ2008; without it synthetic data. Each training query is asked about a few
times: which of two of its documents, of different grades, is better? The answer is wrong with probability P. Rankers
see these choices only, also to stop early, and are tested on the grades of the test queries. "All grades" are
LambdaMART, RankNet on all pairs and softmax with the same trees, trained on the grades themselves.
"""

import argparse
import tempfile
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from rich.progress import track

import boostrank as br
from boostrank.displays import import_pyplot, style

SETTINGS = {"num_leaves": 7, "learning_rate": 0.1, "n_estimators": 300, "early_stopping_rounds": 30, "n_jobs": 1}
ON_GRADES = {"lambdarank": "LambdaMART", "edge-logistic": "RankNet, all pairs", "softmax": "softmax"}


def ask(y, qid, n_choices, wrong, random):
    """Choices between two documents of a query, `n_choices` for each query that has different grades."""
    pairs = br.PreferenceGraph.from_grades(y, qid)
    # Shuffle all pairs, and keep the first `n_choices` of each query.
    permutation = random.permutation(pairs.n_edges)
    query = pd.Series(pairs.qid[pairs.winner[permutation]])
    kept = permutation[query.groupby(query).cumcount().to_numpy() < n_choices]
    right = random.random(len(kept)) >= wrong
    better, worse = pairs.winner[kept], pairs.loser[kept]
    return br.PreferenceGraph(qid, np.where(right, better, worse), np.where(right, worse, better))


def test_ndcg(objective, train, validation, test, seed):
    """NDCG@10 of each test query; train and validation are (X, labels, qid), the labels grades or preferences."""
    ranker = br.LightGBMRanker(objective, k=10, random_state=seed, **SETTINGS).fit(*train, eval_set=[validation])
    return br.ndcg_score(test.y, ranker.predict(test.X), test.qid, k=10, per_query=True)


def run(folds, choices, seeds, wrong):
    """A row per training and test query; labels are a number of choices per query, or the loss on all grades."""
    rows = []

    def add(fold, labels, seed, edges, values):
        rows.extend({"fold": fold.name, "labels": labels, "seed": seed, "edges": edges, "ndcg": v} for v in values)

    jobs = [(fold, labels, seed) for fold in folds for labels in (*ON_GRADES, *choices) for seed in range(seeds)]
    for fold, labels, seed in track(jobs, description="training"):
        if labels in ON_GRADES:
            if seed == 0:  # All seeds give the same grades, and so the same ranker.
                add(fold, labels, seed, 0, test_ndcg(labels, fold.train, fold.validation, fold.test, seed))
            continue
        random = np.random.default_rng([seed, labels])
        train, validation = ((p.X, ask(p.y, p.qid, labels, wrong, random)) for p in (fold.train, fold.validation))
        values = test_ndcg("edge-logistic", train, validation, fold.test, seed)
        add(fold, labels, seed, train[1].n_edges, values)
    return pd.DataFrame(rows)


def summarize(results, choices):
    """Mean NDCG@10 and its difference to LambdaMART on all grades, with a 95% paired bootstrap interval."""
    results = results.assign(query=results.groupby(["fold", "labels", "seed"]).cumcount())
    # Seeds ask other questions about the same test queries: average them first.
    values = results.pivot_table(index=["fold", "query"], columns="labels", values="ndcg", aggfunc="mean", sort=False)
    baseline = values["lambdarank"]
    rows = []
    for labels in (*choices, *ON_GRADES):
        asked = results.loc[results["labels"] == labels, "edges"].mean()
        low, high = br.significance.bootstrap_interval(values[labels], baseline, random_state=0)
        p = br.permutation_test(values[labels], baseline, random_state=0).p_value if labels != "lambdarank" else np.nan
        name = f"all grades: {ON_GRADES[labels]}" if labels in ON_GRADES else f"{labels} choices a query"
        mean = values[labels].mean()
        rows.append([name, asked or np.nan, mean, mean - baseline.mean(), low, high, p])
    columns = ["labels", "choices for training", "NDCG@10", "difference", "low", "high", "p"]
    return pd.DataFrame(rows, columns=columns)


def plot(table, choices, path, title):
    """NDCG@10 over the number of choices, with the rankers on all grades as lines across."""
    plt = import_pyplot()
    figure, ax = plt.subplots(figsize=(style.WIDTH, style.HEIGHT), layout="constrained")
    on_grades = table.tail(len(ON_GRADES))
    learned, reference = table.head(len(choices)), on_grades["NDCG@10"].iloc[0]
    low, high = reference + learned["low"], reference + learned["high"]
    ax.fill_between(choices, low, high, color=style.BLUE, alpha=0.15, linewidth=0)
    ax.plot(choices, learned["NDCG@10"], color=style.BLUE, marker="o", label="RankNet on A/B choices")
    looks = zip(on_grades.itertuples(), (style.BLACK, style.SKY, style.ORANGE), ("-", "--", "-."), strict=True)
    for row, color, dash in looks:
        ax.axhline(row[3], color=color, linestyle=dash, linewidth=1.2, label=row.labels)
    ax.set_xscale("log", base=2)
    ax.set_xticks(choices, [str(n) for n in choices])
    ax.set_xlabel("A/B choices for each training query")
    ax.set_ylabel("NDCG@10 on test queries, by grades")
    ax.set_title(title, loc="left", fontsize="medium")
    style.light_grid(ax)
    ax.legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folds", nargs="?", type=Path, help="folder of LETOR folds; by default synthetic data")
    parser.add_argument("--output", type=Path, help="folder for the picture; by default a new one")
    parser.add_argument("--seeds", type=int, default=5, help="how often the choices are drawn")
    parser.add_argument("--wrong", type=float, default=0.1, metavar="P", help="probability of a wrong answer")
    parser.add_argument("--small", action="store_true", help="run in a few seconds, with results that mean nothing")
    arguments = parser.parse_args()
    matplotlib.use("Agg")
    choices = (1, 4) if arguments.small else (1, 2, 4, 8, 16, 32)
    if arguments.folds is None:
        queries = br.make_ranking(60 if arguments.small else 400, random_state=0)
        folds, name = br.query_folds(br.Dataset(*queries), 3 if arguments.small else 5, random_state=0), "synthetic"
    else:
        folds, name = br.read_letor_folds(arguments.folds), arguments.folds.name
    table = summarize(run(folds, choices, 1 if arguments.small else arguments.seeds, arguments.wrong), choices)
    folder = arguments.output or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    title = f"{name}: a few choices, {arguments.wrong:.0%} of them wrong (band: 95%, paired with LambdaMART)"
    plot(table, choices, folder / "preferences.png", title)
    print(table.round({"choices for training": 0, "p": 3}).round(4).to_string(index=False, na_rep=""))
    print(f"picture: {folder / 'preferences.png'}")


if __name__ == "__main__":
    main()
