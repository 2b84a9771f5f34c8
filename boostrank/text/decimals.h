/* Decimal numbers, exactly rounded, in any locale. */
#ifndef BOOSTRANK_DECIMALS_H
#define BOOSTRANK_DECIMALS_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* More digits may not fit in 64 bits. */
#define MAX_DIGITS 19
/* Larger exponents count as this one. It is beyond the range of float64 for every number of digits in a block. */
#define MAX_EXPONENT 1000000000000
/* The powers of ten from -MAX_POWER to MAX_POWER have entries in the table that callers pass. */
#define MAX_POWER 64

enum kind {
    NO_NUMBER, /* This is no number. */
    FAST,      /* The value was computed. */
    SLOW       /* This is a number, but its value was not computed. */
};

static inline int is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* The upper 64 bits of a product of two integers; the lower 64 bits go to `low`. */
static inline uint64_t multiply(uint64_t a, uint64_t b, uint64_t *low)
{
#if defined(__SIZEOF_INT128__)
    unsigned __int128 product = (unsigned __int128)a * b;
    *low = (uint64_t)product;
    return (uint64_t)(product >> 64);
#else
    uint64_t a1 = a >> 32, a0 = a & 0xFFFFFFFF, b1 = b >> 32, b0 = b & 0xFFFFFFFF;
    uint64_t middle = a1 * b0 + ((a0 * b0) >> 32), other = a0 * b1 + (middle & 0xFFFFFFFF);
    *low = a * b;
    return a1 * b1 + (middle >> 32) + (other >> 32);
#endif
}

static inline int leading_zeros(uint64_t number)
{
#if defined(__GNUC__)
    return __builtin_clzll(number);
#else
    int zeros = 0;
    for (; !(number >> 63); number <<= 1)
        zeros++;
    return zeros;
#endif
}

/* The float64 nearest to digits * 10^power, for digits > 0; 0 if it is not known, as for results that are subnormal or
   infinite. `powers` has the upper and lower 64 bits of 5^p, scaled to 128 bits, for p = -MAX_POWER, ..., MAX_POWER.

   Lemire, "Number parsing at a gigabyte per second", Software: Practice and Experience 2021. */
static inline int nearest(uint64_t digits, int64_t power, const uint64_t *powers, double *value)
{
    static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    /* Both numbers are float64 exactly, so that there is one rounding. */
    if (FLT_EVAL_METHOD == 0 && digits <= (uint64_t)1 << 53 && power >= -22 && power <= 22) {
        *value = power < 0 ? (double)digits / exact[-power] : (double)digits * exact[power];
        return 1;
    }
    if (power < -MAX_POWER || power > MAX_POWER)
        return 0;
    int zeros = leading_zeros(digits);
    const uint64_t *five = powers + 2 * (power + MAX_POWER);
    uint64_t low, high = multiply(digits << zeros, five[0], &low);
    if ((high & 0x1FF) == 0x1FF) {
        uint64_t unused, carry = multiply(digits << zeros, five[1], &unused);
        low += carry;
        high += low < carry;
        if (low == UINT64_MAX)
            return 0;
    }
    int upper = (int)(high >> 63);
    uint64_t bits = high >> (upper + 9);
    /* 217706 / 65536 is nearly log2(10); the quotient is rounded down. 1086 = 63 + 1023. */
    int64_t exponent = (217706 * power - (power < 0 ? 65535 : 0)) / 65536 + 1086 + upper - zeros;
    if (exponent <= 0)
        return 0;
    /* Half way between two numbers, the even one is nearest. */
    if (low <= 1 && power >= -4 && power <= 23 && (bits & 3) == 1 && bits << (upper + 9) == high)
        bits &= ~(uint64_t)1;
    bits = (bits + (bits & 1)) >> 1;
    if (bits >> 53) {
        bits >>= 1;
        exponent++;
    }
    if (exponent >= 2047)
        return 0;
    bits = (bits & (((uint64_t)1 << 52) - 1)) | ((uint64_t)exponent << 52);
    memcpy(value, &bits, sizeof bits);
    return 1;
}

/* Whether a text begins with a word of lower-case letters, in any case; a text ends with a line end. */
static inline int begins_with(const char *text, const char *word)
{
    for (; *word; text++, word++)
        if ((*text | 0x20) != *word)
            return 0;
    return 1;
}

/* Read a number and move `at` behind it. The text ends with a line end. */
static inline enum kind read_number(const char **at, const uint64_t *powers, double *value)
{
    const char *text = *at;
    int negative = *text == '-';
    text += negative || *text == '+';
    if (!is_digit(*text) && *text != '.') {
        int length = begins_with(text, "infinity") ? 8 : begins_with(text, "inf") || begins_with(text, "nan") ? 3 : 0;
        *at = text + length;
        return length ? SLOW : NO_NUMBER;
    }
    const char *first = text;
    uint64_t digits = 0;
    int64_t power = 0, n_digits;
    for (; is_digit(*text); text++)
        digits = 10 * digits + (uint64_t)(*text - '0');
    n_digits = text - first;
    if (*text == '.') {
        const char *point = text++;
        for (; is_digit(*text); text++)
            digits = 10 * digits + (uint64_t)(*text - '0');
        power = point + 1 - text;
        n_digits -= power;
    }
    if (n_digits == 0)
        return NO_NUMBER;
    if ((*text | 0x20) == 'e') {
        int below = text[1] == '-';
        int64_t exponent = 0;
        text += 1 + (below || text[1] == '+');
        if (!is_digit(*text))
            return NO_NUMBER;
        for (; is_digit(*text); text++)
            exponent = exponent < MAX_EXPONENT ? 10 * exponent + (*text - '0') : exponent;
        power += below ? -exponent : exponent;
    }
    *at = text;
    if (n_digits > MAX_DIGITS) {
        for (; *first == '0' || *first == '.'; first++)
            n_digits -= *first == '0';
        if (n_digits > MAX_DIGITS)
            return SLOW;
    }
    if (digits == 0)
        *value = 0.0;
    else if (!nearest(digits, power, powers, value))
        return SLOW;
    if (negative)
        *value = -*value;
    return FAST;
}

#endif
