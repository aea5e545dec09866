/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/given_models.h"

#include "base/memory_text.h"
#include "base/settings.h"
#include "models/transform.h"
#include "sim/draft/drafter.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

bool spec_given_models_takes(const char *parameter)
{
    return strcmp(parameter, "target") == 0 || strcmp(parameter, "draft") == 0;
}

/* Returns whether a strategy is given, either before a model or alone, such as "lookup". */
static bool has_strategy(const char *given)
{
    const size_t n = strcspn(given, ":?");
    for (int i = 0; spec_drafter_kinds[i] != NULL; i++)
        if (strlen(spec_drafter_kinds[i]->name) == n &&
            strncmp(spec_drafter_kinds[i]->name, given, n) == 0)
            return true;
    return false;
}

int spec_given_models_place(char **ret_model, const char *given, const char *original,
                            spec_error *error)
{
    spec_settings was = {0}, is = {0};
    const char *model = spec_drafter_model_of(original);
    const size_t strategy = has_strategy(given) ? 0 : (size_t)(model - original);
    spec_memory_text text;
    int status = GSL_SUCCESS;
    char separator = strchr(given, '?') != NULL ? '&' : '?';
    *ret_model = NULL;
    if (!spec_memory_text_open(&text)) return spec_no_memory(error);
    fprintf(text.out, "%.*s%s", (int)strategy, original, given);
    const int read_was = spec_settings_init(&was, model, NULL),
              read_is = spec_settings_init(&is, given, NULL);
    if (read_was == GSL_ENOMEM || read_is == GSL_ENOMEM) status = spec_no_memory(error);
    if (read_was == GSL_SUCCESS && read_is == GSL_SUCCESS) {
        for (int i = 0; i < was.n; i++) {
            if (!spec_transform_is_key(was.key[i]) || strchr(was.value[i], '{') == NULL) continue;
            if (spec_settings_text(&is, was.key[i]) != NULL)
                status =
                    spec_fail(error, GSL_EINVAL, "%.200s: leave %s out: this experiment varies it",
                              given, was.key[i]);
            fprintf(text.out, "%c%s=%s", separator, was.key[i], was.value[i]);
            separator = '&';
        }
    }
    spec_settings_free(&was);
    spec_settings_free(&is);
    *ret_model = spec_memory_text_take(&text, NULL);
    if (*ret_model == NULL) status = spec_no_memory(error);
    if (status == GSL_SUCCESS) return status;
    free(*ret_model);
    *ret_model = NULL;
    return status;
}

void spec_given_models_note(spec_referred *referred, const char *original)
{
    for (const char *at = original; (at = strchr(at, '{')) != NULL;) {
        char name[sizeof referred->name[0]];
        const size_t n = strcspn(++at, "}");
        if (at[n] == '\0' || n >= sizeof name || referred->n == SPEC_AXES_MAX) return;
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        if (!spec_given_models_noted(referred, name)) strcpy(referred->name[referred->n++], name);
    }
}

bool spec_given_models_noted(const spec_referred *referred, const char *name)
{
    for (int i = 0; i < referred->n; i++)
        if (strcmp(referred->name[i], name) == 0) return true;
    return false;
}
