"""Record rankers with MLflow, load the best one again, and share it with skops.

python examples/tracking.py [--output FOLDER]

Needs the packages mlflow (or mlflow-skinny) and skops. Each ranker is a run of MLflow with its
parameters, NDCG of the validation queries by round, measures of the test queries, a picture and the
model. The runs go to a temporary folder; in a project, leave out `set_tracking_uri`, and they go
where the variable MLFLOW_TRACKING_URI says.
"""

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np

import boostrank as br
from boostrank import displays

# Newer versions of MLflow ask for it where runs are stored as files, without a data base.
os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
try:
    import mlflow
    import mlflow.sklearn
    import skops.io
except ImportError as error:
    raise SystemExit(
        f"This example needs mlflow and skops ({error}): pip install mlflow skops"
    ) from None

MEASURES = ["ndcg@10", "map", "mrr"]

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--output", type=Path, metavar="FOLDER", help="write the picture there")
output = parser.parse_args().output

X, y, qid = br.make_ranking(n_queries=300, random_state=0)
rest, test = br.split_queries(qid, 0.3, random_state=0)
train, valid = br.split_queries(qid[rest], 0.3, random_state=0)
train, valid = rest[train], rest[valid]


def record(loss):
    """Train a ranker, and record it as a run."""
    ranker = br.LightGBMRanker(loss, random_state=0, n_jobs=1)
    with mlflow.start_run(run_name=loss):
        validation_set = {"eval_set": [(X[valid], y[valid], qid[valid])], "eval_metric": "ndcg@10"}
        ranker.fit(X[train], y[train], qid=qid[train], **validation_set)
        mlflow.log_params(ranker.get_params())
        (validation,) = ranker.evals_result_.values()
        for iteration, value in enumerate(validation["ndcg@10"], 1):
            mlflow.log_metric("validation ndcg at 10", value, step=iteration)
        # Names of MLflow have no "@".
        found = br.evaluate(y[test], ranker.predict(X[test]), qid[test], MEASURES)
        mlflow.log_metrics({name.replace("@", " at "): value for name, value in found.items()})
        shown = displays.TrainingCurveDisplay.from_estimator({loss: ranker})
        mlflow.log_figure(shown.figure_, "training_curve.png")
        # Without requirements MLflow would look for them in a process of its own, which takes
        # longer than the training.
        kept = mlflow.sklearn.log_model(
            ranker,
            name="ranker",
            pip_requirements=["boostrank"],
            skops_trusted_types=br.serving.TRUSTED_TYPES,
        )
    return ranker, kept.model_uri


with tempfile.TemporaryDirectory() as folder:
    mlflow.set_tracking_uri(Path(folder, "runs").as_uri())
    mlflow.set_experiment("rankers")
    recorded = {loss: record(loss) for loss in ("softmax", "pairwise-exponential", "lambdarank")}
    runs = mlflow.search_runs(order_by=["metrics.`ndcg at 10` DESC"], output_format="list")
    for run in runs:
        values = ", ".join(
            f"{name} {run.data.metrics[name.replace('@', ' at ')]:.4f}" for name in MEASURES
        )
        print(
            f"{run.info.run_name}: {values}, after "
            f"{recorded[run.info.run_name][0].best_iteration_} rounds."
        )
    best = runs[0].info.run_name
    ranker, uri = recorded[best]
    loaded = mlflow.sklearn.load_model(uri)
    same = np.array_equal(loaded.predict(X[test]), ranker.predict(X[test]))

    # The same without MLflow: one file, in which whoever loads it sees first what it contains.
    path = Path(folder, "ranker.skops")
    skops.io.dump(ranker, path)
    unknown = skops.io.get_untrusted_types(file=path)
    print(f"The file of skops asks for trust in {' and '.join(unknown)}.")
    shared = skops.io.load(path, trusted=br.serving.TRUSTED_TYPES)
    same = same and np.array_equal(shared.predict(X[test]), ranker.predict(X[test]))
    size = path.stat().st_size / 1024

if output:
    output.mkdir(parents=True, exist_ok=True)
    rankers = {loss: one for loss, (one, _) in recorded.items()}
    picture = displays.TrainingCurveDisplay.from_estimator(rankers)
    picture.figure_.savefig(output / "tracking.png", dpi=160)
print(
    f"Learned: of {len(runs)} runs, {best} is best on the test queries; its model from MLflow and "
    f"from a file of skops of {size:.0f} KiB {'give' if same else 'do not give'} the same scores."
)
