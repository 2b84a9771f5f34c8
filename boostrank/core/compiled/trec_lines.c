/* Lines of TREC files. They are accepted or refused; Python finds out why a line is invalid. */
#include <stdlib.h>
#include <string.h>

#include "decimals.h"
#include "kernels.h"

enum result { ACCEPTED = 0, REFUSED = 1 };
/* What a field of a line is; a number of 0 or more is that of a column of texts. */
enum role { INTEGER = -3, SCORE = -2, UNUSED = -1 };

#define MAX_FIELDS 8
/* Integers of more digits may not fit in 64 bits. */
#define MAX_INTEGER_DIGITS 18
#define FIRST_CAPACITY 1024

typedef struct {
    const char *text;
    int64_t size;
} span;

static inline int is_same(span one, span other)
{
    return one.size == other.size && memcmp(one.text, other.text, (size_t)one.size) == 0;
}

/* A hash of texts whose quality decides the time only. */
static inline uint64_t hash(span field, uint64_t state)
{
    uint64_t word = 0;
    for (; field.size >= 8; field.text += 8, field.size -= 8) {
        memcpy(&word, field.text, 8);
        state = (state ^ word) * 0x9e3779b97f4a7c15u;
        state ^= state >> 29;
    }
    for (word = 0; field.size > 0; field.size--)
        word = word << 8 | (unsigned char)field.text[field.size - 1];
    state = (state ^ word) * 0x9e3779b97f4a7c15u;
    return state ^ state >> 29;
}

/* The keys of a query. A slot is empty if its number is below that of the first key of the query, so that nothing needs to
   be erased for the next query. A key consists of `n_parts` fields. */
typedef struct {
    span *keys;
    int64_t *slots;
    int64_t n_parts, n_keys, first, capacity;
} Keys;

static inline span *key_at(const Keys *keys, int64_t number)
{
    return keys->keys + (number - keys->first) * keys->n_parts;
}

static inline uint64_t hash_of(const Keys *keys, const span *key)
{
    uint64_t state = 0;
    for (int64_t part = 0; part < keys->n_parts; part++)
        state = hash(key[part], state + 1);
    return state ^ (state >> 32);
}

/* Enter the last key; returns 0 if it is there already. */
static int enter(Keys *keys, int64_t number)
{
    const span *key = key_at(keys, number);
    for (uint64_t slot = hash_of(keys, key);; slot++) {
        int64_t *found = keys->slots + (slot & (uint64_t)(keys->capacity - 1));
        if (*found < keys->first) {
            *found = number;
            return 1;
        }
        const span *other = key_at(keys, *found);
        int64_t part = 0;
        while (part < keys->n_parts && is_same(key[part], other[part]))
            part++;
        if (part == keys->n_parts)
            return 0;
    }
}

/* Make space for more keys; returns 0 if there is no memory. */
static int grow(Keys *keys)
{
    int64_t capacity = keys->capacity ? 2 * keys->capacity : FIRST_CAPACITY;
    int64_t *slots = malloc((size_t)capacity * sizeof(int64_t));
    span *texts = realloc(keys->keys, (size_t)(capacity / 2 * keys->n_parts) * sizeof(span));
    if (texts != NULL)
        keys->keys = texts;
    if (slots == NULL || texts == NULL) {
        free(slots);
        return 0;
    }
    for (int64_t slot = 0; slot < capacity; slot++)
        slots[slot] = -1;
    free(keys->slots);
    keys->slots = slots;
    keys->capacity = capacity;
    for (int64_t i = 0; i < keys->n_keys; i++)
        enter(keys, keys->first + i);
    return 1;
}

/* Read all lines of a text, which is followed by a zero byte.

   A line has `n_fields` fields with these roles; the texts of the field of role c go to data + c * size, one after the other,
   and the end of each to offsets + c * (max_rows + 1), after a 0. The first text column is the query. Rows of one query that
   follow each other are a run, of which `runs` has the first row. A line is refused if its texts are those of another line
   of its run. `slow` has the row, and the first and the last byte of each score whose value was not computed. */
