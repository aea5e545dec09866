/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz files of dflash: any bytes give a draft with finite weights for its target, or a one-line
 * error that names the file. */
#include "models/dflash/dflash_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

static void read_tensor(const spec_tensor *tensor)
{
    float *row = malloc((size_t)tensor->cols * sizeof *row);
    for (int r = 0; r < tensor->rows; r++) {
        spec_tensor_decode_row(row, tensor, r);
        for (int i = 0; i < tensor->cols; i++) REQUIRE(isfinite(row[i]));
    }
    free(row);
}

static void read_draft(const spec_dflash *dflash)
{
    const spec_dflash_shape *shape = &dflash->shape;
    for (int i = 0; i < SPEC_DFLASH_PARTS; i++)
        for (int layer = 0; layer < spec_dflash_copies((spec_dflash_part)i, shape); layer++) {
            const spec_tensor *tensor = &dflash->tensor[i][layer];
            REQUIRE(tensor->data != NULL || spec_dflash_may_lack((spec_dflash_part)i));
            if (tensor->data != NULL) read_tensor(tensor);
        }
    REQUIRE(spec_dflash_reach(shape) >= 1 && shape->block <= SPEC_DFLASH_BLOCK_MAX);
    REQUIRE(shape->mask >= 0 && shape->mask < shape->shape.vocab);
    REQUIRE(shape->n_taps >= 1 && shape->n_taps <= SPEC_TAPS_MAX);
    REQUIRE(shape->candidates <= shape->draft_vocab);
    for (int i = 0; dflash->opt_token != NULL && i < shape->draft_vocab; i++)
        REQUIRE(dflash->opt_token[i] >= 0 && dflash->opt_token[i] < shape->shape.vocab);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const spec_checkpoint target = {.shape = {.dim = 4,
                                              .n_layers = 2,
                                              .n_heads = 2,
                                              .n_kv_heads = 1,
                                              .head_dim = 2,
                                              .ffn_dim = 6,
                                              .vocab = 5,
                                              .context = 16,
                                              .norm_eps = 1e-5f,
                                              .rope.base = 1e4}};
    char path[32];
    spec_dflash dflash;
    spec_error error = {""};
    const int memory = memfd_create("dflash", 0);
    REQUIRE(memory >= 0 && write(memory, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    if (spec_dflash_file_load(&dflash, path, &target, &error) == GSL_SUCCESS) {
        read_draft(&dflash);
        spec_dflash_free(&dflash);
    } else {
        REQUIRE(strncmp(error.text, path, strlen(path)) == 0 && strchr(error.text, '\n') == NULL);
        REQUIRE(dflash.owned == NULL && dflash.opt_token == NULL);
    }
    close(memory);
    return 0;
}
