"""Tables of a comparison: they fit a terminal, and files have every number."""

import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from boostrank.cli import reports
from boostrank.cli.reports import OutputFiles
from boostrank.comparison import Comparison

RANKERS = ["lightgbm lambdarank", "lightgbm centered-logistic"]


@pytest.fixture
def comparison():
    """Two metrics of two rankers, with counts of queries as wide as they come."""
    rows = [
        {"ranker": ranker, "metric": metric, "mean": 0.5, "Fold1": 0.5, "difference": 0.1 * i, "p_value": 0.01}
        for metric in ("ndcg@1", "ndcg@10")
        for i, ranker in enumerate(RANKERS)
    ]
    table = pd.DataFrame(rows).assign(wins=12345, ties=12345, losses=12345, p_holm=0.0123, low=0.0, high=0.2)
    table = table.assign(effect=0.3, rounds=123.4)
    table.loc[table["ranker"] == RANKERS[0], ["p_value", "p_holm", "low", "high", "effect"]] = np.nan
    return Comparison(table, pd.DataFrame(), RANKERS[0])


def test_tables_show_adjusted_p_values_and_fit_a_terminal(comparison):
    out = repr(comparison)
    for text in (*RANKERS, "ndcg@1, compared with", "ndcg@10, compared with", "(Holm)", "0.012", "rounds"):
        assert text in out
    assert "12345/12345/12345" in out
    assert max(map(len, out.splitlines())) <= 80


def test_markdown_has_one_row_per_ranker(comparison, tmp_path):
    OutputFiles(tmp_path / "t.md", None).write_comparison(comparison, "ndcg@10")
    lines = (tmp_path / "t.md").read_text().splitlines()
    assert lines[0].startswith("| ranker | ndcg@1 | diff | p (Holm) | ndcg@10 |")
    assert lines[2] == f"| {RANKERS[0]} | 0.5000 |  |  | 0.5000 |  |  |  | 123 |"
    cells = "0.5000 | +0.1000 | 0.012 | 0.5000 | +0.1000 | 0.012 | 12345/12345/12345 | 123"
    assert lines[3] == f"| {RANKERS[1]} | {cells} |"


def test_files_have_all_columns(comparison, tmp_path):
    for suffix, read in (("csv", pd.read_csv), ("json", pd.read_json)):
        OutputFiles(tmp_path / f"t.{suffix}", None).write_comparison(comparison, "ndcg@10")
        pd.testing.assert_frame_equal(read(tmp_path / f"t.{suffix}"), comparison.table)


@pytest.mark.parametrize(("value", "text"), [(0.0009, "<.001"), (0.001, "0.001"), (1.0, "1.000")])
def test_small_p_values_are_bounded(comparison, value, text):
    comparison.table.loc[comparison.table["ranker"] == RANKERS[1], "p_holm"] = value
    assert f"| {text} |" in comparison.to_markdown()


ROWS = [
    ["ranker", "mean", "because of"],
    ["lightgbm pairwise-exponential/softmax of [mine]", "0.5000", "empty 1 +0.1\nties -0.2"],
    ["日本", "-1.2", ""],
]


@pytest.fixture
def screen(monkeypatch):
    """What is printed to a console, by its width and its settings."""

    def printed(function, width=None, **settings):
        text = io.StringIO()
        console = Console(file=text, width=width, markup=False, emoji=False, highlight=False, **settings)
        monkeypatch.setattr(reports, "console", console)
        function()
        return text.getvalue()

    return printed


def test_tables_are_plain_text_in_a_pipe_however_wide(screen):
    rows = [ROWS[0], [ROWS[1][0] * 3, *ROWS[1][1:]], ROWS[2]]
    out = screen(lambda: reports.show_table(rows, last_is_text=True), width=40)
    name = ROWS[1][0] * 3
    assert out.splitlines() == [
        f"ranker{' ' * (len(name) - 6)}    mean  because of",
        "─" * (len(name) + 2 + 6 + 2 + 23),
        f"{name}  0.5000  empty 1 +0.1; ties -0.2",
        f"日本{' ' * (len(name) - 4)}    -1.2",
    ]


def test_tables_fold_texts_and_keep_numbers_on_a_terminal(screen, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    settings = {"force_terminal": True, "color_system": "standard", "width": 44}
    out = screen(lambda: reports.show_table(ROWS, last_is_text=True), **settings)
    assert out.splitlines() == [
        "\x1b[1mranker                    mean  because of\x1b[0m",
        "────────────────────────────────────────────",
        "lightgbm                0.5000  empty 1 +0.1",
        "pairwise-exponential/s          ties -0.2",
        "oftmax of [mine]",
        "日本                      -1.2",
    ]
    # Numbers are not cut even where nothing else is left to fold.
    narrow = screen(lambda: reports.show_table(ROWS), **{**settings, "width": 10})
    assert "0.5000" in narrow
    dumb = {**settings, "color_system": None}
    assert "\x1b" not in screen(lambda: reports.show_table(ROWS), **dumb)


def test_paragraphs_keep_names_whole(screen):
    text = "p (Holm): [bold] in brackets, lightgbm pairwise-exponential/softmax, " * 3
    for settings, width in (({}, 80), ({"force_terminal": True, "width": 50, "color_system": None}, 50)):
        out = screen(lambda: reports.show_text(text), **{"width": 200, **settings})
        assert max(map(len, out.splitlines())) <= width
        assert " ".join(out.split()) == text.strip()
        assert out.count("pairwise-exponential/softmax") == 3


def test_a_comparison_is_printed_as_its_text(comparison, screen):
    out = screen(lambda: reports.show_comparison(comparison))
    assert out == f"{comparison!r}\n\n"
