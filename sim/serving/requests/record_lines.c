/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/requests/record_lines.h"

#include "base/json_memory.h"
#include "base/settings.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The longest line: some engines also write the tokens of the prompt. */
static const size_t LINE_BYTES = (size_t)1 << 22;

/* For use in functions with a reader `records` and an error. */
#define BAD(...) spec_text_lines_bad(&records->in, error, __VA_ARGS__)

/* ---- CSV ------------------------------------------------------------------------------------- */

static char *trimmed(char *text)
{
    text += strspn(text, " \t");
    size_t n = strlen(text);
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t')) n--;
    text[n] = '\0';
    return text;
}

/* Unquotes a field in place, from the character after its first quote; "" stands for a quote.
 * Returns the end of the field, where a comma or the end of the line must follow; NULL without a
 * closing quote. */
static char *unquote(char *text)
{
    char *to = text;
    for (char *from = text; *from != '\0'; from++) {
        if (*from == '"' && *++from != '"') {
            *to = '\0';
            return from;
        }
        *to++ = *from;
    }
    return NULL;
}

/* Splits a line into fields. */
static int split(char **field, int *ret_n, const spec_record_lines *records, char *line,
                 spec_error *error)
{
    *ret_n = 0;
    for (char *next = line; next != NULL;) {
        char *end, *begin = next + strspn(next, " \t");
        if (*ret_n == SPEC_RECORD_COLUMNS)
            return BAD("has more than %d columns", SPEC_RECORD_COLUMNS);
        if (*begin == '"') {
            end = unquote(++begin);
            if (end == NULL) return BAD("has a quote that does not end on its line");
            end += strspn(end, " \t");
            if (*end != ',' && *end != '\0') return BAD("has text after a quoted field");
        } else {
            end = begin + strcspn(begin, ",");
        }
        next = *end == ',' ? end + 1 : NULL;
        *end = '\0';
        field[(*ret_n)++] = trimmed(begin);
    }
    return GSL_SUCCESS;
}

static int read_header(spec_record_lines *records, spec_error *error)
{
    char *field[SPEC_RECORD_COLUMNS];
    records->header = strdup(records->in.bytes);
    if (records->header == NULL) return spec_no_memory_for(error, records->in.name);
    const int status = split(field, &records->n_columns, records, records->header, error);
    if (status != GSL_SUCCESS) return status;
    for (int i = 0; i < records->n_columns; i++) {
        records->column[i] = field[i];
        for (int j = 0; j < i; j++)
            if (strcmp(field[i], field[j]) == 0 && field[i][0] != '\0')
                return BAD("has two columns called '%.60s'", field[i]);
    }
    return GSL_SUCCESS;
}

