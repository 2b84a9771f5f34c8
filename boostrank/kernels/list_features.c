/* Features of documents relative to those of the other documents of their query. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

/* As in list_features.py. */
enum kind { RANK, STANDARDIZE, MINMAX };

/* Ranks of at most so many values are counted, which is faster than sorting fewer than these. */
#define MAX_COUNTED 64
/* So many columns are scaled at the same time. */
#define N_LANES 8
/* Keys are sorted by so many bits at once. */
#define DIGIT_BITS 8
#define N_DIGITS (1 << DIGIT_BITS)

/* Rank 1 is that of the smallest value, and equal values share the mean of their ranks. NaN has no rank. */
CLONES static void count_ranks(const double *RESTRICT values, int64_t n, float *RESTRICT ranks)
{
    for (int64_t i = 0; i < n; i++) {
        double value = values[i];
        int64_t twice = 1;
        for (int64_t j = 0; j < n; j++)
            twice += (values[j] < value) + (values[j] <= value);
        ranks[i] = 0.5f * (float)twice;
    }
}

/* An integer that has the sequence of the values; both zeros have the same. */
static inline uint64_t key_of(double value)
{
    uint64_t bits;
    value += 0.0;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

/* Sort numbers by their first 32 bits, one digit after the other from the lowest one; the other bits are the rows. */
static const uint64_t *sort(uint64_t *numbers, uint64_t *other, int64_t n)
{
    int32_t counts[4][N_DIGITS] = {{0}};
    for (int64_t i = 0; i < n; i++)
        for (int digit = 0; digit < 4; digit++)
            counts[digit][numbers[i] >> (32 + digit * DIGIT_BITS) & (N_DIGITS - 1)]++;
    for (int digit = 0; digit < 4; digit++) {
        int shift = 32 + digit * DIGIT_BITS;
        int32_t start = 0;
        if (counts[digit][numbers[0] >> shift & (N_DIGITS - 1)] == n)
            continue;
        for (int value = 0; value < N_DIGITS; value++) {
            int32_t count = counts[digit][value];
            counts[digit][value] = start;
            start += count;
        }
        for (int64_t i = 0; i < n; i++)
            other[counts[digit][numbers[i] >> shift & (N_DIGITS - 1)]++] = numbers[i];
        uint64_t *swapped = numbers;
        numbers = other;
        other = swapped;
    }
    return numbers;
}

/* Sort rows by the keys, of which `keys` has one for each row: first by their lower, then by their upper 32 bits, unless
   32 bits from the first one that differs on are enough. `numbers` and `other` are buffers. */
static const uint64_t *sorted_rows(const uint64_t *keys, int64_t n, uint64_t *numbers, uint64_t *other)
{
    uint64_t differ = 0;
    int shift = 32;
    for (int64_t i = 1; i < n; i++)
        differ |= keys[i] ^ keys[0];
    while (shift > 0 && !(differ >> (shift + 31)))
        shift--;
    for (int64_t i = 0; i < n; i++)
        numbers[i] = (keys[i] >> shift & UINT32_MAX) << 32 | (uint64_t)i;
    const uint64_t *sorted = sort(numbers, other, n);
    int64_t n_wrong = 0;
    for (int64_t i = 1; i < n; i++)
        n_wrong += keys[(uint32_t)sorted[i]] < keys[(uint32_t)sorted[i - 1]];
    if (n_wrong == 0)
        return sorted;
    for (int64_t i = 0; i < n; i++)
        numbers[i] = (keys[i] & UINT32_MAX) << 32 | (uint64_t)i;
    sorted = sort(numbers, other, n);
    uint64_t *next = sorted == numbers ? other : numbers;
    for (int64_t i = 0; i < n; i++)
        next[i] = keys[(uint32_t)sorted[i]] >> 32 << 32 | (uint32_t)sorted[i];
    return sort(next, sorted == numbers ? numbers : other, n);
}

static void sort_ranks(const double *values, int64_t n, float *ranks, uint64_t *keys)
{
    /* NaN is the last one, and its rank does not count. */
    for (int64_t i = 0; i < n; i++)
        keys[i] = isnan(values[i]) ? UINT64_MAX : key_of(values[i]);
    const uint64_t *sorted = sorted_rows(keys, n, keys + n, keys + 2 * n);
    for (int64_t first = 0, last; first < n; first = last) {
        uint64_t key = keys[(uint32_t)sorted[first]];
        for (last = first + 1; last < n && keys[(uint32_t)sorted[last]] == key; last++)
            ;
        for (int64_t i = first; i < last; i++)
            ranks[(uint32_t)sorted[i]] = 0.5f * (float)(first + last + 1);
    }
}

/* Ranks divided by the number of values; NaN for NaN. */
CLONES static void divide_ranks(const double *RESTRICT values, int64_t n, float *RESTRICT ranks)
{
    int64_t n_ranked = 0;
    for (int64_t i = 0; i < n; i++)
        n_ranked += !isnan(values[i]);
    float divisor = (float)n_ranked;
    for (int64_t i = 0; i < n; i++)
        ranks[i] = isnan(values[i]) ? NAN : ranks[i] / divisor;
}

/* Number of standard deviations from the mean, or, for MINMAX, the place in the range from 0 for the least to 1 for the
   largest value, all of the finite values of a column; 0 if these are equal. Other values stay as they are. Values are
   moved to the range from 0 to 1 first, so that no sum overflows, and none is inaccurate. N_LANES columns are scaled at
   the same time, so that short lists take no longer: row i has the values from i * N_LANES on. */
CLONES static void scale_columns(const double *RESTRICT values, int64_t n, int64_t kind, float *RESTRICT results)
{
    double least[N_LANES], largest[N_LANES], origin[N_LANES], scale[N_LANES];
    double sum[N_LANES] = {0.0}, squares[N_LANES] = {0.0}, n_finite[N_LANES] = {0.0};
    for (int lane = 0; lane < N_LANES; lane++) {
        least[lane] = INFINITY;
        largest[lane] = -INFINITY;
    }
    for (int64_t i = 0; i < n; i++)
        for (int lane = 0; lane < N_LANES; lane++) {
            double value = values[i * N_LANES + lane];
            least[lane] = fabs(value) < INFINITY && value < least[lane] ? value : least[lane];
            largest[lane] = fabs(value) < INFINITY && value > largest[lane] ? value : largest[lane];
        }
    for (int lane = 0; lane < N_LANES; lane++) {
        /* Halves, because the difference of two finite values may be infinite. */
        origin[lane] = 0.5 * least[lane];
        scale[lane] = 1.0 / (0.5 * largest[lane] - origin[lane]);
        scale[lane] = scale[lane] < INFINITY ? scale[lane] : 0.0;
    }
    for (int64_t i = 0; i < n; i++)
        for (int lane = 0; lane < N_LANES; lane++) {
            double value = values[i * N_LANES + lane], is_finite = fabs(value) < INFINITY ? 1.0 : 0.0;
            value = is_finite > 0.0 ? (0.5 * value - origin[lane]) * scale[lane] : 0.0;
            n_finite[lane] += is_finite;
            sum[lane] += value;
            squares[lane] += value * value;
        }
    for (int lane = 0; lane < N_LANES; lane++) {
        sum[lane] /= n_finite[lane];
        double variance = squares[lane] / n_finite[lane] - sum[lane] * sum[lane];
        squares[lane] = variance > 0.0 ? 1.0 / sqrt(variance) : 0.0;
        if (kind == MINMAX) {
            sum[lane] = 0.0;
            squares[lane] = 1.0;
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int lane = 0; lane < N_LANES; lane++) {
            double value = values[i * N_LANES + lane];
            double scaled = ((0.5 * value - origin[lane]) * scale[lane] - sum[lane]) * squares[lane];
            results[i * N_LANES + lane] = (float)(fabs(value) < INFINITY ? scaled : value);
        }
}

/* A value of X, whose rows have `width` values, of 64 bits or, if `is_single`, of 32. */
static inline double value_at(const uint8_t *X, int64_t is_single, int64_t place)
{
    return is_single ? ((const float *)X)[place] : ((const double *)X)[place];
}

/* Write `n_results` features of each document to the rows of `results`: feature f is of the kind kinds[f], and is computed
   from the column columns[f] of X. */
EXPORT int64_t list_features(const uint8_t *X, int64_t is_single, int64_t width, const int64_t *indptr, int64_t n_queries,
                             const int64_t *kinds, const int64_t *columns, int64_t n_results, float *results)
{
    size_t n_rows = (size_t)longest(indptr, n_queries);
    double *values = calloc(n_rows * N_LANES, sizeof(double));
    float *result = malloc(n_rows * N_LANES * sizeof(float));
    uint64_t *keys = malloc(3 * n_rows * sizeof(uint64_t));
    int64_t status = values == NULL || result == NULL || keys == NULL ? -1 : 0;
    for (int64_t q = 0; q < n_queries && status == 0; q++) {
        int64_t start = indptr[q], n = indptr[q + 1] - start, n_lanes;
        for (int64_t f = 0; f < n_results; f += n_lanes) {
            if (kinds[f] == RANK) {
                n_lanes = 1;
                for (int64_t i = 0; i < n; i++)
                    values[i] = value_at(X, is_single, (start + i) * width + columns[f]);
                if (n <= MAX_COUNTED)
                    count_ranks(values, n, result);
                else
                    sort_ranks(values, n, result, keys);
                divide_ranks(values, n, result);
            } else {
                for (n_lanes = 1; n_lanes < N_LANES && f + n_lanes < n_results && kinds[f + n_lanes] == kinds[f];)
                    n_lanes++;
                /* What is in the other lanes does not count. */
                for (int64_t i = 0; i < n; i++)
                    for (int64_t lane = 0; lane < n_lanes; lane++)
                        values[i * N_LANES + lane] = value_at(X, is_single, (start + i) * width + columns[f + lane]);
                scale_columns(values, n, kinds[f], result);
            }
            int64_t step = kinds[f] == RANK ? 1 : N_LANES;
            for (int64_t i = 0; i < n; i++)
                for (int64_t lane = 0; lane < n_lanes; lane++)
                    results[(start + i) * n_results + f + lane] = result[i * step + lane];
        }
    }
    free(values);
    free(result);
    free(keys);
    return status;
}
