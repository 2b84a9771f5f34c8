/* Gradient and Hessian of losses that need time in proportion to the number of documents. The formulas are those of the
   classes of boostrank/surrogates; a loss has some settings, in the sequence of the method compiled_form of its class.

   Queries are processed in groups whose values stay in the first-level cache. So exponentials and logarithms are computed
   for many documents in one loop, and the memory is read and written once. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "elementary.h"
#include "kernels.h"
#include "logistic_shift.h"

/* Largest number of documents of a group with several queries. */
#define GROUP_ROWS 512
/* As convex_functions.MAX_EXPONENT. */
#define MAX_EXPONENT 50.0

/* Consecutive queries. `starts` counts documents from the first one of the group. `s` and `u` are scores and targets; `g`
   and `h` are gradient and Hessian. `x` has a value of each document and `of_query` one of each query. */
typedef struct {
    const int64_t *starts;
    int64_t n_queries, n;
    const double *RESTRICT u;
    double *RESTRICT s, *RESTRICT x, *RESTRICT g, *RESTRICT h, *RESTRICT of_query;
} Group;
#define N_ARRAYS 5

static INLINE void exponentials(double *values, int64_t n)
{
#pragma omp simd
    for (int64_t j = 0; j < n; j++)
        values[j] = exponential(values[j]);
}

static INLINE double sum_of(const double *values, int64_t n)
{
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (int64_t j = 0; j < n; j++)
        total += values[j];
    return total;
}

static INLINE double largest_of(const double *values, int64_t n)
{
    double largest = values[0];
#pragma omp simd reduction(max : largest)
    for (int64_t j = 0; j < n; j++)
        largest = values[j] > largest ? values[j] : largest;
    return largest;
}

static INLINE double positive(double value)
{
    return value > 0.0 ? value : 0.0;
}

CLONES static void squared(const Group *group, const double *settings)
{
    (void)settings;
#pragma omp simd
    for (int64_t j = 0; j < group->n; j++) {
        group->g[j] = group->s[j] - group->u[j];
        group->h[j] = 1.0;
    }
}

CLONES static void poisson(const Group *group, const double *settings)
{
    (void)settings;
#pragma omp simd
    for (int64_t j = 0; j < group->n; j++) {
        double excess = positive(group->s[j] - MAX_EXPONENT), e = exponential(group->s[j] - excess);
        group->g[j] = e * (1.0 + excess) - group->u[j];
        group->h[j] = e;
    }
}

CLONES static void logistic(const Group *group, const double *settings)
{
    (void)settings;
#pragma omp simd
    for (int64_t j = 0; j < group->n; j++) {
        double e = exponential(-fabs(group->s[j])), likely = 1.0 / (1.0 + e), unlikely = e * likely;
        group->g[j] = (group->s[j] < 0.0 ? unlikely : likely) - group->u[j];
        group->h[j] = likely * unlikely;
    }
}

CLONES static void centered_squared(const Group *group, const double *settings)
{
    (void)settings;
    for (int64_t q = 0; q < group->n_queries; q++) {
        int64_t start = group->starts[q], n = group->starts[q + 1] - start;
        const double *s = group->s + start, *u = group->u + start;
        double *g = group->g + start, *h = group->h + start;
        double shift = (sum_of(u, n) - sum_of(s, n)) / (double)n;
#pragma omp simd
        for (int64_t j = 0; j < n; j++) {
            g[j] = s[j] + shift - u[j];
            h[j] = 1.0;
        }
    }
}

