"""Command line, tables and CSV files of all benchmarks.

A script makes its parser with :func:`make_parser` and gives its full table to :func:`publish`,
which prints the table as Markdown and writes it as CSV. The CSV file begins with comment lines: the
title, the day, the command, the seeds and the versions. ``pandas.read_csv(path, comment="#")``
skips them.
"""

import argparse
import datetime
import os
import platform
import re
import shlex
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

FOLDER = Path(__file__).parent
PACKAGES = ("boostrank", "lightgbm", "xgboost", "numpy", "scikit-learn")
#: How the numbers of a column are printed, by the first pattern that matches its whole name.
FORMATS = {
    r"ndcg.*|lambdamart.*|choice|majorant|exact": ".4f",
    r"difference|low|high|mean": "+.4f",
    r"p|p_holm": ".3f",
    r"(.*_)?share.*|mean_change": ".1%",
    r".*_mb|.*_per_s|median_rounds": ".0f",
    r"times_.*|.*_times_.*|.*ratio|exponent|.*_s|seconds": ".2f",
    r"ms|.*_ms|ns_.*|quartile_.": ".1f",
}


def make_parser(description):
    """A parser that prints `description` as it is, with the option ``--output``."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--output",
        type=Path,
        help="folder for tables and pictures, in place of benchmarks/results and "
        "benchmarks/figures",
    )
    return parser


def versions(packages=PACKAGES):
    """Versions of Python and packages, number of cores and kind of processor, in one line."""
    texts = [
        f"Python {platform.python_version()}",
        *(f"{name} {version(name)}" for name in packages),
    ]
    return f"{', '.join(texts)}; {os.cpu_count()} cores, {platform.machine()}"


def publish(table, name, output, *, title, seeds, formats=None, notes=(), packages=PACKAGES):
    """Print `table` as Markdown, and write it to NAME.csv.

    Parameters
    ----------
    table : DataFrame
    name : str
        Name of the file without suffix.
    output : Path or None
        Folder of the file; None is benchmarks/results.
    title : str
        One line that says what the rows are.
    seeds : str
        The random seeds that the figures depend on.
    formats : mapping of column to format, optional
        How numbers are printed where `FORMATS` does not say it; the file has six digits of all of
        them.
    notes : sequence of str
        Further comment lines of the file.
    packages : sequence of str
        Packages whose versions the file names.
    """
    command = shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    head = [
        title,
        f"measured on {datetime.date.today()} with: {command}",
        f"random seeds: {seeds}",
        versions(packages),
        *notes,
    ]
    print(f"\n{title}\n\n{markdown(table, formats)}")
    path = write_csv(table, (output or FOLDER / "results") / f"{name}.csv", head)
    print(f"\ntable: {path}", flush=True)


def write_csv(table, path, head):
    """Write `table` as CSV after the lines of `head`, each as a comment; return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"# {line}\n" for line in head)
        table.to_csv(file, index=False, float_format="%.6g", lineterminator="\n")
    return path


def picture_path(name, output):
    """Path of the picture NAME.png: in `output`, or in benchmarks/figures where that is None."""
    path = (output or FOLDER / "figures") / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def markdown(table, formats=None):
    """`table` as Markdown.

    Columns of numbers are aligned to the right, and missing values are empty.
    """
    formats = {**{column: _format_of(column) for column in table.columns}, **(formats or {})}
    rules = [
        "---:" if pd.api.types.is_numeric_dtype(table[column]) else "---"
        for column in table.columns
    ]
    lines = ["| " + " | ".join(map(str, table.columns)) + " |", "|" + "|".join(rules) + "|"]
    for row in table.itertuples(index=False):
        cells = [
            _cell(value, formats[column]) for column, value in zip(table.columns, row, strict=True)
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _format_of(column):
    return next((text for pattern, text in FORMATS.items() if re.fullmatch(pattern, column)), ".4g")


def _cell(value, number_format):
    if pd.isna(value):
        return ""
    return format(value, number_format) if isinstance(value, float) else str(value)


def resampled_means(rows, n_resamples, random_state):
    """Means of `rows`, shape (n_rows, n), over resamples of the queries.

    Their shape is (n_rows, n_resamples).
    """
    n = rows.shape[1]
    means = np.empty((len(rows), n_resamples))
    random = np.random.default_rng(random_state)
    # A million random numbers at a time.
    step = max(1, 1_000_000 // n)
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        # How often each query occurs in each resample, by one count over all resamples of this
        # step.
        draws = random.integers(0, n, size=(size, n)) + n * np.arange(size)[:, None]
        counts = np.bincount(draws.ravel(), minlength=size * n).reshape(size, n)
        means[:, start : start + size] = rows @ counts.T.astype(np.float64) / n
    return means
