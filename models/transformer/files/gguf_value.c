/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/gguf_value.h"

#include <stdlib.h>
#include <string.h>

int spec_gguf_value_by_key(const void *a, const void *b)
{
    return spec_piece_order(((const spec_gguf_value *)a)->key, ((const spec_gguf_value *)b)->key);
}

const spec_gguf_value *spec_gguf_value_find(const spec_gguf *gguf, const char *key)
{
    const spec_gguf_value wanted = {.key = {key, strlen(key)}};
    return bsearch(&wanted, gguf->value, gguf->n_values, sizeof wanted, spec_gguf_value_by_key);
}

static int refuse(const spec_gguf *gguf, const char *key, const char *what, spec_error *error)
{
    return spec_fail(error, GSL_EINVAL, "%.300s: the value of '%s' is not %s", gguf->path, key,
                     what);
}

/* ---- one value ------------------------------------------------------------------------------- */

/* Reads any integer type as an int64; returns false if it is another type or the value does not
 * fit. */
static bool read_integer(int64_t *ret_value, const spec_gguf_value *value)
{
    static const struct {
        unsigned char bytes;
        bool is_signed;
    } kinds[SPEC_GGUF_TYPES] = {
        [SPEC_GGUF_U8] = {1, false},  [SPEC_GGUF_I8] = {1, true},   [SPEC_GGUF_U16] = {2, false},
        [SPEC_GGUF_I16] = {2, true},  [SPEC_GGUF_U32] = {4, false}, [SPEC_GGUF_I32] = {4, true},
        [SPEC_GGUF_U64] = {8, false}, [SPEC_GGUF_I64] = {8, true},
    };
    const unsigned bytes = kinds[value->type].bytes, shift = 64 - 8 * bytes;
    uint64_t bits = 0;
    if (value->is_array || bytes == 0) return false;
    memcpy(&bits, value->bytes, bytes);
    const bool is_signed = kinds[value->type].is_signed;
    if (is_signed && shift > 0 && bits >> (8 * bytes - 1) != 0)
        bits |= ~UINT64_C(0) << (64 - shift);
    memcpy(ret_value, &bits, sizeof bits);
    return is_signed || bits <= INT64_MAX;
}

int spec_gguf_value_integer(int *ret_value, const spec_gguf *gguf, const char *key, int fallback,
                            int low, int high, spec_error *error)
{
    const spec_gguf_value *value = spec_gguf_value_find(gguf, key);
    int64_t number;
    char range[64];
    *ret_value = fallback;
    if (value == NULL) return GSL_SUCCESS;
    *ret_value = 0;
    snprintf(range, sizeof range, "a whole number between %d and %d", low, high);
    if (!read_integer(&number, value) || number < low || number > high)
        return refuse(gguf, key, range, error);
    *ret_value = (int)number;
    return GSL_SUCCESS;
}

int spec_gguf_value_real(double *ret_value, const spec_gguf *gguf, const char *key, double fallback,
                         spec_error *error)
{
    const spec_gguf_value *value = spec_gguf_value_find(gguf, key);
    float single;
    *ret_value = fallback;
    if (value == NULL) return GSL_SUCCESS;
    *ret_value = 0.0;
    if (value->is_array || (value->type != SPEC_GGUF_F32 && value->type != SPEC_GGUF_F64))
        return refuse(gguf, key, "a number of type F32 or F64", error);
    if (value->type == SPEC_GGUF_F64) {
        memcpy(ret_value, value->bytes, sizeof *ret_value);
    } else {
        memcpy(&single, value->bytes, sizeof single);
        *ret_value = (double)single;
    }
    return GSL_SUCCESS;
}

int spec_gguf_value_bool(bool *ret_value, const spec_gguf *gguf, const char *key, bool fallback,
                         spec_error *error)
{
    const spec_gguf_value *value = spec_gguf_value_find(gguf, key);
    *ret_value = value == NULL && fallback;
    if (value == NULL) return GSL_SUCCESS;
    if (value->is_array || value->type != SPEC_GGUF_BOOL)
        return refuse(gguf, key, "true or false", error);
    *ret_value = value->bytes[0] != 0;
    return GSL_SUCCESS;
}

static size_t read_text(spec_piece *ret_piece, const unsigned char *bytes)
{
    uint64_t length;
    memcpy(&length, bytes, sizeof length);
    *ret_piece = (spec_piece){(const char *)bytes + sizeof length, (size_t)length};
    return sizeof length + (size_t)length;
}

