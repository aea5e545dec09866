/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/head_tokens.h"

#include "speclab/no_memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define REFUSE(folder, error, format, ...)                                                         \
    spec_fail(error, GSL_EINVAL, "%.300s: " format, (folder)->path, __VA_ARGS__)

/* Finds a list of n values of one of two types; NULL if there is none. */
static int find_list(const spec_safetensors_tensor **ret, spec_tensor_folder *folder,
                     const char *name, const char *type, const char *other, int n,
                     spec_error *error)
{
    const spec_safetensors_tensor *found = *ret = spec_tensor_folder_find(folder, name);
    if (found == NULL) return GSL_SUCCESS;
    if (found->n_dimensions == 1 && found->dimension[0] == n &&
        (strcmp(found->type, type) == 0 || strcmp(found->type, other) == 0))
        return GSL_SUCCESS;
    return REFUSE(folder, error, "tensor '%s' is not a list of %d values of dtype %s or %s", name,
                  n, type, other);
}

static int64_t offset_at(const spec_safetensors_tensor *d2t, int i)
{
    int64_t wide;
    int32_t narrow;
    if (strcmp(d2t->type, "I64") == 0) {
        memcpy(&wide, d2t->data + (size_t)i * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, d2t->data + (size_t)i * sizeof narrow, sizeof narrow);
    return narrow;
}

/* Sets the token of each row, and marks these tokens in `seen`. */
static int read_tokens(int *ret_token, bool *seen, const spec_safetensors_tensor *d2t,
                       const spec_head_shape *shape, const spec_tensor_folder *folder,
                       spec_error *error)
{
    const int vocab = shape->shape.vocab;
    for (int i = 0; i < shape->draft_vocab; i++) {
        const int64_t offset = offset_at(d2t, i);
        if (offset < -i || offset >= vocab - i)
            return REFUSE(folder, error,
                          "d2t: row %d plus %" PRId64 " is not one of the target's %d tokens", i,
                          offset, vocab);
        const int token = ret_token[i] = i + (int)offset;
        if (seen[token])
            return REFUSE(folder, error, "d2t: token %d occurs twice; d2t must hold offsets",
                          token);
        seen[token] = true;
    }
    return GSL_SUCCESS;
}

int spec_head_tokens_read(spec_head *head, spec_tensor_folder *folder, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_safetensors_tensor *output = spec_tensor_folder_look(folder, "lm_head.weight");
    const spec_safetensors_tensor *d2t, *t2d;
    const int vocab = head->shape.shape.vocab;
    bool *seen = NULL, is_whole;
    if (output == NULL && head->shape.target_dim == 0 &&
        spec_tensor_folder_look(folder, "d2t") == NULL) {
        head->shape.borrows_output = true;
        return GSL_SUCCESS;
    }
    if (output == NULL) return REFUSE(folder, error, "tensor '%s' is missing", "lm_head.weight");
    if (output->dimension[0] > vocab)
        return REFUSE(folder, error, "lm_head.weight has %d rows for a target of %d tokens",
                      output->dimension[0], vocab);
    const int n = head->shape.draft_vocab = output->dimension[0];
    SPEC_TRY(find_list(&d2t, folder, "d2t", "I64", "I32", n, error));
    SPEC_TRY(find_list(&t2d, folder, "t2d", "BOOL", "U8", vocab, error));
    if (d2t == NULL && n < vocab)
        return REFUSE(folder, error,
                      "tensor 'd2t' is missing, which must name the tokens of %d "
                      "rows",
                      n);
    if (d2t == NULL) return GSL_SUCCESS;
    head->opt_token = malloc((size_t)n * sizeof *head->opt_token);
    seen = calloc((size_t)vocab, sizeof *seen);
    if (head->opt_token == NULL || seen == NULL) SPEC_TRY(spec_no_memory_for(error, folder->path));
    SPEC_TRY(read_tokens(head->opt_token, seen, d2t, &head->shape, folder, error));
    for (int i = 0; t2d != NULL && i < vocab; i++)
        if (seen[i] != (t2d->data[i] != 0))
            SPEC_TRY(REFUSE(folder, error, "d2t and t2d disagree about token %d", i));
    is_whole = n == vocab;
    for (int i = 0; i < n; i++) is_whole = is_whole && head->opt_token[i] == i;
    if (is_whole) {
        free(head->opt_token);
        head->opt_token = NULL;
    }
done:
    free(seen);
    return status;
}