static int read_fields(spec_record_lines *records, spec_error *error)
{
    int n;
    const int status = split(records->field, &n, records, records->in.bytes, error);
    if (status != GSL_SUCCESS) return status;
    return n == records->n_columns
               ? GSL_SUCCESS
               : BAD("has %d columns, and the header has %d", n, records->n_columns);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Blanks the numbers of lists: some files have thousands of tokens or hashes in a line, which would
 * take most of the time and of the memory. */
static void blank_lists(char *text)
{
    bool string = false;
    for (; *text != '\0'; text++) {
        if (string && *text == '\\' && text[1] != '\0')
            text++;
        else if (*text == '"')
            string = !string;
        else if (!string && *text == '[') {
            const size_t n = strspn(text + 1, "0123456789.,-+eE \t");
            if (text[1 + n] == ']') memset(text + 1, ' ', n);
        }
    }
}

static int read_object(spec_record_lines *records, spec_error *error)
{
    json_error_t why;
    json_decref(records->object);
    blank_lists(records->in.bytes);
    records->object =
        spec_json_load(records->in.bytes, records->in.length, JSON_REJECT_DUPLICATES, &why);
    if (spec_json_lost()) return spec_no_memory_for(error, records->in.name);
    if (records->object == NULL) return BAD("%s at byte %d", why.text, why.position);
    return json_is_object(records->object) ? GSL_SUCCESS : BAD("is not a JSON object");
}

/* ---- both ------------------------------------------------------------------------------------ */

int spec_record_lines_init(spec_record_lines *records, FILE *file, const char *name,
                           spec_error *error)
{
    int status = GSL_SUCCESS;
    bool end = false;
    *records = (spec_record_lines){.in = spec_text_lines_of(file, name, LINE_BYTES)};
    SPEC_TRY(spec_text_lines_next_data(&records->in, &end, error));
    if (end) SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.300s: is empty", name));
    const char first = records->in.bytes[strspn(records->in.bytes, " \t")];
    if (first == '[') SPEC_TRY(BAD("is a JSON array: write one JSON object per line"));
    records->json = records->ahead = first == '{';
    SPEC_TRY(records->json ? read_object(records, error) : read_header(records, error));
done:
    if (status != GSL_SUCCESS) spec_record_lines_free(records);
    return status;
}

void spec_record_lines_free(spec_record_lines *records)
{
    spec_text_lines_free(&records->in);
    json_decref(records->object);
    free(records->header);
    *records = (spec_record_lines){0};
}

spec_record_field spec_record_lines_field(const spec_record_lines *records, const char *name)
{
    const spec_record_field none = {0};
    if (records->json)
        return json_object_get(records->object, name) != NULL ? (spec_record_field){name, 0} : none;
    for (int i = 0; i < records->n_columns; i++)
        if (strcmp(records->column[i], name) == 0) return (spec_record_field){name, i};
    return none;
}

void spec_record_lines_names(char *ret_text, size_t size, const spec_record_lines *records)
{
    size_t used = 0;
    const char *key;
    json_t *value;
    ret_text[0] = '\0';
    json_object_foreach(records->object, key, value) if (used < size) used +=
        (size_t)snprintf(ret_text + used, size - used, "%s%.60s", used > 0 ? ", " : "", key);
    for (int i = 0; i < records->n_columns && used < size; i++)
        used += (size_t)snprintf(ret_text + used, size - used, "%s%.60s", used > 0 ? ", " : "",
                                 records->column[i]);
}

int spec_record_lines_next(spec_record_lines *records, bool *ret_end, spec_error *error)
{
    *ret_end = false;
    if (records->ahead) {
        records->ahead = false;
        return GSL_SUCCESS;
    }
    const int status = spec_text_lines_next_data(&records->in, ret_end, error);
    if (status != GSL_SUCCESS || *ret_end) return status;
    return records->json ? read_object(records, error) : read_fields(records, error);
}

/* For JSON: returns the value of the field, or NULL with a message if the record lacks it. */
static const json_t *value_of(const spec_record_lines *records, spec_record_field field,
                              spec_error *error)
{
    const json_t *value = json_object_get(records->object, field.name);
    if (value == NULL) BAD("has no '%.60s'", field.name);
    return value;
}

int spec_record_lines_real(double *ret, const spec_record_lines *records, spec_record_field field,
                           spec_error *error)
{
    *ret = 0.0;
    if (records->json) {
        const json_t *value = value_of(records, field, error);
        if (value == NULL) return GSL_EINVAL;
        *ret = json_number_value(value);
        if (json_is_number(value)) return GSL_SUCCESS;
        return BAD("%.60s is not a number", field.name);
    }
    const char *text = records->field[field.index];
    if (spec_settings_parse_double(ret, text)) return GSL_SUCCESS;
    return text[0] == '\0' ? BAD("%.60s is empty", field.name)
                           : BAD("%.60s is '%.60s': not a finite number", field.name, text);
}

int spec_record_lines_whole(int32_t *ret, const spec_record_lines *records, spec_record_field field,
                            int32_t least, int32_t most, spec_error *error)
{
    double value;
    const int status = spec_record_lines_real(&value, records, field, error);
    *ret = 0;
    if (status != GSL_SUCCESS) return status;
    if (!(value >= least && value <= most && value == floor(value)))
        return BAD("%.60s is %.10g: it must be a whole number from %d to %d", field.name, value,
                   least, most);
    *ret = (int32_t)value;
    return GSL_SUCCESS;
}

int spec_record_lines_time(spec_timestamp *ret, const spec_record_lines *records,
                           spec_record_field field, spec_error *error)
{
    *ret = (spec_timestamp){0};
    const char *text = NULL;
    if (records->json) {
        const json_t *value = value_of(records, field, error);
        if (value == NULL) return GSL_EINVAL;
        text = json_string_value(value);
        if (text == NULL) return spec_record_lines_real(&ret->rest, records, field, error);
    } else {
        text = records->field[field.index];
    }
    if (spec_timestamp_parse(ret, text)) return GSL_SUCCESS;
    return BAD("%.60s is '%.60s': neither a number nor a date such as 2023-11-16 18:17:03.98",
               field.name, text);
}
