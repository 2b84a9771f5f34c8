/* The intercepts of the profiled logistic loss. */
#include <stdlib.h>

#include "elementary.h"
#include "kernels.h"
#include "logistic_shift.h"

/* One query; `e` has space for its documents. */
CLONES static double intercept(const double *RESTRICT s, int64_t n, double goal, double tolerance, double *RESTRICT e)
{
    double highest = s[0], factor;
#pragma omp simd reduction(max : highest)
    for (int64_t j = 0; j < n; j++)
        highest = s[j] > highest ? s[j] : highest;
#pragma omp simd
    for (int64_t j = 0; j < n; j++)
        e[j] = exponential(s[j] - highest);
    return logistic_shift(s, e, n, goal, tolerance, &factor);
}

/* The shift of each query with which the mean of 1 / (1 + exp(-(score + shift))) is its goal. */
EXPORT int64_t logistic_intercept(const double *scores, const double *goals, const int64_t *indptr, int64_t n_queries,
                                  double tolerance, double *shifts)
{
    double *e = malloc(longest(indptr, n_queries) * sizeof(double));
    if (e == NULL)
        return -1;
    for (int64_t q = 0; q < n_queries; q++)
        shifts[q] = intercept(scores + indptr[q], indptr[q + 1] - indptr[q], goals[q], tolerance, e);
    free(e);
    return 0;
}
