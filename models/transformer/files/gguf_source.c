/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/files/gguf_source.h"

#include "models/transformer/files/gguf.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

int spec_gguf_source_init(spec_gguf_source **ret_source, const char *path, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_gguf_source *source = *ret_source = calloc(1, sizeof *source);
    if (source == NULL) return spec_no_memory_for(error, path);
    source->path = strdup(path);
    if (source->path == NULL) SPEC_TRY(spec_no_memory_for(error, path));
    SPEC_TRY(spec_gguf_init(&source->gguf, source->path, error));
done:
    if (status != GSL_SUCCESS) {
        spec_gguf_source_free(source);
        *ret_source = NULL;
    }
    return status;
}

void spec_gguf_source_free(void *opt_source)
{
    spec_gguf_source *source = opt_source;
    if (source == NULL) return;
    spec_gguf_free(&source->gguf);
    free(source->path);
    free(source->opt_rope_factor);
    free(source);
}
