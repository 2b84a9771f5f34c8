"""Tables and pictures of the runs of quality.py.

python benchmarks/quality_report.py FOLDER [--output FOLDER] [--keep]

Everything is NDCG@10 of test queries, each the mean over seeds; queries without a relevant document
are left out. A method is left out of a data set if the runs of some of its folds are missing.
Intervals are 95% intervals of the bootstrap over queries (of single sets: Student's), and p-values
those of paired randomization tests.

quality_PROTOCOL.csv has a row for each data set and method: its mean, and its difference to
LightGBM's LambdaMART. For methods on XGBoost there is a second row, with the difference to
XGBoost's. "fit_s" are the mean processor seconds of a fit, which are those of all draws of a tuned
method, and "times_lgbmranker" is their ratio to those of LightGBM's LambdaMART.

quality.csv has a row for each protocol and method: the mean over the real data sets of its
difference to LightGBM's LambdaMART, with the interval of a sum of independent normal means, the
sets on which it is significantly better and worse at 5%, the worst set, and the geometric mean of
"times_lgbmranker".

quality_headline.csv has a row for each of our methods and each peer: the mean over data sets of the
mean difference, in which all data sets have the same weight. Its interval is of resamples of the
queries of each set, and its p-value of random signs of the differences of all queries. Won and lost
are the data sets on which it is significantly better and worse, at 5%, and with "_holm" after
Holm's correction for the number of data sets. "best peer" is on each data set the peer with the
best mean on its test queries, which is not known in advance. Synthetic data have rows of their own.
"detectable" is the true mean difference that a test at 5% finds with a probability of 80%, with
these queries.

With --keep, rows for which there are no runs are those of the present tables. This is refused if a
method that has both runs and rows has not the same mean NDCG@10 on each data set in both.

The pictures are of the protocol "untuned": quality.png has the differences by data set, and
quality_time.png the mean difference of each method and the time of its fit.
"""

import itertools
from functools import partial
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import quality_kept
from jobs import read_results
from matplotlib import patheffects
from matplotlib.transforms import Bbox, IdentityTransform
from quality_methods import LAMBDARANK, PROTOCOLS, RANK_NDCG
from reporting import FOLDER, make_parser, picture_path, publish, resampled_means
from workloads import SYNTHETIC

import boostrank as br
from boostrank.displays import style
from boostrank.significance import confidence_interval, holm

#: The kinds of methods in the picture of times, and their colours.
KINDS = {
    "boostrank": style.BLUE,
    "others, with QueryFeatures of boostrank": style.GREEN,
    "others": style.ORANGE,
}
LEVEL, N_RESAMPLES = 0.05, 10_000
#: A difference of this many standard errors is found with a probability of 80% by a two-sided test
#: at 5%.
ERRORS_DETECTABLE, ERRORS_OF_INTERVAL = 2.80, 1.96
BEST_PEER = "best peer"
#: Methods that only the tables have, since the picture of times has no space for them.
VARIANTS = "random trees|=False"
#: The panels of the picture: a baseline, and the methods whose differences to it are shown.
PANELS = {
    LAMBDARANK: {"LightGBMRanker": "default", "BaggedRanker of LightGBMRanker": "bag of ten"},
    RANK_NDCG: {"XGBoostRanker": "default", "BaggedRanker of XGBoostRanker": "bag of ten"},
}
#: In the picture of times, the distance in pixels that a label may be farther away for each
#: interval that it avoids.
LINE_COST = 8
#: Where a label may be of its point, the best first.
SIDES = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)])


def values_by_method(runs):
    """NDCG@10 of each test query: ``{data: {method: array of shape (n_queries,)}}``.

    Each is the mean over seeds, without queries that have no relevant document. Methods for which a
    fold is missing that other methods have are printed, and left out.
    """
    values = {}
    for data, of_data in runs.groupby("data", sort=False):
        folds = sorted(of_data["fold"].unique().tolist())
        values[data] = {}
        for method, of_method in of_data.groupby("method", sort=False):
            by_fold = of_method.groupby("fold")["ndcg@10"].agg(
                lambda lists: np.mean(list(lists), axis=0)
            )
            if missing := sorted(set(folds) - set(by_fold.index)):
                print(
                    f"{of_method['protocol'].iloc[0]}, {data}: {method} has no runs of the folds "
                    f"{missing}; left out"
                )
                continue
            all_queries = np.concatenate(by_fold[folds].tolist())
            values[data][method] = all_queries[~np.isnan(all_queries)]
    return values


