/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_open.h"

#include "base/escape.h"
#include "base/names.h"
#include "models/restricted_model.h"
#include "models/tabulate.h"
#include "models/transform.h"
#include "models/transformed_model.h"
#include "models/transformer/files/gguf_kind.h"
#include "models/translated_model.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { KIND_SIZE = 32 };

static const char *name_of(int i)
{
    return spec_model_kinds[i] != NULL ? spec_model_kinds[i]->name : NULL;
}

/* Returns whether this is a kind of draft that comes from a file. A file may claim to be of any
 * kind. */
static bool is_draft_file(const spec_model_kind *kind)
{
    return kind->needs_target && strstr(kind->usage, "PATH") != NULL;
}

/* Finds the kind implied by a path's ending, or by a GGUF file's content; *ret NULL: none. */
static int kind_of_path(const char **ret, char space[KIND_SIZE], const char *spec, size_t length,
                        spec_error *error)
{
    static const struct {
        const char *ending, *kind;
    } files[] = {{".bin", "llama2c"}, {".rows", "rows"}, {".gguf", "gguf"}};
    *ret = NULL;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const size_t n = strlen(files[i].ending);
        if (length > n && strncmp(spec + length - n, files[i].ending, n) == 0) *ret = files[i].kind;
    }
    if (*ret == NULL || strcmp(*ret, "gguf") != 0 || length >= PATH_MAX) return GSL_SUCCESS;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.*s", (int)length, spec);
    const int status = spec_gguf_kind_of_path(space, KIND_SIZE, path, error);
    if (status != GSL_SUCCESS) return status;
    const int line = spec_names_find(name_of, space, "kind of model", NULL);
    if (line >= 0 && is_draft_file(spec_model_kinds[line])) *ret = space;
    return GSL_SUCCESS;
}

/* Prefixes the kind that a path implies: "a.gguf?context=99" is "gguf:a.gguf?context=99". */
static int read_spec(spec_settings *settings, const char *spec, spec_error *error)
{
    char space[KIND_SIZE], *whole = NULL;
    const size_t length = strcspn(spec, ":?");
    const char *kind = NULL;
    int status =
        spec[length] != ':' ? kind_of_path(&kind, space, spec, length, error) : GSL_SUCCESS;
    if (status != GSL_SUCCESS) return status;
    if (kind == NULL) return spec_settings_init(settings, spec, error);
    if (asprintf(&whole, "%s:%s", kind, spec) < 0) return spec_no_memory(error);
    status = spec_settings_init(settings, whole, error);
    free(whole);
    return status;
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

/* Changes the tokens of an open model by the keys `vocabulary` and `ids` of its spec. */
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

/* Gives advice if the name of an unknown kind is the name of a file or a folder. */
static int refuse_file(const char *path, spec_error *error)
{
    static const char ending[] = ".safetensors";
    const size_t length = strlen(path), n = sizeof ending - 1;
    char word[200];
    struct stat file;
    if (stat(path, &file) != 0) return GSL_SUCCESS;
    if (S_ISDIR(file.st_mode))
        return spec_fail(error, GSL_EINVAL,
                         "%.200s is a folder; convert a Hugging Face model first: speclab import "
                         "%s -o model.gguf",
                         path, spec_escape_shell_fit(word, sizeof word, path, "FOLDER"));
    if (length > n && strcmp(path + length - n, ending) == 0)
        return spec_fail(error, GSL_EINVAL,
                         "%.200s belongs to a Hugging Face folder; convert that first: speclab "
                         "import FOLDER -o model.gguf",
                         path);
    return spec_fail(error, GSL_EINVAL,
                     "%.200s is a file; put its kind before it, as in ngram:%.200s", path, path);
}

/* Returns a view of the settings without one key. */
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
    if (line < 0) SPEC_TRY(refuse_file(settings.name, error));
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
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "vocabulary=target is only for drafts, and this is a "
                           "target"));
    if (vocabulary == 1 || spec_settings_text(&settings, "ids") != NULL)
        /* temperature applies to the tokens that remain */
        given = without(&settings, "temperature");
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
