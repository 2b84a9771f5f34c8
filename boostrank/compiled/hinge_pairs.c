/* Hinge pairs: sums of u_i phi(s_i - s_j) over ordered pairs of documents of a query, where phi(d) is max(0, 1 - d) or
   max(0, 1 - d)^2 / 2. */
#include <stdlib.h>

#include "kernels.h"

/* Gradient, and the diagonal of the Hessian of the squared hinge, which is used for both. `ranking` has the rows of each
   query by decreasing score. Then the documents with a margin below 1 to a given one are consecutive, and both ends of
   their range move in one direction. */
EXPORT int64_t pairwise_hinge(const double *scores, const double *targets, const int64_t *ranking,
                              const int64_t *indptr, int64_t n_queries, int64_t is_squared, double *gradient,
                              double *hessian)
{
    int64_t size = longest(indptr, n_queries) + 1;
    double *memory = malloc(4 * size * sizeof(double));
    if (memory == NULL)
        return -1;
    /* Scores; sums over the documents before each, of scores, and from each on, of targets and of targets times scores.
       In these sums, scores are minus their mean, since the sums cancel. */
    double *s = memory, *score_before = s + size, *mass_from = score_before + size, *product_from = mass_from + size;
    for (int64_t q = 0; q < n_queries; q++) {
        const int64_t *rows = ranking + indptr[q];
        int64_t n = indptr[q + 1] - indptr[q];
        double mean = 0.0;
        for (int64_t k = 0; k < n; k++) {
            s[k] = scores[rows[k]];
            mean += (s[k] - s[0]) / n;
        }
        mean += s[0];
        score_before[0] = mass_from[n] = product_from[n] = 0.0;
        for (int64_t k = 0; k < n; k++)
            score_before[k + 1] = score_before[k] + (s[k] - mean);
        for (int64_t k = n - 1; k >= 0; k--) {
            double u = targets[rows[k]];
            mass_from[k] = mass_from[k + 1] + u;
            product_from[k] = product_from[k + 1] + u * (s[k] - mean);
        }
        /* Document k loses too narrowly against those from `first` on, and wins too narrowly against those before `end`. */
        for (int64_t k = 0, first = 0, end = 0; k < n; k++) {
            while (first < k && s[first] >= s[k] + 1.0)
                first++;
            while (end < n && (end <= k || s[end] > s[k] - 1.0))
                end++;
            double u = targets[rows[k]], c = s[k] - mean, mass = mass_from[first], count = (double)end;
            gradient[rows[k]] = is_squared ? mass * (1.0 + c) - product_from[first]
                                                 - u * (count * (1.0 - c) + score_before[end])
                                           : mass - u * count;
            /* The pair of a document with itself is in both sums. */
            hessian[rows[k]] = mass + u * (count - 2.0);
        }
    }
    free(memory);
    return 0;
}