def compare(values, baseline):
    """Difference of a method to a baseline on one data set, as columns of a table."""
    test = br.permutation_test(values, baseline)
    low, high = confidence_interval(values, baseline)
    return {
        "difference": test.difference,
        "low": low,
        "high": high,
        "p": test.p_value,
        "wins": test.wins,
        "ties": test.ties,
        "losses": test.losses,
    }


def table_by_set(runs, values):
    """A row for each data set, method and baseline.

    The baseline of all has a row without a difference.
    """
    about = runs.groupby("method")[["library", "is_ours"]].first()
    seconds = runs.groupby(["data", "method"])["fit_s"].mean()
    rows = []
    for data, of_data in values.items():
        for method, own in of_data.items():
            row = {
                "data": data,
                "library": about["library"][method],
                "method": method,
                "queries": len(own),
            }
            row |= {"fit_s": seconds[data, method], "ndcg@10": own.mean()}
            row["times_lgbmranker"] = seconds[data, method] / seconds.get(
                (data, LAMBDARANK), np.nan
            )
            baselines = [LAMBDARANK, RANK_NDCG] if row["library"] == "xgboost" else [LAMBDARANK]
            baselines = [name for name in baselines if name in of_data and name != method]
            rows += [
                {**row, "baseline": name, **compare(own, of_data[name])} for name in baselines
            ] or [row]
    columns = [
        "data",
        "library",
        "method",
        "queries",
        "fit_s",
        "times_lgbmranker",
        "ndcg@10",
        "baseline",
    ]
    columns += ["difference", "low", "high", "p", "wins", "ties", "losses"]
    table = pd.DataFrame(rows, columns=columns)
    return table.astype(dict.fromkeys(["wins", "ties", "losses"], "Int64"))


def summary(table):
    """A row for each method: its mean difference to LightGBM's LambdaMART.

    The mean is that over the real data sets of its protocol.
    """
    real = table[(table["data"] != SYNTHETIC) & (table["baseline"] == LAMBDARANK)]
    rows = []
    for method, of_method in real.groupby("method", sort=False):
        difference, p = of_method["difference"], of_method["p"]
        mean, half = (
            difference.mean(),
            np.hypot.reduce((of_method["high"] - of_method["low"]) / 2) / len(of_method),
        )
        row = {
            "method": method,
            "sets": len(of_method),
            "difference": mean,
            "low": mean - half,
            "high": mean + half,
        }
        row |= {
            "won": ((difference > 0) & (p <= LEVEL)).sum(),
            "lost": ((difference < 0) & (p <= LEVEL)).sum(),
        }
        worst = difference.idxmin()
        row |= {"worst_set": of_method["data"][worst], "worst_difference": difference[worst]}
        times = np.exp(np.log(of_method["times_lgbmranker"]).mean(skipna=False))
        rows.append({**row, "times_lgbmranker": times})
    return pd.DataFrame(rows)


def headline(values, ours, peers):
    """A row for each of our methods and each peer, and the best peer of each data set.

    The mean is over all sets that have both.
    """
    differences = {}
    for data, of_data in values.items():
        of_peers = {name: of_data[name] for name in peers if name in of_data}
        if of_peers:
            of_peers[BEST_PEER] = max(of_peers.values(), key=np.mean)
        for method in ours:
            for peer, theirs in of_peers.items():
                if method in of_data:
                    differences.setdefault((method, peer), {})[data] = of_data[method] - theirs
    resampled = _resampled_by_set(differences, list(values))
    pairs = [pair for pair in itertools.product(ours, [*peers, BEST_PEER]) if pair in differences]
    return pd.DataFrame(
        [_headline_row(*pair, differences[pair], resampled[pair]) for pair in pairs]
    )


