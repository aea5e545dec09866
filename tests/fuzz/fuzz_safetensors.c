/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz safetensors: any bytes give tensors whose data can be read and whose sizes are those of
 * their shapes, or a one-line error that names the file. */
#include "models/import/safetensors.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

static void read_tensors(const spec_safetensors *file)
{
    volatile unsigned char sum = 0;
    for (size_t i = 0; i < file->n_tensors; i++) {
        const spec_safetensors_tensor *tensor = &file->tensor[i];
        uint64_t values = 1;
        REQUIRE(spec_safetensors_find(file, tensor->name) == tensor);
        for (int k = 0; k < SPEC_SAFETENSORS_DIMENSIONS_MAX; k++) {
            REQUIRE(tensor->dimension[k] >= 1);
            values *= (uint64_t)tensor->dimension[k];
        }
        REQUIRE(tensor->bytes % values == 0 && tensor->bytes / values <= 8);
        for (uint64_t k = 0; k < tensor->bytes; k++) sum ^= tensor->data[k];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[32];
    spec_safetensors file;
    spec_error error = {""};
    const int memory = memfd_create("tensors", 0);
    REQUIRE(memory >= 0 && write(memory, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    if (spec_safetensors_init(&file, path, &error) == GSL_SUCCESS) {
        read_tensors(&file);
        spec_safetensors_free(&file);
    } else {
        REQUIRE(strncmp(error.text, path, strlen(path)) == 0 && strchr(error.text, '\n') == NULL);
        REQUIRE(file.tensor == NULL && file.header == NULL && file.mapping.bytes == NULL);
    }
    close(memory);
    return 0;
}
