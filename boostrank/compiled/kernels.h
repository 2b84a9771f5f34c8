/* What all files of the compiled library share.

   Arrays hold the values of all queries one after the other. Query q has the rows indptr[q] to indptr[q + 1] - 1.
   Callers guarantee lengths and types. A function returns 0, or -1 if there is no memory. */
#ifndef BOOSTRANK_KERNELS_H
#define BOOSTRANK_KERNELS_H

#include <stdint.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* The loader chooses the clone that fits the processor. Floating point operations are not contracted, so that the clones
   differ in the sequence of sums only. */
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__)
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CLONES
#endif

/* Largest number of rows of a query. */
static inline int64_t longest(const int64_t *indptr, int64_t n_queries)
{
    int64_t rows = 0;
    for (int64_t q = 0; q < n_queries; q++)
        if (indptr[q + 1] - indptr[q] > rows)
            rows = indptr[q + 1] - indptr[q];
    return rows;
}

#endif