def _resampled_by_set(differences, data_sets):
    """Mean differences in resamples of queries, a list with an array for each set of the pair."""
    resampled = {pair: [] for pair in differences}
    for number, data in enumerate(data_sets):
        pairs = [pair for pair, by_set in differences.items() if data in by_set]
        if not pairs:
            continue
        rows = np.array([differences[pair][data] for pair in pairs])
        means = resampled_means(rows, N_RESAMPLES, np.random.default_rng([0, number]))
        for pair, row in zip(pairs, means, strict=True):
            resampled[pair].append(row)
    return resampled


def _headline_row(method, peer, by_set, resampled):
    means = pd.Series({data: values.mean() for data, values in by_set.items()})
    p = [br.permutation_test(values, np.zeros(len(values))).p_value for values in by_set.values()]
    low, high = np.quantile(np.mean(resampled, axis=0), [0.025, 0.975])
    # The sum of these is the mean over sets, times the number of sets.
    weighted = np.concatenate([values / len(values) for values in by_set.values()])
    row = {
        "method": method,
        "peer": peer,
        "sets": len(means),
        "difference": means.mean(),
        "low": low,
        "high": high,
    }
    row["p"] = br.permutation_test(weighted, np.zeros(len(weighted))).p_value
    for suffix, p_values in (("", np.array(p)), ("_holm", holm(p))):
        row[f"won{suffix}"] = int(((means > 0) & (p_values <= LEVEL)).sum())
        row[f"lost{suffix}"] = int(((means < 0) & (p_values <= LEVEL)).sum())
    return {**row, "worst_set": means.idxmin(), "worst_difference": means.min()}


def plot(table, heads, path):
    """Draw differences of our rankers to the LambdaMART of their library, with intervals.

    They are by data set and in the mean.
    """
    are_shown = table["method"].isin([method for methods in PANELS.values() for method in methods])
    queries = table[are_shown].groupby("data")["queries"].first()
    real = queries.drop(SYNTHETIC, errors="ignore").sort_values()
    # From the bottom to the top.
    rows = [*queries.index.intersection([SYNTHETIC]), "mean", *real.index]
    labels = [
        f"mean of {len(real)} sets" if row == "mean" else f"{row} ({queries[row]})" for row in rows
    ]
    means = heads[(heads["protocol"] == "untuned") & (heads["kind"] == "real")].rename(
        columns={"peer": "baseline"}
    )
    shown = pd.concat([table, means.assign(data="mean")]).set_index(["baseline", "method", "data"])
    keys = [(baseline, method) for baseline, methods in PANELS.items() for method in methods]
    shown = shown[shown.index.droplevel("data").isin(keys)].sort_index()
    limit = half_width(shown)
    looks = (
        {"color": style.BLUE, "marker": "o"},
        {"color": style.ORANGE, "marker": "s", "markerfacecolor": "white"},
    )
    size = {"figsize": (9, 0.48 * len(rows) + 1.3), "layout": "constrained"}
    figure, axes = plt.subplots(1, len(PANELS), sharey=True, **size)
    for ax, (baseline, methods) in zip(axes, PANELS.items(), strict=True):
        ax.axvline(0, color=style.BLACK, linewidth=0.8)
        ax.axhline(rows.index("mean") + 0.5, color=style.GREY, linewidth=0.8)
        for (method, title), look, shift in zip(methods.items(), looks, (0.16, -0.16), strict=True):
            if (baseline, method) in shown.index:
                part = shown.loc[(baseline, method)].reindex(rows)
                draw_intervals(ax, part, np.arange(len(rows)) + shift, limit, label=title, **look)
        ax.set_xlim(-limit, limit)
        ax.locator_params(axis="x", nbins=6)
        ax.set_title(f"{next(iter(methods))} minus {baseline}", fontsize="medium")
        style.light_grid(ax, "x")
    axes[0].set_yticks(range(len(rows)), labels)
    axes[0].set_ylim(-0.6, len(rows) - 0.4)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False
    )
    figure.supxlabel(
        "difference of NDCG@10 with default parameters (95% interval)", fontsize="medium"
    )
    figure.savefig(path, dpi=120)
    plt.close(figure)


def half_width(shown):
    """The largest difference of a panel: all means and most ends of intervals are inside."""
    ends = shown[["low", "high"]].abs().max(axis=1)
    return max(1.4 * shown["difference"].abs().max(), 1.2 * ends.quantile(0.8), 1e-3)


