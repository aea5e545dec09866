/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/dflash/dflash_model.h"

#include "models/dflash/dflash_file.h"
#include "models/transformer/engine/target_reader.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- weights --------------------------------------------------------------------------------- */

/* Returns whether the rows of a part are read one by one, from the file. */
static bool is_read_by_row(spec_dflash_part part)
{
    return part == SPEC_DFLASH_MARKOV_IN || part == SPEC_DFLASH_PREDECESSOR ||
           part == SPEC_DFLASH_SUCCESSOR;
}

static bool is_table(spec_dflash_part part)
{
    return spec_dflash_part_is_vector(part) || part == SPEC_DFLASH_CONFIDENCE ||
           part == SPEC_DFLASH_ATTENTION_CONV_BASE || part == SPEC_DFLASH_FFN_CONV_BASE;
}

static int lay(spec_dflash_model *m, spec_dflash_part part, int layer, spec_error *error)
{
    const spec_tensor *tensor = &m->dflash.tensor[part][layer];
    if (tensor->data == NULL || is_read_by_row(part)) return GSL_SUCCESS;
    if (part == SPEC_DFLASH_FINAL_NORM)
        return spec_weights_lay_vector(&m->base, &m->base.final_norm, tensor, error);
    if (is_table(part))
        return spec_weights_lay_vector(&m->base, &m->vector[part][layer], tensor, error);
    if (part == SPEC_DFLASH_EMBEDDING)
        return spec_weights_lay_matrix(&m->base, &m->base.embedding, tensor, error);
    if (part == SPEC_DFLASH_OUTPUT)
        return spec_weights_lay_matrix(&m->base, &m->base.output, tensor, error);
    if (tensor->cols > m->widest) m->widest = tensor->cols;
    if (tensor->rows > m->widest && part != SPEC_DFLASH_MARKOV_OUT) m->widest = tensor->rows;
    return spec_weights_lay_matrix(&m->base, &m->matrix[part][layer], tensor, error);
}

/* In a draft with an embedding but no output, the two are tied, as in llama.cpp. */
static void choose_ends(spec_dflash_model *m)
{
    const bool has_embedding = m->base.embedding.data != NULL;
    m->embedding = has_embedding ? &m->base.embedding : &m->target->weights->embedding;
    m->output = m->base.output.data != NULL ? &m->base.output
                : has_embedding             ? &m->base.embedding
                                            : &m->target->weights->output;
}

int spec_dflash_model_load(spec_model *model, const spec_model *opt_target, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_dflash_model *m = (spec_dflash_model *)model;
    const spec_dflash_shape *shape = &m->dflash.shape;
    (void)opt_target;
    assert(m->target->weights->backend != NULL); /* a target is loaded before its draft */
    m->base = (spec_weights){.backend = m->target->weights->backend, .shape = shape->shape};
    m->base.shape.vocab = shape->draft_vocab;
    m->widest = shape->shape.dim;
    for (int part = 0; part < SPEC_DFLASH_PARTS; part++)
        for (int i = 0; i < spec_dflash_copies((spec_dflash_part)part, shape); i++)
            SPEC_TRY(lay(m, (spec_dflash_part)part, i, error));
    choose_ends(m);
done:
    return status;
}

static void free_weights(spec_dflash_model *m)
{
    const spec_backend *backend = m->base.backend;
    if (backend == NULL) return;
    for (int part = 0; part < SPEC_DFLASH_PARTS; part++)
        for (int i = 0; i < SPEC_DFLASH_LAYERS_MAX; i++) {
            backend->free(backend, m->vector[part][i]);
            backend->matrix_free(backend, &m->matrix[part][i]);
        }
    spec_weights_free(&m->base);
}

/* ---- the model ------------------------------------------------------------------------------- */

static int read_confidence(spec_dflash_model *m, const spec_settings *settings, spec_error *error)
{
    double least;
    const int status = spec_settings_double(&least, settings, "confidence", 0.0, 0.0, 1.0, error);
    if (status != GSL_SUCCESS) return status;
    m->least_logit = least > 0.0 ? log(least) - log1p(-least) : -INFINITY;
    m->model.declines = least > 0.0;
    if (least == 0.0 || m->dflash.tensor[SPEC_DFLASH_CONFIDENCE][0].data != NULL)
        return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL,
                     "%.200s: has no confidence head; leave out confidence=%g, or use a length "
                     "policy such as peak",
                     m->path, least);
}

int spec_dflash_model_open(spec_model **ret_model, spec_settings *settings,
                           const spec_model *opt_target, spec_context *opt_context,
                           spec_error *error)
{
    int status = GSL_SUCCESS, block;
    const spec_transformer *target;
    (void)opt_context;
    *ret_model = NULL;
    spec_dflash_model *m = calloc(1, sizeof *m);
    if (m == NULL) return spec_no_memory(error);
    SPEC_TRY(spec_target_reader_find(&target, settings, opt_target, error));
    m->target = target;
    SPEC_TRY(spec_settings_double(&m->temperature, settings, "temperature", 1.0, 0.0, 1e9, error));
    m->path = strdup(settings->path);
    if (m->path == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_dflash_file_load(&m->dflash, m->path, target->checkpoint, error));
    spec_dflash_shape *shape = &m->dflash.shape;
    SPEC_TRY(spec_settings_int(&block, settings, "block", 0, 0, shape->block, error));
    if (block == 1 && !shape->from_anchor)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%s: block=1: one position drafts no token",
                           settings->name));
    if (block > 0) shape->block = block;
    m->model = (spec_model){.vocab = target->head.vocab,
                            .order = -1,
                            .ends = target->head.ends,
                            .window = target->head.window,
                            .one_hot = m->temperature == 0.0,
                            .reach = spec_dflash_reach(shape),
                            .one_pass = true,
                            .by_depth = shape->kind == SPEC_DFLASH_PLAIN};
    SPEC_TRY(read_confidence(m, settings, error));
    *ret_model = &m->model;
    m = NULL;
done:
    if (m != NULL) spec_dflash_model_close(&m->model);
    return status;
}

void spec_dflash_model_close(spec_model *model)
{
    spec_dflash_model *m = (spec_dflash_model *)model;
    free_weights(m);
    spec_dflash_free(&m->dflash);
    free(m->path);
    free(m);
}
