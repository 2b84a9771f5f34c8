"""The report of large_experiment.py: tests over trainings, tables by set, and a picture.

All is NDCG@10 of the test queries; queries without a relevant document are left out. With several
splits, whose training queries overlap, a difference is the mean over splits, and its error that of
the corrected resampled t-test over splits, each the mean over repeats. With one split, the
variance of a difference is that over test queries (of the means over repeats), divided by their
number, plus that over repeats (of the means over queries), divided by theirs; the degrees of
freedom are those of Satterthwaite. The mean over sets adds the variances of sets, which have no
query in common.
"""

import json
from dataclasses import asdict
from typing import NamedTuple

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from large_experiment import EARLY_STOPPING, LEFT_OUT, TUNED, Plan
from large_methods import METHODS
from large_sets import KNOWN
from reporting import markdown
from scipy import stats

from boostrank.displays import style
from boostrank.significance import holm

LEVEL = 0.05
#: A smaller mean difference is not worth a change of the library.
RELEVANT = 0.002
#: The real files have the numbers of documents that are known up to this share.
TOLERANCE = 0.05
PAIRS = (
    ("boostrank, LightGBM", "LightGBM"),
    ("boostrank, XGBoost", "XGBoost"),
    ("boostrank, LightGBM", "CatBoost"),
    ("boostrank, XGBoost", "CatBoost"),
)
#: The hypotheses: a pair of rankers, without and with features of lists.
HYPOTHESES = [(*pair, lists) for lists in (False, True) for pair in PAIRS]
NAME = "large_experiment"


class Estimate(NamedTuple):
    """A mean difference, the variance of this mean, and the degrees of freedom of the variance."""

    difference: float
    variance: float
    freedom: float

    @property
    def p_value(self):
        """Two-sided; NaN if there is no variance."""
        if not self.variance > 0:
            return np.nan
        return 2 * stats.t.sf(abs(self.difference) / np.sqrt(self.variance), self.freedom)

    def row(self):
        """Columns of a table, with the 95% interval."""
        half = stats.t.isf(LEVEL / 2, self.freedom) * np.sqrt(self.variance)
        ends = {"low": self.difference - half, "high": self.difference + half}
        return {"difference": self.difference, **ends, "p": self.p_value}


def estimate(differences, test_to_train):
    """The estimate of one set.

    Parameters
    ----------
    differences : list of ndarray, shape (n_repeats, n_queries)
        The differences of test queries for each split.
    test_to_train : float
        Number of test queries of a split divided by that of its training queries.
    """
    means = np.array([of_split.mean() for of_split in differences])
    n = len(means)
    if n > 1:
        return Estimate(means.mean(), (1 / n + test_to_train) * means.var(ddof=1), n - 1)
    (of_split,) = differences
    n_repeats, n_queries = of_split.shape
    if n_repeats < 2:
        return Estimate(means[0], np.nan, np.nan)
    parts = [
        Estimate(0, of_split.mean(axis=axis).var(ddof=1) / size, size - 1)
        for axis, size in ((0, n_queries), (1, n_repeats))
    ]
    return Estimate(means[0], *_sum(parts))


def mean_over_sets(estimates):
    """The estimate of the mean difference of independent sets."""
    n = len(estimates)
    scaled = [Estimate(0, part.variance / n**2, part.freedom) for part in estimates]
    return Estimate(np.mean([part.difference for part in estimates]), *_sum(scaled))


def _sum(parts):
    """The sum of variances, and its degrees of freedom by Satterthwaite."""
    variance = sum(part.variance for part in parts)
    squares = sum(part.variance**2 / part.freedom for part in parts)
    return variance, (variance**2 / squares if squares > 0 else np.nan)


def read_trainings(folder):
    """The plan of a folder, and its trainings as a DataFrame."""
    about = json.loads((folder / "plan.json").read_text())
    files = [path for path in sorted(folder.glob("*.json")) if path.name != "plan.json"]
    if not files:
        raise SystemExit(f"no trainings in {folder}")
    rows = pd.DataFrame([json.loads(path.read_text()) for path in files])
    if "failed" not in rows:
        rows["failed"] = None
    return about, rows


def tested_values(finals, method, lists, protocol):
    """NDCG@10 of test queries by split and repeat, ``{(split, repeat): array}``."""
    part = finals[
        (finals["method"] == method)
        & (finals["lists"] == lists)
        & (finals["protocol"] == protocol)
        & finals["failed"].isna()
    ]
    return {
        (split, repeat): np.array(values, dtype=float)
        for split, repeat, values in zip(part["split"], part["repeat"], part["test"], strict=True)
    }