/* Settings: least sum of targets, and largest mean; tolerance of the shift. */
CLONES static void centered_logistic(const Group *group, const double *settings)
{
    for (int64_t q = 0; q < group->n_queries; q++) {
        int64_t start = group->starts[q], n = group->starts[q + 1] - start;
        const double *s = group->s + start;
        double *x = group->x + start, highest = largest_of(s, n);
#pragma omp simd
        for (int64_t j = 0; j < n; j++)
            x[j] = s[j] - highest;
    }
    exponentials(group->x, group->n);
    for (int64_t q = 0; q < group->n_queries; q++) {
        int64_t start = group->starts[q], n = group->starts[q + 1] - start;
        const double *s = group->s + start, *u = group->u + start, *e = group->x + start;
        double *g = group->g + start, *h = group->h + start;
        double mass = sum_of(u, n), most = (double)n * settings[1];
        mass = mass < settings[0] ? settings[0] : mass > most ? most : mass;
        double factor, shift = logistic_shift(s, e, n, mass / (double)n, settings[2], &factor);
        int64_t n_near = factor > 0.0 ? n : 0;
#pragma omp simd
        for (int64_t j = 0; j < n_near; j++) {
            double loses = 1.0 / (1.0 + e[j] * factor), wins = e[j] * factor * loses;
            g[j] = wins - u[j];
            h[j] = wins * loses;
        }
        for (int64_t j = n_near; j < n; j++) {
            double away = exp(-fabs(s[j] + shift)), likely = 1.0 / (1.0 + away), unlikely = away * likely;
            g[j] = (s[j] + shift < 0.0 ? unlikely : likely) - u[j];
            h[j] = likely * unlikely;
        }
    }
}

/* Settings: the exponent a; 1 / max_step, or 0 for steps of any length. */
CLONES static void power(const Group *group, const double *settings)
{
    double a = settings[0], least = settings[1], share = a > 1.0 ? 1.0 / a : 1.0;
    for (int64_t q = 0; q < group->n_queries; q++) {
        int64_t start = group->starts[q], n = group->starts[q + 1] - start;
        double *s = group->s + start, *x = group->x + start, highest = largest_of(s, n);
#pragma omp simd
        for (int64_t j = 0; j < n; j++)
            x[j] = s[j] = s[j] - highest;
    }
    exponentials(group->x, group->n);
    for (int64_t q = 0; q < group->n_queries; q++) {
        int64_t start = group->starts[q], n = group->starts[q + 1] - start;
        double total = group->of_query[q] = sum_of(group->x + start, n), log_total = a != 0.0 ? log(total) : 0.0;
        /* a log(x_i) */
#pragma omp simd
        for (int64_t j = start; j < start + n; j++)
            group->g[j] = a * (log_total - group->s[j]);
    }
    /* b and c of the page theory/power_family of the guide, the second one 0 for a negative exponent. */
    int64_t n_powers = a != 0.0 ? group->n : 0;
#pragma omp simd
    for (int64_t j = 0; j < n_powers; j++) {
        double excess = positive(group->g[j] - MAX_EXPONENT), e = exponential(group->g[j] - excess) * group->u[j];
        group->g[j] = e * (1.0 + excess);
        group->h[j] = positive(a) * e;
    }
    for (int64_t j = n_powers; j < group->n; j++) {
        group->g[j] = group->u[j];
        group->h[j] = 0.0;
    }
    for (int64_t q = 0; q < group->n_queries; q++) {
        int64_t start = group->starts[q], n = group->starts[q + 1] - start;
        const double *x = group->x + start;
        double *g = group->g + start, *h = group->h + start;
        double mass = sum_of(g, n), ratio = a > 0.0 && mass > 0.0 ? sum_of(h, n) / mass : 0.0, growth = 1.0 + ratio;
        double inverse = 1.0 / group->of_query[q], more = positive(least - growth);
        /* The Hessian is a sum of expected, of c, and of c times p, with these factors. */
        double factor = a <= 0.0 ? 1.0 : growth, factor_p = -share * growth * growth;
#pragma omp simd
        for (int64_t j = 0; j < n; j++) {
            double p = x[j] * inverse, expected = p * mass, slope = g[j], curvature = h[j];
            double majorant = positive(expected * factor + curvature * (factor + factor_p * p));
            g[j] = expected - slope;
            h[j] = majorant + more * expected + positive(least * slope - growth * curvature);
        }
    }
}

/* Settings: the exponent q of the norm, or 0 for log(m) + 2 in a query of m documents. */
static INLINE double exponent_of(const double *settings, int64_t n)
{
    return settings[0] > 0.0 ? settings[0] : log((double)n) + 2.0;
}

