/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/point_message.h"

#include "base/memory_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- packing --------------------------------------------------------------------------------- */

static void put(FILE *out, const void *bytes, size_t n)
{
    if (n > 0) fwrite(bytes, 1, n, out);
}

static void put_text(FILE *out, const char *text)
{
    const uint64_t n = strlen(text);
    put(out, &n, sizeof n);
    put(out, text, n);
}

static void put_cell(FILE *out, const spec_cell *cell)
{
    const int32_t kind = (int32_t)cell->kind;
    put(out, &kind, sizeof kind);
    if (cell->kind == SPEC_CELL_NUMBER) put(out, &cell->number, sizeof cell->number);
    if (cell->kind == SPEC_CELL_INTEGER) put(out, &cell->integer, sizeof cell->integer);
    if (cell->kind == SPEC_CELL_TEXT) put_text(out, cell->text);
}

char *spec_point_message_pack(size_t *ret_size, int status, const spec_table *work,
                              const spec_error *error)
{
    spec_memory_text made;
    const int32_t code = status;
    const uint64_t rows = status == GSL_SUCCESS ? work->n_rows : 0;
    if (!spec_memory_text_open(&made)) return NULL;
    put(made.out, &code, sizeof code);
    put(made.out, &rows, sizeof rows);
    if (status != GSL_SUCCESS) put_text(made.out, error->text);
    for (size_t r = 0; r < rows; r++)
        for (int c = 0; c < work->n_columns; c++) put_cell(made.out, spec_table_cell(work, r, c));
    return spec_memory_text_take(&made, ret_size);
}

/* ---- unpacking ------------------------------------------------------------------------------- */

typedef struct {
    const char *at;
    size_t left;
} reader;

static bool get(reader *in, void *into, size_t n)
{
    if (in->left < n) return false;
    if (n > 0) memcpy(into, in->at, n);
    in->at += n;
    in->left -= n;
    return true;
}

/* Returns a text, which the caller frees; NULL if it is cut off or memory runs out. */
static char *get_text(reader *in)
{
    uint64_t n;
    if (!get(in, &n, sizeof n) || n > in->left) return NULL;
    char *text = strndup(in->at, n);
    in->at += n;
    in->left -= n;
    return text;
}

static bool get_cell(reader *in, spec_cell *into)
{
    int32_t kind;
    spec_cell cell = {.kind = SPEC_CELL_EMPTY};
    if (!get(in, &kind, sizeof kind)) return false;
    bool whole = kind == SPEC_CELL_EMPTY;
    if (kind == SPEC_CELL_NUMBER) whole = get(in, &cell.number, sizeof cell.number);
    if (kind == SPEC_CELL_INTEGER) whole = get(in, &cell.integer, sizeof cell.integer);
    if (kind == SPEC_CELL_TEXT) whole = (cell.text = get_text(in)) != NULL;
    if (whole && kind == SPEC_CELL_NUMBER) cell.kind = SPEC_CELL_NUMBER;
    if (whole && kind == SPEC_CELL_INTEGER) cell.kind = SPEC_CELL_INTEGER;
    if (whole && kind == SPEC_CELL_TEXT) cell.kind = SPEC_CELL_TEXT;
    whole = whole && spec_cell_copy(into, &cell) == GSL_SUCCESS;
    free(cell.text);
    return whole;
}

int spec_point_message_unpack(spec_table *work, const char *bytes, size_t size, spec_error *error)
{
    reader in = {bytes, size};
    int32_t code;
    uint64_t rows;
    bool whole = get(&in, &code, sizeof code) && get(&in, &rows, sizeof rows);
    if (whole && code != GSL_SUCCESS) {
        char *text = get_text(&in);
        spec_fail(error, code, "%s", text != NULL ? text : "");
        free(text);
        return code;
    }
    for (uint64_t r = 0; whole && r < rows; r++) {
        for (int c = 0; whole && c < work->n_columns; c++) whole = get_cell(&in, &work->row[c]);
        whole = whole && spec_table_append(work) == GSL_SUCCESS;
    }
    if (whole && in.left == 0) return GSL_SUCCESS;
    return spec_fail(error, GSL_EFAILED, "the rows from another process are cut off");
}
