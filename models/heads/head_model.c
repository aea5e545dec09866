/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/heads/head_model.h"

#include "models/heads/head_file.h"
#include "models/heads/head_nextn.h"
#include "models/transformer/engine/target_reader.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char target_file[] = "the target's own file";

static int check_kind(const spec_head *head, const spec_settings *settings, spec_error *error)
{
    const char *kind = spec_head_kind_names[head->shape.kind];
    if (strcmp(kind, settings->name) == 0) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "%.200s: is a head of kind %s; use %s:%.200s",
                     settings->path, kind, kind, settings->path);
}

/* The target's weights may not be loaded yet, so the fingerprint is checked in _load. */
static int load_head(spec_head *ret, const char *kind, const char *path,
                     const spec_checkpoint *target, spec_error *error)
{
    int status = GSL_SUCCESS;
    bool is_model = false;
    if (strcmp(path, target_file) == 0) return spec_head_nextn_load(ret, NULL, target, error);
    if (strcmp(kind, spec_head_kind_names[SPEC_HEAD_MTP]) == 0)
        SPEC_TRY(spec_head_nextn_is_model(&is_model, path, error));
    return is_model ? spec_head_nextn_load(ret, path, target, error)
                    : spec_head_file_load(ret, path, target, true, error);
done:
    return status;
}

int spec_head_model_open(spec_model **ret_model, spec_settings *settings,
                         const spec_model *opt_target, spec_context *opt_context, spec_error *error)
{
    int status = GSL_SUCCESS, force;
    const spec_transformer *target;
    (void)opt_context;
    *ret_model = NULL;
    spec_head_model *m = calloc(1, sizeof *m);
    if (m == NULL) return spec_no_memory(error);
    SPEC_TRY(spec_target_reader_find(&target, settings, opt_target, error));
    m->target = target;
    SPEC_TRY(spec_settings_int(&force, settings, "force", 0, 0, 1, error));
    SPEC_TRY(spec_settings_double(&m->temperature, settings, "temperature", 1.0, 0.0, 1e9, error));
    m->force = force != 0;
    m->path = strdup(settings->path[0] != '\0' ? settings->path : target_file);
    if (m->path == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(load_head(&m->head, settings->name, m->path, target->checkpoint, error));
    SPEC_TRY(check_kind(&m->head, settings, error));
    m->model = (spec_model){.vocab = target->head.vocab,
                            .order = -1,
                            .ends = target->head.ends,
                            .window = target->head.window,
                            .one_hot = m->temperature == 0.0,
                            .reach = m->head.shape.reach,
                            .one_pass = m->head.shape.kind == SPEC_HEAD_MEDUSA ||
                                        m->head.shape.kind == SPEC_HEAD_PARALLEL};
    m->model.by_depth = m->model.one_pass;
    *ret_model = &m->model;
    m = NULL;
done:
    if (m != NULL) spec_head_model_close(&m->model);
    return status;
}

int spec_head_model_load(spec_model *model, const spec_model *opt_target, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_head_model *m = (spec_head_model *)model;
    const spec_weights *of_target = m->target->weights;
    (void)opt_target;
    assert(of_target->layer != NULL); /* a target is loaded before its draft */
    if (!m->force)
        SPEC_TRY(spec_head_file_check_target(&m->head, m->path, m->target->checkpoint, error));
    SPEC_TRY(spec_head_weights_init(&m->weights, &m->head, of_target->backend, error));
done:
    return status;
}

void spec_head_model_close(spec_model *model)
{
    spec_head_model *m = (spec_head_model *)model;
    spec_head_weights_free(&m->weights);
    spec_head_free(&m->head);
    free(m->path);
    free(m);
}
