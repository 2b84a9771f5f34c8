"""The experiment of large_experiment.md: our rankers and those of the libraries, equally tuned.

python benchmarks/large_experiment.py NAME=FOLDER ... --runs FOLDER [--dry-run]
python benchmarks/large_experiment.py --synthetic FOLDER

NAME is MSLR-WEB30K, Yahoo-set1, Yahoo-set2, Istella-S or Istella, and FOLDER has its files as they
are distributed. Any other name is a small set, for a trial: FOLDER is then what quality.py takes.
--synthetic writes files of these formats and a tenth of their sizes.

Each training has a process of its own, and is a file in the folder of --runs: an interrupted
experiment continues where it stopped. The folder is for one plan, with the same files, versions and
sources; for another plan, take another folder. A training that needs more memory or time than the
plan allows, or that fails, is a file with the reason, and is not run again (delete the file for
that). Several machines can run parts of the sets; copy their files into one folder then.

At the end, or with --report-only, the report is written: see large_report.py. --dry-run prints the
number of trainings and the estimated time, and trains nothing.
"""

import argparse
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import zlib
from collections import Counter
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from jobs import write_result
from large_methods import METHODS, space
from large_sets import KNOWN, file_sizes, make_synthetic, read_split, set_of
from reporting import FOLDER, PACKAGES, markdown, versions

import boostrank as br

#: Protocols, and what they say of a training; see the plan.
TUNED, EARLY_STOPPING, LEFT_OUT = "tuned", "early stopping", "left-out queries"
#: Nanoseconds of one thread for a document, a feature and a round with 63 leaves, by library: those
#: of the busy machine of the trial.
COSTS = {"lightgbm": 15.0, "xgboost": 16.0, "catboost": 33.0}
#: Rounds that a training is estimated to have, and the time beside training: imports and reading.
ESTIMATED_ROUNDS, OVERHEAD_S = 500, 20
#: A process is ended after the time of its training times this, and this number of seconds.
SLACK, SLACK_S = 1.5, 600

#: A value of at least 1e39, as bytes of a file.
TOO_LARGE = re.compile(rb"(?<=:)[-+]?\d+(?:\.\d*)?[eE]\+?(?:39|[4-9]\d|[1-9]\d\d)(?=\s)")


@dataclass(frozen=True)
class Plan:
    """The budget of the experiment; the defaults are those of large_experiment.md.

    Attributes
    ----------
    trials : int
        Number of draws of the settings of a ranker in a search.
    rounds : int
        The largest number of boosting rounds.
    patience : int
        Rounds without a better NDCG@10 on the validation queries, after which training ends.
    seconds : int
        The longest time of a training.
    repeats : int or None
        Number of searches on each split, each with seeds of its own; None is that of the set.
    splits : int or None
        Only the first splits of each set, for a trial.
    memory_gb : float
        Of a training, in GB of 2^30 bytes.
    """

    trials: int = 16
    rounds: int = 2000
    patience: int = 100
    seconds: int = 900
    repeats: int | None = None
    splits: int | None = None
    memory_gb: float = 20.0


@dataclass(frozen=True)
class Job:
    """A training.

    Attributes
    ----------
    data : str
        Name of the set.
    split, repeat : int
    lists : bool
        Whether the features of lists are added.
    method : str
    protocol : str
    trial : int or None
        Number of the draw; None is the training that predicts the test queries.
    """

    data: str
    split: int
    repeat: int
    lists: bool
    method: str
    protocol: str
    trial: int | None = None

    @property
    def file(self):
        """Name of the file of its result."""
        parts = (*asdict(self).values(),)
        return re.sub(r"[^\w.-]+", "_", "-".join(map(str, parts))) + ".json"

    @property
    def search(self):
        """The seed of the draws: another one for each set, split and repeat."""
        return [zlib.crc32(self.data.encode()), self.split, self.repeat]

    @property
    def seed(self):
        """The seed of the training, equal for all methods; that of the test is one of its own."""
        number = 0 if self.trial is None else self.trial + 1
        return int(np.random.default_rng([*self.search, number, 1]).integers(2**31 - 1))


