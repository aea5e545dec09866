/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/gguf_kind.h"

#include "models/transformer/files/gguf.h"
#include "models/transformer/files/gguf_value.h"

#include <limits.h>
#include <stdio.h>

enum { KEY_SIZE = 256 };

static const spec_piece model = {"gguf", 4}, block_draft = {"dflash", 6}, blocks = {"mtp", 3};

/* Returns whether a file has only draft blocks, without the layers of their model. */
static int is_blocks(bool *ret, const spec_gguf *gguf, spec_piece architecture, spec_error *error)
{
    char key[KEY_SIZE];
    int n;
    snprintf(key, sizeof key, "%.*s.nextn_predict_layers", SPEC_GGUF_SHOWN(architecture));
    const int status = spec_gguf_value_integer(&n, gguf, key, 0, 0, INT_MAX, error);
    *ret = n > 0 && spec_gguf_find_tensor(gguf, "blk.0.attn_norm.weight") == NULL;
    return status;
}

int spec_gguf_kind(spec_piece *ret_kind, const spec_gguf *gguf, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_piece name;
    bool alone = false;
    *ret_kind = model;
    SPEC_TRY(spec_gguf_value_text(&name, gguf, "general.architecture", "", error));
    if (spec_piece_is(name, "eagle3") || spec_piece_is(name, "speclab-head"))
        return spec_gguf_value_text(ret_kind, gguf, "speclab.head", "eagle3", error);
    SPEC_TRY(is_blocks(&alone, gguf, name, error));
    if (alone) *ret_kind = blocks;
    if (spec_piece_is(name, "dflash")) *ret_kind = block_draft;
done:
    return status;
}

int spec_gguf_kind_of_path(char *ret_kind, size_t size, const char *path, spec_error *error)
{
    spec_gguf gguf = {0};
    spec_piece kind = model;
    int status = spec_gguf_init(&gguf, path, error);
    if (status == GSL_SUCCESS) status = spec_gguf_kind(&kind, &gguf, error);
    if (status != GSL_SUCCESS || kind.length >= size) kind = model;
    snprintf(ret_kind, size, "%.*s", (int)kind.length, kind.bytes);
    spec_gguf_free(&gguf);
    return status == GSL_ENOMEM ? status : GSL_SUCCESS;
}
