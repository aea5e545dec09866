/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/rows/rows_file.h"

#include "base/noise.h"
#include "models/model.h"
#include "models/row.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- bytes: little endian, at any alignment -------------------------------------------------- */

static uint32_t get16(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8;
}

static uint32_t get32(const unsigned char *at)
{
    return get16(at) | get16(at + 2) << 16;
}

static uint64_t get64(const unsigned char *at)
{
    return get32(at) | (uint64_t)get32(at + 4) << 32;
}

static double get_double(const unsigned char *at)
{
    const uint64_t bits = get64(at);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double get_float(const unsigned char *at)
{
    const uint32_t bits = get32(at);
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

size_t spec_rows_padded(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

uint64_t spec_rows_check(const unsigned char *bytes, size_t n, uint64_t start)
{
    uint64_t sum = start, sums = 0;
    for (size_t i = 0; i < n; i += 8) {
        sum += get64(bytes + i);
        sums += sum;
    }
    return spec_noise_mix(sum) ^ sums;
}

size_t spec_rows_row_size(size_t *ret_values, size_t count, int vocab, int value_bytes)
{
    const size_t index = count == (size_t)vocab ? 0 : vocab <= 1 << 16 ? 2 : 4;
    *ret_values = SPEC_ROWS_ROW_HEAD + spec_rows_padded(count * index);
    return *ret_values + spec_rows_padded(count * (size_t)value_bytes);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int refuse(const spec_rows_file *file, const char *what, spec_error *error)
{
    return spec_fail(error, GSL_EINVAL, "%.160s: %s", file->path, what);
}

/* Reads the numbers at the front. *ret_tables is the offset of the tables, and *ret_names how many
 * bytes the names take. Each count is checked against the file's size, so no sum overflows. */
static int read_head(size_t *ret_tables, size_t *ret_names, spec_rows_file *file, spec_error *error)
{
    const unsigned char *head = file->map.bytes;
    const uint64_t size = file->map.length;
    if (size < SPEC_ROWS_HEAD || memcmp(head, SPEC_ROWS_MAGIC, 8) != 0)
        return refuse(file, "not a file of rows, which 'speclab rows' writes", error);
    if (get32(head + 8) != SPEC_ROWS_VERSION)
        return spec_fail(error, GSL_EINVAL,
                         "%.160s: has version %u of the format; this speclab reads version %u",
                         file->path, get32(head + 8), SPEC_ROWS_VERSION);
    if (get64(head + 88) != spec_rows_check(head, 88, 0))
        return refuse(file, "damaged: the checksum of its header is wrong", error);
    if (get64(head + 24) != size)
        return spec_fail(error, GSL_EINVAL,
                         "%.160s: is truncated: it has %llu bytes of "
                         "%llu",
                         file->path, (unsigned long long)size,
                         (unsigned long long)get64(head + 24));
    const uint64_t names = get64(head + 56), tables = get64(head + 72);
    const uint32_t vocab = get32(head + 12), sides = get32(head + 16);
    file->value_bytes = (int)get32(head + 20);
    file->places = get64(head + 32);
    file->tokens = get64(head + 40);
    file->texts = get64(head + 48);
    file->cutoff = get_double(head + 64);
    file->check = get64(head + 80);
    const bool counts = vocab >= 1 && vocab <= SPEC_VOCAB_MAX && sides >= 1 &&
                        sides <= SPEC_ROWS_SIDES_MAX &&
                        (file->value_bytes == 4 || file->value_bytes == 8) && file->places >= 1 &&
                        file->places <= size / 8 && file->tokens >= 1 && file->tokens <= size / 4 &&
                        file->texts >= 1 && file->texts <= size / 8 && names <= size &&
                        file->cutoff >= 0.0 && file->cutoff < 1.0;
    if (!counts || tables < SPEC_ROWS_HEAD || tables > size || tables % 8 != 0 ||
        size - tables != 16 * sides + 8 * (2 * file->places + 1 + file->texts) +
                             spec_rows_padded(4 * file->tokens) + spec_rows_padded((size_t)names))
        return refuse(file, "damaged: the numbers in its header contradict each other", error);
    file->vocab = (int)vocab;
    file->sides = (int)sides;
    *ret_tables = (size_t)tables;
    *ret_names = (size_t)names;
    return GSL_SUCCESS;
}

/* A name is a length and that many bytes: a spec for each side, then optionally a text for each
 * token. */
static int read_names(spec_rows_file *file, const unsigned char *at, size_t n, spec_error *error)
{
    const unsigned char *const end = at + n;
    const size_t all = (size_t)file->sides + (size_t)file->vocab;
    for (size_t i = 0; i < all; i++) {
        const size_t side = (size_t)file->sides;
        if (i == side && at == end) return GSL_SUCCESS;
        if (i == side) {
            if ((size_t)(end - at) / 4 < (size_t)file->vocab)
                return refuse(file, "damaged: tokens without texts", error);
            file->piece = calloc((size_t)file->vocab, sizeof *file->piece);
            if (file->piece == NULL)
                return spec_fail(error, GSL_ENOMEM, "%.160s: out of memory", file->path);
        }
        if (end - at < 4 || (size_t)(end - at) - 4 < get32(at))
            return refuse(file, "damaged: a name is truncated", error);
        if (i < side) {
            file->side[i].spec = (const char *)at + 4;
            file->side[i].spec_length = get32(at);
        } else {
            file->piece[i - side] = at;
        }
        at += 4 + get32(at);
    }
    return at == end ? GSL_SUCCESS : refuse(file, "damaged: more names than tokens", error);
}

/* Returns whether the numbers of a table ascend in steps of at least `step` and lie in [low,
 * high). */
static bool rises(const unsigned char *table, uint64_t n, uint64_t low, uint64_t high,
                  uint64_t step)
{
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t value = get64(table + 8 * i);
        if (value < low || value >= high) return false;
        low = value + step;
    }
    return true;
}

static int read_tables(spec_rows_file *file, size_t tables, size_t names, spec_error *error)
{
    const unsigned char *at = file->map.bytes + tables;
    if (spec_rows_check(at, file->map.length - tables, 0) != file->check)
        return refuse(file, "damaged: the checksum of its tables is wrong", error);
    const unsigned char *tv = at + (file->map.length - tables - 16 * (size_t)file->sides);
    for (int s = 0; s < file->sides; s++, tv += 16) {
        spec_rows_side *side = &file->side[s];
        side->tv_mean = get_double(tv);
        side->tv_max = get_double(tv + 8);
        if (!(side->tv_mean >= 0.0 && side->tv_mean <= 1.0 && side->tv_max >= 0.0 &&
              side->tv_max <= 1.0))
            return refuse(file, "damaged: a total variation is outside [0,1]", error);
    }
    file->row_at = at;
    file->position = at += 8 * (file->places + 1);
    file->text_at = at += 8 * file->places;
    file->token = at += 8 * file->texts;
    at += spec_rows_padded(4 * file->tokens);
    const uint64_t least = (uint64_t)file->sides * SPEC_ROWS_ROW_HEAD;
    if (get64(file->row_at) != SPEC_ROWS_HEAD || get64(file->row_at + 8 * file->places) != tables ||
        !rises(file->row_at, file->places + 1, SPEC_ROWS_HEAD, tables + 1, least) ||
        !rises(file->position, file->places, 0, file->tokens, 1) || get64(file->text_at) != 0 ||
        !rises(file->text_at, file->texts, 0, file->tokens, 1))
        return refuse(file, "damaged: positions out of order", error);
    for (uint64_t i = 0; i < file->tokens; i++)
        if (get32(file->token + 4 * i) >= (uint32_t)file->vocab)
            return refuse(file, "damaged: a token outside the vocabulary", error);
    return read_names(file, at, names, error);
}

int spec_rows_file_open(spec_rows_file *file, const char *path, spec_error *error)
{
    int status = GSL_SUCCESS;
    size_t tables = 0, names = 0;
    *file = (spec_rows_file){.path = strdup(path)};
    if (file->path == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_mapping_init(&file->map, path, error));
    SPEC_TRY(read_head(&tables, &names, file, error));
    SPEC_TRY(read_tables(file, tables, names, error));
done:
    if (status != GSL_SUCCESS) spec_rows_file_close(file);
    return status;
}

void spec_rows_file_close(spec_rows_file *file)
{
    spec_mapping_free(&file->map);
    free(file->path);
    free(file->piece);
    *file = (spec_rows_file){0};
}

/* ---- a row ----------------------------------------------------------------------------------- */

static int refuse_row(const spec_rows_file *file, uint64_t place, int side, const char *what,
                      spec_error *error)
{
    return spec_fail(error, GSL_EINVAL, "%.160s: position %llu, side %d: damaged: %s", file->path,
                     (unsigned long long)place, side, what);
}

/* Returns the bytes of a row; NULL if they extend beyond the bytes of the place. */
static const unsigned char *find_row(const spec_rows_file *file, uint64_t place, int side)
{
    const unsigned char *at = file->map.bytes + get64(file->row_at + 8 * place);
    const unsigned char *const end = file->map.bytes + get64(file->row_at + 8 * place + 8);
    for (int s = 0;; s++) {
        size_t values;
        if (end - at < SPEC_ROWS_ROW_HEAD) return NULL;
        const uint32_t count = get32(at);
        if (count < 1 || count > (uint32_t)file->vocab) return NULL;
        const size_t size = spec_rows_row_size(&values, count, file->vocab, file->value_bytes);
        if ((size_t)(end - at) < size) return NULL;
        if (s == side) return at;
        at += size;
    }
}

/* This works in place if we go from the last to the first, because an index is never below its
 * rank. */
static bool scatter(double *row, const unsigned char *index, size_t count, int vocab)
{
    size_t end = (size_t)vocab;
    for (size_t i = count; i-- > 0;) {
        const size_t to = vocab <= 1 << 16 ? get16(index + 2 * i) : get32(index + 4 * i);
        if (to >= end || to < i) return false;
        const double value = row[i];
        for (size_t k = to + 1; k < end; k++) row[k] = 0.0;
        row[to] = value;
        end = to;
    }
    for (size_t k = 0; k < end; k++) row[k] = 0.0;
    return true;
}

int spec_rows_file_row(double *ret_row, const spec_rows_file *file, uint64_t place, int side,
                       spec_error *error)
{
    size_t values;
    const unsigned char *at = find_row(file, place, side);
    if (at == NULL) return refuse_row(file, place, side, "its sizes contradict each other", error);
    const size_t count = get32(at),
                 size = spec_rows_row_size(&values, count, file->vocab, file->value_bytes);
    const uint64_t check =
        spec_rows_check(at + SPEC_ROWS_ROW_HEAD, size - SPEC_ROWS_ROW_HEAD, count);
    if (get32(at + 4) != (uint32_t)(check ^ check >> 32))
        return refuse_row(file, place, side, "its checksum is wrong", error);

    const bool exact = file->value_bytes == 8;
    bool good = true;
    for (size_t i = 0; i < count; i++) {
        ret_row[i] = exact ? get_double(at + values + 8 * i) : get_float(at + values + 4 * i);
        good = good && ret_row[i] >= 0.0 && ret_row[i] <= 1.0 + 1e-12;
    }
    const double sum = good ? spec_row_sum(ret_row, (int)count) : 0.0;
    if (!(sum > 0.0) || (exact && fabs(sum - 1.0) > 1e-12))
        return refuse_row(file, place, side, "its values are not probabilities", error);
    for (size_t i = 0; i < count && !exact; i++) ret_row[i] /= sum;
    if (count < (size_t)file->vocab &&
        !scatter(ret_row, at + SPEC_ROWS_ROW_HEAD, count, file->vocab))
        return refuse_row(file, place, side, "its tokens are out of order", error);
    return GSL_SUCCESS;
}

/* ---- the text -------------------------------------------------------------------------------- */

int spec_rows_file_token(const spec_rows_file *file, uint64_t i)
{
    return (int)get32(file->token + 4 * i);
}

uint64_t spec_rows_file_position(const spec_rows_file *file, uint64_t place)
{
    return get64(file->position + 8 * place);
}

uint64_t spec_rows_file_text(const spec_rows_file *file, uint64_t i)
{
    return get64(file->text_at + 8 * i);
}

size_t spec_rows_file_token_text(const spec_rows_file *file, int token, char *buffer, size_t size)
{
    if (file->piece == NULL) {
        const int n = snprintf(buffer, size, "<%d>", token);
        return n > 0 ? (size_t)n : 0;
    }
    const unsigned char *piece = file->piece[token];
    const size_t length = get32(piece), kept = length < size ? length : size - 1;
    if (size > 0) {
        memcpy(buffer, piece + 4, kept);
        buffer[kept] = '\0';
    }
    return length;
}