def jobs_of(sets, plan):
    """All trainings, the trials of a search before the training that takes the best of them."""
    n_splits = max(len(about.files) for about in sets.values())
    n_repeats = plan.repeats or max(about.repeats for about in sets.values())
    # All sets have one repeat of one split before any has another one.
    for repeat, split, (name, about) in product(range(n_repeats), range(n_splits), sets.items()):
        repeats = about.repeats if plan.repeats is None else plan.repeats
        splits = len(about.files) if plan.splits is None else min(plan.splits, len(about.files))
        if repeat >= repeats or split >= splits:
            continue
        for lists, method in product(about.lists, METHODS):
            job = Job(name, split, repeat, lists, method, EARLY_STOPPING)
            yield job
            if METHODS[method].is_ours:
                yield replace(job, protocol=LEFT_OUT)
            tuned = replace(job, protocol=TUNED)
            for trial in range(plan.trials):
                yield replace(tuned, trial=trial)
            yield tuned


def best_trial(job, plan, folder):
    """Number of the trial with the best validation queries; None if all trials failed."""
    results = [
        json.loads((folder / replace(job, trial=trial).file).read_text())
        for trial in range(plan.trials)
    ]
    values = [result.get("validation", -np.inf) for result in results]
    return None if max(values) == -np.inf else int(np.argmax(values))


def run(job, paths, plan, folder, threads):
    """Train in a process of its own; a failure is a result with its reason."""
    trial = job.trial
    if trial is None and job.protocol == TUNED:
        trial = best_trial(job, plan, folder)
        if trial is None:
            return {"failed": "all trials failed"}
    work = {**asdict(job), **asdict(plan), "path": paths[job.data], "draw": trial}
    work |= {"search": job.search, "seed": job.seed, "threads": threads}
    work |= {"by_left_out": job.protocol == LEFT_OUT}
    command = [sys.executable, str(FOLDER / "large_training.py"), json.dumps(work)]
    # The limit of memory counts what threads of numerical libraries reserve.
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    timeout = SLACK * plan.seconds + SLACK_S
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"ended after {timeout:.0f} s"}
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    return {"failed": reason(done, plan)}


