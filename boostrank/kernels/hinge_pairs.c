/* Hinge pairs: sums of u_i phi(s_i - s_j) over ordered pairs of documents of a query, with phi(d) = max(0, 1 - d)^2 / 2. */
#include <math.h>
#include <stdlib.h>

#include "kernels.h"

/* Gradient, and the diagonal of the Hessian. `ranking` has the rows of each
   query by decreasing score. Then the documents with a margin below 1 to a given one are consecutive, and both ends of
   their range move in one direction. */
EXPORT int64_t pairwise_squared_hinge(const double *scores, const double *targets, const int64_t *ranking,
                                      const int64_t *indptr, int64_t n_queries, double *gradient, double *hessian)
{
    int64_t size = longest(indptr, n_queries) + 1;
    double *memory = malloc(6 * size * sizeof(double));
    int64_t *ends = malloc(2 * size * sizeof(int64_t));
    if (memory == NULL || ends == NULL) {
        free(memory);
        free(ends);
        return -1;
    }
    /* Scores minus their mean, since sums over them cancel; targets; sums of scores over the documents before each, and
       sums over each document and those after it, of targets and of targets times scores. */
    double *s = memory, *c = s + size, *u = c + size, *score_before = u + size, *mass_from = score_before + size,
           *product_from = mass_from + size;
    int64_t *firsts = ends + size;
    for (int64_t q = 0; q < n_queries; q++) {
        const int64_t *rows = ranking + indptr[q];
        int64_t n = indptr[q + 1] - indptr[q];
        double sum = 0.0;
        for (int64_t k = 0; k < n; k++) {
            s[k] = scores[rows[k]];
            u[k] = targets[rows[k]];
            sum += s[k];
        }
        for (int64_t k = 0; k < n; k++)
            c[k] = s[k] - sum / n;
        score_before[0] = mass_from[n] = product_from[n] = 0.0;
        for (int64_t k = 0; k < n; k++)
            score_before[k + 1] = score_before[k] + c[k];
        for (int64_t k = n - 1; k >= 0; k--) {
            mass_from[k] = mass_from[k + 1] + u[k];
            product_from[k] = product_from[k + 1] + u[k] * c[k];
        }
        /* The margin of k over j is below 1 if s[j] is above s[k] - 1, which is so for j before ends[k], and therefore
           for k from firsts[j] on. */
        s[n] = -INFINITY;
        for (int64_t k = 0, end = 0; k < n;) {
            /* Without branches, which the processor could not predict. */
            int64_t is_near = (end <= k) | (s[end] > s[k] - 1.0);
            ends[k] = end;
            firsts[end] = k;
            end += is_near;
            k += !is_near;
        }
        for (int64_t k = 0; k < n; k++) {
            double mass = mass_from[firsts[k]], count = (double)ends[k];
            gradient[rows[k]] = mass * (1.0 + c[k]) - product_from[firsts[k]]
                                - u[k] * (count * (1.0 - c[k]) + score_before[ends[k]]);
            /* The pair of a document with itself is in both sums. */
            hessian[rows[k]] = mass + u[k] * (count - 2.0);
        }
    }
    free(memory);
    free(ends);
    return 0;
}
