"""The command `check`: its exit code and its report."""

import boostrank as br
from boostrank.dcg import DCG


def test_the_exit_code_says_whether_a_loss_is_consistent(run):
    out = run("check", "squared/dcg", "-k", 2, "--gain", "linear", "--discount", "zipf", "--distributions", 50)
    assert "no counterexample to consistency with NDCG@2" in out
    out = run("check", "softmax", "--normalize", "softmax", "-k", 3, "--seed", 7, "--distributions", 100, code=1)
    assert max(map(len, out.splitlines())) <= 80
    report = br.theory.check_consistency("softmax", "softmax", DCG(k=3), n_distributions=100, random_state=7)
    assert out == f"{report!r}\n"