def reason(done, plan):
    """Why a process failed, in one line."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    text = lines[-1][:300] if lines else f"exit status {done.returncode}"
    if re.search(r"MemoryError|bad_alloc|[Uu]nable to allocate|out of memory", done.stderr):
        return f"needs more than {plan.memory_gb:g} GB: {text}"
    if done.returncode < 0:
        # A library that gets no memory may abort without a word.
        name = signal.Signals(-done.returncode).name
        return f"ended by {name}, perhaps because it needs more than {plan.memory_gb:g} GB"
    return text


def run_all(jobs, paths, plan, folder, threads):
    """Run the trainings that have no file yet; each file is written in one step."""
    missing = [job for job in jobs if not (folder / job.file).exists()]
    start = time.perf_counter()
    for number, job in enumerate(missing, 1):
        result = run(job, paths, plan, folder, threads)
        write_result(folder / job.file, {**asdict(job), **result})
        passed = time.perf_counter() - start
        text = result.get("failed") or f"{result['train_s']:.1f} s, {result['peak_gb']:.1f} GB"
        left = passed / number * (len(missing) - number) / 3600
        print(f"{number}/{len(missing)} {job.file[:-5]}: {text}; {left:.1f} h left", flush=True)


def prepare(folder, plan, paths, sets, threads):
    """Write what the folder is for, or refuse to continue with something else."""
    counts = Counter(job.data for job in jobs_of(sets, plan))
    present = {
        "plan": asdict(plan),
        "spaces": {method: space(method) for method in METHODS},
        "versions": versions((*PACKAGES, "catboost")).partition(";")[0],
        "sources": sources(),
        "threads": threads,
    }
    present = json.loads(json.dumps(present))
    folder.mkdir(parents=True, exist_ok=True)
    path, files = folder / "plan.json", {}
    if path.exists():
        before = json.loads(path.read_text())
        files = before.pop("files")
        changed = [name for name in present if before.get(name) != present[name]]
        if changed:
            raise SystemExit(
                f"{folder} has trainings of another experiment: {', '.join(changed)} differ from "
                f"those in {path}. Continue with the same, or give another folder to --runs"
            )
    for name, where in paths.items():
        found = {"bytes": file_sizes(name, where), "trainings": counts[name]}
        if files.setdefault(name, found) != found:
            raise SystemExit(f"{folder} has trainings on other files of {name}: sizes differ")
    write_result(path, {**present, "files": files})


def without_large_values(name, path, folder):
    """The folder of copies of the files of a set in which too large values are "nan".

    Files are copied in blocks of lines, so that this needs little memory.
    """
    target = folder / "files" / name
    for file in file_sizes(name, path):
        copy = target / file
        if copy.exists():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        draft = copy.with_suffix(".draft")
        with Path(path, file).open("rb") as source, draft.open("wb") as writer:
            while lines := source.readlines(2**24):
                writer.write(TOO_LARGE.sub(b"nan", b"".join(lines)))
        draft.replace(copy)
    return str(target)


def sources():
    """A hash of the sources of boostrank and of this experiment."""
    paths = [*Path(br.__file__).parent.rglob("*.py"), *Path(br.__file__).parent.rglob("*.c")]
    paths += [FOLDER / f"large_{part}.py" for part in ("methods", "sets", "training")]
    total = hashlib.sha256()
    for path in sorted(paths):
        total.update(path.read_bytes())
    return total.hexdigest()[:16]


def estimate(jobs, sets, paths, plan, threads):
    """A row for each set: trainings, the estimated hours, and those that the plan allows."""
    documents = {name: count_documents(name, paths[name]) for name in sets}
    rows = {}
    for job in jobs:
        about, row = sets[job.data], rows.setdefault(job.data, [0, 0.0, 0.0])
        values = documents[job.data] * (about.n_features or 100) * (1 + 2 * job.lists)
        rounds = min(ESTIMATED_ROUNDS, plan.rounds)
        seconds = 1e-9 * COSTS[METHODS[job.method].library] * values * rounds / threads
        row[0] += 1
        row[1] += (min(seconds, plan.seconds) + OVERHEAD_S) / 3600
        row[2] += plan.seconds / 3600
    table = pd.DataFrame.from_dict(rows, "index", columns=["trainings", "hours", "at_most_h"])
    table.loc["all"] = table.sum()
    table["trainings"] = table["trainings"].astype(int)
    return table.reset_index(names="set")


def count_documents(name, path):
    """Documents to train on in the first split, from the lines of its file."""
    if name not in KNOWN:
        return len(read_split(name, path, 0, with_test=False).train.y)
    with Path(path, KNOWN[name].files[0][0]).open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(2**24), b""))


def parse_sets(texts, parser):
    """Names and folders of sets."""
    paths = dict(text.partition("=")[::2] for text in texts)
    if not paths or not all(paths.values()):
        parser.error("give sets as NAME=FOLDER")
    return paths


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", metavar="NAME=FOLDER")
    parser.add_argument("--runs", type=Path, help="folder for the result of each training")
    parser.add_argument("--synthetic", type=Path, help="write synthetic files into this folder")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--report-only", action="store_true")
    parser.add_argument("--output", type=Path, help="folder of the report; by default that of runs")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    of_part = {"type": lambda text: text.split(";"), "help": "only these, separated by semicolons"}
    parser.add_argument("--methods", default=list(METHODS), **of_part)
    parser.add_argument("--protocols", default=[TUNED, EARLY_STOPPING, LEFT_OUT], **of_part)
    budget = parser.add_argument_group(
        "budget", "other numbers than those of the plan, for a trial"
    )
    for field in fields(Plan):
        kind = float if field.name == "memory_gb" else int
        option = f"--{field.name.replace('_', '-')}"
        budget.add_argument(option, type=kind, default=field.default)
    arguments = parser.parse_args()
    if arguments.synthetic:
        make_synthetic(arguments.synthetic)
        return
    for name, known in (("methods", METHODS), ("protocols", (TUNED, EARLY_STOPPING, LEFT_OUT))):
        if unknown := set(getattr(arguments, name)) - set(known):
            parser.error(f"unknown {name} {sorted(unknown)}; known are {'; '.join(known)}")
    paths = parse_sets(arguments.sets, parser)
    plan = Plan(**{field.name: getattr(arguments, field.name) for field in fields(Plan)})
    if arguments.runs is None and not arguments.dry_run:
        parser.error("give a folder to --runs")

    sets = {name: set_of(name, path) for name, path in paths.items()}
    jobs = [
        job
        for job in jobs_of(sets, plan)
        if job.method in arguments.methods and job.protocol in arguments.protocols
    ]
    if arguments.dry_run:
        print(markdown(estimate(jobs, sets, paths, plan, arguments.threads)))
        return
    if not arguments.report_only:
        prepare(arguments.runs, plan, paths, sets, arguments.threads)
        for name, path in paths.items():
            if name in KNOWN and KNOWN[name].has_large_values:
                paths[name] = without_large_values(name, path, arguments.runs)
        run_all(jobs, paths, plan, arguments.runs, arguments.threads)
    from large_report import write_report

    print(write_report(arguments.runs, arguments.output or arguments.runs))


if __name__ == "__main__":
    main()
