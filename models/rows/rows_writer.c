/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/rows/rows_writer.h"

#include "models/row.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- bytes ----------------------------------------------------------------------------------- */

static void put(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) at[i] = (unsigned char)(value >> 8 * i);
}

static void put_double(unsigned char *at, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(at, bits, 8);
}

static void put_float(unsigned char *at, double value)
{
    const float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    put(at, bits, 4);
}

static int no_memory(spec_error *error)
{
    return spec_fail(error, GSL_ENOMEM, "out of memory for a file of rows");
}

/* Extends a table by n zeroed bytes; returns NULL if out of memory. */
static unsigned char *extend(spec_rows_table *table, size_t n)
{
    if (n > table->capacity - table->n) {
        const size_t capacity = 2 * table->capacity + n + 4096;
        unsigned char *bytes = realloc(table->bytes, capacity);
        if (bytes == NULL) return NULL;
        table->bytes = bytes;
        table->capacity = capacity;
    }
    table->n += n;
    return memset(table->bytes + table->n - n, 0, n);
}

static int append(spec_rows_table *table, uint64_t value, int bytes, spec_error *error)
{
    unsigned char *at = extend(table, (size_t)bytes);
    if (at == NULL) return no_memory(error);
    put(at, value, bytes);
    return GSL_SUCCESS;
}

static int append_name(spec_rows_table *table, const char *name, size_t length, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(append(table, length, 4, error));
    unsigned char *at = extend(table, length);
    if (at == NULL) return no_memory(error);
    memcpy(at, name, length);
done:
    return status;
}

static int not_written(const spec_rows_writer *writer, spec_error *error)
{
    return spec_fail(error, GSL_EFAILED, "%.300s: %s", writer->file.path, strerror(errno));
}

