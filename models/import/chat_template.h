/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chat_template: reads from a Hugging Face folder the template that turns a chat into text.
 * It may be a separate file, or a value in tokenizer_config.json or chat_template.json; if there is
 * a list of several, we take the one named "default". speclab does not use it, but copies it for
 * programs that read the GGUF file. */
#ifndef SPECLAB_CHAT_TEMPLATE_H
#define SPECLAB_CHAT_TEMPLATE_H

#include "speclab/status.h"

#include <jansson.h>

/* Reads the template of a folder with this tokenizer_config.json; *ret_text, which the caller
 * frees, is NULL if there is none. Returns GSL_EINVAL, with one line, if a file exceeds 4 MiB or is
 * not valid text or JSON; or GSL_ENOMEM. */
int spec_chat_template_read(char **ret_text, const char *folder, const json_t *opt_config,
                            spec_error *error);

#endif
