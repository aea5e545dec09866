/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gguf_delta: reads and writes the values of a hybrid's recurrent layers in a GGUF file.
 * docs/formats.md lists the keys. */
#ifndef SPECLAB_GGUF_DELTA_H
#define SPECLAB_GGUF_DELTA_H

#include "models/transformer/files/architecture.h"
#include "models/transformer/files/gguf_keys.h"
#include "models/transformer/files/gguf_writer.h"

/* Reads shape->delta, and which of the n_layers layers are recurrent. Returns GSL_EINVAL, with a
 * line naming file and key, if a value is missing or makes no sense. */
int spec_gguf_delta_read(spec_shape *shape, bool ret_recurrent[SPEC_LAYERS_MAX],
                         const spec_architecture *architecture, spec_gguf_keys *keys);

/* Adds these values of a hybrid. */
void spec_gguf_delta_write(spec_gguf_writer *writer, const spec_checkpoint *from);

#endif
