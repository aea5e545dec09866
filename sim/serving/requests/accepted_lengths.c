/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/requests/accepted_lengths.h"

#include "base/input_file.h"
#include "base/json_memory.h"
#include "base/text_lines.h"
#include "speclab/no_memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_MOST = 127, LENGTHS_MOST = 1 << 30, FIRST_CAPACITY = 1 << 10, NAME_SIZE = 64 };

/* The longest line in bytes: some files contain the tokens of prompt and output. */
static const size_t LINE_BYTES = (size_t)1 << 22;

/* Lists of lengths in files of SpecDecode-Bench. */
static const char *const known_fields[] = {"acc_eagle", "acc_eagle_three", "acc_ngram", "acc",
                                           NULL};

typedef struct {
    spec_text_lines in;
    char field[NAME_SIZE];     /* "" until known */
    int64_t requests, lengths; /* capacities */
} reader;

/* For use in functions with a reader r and an error. */
#define BAD(...) spec_text_lines_bad(&r->in, error, __VA_ARGS__)

/* ---- arrays ---------------------------------------------------------------------------------- */

static int reserve_request(spec_accepted_lengths *a, reader *r, spec_error *error)
{
    if (a->n + 1 < r->requests) return GSL_SUCCESS;
    const int64_t n = r->requests > 0 ? 2 * r->requests : FIRST_CAPACITY;
    if (n > INT32_MAX) return BAD("is request %d: a file has no more; split it", a->n + 1);
    int64_t *first = realloc(a->first, (size_t)n * sizeof *first);
    if (first != NULL) a->first = first;
    int32_t *prompt = realloc(a->prompt, (size_t)n * sizeof *prompt);
    if (prompt != NULL) a->prompt = prompt;
    int32_t *output = realloc(a->output, (size_t)n * sizeof *output);
    if (output != NULL) a->output = output;
    if (first == NULL || prompt == NULL || output == NULL)
        return spec_no_memory_for(error, r->in.name);
    if (r->requests == 0) a->first[0] = 0;
    r->requests = n;
    return GSL_SUCCESS;
}

/* Adds a length to the request being read, whose lengths end at first[n + 1]. */
static int add_length(spec_accepted_lengths *a, reader *r, int length, spec_error *error)
{
    const int64_t end = a->first[a->n + 1];
    if (end == LENGTHS_MOST) return BAD("is beyond %d lengths: split the file", LENGTHS_MOST);
    if (end == r->lengths) {
        const int64_t n = r->lengths > 0 ? 2 * r->lengths : FIRST_CAPACITY;
        int8_t *more = realloc(a->length, (size_t)n);
        if (more == NULL) return spec_no_memory_for(error, r->in.name);
        a->length = more;
        r->lengths = n;
    }
    a->length[end] = (int8_t)length;
    a->first[a->n + 1] = end + 1;
    if (length > a->most) a->most = length;
    return GSL_SUCCESS;
}

/* ---- plain text: the rounds of a request in a line ------------------------------------------- */

static int read_plain(spec_accepted_lengths *a, reader *r, spec_error *error)
{
    static const char between[] = " \t,";
    int status = GSL_SUCCESS;
    for (const char *text = r->in.bytes + strspn(r->in.bytes, between); *text != '\0';
         text += strspn(text, between)) {
        const int shown = (int)strcspn(text, between);
        int length = 0, digits = 0;
        for (; isdigit((unsigned char)text[digits]) && length <= LENGTH_MOST; digits++)
            length = 10 * length + (text[digits] - '0');
        if (digits != shown || length > LENGTH_MOST)
            return BAD("'%.*s' is not a number of accepted tokens, 0 to %d",
                       shown < 60 ? shown : 60, text, LENGTH_MOST);
        SPEC_TRY(add_length(a, r, length, error));
        text += digits;
    }
done:
    return status;
}

/* ---- SpecDecode-Bench: a length at each token of the output, with the bonus token ------------ */

static int choose_field(reader *r, const json_t *root, spec_error *error)
{
    char names[128] = "";
    int n = 0;
    for (int i = 0; known_fields[i] != NULL; i++) {
        if (json_object_get(root, known_fields[i]) == NULL) continue;
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", n++ > 0 ? ", " : "", known_fields[i]);
        snprintf(r->field, sizeof r->field, "%s", known_fields[i]);
    }
    if (n == 0) return BAD("has no accepted lengths: name their field, as in FILE?field=acc_eagle");
    return n == 1 ? GSL_SUCCESS
                  : BAD("has lengths in %s: choose one, as in FILE?field=%s", names, r->field);
}

