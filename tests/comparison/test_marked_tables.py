"""Tables with marks of significance: signs against the baseline, letters of all pairs, bold means,
and the note."""

import re
from itertools import combinations

import numpy as np
import pytest

import boostrank as br
from boostrank.significance import holm

NOISE = {"bm25_5%": 2.0, "dense": 0.7, "sparse": 0.6, "bad": 9.0}


@pytest.fixture(scope="module")
def comparison():
    random = np.random.default_rng(0)
    qrels = {
        str(query): {f"d{i}": int(random.integers(0, 3)) for i in range(12)} for query in range(50)
    }
    runs = {
        name: {
            query: {d: grade + noise * random.normal() for d, grade in own.items()}
            for query, own in qrels.items()
        }
        for name, noise in NOISE.items()
    }
    return br.compare_runs(qrels, runs, ["AP", "nDCG@10"], n_permutations=2000, random_state=3)


def values_of(comparison, name, measure):
    return comparison.per_query.loc[comparison.per_query["run"] == name, measure].to_numpy()


def cells(markdown):
    """The cells of a Markdown table without its head: text, superscript and whether it is bold."""
    rows = [line.strip("| ").split(" | ") for line in markdown.split("\n\n")[0].splitlines()[2:]]
    pattern = re.compile(r"(\*\*)?(.*?)(?:\*\*)?(?:<sup>(.*)</sup>)?")
    found = [[pattern.fullmatch(cell).groups() for cell in row] for row in rows]
    return [[(text, mark or "", bool(bold)) for bold, text, mark in row] for row in found]


def test_pairs_are_tested_and_corrected_together(comparison):
    table, pairs = comparison.pairwise("AP"), list(combinations(NOISE, 2))
    assert list(zip(table["run"], table["other_run"], strict=True)) == pairs
    settings = {"n_permutations": 2000, "random_state": 3}
    tests = [
        br.permutation_test(*(values_of(comparison, name, "AP") for name in pair), **settings)
        for pair in pairs
    ]
    np.testing.assert_array_equal(table["p_value"], [test.p_value for test in tests])
    np.testing.assert_array_equal(table["p_holm"], holm(table["p_value"]))
    assert comparison.pairwise().equals(comparison.pairwise("nDCG@10"))
    assert 0 < (table["p_holm"] > 0.05).sum() < 6


@pytest.mark.parametrize("layout", ["marks", "pairs"])
def test_marks_say_what_is_significant_and_the_best_is_bold(comparison, layout):
    names = list(NOISE)
    for name, row in zip(names, cells(comparison.to_markdown(layout)), strict=True):
        letter = "abcd"[names.index(name)] if layout == "pairs" else ""
        assert row[0] == (name, letter, False)
        for measure, (text, mark, bold) in zip(comparison.measures, row[1:], strict=True):
            means = {other: values_of(comparison, other, measure).mean() for other in names}
            assert text == f"{means[name]:.4f}"
            assert bold == (means[name] == max(means.values()))
            if layout == "marks":
                rows = comparison.table[
                    (comparison.table["run"] == name) & (comparison.table["metric"] == measure)
                ]
                is_significant = name != "bm25_5%" and rows["p_holm"].iloc[0] < 0.05
                assert mark == (
                    "" if not is_significant else "+" if means[name] > means["bm25_5%"] else "-"
                )
            else:
                tests = comparison.pairwise(measure)
                significant = {
                    frozenset(row[:2])
                    for row in tests[tests["p_holm"] < 0.05].itertuples(index=False)
                }
                worse = [
                    n
                    for n in names
                    if means[n] < means[name] and frozenset((n, name)) in significant
                ]
                assert mark == "".join("abcd"[names.index(n)] for n in worse)


def test_the_note_names_test_correction_and_number_of_queries(comparison):
    notes = {
        layout: comparison.to_markdown(layout).split("\n\n")[1]
        for layout in ("marks", "pairs", "differences")
    }
    for layout, note in notes.items():
        assert note.startswith("Means over 50 queries")
        assert "paired randomization test" in note
        assert f"Holm's correction for {6 if layout == 'pairs' else 3} tests" in note
    assert "than bm25_5%" in notes["marks"]
    with pytest.raises(
        ValueError, match="layout must be one of marks, pairs, differences; got 'mark'"
    ):
        comparison.to_latex("mark")
