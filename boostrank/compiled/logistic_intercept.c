/* The intercepts of the profiled logistic loss, which boostrank/surrogates/profiled.py explains. */
#include <math.h>
#include <stdlib.h>

#include "kernels.h"

/* Largest number of steps, of which the first few are enough but for extreme scores. */
#define MAX_STEPS 100
/* Up to this span of the scores, no product of two exponentials below overflows. */
#define MAX_NEAR_SPAN 500.0

/* Sums of p = e factor / (1 + e factor) and of p (1 - p). */
CLONES static void add_probabilities(const double *RESTRICT e, double factor, int64_t n, double *probability,
                                     double *curvature)
{
    double sum = 0.0, product = 0.0;
#pragma omp simd reduction(+ : sum, product)
    for (int64_t j = 0; j < n; j++) {
        double loses = 1.0 / (1.0 + e[j] * factor), wins = e[j] * factor * loses;
        sum += wins;
        product += wins * loses;
    }
    *probability = sum;
    *curvature = product;
}

/* The shift of each query with which the mean of 1 / (1 + exp(-(score + shift))) is its goal. Newton steps on the logit of
   the mean, which is nearly a linear function of the shift, are replaced by bisection where they leave the interval that
   is left, or are longer than half of the step before. The last step is at most `tolerance`. */
EXPORT int64_t logistic_intercept(const double *scores, const double *goals, const int64_t *indptr, int64_t n_queries,
                                  double tolerance, double *shifts)
{
    double *e = malloc(longest(indptr, n_queries) * sizeof(double));
    if (e == NULL)
        return -1;
    for (int64_t q = 0; q < n_queries; q++) {
        const double *s = scores + indptr[q];
        int64_t n = indptr[q + 1] - indptr[q];
        double level = log(goals[q]) - log1p(-goals[q]), highest = s[0], lowest = s[0], total = 0.0;
        for (int64_t j = 1; j < n; j++) {
            highest = s[j] > highest ? s[j] : highest;
            lowest = s[j] < lowest ? s[j] : lowest;
        }
        int near = highest - lowest <= MAX_NEAR_SPAN;
        for (int64_t j = 0; j < n; j++)
            total += e[j] = exp(s[j] - highest);
        /* The solution is between the shifts for the case that all scores are equal to the highest, or to the lowest.
           For small probabilities, it is about the first value. */
        double low = level - highest, high = level - lowest, shift = low - log(total / (double)n), step = INFINITY;
        for (int i = 0; i < MAX_STEPS && step > tolerance; i++) {
            double mean = 0.0, curvature = 0.0;
            if (near)
                add_probabilities(e, exp(shift + highest), n, &mean, &curvature);
            for (int64_t j = 0; j < n && !near; j++) {
                double p = 1.0 / (1.0 + exp(-(s[j] + shift)));
                mean += p;
                curvature += p * (1.0 - p);
            }
            mean /= (double)n;
            curvature /= (double)n;
            if (mean < goals[q])
                low = shift;
            if (mean > goals[q])
                high = shift;
            double next = shift - (log(mean) - log1p(-mean) - level) * mean * (1.0 - mean) / curvature;
            if (!(next >= low && next <= high && fabs(next - shift) <= fmax(0.5 * step, tolerance)))
                next = 0.5 * (low + high);
            step = fabs(next - shift);
            shift = next;
        }
        shifts[q] = shift;
    }
    free(e);
    return 0;
}
