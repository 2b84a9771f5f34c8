"""Time and memory of imports, and of the first calls of an objective, each in fresh processes.

boostrank imports its modules when their names are first used, so that this is timed too, after
scikit-learn in the same process. All modules have been compiled to bytecode before, as in an
installed package.

python benchmarks/startup_cost.py [--runs 7] [--output FOLDER]

Commands on a run of 20 queries, with judgments, are timed in processor seconds, and next to them
the import of pandas and the command of ir_measures.
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

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
from boostrank.ndcg.labels import as_labels
from boostrank.surrogates.base import BoundSurrogate
from boostrank import Queries
random = np.random.default_rng(0)
queries = Queries.from_sizes(random.integers(20, 221, 1000))
y, scores = random.integers(0, 5, queries.n_documents), random.normal(size=queries.n_documents)
start = time.perf_counter()
objective = BoundSurrogate("softmax", as_labels(y), queries)
ms = [1e3 * (time.perf_counter() - start)]
for _ in range(20):
    start = time.perf_counter()
    objective.gradient_hessian(scores)
    ms.append(1e3 * (time.perf_counter() - start))
print(ms[0], ms[1], np.median(ms[2:]), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
STEPS = (
    "make the objective",
    "first call of gradient_hessian",
    "further calls of gradient_hessian",
)


def medians(code, runs, cache):
    """Medians over fresh processes of the numbers that `code` prints.

    A first process fills the folder `cache`.
    """
    # An empty text counts as unset.
    settings = {"PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
    return np.median(
        [run_in_fresh_process(code, environment=settings) for _ in range(runs + 1)][1:], axis=0
    )


def write_run(folder):
    """Files of judgments and of a run."""
    rows = [(query, document) for query in range(20) for document in range(10)]
    Path(folder, "qrels").write_text("".join(f"{q} 0 d{d} {(q * d) % 3}\n" for q, d in rows))
    Path(folder, "run").write_text("".join(f"{q} Q0 d{d} {d + 1} {10 - d} tag\n" for q, d in rows))


def command_rows(runs, cache):
    """Median processor milliseconds of whole processes of commands, which take turns."""
    boostrank = [sys.executable, "-m", "boostrank"]
    commands = {
        "process: import pandas": [sys.executable, "-c", "import pandas"],
        "process: ndcg_score of two documents": [
            sys.executable,
            "-c",
            "import boostrank as br; br.ndcg_score([1, 0], [1.0, 2.0], [1, 1])",
        ],
        "process: boostrank --help": [*boostrank, "--help"],
        "process: boostrank evaluate --qrels Q --run R": [
            *boostrank,
            "evaluate",
            "--qrels",
            "qrels",
            "--run",
            "run",
        ],
        "process: ir_measures qrels run nDCG@10": [
            sys.executable,
            "-m",
            "ir_measures",
            "qrels",
            "run",
            "nDCG@10",
        ],
    }
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
    ms = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        write_run(folder)
        for _ in range(runs + 1):
            for name, command in commands.items():
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run(
                    command, cwd=folder, env=environment, capture_output=True, check=True
                )
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                ms[name].append(
                    1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
                )
    # The first process of each compiles modules to bytecode.
    return [(name, np.median(values[1:]), np.nan) for name, values in ms.items()]


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    pairs = [("pass", SKLEARN), *((SKLEARN, statement) for statement in STATEMENTS)]
    with tempfile.TemporaryDirectory() as cache:
        rows = [
            (
                statement,
                *medians(IMPORT.format(before=before, statement=statement), arguments.runs, cache),
            )
            for before, statement in pairs
        ]
        rows += command_rows(arguments.runs, cache)
        *ms, megabytes = medians(CALL, arguments.runs, cache)
    rows += [
        (f"softmax on 120,000 documents: {step}", value, megabytes)
        for step, value in zip(STEPS, ms, strict=True)
    ]
    publish(
        pd.DataFrame(rows, columns=["step", "ms", "peak_mb"]),
        "startup_cost",
        arguments.output,
        title=f"Time and peak memory of the first steps, medians of {arguments.runs} fresh "
        "processes",
        seeds="0",
    )


if __name__ == "__main__":
    main()
