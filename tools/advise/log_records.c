/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/log_records.h"

#include "base/json_memory.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 1 << 20,
    BEGINNING = 512,
    ESCAPE = 0x1b,
    VALUE_FLAGS = JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL
};

spec_log_records spec_log_records_of(int fd, const char *name, const volatile int *opt_stop)
{
    return (spec_log_records){.source = spec_unpacked_of(fd, name, opt_stop),
                              .name = name,
                              .line_most = (size_t)16 << 20,
                              .value_most = (size_t)256 << 20,
                              .memory_most = (size_t)1 << 30,
                              .line = 1};
}

void spec_log_records_free(spec_log_records *records)
{
    free(records->buffer);
    spec_unpacked_free(&records->source);
    *records = (spec_log_records){.line = 1};
}

static int bad(const spec_log_records *r, uint64_t line, spec_error *error, const char *what)
{
    return spec_fail(error, GSL_EINVAL, "%.300s:%llu: %s", r->name, (unsigned long long)line, what);
}

static uint64_t newlines(const char *from, const char *to)
{
    uint64_t n = 0;
    for (; (from = memchr(from, '\n', (size_t)(to - from))) != NULL; from++) n++;
    return n;
}

/* ---- Blocks ---- */

/* Moves the remaining bytes to the front, and makes room for a block and a zero byte. */
static int make_space(spec_log_records *r, spec_error *error)
{
    const size_t left = r->end - r->begin;
    if (r->begin > 0) {
        memmove(r->buffer, r->buffer + r->begin, left);
        r->lines_until = r->lines_until > r->begin ? r->lines_until - r->begin : 0;
        r->begin = 0;
        r->end = left;
    }
    if (r->capacity - r->end > BLOCK) return GSL_SUCCESS;
    const size_t capacity = r->capacity > 0 ? 2 * r->capacity : 2 * BLOCK;
    char *buffer = realloc(r->buffer, capacity);
    if (buffer == NULL) return spec_no_memory_for(error, r->name);
    r->buffer = buffer;
    r->capacity = capacity;
    return GSL_SUCCESS;
}

/* Checks a block for colours and NUL bytes, so that lines are searched for them only if the block
 * has any. */
static void look_at(spec_log_records *r, size_t from)
{
    const size_t n = r->end - from;
    if (!r->coloured) r->coloured = memchr(r->buffer + from, ESCAPE, n) != NULL;
    if (!r->zeros) r->zeros = memchr(r->buffer + from, '\0', n) != NULL;
}

/* Reads a block into the buffer, after the bytes it has. The buffer then starts with `begin`. */
static int read_block(spec_log_records *r, spec_error *error)
{
    size_t got;
    SPEC_PASS(make_space(r, error));
    SPEC_PASS(spec_unpacked_read(&got, &r->source, r->buffer + r->end, BLOCK, error));
    r->end += got;
    r->bytes += got;
    r->ended = got == 0;
    if (r->started) look_at(r, r->end - got);
    return GSL_SUCCESS;
}

/* Returns the name of the encoding if the text is UTF-16 without a byte-order mark (one byte of
 * each pair is zero), or NULL. */
static const char *wide_text(const spec_log_records *r)
{
    size_t zeros[2] = {0, 0}, pairs = r->end / 2 < BEGINNING / 2 ? r->end / 2 : BEGINNING / 2;
    for (size_t i = 0; i < 2 * pairs; i++) zeros[i % 2] += r->buffer[i] == '\0';
    if (pairs < 2 || zeros[0] + zeros[1] < pairs - pairs / 10) return NULL;
    return zeros[0] == 0 ? "UTF-16LE" : zeros[1] == 0 ? "UTF-16BE" : NULL;
}

/* Checks by its first bytes whether the file is something other than text of single bytes. */
static int start(spec_log_records *r, spec_error *error)
{
    while (r->end < 4 && !r->ended) SPEC_PASS(read_block(r, error));
    const bool marked = r->end >= 2 && (memcmp(r->buffer, "\xff\xfe", 2) == 0 ||
                                        memcmp(r->buffer, "\xfe\xff", 2) == 0);
    if (marked) return bad(r, 1, error, "is UTF-16: convert it first (iconv -f UTF-16 -t UTF-8)");
    const char *wide = wide_text(r);
    if (wide != NULL)
        return spec_fail(error, GSL_EINVAL,
                         "%.300s:1: is UTF-16 without a mark at its beginning: convert it first "
                         "(iconv -f %s -t UTF-8)",
                         r->name, wide);
    if (r->end >= 3 && memcmp(r->buffer, "\xef\xbb\xbf", 3) == 0) r->begin = 3;
    r->started = true;
    look_at(r, 0);
    return GSL_SUCCESS;
}

/* ---- Lines ---- */

/* Removes colour codes: ESC [ parameters letter. The rest of the line moves to the right, up to the
 * next line, and blanks fill the beginning. */
