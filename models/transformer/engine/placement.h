/* placement: on which devices the models of a pair compute, in words.
 * What was asked for may have been `auto`; where that found no card, the words say why. */
#ifndef SPECLAB_PLACEMENT_H
#define SPECLAB_PLACEMENT_H

#include "models/model.h"

enum { SPEC_PLACEMENT_SIZE = 1024 };

/* "target on gpu:0 (NVIDIA H200), draft on cpu (the processor)", into text (SPEC_PLACEMENT_SIZE). A model that is no
 * transformer is left out; false, and no words, where neither is one. */
bool spec_placement_text(char *text, const spec_model *target, const spec_model *opt_draft);

/* Whether there is anything to say about it: a card, or `auto`, stands in a spec or was taken from the target's. */
bool spec_placement_is_told(const spec_model *target, const spec_model *opt_draft);

#endif