/* x = |s / largest|^(q - 1), with the largest |s| of each query, or 1 if all are 0, in of_query, and g = |s / largest|. */
static INLINE void relative_powers(const Group *group, const double *settings)
{
    for (int64_t q = 0; q < group->n_queries; q++) {
        int64_t start = group->starts[q], n = group->starts[q + 1] - start;
        const double *s = group->s + start;
        double *g = group->g + start, largest = 0.0;
#pragma omp simd reduction(max : largest)
        for (int64_t j = 0; j < n; j++)
            largest = fabs(s[j]) > largest ? fabs(s[j]) : largest;
        group->of_query[q] = largest = largest == 0.0 ? 1.0 : largest;
#pragma omp simd
        for (int64_t j = 0; j < n; j++)
            g[j] = fabs(s[j]) / largest;
    }
#pragma omp simd
    for (int64_t j = 0; j < group->n; j++)
        group->x[j] = logarithm(group->g[j]);
    for (int64_t q = 0; q < group->n_queries; q++) {
        int64_t start = group->starts[q], end = group->starts[q + 1];
        double exponent = exponent_of(settings, end - start) - 1.0;
#pragma omp simd
        for (int64_t j = start; j < end; j++)
            group->x[j] *= exponent;
    }
    exponentials(group->x, group->n);
}

static INLINE double product_of(const double *values, const double *others, int64_t n)
{
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (int64_t j = 0; j < n; j++)
        total += values[j] * others[j];
    return total;
}

/* g = slope sign(s) x - less u and h = curvature. */
static INLINE void finish_norm(const Group *group, int64_t q, const double *x, double slope, double less,
                               double curvature)
{
#pragma omp simd
    for (int64_t j = group->starts[q]; j < group->starts[q + 1]; j++) {
        group->g[j] = copysign(x[j], group->s[j]) * slope - less * group->u[j];
        group->h[j] = curvature;
    }
}

CLONES static void pnorm(const Group *group, const double *settings)
{
    relative_powers(group, settings);
    for (int64_t q = 0; q < group->n_queries; q++) {
        int64_t start = group->starts[q], n = group->starts[q + 1] - start;
        double exponent = exponent_of(settings, n);
        double norm = pow(product_of(group->x + start, group->g + start, n), 1.0 / exponent);
        double to_slope = pow(norm < 1.0 ? 1.0 : norm, 1.0 - exponent);
        finish_norm(group, q, group->x, to_slope * (group->of_query[q] * norm), 1.0, exponent - 1.0);
    }
}

/* Settings: the exponent of the norm as above; epsilon. */
CLONES static void normalized_pnorm(const Group *group, const double *settings)
{
    relative_powers(group, settings);
    for (int64_t q = 0; q < group->n_queries; q++) {
        int64_t start = group->starts[q], n = group->starts[q + 1] - start;
        const double *u = group->u + start;
        double exponent = exponent_of(settings, n), epsilon = settings[1];
        double relative = pow(product_of(group->x + start, group->g + start, n), 1.0 / exponent);
        double norm = group->of_query[q] * relative, larger = norm > epsilon ? norm : epsilon;
        double ratio = (norm > epsilon ? epsilon : norm) / larger;
        double smoothed = larger * pow(1.0 + pow(ratio, exponent), 1.0 / exponent);
        double to_slope = pow(norm / smoothed / (relative < 1.0 ? 1.0 : relative), exponent - 1.0);
        double product = 0.0, mass = 0.0, square = 0.0;
#pragma omp simd reduction(+ : product, mass, square)
        for (int64_t j = 0; j < n; j++) {
            product += group->s[start + j] * u[j];
            mass += u[j];
            square += u[j] * u[j];
        }
        /* mass^(1 - 2 / q) length^(2 / q) */
        double alignment = product / smoothed, length = sqrt(square);
        double size = mass > 0.0 ? mass * pow(length / mass, 2.0 / exponent) : 0.0;
        double bound = (exponent + 1.0 > 4.0 ? exponent + 1.0 : 4.0) * size;
        finish_norm(group, q, group->x, to_slope * (alignment / smoothed), 1.0 / smoothed, bound / smoothed / smoothed);
    }
}

