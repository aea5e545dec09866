/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pass_work: counts the bytes and operations of one pass, and its chain of dependent launches.
 * It is used to compare a measured time with the limits of a device
 * (docs/formulas/costs.md#roofline). It leaves out norms, biases and activations, which are a
 * thousandth of the rest. */
#ifndef SPECLAB_PASS_WORK_H
#define SPECLAB_PASS_WORK_H

#include "models/transformer/engine/transformer.h"

typedef struct {
    double weight_bytes; /* bytes of the matrices that a pass of one token reads, in the backend's
                            format; of the embedding it reads only single rows */
    double weights[SPEC_TENSOR_TYPES]; /* how many weights of each type a token is multiplied by */
    double kv_bytes;        /* bytes of the KV cache per position, in the layers that attend to all
                               positions */
    double window_kv_bytes; /* the same in the layers that attend to the last `window` positions */
    int window;
    int last, sink; /* last > 0: in both kinds of layers it reads at most the last `last` positions
                       and the first `sink` (window and sink of spec_batch) */
    double state_bytes; /* bytes of recurrent states, which a pass reads once */
    int launches; /* dependent launches of the backend */
    int mixtures; /* sublayers that are mixtures of experts; 0: the fields below have no meaning */
    int n_experts, n_active; /* experts in each mixture, and how many of them a token takes */
    double expert_bytes;     /* bytes of one expert, summed over the mixtures */
} spec_pass_work;

spec_pass_work spec_pass_work_of(const spec_transformer *model);

/* Returns the bytes of weights that a pass reads if it takes this many distinct experts of each
 * mixture, on average; weight_bytes for n_active experts. Without mixtures `experts` is ignored. */
double spec_pass_work_bytes(const spec_pass_work *work, double experts);

/* Returns the bytes of the KV cache and of recurrent states that a pass of one token reads after a
 * context of this many positions. */
double spec_pass_work_kv_bytes(const spec_pass_work *work, double positions);

/* Returns weight_bytes before the model is loaded, each part in the type that it is computed in. */
double spec_pass_work_weight_bytes(const spec_transformer *model);

#endif