static void remove_codes(char *bytes, size_t n)
{
    size_t kept = 0;
    if (memchr(bytes, ESCAPE, n) == NULL) return;
    for (size_t at = 0; at < n;) {
        size_t behind = at;
        if (bytes[at] == ESCAPE && at + 1 < n && bytes[at + 1] == '[') {
            behind = at + 2;
            while (behind < n && bytes[behind] >= 0x20 && bytes[behind] <= 0x3f) behind++;
            behind = behind < n && bytes[behind] >= 0x40 && bytes[behind] <= 0x7e ? behind + 1 : at;
        }
        if (behind > at)
            at = behind;
        else
            bytes[kept++] = bytes[at++];
    }
    memmove(bytes + n - kept, bytes, kept);
    memset(bytes, ' ', n - kept);
}

static size_t skip_blanks(const char *bytes, size_t at, size_t n)
{
    while (at < n && (bytes[at] == ' ' || bytes[at] == '\t' || bytes[at] == '\r')) at++;
    return at;
}

/* Returns whether an object or an array can begin with these bytes, if the line ends after them.
 * "[2025" and "[info]" are text. */
static bool begins_value(const char *bytes, size_t n)
{
    if (n == 0 || (bytes[0] != '{' && bytes[0] != '[')) return false;
    const size_t next = skip_blanks(bytes, 1, n);
    if (next == n) return true;
    return memchr(bytes[0] == '{' ? "\"}\"" : "{[]", bytes[next], 3) != NULL;
}

/* Returns the line's first byte that is not blank, after "data:" if it is an event with JSON. */
static size_t content(const char *bytes, size_t n)
{
    static const char event[] = "data:", done[] = "[DONE]";
    const size_t at = skip_blanks(bytes, 0, n);
    if (n - at < sizeof event - 1 || memcmp(bytes + at, event, sizeof event - 1) != 0) return at;
    const size_t data = skip_blanks(bytes, at + sizeof event - 1, n);
    if (begins_value(bytes + data, n - data)) return data;
    const bool ends =
        n - data >= sizeof done - 1 && memcmp(bytes + data, done, sizeof done - 1) == 0;
    return ends ? n : at;
}

/* A line, as offsets from the first byte of the buffer that has not become part of a record. */
typedef struct {
    size_t begin, end;
    bool whole; /* a newline follows */
} line;

static int too_long(const spec_log_records *r, const char *what, size_t most, const char *next,
                    spec_error *error)
{
    return spec_fail(error, GSL_EINVAL, "%.300s:%llu: is a %s of over %zu bytes: %s", r->name,
                     (unsigned long long)r->line, what, most, next);
}

/* Reads to the end of the line that begins at `begin`. */
static int next_line(line *ret, spec_log_records *r, size_t begin, spec_error *error)
{
    size_t seen = begin;
    for (;;) {
        char *bytes = r->buffer + r->begin;
        const size_t left = r->end - r->begin;
        const char *end = left > seen ? memchr(bytes + seen, '\n', left - seen) : NULL;
        *ret = (line){begin, end != NULL ? (size_t)(end - bytes) : left, end != NULL};
        if (ret->end > r->value_most)
            return too_long(r, "JSON value", r->value_most, "write one response per line", error);
        /* Check this only once. Blanks after a bracket may take many reads, and would be searched
         * again in each. */
        if (begin == 0 && seen <= r->line_most && ret->end > r->line_most) {
            const size_t at = content(bytes, ret->end);
            if (!begins_value(bytes + at, ret->end - at))
                return too_long(r, "line", r->line_most, "it is not a log of an engine", error);
        }
        if (end != NULL || r->ended) {
            if (r->coloured) remove_codes(bytes + begin, ret->end - begin);
            return GSL_SUCCESS;
        }
        seen = left;
        SPEC_PASS(read_block(r, error));
    }
    return GSL_SUCCESS;
}

/* ---- Records ---- */

/* Returns the offset in the file of a byte in the buffer, from 1. */
static uint64_t place_of(const spec_log_records *r, const char *byte)
{
    return r->bytes - (uint64_t)(r->buffer + r->end - byte) + 1;
}

/* Returns the number of brackets that a line opens but does not close, outside strings. */
static long open_brackets(const char *bytes, size_t n)
{
    long open = 0;
    for (size_t i = 0; i < n; i++) {
        const char c = bytes[i];
        if (c == '"') {
            const char *end;
            size_t from;
            do {
                end = memchr(bytes + i + 1, '"', n - i - 1);
                if (end == NULL) return open;
                i = (size_t)(end - bytes);
                from = i;
                while (bytes[from - 1] == '\\') from--;
            } while ((i - from) % 2 == 1);
        }
        open += (c == '{' || c == '[') - (c == '}' || c == ']');
    }
    return open;
}

