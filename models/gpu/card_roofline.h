/* card_roofline: what a card does at best, measured on it: the line that no pass gets above.
 * Some hundredths of a second, and at most a quarter of the memory that is free, which is given back. The best of a few
 * repetitions after a warm-up, by the card's own clock. docs/gpu.md#roofline. */
#ifndef SPECLAB_CARD_ROOFLINE_H
#define SPECLAB_CARD_ROOFLINE_H

#include "models/gpu/card.h"
#include "models/transformer/engine/backend.h"

/* `read` is 0 where a quarter of the free memory is less than four times the card's cache: much of it would be read from
 * there. Fails as the card does. */
int spec_card_roofline(spec_roofline *ret, spec_card *card, spec_error *error);

#endif
