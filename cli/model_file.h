/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model_file: a transformer's file on the command line, given as a path or as a spec.
 * The file is a checkpoint of llama2.c, or GGUF. Bad usage prints one line and exits 2. */
#ifndef SPECLAB_MODEL_FILE_H
#define SPECLAB_MODEL_FILE_H

#include "base/settings.h"

/* Parses `in` into settings of the kind llama2c or gguf: model.bin?tokenizer=other.bin, or
 * gguf:model. If `in` is a plain path, the first bytes of the file show its format. The caller
 * frees the settings. */
void spec_model_file_settings(spec_settings *ret_settings, const char *verb, const char *in);

#endif
