/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/drive_blocks.h"

#include "base/json_memory.h"
#include "base/text_lines.h"
#include "speclab/no_memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 1 << 26, NUMBERS = 9 };

void spec_drive_block_free(spec_drive_block *block)
{
    free(block->request);
    block->request = NULL;
    block->n = 0;
}

void spec_drive_blocks_free(spec_drive_blocks *blocks)
{
    for (int i = 0; i < blocks->n; i++) spec_drive_block_free(&blocks->block[i]);
    free(blocks->block);
    *blocks = (spec_drive_blocks){.block = NULL};
}

int spec_drive_blocks_add(spec_drive_blocks *blocks, spec_drive_block *block, spec_error *error)
{
    if (blocks->n == blocks->capacity) {
        const int capacity = 2 * blocks->capacity + 16;
        spec_drive_block *grown = realloc(blocks->block, (size_t)capacity * sizeof *grown);
        if (grown == NULL) return spec_no_memory(error);
        blocks->block = grown;
        blocks->capacity = capacity;
    }
    blocks->block[blocks->n++] = *block;
    *block = (spec_drive_block){.request = NULL};
    return GSL_SUCCESS;
}

const spec_drive_block *spec_drive_blocks_find(const spec_drive_blocks *blocks, int K,
                                               int concurrency, int pass)
{
    for (int i = 0; i < blocks->n; i++) {
        const spec_drive_block *b = &blocks->block[i];
        if (b->K == K && b->concurrency == concurrency && b->pass == pass) return b;
    }
    return NULL;
}

spec_drive_sums spec_drive_block_sums(const spec_drive_block *block, const bool *opt_prompts)
{
    spec_drive_sums sums = {.seconds = 0.0};
    for (int i = 0; i < block->n; i++) {
        const spec_drive_request *r = &block->request[i];
        if (opt_prompts != NULL && !opt_prompts[r->prompt]) continue;
        sums.seconds += r->decode;
        sums.tokens += r->tokens - r->first;
        sums.rounds += r->rounds;
        sums.drafted += r->drafted;
        sums.accepted += r->accepted;
    }
    if (block->counted) {
        const bool all = opt_prompts == NULL;
        sums.rounds = all ? block->counts.rounds : NAN;
        sums.drafted = all ? block->counts.drafted : NAN;
        sums.accepted = all ? block->counts.accepted : NAN;
    }
    return sums;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_line(FILE *file, json_t *line, spec_error *error)
{
    if (line == NULL) return spec_no_memory(error);
    char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(12));
    json_decref(line);
    if (text == NULL) return spec_no_memory(error);
    const bool good = fprintf(file, "%s\n", text) > 0 && fflush(file) == 0;
    free(text);
    if (good) return GSL_SUCCESS;
    return spec_fail(error, GSL_EFAILED, "--capture: %s", strerror(errno));
}

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

int spec_drive_file_begin(FILE *file, uint64_t settings, spec_error *error)
{
    char name[24];
    snprintf(name, sizeof name, "%016llx", (unsigned long long)settings);
    return write_line(file, json_pack("{s:i, s:s}", "speclab drive", 1, "settings", name), error);
}

