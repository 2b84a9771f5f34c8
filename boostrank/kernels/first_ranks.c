/* The documents of the first ranks of each query, sorted; the other documents are not sorted. */
#include <math.h>
#include <stdlib.h>

#include "kernels.h"

/* Number of documents that are compared with the last document of the list at once. */
#define STEP 8

static inline int any_above(const double *scores, double limit)
{
    int above = 0;
    for (int i = 0; i < STEP; i++)
        above |= scores[i] > limit;
    return above;
}

/* Insert a document into a list that is sorted by decreasing score, after documents of equal score. The document at the
   place `last` is overwritten. */
static inline void insert(double *best, int64_t *rows, int64_t last, double score, int64_t row)
{
    int64_t at = last;
    for (; at > 0 && best[at - 1] < score; at--) {
        best[at] = best[at - 1];
        rows[at] = rows[at - 1];
    }
    best[at] = score;
    rows[at] = row;
}

/* Rows of the `depths[q]` documents with the highest scores of each query q, and of the documents that are tied with the
   last of them. They are sorted by decreasing score, those of equal score by row. `counts[q]` is their number. They
   follow each other in `rows`, which has space for all documents. A depth is at least 1 and at most the number of
   documents; it should be small, since each insertion moves up to this number of documents. NaN has the
   last ranks, with minus infinity. */
EXPORT int64_t first_ranks(const double *scores, const int64_t *indptr, int64_t n_queries, const int64_t *depths,
                           int64_t *rows, int64_t *counts)
{
    double *best = malloc(longest(indptr, n_queries) * sizeof(double));
    if (best == NULL)
        return -1;
    for (int64_t q = 0; q < n_queries; q++) {
        int64_t row = indptr[q], end = indptr[q + 1], n = depths[q], count = n;
        for (int64_t i = 0; i < n; i++, row++)
            insert(best, rows, i, scores[row] == scores[row] ? scores[row] : -INFINITY, row);
        while (row < end) {
            if (row + STEP <= end && !any_above(scores + row, best[n - 1])) {
                row += STEP;
                continue;
            }
            for (int64_t stop = row + STEP < end ? row + STEP : end; row < stop; row++)
                if (scores[row] > best[n - 1])
                    insert(best, rows, n - 1, scores[row], row);
        }
        /* Of documents with the score of the last, those in the list have the first rows. */
        for (row = rows[n - 1] + 1; row < end; row++)
            if (scores[row] == best[n - 1])
                rows[count++] = row;
        counts[q] = count;
        rows += count;
    }
    free(best);
    return 0;
}