int spec_gguf_value_text(spec_piece *ret_value, const spec_gguf *gguf, const char *key,
                         const char *fallback, spec_error *error)
{
    const spec_gguf_value *value = spec_gguf_value_find(gguf, key);
    *ret_value = (spec_piece){fallback, strlen(fallback)};
    if (value == NULL) return GSL_SUCCESS;
    *ret_value = (spec_piece){"", 0};
    if (value->is_array || value->type != SPEC_GGUF_STRING)
        return refuse(gguf, key, "a text", error);
    read_text(ret_value, value->bytes);
    return GSL_SUCCESS;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Finds the array and allocates its items; NULL if there is none. */
static int find_array(const spec_gguf_value **ret_value, void **ret_item, size_t *ret_n,
                      const spec_gguf *gguf, const char *key, size_t item_bytes, spec_error *error)
{
    *ret_item = NULL;
    *ret_n = 0;
    *ret_value = spec_gguf_value_find(gguf, key);
    if (*ret_value == NULL) return GSL_SUCCESS;
    if (!(*ret_value)->is_array) return refuse(gguf, key, "an array", error);
    if ((*ret_value)->n == 0) return GSL_SUCCESS;
    *ret_n = (size_t)(*ret_value)->n; /* each takes at least one byte in the file */
    *ret_item = calloc(*ret_n, item_bytes);
    return *ret_item != NULL ? GSL_SUCCESS
                             : spec_fail(error, GSL_ENOMEM, "%.300s: out of memory", gguf->path);
}

static int refuse_items(void *items, size_t *ret_n, const spec_gguf *gguf, const char *key,
                        const char *what, spec_error *error)
{
    free(items);
    *ret_n = 0;
    return refuse(gguf, key, what, error);
}

int spec_gguf_value_texts(spec_piece **ret_item, size_t *ret_n, const spec_gguf *gguf,
                          const char *key, spec_error *error)
{
    const spec_gguf_value *value;
    void *items;
    *ret_item = NULL;
    const int status = find_array(&value, &items, ret_n, gguf, key, sizeof **ret_item, error);
    if (status != GSL_SUCCESS || items == NULL) return status;
    if (value->type != SPEC_GGUF_STRING)
        return refuse_items(items, ret_n, gguf, key, "an array of texts", error);
    *ret_item = items;
    size_t at = 0;
    for (size_t i = 0; i < *ret_n; i++) at += read_text(&(*ret_item)[i], value->bytes + at);
    return GSL_SUCCESS;
}

int spec_gguf_value_reals(float **ret_item, size_t *ret_n, const spec_gguf *gguf, const char *key,
                          spec_error *error)
{
    const spec_gguf_value *value;
    void *items;
    *ret_item = NULL;
    const int status = find_array(&value, &items, ret_n, gguf, key, sizeof **ret_item, error);
    if (status != GSL_SUCCESS || items == NULL) return status;
    if (value->type != SPEC_GGUF_F32)
        return refuse_items(items, ret_n, gguf, key, "an array of F32", error);
    *ret_item = memcpy(items, value->bytes, value->length);
    return GSL_SUCCESS;
}

int spec_gguf_value_integers(int **ret_item, size_t *ret_n, const spec_gguf *gguf, const char *key,
                             spec_error *error)
{
    const spec_gguf_value *value;
    void *items;
    *ret_item = NULL;
    const int status = find_array(&value, &items, ret_n, gguf, key, sizeof **ret_item, error);
    if (status != GSL_SUCCESS || items == NULL) return status;
    if (value->type != SPEC_GGUF_I32 && value->type != SPEC_GGUF_U32)
        return refuse_items(items, ret_n, gguf, key, "an array of I32", error);
    *ret_item = memcpy(items, value->bytes, value->length);
    return GSL_SUCCESS;
}

int spec_gguf_value_flags(bool **ret_item, size_t *ret_n, const spec_gguf *gguf, const char *key,
                          spec_error *error)
{
    const spec_gguf_value *value;
    void *items;
    *ret_item = NULL;
    const int status = find_array(&value, &items, ret_n, gguf, key, sizeof **ret_item, error);
    if (status != GSL_SUCCESS || items == NULL) return status;
    const bool is_bool = value->type == SPEC_GGUF_BOOL;
    if (!is_bool && value->type != SPEC_GGUF_I32 && value->type != SPEC_GGUF_U32)
        return refuse_items(items, ret_n, gguf, key, "an array of true and false", error);
    *ret_item = items;
    for (size_t i = 0; i < *ret_n; i++) {
        uint32_t word = 0;
        if (is_bool)
            word = value->bytes[i];
        else
            memcpy(&word, value->bytes + i * sizeof word, sizeof word);
        (*ret_item)[i] = word != 0;
    }
    return GSL_SUCCESS;
}
