/* Lines of TREC files. They are accepted or refused; Python finds out why a line is invalid. */
#include "decimals.h"
#include "../kernels/kernels.h"
#include "keys.h"

enum result { ACCEPTED = 0, REFUSED = 1 };
/* What a field of a line is; a number of 0 or more is that of a column of texts. */
enum role { INTEGER = -3, SCORE = -2, UNUSED = -1 };

#define MAX_FIELDS 8
/* Integers of more digits may not fit in 64 bits. */
#define MAX_INTEGER_DIGITS 18

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
    if (n_fields > MAX_FIELDS || !has_space(&keys)) {
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
            fields[n].bytes = first;
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
                if (fields[f].size <= 16 && last - fields[f].bytes >= 16)
                    memcpy(target, fields[f].bytes, 16);
                else
                    memcpy(target, fields[f].bytes, (size_t)fields[f].size);
                ends[c] += fields[f].size;
                offsets[c * (max_rows + 1) + row + 1] = ends[c];
            } else if (roles[f] == SCORE) {
                const char *end = fields[f].bytes;
                enum kind kind = read_number(&end, powers, scores + row);
                if (kind == NO_NUMBER || end != fields[f].bytes + fields[f].size)
                    goto finish;
                if (kind == SLOW) {
                    slow[3 * n_slow] = row;
                    slow[3 * n_slow + 1] = fields[f].bytes - text;
                    slow[3 * n_slow++ + 2] = end - text;
                }
            } else if (roles[f] == INTEGER) {
                const char *digits = fields[f].bytes, *end = digits + fields[f].size;
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
                begin(&keys, row);
            }
        if (!has_space(&keys)) {
            result = -1;
            goto finish;
        }
        for (int64_t f = 0; f < n_fields; f++)
            if (roles[f] > 0)
                key_at(&keys, row)[roles[f] - 1] = fields[f];
        if (enter(&keys, row) != row)
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
