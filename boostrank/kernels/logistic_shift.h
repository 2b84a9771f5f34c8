/* The intercept of one query of the profiled logistic loss, which boostrank/surrogates/separable.py explains. */
#ifndef BOOSTRANK_LOGISTIC_SHIFT_H
#define BOOSTRANK_LOGISTIC_SHIFT_H

#include <math.h>
#include <stdint.h>

#include "kernels.h"

/* Largest number of steps, of which the first few are enough but for extreme scores. */
#define MAX_STEPS 100
/* Up to this span of the scores, no product of two exponentials below overflows. */
#define MAX_NEAR_SPAN 500.0

/* The shift with which the mean of 1 / (1 + exp(-(score + shift))) is `goal`, for scores `s` and e = exp(s - highest). Newton
   steps on the logit of the mean, which is nearly a linear function of the shift, are replaced by bisection where they
   leave the interval that is left, or are longer than half of the step before. The last step is at most `tolerance`.
   `factor` becomes exp(shift + highest), or 0 if the scores span more than MAX_NEAR_SPAN. */
static INLINE double logistic_shift(const double *s, const double *e, int64_t n, double goal, double tolerance,
                                    double *factor)
{
    double level = log(goal) - log1p(-goal), highest = s[0], lowest = s[0], total = 0.0;
#pragma omp simd reduction(max : highest) reduction(min : lowest) reduction(+ : total)
    for (int64_t j = 0; j < n; j++) {
        highest = s[j] > highest ? s[j] : highest;
        lowest = s[j] < lowest ? s[j] : lowest;
        total += e[j];
    }
    int near = highest - lowest <= MAX_NEAR_SPAN;
    /* The solution is between the shifts for the case that all scores are equal to the highest, or to the lowest. For small
       probabilities, it is about the first value. */
    double low = level - highest, high = level - lowest, shift = low - log(total / (double)n), step = INFINITY;
    for (int i = 0; i < MAX_STEPS && step > tolerance; i++) {
        double mean = 0.0, curvature = 0.0, odds = near ? exp(shift + highest) : 0.0;
#pragma omp simd reduction(+ : mean, curvature)
        for (int64_t j = 0; j < (near ? n : 0); j++) {
            double loses = 1.0 / (1.0 + e[j] * odds), wins = e[j] * odds * loses;
            mean += wins;
            curvature += wins * loses;
        }
        for (int64_t j = 0; j < n && !near; j++) {
            double p = 1.0 / (1.0 + exp(-(s[j] + shift)));
            mean += p;
            curvature += p * (1.0 - p);
        }
        mean /= (double)n;
        curvature /= (double)n;
        if (mean < goal)
            low = shift;
        if (mean > goal)
            high = shift;
        double next = shift - (log(mean) - log1p(-mean) - level) * mean * (1.0 - mean) / curvature;
        if (!(next >= low && next <= high && fabs(next - shift) <= fmax(0.5 * step, tolerance)))
            next = 0.5 * (low + high);
        step = fabs(next - shift);
        shift = next;
    }
    *factor = near ? exp(shift + highest) : 0.0;
    return shift;
}

#endif
