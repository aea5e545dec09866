/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz the import of a whole folder: any config.json and model.safetensors give a checkpoint whose
 * tensors have the shapes that its architecture asks for and can be written, or one line. The first
 * two bytes of the input are the length of config.json, little endian. */
#include "models/import/import_model.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

static void write_file(const char *path, const uint8_t *data, size_t n)
{
    FILE *out = fopen(path, "wb");
    REQUIRE(out != NULL && fwrite(data, 1, n, out) == n);
    REQUIRE(fclose(out) == 0);
}

static void check_tensors(const spec_checkpoint *model)
{
    for (int i = 0; i < SPEC_PARTS; i++) {
        const spec_part part = (spec_part)i;
        for (int layer = 0; layer < spec_checkpoint_parts_copies(part, &model->shape); layer++) {
            const spec_tensor *tensor = spec_checkpoint_parts_tensor_const(part, model, layer);
            int rows, cols;
            spec_checkpoint_parts_shape(&rows, &cols, part, &model->shape);
            const bool must = spec_architecture_must(model->opt_architecture, part);
            REQUIRE(tensor->data != NULL ? tensor->rows == rows && tensor->cols == cols : !must);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[64], config[96], weights[96], written[96];
    spec_import_model model;
    spec_error error = {""};
    int kept;
    if (size < 2) return 0;
    size_t n = data[0] | (size_t)data[1] << 8;
    if (n > size - 2) n = size - 2;
    snprintf(folder, sizeof folder, "/tmp/fuzz_import.%ld", (long)getpid());
    snprintf(config, sizeof config, "%s/config.json", folder);
    snprintf(weights, sizeof weights, "%s/model.safetensors", folder);
    snprintf(written, sizeof written, "%s/model.gguf", folder);
    REQUIRE(mkdir(folder, 0700) == 0);
    write_file(config, data + 2, n);
    write_file(weights, data + 2 + n, size - 2 - n);
    if (spec_import_model_open(&model, folder, &error) == GSL_SUCCESS) {
        check_tensors(&model.checkpoint);
        REQUIRE(spec_import_model_write(&kept, &model, written, NULL, &error) == GSL_SUCCESS);
        spec_import_model_free(&model);
    } else {
        REQUIRE(error.text[0] != '\0' && strchr(error.text, '\n') == NULL);
        REQUIRE(model.folder.file == NULL && model.checkpoint.layer == NULL);
    }
    unlink(config);
    unlink(weights);
    unlink(written);
    REQUIRE(rmdir(folder) == 0);
    return 0;
}
