/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf_value: reads the values of a GGUF container as C types.
 * A missing value becomes the caller's fallback; a value of another type is refused, with a line
 * that names file and key. */
#ifndef SPECLAB_GGUF_VALUE_H
#define SPECLAB_GGUF_VALUE_H

#include "models/transformer/files/gguf_types.h"

/* Returns NULL if there is none. The container's values ascend by key; _by_key is for qsort. */
const spec_gguf_value *spec_gguf_value_find(const spec_gguf *gguf, const char *key);
int spec_gguf_value_by_key(const void *a, const void *b);

/* Read any integer type of the format, within [low, high]; F32 or F64; BOOL; STRING. A missing key
 * gives `fallback` (which may be out of range). On failure the value is 0, false or empty. */
int spec_gguf_value_integer(int *ret_value, const spec_gguf *gguf, const char *key, int fallback,
                            int low, int high, spec_error *error);
int spec_gguf_value_real(double *ret_value, const spec_gguf *gguf, const char *key, double fallback,
                         spec_error *error);
int spec_gguf_value_bool(bool *ret_value, const spec_gguf *gguf, const char *key, bool fallback,
                         spec_error *error);
int spec_gguf_value_text(spec_piece *ret_value, const spec_gguf *gguf, const char *key,
                         const char *fallback, spec_error *error);

/* Read an array of strings, of F32, of I32 or U32, of BOOL (or I32 or U32, nonzero), into a new
 * array that the caller frees; NULL, with *ret_n = 0, if the value is missing or empty. */
int spec_gguf_value_texts(spec_piece **ret_item, size_t *ret_n, const spec_gguf *gguf,
                          const char *key, spec_error *error);
int spec_gguf_value_reals(float **ret_item, size_t *ret_n, const spec_gguf *gguf, const char *key,
                          spec_error *error);
int spec_gguf_value_integers(int **ret_item, size_t *ret_n, const spec_gguf *gguf, const char *key,
                             spec_error *error);
int spec_gguf_value_flags(bool **ret_item, size_t *ret_n, const spec_gguf *gguf, const char *key,
                          spec_error *error);

#endif