static int write_bytes(spec_rows_writer *writer, const unsigned char *bytes, size_t n,
                       spec_error *error)
{
    if (n > 0 && fwrite(bytes, 1, n, writer->file.out) != n) return not_written(writer, error);
    writer->at += n;
    return GSL_SUCCESS;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int append_texts(spec_rows_writer *writer, const spec_model *target, spec_error *error)
{
    char short_text[256], *text = short_text;
    int status = GSL_SUCCESS;
    for (int i = 0; i < target->vocab; i++) {
        size_t n = target->kind->token_text(target, i, text, sizeof short_text);
        if (n >= sizeof short_text) {
            if ((text = malloc(n + 1)) == NULL) return no_memory(error);
            n = target->kind->token_text(target, i, text, n + 1);
        }
        status = append_name(&writer->names, text, n, error);
        if (text != short_text) free(text);
        text = short_text;
        if (status != GSL_SUCCESS) break;
    }
    return status;
}

int spec_rows_writer_init_named(spec_rows_writer *writer, const char *path,
                                const char *const *name, int sides, int vocab, double cutoff,
                                spec_error *error)
{
    static const unsigned char blank[SPEC_ROWS_HEAD];
    int status = GSL_SUCCESS;
    size_t values;
    assert(sides >= 1 && sides <= SPEC_ROWS_SIDES_MAX && cutoff >= 0.0 &&
           cutoff <= SPEC_ROWS_CUTOFF_MAX);
    *writer = (spec_rows_writer){.vocab = vocab, .sides = sides, .cutoff = cutoff};
    for (int s = 0; s < sides; s++)
        SPEC_TRY(append_name(&writer->names, name[s], strlen(name[s]), error));
    /* An upper bound: a row with an index for every probability, which is never written. */
    writer->row = malloc(spec_rows_row_size(&values, (size_t)vocab, vocab, 8) +
                         4 * (size_t)vocab + 8);
    if (writer->row == NULL) SPEC_TRY(no_memory(error));
    SPEC_TRY(spec_new_file_open(&writer->file, path, error));
    SPEC_TRY(write_bytes(writer, blank, sizeof blank, error));
done:
    if (status != GSL_SUCCESS) spec_rows_writer_free(writer);
    return status;
}

int spec_rows_writer_init(spec_rows_writer *writer, const char *path,
                          const spec_model *const *model, int sides, double cutoff,
                          spec_error *error)
{
    const char *name[SPEC_ROWS_SIDES_MAX];
    for (int s = 0; s < sides; s++) {
        assert(model[s]->vocab == model[0]->vocab);
        name[s] = model[s]->spec;
    }
    int status =
        spec_rows_writer_init_named(writer, path, name, sides, model[0]->vocab, cutoff, error);
    if (status == GSL_SUCCESS && model[0]->kind->token_text != NULL) {
        status = append_texts(writer, model[0], error);
        if (status != GSL_SUCCESS) spec_rows_writer_free(writer);
    }
    return status;
}

/* ---- places ---------------------------------------------------------------------------------- */

int spec_rows_writer_text(spec_rows_writer *writer, const int *token, size_t n, spec_error *error)
{
    int status = GSL_SUCCESS;
    assert(n >= 1);
    SPEC_TRY(append(&writer->text_at, writer->tokens, 8, error));
    for (size_t i = 0; i < n; i++) {
        assert(token[i] >= 0 && token[i] < writer->vocab);
        SPEC_TRY(append(&writer->token, (uint64_t)token[i], 4, error));
    }
    writer->texts++;
    writer->tokens += n;
done:
    return status;
}

/* Returns whether a probability is kept; if least < 0, all are. */
static bool is_kept(double probability, double least)
{
    return least < 0.0 || (probability > 0.0 && probability >= least);
}

static size_t count_kept(const double *row, int vocab, double least)
{
    size_t count = 0;
    for (int i = 0; i < vocab; i++) count += is_kept(row[i], least);
    return count;
}

/* Writes the bytes of a row, and measures its distance from the row that a reader gets. Keeps every
 * probability, without indices, if that takes no more bytes than the kept ones with theirs. */
static size_t fill_row(double *ret_tv, unsigned char *at, const double *row, int vocab,
                       double cutoff)
{
    const int value_bytes = cutoff > 0.0 ? 4 : 8, index_bytes = vocab <= 1 << 16 ? 2 : 4;
    double least = fmin(cutoff, row[spec_row_argmax(row, vocab)]), sum = 0.0;
    size_t values, count = count_kept(row, vocab, least);
    const size_t whole = spec_rows_row_size(&values, (size_t)vocab, vocab, value_bytes);
    if (spec_rows_row_size(&values, count, vocab, value_bytes) >= whole) {
        count = (size_t)vocab;
        least = -1.0;
    }
    const size_t size = spec_rows_row_size(&values, count, vocab, value_bytes);
    memset(at, 0, size);
    for (int i = 0, k = 0; i < vocab; i++) {
        if (!is_kept(row[i], least)) continue;
        if (least >= 0.0) put(at + SPEC_ROWS_ROW_HEAD + k * index_bytes, (uint64_t)i, index_bytes);
        if (value_bytes == 8) put_double(at + values + 8 * k, row[i]);
        else put_float(at + values + 4 * k, row[i]);
        sum += (float)row[i];
        k++;
    }
    const uint64_t check =
        spec_rows_check(at + SPEC_ROWS_ROW_HEAD, size - SPEC_ROWS_ROW_HEAD, count);
    put(at, count, 4);
    put(at + 4, (uint32_t)(check ^ check >> 32), 4);
    *ret_tv = 0.0;
    for (int i = 0; i < vocab && value_bytes == 4; i++)
        *ret_tv += 0.5 * fabs(row[i] - (is_kept(row[i], least) ? (float)row[i] / sum : 0.0));
    return size;
}

int spec_rows_writer_place(spec_rows_writer *writer, uint64_t position, const double *const *row,
                           spec_error *error)
{
    int status = GSL_SUCCESS;
    assert(position < writer->tokens && writer->texts > 0);
    SPEC_TRY(append(&writer->row_at, writer->at, 8, error));
    SPEC_TRY(append(&writer->position, position, 8, error));
    for (int s = 0; s < writer->sides; s++) {
        double tv;
        if (!(fabs(spec_row_sum(row[s], writer->vocab) - 1.0) <= 1e-12))
            SPEC_TRY(spec_fail(error, GSL_EFAILED, "a row of side %d does not sum to 1", s));
        const size_t size = fill_row(&tv, writer->row, row[s], writer->vocab, writer->cutoff);
        SPEC_TRY(write_bytes(writer, writer->row, size, error));
        writer->tv_sum[s] += tv;
        writer->tv_max[s] = fmax(writer->tv_max[s], tv);
    }
    writer->places++;
done:
    return status;
}

size_t spec_rows_writer_place_bytes(spec_rows_writer *writer, const double *const *row)
{
    enum { TABLES = 8 + 8 + 4 }; /* start of the row, position, token */
    size_t bytes = TABLES;
    for (int s = 0; s < writer->sides; s++) {
        double tv;
        bytes += fill_row(&tv, writer->row, row[s], writer->vocab, writer->cutoff);
    }
    return bytes;
}

/* ---- closing --------------------------------------------------------------------------------- */

/* Joins all tables into one block of memory, for their checksum. */
static int join_tables(spec_rows_writer *writer, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_rows_table distances = {0};
    spec_rows_table *const part[] = {&writer->position, &writer->text_at, &writer->token,
                                     &writer->names, &distances};
    SPEC_TRY(append(&writer->row_at, writer->at, 8, error));
    for (int s = 0; s < writer->sides; s++) {
        unsigned char *at = extend(&distances, 16);
        if (at == NULL) SPEC_TRY(no_memory(error));
        put_double(at, fmin(writer->tv_sum[s] / (double)writer->places, 1.0));
        put_double(at + 8, fmin(writer->tv_max[s], 1.0));
    }
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        const size_t n = spec_rows_padded(part[i]->n);
        unsigned char *at = extend(&writer->row_at, n);
        if (at == NULL) SPEC_TRY(no_memory(error));
        if (part[i]->n > 0) memcpy(at, part[i]->bytes, part[i]->n);
    }
done:
    free(distances.bytes);
    return status;
}

