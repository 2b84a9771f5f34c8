"""From training to serving: a model file that LightGBM reads without boostrank, SHAP values, and ONNX.

python examples/production.py [--output FOLDER]

The last two parts need shap, onnxmltools and onnxruntime.
"""

import argparse
import tempfile
from pathlib import Path

import lightgbm as lgb
import numpy as np
import onnxruntime
import pandas as pd
import shap

import boostrank as br
from boostrank.displays import style

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--output", type=Path, metavar="FOLDER", help="write the picture production.png there")
arguments = parser.parse_args()

X, y, qid = br.make_ranking(n_queries=200, random_state=0)
features = pd.DataFrame(X.astype(np.float32), columns=[f"feature_{i}" for i in range(X.shape[1])])
train, test = br.split_queries(qid, 0.3, random_state=0)
stopping = {"n_estimators": 300, "early_stopping_rounds": 20, "validation_fraction": 0.2, "refit": True}
ranker = br.LightGBMRanker("softmax", k=10, **stopping, random_state=0, n_jobs=1)
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
    print(f"Loaded again, the model has {again.best_iteration_} rounds, and NDCG@10 {ndcg:.4f} on test queries.")
    path.write_text(path.read_text().replace("leaf_value=", "leaf_value=1", 1))
    try:
        br.LightGBMRanker().load_model(path)
        refused = False
    except ValueError as error:
        refused = True
        reason = str(error).split("' is ")[-1].split(". ")[0].rstrip(".")
        print(f"A file that somebody has edited is refused: it is {reason}.")

# Why does a document have its score? Its SHAP values and the base value sum to the score.
values = shap.TreeExplainer(ranker.booster_)(new)
assert np.allclose(values.values.sum(axis=1) + values.base_values, scores)
rows = np.flatnonzero(qid == qid[0])
first = rows[np.argmax(scores[rows])]
contributions = pd.Series(values.values[first], index=features.columns).sort_values(key=np.abs, ascending=False)
largest = contributions.index[0]
print(
    f"Query {qid[0]}: row {test[first]} has the highest score of {len(rows)} documents. {largest} contributes most to "
    f"it, "
    f"{contributions.iloc[0]:+.2f}, because its value is {new[largest].iloc[first]:.2f}."
)
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
same = "is the same" if np.isclose(onnx_ndcg, ndcg, atol=1e-6) else f"differs by {abs(onnx_ndcg - ndcg):.1g}"
print(
    f"Learned: one model serves in three ways, with boostrank, with LightGBM alone and with ONNX; NDCG@10 on test "
    f"queries "
    f"{same} with ONNX{', and a damaged file is not loaded' if refused else ''}."
)

if arguments.output:
    arguments.output.mkdir(parents=True, exist_ok=True)
    ax = style.axes(None, 3.2)
    shown = contributions[::-1]
    ax.barh(
        [f"{name} = {new[name].iloc[first]:.2f}" for name in shown.index],
        shown,
        color=[style.BLUE if value > 0 else style.ORANGE for value in shown],
        hatch=["" if value > 0 else "///" for value in shown],
        edgecolor="white",
    )
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set(xlabel="contribution to the score (SHAP value)", ylabel="feature and its value")
    ax.set_title(f"the first document of query {qid[0]}, with the score {scores[first]:.2f}", fontsize="medium")
    style.light_grid(ax, "x")
    ax.figure.savefig(arguments.output / "production.png", dpi=80)
