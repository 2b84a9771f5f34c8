/* Texts as keys of queries: numbers of equal texts are found by their hashes. */
#ifndef BOOSTRANK_KEYS_H
#define BOOSTRANK_KEYS_H

#include <stdlib.h>
#include <string.h>

#include "../kernels/kernels.h"

#define FIRST_CAPACITY 1024

typedef struct {
    const char *bytes;
    int64_t size;
} span;

static inline int is_same(span one, span other)
{
    return one.size == other.size && memcmp(one.bytes, other.bytes, (size_t)one.size) == 0;
}

/* A hash of texts whose quality decides the time only. */
static inline uint64_t hash(span text, uint64_t state)
{
    const char *at = text.bytes, *end = text.bytes + text.size;
    uint64_t word = 0;
    for (; end - at > 8; at += 8) {
        memcpy(&word, at, 8);
        state = (state ^ word) * 0x9e3779b97f4a7c15u;
        state ^= state >> 29;
    }
    /* The last eight bytes are read at once: some of them may belong to the word before. */
    if (text.size >= 8)
        memcpy(&word, end - 8, 8);
    else
        while (end > at)
            word = word << 8 | (unsigned char)*--end;
    state = (state ^ word) * 0x9e3779b97f4a7c15u;
    return state ^ state >> 29;
}

/* The keys of a query. A slot is empty if its number is below that of the first key of the query, so that nothing needs to
   be erased for the next query. A key consists of `n_parts` texts. */
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

/* Enter the last key; returns the number of the key that equals it, its own if it is new. */
static inline int64_t enter(Keys *keys, int64_t number)
{
    const span *key = key_at(keys, number);
    for (uint64_t slot = hash_of(keys, key);; slot++) {
        int64_t *found = keys->slots + (slot & (uint64_t)(keys->capacity - 1));
        if (*found < keys->first) {
            *found = number;
            return number;
        }
        const span *other = key_at(keys, *found);
        int64_t part = 0;
        while (part < keys->n_parts && is_same(key[part], other[part]))
            part++;
        if (part == keys->n_parts)
            return *found;
    }
}

/* Begin another query, whose first key has this number. */
static inline void begin(Keys *keys, int64_t first)
{
    keys->first = first;
    keys->n_keys = 0;
}

/* Make space for another key; returns 0 if there is no memory. */
static inline int has_space(Keys *keys)
{
    if (2 * (keys->n_keys + 1) <= keys->capacity)
        return 1;
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

#endif
