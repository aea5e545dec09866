/* pass_work: what a pass of a transformer has to do where it is: what is read and multiplied, and how many launches
 * wait for one another. For setting a measured time beside what a device allows (docs/formulas.md#roofline).
 * Norms, biases and activations are left out: they are a thousandth of the rest. */
#ifndef SPECLAB_PASS_WORK_H
#define SPECLAB_PASS_WORK_H

#include "models/transformer/engine/transformer.h"

typedef struct {
    double weight_bytes;               /* of all matrices of the layers that it runs, as their backend keeps them; of the
                                          embedding a pass reads single rows */
    double weights[SPEC_TENSOR_TYPES]; /* how many of each type a token is multiplied with */
    double kv_bytes;                   /* of the keys and values of one position, in these layers */
    int launches;                      /* of its backend, one after the other */
} spec_pass_work;

spec_pass_work spec_pass_work_of(const spec_transformer *model);

#endif
