/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gpu_rows: GPU measurements, row by row: printed at once, and written to a CSV file.
 * A row has the measured value, the goal if there is one, the GPU with its driver, and the version
 * of speclab. */
#ifndef SPECLAB_GPU_ROWS_H
#define SPECLAB_GPU_ROWS_H

#include "base/table.h"
#include "models/transformer/engine/backend.h"

typedef struct {
    const spec_backend *backend;
    spec_roofline roofline;
    spec_table table;
    FILE *out;        /* the CSV file */
    char driver[32];
    int asked, reached;
    spec_error error; /* the first write error; an empty text if there was none */
} gpu_rows;

typedef enum { GPU_TOLD, GPU_AT_LEAST, GPU_AT_MOST } gpu_wanted;

/* Measures the GPU's roofline first. `path`: the CSV file, which is overwritten. */
int gpu_rows_init(gpu_rows *rows, const spec_backend *backend, const char *path, spec_error *error);
void gpu_rows_free(gpu_rows *rows);

/* GSL_EFAILED if the file cannot be written. `format` gives the row's name: "7B BF16: 1 token". */
__attribute__((format(printf, 6, 7))) int gpu_rows_add(gpu_rows *rows, gpu_wanted wanted,
                                                       double asked, double measured,
                                                       const char *unit, const char *format, ...);

/* ---- repeated measurements ------------------------------------------------------------------- */

/* The median wall time of `run` over a quarter of a second of repetitions, at least 5, after a
 * warm-up. With `tiny`, one repetition after one warm-up. Fails as run(context) does. */
int gpu_median_seconds(double *ret, int (*run)(void *context, spec_error *error), void *context,
                       bool tiny, spec_error *error);

/* -- measurements -- */

/* A model with one layer's random weights, which are on the GPU once per layer. */
typedef struct {
    const char *name;  /* "7B" */
    int dim, layers, heads, kv_heads, ffn, vocab, text; /* text: tokens before the measured
                                                         * passes */
    int long_text;     /* a second, longer text; 0: none */
    double share;      /* goal: share of the measured bandwidth with one token */
    bool beside_cpu;   /* the CPU reads the text, too */
} gpu_model;

/* Measures passes of 1, 2, 4, ... 64 tokens, whether a token's logits have the same bits in each,
 * and how far they are from the CPU's (docs/gpu.md#agreement). */
int gpu_measure_model(gpu_rows *rows, const gpu_model *model, spec_tensor_type type, bool tiny,
                      spec_error *error);

/* Single kernels of such a model: its products in BF16 and Q8_0, the largest product in all types,
 * and the other kernels of a layer. */
int gpu_measure_kernels(gpu_rows *rows, const gpu_model *model, bool tiny, spec_error *error);

/* Draws and verifies a chain of n tokens over a vocabulary. */
int gpu_measure_sampling(gpu_rows *rows, int vocab, int n, bool tiny, spec_error *error);

#endif
