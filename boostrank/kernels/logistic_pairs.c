/* Logistic pairs: sums of u_i log(1 + exp(s_j - s_i)) + u_j log(1 + exp(s_i - s_j)) over pairs of documents of a query. */
#include <math.h>
#include <stdlib.h>

#include "kernels.h"

/* The derivatives of the pairs of document i and each of n documents that follow it. */
CLONES static void add_pairs(double e_i, double u_i, const double *RESTRICT e, const double *RESTRICT u,
                             double *RESTRICT gradient, double *RESTRICT hessian, int64_t n, double *gradient_i,
                             double *hessian_i)
{
    double g = 0.0, h = 0.0;
#pragma omp simd reduction(+ : g, h)
    for (int64_t j = 0; j < n; j++) {
        double to_i = e_i / (e_i + e[j]), to_j = e[j] / (e_i + e[j]);
        double slope = u[j] * to_i - u_i * to_j, curvature = (u_i + u[j]) * to_i * to_j;
        gradient[j] -= slope;
        hessian[j] += curvature;
        g += slope;
        h += curvature;
    }
    *gradient_i += g;
    *hessian_i += h;
}

/* Gradient and exact diagonal of the Hessian of all pairs of each query. Pairs with two targets of 0 are left out. */
EXPORT int64_t pairwise_logistic(const double *scores, const double *targets, const int64_t *indptr, int64_t n_queries,
                                 double *gradient, double *hessian)
{
    int64_t size = longest(indptr, n_queries);
    double *memory = malloc(5 * size * sizeof(double));
    int64_t *rows = malloc(size * sizeof(int64_t));
    if (memory == NULL || rows == NULL) {
        free(memory);
        free(rows);
        return -1;
    }
    double *s = memory, *e = s + size, *u = e + size, *g = u + size, *h = g + size;
    for (int64_t q = 0; q < n_queries; q++) {
        /* Documents with a positive target come first. */
        int64_t n = 0, n_positive;
        double highest = -INFINITY, lowest = INFINITY;
        for (int64_t row = indptr[q]; row < indptr[q + 1]; row++)
            if (targets[row] > 0.0)
                rows[n++] = row;
        n_positive = n;
        for (int64_t row = indptr[q]; row < indptr[q + 1]; row++)
            if (!(targets[row] > 0.0))
                rows[n++] = row;
        for (int64_t i = 0; i < n; i++) {
            s[i] = scores[rows[i]];
            u[i] = targets[rows[i]];
            highest = s[i] > highest ? s[i] : highest;
            lowest = s[i] < lowest ? s[i] : lowest;
            g[i] = h[i] = 0.0;
        }
        int near = highest - lowest <= MAX_SPAN;
        for (int64_t i = 0; i < n && near; i++)
            e[i] = exp(s[i] - highest);
        for (int64_t i = 0, j = 1; i < n_positive; i++, j++) {
            for (int64_t k = i; k < n && !near; k++)
                e[k] = exp(fmin(s[k] - s[i], MAX_SPAN));
            add_pairs(e[i], u[i], e + j, u + j, g + j, h + j, n - j, g + i, h + i);
        }
        for (int64_t i = 0; i < n; i++) {
            gradient[rows[i]] = g[i];
            hessian[rows[i]] = h[i];
        }
    }
    free(memory);
    free(rows);
    return 0;
}