EXPORT int64_t trec_lines(const uint8_t *bytes, int64_t size, const int64_t *roles, int64_t n_fields, int64_t n_texts,
                          int64_t max_rows, const uint64_t *powers, uint8_t *data, int64_t *offsets, double *scores,
                          int64_t *integers, int64_t *runs, int64_t *slow, int64_t *counts)
{
    const char *text = (const char *)bytes;
    Keys keys = {.n_parts = n_texts - 1};
    int64_t row = 0, n_runs = 0, n_slow = 0, result = REFUSED;
    int64_t ends[MAX_FIELDS] = {0};
    span query = {text, -1}, fields[MAX_FIELDS];
    if (n_fields > MAX_FIELDS || !grow(&keys)) {
        free(keys.keys);
        return -1;
    }
    for (int64_t c = 0; c < n_texts; c++)
        offsets[c * (max_rows + 1)] = 0;
    for (const char *at = text, *last = text + size; at < last; at++) {
        int64_t n = 0;
        for (;;) {
            while (*at == ' ' || *at == '\t')
                at++;
            if (*at == '\n' || at == last)
                break;
            if (*at == '\r') {
                /* A line that ends in \r alone is left to Python. */
                if (at + 1 < last && at[1] != '\n')
                    goto finish;
                at += at + 1 < last;
                break;
            }
            if (n == n_fields)
                goto finish;
            const char *first = at;
            while ((unsigned char)*at > ' ')
                at++;
            /* Other characters up to the blank, which are not control characters of lines, belong to the field. */
            while (*at != ' ' && *at != '\t' && *at != '\n' && *at != '\r' && at != last)
                at++;
            fields[n].text = first;
            fields[n++].size = at - first;
        }
        if (n == 0)
            continue;
        if (n != n_fields || row == max_rows)
            goto finish;
        for (int64_t f = 0; f < n_fields; f++) {
            if (roles[f] >= 0) {
                int64_t c = roles[f];
                uint8_t *target = data + c * size + ends[c];
                /* Copies of a known size take no call. What is behind the field is overwritten later; at most as many bytes
                   as lie before `last` are written. */
                if (fields[f].size <= 16 && last - fields[f].text >= 16)
                    memcpy(target, fields[f].text, 16);
                else
                    memcpy(target, fields[f].text, (size_t)fields[f].size);
                ends[c] += fields[f].size;
                offsets[c * (max_rows + 1) + row + 1] = ends[c];
            } else if (roles[f] == SCORE) {
                const char *end = fields[f].text;
                enum kind kind = read_number(&end, powers, scores + row);
                if (kind == NO_NUMBER || end != fields[f].text + fields[f].size)
                    goto finish;
                if (kind == SLOW) {
                    slow[3 * n_slow] = row;
                    slow[3 * n_slow + 1] = fields[f].text - text;
                    slow[3 * n_slow++ + 2] = end - text;
                }
            } else if (roles[f] == INTEGER) {
                const char *digits = fields[f].text, *end = digits + fields[f].size;
                int negative = *digits == '-';
                int64_t value = 0;
                digits += negative || *digits == '+';
                if (digits == end || end - digits > MAX_INTEGER_DIGITS)
                    goto finish;
                for (; digits < end; digits++) {
                    if (!is_digit(*digits))
                        goto finish;
                    value = 10 * value + (*digits - '0');
                }
                integers[row] = negative ? -value : value;
            }
        }
        for (int64_t f = 0; f < n_fields; f++)
            if (roles[f] == 0 && !is_same(query, fields[f])) {
                query = fields[f];
                runs[n_runs++] = row;
                keys.first = row;
                keys.n_keys = 0;
            }
        if (2 * (keys.n_keys + 1) > keys.capacity && !grow(&keys)) {
            result = -1;
            goto finish;
        }
        for (int64_t f = 0; f < n_fields; f++)
            if (roles[f] > 0)
                key_at(&keys, row)[roles[f] - 1] = fields[f];
        if (!enter(&keys, row))
            goto finish;
        keys.n_keys++;
        row++;
    }
    result = ACCEPTED;
    counts[0] = row;
    counts[1] = n_runs;
    counts[2] = n_slow;
finish:
    free(keys.keys);
    free(keys.slots);
    return result;
}
