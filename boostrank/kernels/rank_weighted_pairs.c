/* Logistic pairs with weights of the current ranks, which boostrank/surrogates/rank_weighted.py explains.

   Documents of a query with equal scores are a group. The pairs of two groups have one weight and one probability, so
   that sums over pairs of documents are sums over pairs of groups. */
#include <math.h>
#include <stdlib.h>

#include "kernels.h"

/* Groups of a query by decreasing score. For a document of a group with the target u, the gradient is `gain` minus u
   times `loss`, and the diagonal of the Hessian `others` plus u times `own`. */
typedef struct {
    double *score, *e, *count, *mass; /* e is exp(score - highest); mass is the sum of targets. */
    double *last, *inverse;           /* The discount of the last rank, and 1 / count. */
    double *change;                   /* See `exchange`. */
    double *gain, *loss, *others, *own;
} Groups;
#define N_ARRAYS 11

/* The change of discounts if a group and one with lower scores exchange their places, divided by the number of pairs of
   their documents, for all groups with lower scores. The first m documents of the upper group and the last m of the
   lower one change places, where m is the size of the smaller group; only the `n_top` first ranks of the upper group
   count. `sums` has the sum of the first k discounts at k. */
CLONES static void exchange(const Groups *groups, int64_t group, int64_t n_groups, const int64_t *starts,
                            int64_t n_top, const double *discounts, const double *sums)
{
    double *RESTRICT change = groups->change;
    const double *RESTRICT last = groups->last, *RESTRICT inverse = groups->inverse;
    int64_t start = starts[group], n = starts[group + 1] - start;
    if (n == 1) {
        double first = discounts[start];
#pragma omp simd
        for (int64_t j = group + 1; j < n_groups; j++)
            change[j] = (first - last[j]) * inverse[j];
        return;
    }
    for (int64_t j = group + 1; j < n_groups; j++) {
        int64_t size = starts[j + 1] - starts[j], m = n < size ? n : size, k = m < n_top ? m : n_top;
        int64_t after = starts[j + 1] - m;
        double sum = k == 1 ? discounts[start] - discounts[after]
                            : sums[start + k] - sums[start] - (sums[after + k] - sums[after]);
        change[j] = sum * inverse[j] * inverse[group];
    }
}

/* The pairs of documents of a group and of all groups with lower scores, whose weights are those of `exchange`, divided
   by the distance. */
CLONES static void add_pairs(const Groups *groups, int64_t group, int64_t n_groups, double min_distance, double slope)
{
    int64_t n = n_groups - group - 1;
    double s = groups->score[group], e = groups->e[group], count = groups->count[group], mass = groups->mass[group];
    double gain = 0.0, loss = 0.0, others = 0.0, own = 0.0;
    const double *RESTRICT scores = groups->score + group + 1, *RESTRICT es = groups->e + group + 1,
                 *RESTRICT counts = groups->count + group + 1, *RESTRICT masses = groups->mass + group + 1,
                 *RESTRICT changes = groups->change + group + 1;
    double *RESTRICT gains = groups->gain + group + 1, *RESTRICT losses = groups->loss + group + 1,
           *RESTRICT all_others = groups->others + group + 1, *RESTRICT owns = groups->own + group + 1;
#pragma omp simd reduction(+ : gain, loss, others, own)
    for (int64_t j = 0; j < n; j++) {
        /* One division for the weight and both probabilities. */
        double distance = min_distance + slope * (s - scores[j]), inverse = 1.0 / ((e + es[j]) * distance);
        double weight = changes[j] * inverse, to_first = weight * e, to_second = weight * es[j];
        double curvature = to_first * (es[j] * (inverse * distance));
        gain += to_first * masses[j];
        loss += to_second * counts[j];
        others += curvature * masses[j];
        own += curvature * counts[j];
        gains[j] += to_second * mass;
        losses[j] += to_first * count;
        all_others[j] += curvature * mass;
        owns[j] += curvature * count;
    }
    groups->gain[group] += gain;
    groups->loss[group] += loss;
    groups->others[group] += others;
    groups->own[group] += own;
}

