"""Rows of earlier tables of quality_report.py, for methods that were not run again."""

import numpy as np
import pandas as pd
from quality_methods import PROTOCOLS

#: Two means of NDCG@10 with six digits that differ by more are not those of the same runs.
PRECISION = 1e-6
BY_SET, OF_HEADLINE = ["data", "method", "baseline"], ["protocol", "kind", "method", "peer"]


def read(folder, name):
    """An earlier table; SystemExit if there is none."""
    path = folder / f"{name}.csv"
    if not path.exists():
        raise SystemExit(f"--keep needs the earlier table {path}")
    return pd.read_csv(path, comment="#")


def keep_by_set(table, earlier, protocol):
    """`table` with the rows of an earlier one that it does not have.

    They have the sequence of the methods of the protocol.

    Raises
    ------
    SystemExit
        If a method has another mean in both: then kept differences to it would be to other runs.
    """
    new, old = (one.groupby(["data", "method"])["ndcg@10"].first() for one in (table, earlier))
    change = (new - old).dropna()
    if not (changed := change[change.abs() > PRECISION]).empty:
        names = "; ".join(
            f"{method} on {data} by {value:+.6f}" for (data, method), value in changed.items()
        )
        raise SystemExit(
            f"{protocol}: the mean NDCG@10 of some methods is not that of the earlier table, so "
            f"that its rows cannot be kept: {names}. Run all methods, and leave out --keep"
        )
    joined = _join(table, earlier, BY_SET)
    place = joined["method"].map({name: i for i, name in enumerate(PROTOCOLS[protocol])})
    return joined.iloc[np.lexsort([place, joined["data"]])]


def keep_headline(heads, earlier, best_peer):
    """`heads` with the rows of an earlier headline that it does not have.

    The best peer is that of all peers of a protocol. So its new rows are left out if there are no
    runs of some peers of the earlier headline, and its earlier rows are left out if there are runs
    of further peers.

    Raises
    ------
    SystemExit
        If the runs of a method are of fewer data sets than its earlier row.
    """
    new, old = (one.set_index(OF_HEADLINE)["sets"] for one in (heads, earlier))
    missing = (old - new).dropna()
    if not (fewer := missing[missing > 0]).empty:
        raise SystemExit(
            f"there are runs of fewer data sets than before for {fewer.index.tolist()}"
        )
    new_peers, old_peers = _peers(heads, best_peer), _peers(earlier, best_peer)
    for protocol in new_peers.keys() & old_peers.keys():
        if old_peers[protocol] - new_peers[protocol]:
            heads = _without(heads, protocol, best_peer)
        if new_peers[protocol] - old_peers[protocol]:
            earlier = _without(earlier, protocol, best_peer)
    joined = _join(heads, earlier, OF_HEADLINE)
    methods = [name for of_protocol in PROTOCOLS.values() for name in of_protocol]
    # "real" before "synthetic".
    places = [
        joined["method"].map(methods.index),
        joined["kind"],
        joined["protocol"].map(list(PROTOCOLS).index),
    ]
    return joined.iloc[np.lexsort(places)]


def _peers(heads, best_peer):
    """The peers of each protocol: ``{protocol: {name, ...}}``."""
    named = heads[heads["peer"] != best_peer]
    return {protocol: set(part["peer"]) for protocol, part in named.groupby("protocol")}


def _without(heads, protocol, peer):
    return heads[(heads["protocol"] != protocol) | (heads["peer"] != peer)]


def _join(table, earlier, keys):
    """The rows of `table`, and those of `earlier` with other values of the columns `keys`."""
    kept = earlier[
        ~pd.MultiIndex.from_frame(earlier[keys]).isin(pd.MultiIndex.from_frame(table[keys]))
    ]
    kept = kept[table.columns.intersection(kept.columns)]
    return pd.concat([table, kept.astype(table.dtypes[kept.columns].to_dict())], ignore_index=True)
