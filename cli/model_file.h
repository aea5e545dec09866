/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model_file: a transformer's file on the command line, as a path or as a spec.
 * A checkpoint of llama2.c, or a GGUF file. Bad usage prints one line and exits 2. */
#ifndef SPECLAB_MODEL_FILE_H
#define SPECLAB_MODEL_FILE_H

#include "base/settings.h"

/* Parses what `in` names as settings of the kind llama2c or gguf: model.bin?tokenizer=other.bin, or
 * gguf:model. The first bytes of the file at a plain path show its format. The caller frees the
 * settings. */
void spec_model_file_settings(spec_settings *ret_settings, const char *verb, const char *in);

#endif
