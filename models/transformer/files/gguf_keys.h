/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf_keys: the values of a GGUF file whose keys begin with its architecture, such as "llama.".
 * Callers give the rest of a key; the field `key` keeps the whole key for error lines. As in
 * gguf_value.h, a missing value becomes the fallback, and GSL_EINVAL has a line that names file and
 * key. */
#ifndef SPECLAB_GGUF_KEYS_H
#define SPECLAB_GGUF_KEYS_H

#include "models/transformer/files/gguf_types.h"

enum { SPEC_GGUF_KEY_SIZE = 96 };

typedef struct {
    const spec_gguf *gguf;
    const char *architecture;
    spec_error *error;
    char key[SPEC_GGUF_KEY_SIZE]; /* the latest one, for error lines */
} spec_gguf_keys;

/* Fails with a line about the file. */
#define SPEC_GGUF_KEYS_REFUSE(keys, format, ...)                                                   \
    spec_fail((keys)->error, GSL_EINVAL, "%.300s: " format, (keys)->gguf->path, __VA_ARGS__)

/* Returns the whole key, in keys->key. */
const char *spec_gguf_keys_name(spec_gguf_keys *keys, const char *rest);
bool spec_gguf_keys_has(spec_gguf_keys *keys, const char *rest);

/* Read an integer within [low, high], which the file must have (_need) or may lack. */
int spec_gguf_keys_need(int *ret_value, spec_gguf_keys *keys, const char *rest, int low, int high);
int spec_gguf_keys_integer(int *ret_value, spec_gguf_keys *keys, const char *rest, int fallback,
                           int low, int high);

int spec_gguf_keys_real(double *ret_value, spec_gguf_keys *keys, const char *rest, double fallback);
int spec_gguf_keys_bool(bool *ret_value, spec_gguf_keys *keys, const char *rest, bool fallback);
int spec_gguf_keys_text(spec_piece *ret_value, spec_gguf_keys *keys, const char *rest,
                        const char *fallback);

#endif
