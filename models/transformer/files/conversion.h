/* conversion: a model's file, in whichever format, written as GGUF with its matrices in another type.
 * Names, shape, vocabulary and every other value are carried over; vectors stay floats, and so do matrices whose rows
 * are no multiple of a block. What is written reads back as the same model, but for the rounding. */
#ifndef SPECLAB_CONVERSION_H
#define SPECLAB_CONVERSION_H

#include "base/settings.h"
#include "models/transformer/files/tensor.h"

/* All tensors that went from one type to another. */
typedef struct {
    int tensors;
    uint64_t weights, bytes_before, bytes_after;
    double squared_error, squared; /* sums over the weights: of their errors, and of themselves */
    double error_max;              /* largest error over the largest weight, of the worst tensor */
} spec_conversion_count;

typedef struct {
    spec_conversion_count count[SPEC_TENSOR_TYPES][SPEC_TENSOR_TYPES]; /* [before][after] */
} spec_conversion;

/* Read the model that `settings` name (kinds llama2c and gguf) and write it to `path`, over what was there, when all is
 * done. GSL_EINVAL where `path` is the model's own file, for a model that cannot be read, and for a weight that is
 * beyond the range of its new type; GSL_EFAILED where writing failed; nothing is left behind then. The bytes do not
 * depend on the number of threads. GSL_EFAILED too where *opt_stop became other than 0. */
int spec_conversion_write(spec_conversion *ret, const char *path, spec_settings *settings, spec_tensor_type type,
                          const volatile int *opt_stop, spec_error *error);

#endif
