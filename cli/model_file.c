/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/model_file.h"

#include "base/mapping.h"
#include "cli/usage.h"
#include "models/model_kinds.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

void spec_model_file_settings(spec_settings *settings, const char *verb, const char *in)
{
    spec_error error = {{0}};
    char *spec = NULL;
    bool is_gguf = strncmp(in, "gguf:", 5) == 0;
    if (!is_gguf && strncmp(in, "llama2c:", 8) != 0) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%.*s", (int)strcspn(in, "?"), in);
        spec_mapping file;
        if (spec_mapping_init(&file, path, &error) != GSL_SUCCESS)
            spec_usage_fail(verb, "%s", error.text);
        is_gguf = file.length >= 4 && memcmp(file.bytes, "GGUF", 4) == 0;
        spec_mapping_free(&file);
        if (asprintf(&spec, "%s:%s", is_gguf ? "gguf" : "llama2c", in) < 0)
            spec_usage_no_memory(verb);
    }
    const spec_model_kind *kind = is_gguf ? &spec_model_gguf : &spec_model_llama2c;
    if (spec_settings_init(settings, spec != NULL ? spec : in, &error) != GSL_SUCCESS ||
        spec_settings_check(settings, kind->usage, NULL, &error) != GSL_SUCCESS)
        spec_usage_fail(verb, "%s", error.text);
    free(spec);
}