static int take_object(spec_accepted_lengths *a, reader *r, const json_t *root, spec_error *error)
{
    int status = GSL_SUCCESS;
    if (!json_is_object(root)) return BAD("is not a JSON object");
    if (r->field[0] == '\0') SPEC_TRY(choose_field(r, root, error));
    const json_t *list = json_object_get(root, r->field);
    if (json_is_object(list)) list = json_object_get(list, "acc_len");
    if (!json_is_array(list))
        return BAD("has no list of lengths '%s', nor '%s' with a list 'acc_len'", r->field,
                   r->field);
    /* The first token comes from the prefill, so rounds begin at the second. */
    const size_t n = json_array_size(list);
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(list, i);
        const json_int_t length = json_integer_value(value);
        if (!json_is_integer(value) || length < 1 || length > LENGTH_MOST + 1)
            return BAD("'%s' has a length that is not a whole number from 1 to %d, the bonus token "
                       "included",
                       r->field, LENGTH_MOST + 1);
        if (i > 0 || n == 1) SPEC_TRY(add_length(a, r, i > 0 ? (int)length - 1 : 0, error));
    }
    a->output[a->n] = (int32_t)n;
    const json_t *prompt = json_object_get(root, "prompt_token_ids");
    a->prompt[a->n] = json_is_array(prompt) ? (int32_t)json_array_size(prompt) : -1;
done:
    return status;
}

static int read_json(spec_accepted_lengths *a, reader *r, spec_error *error)
{
    json_error_t why;
    json_t *root = spec_json_load(r->in.bytes, r->in.length, JSON_REJECT_DUPLICATES, &why);
    int status = GSL_SUCCESS;
    if (spec_json_lost()) SPEC_TRY(spec_no_memory_for(error, r->in.name));
    if (root == NULL) SPEC_TRY(BAD("%s at byte %d", why.text, why.position));
    SPEC_TRY(take_object(a, r, root, error));
done:
    json_decref(root);
    return status;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void drop(int32_t **array)
{
    free(*array);
    *array = NULL;
}

/* Computes acceptance rates. Keeps the lengths of prompts and outputs only if all requests have
 * them. */
static int complete(spec_accepted_lengths *a, const char *name, spec_error *error)
{
    bool prompts = a->by_position;
    a->alpha = malloc((size_t)a->n * sizeof *a->alpha);
    if (a->alpha == NULL) return spec_no_memory_for(error, name);
    for (int32_t r = 0; r < a->n; r++) {
        const spec_accepted_count count = spec_accepted_lengths_count(a, r, a->most);
        a->alpha[r] = count.tested > 0 ? (float)((double)count.accepted / (double)count.tested) : 0;
        prompts = prompts && a->prompt[r] >= 0;
    }
    if (!prompts) drop(&a->prompt);
    if (!a->by_position) drop(&a->output);
    return GSL_SUCCESS;
}

int spec_accepted_lengths_read(spec_accepted_lengths *a, FILE *file, const char *name,
                               const char *opt_field, spec_error *error)
{
    int status = GSL_SUCCESS;
    reader lines = {.in = spec_text_lines_of(file, name, LINE_BYTES)}, *r = &lines;
    *a = (spec_accepted_lengths){0};
    if (opt_field != NULL && strlen(opt_field) >= sizeof lines.field)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.300s: the name of the field is too long", name));
    if (opt_field != NULL) snprintf(lines.field, sizeof lines.field, "%s", opt_field);
    for (;;) {
        bool end;
        SPEC_TRY(spec_text_lines_next_data(&r->in, &end, error));
        if (end) break;
        SPEC_TRY(reserve_request(a, r, error));
        if (a->n == 0) a->by_position = r->in.bytes[strspn(r->in.bytes, " \t")] == '{';
        if (!a->by_position && opt_field != NULL)
            SPEC_TRY(BAD("is plain text: it has no field '%.60s'", opt_field));
        a->first[a->n + 1] = a->first[a->n];
        SPEC_TRY(a->by_position ? read_json(a, r, error) : read_plain(a, r, error));
        if (a->first[a->n + 1] == a->first[a->n]) SPEC_TRY(BAD("has no length"));
        a->n++;
    }
    if (a->n == 0) SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.300s: is empty", name));
    SPEC_TRY(complete(a, name, error));
done:
    spec_text_lines_free(&lines.in);
    if (status != GSL_SUCCESS) spec_accepted_lengths_free(a);
    return status;
}

int spec_accepted_lengths_load(spec_accepted_lengths *a, const char *spec, spec_error *error)
{
    static const char key[] = "?field=";
    FILE *file;
    int status = GSL_SUCCESS;
    *a = (spec_accepted_lengths){0};
    char *path = strdup(spec);
    if (path == NULL) return spec_no_memory_for(error, spec);
    char *field = strstr(path, key);
    if (field != NULL) {
        *field = '\0';
        field += sizeof key - 1;
    }
    SPEC_TRY(spec_input_file_stream(&file, path, error));
    status = spec_accepted_lengths_read(a, file, path, field, error);
    fclose(file);
done:
    free(path);
    return status;
}

void spec_accepted_lengths_free(spec_accepted_lengths *a)
{
    free(a->first);
    free(a->length);
    free(a->alpha);
    free(a->prompt);
    free(a->output);
    *a = (spec_accepted_lengths){0};
}

spec_accepted_count spec_accepted_lengths_count(const spec_accepted_lengths *a, int32_t request,
                                                int K)
{
    const int64_t end = a->first[request + 1];
    spec_accepted_count count = {0};
    for (int64_t i = a->first[request]; i < end;) {
        const int n_accepted = a->length[i] < K ? a->length[i] : K;
        count.rounds++;
        count.accepted += n_accepted;
        count.tested += n_accepted + (n_accepted < K);
        i += a->by_position ? n_accepted + 1 : 1;
    }
    return count;
}