/* Returns the end of a value that ends at `end`, if the rest of the line has only blanks and the
 * comma of an array's element; 0 if it has other text. */
static size_t end_of_value(const char *bytes, size_t end, size_t line_end)
{
    size_t behind = skip_blanks(bytes, end, line_end);
    if (behind < line_end && bytes[behind] == ',')
        behind = skip_blanks(bytes, behind + 1, line_end);
    return behind == line_end ? end : 0;
}

/* Called when text has turned out not to be a value. Makes values that begin up to the line of
 * `broken` (an offset as in a line) end on their own line. */
static void read_as_lines(spec_log_records *r, size_t broken)
{
    const char *begin = r->buffer + r->begin, *newline = memrchr(begin, '\n', broken);
    if (newline != NULL) r->lines_until = r->begin + (size_t)(newline - begin);
}

/* Follows a JSON value that begins at `from` over several lines. *ret_end is its end, and *l its
 * last line; 0 if it is text or does not end. We let jansson parse the bytes each time they have
 * doubled, so we recognise text early, but parse each byte only a few times. */
static int follow(size_t *ret_end, line *l, spec_log_records *r, size_t from, spec_error *error)
{
    long open = 0;
    *ret_end = 0;
    for (size_t at = from, parsed = 0;; at = l->end + 1) {
        if (at > from) SPEC_PASS(next_line(l, r, at, error));
        const char *bytes = r->buffer + r->begin;
        open += open_brackets(bytes + at, l->end - at);
        const size_t n = l->end + l->whole - from;
        if (open > 0 && l->whole && n < 2 * parsed) continue;
        json_error_t why;
        json_t *value = spec_json_load_within(r->memory_most, bytes + from, n, VALUE_FLAGS, &why);
        if (value == NULL && spec_json_lost()) return spec_no_memory_for(error, r->name);
        json_decref(value);
        parsed = n;
        if (value != NULL) {
            *ret_end = end_of_value(bytes, from + (size_t)why.position, l->end);
            if (*ret_end == 0) read_as_lines(r, l->begin);
            return GSL_SUCCESS;
        }
        if (json_error_code(&why) == json_error_out_of_memory)
            return spec_fail(error, GSL_EINVAL, "%.300s:%llu: is a JSON value that %.60s", r->name,
                             (unsigned long long)r->line, why.text);
        if (json_error_code(&why) != json_error_premature_end_of_input) {
            read_as_lines(r, from + (size_t)why.position);
            return GSL_SUCCESS;
        }
        if (l->whole) continue;
        if (r->open_line == 0) r->open_line = r->line;
        r->lines_until = r->end;
        return GSL_SUCCESS;
    }
    return GSL_SUCCESS;
}

/* Finds the end of a value that begins at `from` and may span several lines; 0 if it is text. */
static int find_end(size_t *ret_end, line *l, spec_log_records *r, size_t from, spec_error *error)
{
    const char *bytes = r->buffer + r->begin;
    size_t end = l->end;
    *ret_end = 0;
    if (!begins_value(bytes + from, end - from)) return GSL_SUCCESS;
    if (open_brackets(bytes + from, end - from) > 0)
        return r->begin < r->lines_until ? GSL_SUCCESS : follow(ret_end, l, r, from, error);
    while (end > from && bytes[end - 1] != '}' && bytes[end - 1] != ']') end--;
    *ret_end = end_of_value(bytes, end, l->end);
    return GSL_SUCCESS;
}

int spec_log_records_next(spec_log_piece *ret, bool *ret_end, spec_log_records *r,
                          spec_error *error)
{
    *ret = (spec_log_piece){.bytes = NULL};
    *ret_end = false;
    if (!r->started) SPEC_PASS(start(r, error));
    for (;;) {
        line first, last;
        SPEC_PASS(next_line(&first, r, 0, error));
        size_t from = content(r->buffer + r->begin, first.end), end;
        last = first;
        SPEC_PASS(find_end(&end, &last, r, from, error));
        if (end == 0) {
            last = first;
            end = first.end;
            if (end > from && r->buffer[r->begin + end - 1] == '\r') end--;
        }
        char *bytes = r->buffer + r->begin;
        const char *zero = r->zeros ? memchr(bytes + from, '\0', end - from) : NULL;
        *ret = (spec_log_piece){.bytes = bytes + from,
                                .n = end - from,
                                .line = r->line,
                                .cut = !last.whole,
                                .zero = zero != NULL ? place_of(r, zero) : 0};
        r->line += (last.begin > 0 ? newlines(bytes, bytes + last.end) : 0) + last.whole;
        r->begin += last.end + last.whole;
        *ret_end = end == from && !last.whole;
        if (end == from && last.whole) continue;
        bytes[end] = '\0';
        return GSL_SUCCESS;
    }
    return GSL_SUCCESS;
}