/* Settings: epsilon. */
CLONES static void cosine(const Group *group, const double *settings)
{
    for (int64_t q = 0; q < group->n_queries; q++) {
        int64_t start = group->starts[q], n = group->starts[q + 1] - start;
        const double *u = group->u + start, *s = group->s + start;
        double norm = sqrt(product_of(s, s, n) + settings[0] * settings[0]), alignment = product_of(s, u, n) / norm;
        double slope = alignment / norm / norm, less = 1.0 / norm;
        double curvature = 2.0 / sqrt(3.0) * sqrt(product_of(u, u, n)) / norm / norm;
#pragma omp simd
        for (int64_t j = start; j < start + n; j++) {
            group->g[j] = group->s[j] * slope - less * group->u[j];
            group->h[j] = curvature;
        }
    }
}

/* By the numbers of derivatives.py. */
static void (*const losses[])(const Group *, const double *) = {
    [0] = squared, [1] = poisson, [2] = logistic, [3] = centered_squared, [4] = centered_logistic,
    [5] = power,   [6] = pnorm,   [7] = normalized_pnorm, [8] = cosine,
};

/* s = scores + offset; returns the number of those that are not finite. */
CLONES static int64_t shift(const double *RESTRICT scores, double offset, int64_t n, double *RESTRICT s)
{
    int64_t n_bad = 0;
#pragma omp simd reduction(+ : n_bad)
    for (int64_t j = 0; j < n; j++) {
        s[j] = scores[j] + offset;
        n_bad += fabs(s[j]) <= DBL_MAX ? 0 : 1;
    }
    return n_bad;
}

/* Values times `scale`, and times weights if there are any; returns the number of those that are not finite. */
CLONES static int64_t write(const double *RESTRICT values, double scale, const double *RESTRICT weights, int64_t n,
                            float *RESTRICT results)
{
    int64_t n_bad = 0;
#pragma omp simd reduction(+ : n_bad)
    for (int64_t j = 0; j < n; j++) {
        double value = values[j] * (weights == NULL ? scale : scale * weights[j]);
        results[j] = (float)value;
        n_bad += fabs(value) <= FLT_MAX ? 0 : 1;
    }
    return n_bad;
}

/* Gradient and Hessian of a loss at scores + offset, times `scale` and the weights. Returns 1 if a score or a result is not
   finite. */
EXPORT int64_t query_loss(int64_t loss, const double *settings, const double *scores, double offset,
                          const double *targets, const double *weights, int64_t n_weights, double scale,
                          const int64_t *indptr, int64_t n_queries, float *gradient, float *hessian)
{
    int64_t size = longest(indptr, n_queries), n_bad = 0;
    size = size > GROUP_ROWS ? size : GROUP_ROWS;
    double *memory = malloc(N_ARRAYS * size * sizeof(double));
    int64_t *starts = malloc((size + 1) * sizeof(int64_t));
    if (memory == NULL || starts == NULL) {
        free(memory);
        free(starts);
        return -1;
    }
    Group group = {.starts = starts, .s = memory, .x = memory + size, .g = memory + 2 * size, .h = memory + 3 * size};
    group.of_query = memory + 4 * size;
    for (int64_t q = 0, last; q < n_queries; q = last) {
        int64_t first = indptr[q];
        starts[0] = 0;
        for (last = q; last < n_queries && (last == q || indptr[last + 1] - first <= GROUP_ROWS); last++)
            starts[last - q + 1] = indptr[last + 1] - first;
        group.n_queries = last - q;
        group.n = starts[last - q];
        group.u = targets + first;
        n_bad += shift(scores + first, offset, group.n, group.s);
        losses[loss](&group, settings);
        const double *factors = n_weights > 0 ? weights + first : NULL;
        n_bad += write(group.g, scale, factors, group.n, gradient + first);
        n_bad += write(group.h, scale, factors, group.n, hessian + first);
    }
    free(memory);
    free(starts);
    return n_bad > 0;
}

/* exp(values) and log(|values|), for the tests of their accuracy. */
EXPORT int64_t elementary(const double *values, int64_t n, double *exponentials, double *logarithms)
{
    for (int64_t j = 0; j < n; j++) {
        exponentials[j] = exponential(values[j]);
        logarithms[j] = logarithm(fabs(values[j]));
    }
    return 0;
}