def draw_intervals(ax, part, heights, limit, **look):
    """Draw a point and its interval at each height.

    An end beyond the limit is an arrow and its number.
    """
    inside, line = (
        part[["low", "high"]].clip(-limit, limit),
        {"color": look["color"], "linewidth": 1.3},
    )
    ax.hlines(heights, inside["low"], inside["high"], **line)
    ax.plot(part["difference"], heights, linestyle="", markersize=5, **look)
    for column, sign, arrow, side in (("low", -1, "<", "left"), ("high", 1, ">", "right")):
        for height, end in zip(heights, part[column], strict=True):
            if sign * end > limit:
                ax.plot(0.98 * sign * limit, height, arrow, color=look["color"], markersize=4)
                ax.annotate(
                    f"{end:+.3f}",
                    (0.96 * sign * limit, height),
                    ha=side,
                    va="bottom",
                    fontsize="small",
                )


def plot_time(table, path):
    """Draw the mean difference to LightGBM's LambdaMART over the relative time of a fit.

    Each method is a point.
    """
    origin = {
        "method": LAMBDARANK,
        "difference": 0.0,
        "low": 0.0,
        "high": 0.0,
        "times_lgbmranker": 1.0,
    }
    points = pd.concat([pd.DataFrame([origin]), table.dropna(subset="times_lgbmranker")])
    points = points[~points["method"].str.contains(VARIANTS)].sort_values(
        "difference", ascending=False
    )
    kinds = np.array([kind_of(method) for method in points["method"]])
    figure, ax = plt.subplots(figsize=(10, 6.5), dpi=120, layout="constrained")
    ax.axhline(0, color=style.BLACK, linewidth=0.8)
    for kind, color in KINDS.items():
        rows = points[kinds == kind]
        ax.vlines(
            rows["times_lgbmranker"],
            rows["low"],
            rows["high"],
            color=color,
            linewidth=0.9,
            alpha=0.6,
        )
        ax.plot(
            rows["times_lgbmranker"],
            rows["difference"],
            "o",
            color=color,
            markersize=7,
            label=kind,
        )
    ax.set_xscale("log")
    ax.margins(x=0.12)
    low, high = ax.get_xlim()
    ticks = [
        tick
        for tick in np.outer(10.0 ** np.arange(-3, 5), [1, 2, 5]).ravel()
        if low <= tick <= high
    ]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_xlabel(f"processor time of a fit, relative to {LAMBDARANK}()", fontsize="large")
    ax.set_ylabel(
        f"NDCG@10 minus that of {LAMBDARANK}(), mean of {table['sets'].max()} data sets",
        fontsize="large",
    )
    ax.legend(frameon=False, loc="lower right", fontsize="large")
    style.light_grid(ax)
    label_points(ax, points, [KINDS[kind] for kind in kinds])
    figure.savefig(path, dpi=figure.dpi)
    plt.close(figure)


def kind_of(method):
    """The kind of a method in the picture; a ranker of a library is not ours with our features."""
    if not PROTOCOLS["untuned"][method].is_ours:
        return "others"
    is_of_library = method.split(",")[0] in {LAMBDARANK, RANK_NDCG, "CatBoostRanker"}
    return "others, with QueryFeatures of boostrank" if is_of_library else "boostrank"


def label_points(ax, points, colors):
    """Write each label near to its point, where it covers no point, no label and few intervals."""
    ax.figure.canvas.draw()
    low, center, high = (
        ax.transData.transform(points[["times_lgbmranker", column]])
        for column in ("low", "difference", "high")
    )
    occupied = [
        *map(Bbox.from_extents, np.hstack([center - 7, center + 7])),
        ax.get_legend().get_window_extent(),
    ]
    lines, frame = [*map(Bbox.from_extents, np.hstack([low - 1, high + 1]))], ax.get_window_extent()
    halo = [patheffects.withStroke(linewidth=3, foreground="white")]
    for point, label, color in zip(center, points["method"], colors, strict=True):
        text = ax.text(0, 0, label, fontsize=10, color=color, va="bottom", path_effects=halo)
        text.set_transform(IdentityTransform())
        size, places = text.get_window_extent().size, {}
        for distance, side in itertools.product(range(10, 200, 5), SIDES):
            middle = point + side * (distance + size / 2)
            box = Bbox([middle - size / 2, middle + size / 2])
            if (
                frame.containsx(box.x0)
                and frame.containsx(box.x1)
                and not box.count_overlaps(occupied)
            ):
                places.setdefault(distance + LINE_COST * box.count_overlaps(lines), box)
        box = places[min(places)]
        text.set(x=box.x0, y=box.y0)
        occupied.append(box)


