/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conversion: rewrites a model's file, of any format, as GGUF with its matrices in another type.
 * Names, shape, vocabulary, draft blocks and every other value are carried over. Vectors stay
 * floats. A matrix that has its new type already keeps its bytes. The result reads back as the same
 * model, up to rounding. */
#ifndef SPECLAB_CONVERSION_H
#define SPECLAB_CONVERSION_H

#include "base/settings.h"
#include "base/thread_pool.h"
#include "models/transformer/files/type_recipe.h"
#include "speclab/listener.h"

/* The errors of all tensors that were converted from one type to another. */
typedef struct {
    int tensors;
    uint64_t weights, bytes_before, bytes_after;
    double squared_error, squared; /* sums over the weights of squared errors and squared weights */
    /* of the worst tensor: its largest error divided by its largest weight */
    double error_max;
} spec_conversion_count;

typedef struct {
    spec_conversion_count count[SPEC_TENSOR_ALL_TYPES][SPEC_TENSOR_ALL_TYPES]; /* [before][after] */
    int kept; /* the replaced file was kept as PATH.bak with this number (base/new_file.h); 0: there
               * was none */
} spec_conversion;

/* How a conversion runs; each field may be NULL. */
typedef struct {
    spec_thread_pool *opt_pool;
    const volatile int *opt_stop;
    const spec_listener *opt_listener;
    int (*opt_announce)(void *self, uint64_t bytes,
                        /* called with the size of the file before weights are written; if it fails,
                         * the conversion ends */
                        spec_error *error);
    void *self;
} spec_conversion_watch;

/* Reads the model that `settings` name (kinds llama2c and gguf) and writes it to `path`, replacing
 * that file only at the end. Returns GSL_EINVAL if `path` is the model's own file, the model cannot
 * be read, or a weight exceeds the range of its new type. Returns GSL_EFAILED if writing failed or
 * *opt_stop became nonzero; no file remains. The bytes do not depend on the number of threads. */
int spec_conversion_write(spec_conversion *ret, const char *path, spec_settings *settings,
                          const spec_type_recipe *recipe, const spec_conversion_watch *opt_watch,
                          spec_error *error);

#endif
