/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz llama2.c's checkpoints and vocabularies: any bytes give a model whose tensors can be read
 * and whose tokenizer works, or a one-line error that names the faulty file. The first two bytes
 * are the length of the vocabulary, which precedes the checkpoint. */
#include "models/transformer/files/checkpoint.h"
#include "models/transformer/files/checkpoint_parts.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

static int file_of(char path[32], const uint8_t *data, size_t size)
{
    const int memory = memfd_create("file", 0);
    REQUIRE(memory >= 0 && write(memory, data, size) == (ssize_t)size);
    snprintf(path, 32, "/proc/self/fd/%d", memory);
    return memory;
}

static void read_model(const spec_checkpoint *model, const char *text, size_t length)
{
    for (int part = 0; part < SPEC_PARTS; part++) {
        for (int layer = 0; layer < spec_checkpoint_parts_copies((spec_part)part, &model->shape);
             layer++) {
            const spec_tensor *tensor =
                spec_checkpoint_parts_tensor_const((spec_part)part, model, layer);
            float *row = malloc((size_t)tensor->cols * sizeof *row + 1);
            for (int r = 0; r < tensor->rows; r++) {
                spec_tensor_decode_row(row, tensor, r);
                for (int i = 0; i < tensor->cols; i++) REQUIRE(isfinite(row[i]));
            }
            free(row);
        }
    }
    if (model->opt_tokenizer == NULL) return;
    int *token = malloc((length + 16) * sizeof *token);
    const size_t n = spec_tokenizer_encode(model->opt_tokenizer, text, length, token, length + 16);
    for (size_t i = 0; i < n && i < length + 16; i++)
        REQUIRE(token[i] >= 0 && token[i] < model->shape.vocab);
    free(token);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    size_t n = (size_t)data[0] + 256 * (size_t)data[1];
    if (n > size - 2) n = size - 2;
    char path[32], vocabulary[32], spec[128];
    const int second = file_of(vocabulary, data + 2, n),
              first = file_of(path, data + 2 + n, size - 2 - n);
    spec_settings settings;
    spec_checkpoint model;
    spec_error error = {""};
    snprintf(spec, sizeof spec, "llama2c:%s?tokenizer=%s", path, n > 0 ? vocabulary : "");
    REQUIRE(spec_settings_init(&settings, spec, &error) == GSL_SUCCESS);
    if (spec_checkpoint_load_llama2c(&model, &settings, NULL, &error) == GSL_SUCCESS) {
        read_model(&model, (const char *)data, size < 256 ? size : 256);
        spec_checkpoint_free(&model);
    } else {
        const bool named = strncmp(error.text, path, strlen(path)) == 0 ||
                           strncmp(error.text, vocabulary, strlen(vocabulary)) == 0;
        REQUIRE(named && strchr(error.text, '\n') == NULL && model.layer == NULL &&
                model.owned == NULL);
    }
    spec_settings_free(&settings);
    close(first);
    close(second);
    return 0;
}
