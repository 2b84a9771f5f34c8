"""Computations for which NumPy is slow, such as sums over the pairs of documents of each query.

Each is written in C and in NumPy. Callers call one function, which uses C if the compiled library
is there (:mod:`boostrank.kernels.library`), and otherwise NumPy: it computes the same, up to
rounding, and takes several times as long.
"""
