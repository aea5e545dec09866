/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz GGUF: any bytes give a model whose tensors can be read and whose tokenizer works, or a
 * one-line error that names the file. Writing the model and reading it again gives the same
 * model, in a mixture, too. */
#include "models/transformer/files/checkpoint_parts.h"
#include "models/transformer/files/conversion.h"

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

static void read_tensor(const spec_tensor *tensor)
{
    float *row = malloc((size_t)tensor->cols * sizeof *row);
    REQUIRE(tensor->rows >= 1 && tensor->cols >= 1);
    for (int r = 0; r < tensor->rows; r++) {
        spec_tensor_decode_row(row, tensor, r);
        for (int i = 0; i < tensor->cols; i++) REQUIRE(isfinite(row[i]));
    }
    free(row);
}

/* A file may have three ends, and tokens that are spelled like one of them. */
static bool same_ends(const spec_text_ends *after, const spec_text_ends *before)
{
    for (int i = 0; i < before->n && i < 3; i++)
        if (!spec_text_ends_has(after, before->token[i])) return false;
    return (after->n > 0) == (before->n > 0);
}

static void read_model(const spec_checkpoint *model, const char *text, size_t length)
{
    REQUIRE(model->begin_of_text >= 0 && model->begin_of_text < model->shape.vocab);
    for (int i = 0; i < model->ends.n; i++)
        REQUIRE(model->ends.token[i] >= 0 && model->ends.token[i] < model->shape.vocab);
    for (int part = 0; part < SPEC_PARTS; part++) {
        for (int layer = 0; layer < spec_checkpoint_parts_copies((spec_part)part, &model->shape);
             layer++) {
            const spec_tensor *tensor =
                spec_checkpoint_parts_tensor_const((spec_part)part, model, layer);
            if (tensor->data != NULL) read_tensor(tensor);
        }
    }
    if (model->opt_tokenizer == NULL) return;
    int *token = malloc((length + 16) * sizeof *token);
    const size_t n = spec_tokenizer_encode(model->opt_tokenizer, text, length, token, length + 16);
    for (size_t i = 0; i < n && i < length + 16; i++)
        REQUIRE(token[i] >= 0 && token[i] < model->shape.vocab);
    free(token);
}

static int open_model(spec_checkpoint *ret, const char *path, spec_error *error)
{
    char spec[64];
    spec_settings settings;
    snprintf(spec, sizeof spec, "gguf:%s", path);
    REQUIRE(spec_settings_init(&settings, spec, error) == GSL_SUCCESS);
    const int status = spec_checkpoint_load_gguf(ret, &settings, NULL, error);
    spec_settings_free(&settings);
    return status;
}

static const spec_type_recipe *some_recipe(unsigned byte)
{
    unsigned n = 0;
    while (spec_type_recipes[n].name != NULL) n++;
    return &spec_type_recipes[byte % n];
}

/* Writes the model by a recipe for its types. F32 is lossless; a weight may exceed the range of
 * another type. */
static void write_again(const char *path, const spec_checkpoint *model,
                        const spec_type_recipe *recipe)
{
    static char again[64];
    char spec[64];
    spec_settings settings;
    spec_conversion counted;
    spec_checkpoint other;
    spec_error error;
    if (again[0] == '\0') snprintf(again, sizeof again, "/tmp/fuzz_gguf.%ld", (long)getpid());
    snprintf(spec, sizeof spec, "gguf:%s", path);
    REQUIRE(spec_settings_init(&settings, spec, &error) == GSL_SUCCESS);
    if (spec_conversion_write(&counted, again, &settings, recipe, NULL, &error) == GSL_SUCCESS) {
        REQUIRE(open_model(&other, again, &error) == GSL_SUCCESS);
        REQUIRE(other.shape.vocab == model->shape.vocab && same_ends(&other.ends, &model->ends));
        spec_checkpoint_free(&other);
    } else {
        REQUIRE(recipe->type != SPEC_TENSOR_F32 && strstr(error.text, "beyond the range") != NULL);
    }
    spec_settings_free(&settings);
    unlink(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[32];
    spec_checkpoint model;
    spec_error error = {""};
    const int memory = memfd_create("model", 0);
    REQUIRE(memory >= 0 && write(memory, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    if (open_model(&model, path, &error) == GSL_SUCCESS) {
        read_model(&model, (const char *)data, size < 256 ? size : 256);
        write_again(path, &model, spec_type_recipe_find("f32"));
        write_again(path, &model, some_recipe(data[size - 1]));
        spec_checkpoint_free(&model);
    } else {
        REQUIRE(strncmp(error.text, path, strlen(path)) == 0 && strchr(error.text, '\n') == NULL);
        REQUIRE(model.layer == NULL && model.owned == NULL && model.opt_tokenizer == NULL);
    }
    close(memory);
    return 0;
}