def compare(finals, ours, peer, lists):
    """The estimate of a hypothesis on one set; None if a training is missing or has failed."""
    planned = set(zip(finals["split"], finals["repeat"], strict=True))
    first, second = (tested_values(finals, name, lists, TUNED) for name in (ours, peer))
    if first.keys() != planned or second.keys() != planned:
        return None
    differences = []
    for split in sorted({split for split, _ in planned}):
        repeats = sorted(repeat for other, repeat in planned if other == split)
        rows = np.array([first[split, i] - second[split, i] for i in repeats])
        differences.append(rows[:, ~np.isnan(rows).any(axis=0)])
    n_tested = np.mean([len(values) for values in first.values()])
    return estimate(differences, n_tested / finals["queries"].mean())


def table_of_hypotheses(by_set):
    """The mean over primary sets of each hypothesis; `by_set` has estimates by set and number."""
    names = [name for name in by_set if name not in KNOWN or KNOWN[name].is_primary]
    rows = []
    for number, (ours, peer, lists) in enumerate(HYPOTHESES):
        found = {name: by_set[name].get(number) for name in names}
        sets = [name for name, value in found.items() if value is not None]
        row = {"ranker": ours, "peer": peer, "lists": "yes" if lists else "no", "sets": len(sets)}
        if sets:
            row |= mean_over_sets([found[name] for name in sets]).row()
        rows.append({**row, "missing": ", ".join(name for name in names if name not in sets)})
    table = with_holm(pd.DataFrame(rows), "p")
    return table[[*table.columns.drop("missing"), "missing"]]


def with_holm(table, column):
    """The table with p-values after Holm's correction, and what they say."""
    if column not in table:
        return table
    known = table[column].notna()
    table.loc[known, "p_holm"] = holm(table.loc[known, column])
    if known.any():
        table["result"] = [result_of(row) for row in table.itertuples()]
    return table


def result_of(row):
    """What a row of the table of hypotheses says."""
    if not row.p_holm <= LEVEL:
        return "not shown"
    if abs(row.difference) < RELEVANT:
        return "smaller than relevant"
    return "better" if row.difference > 0 else "WORSE"


def table_of_set(trainings):
    """A row for each ranker, protocol and kind of features of one set."""
    rows = []
    keys = ["protocol", "lists", "method"]
    for protocol in (TUNED, EARLY_STOPPING, LEFT_OUT):
        for lists in (False, True):
            for method in METHODS:
                part = trainings[(trainings[keys] == [protocol, lists, method]).all(axis=1)]
                if len(part):
                    rows.append(_row_of_set(protocol, lists, method, part))
    return pd.DataFrame(rows)


def _row_of_set(protocol, lists, method, part):
    finals = part[part["trial"].isna() & part["failed"].isna()]
    row = {"protocol": protocol, "lists": "yes" if lists else "no", "ranker": method}
    if len(finals):
        means = finals["test"].map(lambda values: np.nanmean(np.array(values, dtype=float)))
        deviation = np.sqrt(means.groupby(finals["split"]).var(ddof=1).mean())
        row |= {"ndcg@10": means.mean(), "sd_of_trainings": deviation}
        row |= {f"ndcg@{k}": finals[f"test@{k}"].mean() for k in (1, 5)}
        row |= {"median_rounds": float(finals["rounds"].median())}
        row |= {"train_s": finals["train_s"].mean()}
    if part["failed"].isna().any():
        row |= {"all_h": part["train_s"].sum() / 3600, "peak_gb": part["peak_gb"].max()}
        row |= {"share_stopped": part["was_stopped"].astype(float).mean()}
    return {**row, "failed": int(part["failed"].notna().sum())}


def write_report(folder, output):
    """Write large_experiment.md and large_experiment.png, and return the path of the first."""
    about, trainings = read_trainings(folder)
    by_set, parts = {}, []
    for name, part in trainings.groupby("data", sort=False):
        finals = part[part["trial"].isna()]
        found = {i: compare(finals, *HYPOTHESES[i]) for i in range(len(HYPOTHESES))}
        by_set[name] = {i: value for i, value in found.items() if value is not None}
        parts += [f"## {name}", _about_set(part), _markdown(table_of_set(part))]
        rows = [
            {**dict(zip(("ranker", "peer", "lists"), HYPOTHESES[i], strict=True)), **value.row()}
            for i, value in by_set[name].items()
        ]
        if rows:
            table = with_holm(pd.DataFrame(rows), "p").drop(columns="result", errors="ignore")
            parts.append("Differences of tuned rankers:")
            parts.append(_markdown(table.replace({"lists": {True: "yes", False: "no"}})))
    table = table_of_hypotheses(by_set)
    output.mkdir(parents=True, exist_ok=True)
    picture = output / f"{NAME}.png"
    plot(by_set, table, picture)
    head = [
        "# Report of the large experiment",
        *warnings_of(about, trainings),
        "## Hypotheses",
        "Mean over the primary sets of the difference in NDCG@10 of tuned rankers, with the 95% "
        "interval, and p-values before and after Holm's correction.",
        _markdown(table),
        f"![Differences by set]({picture.name})",
    ]
    path = output / f"{NAME}.md"
    path.write_text("\n\n".join([*head, *parts, *_failures(trainings), _versions(about)]) + "\n")
    return path


