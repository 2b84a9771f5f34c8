/* Numbers of equal texts, such as the ids of the documents of each query. */
#include "keys.h"

/* Number the texts of each query by first appearance, on from the last number of the query before it.

   Text i, which belongs to the query `query[i]`, has the bytes places[i] to places[i + 1] - 1. `rows` gets the rows sorted by
   query, those of a query in their sequence; `numbers` the number of each row, and `firsts` the first row of each number;
   `sizes` the number of different texts of each query. */
EXPORT int64_t text_numbers(const uint8_t *bytes, const int64_t *places, int64_t n_rows, const int64_t *query,
                            int64_t n_queries, int64_t *rows, int64_t *numbers, int64_t *firsts, int64_t *sizes)
{
    Keys keys = {.n_parts = 1};
    int64_t n = 0, result = -1;
    int64_t *ends = calloc((size_t)n_queries + 1, sizeof(int64_t));
    if (ends == NULL)
        return -1;
    for (int64_t i = 0; i < n_rows; i++)
        ends[query[i] + 1]++;
    for (int64_t q = 0; q < n_queries; q++)
        ends[q + 1] += ends[q];
    /* Now ends[q] is where the rows of query q start, and each row moves it on. */
    for (int64_t i = 0; i < n_rows; i++)
        rows[ends[query[i]]++] = i;
    for (int64_t q = 0, at = 0; q < n_queries; q++) {
        span last = {NULL, -1};
        begin(&keys, n);
        for (; at < ends[q]; at++) {
            int64_t row = rows[at];
            span text = {(const char *)bytes + places[row], places[row + 1] - places[row]};
            /* Ids of queries often follow equal ones. */
            if (is_same(text, last)) {
                numbers[row] = numbers[rows[at - 1]];
                continue;
            }
            if (!has_space(&keys))
                goto finish;
            *key_at(&keys, n) = last = text;
            numbers[row] = enter(&keys, n);
            if (numbers[row] == n) {
                firsts[n++] = row;
                keys.n_keys++;
            }
        }
        sizes[q] = keys.n_keys;
    }
    result = 0;
finish:
    free(ends);
    free(keys.keys);
    free(keys.slots);
    return result;
}
