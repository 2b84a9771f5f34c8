/* The exponential function and the logarithm as loops that compilers turn into vector instructions.

   A value depends on its argument only, not on its place in an array. Errors are below 1 unit in the last place. Results
   below the smallest normal number are 0. */
#ifndef BOOSTRANK_ELEMENTARY_H
#define BOOSTRANK_ELEMENTARY_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels.h"

/* The upper bits of log(2), so that its products with exponents are exact, and the rest. */
#define LN2_HIGH 6.931471803691238e-01
#define LN2_LOW 1.9082149292705877e-10
/* 1.5 * 2^52. Added to a number of at most 2^51, it leaves the nearest integer in the lowest bits. */
#define ROUNDS 6755399441055744.0
/* The logarithm of the smallest normal number. */
#define MIN_LOG (-708.39641853226408)

static INLINE uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static INLINE double of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* exp(x) = 2^k exp(r) with |r| at most log(2) / 2, by Taylor's polynomial of degree 13, for x of at most 709. */
static INLINE double exponential(double x)
{
    double within = x < MIN_LOG ? MIN_LOG : x;
    double rounded = within * 1.4426950408889634 + ROUNDS, k = rounded - ROUNDS;
    double r = (within - k * LN2_HIGH) - k * LN2_LOW, r2 = r * r, r4 = r2 * r2;
    double first = (1.0 / 6 + r * (1.0 / 24)) + r2 * (1.0 / 120 + r * (1.0 / 720));
    double second = (1.0 / 5040 + r * (1.0 / 40320)) + r2 * (1.0 / 362880 + r * (1.0 / 3628800));
    double third = 1.0 / 39916800 + r * (1.0 / 479001600) + r2 * (1.0 / 6227020800.0);
    double value = 1.0 + (r + r2 * (0.5 + r * (first + r4 * (second + r4 * third))));
    return x < MIN_LOG ? 0.0 : of_bits(bits_of(value) + (bits_of(rounded) << 52));
}

/* log(x) = k log(2) + log(1 + f) with 1 + f between sqrt(1 / 2) and sqrt(2), for x of at least 0, which is minus infinity
   for x below the smallest normal number. The polynomial in f / (2 + f) is that of FreeBSD's e_log.c. */
static INLINE double logarithm(double x)
{
    /* Such that the exponent is increased where the mantissa is above that of sqrt(1 / 2). */
    uint64_t shifted = bits_of(x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu), biased = shifted >> 52;
    double k = of_bits(biased | 0x4330000000000000u) - (4503599627370496.0 + 1023.0);
    double f = of_bits((shifted & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
    double s = f / (2.0 + f), z = s * s, w = z * z, half = 0.5 * f * f;
    double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double odd = z * (6.666666666666735130e-01 +
                      w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    double value = k * LN2_HIGH - ((half - (s * (half + even + odd) + k * LN2_LOW)) - f);
    return x < DBL_MIN ? -(double)INFINITY : value;
}

#endif
