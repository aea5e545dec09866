/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chat_template: the template by which programs turn a chat into text, from a Hugging Face folder.
 * It is a separate file, or a value in tokenizer_config.json or chat_template.json; from a list of
 * several, the one named "default". speclab copies it for programs that read the GGUF file. */
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
