/* Measures of ranked documents, averaged over all permutations of tied documents. */
#include <math.h>
#include <stdlib.h>

#include "kernels.h"

/* As in ranked_measures.py. */
enum measure { DCG, AVERAGE_PRECISION, RECIPROCAL_RANK, ERR };

/* As in boostrank/metrics/graded.py. */
#define NEGLIGIBLE 1e-18

/* Tied documents: n of them follow `before` other documents, and the first `counted` of their ranks count. */
typedef struct {
    const double *quality;
    const int64_t *rows;
    int64_t before, n, counted;
} run;

static double sum(run tied)
{
    double total = 0.0;
    for (int64_t i = 0; i < tied.n; i++)
        total += tied.quality[tied.rows[i]];
    return total;
}

static double discounted_gain(run tied, double gain, const double *discounts)
{
    double weight = 0.0;
    for (int64_t t = 0; t < tied.counted; t++)
        weight += discounts[tied.before + t];
    return gain * (weight / (double)tied.n);
}

/* Sum of the precision at the ranks of relevant documents, of which there are `found` before these. */
static double precisions(run tied, double found, double relevant)
{
    double others = (relevant - 1.0) / (double)(tied.n > 1 ? tied.n - 1 : 1), total = 0.0;
    for (int64_t t = 0; t < tied.counted && relevant > 0.0; t++)
        total += relevant / (double)tied.n * (found + 1.0 + (double)t * others) / (double)(tied.before + t + 1);
    return total;
}

/* Reciprocal of the rank of the first relevant document. */
static double reciprocal_rank(run tied, double relevant)
{
    double none = 1.0, total = 0.0;
    for (int64_t t = 0; t < tied.counted && none > 0.0; t++) {
        double hit = fmin(relevant / (double)(tied.n - t), 1.0);
        total += none * hit / (double)(tied.before + t + 1);
        none *= 1.0 - hit;
    }
    return total;
}

/* Probability of stopping at each rank, divided by the rank, given that the user reads the first of the documents. The
   probability of reading on after t documents is the mean, over all sets of t documents, of the product of their 1 - R.
   See _mean_products in boostrank/metrics/graded.py. `reading` has space for counted + 1 values. */
static double stops(run tied, double satisfaction, double *reading)
{
    /* At least 1: qualities that round to 1 would give 0, and the first document is read with probability 1. */
    double negligible = fmax(1.0, log(NEGLIGIBLE) / log1p(-satisfaction / (double)tied.n)), total = 0.0;
    int64_t counted = negligible < (double)tied.counted ? (int64_t)ceil(negligible) : tied.counted, members = 0;
    for (int64_t i = 0; i < tied.n; i++)
        members += !(tied.quality[tied.rows[i]] > 0.0);
    for (int64_t t = 0; t <= counted; t++)
        reading[t] = 1.0;
    for (int64_t i = 0; i < tied.n; i++) {
        double satisfied = tied.quality[tied.rows[i]];
        if (!(satisfied > 0.0))
            continue;
        members++;
        for (int64_t t = counted; t > 0; t--) {
            double share = t < members ? (double)t / (double)members : 1.0;
            reading[t] += share * ((1.0 - satisfied) * reading[t - 1] - reading[t]);
        }
    }
    for (int64_t t = 1; t <= counted; t++)
        total += (reading[t - 1] - reading[t]) / (double)(tied.before + t);
    return total;
}

/* Value of a measure for each query, without its divisor.

   The documents of query q are the rows rows[indptr[q]], ..., rows[indptr[q + 1] - 1] of `quality`, sorted by
   decreasing `scores`. The first cutoffs[q] of their ranks count; documents that are tied with the last of these are
   among them. If `averages` is 0, no documents are tied. Only DCG reads `discounts`. */
EXPORT int64_t ranked_measure(int64_t measure, const double *quality, const int64_t *rows, const double *scores,
                              const int64_t *indptr, int64_t n_queries, const int64_t *cutoffs, int64_t averages,
                              const double *discounts, double *values)
{
    double *reading = malloc((longest(indptr, n_queries) + 1) * sizeof(double));
    if (reading == NULL)
        return -1;
    for (int64_t q = 0; q < n_queries; q++) {
        int64_t start = indptr[q], end = indptr[q + 1], last;
        double found = 0.0, reads = 1.0, total = 0.0;
        int64_t stop = start + cutoffs[q] < end ? start + cutoffs[q] : end;
        for (int64_t first = start; first < stop; first = last) {
            last = first + 1;
            if (!averages || last == end || scores[last] != scores[first]) {
                /* Most documents are not tied. */
                double own = quality[rows[first]], rank = (double)(last - start);
                if (measure == DCG) {
                    total += own * discounts[first - start];
                } else if (measure == AVERAGE_PRECISION) {
                    total += own * ((found + 1.0) / rank);
                    found += own;
                } else if (measure == ERR) {
                    total += reads * own / rank;
                    reads *= 1.0 - own;
                } else if (own > 0.0) {
                    total = 1.0 / rank;
                    break;
                }
                continue;
            }
            while (last < end && scores[last] == scores[first])
                last++;
            int64_t left = stop - first;
            run tied = {quality, rows + first, first - start, last - first, last - first < left ? last - first : left};
            double all = sum(tied);
            if (measure == DCG) {
                total += discounted_gain(tied, all, discounts);
            } else if (measure == AVERAGE_PRECISION) {
                total += precisions(tied, found, all);
                found += all;
            } else if (measure == ERR) {
                total += reads * stops(tied, all, reading);
                for (int64_t i = 0; i < tied.n; i++)
                    reads *= 1.0 - quality[tied.rows[i]];
            } else if (all > 0.0) {
                total = reciprocal_rank(tied, all);
                break;
            }
        }
        values[q] = total;
    }
    free(reading);
    return 0;
}
