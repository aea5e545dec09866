/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/experiment.h"

#include "base/escape.h"
#include "base/input_file.h"
#include "base/memory_text.h"
#include "base/names.h"
#include "experiments/experiment_axes.h"
#include "experiments/experiment_columns.h"
#include "experiments/report/naming.h"

#include <stdlib.h>
#include <string.h>

static const spec_input_limit limit = {"an experiment file", SPEC_CONFIG_BYTES};

static const char *const top_keys[] = {
    "title",  "question", "theory",   "finding", "finding_for", "time",
    "figure", "measure",  "grid",     "points",  "labels",      "standard_error",
    "rounds", "seed",     "defaults", "needs",   "show",        NULL};

#define FAIL(in, setting, ...) spec_config_fail(&(in)->config, setting, GSL_EINVAL, __VA_ARGS__)

/* ---- top level ------------------------------------------------------------------------------- */

static int read_top(spec_experiment_loader *in)
{
    spec_experiment *e = in->experiment;
    spec_config *config = &in->config;
    char near[SPEC_NAMES_MEANT_SIZE];
    double rounds = 0.0;
    int status = GSL_SUCCESS;
    for (int i = 0; i < in->config.root->n; i++) {
        spec_config_node *setting = in->config.root->child[i];
        bool known = false;
        for (int k = 0; top_keys[k] != NULL; k++)
            known = known || strcmp(top_keys[k], setting->name) == 0;
        if (!known)
            return FAIL(in, setting, "unknown key '%.60s'%s", setting->name,
                        spec_names_meant(near, setting->name, top_keys, ""));
    }
    in->config.defaults = spec_config_tree_member(in->config.root, "defaults");
    if (in->config.defaults != NULL && in->config.defaults->kind != SPEC_NODE_GROUP)
        return FAIL(in, in->config.defaults, "defaults is not a group { NAME = \"value\"; }");
    in->config.needs = spec_config_tree_member(in->config.root, "needs");
    if (in->config.needs != NULL && in->config.needs->kind != SPEC_NODE_GROUP)
        return FAIL(in, in->config.needs, "needs is not a group { NAME = \"how to make it\"; }");
    SPEC_TRY(spec_config_string(&e->title, config, "title"));
    SPEC_TRY(spec_config_string(&e->question, config, "question"));
    SPEC_TRY(spec_config_string(&e->theory, config, "theory"));
    SPEC_TRY(spec_config_string(&e->finding, config, "finding"));
    SPEC_TRY(spec_config_string(&e->finding_for, config, "finding_for"));
    SPEC_TRY(spec_config_string(&e->time, config, "time"));
    SPEC_TRY(spec_config_string(&e->figure, config, "figure"));
    SPEC_TRY(spec_config_number(&rounds, config, "rounds", 1e15, true));
    SPEC_TRY(spec_config_number(&e->standard_error, config, "standard_error", 1e6, false));
    SPEC_TRY(spec_config_u64(&e->seed, config, "seed"));
    e->rounds = (uint64_t)rounds;
    if (e->rounds == 0 && !(e->standard_error > 0.0)) e->rounds = SPEC_EXPERIMENT_ROUNDS;

    spec_config_node *measure = spec_config_tree_member(in->config.root, "measure");
    if (measure == NULL)
        return FAIL(in, NULL, "no measure is given, e.g. measure = \"acceptance\";");
    if (measure->kind != SPEC_NODE_TEXT) return FAIL(in, measure, "measure is not a string");
    spec_error inner;
    if (spec_measure_find(&e->measure, measure->text, &inner) != GSL_SUCCESS)
        return FAIL(in, measure, "%s", inner.text);
done:
    return status;
}

/* ---- overrides ------------------------------------------------------------------------------- */

/* Explains why an unused override sets nothing. */
static int refuse_override(spec_experiment_loader *in, const char *set)
{
    const char *known[SPEC_AXES_MAX + 33];
    const spec_experiment *e = in->experiment;
    int n = spec_experiment_columns_axes(known, &e->grid);
    char name[64], near[SPEC_NAMES_MEANT_SIZE];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(set, "="), set);
    if (spec_given_models_takes(name))
        return FAIL(in, NULL, "'%.60s' sets nothing: the measure %s has no models to replace", set,
                    e->measure->name);
    if (in->config.defaults != NULL && spec_config_tree_member(in->config.defaults, name) != NULL)
        return FAIL(in, NULL, "'%.60s' sets nothing: no value in use has ${%s}", set, name);
    for (int i = 0; top_keys[i] != NULL; i++) known[n++] = top_keys[i];
    known[n] = NULL;
    for (int i = 0; i < n; i++)
        if (strcmp(known[i], name) == 0)
            return FAIL(in, NULL,
                        "'%s' cannot be set: it is not a number, string or axis of this experiment",
                        name);
    return FAIL(in, NULL, "'%.60s' sets nothing: no key or axis is named '%s'%s", set, name,
                spec_names_meant(near, name, known, ""));
}

