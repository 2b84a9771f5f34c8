/* What all files of the compiled library share.

   Arrays hold the values of all queries one after the other. Query q has the rows indptr[q] to indptr[q + 1] - 1, at
   least one. Callers guarantee lengths, types and finite values. A function returns 0, or -1 if there is no memory. */
#ifndef BOOSTRANK_KERNELS_H
#define BOOSTRANK_KERNELS_H

#include <stdint.h>

/* Windows exports what is marked in this way only, whatever the compiler. */
#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#if defined(_MSC_VER)
#define RESTRICT __restrict
#define INLINE __forceinline
#else
#define RESTRICT restrict
/* Into each clone of its caller, whose instructions it then uses. */
#define INLINE inline __attribute__((always_inline))
#endif

/* The loader chooses the clone that fits the processor. Floating point operations are not contracted, so that the clones
   differ in the sequence of sums only. */
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__)
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CLONES
#endif

/* The probability 1 / (1 + exp(s_j - s_i)) needs no exponential function for each pair: with e = exp(s - highest), it
   is e_i / (e_i + e_j). If the scores of a query span more than this, e may be 0 for both documents, and is computed
   for each i, with s_i in place of the highest score. */
#define MAX_SPAN 700.0

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
