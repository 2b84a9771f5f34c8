"""Learning to rank from clicks: from a log to propensities, a ranker, and its evaluation.

The ranker is evaluated on the clicks themselves.

python examples/clicks.py [LOG FEATURES] [--output FOLDER]

LOG is a CSV file with one line for each document that was shown, and the columns session, qid,
document, position (from 1) and click (0 or 1); lines without a click belong to it too. FEATURES is
a CSV file with the columns qid, document and the features. At different times or to different
users, the log must have shown a document at different positions. Without files, two rankers show
their result lists to simulated users; then the truth is known.
"""

import argparse
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

import boostrank as br
from boostrank.displays import style

#: Of the simulated users: they examine position r with the probability 1 / r.
TRUTH = ("power", 1.0)


def simulated_tables(n_queries=600, n_sessions=20_000):
    """A log and features as tables, and the true labels.

    Two rankers, of one feature each, serve half of the users.
    """
    X, y, qid = br.make_ranking(n_queries, n_documents=(5, 10), noise=0.0, random_state=0)
    features = pd.DataFrame(X).add_prefix("feature_")
    features.insert(0, "qid", qid)
    features.insert(1, "document", [f"d{row}" for row in range(len(y))])
    logs = []
    for seed in (0, 1):
        settings = {"model": TRUTH, "noise": 0.1, "n_sessions": n_sessions, "random_state": seed}
        logs.append(br.simulate_clicks(y, X[:, seed], qid, **settings).log)
    log = br.ClickLog.concatenate(logs).to_frame()
    log["document"] = features["document"].to_numpy()[log["row"]]
    return log[["session", "qid", "document", "position", "clicks"]], features, y


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "files", nargs="*", type=Path, help="LOG and FEATURES; by default simulated"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="write the picture clicks.png there"
    )
    arguments = parser.parse_args()
    if arguments.output and not find_spec("matplotlib"):
        parser.error("--output needs matplotlib: pip install matplotlib")
    if len(arguments.files) not in (0, 2):
        parser.error("pass both LOG and FEATURES, or none of them")
    y = None
    if arguments.files:
        table, features = (pd.read_csv(path) for path in arguments.files)
    else:
        table, features, y = simulated_tables()

    # 1. The log: which row of X was shown at which position, how often, and how often it was
    # clicked there.
    qid, X = features["qid"].to_numpy(), features.drop(columns=["qid", "document"]).to_numpy()
    log = br.clicks.from_table(table, qid=qid, documents=features["document"])
    # The log says nothing about documents that were never shown, so that the evaluation below must
    # not rank them.
    X, qid, y, log = (
        X[log.shown],
        qid[log.shown],
        None if y is None else y[log.shown],
        log[log.shown],
    )
    print(
        f"The log has {log.n_sessions:,} sessions of {log.queries.n_queries:,} queries, and "
        f"{log.n_clicks:,} clicks."
    )

    # 2. Propensities, from documents that were shown at several positions of the same query.
    propensities = br.clicks.harvest_propensities(log).extended(log.n_positions)
    low, high = propensities.interval()
    print(
        f"Users examine position 2 only {propensities.values[1]:.2f} times as often as position 1 "
        f"(95% interval {low[1]:.2f} to {high[1]:.2f}), and position {log.n_positions} only "
        f"{propensities.values[-1]:.2f} times."
    )
    if arguments.output:
        ax, first = style.axes(None), propensities.values[0]
        relative, sides = (
            propensities.values / first,
            np.stack([propensities.values - low, high - propensities.values]),
        )
        look = {
            "fmt": "o",
            "color": style.BLUE,
            "capsize": 2,
            "label": "estimated from the log, with 95% intervals",
        }
        ax.errorbar(propensities.positions, relative, np.nan_to_num(sides / first), **look)
        if y is not None:
            ax.plot(
                propensities.positions,
                1.0 / propensities.positions,
                color=style.BLACK,
                linewidth=1,
                label="truth",
            )
        ax.set(xlabel="position", ylabel="propensity, relative to position 1", ylim=(0.0, None))
        style.whole_ticks(ax)
        style.light_grid(ax)
        style.legend_below(ax)
        arguments.output.mkdir(parents=True, exist_ok=True)
        ax.figure.savefig(arguments.output / "clicks.png", dpi=160)

    # 3. Two rankers: one on relevance as estimated with the propensities, one on click-through
    # rates.
    train, test = br.split_queries(qid, 0.3, random_state=0)
    corrected = br.LightGBMRanker(random_state=0, n_jobs=1)
    corrected.fit(X[train], br.ClickLabels(log[train], propensities))
    naive = br.LightGBMRanker(random_state=0, n_jobs=1).fit(
        X[train], br.ClickLabels(log[train], 1.0)
    )

    # 4. Their evaluation, on clicks on other queries. The lists that users saw are ranked by mean
    # position.
    total = np.bincount(log.row, weights=log.position * log.impressions)
    scores = {
        "the lists that users saw": -(total / np.bincount(log.row, weights=log.impressions))[test],
        "the ranker on click-through rates": naive.predict(X[test]),
        "the ranker with propensities": corrected.predict(X[test]),
    }
    print(
        "On other queries, the mean discount of a relevant document, as estimated from their "
        "clicks, is"
    )
    for name, values in scores.items():
        value, low, high = br.clicks.evaluate(log[test], values, propensities)[:3]
        true = (
            ""
            if y is None
            else f"; NDCG@10 on true labels: {br.ndcg_score(y[test], values, qid[test], k=10):.3f}"
        )
        print(f"  {value:.3f} ({low:.3f} to {high:.3f}) for {name}{true}.")

    # 5. Differences. All rankers are evaluated on the same clicks, so that the interval of a
    # difference is narrower.
    best = scores.pop("the ranker with propensities")
    verdicts = []
    for name, values in scores.items():
        value, low, high = br.clicks.evaluate(log[test], best, propensities, baseline=values)[:3]
        verdict = (
            "better than" if low > 0 else "worse than" if high < 0 else "not clearly different from"
        )
        verdicts.append(f"{verdict} {name} (by {value:.3f}, 95% interval {low:.3f} to {high:.3f})")
    print(
        "Learned: clicks on other queries say that the ranker with propensities is "
        + ", and ".join(verdicts)
        + "."
    )


if __name__ == "__main__":
    main()