static int check_overrides(spec_experiment_loader *in)
{
    for (int i = 0; in->config.set[i] != NULL; i++) {
        const char *set = in->config.set[i];
        if (!in->config.used[i]) return refuse_override(in, set);
        for (int k = 0; k < in->dropped.n; k++) {
            const size_t n = strlen(in->dropped.name[k]);
            if (strncmp(set, in->dropped.name[k], n) == 0 && set[n] == '=')
                return FAIL(in, NULL, "'%.60s' sets nothing: it built models that are replaced",
                            set);
        }
    }
    return GSL_SUCCESS;
}

/* Writes " --set 'TEXT=a b.txt'" for each override. */
static int write_overrides(spec_experiment_loader *in)
{
    spec_memory_text made;
    if (!spec_memory_text_open(&made)) return spec_config_no_memory(&in->config);
    for (int i = 0; in->config.set[i] != NULL; i++) {
        fputs(" --set ", made.out);
        spec_escape_shell(made.out, in->config.set[i]);
    }
    char *text = spec_memory_text_take(&made, NULL);
    if (text == NULL) return spec_config_no_memory(&in->config);
    free(in->experiment->overrides);
    in->experiment->overrides = text;
    return GSL_SUCCESS;
}

/* ---- prose ----------------------------------------------------------------------------------- */

/* Replaces {axis} by the values in the grid. If the text is about a dropped axis, it becomes
 * empty. */
static int expand(spec_experiment_loader *in, char **text, const char *key)
{
    char *expanded = NULL;
    spec_referred about = {0};
    spec_error inner;
    spec_given_models_note(&about, *text);
    for (int i = 0; i < about.n; i++)
        if (spec_given_models_noted(&in->dropped, about.name[i])) (*text)[0] = '\0';
    const int status = spec_naming_expand(&expanded, &in->experiment->grid, *text, &inner);
    if (status != GSL_SUCCESS)
        return spec_config_fail(&in->config, spec_config_tree_member(in->config.root, key),
                                status, "%s: %s", key, inner.text);
    free(*text);
    *text = expanded;
    return GSL_SUCCESS;
}

/* Notes a required input that is missing. */
static int note_missing(spec_experiment_loader *in)
{
    const char *name = in->config.missing;
    char *how = NULL, *missing = NULL;
    if (name == NULL) return GSL_SUCCESS;
    int status =
        spec_config_text(&how, &in->config, spec_config_tree_member(in->config.needs, name));
    if (status != GSL_SUCCESS) return status;
    if (asprintf(&missing, "%s: %s", name, how) >= 0) {
        free(in->experiment->missing);
        in->experiment->missing = missing;
    } else {
        status = spec_config_no_memory(&in->config);
    }
    free(how);
    return status;
}

/* ---- the whole file -------------------------------------------------------------------------- */

/* Returns the file with its overrides, so that runs with different rows have different
 * provenance. */
static char *provenance_text(const char *bytes, size_t n, const char *const *set)
{
    spec_memory_text text;
    if (!spec_memory_text_open(&text)) return NULL;
    fwrite(bytes, 1, n, text.out);
    if (n > 0 && bytes[n - 1] != '\n') fputc('\n', text.out);
    for (int i = 0; set[i] != NULL; i++) fprintf(text.out, "# set %s\n", set[i]);
    return spec_memory_text_take(&text, NULL);
}

static char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    size_t n = strlen(name);
    return strndup(name, n > 4 && strcmp(name + n - 4, ".cfg") == 0 ? n - 4 : n);
}

int spec_experiment_parse(spec_experiment *experiment, const char *path, const char *bytes,
                          size_t n, const char *const *opt_set, spec_error *error)
{
    spec_experiment_loader in = {.experiment = experiment};
    char *name = NULL, *text = NULL;
    int status = GSL_SUCCESS;
    *experiment = (spec_experiment){0};
    SPEC_TRY(spec_config_init(&in.config, path, bytes, n, opt_set, error));
    name = base_name(path);
    text = provenance_text(bytes, n, in.config.set);
    if (name == NULL || text == NULL) SPEC_TRY(spec_config_no_memory(&in.config));
    SPEC_TRY(spec_experiment_init(experiment, name, text, NULL, error));
    SPEC_TRY(read_top(&in));
    SPEC_TRY(spec_experiment_read_axes(&in));
    SPEC_TRY(check_overrides(&in));
    SPEC_TRY(expand(&in, &experiment->title, "title"));
    SPEC_TRY(expand(&in, &experiment->question, "question"));
    SPEC_TRY(expand(&in, &experiment->theory, "theory"));
    SPEC_TRY(note_missing(&in));
    SPEC_TRY(write_overrides(&in));
done:
    spec_config_free(&in.config);
    free(name);
    free(text);
    if (status != GSL_SUCCESS) spec_experiment_free(experiment);
    return status;
}

int spec_experiment_load(spec_experiment *experiment, const char *path, const char *const *opt_set,
                         spec_error *error)
{
    int status = GSL_SUCCESS;
    char *bytes = NULL;
    *experiment = (spec_experiment){0};
    size_t n;
    SPEC_TRY(spec_input_file_read(&bytes, &n, path, &limit, error));
    SPEC_TRY(spec_experiment_parse(experiment, path, bytes, n, opt_set, error));
done:
    free(bytes);
    return status;
}
