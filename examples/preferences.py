"""Learning to rank from A/B choices: NDCG@10 by number of choices, against training on all grades.

python examples/preferences.py [FOLDS] [--full] [--output FOLDER] [--seeds N] [--wrong P]

FOLDS is a folder of LETOR folds such as MQ2008; without it synthetic data. Each training query is
asked about a few times: which of two of its documents, of different grades, is better? The answer
is wrong with probability P. Rankers see these choices only, and are tested on the grades of the
test queries. "All grades" are LightGBM's LambdaMART, RankNet on all pairs, and the default of
boostrank, trained on the grades themselves. All have their default settings. By default four
numbers of choices are tried on a few synthetic queries; --full tries seven on more queries, which
takes minutes.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track

import boostrank as br
from boostrank.displays import style

try:
    import matplotlib.pyplot as plt
except ImportError as error:
    raise SystemExit(f"This example needs matplotlib ({error}): pip install matplotlib") from None

ON_GRADES = {
    "lambdarank": "LambdaMART",
    "edge-logistic": "RankNet, all pairs",
    "softmax": "the default",
}


def ask(y, qid, n_choices, wrong, random):
    """Choices between two documents, `n_choices` for each query with different grades."""
    pairs = br.PreferenceGraph.from_grades(y, qid)
    # Shuffle all pairs, and keep the first `n_choices` of each query.
    permutation = random.permutation(pairs.n_edges)
    query = pd.Series(pairs.qid[pairs.winner[permutation]])
    kept = permutation[query.groupby(query).cumcount().to_numpy() < n_choices]
    right = random.random(len(kept)) >= wrong
    better, worse = pairs.winner[kept], pairs.loser[kept]
    return br.PreferenceGraph(qid, np.where(right, better, worse), np.where(right, worse, better))


def test_ndcg(objective, train, test, seed):
    """NDCG@10 of each test query; train is (X, labels, qid), the labels grades or preferences."""
    ranker = br.LightGBMRanker(objective, k=10, random_state=seed, n_jobs=1).fit(*train)
    return br.ndcg_score(test.y, ranker.predict(test.X), test.qid, k=10, per_query=True)


def run(folds, choices, seeds, wrong):
    """A row per training and test query.

    Labels are a number of choices per query, or the loss on all grades.
    """
    rows = []

    def add(fold, labels, seed, edges, values):
        rows.extend(
            {"fold": fold.name, "labels": labels, "seed": seed, "edges": edges, "ndcg": v}
            for v in values
        )

    jobs = [
        (fold, labels, seed)
        for fold in folds
        for labels in (*ON_GRADES, *choices)
        for seed in range(seeds)
    ]
    console = Console(stderr=True)
    bar = {"console": console, "transient": True, "disable": not console.is_terminal}
    for fold, labels, seed in track(jobs, description="training", **bar):
        if labels in ON_GRADES:
            if seed == 0:  # All seeds give the same grades, and so the same ranker.
                add(fold, labels, seed, 0, test_ndcg(labels, fold.train, fold.test, seed))
            continue
        graph = ask(
            fold.train.y, fold.train.qid, labels, wrong, np.random.default_rng([seed, labels])
        )
        values = test_ndcg("edge-logistic", (fold.train.X, graph), fold.test, seed)
        add(fold, labels, seed, graph.n_edges, values)
    return pd.DataFrame(rows)


def summarize(results, choices):
    """Mean NDCG@10 and its difference to LambdaMART on all grades, with a 95% interval."""
    results = results.assign(query=results.groupby(["fold", "labels", "seed"]).cumcount())
    # Seeds ask other questions about the same test queries: average them first.
    values = results.pivot_table(
        index=["fold", "query"], columns="labels", values="ndcg", aggfunc="mean", sort=False
    )
    baseline = values["lambdarank"]
    rows = []
    for labels in (*choices, *ON_GRADES):
        asked = results.loc[results["labels"] == labels, "edges"].mean()
        low, high = br.significance.confidence_interval(values[labels], baseline)
        p = (
            br.permutation_test(values[labels], baseline, random_state=0).p_value
            if labels != "lambdarank"
            else np.nan
        )
        name = f"all grades: {ON_GRADES[labels]}" if labels in ON_GRADES else choices_of(labels)
        mean = values[labels].mean()
        rows.append([name, asked or np.nan, mean, mean - baseline.mean(), low, high, p])
    columns = ["labels", "choices for training", "NDCG@10", "difference", "low", "high", "p"]
    return pd.DataFrame(rows, columns=columns)


def choices_of(number):
    """A number of choices in words."""
    return f"{number} choice{'s' if number > 1 else ''} for each query"


def describe(table, choices, n_queries):
    """Print the table, and what the numbers of choices say together."""
    shown = table.assign(
        interval=[f"{low:+.4f} to {high:+.4f}" for low, high in table[["low", "high"]].to_numpy()],
        difference=[
            "" if np.isnan(p) else f"{d:+.4f}" for d, p in table[["difference", "p"]].to_numpy()
        ],
        p=["" if np.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}" for p in table["p"]],
        choices=["" if np.isnan(n) else f"{n:,.0f}" for n in table["choices for training"]],
    )
    shown.loc[shown["p"] == "", "interval"] = ""
    columns = ["labels", "choices", "NDCG@10", "difference", "interval", "p"]
    print(
        f"Means over {n_queries} test queries; differences to LambdaMART on all grades, with 95% "
        "intervals:\n"
    )
    print(shown[columns].to_string(index=False, float_format="{:.4f}".format))
    learned = table.head(len(choices))
    near = [number for number, high in zip(choices, learned["high"], strict=True) if high >= 0]
    first, last = learned["NDCG@10"].iloc[[0, -1]]
    step = (
        f"From {choices_of(choices[0])} to {choices[-1]}, NDCG@10 goes from {first:.4f} to "
        f"{last:.4f}"
    )
    if near:
        result = (
            f"with {choices_of(near[0])} it is not significantly below LambdaMART on all grades "
            "any more"
        )
    else:
        gap = -learned["difference"].iloc[-1]
        result = (
            f"with {choices_of(choices[-1])} it is still {gap:.4f} below LambdaMART on all grades"
        )
    print(f"\nLearned: {step[0].lower()}{step[1:]}; {result}.")


def plot(table, choices, path, title):
    """NDCG@10 over the number of choices, with the rankers on all grades as lines across."""
    figure, ax = plt.subplots(figsize=(style.WIDTH, style.HEIGHT), layout="constrained")
    on_grades = table.tail(len(ON_GRADES))
    learned, reference = table.head(len(choices)), on_grades["NDCG@10"].iloc[0]
    low, high = reference + learned["low"], reference + learned["high"]
    ax.fill_between(choices, low, high, color=style.BLUE, alpha=0.15, linewidth=0)
    ax.plot(
        choices, learned["NDCG@10"], color=style.BLUE, marker="o", label="RankNet on A/B choices"
    )
    looks = zip(
        on_grades.itertuples(),
        (style.BLACK, style.SKY, style.ORANGE),
        ("-", "--", "-."),
        strict=True,
    )
    for row, color, dash in looks:
        ax.axhline(row[3], color=color, linestyle=dash, linewidth=1.2, label=row.labels)
    ax.set_xscale("log", base=2)
    ax.set_xticks(choices, [str(n) for n in choices])
    ax.set_xlabel("A/B choices for each training query")
    ax.set_ylabel("NDCG@10 on test queries, by grades")
    ax.set_title(title, loc="left", fontsize="medium")
    style.light_grid(ax)
    ax.legend(frameon=False, loc="lower right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folds", nargs="?", type=Path, help="folder of LETOR folds; by default synthetic data"
    )
    parser.add_argument(
        "--full", action="store_true", help="try more numbers of choices, in minutes, not seconds"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="write the picture preferences.png there"
    )
    parser.add_argument(
        "--seeds",
        type=int,
        help="how often the choices are drawn; by default once, with --full 5 times",
    )
    parser.add_argument(
        "--wrong", type=float, default=0.1, metavar="P", help="probability of a wrong answer"
    )
    arguments = parser.parse_args()
    full = arguments.full
    choices, seeds = (
        ((1, 2, 4, 8, 16, 32, 64) if full else (1, 4, 16, 64)),
        arguments.seeds or (5 if full else 1),
    )
    if arguments.folds is None:
        queries = br.make_ranking(400 if full else 200, random_state=0)
        folds, name = (
            br.query_folds(br.Dataset(*queries), 5 if full else 3, random_state=0),
            "synthetic",
        )
    else:
        folds, name = br.read_letor_folds(arguments.folds), arguments.folds.name
    results = run(folds, choices, seeds, arguments.wrong)
    table = summarize(results, choices)
    describe(table, choices, (results["labels"] == "lambdarank").sum())
    if arguments.output:
        title = (
            f"{name}: a few choices, {arguments.wrong:.0%} of them wrong (band: 95%, paired with "
            "LambdaMART)"
        )
        plot(table, choices, arguments.output / "preferences.png", title)


if __name__ == "__main__":
    main()
