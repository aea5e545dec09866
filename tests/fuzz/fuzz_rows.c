/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz files of rows: any bytes, unchanged and with all checksums corrected, are refused in a
 * one-line error or read. Every row then sums to 1, every token is in the vocabulary, and the model
 * over them gives rows in passes. */
#include "models/model_open.h"
#include "models/row.h"
#include "models/rows/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

enum { PLACES = 64, NODES = 5 };

static uint64_t get(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static void put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * i);
}

/* Corrects all checksums that can be located: those of the rows, in order, of the tables and of the
 * head. */
static void seal(uint8_t *bytes, size_t n)
{
    if (n < SPEC_ROWS_HEAD) return;
    const uint64_t tables = get(bytes + 72, 8);
    const int vocab = (int)(get(bytes + 12, 4) % (SPEC_VOCAB_MAX + 1)),
              width = get(bytes + 20, 4) == 4 ? 4 : 8;
    put(bytes + 24, n, 8);
    for (size_t at = SPEC_ROWS_HEAD; at + SPEC_ROWS_ROW_HEAD <= n && at < tables;) {
        size_t values;
        const uint64_t count = get(bytes + at, 4);
        const size_t size = spec_rows_row_size(&values, count, vocab, width);
        if (count > (uint64_t)vocab || size > n - at) break;
        const uint64_t check =
            spec_rows_check(bytes + at + SPEC_ROWS_ROW_HEAD, size - SPEC_ROWS_ROW_HEAD, count);
        put(bytes + at + 4, (uint32_t)(check ^ check >> 32), 4);
        at += size;
    }
    if (tables <= n && (n - tables) % 8 == 0)
        put(bytes + 80, spec_rows_check(bytes + tables, n - tables, 0), 8);
    put(bytes + 88, spec_rows_check(bytes, 88, 0), 8);
}

static void read_file(const spec_rows_file *file)
{
    double *row = malloc((size_t)file->vocab * sizeof *row);
    char text[32];
    spec_error error;
    REQUIRE(row != NULL && file->vocab >= 1 && file->places >= 1 && file->tokens >= 1);
    for (uint64_t p = 0; p < file->places && p < PLACES; p++) {
        REQUIRE(spec_rows_file_position(file, p) < file->tokens);
        for (int s = 0; s < file->sides; s++) {
            error.text[0] = '\0';
            if (spec_rows_file_row(row, file, p, s, &error) == GSL_SUCCESS)
                REQUIRE(fabs(spec_row_sum(row, file->vocab) - 1.0) < 1e-12);
            else
                REQUIRE(strstr(error.text, ": damaged: ") != NULL &&
                        strchr(error.text, '\n') == NULL);
        }
    }
    for (uint64_t i = 0; i < file->tokens; i++)
        REQUIRE(spec_rows_file_token(file, i) >= 0 && spec_rows_file_token(file, i) < file->vocab);
    for (uint64_t i = 0; i < file->texts; i++) REQUIRE(spec_rows_file_text(file, i) < file->tokens);
    for (int i = 0; i < file->vocab; i++) {
        spec_rows_file_token_text(file, i, text, sizeof text);
        REQUIRE(strlen(text) < sizeof text);
    }
    free(row);
}

static void read_model(const spec_model *model)
{
    static const int parent[NODES] = {-1, -1, 0, 1, 2};
    int context[SPEC_ROWS_PROMPT + NODES] = {0};
    const double *row[NODES + 1];
    double *scratch = malloc((NODES + 1) * (size_t)model->vocab * sizeof *scratch);
    spec_session session;
    spec_error error;
    REQUIRE(scratch != NULL && spec_session_init(&session, model, &error) == GSL_SUCCESS);
    for (unsigned long k = 0; k < 8; k++) {
        const size_t n = model->kind->prompt(model, k, context, SPEC_ROWS_PROMPT);
        if (spec_session_score(&session,
                               &(spec_score_request){.context = context,
                                                     .n_context = n,
                                                     .token = context,
                                                     .opt_parent = parent,
                                                     .n_nodes = NODES,
                                                     .ret_row = row,
                                                     .scratch = scratch},
                               &error) != GSL_SUCCESS)
            continue;
        for (int i = 0; i <= NODES; i++)
            REQUIRE(fabs(spec_row_sum(row[i], model->vocab) - 1.0) < 1e-12);
    }
    spec_session_free(&session);
    free(scratch);
}

static void read_bytes(const uint8_t *data, size_t size)
{
    char path[64], spec[80];
    spec_rows_file file;
    spec_model *model;
    spec_error error = {.text = ""};
    const int memory = memfd_create("rows", 0);
    REQUIRE(memory >= 0 && write(memory, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    snprintf(spec, sizeof spec, "rows:%s?side=draft", path);
    const int status = spec_rows_file_open(&file, path, &error);
    if (status == GSL_SUCCESS) {
        read_file(&file);
        spec_rows_file_close(&file);
    } else {
        REQUIRE(strncmp(error.text, path, strlen(path)) == 0 && strchr(error.text, '\n') == NULL);
    }
    if (spec_model_open(&model, spec, NULL, NULL, &error) == GSL_SUCCESS) {
        REQUIRE(status == GSL_SUCCESS);
        read_model(model);
        spec_model_close(model);
    }
    close(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    REQUIRE(copy != NULL);
    read_bytes(data, size);
    memcpy(copy, data, size);
    seal(copy, size);
    read_bytes(copy, size);
    free(copy);
    return 0;
}
