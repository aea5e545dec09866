/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/gguf_token_map.h"

#include "speclab/no_memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int spec_gguf_token_map_read(int **ret_token, int *ret_n, const spec_gguf *gguf, int vocab,
                             spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_gguf_tensor *map = spec_gguf_find_tensor(gguf, SPEC_GGUF_TOKEN_MAP);
    *ret_token = NULL;
    *ret_n = vocab;
    if (map == NULL) return GSL_SUCCESS;
    if (!map->integers || map->tensor.rows != 1 || map->tensor.cols > vocab)
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: tensor '%s' is not a list of at most %d tokens of type I64",
                         gguf->path, SPEC_GGUF_TOKEN_MAP, vocab);
    const int n = *ret_n = map->tensor.cols;
    bool *seen = calloc((size_t)vocab, sizeof *seen);
    *ret_token = malloc((size_t)n * sizeof **ret_token);
    if (seen == NULL || *ret_token == NULL) SPEC_TRY(spec_no_memory_for(error, gguf->path));
    for (int i = 0; i < n; i++) {
        int64_t token;
        memcpy(&token, (const char *)map->tensor.data + (size_t)i * sizeof token, sizeof token);
        const bool known = token >= 0 && token < vocab;
        if (!known || seen[token])
            SPEC_TRY(spec_fail(
                error, GSL_EINVAL, "%.300s: row %d of its output is token %" PRId64 ", which %s",
                gguf->path, i, token, known ? "occurs twice" : "the target does not have"));
        (*ret_token)[i] = (int)token;
        seen[token] = true;
    }
done:
    free(seen);
    if (status != GSL_SUCCESS) {
        free(*ret_token);
        *ret_token = NULL;
    }
    return status;
}
