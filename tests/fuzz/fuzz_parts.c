/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz parts of runs: any bytes, unchanged and with the right row_check in every row, are refused
 * in one line or merged. A group's sum that can be read is written back as the same text. */
#include "experiments/group_text.h"
#include "experiments/result_file.h"
#include "experiments/shard_merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

static void try_merge(const char *const *path, size_t n)
{
    spec_parts parts;
    spec_result result;
    spec_error error = {""};
    if (spec_parts_read(&parts, path, n, &error) != GSL_SUCCESS) {
        REQUIRE(error.text[0] != '\0' && strchr(error.text, '\n') == NULL);
        return;
    }
    REQUIRE(parts.n == n);
    if (spec_parts_are_whole(&parts)) {
        size_t rows = 0;
        for (size_t i = 0; i < n; i++) rows += parts.part[i].table.n_rows;
        const int status = spec_parts_merge(&result, &parts, NULL, NULL, &error);
        REQUIRE(status == GSL_SUCCESS ? result.table.n_rows == rows : error.text[0] != '\0');
        spec_result_free(&result);
    }
    spec_parts_free(&parts);
}

/* Writes the bytes again with the right checks, if they are a table that ends with row_check. */
static bool seal(const char *into, const char *path)
{
    spec_table old, table;
    spec_result_file file;
    int kept;
    if (spec_table_read_csv(&old, path, NULL, NULL) != GSL_SUCCESS) return false;
    const bool checked = old.n_columns > 1 && old.n_rows > 0 &&
                         strcmp(old.column[old.n_columns - 1], "row_check") == 0;
    spec_check *check = calloc(old.n_rows + 1, sizeof *check);
    REQUIRE(check != NULL);
    if (checked) {
        REQUIRE(spec_table_init(&table, (const char *const *)old.column, old.n_columns - 1) ==
                GSL_SUCCESS);
        free(table.provenance);
        REQUIRE((table.provenance = strdup(old.provenance)) != NULL);
        for (size_t r = 0; r < old.n_rows; r++) {
            for (int c = 0; c < table.n_columns; c++)
                REQUIRE(spec_cell_copy(&table.row[c], spec_table_cell(&old, r, c)) == GSL_SUCCESS);
            REQUIRE(spec_table_append(&table) == GSL_SUCCESS);
        }
        unlink(into);
        spec_result_file_init(&file, into, NULL);
        REQUIRE(spec_result_file_open(&file, NULL) == GSL_SUCCESS);
        REQUIRE(spec_result_file_write(&file, &table, 0, check, NULL) == GSL_SUCCESS);
        REQUIRE(spec_result_file_close(&file, &kept, NULL) == GSL_SUCCESS);
        spec_table_free(&table);
    }
    free(check);
    spec_table_free(&old);
    return checked;
}

static void try_sum(const uint8_t *data, size_t size)
{
    spec_montecarlo_sum sum;
    char *text = strndup((const char *)data, size);
    REQUIRE(text != NULL);
    if (spec_group_text_parse(&sum, text)) {
        spec_montecarlo_sum again;
        char *written = spec_group_text_of(&sum);
        REQUIRE(written != NULL && spec_group_text_parse(&again, written));
        REQUIRE(memcmp(&sum, &again, sizeof sum) == 0);
        free(written);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], sealed[64];
    const int memory = memfd_create("part", 0);
    REQUIRE(memory >= 0 && write(memory, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    snprintf(sealed, sizeof sealed, "/dev/shm/speclab-fuzz-%d.csv", (int)getpid());
    const char *const part[] = {path, path}, *const right[] = {sealed, sealed};
    try_sum(data, size);
    try_merge(part, 1);
    try_merge(part, 2);
    if (seal(sealed, path)) {
        try_merge(right, 1);
        unlink(sealed);
    }
    close(memory);
    return 0;
}
