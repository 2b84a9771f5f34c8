import pytest

from boostrank import compiled


@pytest.fixture(scope="module", params=["1", "0"], ids=["compiled", "numpy"])
def implementation(request):
    """Run a test with the compiled library, and with NumPy in its place."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOOSTRANK_COMPILED", request.param)
        if request.param == "1" and not compiled.is_available():
            pytest.skip("boostrank was installed without a C compiler")
        yield