/* The pairs of two documents of a group with these discounts, of which the first `n_top` are within the truncation. */
static void add_own_pairs(const Groups *groups, int64_t group, const double *discounts, int64_t n_top,
                          double min_distance)
{
    int64_t n_ranks = (int64_t)groups->count[group];
    double n = (double)n_ranks, mass = groups->mass[group], total = 0.0;
    /* The mean difference of the discounts of two ranks: rank k is the smaller one of n - k pairs, which count if it is
       within the truncation, and the larger one of min(k - 1, n_top) pairs that count. */
    for (int64_t k = 1; k <= n_ranks; k++) {
        int64_t factor = (k <= n_top ? n_ranks - k : 0) - (k - 1 < n_top ? k - 1 : n_top);
        total += discounts[k - 1] * (double)factor;
    }
    double weight = total / (n * (n - 1.0) / 2.0) / min_distance;
    groups->gain[group] += weight / 2.0 * mass;
    groups->loss[group] += weight / 2.0 * n;
    groups->others[group] += weight / 4.0 * mass;
    groups->own[group] += weight / 4.0 * (n - 2.0);
}

/* Gradient and exact diagonal of the Hessian. `ranking` has the rows of each query by decreasing score, and `discounts`
   those of all ranks. Pairs count if one of their documents has a rank of at most `truncation`. If `divides`, their
   weights are divided by `min_distance` plus the distance of their scores, unless all scores of the query are equal. */
EXPORT int64_t rank_weighted(const double *scores, const double *targets, const int64_t *ranking, const int64_t *indptr,
                             int64_t n_queries, const double *discounts, int64_t truncation, int64_t divides,
                             double min_distance, double *gradient, double *hessian)
{
    int64_t size = longest(indptr, n_queries);
    double *memory = malloc((N_ARRAYS * size + size + 1) * sizeof(double));
    int64_t *starts = malloc((size + 1) * sizeof(int64_t));
    if (memory == NULL || starts == NULL) {
        free(memory);
        free(starts);
        return -1;
    }
    Groups groups = {memory,            memory + size,     memory + 2 * size, memory + 3 * size,
                     memory + 4 * size, memory + 5 * size, memory + 6 * size, memory + 7 * size,
                     memory + 8 * size, memory + 9 * size, memory + 10 * size};
    double *sums = memory + N_ARRAYS * size;
    sums[0] = 0.0;
    for (int64_t k = 0; k < size; k++)
        sums[k + 1] = sums[k] + discounts[k];
    for (int64_t q = 0; q < n_queries; q++) {
        const int64_t *rows = ranking + indptr[q];
        int64_t n = indptr[q + 1] - indptr[q], n_groups = 0;
        for (int64_t k = 0; k < n; k++) {
            double s = scores[rows[k]];
            if (k == 0 || s != groups.score[n_groups - 1]) {
                starts[n_groups] = k;
                groups.score[n_groups] = s;
                groups.count[n_groups] = groups.mass[n_groups] = 0.0;
                groups.gain[n_groups] = groups.loss[n_groups] = 0.0;
                groups.others[n_groups] = groups.own[n_groups] = 0.0;
                n_groups++;
            }
            groups.count[n_groups - 1] += 1.0;
            groups.mass[n_groups - 1] += targets[rows[k]];
        }
        starts[n_groups] = n;
        int is_divided = divides && n_groups > 1;
        int near = groups.score[0] - groups.score[n_groups - 1] <= MAX_SPAN;
        double least = is_divided ? min_distance : 1.0, slope = is_divided ? 1.0 : 0.0;
        for (int64_t g = 0; g < n_groups; g++) {
            groups.last[g] = discounts[starts[g + 1] - 1];
            groups.inverse[g] = 1.0 / groups.count[g];
            if (near)
                groups.e[g] = exp(groups.score[g] - groups.score[0]);
        }
        for (int64_t g = 0; g < n_groups && starts[g] < truncation; g++) {
            int64_t first = starts[g], stop = starts[g + 1] < truncation ? starts[g + 1] : truncation;
            if (!near)
                for (int64_t j = g; j < n_groups; j++)
                    groups.e[j] = exp(groups.score[j] - groups.score[g]);
            if (groups.count[g] > 1.0)
                add_own_pairs(&groups, g, discounts + first, stop - first, least);
            exchange(&groups, g, n_groups, starts, stop - first, discounts, sums);
            add_pairs(&groups, g, n_groups, least, slope);
        }
        for (int64_t g = 0; g < n_groups; g++)
            for (int64_t k = starts[g]; k < starts[g + 1]; k++) {
                double u = targets[rows[k]];
                gradient[rows[k]] = groups.gain[g] - u * groups.loss[g];
                hessian[rows[k]] = groups.others[g] + u * groups.own[g];
            }
    }
    free(memory);
    free(starts);
    return 0;
}
