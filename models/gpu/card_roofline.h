/* SPDX-License-Identifier: GPL-3.0-or-later */
/* card_roofline: measures the roofline of a GPU: bandwidth, arithmetic and launch time.
 * It takes some hundredths of a second and at most a quarter of the free memory, which it releases.
 * Each number is the best of a few repetitions after a warm-up, by the GPU's clock.
 * docs/gpu.md#roofline. */
#ifndef SPECLAB_CARD_ROOFLINE_H
#define SPECLAB_CARD_ROOFLINE_H

#include "models/gpu/card.h"
#include "models/transformer/engine/backend.h"

/* `read` is 0 if a quarter of the free memory is less than four times the cache, because the cache
 * would then serve many of the reads. Passes on failures of the GPU. */
int spec_card_roofline(spec_roofline *ret, spec_card *card, spec_error *error);

#endif
