"""From training to serving: a model file that LightGBM reads by itself, SHAP values, and ONNX.

python examples/production.py [--output FOLDER]

The last two parts need shap, onnxmltools and onnxruntime.
"""

import argparse
import tempfile
from importlib.util import find_spec
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pandas as pd

import boostrank as br
from boostrank.displays import ContributionDisplay

try:
    import onnxmltools  # noqa: F401
    import onnxruntime
    import shap
except ImportError as error:
    raise SystemExit(
        f"This example needs shap, onnxmltools and onnxruntime ({error}): pip install shap "
        "onnxmltools onnxruntime"
    ) from None

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument(
    "--output", type=Path, metavar="FOLDER", help="write the picture production.png there"
)
arguments = parser.parse_args()
if arguments.output and not find_spec("matplotlib"):
    parser.error("--output needs matplotlib: pip install matplotlib")

X, y, qid = br.make_ranking(n_queries=200, random_state=0)
features = pd.DataFrame(X.astype(np.float32), columns=[f"feature_{i}" for i in range(X.shape[1])])
train, test = br.split_queries(qid, 0.3, random_state=0)
ranker = br.LightGBMRanker(n_estimators=100, learning_rate=0.1, random_state=0, n_jobs=1)
ranker.fit(features.iloc[train], y[train], qid[train])
new, y, qid = features.iloc[test], y[test], qid[test]
scores = ranker.predict(new)

with tempfile.TemporaryDirectory() as folder:
    # The file is LightGBM's own format; the server needs lightgbm only.
    path = Path(folder) / "ranker.txt"
    ranker.save_model(path)
    served = lgb.Booster(model_file=path)
    assert np.array_equal(served.predict(new), scores)
    print("LightGBM alone reads the saved model, and predicts the same scores for new documents.")

    # boostrank reads it too, and refuses a file that was cut off or edited.
    again = br.LightGBMRanker(k=10).load_model(path)
    ndcg = again.score(new, y, qid)
    print(
        f"Loaded again, the model has {again.best_iteration_} rounds, and NDCG@10 {ndcg:.4f} on "
        "test queries."
    )
    path.write_text(path.read_text().replace("leaf_value=", "leaf_value=1", 1))
    try:
        br.LightGBMRanker().load_model(path)
        refused = False
    except ValueError as error:
        refused = True
        reason = str(error).split("' is ")[-1].split(". ")[0].rstrip(".")
        print(
            f'A file that somebody has edited is refused, with the message that it "is {reason}".'
        )

# Why does a document have its score? Its contributions, which are SHAP values, and the expected
# score add up to it.
why = br.explain(ranker, new, qid, query=qid[0], ranks=1)
largest = why.table.iloc[0]
print(
    f"Query {why.query}: row {test[why.rows[0]]} has the highest score of {len(why.ranking)} "
    f"documents. {largest['feature']}, with the value {largest['value_a']:.2f}, contributes most "
    f"to it: {largest['contribution_a']:+.2f}."
)
values = shap.TreeExplainer(ranker.booster_)(new)
assert np.allclose(values.values.sum(axis=1) + values.base_values, scores)
assert np.allclose(
    values.values[why.rows[0]][new.columns.get_indexer(why.table["feature"])],
    why.table["difference"],
)
print("The package shap, for its plots over many documents, computes the same values.")
gain = ranker.get_feature_importances("gain")
print("Share of each feature in the gain of all splits:")
for name, share in (gain / gain.sum()).head(3).items():
    print(f"  {name:11} {share:4.0%}")

# ONNX, for a server without LightGBM.
session = onnxruntime.InferenceSession(ranker.to_onnx().SerializeToString())
(onnx_scores,) = session.run(None, {"X": new.to_numpy()})
difference = np.abs(onnx_scores.ravel() - scores).max()
onnx_ndcg = br.ndcg_score(y, onnx_scores.ravel(), qid, k=10)
print(f"The scores of ONNX differ by at most {difference:.1g}, because it computes in float32.")
same = (
    "is the same"
    if np.isclose(onnx_ndcg, ndcg, atol=1e-6)
    else f"differs by {abs(onnx_ndcg - ndcg):.1g}"
)
print(
    "Learned: one model serves in three ways, with boostrank, with LightGBM alone and with ONNX; "
    f"NDCG@10 on test queries {same} with "
    f"ONNX{', and a damaged file is not loaded' if refused else ''}."
)

if arguments.output:
    arguments.output.mkdir(parents=True, exist_ok=True)
    figure = ContributionDisplay(br.explain(ranker, new, qid, query=qid[0])).plot().figure_
    figure.savefig(arguments.output / "production.png", dpi=160)
