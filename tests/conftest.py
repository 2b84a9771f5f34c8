"""Shared by all tests: the real data, and one deterministic hypothesis profile."""

import gc
import os
import re
import signal

# Tests run in two processes. The OpenMP threads of LightGBM and XGBoost wait actively by default,
# and where they outnumber the cores, training takes ten times as long. The libraries read this
# variable when they are first imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Some tests train with two threads. Where other processes use the cores, waiting actively makes
# them ten times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer.main
from hypothesis import HealthCheck, settings

import boostrank as br

# Hypothesis draws constants of the modules that are imported. If a test imported one of these
# modules while it runs, its data would change.
from boostrank import cli  # noqa: F401
from boostrank.datasets import letor_parser, letor_reader  # noqa: F401
from boostrank.kernels import library

quick = {"derandomize": True, "deadline": None, "max_examples": 15, "database": None}
settings.register_profile("boostrank", **quick, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("boostrank")
#: The tests that take longest begin first, so that no process waits for one of them at the end.
LONGEST = (
    "test_nothing_is_cut_and_search_finds",
    "test_scores_are_those_of_predict[slow]",
    "test_example_prints_sentences_and_what_was_learned[why_lambdamart_fails]",
)
#: Folders of tests and of the package that need a package of an extra.
NEEDED = {"clusters/dask": "distributed", "clusters/spark": "pyspark", "displays": "matplotlib"}
STUBS = Path(br.__file__).parent.rglob("*.pyi")
#: Names that users import.
PUBLIC_NAMES = set(
    re.findall(r"import (\w+) as", "".join(path.read_text(encoding="utf-8") for path in STUBS))
)
collect_ignore = [folder for folder, package in NEEDED.items() if find_spec(package) is None]


def pytest_configure(config):
    # Examples of these modules cannot be imported. Any other file that cannot be imported is an
    # error.
    folders = [str(Path(br.__file__).parent / folder) for folder in collect_ignore]
    config.option.ignore = [*(config.option.ignore or ()), *folders]


def pytest_report_header():
    return [f"{folder} is left out: {NEEDED[folder]} is not installed" for folder in collect_ignore]


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.name not in LONGEST)
    for test in (item.dtest for item in items if isinstance(item, pytest.DoctestItem)):
        # The class and the method, the function, or nothing for the docstring of a module.
        names = test.name.removeprefix(test.globs["__name__"]).split(".")[1:]
        if len(names) != 1 or names[0] in PUBLIC_NAMES:
            # Readers paste these examples into a new session, which has none of the names of the
            # module.
            test.globs = {"__name__": "__main__"}


@pytest.fixture
def public_names():
    return PUBLIC_NAMES


@pytest.fixture(scope="session")
def shared_data():
    """Folder of real data sets beside the repository; BOOSTRANK_REQUIRE_DATA makes its absence a
    failure."""
    path = Path(__file__).parents[2] / "shared" / "data"
    if not path.is_dir():
        stop = pytest.fail if os.environ.get("BOOSTRANK_REQUIRE_DATA") else pytest.skip
        stop("there are no real data beside the repository")
    return path


@pytest.fixture(scope="session")
def mq2008_folds(shared_data):
    return br.read_letor_folds(shared_data / "MQ2008")


@pytest.fixture(params=[br.LightGBMRanker, br.XGBoostRanker])
def ranker_class(request):
    return request.param


@pytest.fixture
def lambdamart(ranker_class):
    """The name of LambdaMART among the objectives of the library of this class."""
    return "lambdarank" if issubclass(ranker_class, br.LightGBMRanker) else "rank:ndcg"


@pytest.fixture
def default_interrupts():
    """Interrupts are exceptions: a shell that starts pytest in the background makes it ignore the
    signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


# With this scope the fixture ends with each test, and Hypothesis takes it.
@pytest.fixture(scope="class", params=["1", "0"], ids=["compiled", "numpy"])
def implementation(request):
    """Run a test with the compiled library, and with NumPy in its place."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOOSTRANK_COMPILED", request.param)
        if request.param == "1" and not library.is_available():
            pytest.skip("boostrank was installed without a C compiler")
        yield


@pytest.fixture(scope="session", autouse=True)
def _commands_are_built_once():
    """Typer builds all commands in each call, which takes more time than most commands do here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Leave what lives until the end out of searches for unused cycles, a quarter of the
    collection's time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With several processes, all tests on Dask run in one of them, so that one cluster is enough;
    so do those on Ray, on Spark, and of ranx, whose import takes seconds.

    The marker `xdist_group` is not used: with pytest 9.2, xdist 3.8 ignores it.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            name = nodeid.partition("[")[0]
            return next(
                (
                    part
                    for part in ("clusters/dask/", "clusters/ray/", "clusters/spark/", "ranx")
                    if part in nodeid
                ),
                name,
            )

    return Scheduler(config, log)
