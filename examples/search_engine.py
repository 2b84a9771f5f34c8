"""From the log of a search engine to a model in it: features, judgments, training, comparison, export and its check.

python examples/search_engine.py [--output FOLDER]

The responses are simulated, in the format in which the plugins of Elasticsearch and OpenSearch log features.
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
parser.add_argument("--output", type=Path, metavar="FOLDER", help="write the picture search_engine.png there")
arguments = parser.parse_args()
if arguments.output and not find_spec("matplotlib"):
    parser.error("--output needs matplotlib: pip install matplotlib")

NAMES = ["title_bm25", "body_bm25", "popularity", "price", "age_days", "clicks", "rating", "stock", "images", "length"]
VESPA = ["bm25(title)", "bm25(body)", *(f"attribute({name})" for name in NAMES[2:])]
# Elastic is what Elasticsearch has itself, and not the plugin; it adds a constant to scores from 8.19 on.
VERSIONS = {"elasticsearch": "8.14", "opensearch": "3.8", "elastic": "8.15", "solr": "9.2", "vespa": "8.700"}
# The same set of features is logged now, and computed for the model later.
template = br.serving.feature_set("elasticsearch", NAMES, name="shop")
features = json.loads(template)["featureset"]["features"]


def simulate_log(n_queries):
    """A response of the search engine for each query, as JSON, and judgments: a grade for each query and document."""
    X, y, qid = br.make_ranking(n_queries, random_state=0)
    responses, judgments = {}, {}
    for query in np.unique(qid):
        hits = []
        for row in np.flatnonzero(qid == query):
            # A document that a feature's query does not match has no value of it.
            values = [{"value": round(float(x), 4)} if x > -1.5 else {} for x in X[row]]
            logged = [{"name": each["name"], **value} for each, value in zip(features, values, strict=True)]
            hits.append({"_id": f"doc{row}", "fields": {"_ltrlog": [{"features": logged}]}})
            judgments[int(query), f"doc{row}"] = int(y[row])
        responses[int(query)] = json.dumps({"hits": {"hits": hits}})
    return responses, judgments


def read_log(responses):
    """A table with a row for each logged document. A value that is not there counts as 0, as for the model later."""
    rows = []
    for query, text in responses.items():
        for hit in json.loads(text)["hits"]["hits"]:
            (log,) = hit["fields"]["_ltrlog"]
            values = {feature["name"]: feature.get("value", 0.0) for feature in log["features"]}
            rows.append({"query": query, "document": hit["_id"], **values})
    return pd.DataFrame(rows)


responses, judgments = simulate_log(n_queries=200)
table = read_log(responses)
y = np.array([judgments[key] for key in zip(table["query"], table["document"], strict=True)])
# The engine holds features in float32. In float64, the model could tell apart what the engine cannot.
X, qid = table[NAMES].astype(np.float32), table["query"].to_numpy()
print(f"The log has {len(responses)} queries with {len(table):,} documents, and {len(NAMES)} features of each.")

train, test = br.split_queries(qid, 0.3, random_state=0)
rankers = {"LambdaMART": br.LightGBMRanker("lambdarank", n_jobs=1), "default": br.LightGBMRanker(n_jobs=1)}
comparison = br.compare(rankers, X.iloc[train], y[train], qid[train], cv=3, measures="ndcg@10")
print(comparison)
ranker = rankers["default"].fit(X.iloc[train], y[train], qid[train])
new = X.iloc[test]
scores = ranker.predict(new)
ndcg = br.ndcg_score(y[test], scores, qid[test], k=10)

sizes, differences = {}, {}
with tempfile.TemporaryDirectory() as folder:
    for engine, version in VERSIONS.items():
        path = Path(folder, f"{engine}.json")
        names = VESPA if engine == "vespa" else NAMES
        # No file is written if the engine would compute other scores on these documents. No score is negative.
        ranker.export(path, engine, features=names, version=version, shift="min", check=new)
        document = path.read_text()
        values = dict(zip(names, new.to_numpy().T, strict=True))
        found = br.serving.evaluate(engine, document, values, version=version)
        sizes[engine] = len(document)
        differences[engine] = np.ptp(found - scores)
        assert found.min() >= 0
        assert np.isclose(br.ndcg_score(y[test], found, qid[test], k=10), ndcg)
for engine, size in sizes.items():
    print(
        f"The model for {engine} has {size / 1000:,.0f} kB; differences of scores change by {differences[engine]:.1g}."
    )
print(
    f"Learned: one ranker, with NDCG@10 {ndcg:.4f} on new queries, has the same NDCG in {len(sizes)} search engines, "
    f"because scores change by at most {max(differences.values()):.1g}, the precision of float32."
)

if arguments.output:
    arguments.output.mkdir(parents=True, exist_ok=True)
    comparison.plot("ndcg@10").figure_.savefig(arguments.output / "search_engine.png", dpi=160)
