/* SPDX-License-Identifier: GPL-3.0-or-later */
/* live_prompts: reads prompts from a file, lines like {"prompt": "Once upon"}, as JSON objects.
 * Other keys are kept; the caller releases the list. */
#ifndef SPECLAB_LIVE_PROMPTS_H
#define SPECLAB_LIVE_PROMPTS_H

#include "speclab/status.h"

#include <jansson.h>
#include <stdbool.h>

/* Reads at most `most` prompts. Returns GSL_EINVAL "file:line: ..." for another line, and for a
 * file without a prompt; with `categories` also if a "category" is no string, or has control
 * characters; GSL_ENOMEM; or the errors of files. */
int spec_live_prompts_read(json_t **ret, const char *path, int most, bool categories,
                           spec_error *error);

/* Returns the text of prompt i. */
const char *spec_live_prompt(const json_t *prompts, int i);

#endif
