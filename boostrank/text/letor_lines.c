/* Lines of LETOR files. They are accepted or refused; Python finds out why a line is invalid. */
#include "decimals.h"
#include "../kernels/kernels.h"

enum result { ACCEPTED = 0, REFUSED = 1 };

/* Numbers of what was read, in the sequence of letor_lines.py. */
enum { N_ROWS, N_VALUES, N_RUNS, N_SLOW, HAS_QID, INCREASING, REGULAR_WIDTH, N_COUNTS };

static inline int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static inline const char *skip_blanks(const char *text, const char *end)
{
    while (text < end && is_blank(*text))
        text++;
    return text;
}

/* Read complete lines. A label, an index, a value or a query id ends at a blank or at `end`, the end of the line or of
   what comes before its comment.

   The arrays have space for a row for each line end, and for a value for each colon. Consecutive rows of one query id
   are a run: `runs` has the first and the last byte of the id, and the number of rows. `slow` has the place in
   `values`, or -1 minus the row of a label, and the first and the last byte of each number whose value was not
   computed. */
EXPORT int64_t letor_lines(const char *text, int64_t size, int64_t first_index, int64_t max_index,
                           const uint64_t *powers, double *labels, int64_t *sizes, int32_t *columns, double *values,
                           int64_t *runs, int64_t *slow, int64_t *counts)
{
    int64_t row = 0, n = 0, n_runs = 0, n_slow = 0, has_qid = -1, increasing = 1, width = -1;
    const char *id = text, *at, *line_end, *first;
    int64_t id_size = -1;
    for (const char *line = text; line < text + size; line = line_end + 1) {
        line_end = memchr(line, '\n', text + size - line);
        const char *end = line_end > line && line_end[-1] == '\r' ? line_end - 1 : line_end;
        if (memchr(line, '\r', end - line) != NULL)
            return REFUSED; /* A line that ends in \r alone would be joined to the next line or to a comment. */
        const char *hash = memchr(line, '#', end - line);
        end = hash == NULL ? end : hash;
        at = skip_blanks(line, end);
        if (at == end)
            continue;
        first = at;
        enum kind kind = read_number(&at, powers, labels + row);
        if (kind == NO_NUMBER || (at < end && !is_blank(*at)))
            return REFUSED;
        if (kind == SLOW) {
            slow[3 * n_slow] = -1 - row;
            slow[3 * n_slow + 1] = first - text;
            slow[3 * n_slow++ + 2] = at - text;
        }
        at = skip_blanks(at, end);
        int found = end - at > 4 && memcmp(at, "qid:", 4) == 0;
        if (has_qid >= 0 && found != has_qid)
            return REFUSED;
        has_qid = found;
        if (found) {
            first = at + 4;
            for (at = first; at < end && !is_blank(*at); at++)
                if (*at == ':' || (unsigned char)*at < ' ')
                    return REFUSED;
            if (at == first)
                return REFUSED;
            if (at - first != id_size || memcmp(id, first, id_size) != 0) {
                id = first;
                id_size = at - first;
                runs[3 * n_runs] = first - text;
                runs[3 * n_runs + 1] = at - text;
                runs[3 * n_runs++ + 2] = 0;
            }
            runs[3 * n_runs - 1]++;
            at = skip_blanks(at, end);
        }
        int64_t first_value = n, last = -1;
        for (; at < end; at = skip_blanks(at, end)) {
            int64_t index = 0;
            for (first = at; is_digit(*at); at++)
                index = index <= max_index ? 10 * index + (*at - '0') : index;
            if (at == first || at - first > MAX_DIGITS || *at != ':' || index < first_index || index > max_index)
                return REFUSED;
            columns[n] = (int32_t)(index - first_index);
            increasing &= columns[n] > last;
            last = columns[n];
            first = ++at;
            kind = read_number(&at, powers, values + n);
            if (kind == NO_NUMBER || (at < end && !is_blank(*at)))
                return REFUSED;
            if (kind == SLOW) {
                slow[3 * n_slow] = n;
                slow[3 * n_slow + 1] = first - text;
                slow[3 * n_slow++ + 2] = at - text;
            }
            n++;
        }
        sizes[row] = n - first_value;
        /* Columns that increase from 0 to n - 1 are all of these. */
        int64_t all = last + 1 == sizes[row] ? sizes[row] : -2;
        width = row == 0 || width == all ? all : -2;
        row++;
    }
    counts[N_ROWS] = row;
    counts[N_VALUES] = n;
    counts[N_RUNS] = n_runs;
    counts[N_SLOW] = n_slow;
    counts[HAS_QID] = has_qid == 1;
    counts[INCREASING] = increasing;
    counts[REGULAR_WIDTH] = increasing && width >= 0 ? width : -1;
    return ACCEPTED;
}
