/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "conformance/traces/trace_line.h"

#include "base/json_memory.h"
#include "base/names.h"
#include "speclab/no_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* LINE_BYTES, LINE_VALUES: limits of a line without rows. TOKEN_BYTES: more bytes for each token of
 * the vocabulary. */
enum { LINE_BYTES = 1 << 17, LINE_VALUES = 64, TOKEN_BYTES = 64 };

spec_trace_line spec_trace_line_of(FILE *file, const char *name)
{
    return (spec_trace_line){
        .file = file, .name = name, .most = LINE_BYTES, .most_values = LINE_VALUES};
}

void spec_trace_line_free(spec_trace_line *l)
{
    free(l->bytes);
}

void spec_trace_line_limit(spec_trace_line *l, int vocab, int pairs)
{
    l->vocab = vocab;
    l->most = LINE_BYTES + (size_t)vocab * TOKEN_BYTES;
    l->most_values = LINE_VALUES + 2 * (size_t)vocab + 2 * (size_t)pairs;
}

int spec_trace_line_bad(const spec_trace_line *l, spec_error *error, const char *format, ...)
{
    char what[320];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return spec_fail(error, GSL_EINVAL, "%.150s:%llu: %s", l->name, (unsigned long long)l->number,
                     what);
}

int spec_trace_line_next(spec_trace_line *l, bool *ret_end, spec_error *error)
{
    int c = EOF;
    l->length = 0;
    l->number++;
    for (;;) {
        if (l->length == l->capacity) {
            if (l->length >= l->most)
                return spec_trace_line_bad(
                    l, error, "a line of more than %zu bytes: too long for a vocabulary of %d",
                    l->most, l->vocab);
            const size_t more = l->capacity < 256           ? 512
                                : l->capacity < l->most / 2 ? 2 * l->capacity
                                                            : l->most;
            char *bytes = realloc(l->bytes, more);
            if (bytes == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
            l->bytes = bytes;
            l->capacity = more;
        }
        c = getc_unlocked(l->file);
        if (c == EOF || c == '\n') break;
        l->bytes[l->length++] = (char)c;
    }
    if (c == EOF && ferror(l->file))
        return spec_fail(error, GSL_EFAILED, "%.300s: %s", l->name, strerror(errno));
    *ret_end = c == EOF && l->length == 0;
    return GSL_SUCCESS;
}

/* A parsed value takes dozens of bytes of memory, but as few as two in a line: the number of values
 * is limited before parsing. */
int spec_trace_line_parse(json_t **ret, const spec_trace_line *l, spec_error *error)
{
    size_t values = 1;
    json_error_t why;
    *ret = NULL;
    if (memchr(l->bytes, '\0', l->length) != NULL)
        return spec_trace_line_bad(l, error, "a NUL byte"); /* Jansson would stop there */
    for (const char *c = l->bytes, *end = c + l->length;
         (c = memchr(c, ',', (size_t)(end - c))) != NULL; c++)
        values++;
    if (values > l->most_values)
        return spec_trace_line_bad(l, error, "more values than two rows of a vocabulary of %d have",
                                   l->vocab);
    *ret = spec_json_load(l->bytes, l->length, JSON_REJECT_DUPLICATES, &why);
    if (spec_json_lost()) return spec_no_memory(error);
    if (*ret == NULL)
        return spec_trace_line_bad(l, error, "%s at byte %d",
                                   l->length == 0 ? "an empty line" : why.text, why.position);
    if (json_is_object(*ret)) return GSL_SUCCESS;
    json_decref(*ret);
    *ret = NULL;
    return spec_trace_line_bad(l, error, "not a JSON object");
}

int spec_trace_line_unknown(const spec_trace_line *l, const char *key, const char *const *keys,
                            spec_error *error)
{
    char meant[SPEC_NAMES_MEANT_SIZE];
    return spec_trace_line_bad(l, error, "no key is called \"%.60s\"%s", key,
                               spec_names_meant(meant, key, keys, ""));
}

int spec_trace_line_real(double *ret, const spec_trace_line *l, const char *key,
                         const json_t *value, double least, double most, spec_error *error)
{
    *ret = json_number_value(value);
    if (!json_is_number(value)) return spec_trace_line_bad(l, error, "\"%s\" is not a number", key);
    if (*ret >= least && *ret <= most) return GSL_SUCCESS;
    return spec_trace_line_bad(l, error, "\"%s\" is %g: it is from %g to %g", key, *ret, least,
                               most);
}

int spec_trace_line_whole(int64_t *ret, const spec_trace_line *l, const char *key,
                          const json_t *value, int64_t least, int64_t most, spec_error *error)
{
    *ret = json_integer_value(value);
    if (!json_is_integer(value))
        return spec_trace_line_bad(l, error, "\"%s\" is not a whole number", key);
    if (*ret >= least && *ret <= most) return GSL_SUCCESS;
    return spec_trace_line_bad(l, error, "\"%s\" is %lld: it is from %lld to %lld", key,
                               (long long)*ret, (long long)least, (long long)most);
}

int spec_trace_line_bool(bool *ret, const spec_trace_line *l, const char *key, const json_t *value,
                         spec_error *error)
{
    *ret = json_is_true(value);
    return json_is_boolean(value)
               ? GSL_SUCCESS
               : spec_trace_line_bad(l, error, "\"%s\" is not true or false", key);
}

int spec_trace_line_log(double *ret, const spec_trace_line *l, const char *key, const json_t *value,
                        spec_error *error)
{
    const int status = spec_trace_line_real(ret, l, key, value, -1e300, 1e-3, error);
    if (*ret > 0.0) *ret = 0.0;
    return status;
}
