/* SPDX-License-Identifier: GPL-3.0-or-later */
/* live_prompts: reads prompts from a file, lines like {"prompt": "Once upon"}, as JSON objects.
 * A line may also be a chat, {"messages": [{"role": "user", "content": "Hi"}, ...]}. Other keys are
 * kept; the caller releases the list. */
#ifndef SPECLAB_LIVE_PROMPTS_H
#define SPECLAB_LIVE_PROMPTS_H

#include "speclab/status.h"

#include <jansson.h>
#include <stdbool.h>

/* What the lines of a file may contain. With CATEGORIES a "category" must be a string without
 * control characters. */
enum { SPEC_LIVE_CHATS = 1, SPEC_LIVE_CATEGORIES = 2 };

/* Reads at most `most` prompts. Returns GSL_EINVAL "file:line: ..." for a line that is not a
 * prompt, and GSL_EINVAL for a file without prompts; GSL_ENOMEM; or the errors of files. */
int spec_live_prompts_read(json_t **ret, const char *path, int most, unsigned kinds,
                           spec_error *error);

/* Returns the text of prompt i; NULL for a chat. */
const char *spec_live_prompt(const json_t *prompts, int i);

#endif
