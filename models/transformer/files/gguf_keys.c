/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/gguf_keys.h"

#include "models/transformer/files/gguf_value.h"

#include <stdio.h>

const char *spec_gguf_keys_name(spec_gguf_keys *keys, const char *rest)
{
    snprintf(keys->key, sizeof keys->key, "%s.%s", keys->architecture, rest);
    return keys->key;
}

bool spec_gguf_keys_has(spec_gguf_keys *keys, const char *rest)
{
    return spec_gguf_value_find(keys->gguf, spec_gguf_keys_name(keys, rest)) != NULL;
}

int spec_gguf_keys_need(int *ret_value, spec_gguf_keys *keys, const char *rest, int low, int high)
{
    if (spec_gguf_keys_has(keys, rest))
        return spec_gguf_keys_integer(ret_value, keys, rest, 0, low, high);
    *ret_value = 0;
    return SPEC_GGUF_KEYS_REFUSE(keys, "key '%s' is missing", keys->key);
}

int spec_gguf_keys_integer(int *ret_value, spec_gguf_keys *keys, const char *rest, int fallback,
                           int low, int high)
{
    return spec_gguf_value_integer(ret_value, keys->gguf, spec_gguf_keys_name(keys, rest), fallback,
                                   low, high, keys->error);
}

int spec_gguf_keys_real(double *ret_value, spec_gguf_keys *keys, const char *rest, double fallback)
{
    return spec_gguf_value_real(ret_value, keys->gguf, spec_gguf_keys_name(keys, rest), fallback,
                                keys->error);
}

int spec_gguf_keys_bool(bool *ret_value, spec_gguf_keys *keys, const char *rest, bool fallback)
{
    return spec_gguf_value_bool(ret_value, keys->gguf, spec_gguf_keys_name(keys, rest), fallback,
                                keys->error);
}

int spec_gguf_keys_text(spec_piece *ret_value, spec_gguf_keys *keys, const char *rest,
                        const char *fallback)
{
    return spec_gguf_value_text(ret_value, keys->gguf, spec_gguf_keys_name(keys, rest), fallback,
                                keys->error);
}
