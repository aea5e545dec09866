/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_open.h"

#include "base/names.h"
#include "models/restricted_model.h"
#include "models/tabulate.h"
#include "models/transform.h"
#include "models/transformed_model.h"
#include "models/translated_model.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *name_of(int i)
{
    return spec_model_kinds[i] != NULL ? spec_model_kinds[i]->name : NULL;
}

/* Prefix the kind that a file's ending implies: "a.gguf?context=99" is "gguf:a.gguf?context=99". */
static int read_spec(spec_settings *settings, const char *spec, spec_error *error)
{
    static const struct {
        const char *ending, *kind;
    } files[] = {{".gguf", "gguf"}, {".bin", "llama2c"}, {".rows", "rows"}};
    const size_t length = strcspn(spec, ":?");
    for (size_t i = 0; i < sizeof files / sizeof files[0] && spec[length] != ':'; i++) {
        const size_t n = strlen(files[i].ending);
        if (length <= n || strncmp(spec + length - n, files[i].ending, n) != 0) continue;
        char *whole = NULL;
        if (asprintf(&whole, "%s:%s", files[i].kind, spec) < 0) return spec_no_memory(error);
        const int status = spec_settings_init(settings, whole, error);
        free(whole);
        return status;
    }
    return spec_settings_init(settings, spec, error);
}

int spec_model_open(spec_model **ret_model, const char *spec, const spec_model *opt_target,
                    spec_context *opt_context, spec_error *error)
{
    int status = spec_model_open_unloaded(ret_model, spec, opt_target, opt_context, error);
    if (status == GSL_SUCCESS) status = spec_model_load(*ret_model, opt_target, error);
    if (status == GSL_SUCCESS) return status;
    spec_model_close(*ret_model);
    *ret_model = NULL;
    return status;
}

/* Change the tokens of the model that is open: `vocabulary` and `ids` of its spec. */
static int change_tokens(spec_model **model, const spec_settings *settings,
                         const spec_model *opt_target, bool translates, spec_error *error)
{
    const char *ids = spec_settings_text(settings, "ids");
    int status = GSL_SUCCESS;
    if (translates) SPEC_TRY(spec_translated_model_open(model, *model, opt_target, error));
    if (ids != NULL) SPEC_TRY(spec_restricted_model_open(model, *model, ids, error));
done:
    return status;
}

/* A view of the settings without one key. */
static spec_settings without(const spec_settings *settings, const char *key)
{
    spec_settings rest = *settings;
    rest.n = 0;
    for (int i = 0; i < settings->n; i++) {
        if (strcmp(settings->key[i], key) == 0) continue;
        rest.key[rest.n] = settings->key[i];
        rest.value[rest.n++] = settings->value[i];
    }
    return rest;
}

int spec_model_open_unloaded(spec_model **ret_model, const char *spec, const spec_model *opt_target,
                             spec_context *opt_context, spec_error *error)
{
    static const char *const vocabularies[] = {"own", "target", NULL};
    int vocabulary, status = GSL_SUCCESS;
    spec_settings settings = {0}, given;
    const spec_model_kind *kind;
    spec_transform transform;
    spec_model *model = NULL;

    *ret_model = NULL;
    SPEC_TRY(read_spec(&settings, spec, error));
    const int line = spec_names_find(name_of, settings.name, "kind of model", error);
    if (line < 0 && access(settings.name, F_OK) == 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%.200s is a file; type its kind before it, as in ngram:%.200s",
                           settings.name, settings.name));
    SPEC_TRY(line < 0 ? GSL_EINVAL : GSL_SUCCESS);
    kind = spec_model_kinds[line];
    SPEC_TRY(
        spec_settings_check(&settings, kind->usage, SPEC_TRANSFORM_KEYS ",ids,vocabulary", error));
    if (kind->needs_target && opt_target == NULL) {
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%s is built from a target, so it can only be a draft", kind->name));
    }
    SPEC_TRY(spec_transform_read(&transform, &settings, error));
    given = settings;
    SPEC_TRY(spec_settings_choice(&vocabulary, &settings, "vocabulary", 0, vocabularies, error));
    if (vocabulary == 1 && opt_target == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "vocabulary=target is for drafts: this is no draft"));
    if (vocabulary == 1 || spec_settings_text(&settings, "ids") != NULL)
        given = without(&settings, "temperature"); /* it applies to the tokens that remain */
    else if (kind->applies_temperature)
        transform.temperature = 1.0;

    SPEC_TRY(kind->open(&model, &given, opt_target, opt_context, error));
    assert(model->vocab >= 1 && model->order >= -1 && model->order <= SPEC_ORDER_MAX);
    model->kind = kind;
    model->spec = strdup(spec);
    if (model->spec == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(change_tokens(&model, &settings, opt_target, vocabulary == 1, error));
    if (!spec_transform_is_none(&transform)) {
        spec_model *base = model;
        SPEC_TRY(spec_transformed_model_open(&model, base, &transform, error));
    }
    SPEC_TRY(spec_tabulate(&model, error));
    *ret_model = model;
done:
    if (status != GSL_SUCCESS) spec_model_close(model);
    spec_settings_free(&settings);
    return status;
}

const spec_model_kind *spec_model_open_kind(const char *spec)
{
    spec_settings settings = {0};
    const spec_model_kind *kind = NULL;
    if (read_spec(&settings, spec, NULL) == GSL_SUCCESS)
        for (int i = 0; spec_model_kinds[i] != NULL && kind == NULL; i++)
            if (strcmp(spec_model_kinds[i]->name, settings.name) == 0) kind = spec_model_kinds[i];
    spec_settings_free(&settings);
    return kind;
}
