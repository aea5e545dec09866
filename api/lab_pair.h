/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lab_pair: the open models of a speclab_pair, and the decoder configuration it describes.
 * It owns the models and copies of the texts, so it must outlive decoders that use it. */
#ifndef SPECLAB_LAB_PAIR_H
#define SPECLAB_LAB_PAIR_H

#include "api/lab.h"
#include "sim/decode.h"

typedef struct {
    spec_model *target, *draft; /* draft is NULL if there is none */
    char *drafting, *policy, *rule;
    spec_decoder_config config;
} spec_lab_pair;

/* Returns GSL_EINVAL for a struct of another size, a missing target, or K outside 0..SPEC_K_MAX,
 * and any error of opening the models. Zeroes the pair on failure. */
int spec_lab_pair_init(spec_lab_pair *pair, speclab *lab, const speclab_pair *given,
                       spec_error *error);
void spec_lab_pair_free(spec_lab_pair *pair);

#endif