static void fill_head(unsigned char *head, const spec_rows_writer *writer)
{
    const spec_rows_table *tables = &writer->row_at;
    uint64_t cutoff;
    memcpy(&cutoff, &writer->cutoff, sizeof cutoff);
    const struct {
        uint64_t value;
        int bytes;
    } field[] = {
        {SPEC_ROWS_VERSION, 4},
        {(uint64_t)writer->vocab, 4},
        {(uint64_t)writer->sides, 4},
        {writer->cutoff > 0.0 ? 4 : 8, 4},
        {writer->at + tables->n, 8},
        {writer->places, 8},
        {writer->tokens, 8},
        {writer->texts, 8},
        {writer->names.n, 8},
        {cutoff, 8},
        {writer->at, 8},
        {spec_rows_check(tables->bytes, tables->n, 0), 8},
    };
    unsigned char *at = head;
    memcpy(at, SPEC_ROWS_MAGIC, 8);
    at += 8;
    for (size_t i = 0; i < sizeof field / sizeof field[0]; i++) {
        put(at, field[i].value, field[i].bytes);
        at += field[i].bytes;
    }
    put(at, spec_rows_check(head, (size_t)(at - head), 0), 8);
}

int spec_rows_writer_close(spec_rows_writer *writer, spec_error *error)
{
    int status = GSL_SUCCESS;
    unsigned char head[SPEC_ROWS_HEAD];
    assert(writer->places >= 1);
    SPEC_TRY(join_tables(writer, error));
    fill_head(head, writer);
    SPEC_TRY(write_bytes(writer, writer->row_at.bytes, writer->row_at.n, error));
    if (fseek(writer->file.out, 0, SEEK_SET) != 0 ||
        fwrite(head, 1, sizeof head, writer->file.out) != sizeof head)
        SPEC_TRY(not_written(writer, error));
    SPEC_TRY(spec_new_file_close(&writer->file, error));
done:
    return status;
}

void spec_rows_writer_free(spec_rows_writer *writer)
{
    spec_new_file_free(&writer->file);
    free(writer->row);
    free(writer->row_at.bytes);
    free(writer->position.bytes);
    free(writer->text_at.bytes);
    free(writer->token.bytes);
    free(writer->names.bytes);
    *writer = (spec_rows_writer){0};
}
