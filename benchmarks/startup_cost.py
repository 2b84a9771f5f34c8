"""Time and memory of imports, and of the first calls of an objective, each in fresh processes.

boostrank imports its modules when their names are first used, so that this is timed too, after scikit-learn in the same
process. All modules have been compiled to bytecode before, as in an installed package.

python benchmarks/startup_cost.py [--runs 7] [--output FOLDER]
"""

import tempfile

import numpy as np
import pandas as pd
from reporting import make_parser, publish
from timing import run_in_fresh_process

IMPORT = """
import resource, time
{before}
start = time.perf_counter()
{statement}
seconds = time.perf_counter() - start
print(1e3 * seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
SKLEARN = "import sklearn.base, sklearn.model_selection"
#: What is timed, after scikit-learn was imported.
STATEMENTS = (
    "import boostrank",
    "import boostrank; boostrank.ndcg_score",
    "import boostrank; boostrank.LightGBMRanker",
    "from boostrank import *",
)
CALL = """
import numpy as np, resource, time
from boostrank.objectives.labels import as_labels
from boostrank.objectives.objective import Objective
from boostrank import Queries
random = np.random.default_rng(0)
queries = Queries.from_sizes(random.integers(20, 221, 1000))
y, scores = random.integers(0, 5, queries.n_documents), random.normal(size=queries.n_documents)
start = time.perf_counter()
objective = Objective("softmax", as_labels(y), queries)
ms = [1e3 * (time.perf_counter() - start)]
for _ in range(20):
    start = time.perf_counter()
    objective.gradient_hessian(scores)
    ms.append(1e3 * (time.perf_counter() - start))
print(ms[0], ms[1], np.median(ms[2:]), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
STEPS = ("make the objective", "first call of gradient_hessian", "further calls of gradient_hessian")


def medians(code, runs, cache):
    """Medians over fresh processes of the numbers that `code` prints; a first process fills the folder `cache`."""
    # An empty text counts as unset.
    settings = {"PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
    return np.median([run_in_fresh_process(code, environment=settings) for _ in range(runs + 1)][1:], axis=0)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    pairs = [("pass", SKLEARN), *((SKLEARN, statement) for statement in STATEMENTS)]
    with tempfile.TemporaryDirectory() as cache:
        rows = [
            (statement, *medians(IMPORT.format(before=before, statement=statement), arguments.runs, cache))
            for before, statement in pairs
        ]
        *ms, megabytes = medians(CALL, arguments.runs, cache)
    rows += [(f"softmax on 120,000 documents: {step}", value, megabytes) for step, value in zip(STEPS, ms, strict=True)]
    publish(
        pd.DataFrame(rows, columns=["step", "ms", "peak_mb"]),
        "startup_cost",
        arguments.output,
        title=f"Time and peak memory of the first steps, medians of {arguments.runs} fresh processes",
        seeds="0",
    )


if __name__ == "__main__":
    main()
