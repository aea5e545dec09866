/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chat_template: the template of a Hugging Face folder by which programs write a chat as a text.
 * It is a file of its own, or a value of tokenizer_config.json or chat_template.json; where a list
 * has several, the one of the name "default". speclab copies it for programs that read the GGUF
 * file. */
#ifndef SPECLAB_CHAT_TEMPLATE_H
#define SPECLAB_CHAT_TEMPLATE_H

#include "speclab/status.h"

#include <jansson.h>

/* Read the template, of a folder with this tokenizer_config.json; *ret_text, which the caller
 * frees, is NULL if there is none. GSL_EINVAL with one line for a file beyond 4 MiB, and for one
 * that is no text or JSON; GSL_ENOMEM. */
int spec_chat_template_read(char **ret_text, const char *folder, const json_t *opt_config,
                            spec_error *error);

#endif