def warnings_of(about, trainings):
    """What keeps these trainings from being those of the plan."""
    plan, planned = about["plan"], asdict(Plan())
    texts = [
        f"`{name}` is {plan[name]} in place of {planned[name]}"
        for name in planned
        if plan[name] != planned[name]
    ]
    primary = {name for name, known in KNOWN.items() if known.is_primary}
    found = set(trainings["data"])
    if found - KNOWN.keys():
        texts.append(f"not sets of the plan: {', '.join(sorted(found - KNOWN.keys()))}")
    if primary - found:
        texts.append(f"missing sets: {', '.join(sorted(primary - found))}")
    for name, n_trainings in trainings["data"].value_counts(sort=False).items():
        n_planned = about["files"][name]["trainings"]
        if n_trainings < n_planned:
            texts.append(f"{name} has {n_trainings} of {n_planned} trainings")
    documents = trainings.groupby("data")["documents"].mean()
    for name in documents.index.intersection(list(KNOWN)):
        if abs(documents[name] / KNOWN[name].n_documents - 1) > TOLERANCE:
            texts.append(
                f"{name} has {documents[name]:,.0f} documents to train on in place of about "
                f"{KNOWN[name].n_documents:,}, so that these are other files"
            )
    if not texts:
        return []
    return [f"**This is no result of the plan, but a trial of the script**: {'; '.join(texts)}."]


def _about_set(part):
    known = part.dropna(subset="documents")
    finals = known[known["trial"].isna()]
    n_tested = finals["test"].map(len).groupby(finals["split"]).first().sum() if len(finals) else 0
    return (
        f"{part['split'].nunique()} splits, {part['repeat'].nunique()} repeats, "
        f"{known['documents'].mean():,.0f} documents of {known['queries'].mean():,.0f} queries to "
        f"train on, {n_tested:,} queries tested; features: "
        f"{', '.join(f'{int(n)}' for n in sorted(known['features'].unique()))}."
    )


def _failures(trainings):
    failed = trainings.dropna(subset="failed")
    if failed.empty:
        return []
    columns = ["data", "method", "lists", "protocol", "failed"]
    table = failed.groupby(columns).size().reset_index(name="trainings")
    return ["## Failures", _markdown(table.rename(columns={"failed": "reason"}))]


def _versions(about):
    return f"Made with {about['versions']}; {about['threads']} threads."


def _markdown(table):
    formats = {"p": ".4f", "p_holm": ".4f", "sd_of_trainings": ".4f", "all_h": ".2f"}
    formats |= {"peak_gb": ".2f", "train_s": ".1f"}
    return markdown(table, {name: text for name, text in formats.items() if name in table})


def plot(by_set, means, path):
    """Draw the difference of each pair by set and in the mean, with intervals."""
    matplotlib.use("Agg")
    names = [*by_set, "mean"]
    size = {"figsize": (11, 0.5 * len(names) + 1.8), "layout": "constrained"}
    figure, axes = plt.subplots(1, len(PAIRS), sharey=True, sharex=True, **size)
    looks = {
        False: {"color": style.BLUE, "marker": "o", "label": "without features of lists"},
        True: {"color": style.ORANGE, "marker": "s", "label": "with"},
    }
    for number, (ours, peer, lists) in enumerate(HYPOTHESES):
        ax = axes[number % len(PAIRS)]
        rows = [by_set[name][number].row() if number in by_set[name] else {} for name in by_set]
        rows.append(means.iloc[number].to_dict())
        shown = pd.DataFrame(rows).reindex(columns=["difference", "low", "high"])
        heights = len(names) - np.arange(len(names)) + (0.12 if lists else -0.12)
        line = {"color": looks[lists]["color"], "linewidth": 1.3}
        ax.hlines(heights, shown["low"].astype(float), shown["high"].astype(float), **line)
        ax.plot(shown["difference"].astype(float), heights, linestyle="", **looks[lists])
        ax.axvline(0, color=style.BLACK, linewidth=0.8)
        ax.set_title(f"{ours}\nminus {peer}", fontsize="medium")
        style.light_grid(ax, "x")
    axes[0].set_yticks(len(names) - np.arange(len(names)), names)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", frameon=False)
    figure.supxlabel("difference of NDCG@10 of tuned rankers (95% interval)", fontsize="medium")
    figure.savefig(path, dpi=120)
    plt.close(figure)
