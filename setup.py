"""Compiler flags of the compiled library on Windows; everything else is in pyproject.toml."""

from setuptools import setup
from setuptools.command.build_ext import build_ext


class BuildKernels(build_ext):
    """Build the library with the flags of pyproject.toml, unless the compiler is MSVC, which does not know them.

    MSVC would ignore each of them with a warning. It needs no others: setuptools asks it for /O2, and its default
    /fp:precise neither contracts nor reorders operations. It ignores the pragma "omp simd", so that it computes sums
    without vector instructions.
    """

    def build_extensions(self) -> None:
        """Choose the flags when the compiler is known."""
        if self.compiler.compiler_type == "msvc":
            for extension in self.extensions:
                extension.extra_compile_args = []
        super().build_extensions()


if __name__ == "__main__":
    setup(cmdclass={"build_ext": BuildKernels})
