/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/traces/trace_line.h"

#include "base/json_memory.h"
#include "base/names.h"
#include "speclab/no_memory.h"

#include <string.h>

/* LINE_BYTES, LINE_VALUES: limits of a line without rows. TOKEN_BYTES: additional bytes for each
 * token of the vocabulary. RESPONSE_*: limits of a response, which may have thousands of tokens. */
enum {
    LINE_BYTES = 1 << 17,
    LINE_VALUES = 64,
    TOKEN_BYTES = 64,
    RESPONSE_BYTES = 1 << 26,
    RESPONSE_VALUES = 1 << 21
};

/* For functions with a line `l` and an error. */
#define BAD(...) spec_text_lines_bad(&l->text, error, __VA_ARGS__)

spec_trace_line spec_trace_line_of(FILE *file, const char *name)
{
    return (spec_trace_line){.text = spec_text_lines_of(file, name, RESPONSE_BYTES),
                             .most_values = RESPONSE_VALUES};
}

void spec_trace_line_free(spec_trace_line *l)
{
    spec_text_lines_free(&l->text);
}

void spec_trace_line_limit(spec_trace_line *l, int vocab, int pairs)
{
    l->vocab = vocab;
    l->text.most = LINE_BYTES + (size_t)vocab * TOKEN_BYTES;
    l->most_values = LINE_VALUES + 2 * (size_t)vocab + 2 * (size_t)pairs;
}

int spec_trace_line_next(spec_trace_line *l, bool *ret_end, spec_error *error)
{
    const int status = spec_text_lines_next(&l->text, ret_end, error);
    if (status != GSL_EINVAL || l->text.length != l->text.most) return status;
    return l->vocab == 0 ? BAD("a line of more than %zu bytes", l->text.most)
                         : BAD("a line of more than %zu bytes: too long for a vocabulary of %d",
                               l->text.most, l->vocab);
}

/* A parsed value takes dozens of bytes of memory, but as few as two in a line, so the number of
 * values is limited before parsing. */
int spec_trace_line_parse(json_t **ret, const spec_trace_line *l, spec_error *error)
{
    size_t values = 1;
    json_error_t why;
    *ret = NULL;
    for (const char *c = l->text.bytes, *end = c + l->text.length;
         (c = memchr(c, ',', (size_t)(end - c))) != NULL; c++)
        values++;
    if (values > l->most_values && l->vocab == 0)
        return BAD("more than %zu values", l->most_values);
    if (values > l->most_values)
        return BAD("more values than two rows of a vocabulary of %d have", l->vocab);
    *ret = spec_json_load(l->text.bytes, l->text.length, JSON_REJECT_DUPLICATES, &why);
    if (spec_json_lost()) return spec_no_memory(error);
    if (*ret == NULL)
        return BAD("%s at byte %d", l->text.length == 0 ? "an empty line" : why.text, why.position);
    if (json_is_object(*ret)) return GSL_SUCCESS;
    json_decref(*ret);
    *ret = NULL;
    return BAD("not a JSON object");
}

int spec_trace_line_unknown(const spec_trace_line *l, const char *key, const char *const *keys,
                            spec_error *error)
{
    char meant[SPEC_NAMES_MEANT_SIZE];
    return BAD("no key is called \"%.60s\"%s", key, spec_names_meant(meant, key, keys, ""));
}

int spec_trace_line_real(double *ret, const spec_trace_line *l, const char *key,
                         const json_t *value, double least, double most, spec_error *error)
{
    *ret = json_number_value(value);
    if (!json_is_number(value)) return BAD("\"%s\" is not a number", key);
    if (*ret >= least && *ret <= most) return GSL_SUCCESS;
    return BAD("\"%s\" is %g: it must be from %g to %g", key, *ret, least, most);
}

int spec_trace_line_whole(int64_t *ret, const spec_trace_line *l, const char *key,
                          const json_t *value, int64_t least, int64_t most, spec_error *error)
{
    *ret = json_integer_value(value);
    if (!json_is_integer(value)) return BAD("\"%s\" is not a whole number", key);
    if (*ret >= least && *ret <= most) return GSL_SUCCESS;
    return BAD("\"%s\" is %lld: it must be from %lld to %lld", key, (long long)*ret,
               (long long)least, (long long)most);
}

int spec_trace_line_bool(bool *ret, const spec_trace_line *l, const char *key, const json_t *value,
                         spec_error *error)
{
    *ret = json_is_true(value);
    return json_is_boolean(value) ? GSL_SUCCESS : BAD("\"%s\" is not true or false", key);
}

int spec_trace_line_log(double *ret, const spec_trace_line *l, const char *key, const json_t *value,
                        spec_error *error)
{
    const int status = spec_trace_line_real(ret, l, key, value, -1e300, 1e-3, error);
    if (*ret > 0.0) *ret = 0.0;
    return status;
}
