"""Tables of a comparison: they fit a terminal, and files have every number."""

import io

import pytest
from rich.console import Console

from boostrank.cli import reports

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
