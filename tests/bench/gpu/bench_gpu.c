/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/engine/device.h"
#include "tests/bench/gpu/gpu_rows.h"
#include "tests/support/contexts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Shapes: Llama 2 of 7 B parameters, Llama 3.2 of 1 B, and a tiny one for the simulator. */
static const gpu_model large = {"7B", 4096, 32, 32, 32, 11008, 32000, 64, 4032, 0.80, false};
static const gpu_model small = {"1B", 2048, 16, 32, 8, 8192, 128256, 64, 4032, 0.65, true};
static const gpu_model least = {"tiny", 64, 2, 4, 2, 96, 100, 8, 8, 0.80, true};

static int measure_card(gpu_rows *rows)
{
    int status = GSL_SUCCESS;
    const spec_roofline *roofline = &rows->roofline;
    SPEC_TRY(gpu_rows_add(rows, GPU_TOLD, 0.0, 1e-9 * roofline->read, "GB/s", "the card reads"));
    SPEC_TRY(gpu_rows_add(rows, GPU_TOLD, 0.0, 1e-12 * roofline->bf16, "TFLOP/s",
                          "the card multiplies bf16"));
    SPEC_TRY(gpu_rows_add(rows, GPU_TOLD, 0.0, 1e-12 * roofline->int8, "TOP/s",
                          "the card multiplies int8"));
    SPEC_TRY(gpu_rows_add(rows, GPU_TOLD, 0.0, 1e6 * roofline->launch, "us",
                          "from kernel to kernel, recorded"));
done:
    return status;
}

/* Skips a model that does not fit into the GPU's memory, with a message. */
static int measure_model(gpu_rows *rows, const gpu_model *model, spec_tensor_type type, bool tiny,
                         spec_error *error)
{
    const int status = gpu_measure_model(rows, model, type, tiny, error);
    if (status != GSL_ENOMEM) return status;
    printf("%s %s: skipped: %s\n", model->name, spec_tensor_type_names[type], error->text);
    return GSL_SUCCESS;
}

static int measure_all(gpu_rows *rows, bool tiny, spec_error *error)
{
    int status = GSL_SUCCESS;
    const gpu_model *models[] = {&small, &large};
    const spec_tensor_type types[] = {SPEC_TENSOR_BF16, SPEC_TENSOR_Q8_0};
    SPEC_TRY(measure_card(rows));
    SPEC_TRY(gpu_measure_sampling(rows, tiny ? 1000 : 128000, 8, tiny, error));
    for (int m = 0; m < (tiny ? 1 : 2); m++)
        for (int t = 0; t < 2; t++)
            SPEC_TRY(measure_model(rows, tiny ? &least : models[m], types[t], tiny, error));
    SPEC_TRY(gpu_measure_kernels(rows, tiny ? &least : &large, tiny, error));
done:
    return status;
}

/* bench_gpu [-d DEVICE] [-t] [FILE.csv]: measures all claims about a GPU, in some minutes. -t: tiny
 * shapes, to see that it runs. Without a GPU: a message and exit code 2. */
int main(int argc, char **argv)
{
    const char *device = "gpu", *path;
    const spec_backend *backend = NULL;
    gpu_rows rows = {0};
    spec_error error = {{0}};
    bool tiny = false;
    int status = GSL_SUCCESS, option;
    opterr = 0;
    while ((option = getopt(argc, argv, "d:t")) != -1) {
        if (option == 'd') device = optarg;
        else if (option == 't') tiny = true;
        else
            SPEC_TRY(spec_fail(&error, GSL_EINVAL,
                               "usage: bench_gpu [-d DEVICE] [-t] [FILE.csv]; -t: tiny shapes"));
    }
    path = optind < argc ? argv[optind] : "bench-gpu.csv";
    SPEC_TRY(spec_device_open(&backend, spec_test_context(0), device, &error));
    if (strcmp(backend->name, "cpu") == 0)
        SPEC_TRY(spec_fail(&error, GSL_EINVAL, "%s is no card", device));
    SPEC_TRY(gpu_rows_init(&rows, backend, path, &error));
    SPEC_TRY(measure_all(&rows, tiny, &error));
    printf("%d of %d goals are reached; written to %s\n", rows.reached, rows.asked,
           path);
done:
    if (status != GSL_SUCCESS)
        fprintf(stderr, "bench_gpu: %s\n",
                error.text[0] != '\0'        ? error.text
                : rows.error.text[0] != '\0' ? rows.error.text
                                             : gsl_strerror(status));
    gpu_rows_free(&rows);
    spec_device_close(backend);
    return status == GSL_SUCCESS ? 0 : 2;
}