def of_protocol(runs, protocol):
    """The runs of the methods in the table of a protocol, in its sequence.

    Tuned runs of different budgets are refused.
    """
    known = list(PROTOCOLS[protocol])
    part = runs[(runs["protocol"] == protocol) & runs["method"].isin(known)]
    if "draws" in part and (budgets := part["draws"].dropna().map(len)).nunique() > 1:
        raise SystemExit(
            f"budgets differ: {budgets.value_counts().to_dict()} runs by draws; keep those of one "
            "budget"
        )
    return part.iloc[np.lexsort([part["method"].map(known.index), part["data"]])]


def tables_of(runs):
    """The tables by data set, ``{protocol: table}``, and the headline."""
    tables, heads = {}, []
    for protocol in PROTOCOLS:
        part = of_protocol(runs, protocol)
        if part.empty:
            continue
        values = values_by_method(part)
        tables[protocol] = table_by_set(part, values)
        ours, peers = (
            part.loc[part["is_ours"] == flag, "method"].unique() for flag in (True, False)
        )
        for kind in ("real", SYNTHETIC):
            of_kind = {
                data: of_data
                for data, of_data in values.items()
                if (data == SYNTHETIC) == (kind == SYNTHETIC)
            }
            head = headline(of_kind, ours, peers)
            head.insert(0, "protocol", protocol)
            head.insert(1, "kind", kind)
            heads.append(head)
    return tables, pd.concat(heads)


def table_name(protocol):
    """Name of the file of a protocol, without suffix."""
    return f"quality_{protocol.replace('-', '_')}"


def main():
    parser = make_parser(__doc__)
    parser.add_argument("folder", type=Path, help="the folder of the runs of quality.py")
    parser.add_argument(
        "--keep", action="store_true", help="keep rows of the present tables that have no runs"
    )
    arguments = parser.parse_args()
    matplotlib.use("Agg")
    runs = pd.DataFrame(read_results(arguments.folder))
    about = {"seeds": ", ".join(map(str, sorted(runs["seed"].unique())))}
    about["notes"] = [f"runs were made with {text}" for text in runs["versions"].unique()]
    tables, heads = tables_of(runs)
    if arguments.keep:
        read = partial(quality_kept.read, arguments.output or FOLDER / "results")
        tables = {
            name: quality_kept.keep_by_set(table, read(table_name(name)), name)
            for name, table in tables.items()
        }
        heads = quality_kept.keep_headline(heads, read("quality_headline"), BEST_PEER)
        about["notes"].append(
            "rows of methods that were not run again are those of the table before"
        )
    for protocol, table in tables.items():
        title = f"NDCG@10 of each method, and its difference to LambdaMART; protocol {protocol!r}"
        publish(table, table_name(protocol), arguments.output, title=title, **about)
    heads["detectable"] = (
        ERRORS_DETECTABLE * (heads["high"] - heads["low"]) / (2 * ERRORS_OF_INTERVAL)
    )
    title = "Mean differences of NDCG@10 over data sets, of our methods to each peer"
    formats = {"worst_difference": "+.4f"}
    publish(heads, "quality_headline", arguments.output, title=title, formats=formats, **about)
    title = (
        "Mean differences of NDCG@10 over the real data sets to LightGBM's LambdaMART in the same "
        "protocol"
    )
    summaries = {protocol: summary(table) for protocol, table in tables.items()}
    table = pd.concat([table.assign(protocol=protocol) for protocol, table in summaries.items()])
    table.insert(0, "protocol", table.pop("protocol"))
    publish(table, "quality", arguments.output, title=title, formats=formats, **about)
    if "untuned" in tables:
        plot(tables["untuned"], heads, picture_path("quality", arguments.output))
        plot_time(summaries["untuned"], picture_path("quality_time", arguments.output))


if __name__ == "__main__":
    main()
