/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz files of draft heads, and of models with draft blocks: any bytes give a head with finite
 * weights for its target, or a one-line error that names the file. */
#include "models/heads/head_file.h"
#include "models/heads/head_nextn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

static void read_head(const spec_head *head)
{
    for (int part = 0; part < SPEC_HEAD_PARTS; part++)
        for (int copy = 0; copy < spec_head_copies((spec_head_part)part, &head->shape); copy++) {
            const spec_tensor *tensor = &head->tensor[part][copy];
            float *row = malloc((size_t)tensor->cols * sizeof *row);
            for (int r = 0; r < tensor->rows; r++) {
                spec_tensor_decode_row(row, tensor, r);
                for (int i = 0; i < tensor->cols; i++) REQUIRE(isfinite(row[i]));
            }
            free(row);
        }
    for (int i = 0; head->opt_token != NULL && i < head->shape.draft_vocab; i++)
        REQUIRE(head->opt_token[i] >= 0 && head->opt_token[i] < head->shape.shape.vocab);
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
    spec_head head;
    spec_error error = {""};
    const int memory = memfd_create("head", 0);
    REQUIRE(memory >= 0 && write(memory, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    for (int blocks = 0; blocks < 2; blocks++) {
        const int status = blocks ? spec_head_nextn_load(&head, path, &target, &error)
                                  : spec_head_file_load(&head, path, &target, true, &error);
        if (status == GSL_SUCCESS) {
            read_head(&head);
            spec_head_free(&head);
            continue;
        }
        REQUIRE(strncmp(error.text, path, strlen(path)) == 0 && strchr(error.text, '\n') == NULL);
        REQUIRE(head.owned == NULL && head.opt_token == NULL && head.opt_nextn == NULL);
    }
    close(memory);
    return 0;
}
