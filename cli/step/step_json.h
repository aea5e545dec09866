/* SPDX-License-Identifier: GPL-3.0-or-later */
/* step_json: rounds of speculative decoding as JSON, with every row, weight and coin in full.
 * docs/formats.md#rounds describes the fields. */
#ifndef SPECLAB_STEP_JSON_H
#define SPECLAB_STEP_JSON_H

#include "cli/step/step_page.h"

#include <jansson.h>

/* Return the last round of the log, and the exact distribution of one token. The caller owns the
 * objects, and checks spec_json_lost() at the end. */
json_t *spec_step_json_round(const spec_step_view *view);
json_t *spec_step_json_law(const spec_output_law *law);

#endif