int spec_drive_file_add(FILE *file, const spec_drive_block *b, const spec_live_server *server,
                        spec_error *error)
{
    const char *engine = server->dialect != NULL ? server->dialect->name : "";
    json_t *requests = json_array(), *passed = json_array();
    for (int i = 0; i < b->n; i++) {
        const spec_drive_request *r = &b->request[i];
        json_array_append_new(requests, json_pack("[i,i,i,o,o,o,o,o,o]", r->prompt, r->tokens,
                                                  r->first, number(r->ttft), number(r->decode),
                                                  number(r->latency), number(r->rounds),
                                                  number(r->drafted), number(r->accepted)));
    }
    for (int i = 0; i < b->counts.depths && b->counted; i++)
        json_array_append_new(passed, number(b->counts.passed[i]));
    return write_line(
        file,
        json_pack("{s:s, s:s, s:i, s:i, s:i, s:o, s:o, s:i, s:b, s:[o,o,o], s:o, s:o}", "engine",
                  engine, "model", server->model, "K", b->K, "concurrency", b->concurrency, "pass",
                  b->pass, "seconds", number(b->seconds), "tokens", number(b->tokens), "refused",
                  b->refused, "counted", b->counted, "counts", number(b->counts.rounds),
                  number(b->counts.drafted), number(b->counts.accepted), "passed", passed,
                  "requests", requests),
        error);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_within(const json_t *value, json_int_t low, json_int_t high)
{
    const json_int_t n = json_integer_value(value);
    return json_is_integer(value) && n >= low && n <= high;
}

/* A number that is not negative; null: NaN. */
static bool take_number(double *ret, const json_t *value)
{
    *ret = json_is_null(value) ? NAN : json_number_value(value);
    return json_is_null(value) || (json_is_number(value) && *ret >= 0.0 && *ret < 1e15);
}

static bool read_request(spec_drive_request *r, const json_t *line)
{
    double *const real[] = {&r->ttft,   &r->decode,  &r->latency,
                            &r->rounds, &r->drafted, &r->accepted};
    bool good = json_array_size(line) == NUMBERS;
    for (size_t i = 0; i < 3 && good; i++) good = is_within(json_array_get(line, i), 0, INT32_MAX);
    for (size_t i = 0; i < 6 && good; i++) good = take_number(real[i], json_array_get(line, i + 3));
    if (!good) return false;
    r->prompt = (int)json_integer_value(json_array_get(line, 0));
    r->tokens = (int)json_integer_value(json_array_get(line, 1));
    r->first = (int)json_integer_value(json_array_get(line, 2));
    return r->prompt < SPEC_DRIVE_REQUESTS && r->first <= r->tokens;
}

static bool read_counts(spec_live_counts *counts, const json_t *line)
{
    const json_t *sums = json_object_get(line, "counts"), *passed = json_object_get(line, "passed");
    counts->depths = (int)json_array_size(passed);
    if (json_array_size(passed) > SPEC_OBSERVED_DEPTHS) return false;
    for (int i = 0; i < counts->depths; i++)
        if (!take_number(&counts->passed[i], json_array_get(passed, (size_t)i))) return false;
    return json_array_size(sums) == 3 && take_number(&counts->rounds, json_array_get(sums, 0)) &&
           take_number(&counts->drafted, json_array_get(sums, 1)) &&
           take_number(&counts->accepted, json_array_get(sums, 2));
}

/* Fills in a block, but not its requests. */
static bool read_head(spec_drive_block *b, const json_t *line)
{
    const json_t *K = json_object_get(line, "K"), *level = json_object_get(line, "concurrency"),
                 *pass = json_object_get(line, "pass"), *refused = json_object_get(line, "refused");
    if (!is_within(K, 0, 64) || !is_within(level, 1, SPEC_HTTP_LANES) ||
        !is_within(pass, 0, SPEC_DRIVE_PASSES) || !is_within(refused, 0, INT32_MAX))
        return false;
    b->K = (int)json_integer_value(K);
    b->concurrency = (int)json_integer_value(level);
    b->pass = (int)json_integer_value(pass);
    b->refused = (int)json_integer_value(refused);
    b->counted = json_is_true(json_object_get(line, "counted"));
    return take_number(&b->seconds, json_object_get(line, "seconds")) &&
           take_number(&b->tokens, json_object_get(line, "tokens")) &&
           read_counts(&b->counts, line);
}

static int read_block(spec_drive_block *b, const json_t *line, const spec_text_lines *at,
                      spec_error *error)
{
    const json_t *requests = json_object_get(line, "requests");
    const size_t n = json_array_size(requests);
    if (!read_head(b, line) || !json_is_array(requests) || n > SPEC_DRIVE_REQUESTS)
        return spec_text_lines_bad(at, error, "this is not a block of 'speclab drive'");
    if ((b->request = calloc(n + 1, sizeof *b->request)) == NULL) return spec_no_memory(error);
    for (b->n = 0; b->n < (int)n; b->n++)
        if (!read_request(&b->request[b->n], json_array_get(requests, (size_t)b->n)))
            return spec_text_lines_bad(at, error, "request %d is malformed", b->n + 1);
    return GSL_SUCCESS;
}

static int check_first(const json_t *line, const spec_text_lines *at, uint64_t settings,
                       spec_error *error)
{
    const char *name = json_string_value(json_object_get(line, "settings"));
    char own[24];
    snprintf(own, sizeof own, "%016llx", (unsigned long long)settings);
    if (!is_within(json_object_get(line, "speclab drive"), 1, 1) || name == NULL)
        return spec_text_lines_bad(at, error, "this is not a file of 'speclab drive --capture'");
    if (strcmp(name, own) != 0)
        return spec_text_lines_bad(
            at, error, "it was measured with other prompts or settings; use another file");
    return GSL_SUCCESS;
}

/* Finds the end of the last complete line. */
static long end_of_lines(FILE *file)
{
    long end = 0;
    rewind(file);
    for (int c; (c = getc(file)) != EOF;)
        if (c == '\n') end = ftell(file);
    return end;
}

/* Reads the next line as JSON; sets *ret_end at the end of the file. */
static int next_line(json_t **ret, bool *ret_end, spec_text_lines *lines, spec_error *error)
{
    json_error_t why;
    *ret = NULL;
    SPEC_PASS(spec_text_lines_next_data(lines, ret_end, error));
    if (*ret_end) return GSL_SUCCESS;
    *ret = spec_json_load(lines->bytes, lines->length, 0, &why);
    if (*ret == NULL && spec_json_lost()) return spec_no_memory(error);
    return *ret != NULL ? GSL_SUCCESS : spec_text_lines_bad(lines, error, "not valid JSON");
}

/* Checks the first line, before anything is changed. An empty file gets one. */
static int read_first(FILE *file, const char *name, uint64_t settings, spec_error *error)
{
    spec_text_lines lines = spec_text_lines_of(file, name, LINE_BYTES);
    json_t *line = NULL;
    bool end = false;
    rewind(file);
    int status = next_line(&line, &end, &lines, error);
    if (status == GSL_SUCCESS && end)
        status = spec_drive_file_begin(file, settings, error);
    else if (status == GSL_SUCCESS)
        status = check_first(line, &lines, settings, error);
    json_decref(line);
    spec_text_lines_free(&lines);
    return status;
}

/* Fills in dialect and model from the line of a block, if the dialect is known. */
static void read_server(spec_live_server *ret, const json_t *line)
{
    const char *engine = json_string_value(json_object_get(line, "engine")),
               *model = json_string_value(json_object_get(line, "model"));
    const spec_dialect *d = spec_dialects;
    if (engine == NULL || model == NULL) return;
    while (d->name != NULL && strcmp(d->name, engine) != 0) d++;
    if (d->name == NULL) return;
    ret->dialect = d;
    snprintf(ret->model, sizeof ret->model, "%s", model);
}

static int read_blocks(spec_drive_blocks *ret, spec_live_server *ret_server, spec_text_lines *lines,
                       spec_error *error)
{
    spec_drive_block block = {.request = NULL};
    json_t *line = NULL;
    bool end = false, first = true;
    int status = GSL_SUCCESS;
    for (;; first = false) {
        SPEC_TRY(next_line(&line, &end, lines, error));
        if (end) break;
        if (!first) SPEC_TRY(read_block(&block, line, lines, error));
        if (!first) read_server(ret_server, line);
        if (!first) SPEC_TRY(spec_drive_blocks_add(ret, &block, error));
        json_decref(line);
        line = NULL;
    }
done:
    json_decref(line);
    spec_drive_block_free(&block);
    return status;
}

int spec_drive_file_read(spec_drive_blocks *ret, spec_live_server *ret_server, FILE *file,
                         const char *name, uint64_t settings, spec_error *error)
{
    *ret = (spec_drive_blocks){.block = NULL};
    SPEC_PASS(read_first(file, name, settings, error));
    if (ftruncate(fileno(file), end_of_lines(file)) != 0)
        return spec_fail(error, GSL_EFAILED, "%.200s: %s", name, strerror(errno));
    rewind(file);
    spec_text_lines lines = spec_text_lines_of(file, name, LINE_BYTES);
    const int status = read_blocks(ret, ret_server, &lines, error);
    spec_text_lines_free(&lines);
    if (status != GSL_SUCCESS) spec_drive_blocks_free(ret);
    fseek(file, 0, SEEK_END);
    return status;
}
