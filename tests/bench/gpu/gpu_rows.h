/* gpu_rows: what is measured of a card, row by row: shown as it comes, and written to a CSV to keep.
 * A row has what was measured, what is asked for, if anything, on which card with which driver, and by which
 * speclab. */
#ifndef SPECLAB_GPU_ROWS_H
#define SPECLAB_GPU_ROWS_H

#include "base/table.h"
#include "models/transformer/engine/backend.h"

typedef struct {
    const spec_backend *backend;
    spec_roofline roofline;
    spec_table table;
    FILE *out;        /* the CSV */
    char driver[32];
    int asked, reached;
    spec_error error; /* the first failure of writing; text "": none */
} gpu_rows;

typedef enum { GPU_TOLD, GPU_AT_LEAST, GPU_AT_MOST } gpu_wanted;

/* Measures the roofline of the card first. `path`: the CSV, made anew. */
int gpu_rows_init(gpu_rows *rows, const spec_backend *backend, const char *path, spec_error *error);
void gpu_rows_free(gpu_rows *rows);

/* GSL_EFAILED where the file cannot be written. `format` makes what was measured: "7B BF16: 1 token". */
__attribute__((format(printf, 6, 7))) int gpu_rows_add(gpu_rows *rows, gpu_wanted wanted, double asked, double measured,
                                                      const char *unit, const char *format, ...);

/* ---- repeated measurements --------------------------------------------------------------------------------------- */

/* The median time of `run` by the host's clock, over as many repetitions as a quarter of a second has, at least 5,
 * after some that warm up; where `tiny`, of one after one. run(context) fails as what it calls. */
int gpu_median_seconds(double *ret, int (*run)(void *context, spec_error *error), void *context, bool tiny,
                       spec_error *error);

/* ---- what is measured -------------------------------------------------------------------------------------------- */

/* A model of one layer's random weights, which lie on the card once for each layer. */
typedef struct {
    const char *name;  /* "7B" */
    int dim, layers, heads, kv_heads, ffn, vocab, text; /* after so many tokens */
    int long_text;     /* and after so many more; 0: not */
    double share;      /* of the measured bandwidth that is asked for with one token */
} gpu_model;

/* Passes of 1, 2, 4, ... 64 tokens. */
int gpu_measure_model(gpu_rows *rows, const gpu_model *model, spec_tensor_type type, bool tiny, spec_error *error);

/* Single kernels of such a model: its products in BF16 and Q8_0, the largest one in all types, and the rest of a
 * layer. */
int gpu_measure_kernels(gpu_rows *rows, const gpu_model *model, bool tiny, spec_error *error);

/* A chain of n tokens drawn and verified over a vocabulary. */
int gpu_measure_sampling(gpu_rows *rows, int vocab, int n, bool tiny, spec_error *error);

#endif
