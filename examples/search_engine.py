"""From logged features to a ranked page: requests, judgments, training, and export.

Rankers are compared, and the export is checked.

python examples/search_engine.py [--output FOLDER]

No engine runs: the answers are made up, in the form in which each engine logs features.
"""

import argparse
import json
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

import boostrank as br

try:
    import treelite  # noqa: F401
except ImportError as error:
    raise SystemExit(f"This example needs treelite ({error}): pip install treelite") from None

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument(
    "--output", type=Path, metavar="FOLDER", help="write the picture search_engine.png there"
)
arguments = parser.parse_args()
if arguments.output and not find_spec("matplotlib"):
    parser.error("--output needs matplotlib: pip install matplotlib")

NAMES = [
    "title_bm25",
    "body_bm25",
    "popularity",
    "price",
    "age_days",
    "clicks",
    "rating",
    "stock",
    "images",
    "length",
]
VESPA = ["bm25(title)", "bm25(body)", *(f"attribute({name})" for name in NAMES[2:])]
# Elastic is what Elasticsearch has itself, and not the plugin; it adds a constant to scores from
# 8.19 on.
VERSIONS = {
    "elasticsearch": "8.14",
    "opensearch": "3.8",
    "elastic": "8.15",
    "solr": "9.2",
    "vespa": "8.700",
}
REQUESTS = {"model": "shop", "index": "products", "parameters": {"keywords": "lamp"}}


def answer(engine, names, documents):
    """The answer of an engine to the request "log", as JSON.

    It is made from a dict of the values of each document by its id.
    """
    hits = []
    for document, values in documents.items():
        # A document that the query of a feature does not match has no value of it.
        logged = {
            name: round(float(x), 4) for name, x in zip(names, values, strict=True) if x > -1.5
        }
        if engine == "solr":
            features = ",".join(f"{name}={value}" for name, value in logged.items())
            hits.append({"id": document, "[features]": features})
        elif engine == "vespa":
            hits.append(
                {
                    "id": document,
                    "fields": {"matchfeatures": {name: logged.get(name) for name in names}},
                }
            )
        elif engine == "elastic":
            hits.append({"_id": document, "matched_queries": logged})
        else:
            features = [
                {"name": name, **({"value": logged[name]} if name in logged else {})}
                for name in names
            ]
            hits.append({"_id": document, "fields": {"_ltrlog": [{"features": features}]}})
    wholes = {"solr": {"response": {"docs": hits}}, "vespa": {"root": {"children": hits}}}
    return json.dumps(wholes.get(engine, {"hits": {"hits": hits}}))


# Documents that queries found, and grades of judges. A real log comes from sending the request
# "log" for each query.
log_request = br.serving.requests("elasticsearch", NAMES, **REQUESTS)["log"]
print(
    f"{log_request.method} {log_request.path} is sent for each query: "
    f"{json.dumps(log_request.body)}"
)
values, grades, qid = br.make_ranking(200, random_state=0)
judgments = pd.Series(
    grades,
    pd.MultiIndex.from_arrays(
        [qid, [f"doc{i}" for i in range(len(qid))]], names=["qid", "document"]
    ),
    name="grade",
)
logs = {}
for engine in VERSIONS:
    names = VESPA if engine == "vespa" else NAMES
    answers = {}
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        answers[query] = answer(engine, names, {f"doc{row}": values[row] for row in rows})
    # A value that is not there counts as 0, for the model too.
    logs[engine] = br.serving.read_log(engine, answers, names).fillna(0).set_axis(NAMES, axis=1)
    assert logs[engine].equals(logs["elasticsearch"])

table = logs["elasticsearch"].join(judgments, how="inner")
X, y, qid = table[NAMES], table["grade"].to_numpy(), table.index.get_level_values("qid").to_numpy()
print(
    f"The log has {len(answers)} queries with {len(table):,} documents, and {len(NAMES)} features "
    "of each."
)

train, test = br.split_queries(qid, 0.3, random_state=0)
rankers = {
    "LambdaMART": br.LightGBMRanker("lambdarank", n_jobs=1),
    "default": br.LightGBMRanker(n_jobs=1),
}
comparison = br.compare(rankers, X.iloc[train], y[train], qid[train], cv=3, measures="ndcg@10")
print(comparison)
ranker = rankers["default"].fit(X.iloc[train], y[train], qid[train])
new = X.iloc[test]
scores = ranker.predict(new)
ndcg = br.ndcg_score(y[test], scores, qid[test], k=10)

# What is sent for the last query, and the page that the engine makes of its documents.
last = qid[test] == qid[test][-1]
sizes, differences = {}, {}
with tempfile.TemporaryDirectory() as folder:
    for engine, version in VERSIONS.items():
        path = Path(folder, f"{engine}.json")
        names = VESPA if engine == "vespa" else NAMES
        # No file is written if the engine would compute other scores on these documents. No score
        # is negative.
        ranker.export(
            path,
            engine,
            features=names,
            name=None if engine == "vespa" else "shop",
            version=version,
            shift="min",
            check=new,
        )
        requests = br.serving.requests(engine, names, **REQUESTS)
        document = path.read_text()
        found = br.serving.evaluate(
            engine, document, dict(zip(names, new.to_numpy().T, strict=True)), version=version
        )
        sizes[engine] = len(document)
        differences[engine] = np.ptp(found - scores)
        assert found.min() >= 0
        assert np.isclose(br.ndcg_score(y[test], found, qid[test], k=10), ndcg)
        page = pd.Series(found[last], new.index[last].get_level_values("document")).nlargest(3)
        print(
            f"{engine}: {', '.join(f'{name} {score:.3f}' for name, score in page.items())} after "
            "the requests"
        )
        for purpose, request in requests.items():
            print(f"    {purpose:<8} {request.method} {request.path}")
for engine, size in sizes.items():
    print(
        f"The model for {engine} has {size / 1000:,.0f} kB; differences of scores change by "
        f"{differences[engine]:.1g}."
    )
print(
    f"Learned: one ranker, with NDCG@10 {ndcg:.4f} on new queries, has the same NDCG in "
    f"{len(sizes)} search engines, because scores change by at most "
    f"{max(differences.values()):.1g}, the precision of float32."
)

if arguments.output:
    arguments.output.mkdir(parents=True, exist_ok=True)
    comparison.plot("ndcg@10").figure_.savefig(arguments.output / "search_engine.png", dpi=160)
