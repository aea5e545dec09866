/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/train/training_setup.h"

#include "base/noise.h"
#include "models/heads/head_file.h"
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "models/transformer/files/architecture.h"
#include "models/transformer/files/gguf_model.h"

#include <limits.h>
#include <string.h>

enum { OWN_TEXTS = 1536, JUDGE_TEXTS = 32 };

/* ---- models ---------------------------------------------------------------------------------- */

/* Opens a transformer of the user; errors begin with the setting. */
static int open_model(spec_model **ret_model, const spec_checkpoint **ret_checkpoint,
                      const spec_training_settings *settings, const char *spec, const char *name,
                      spec_context *context, spec_error *error)
{
    spec_error reason = {""};
    const int status = spec_model_open(ret_model, spec, NULL, context, &reason);
    if (status != GSL_SUCCESS)
        return spec_fail(error, status, "%s%s: %s", settings->dashes, name, reason.text);
    const spec_transformer *transformer = spec_transformer_of(*ret_model);
    if (transformer == NULL || (*ret_model)->one_hot)
        return spec_fail(error, GSL_EINVAL,
                         "%s%s: %.200s is not a transformer with its own distributions; give a "
                         "checkpoint of llama2.c or a GGUF file",
                         settings->dashes, name, spec);
    *ret_checkpoint = transformer->checkpoint;
    return GSL_SUCCESS;
}

static int open_models(spec_training_setup *setup, spec_training_models *ret_models,
                       spec_context *context, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_training_settings *settings = setup->settings;
    *ret_models = (spec_training_models){0};
    if (settings->target != NULL) {
        SPEC_TRY(open_model(&setup->target, &setup->vocabulary_of, settings, settings->target,
                            "target", context, error));
    } else {
        spec_byte_vocabulary_fill(&setup->byte_data);
        setup->bytes.shape.vocab = SPEC_BYTE_TOKENS;
        setup->bytes.begin_of_text = SPEC_BYTE_BEGIN;
        setup->bytes.adds_begin = true;
        setup->bytes.ends = spec_text_ends_one(SPEC_BYTE_END);
        SPEC_TRY(spec_checkpoint_tokenizer(&setup->bytes, &setup->byte_data.data, "bytes", error));
        setup->vocabulary_of = &setup->bytes;
    }
    ret_models->vocabulary_of = setup->vocabulary_of;
    if (settings->draft == NULL) goto done;
    if (settings->head >= 0) {
        SPEC_TRY(spec_head_file_load(&setup->start_head, settings->draft, setup->vocabulary_of,
                                     false, error));
        ret_models->opt_start_head = &setup->start_head;
    } else {
        SPEC_TRY(open_model(&setup->start, &ret_models->opt_start, settings, settings->draft,
                            "draft", context, error));
    }
done:
    return status;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Makes texts to learn from, and `judged` held-out texts of the target. */
static int make_texts(spec_training_setup *setup, int places, int judged, spec_thread_pool *pool,
                      spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_training_settings *settings = setup->settings;
    const spec_checkpoint *c = setup->vocabulary_of;
    const bool is_lm = strcmp(settings->method, "lm") == 0;
    const int begin = c->adds_begin ? c->begin_of_text : -1;
    spec_training_sampling how = {
        .model = setup->target,
        .begin = begin,
        .places = places,
        .count = (size_t)spec_training_settings_or(settings->own_texts, OWN_TEXTS),
        .seed = spec_noise_mix(settings->seed)};
    if (strcmp(settings->data, "own") == 0) {
        if (is_lm)
            SPEC_TRY(spec_fail(error, GSL_EINVAL, "%sdata own: lm has no target to sample from",
                               settings->dashes));
        SPEC_TRY(spec_training_texts_sample(&setup->learn, NULL, &how, pool, error));
    } else if (strcmp(settings->data, "draft") == 0) {
        spec_training_sampling of_draft = how;
        of_draft.model = setup->start;
        if (is_lm || of_draft.model == NULL)
            SPEC_TRY(
                spec_fail(error, GSL_EINVAL,
                          "%sdata draft: needs distill, and a draft model to sample from (%sdraft)",
                          settings->dashes, settings->dashes));
        SPEC_TRY(spec_training_texts_sample(&setup->learn, NULL, &of_draft, pool, error));
    } else if (c->opt_tokenizer == NULL) {
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%starget: the model has no vocabulary to read %.200s", settings->dashes,
                           settings->data));
    } else {
        SPEC_TRY(spec_training_texts_load(&setup->learn, settings->data, c->opt_tokenizer, begin,
                                          places, error));
    }
    if (is_lm) goto done;
    how.count = (size_t)judged;
    how.seed = spec_noise_mix(how.seed);
    how.prompt = setup->learn.stride == 1 ? SPEC_TRAINING_PROMPT : 0;
    SPEC_TRY(spec_training_texts_sample(&setup->judge[1], &setup->learn, &how, pool, error));
    how.prompt = SPEC_TRAINING_PROMPT;
    how.greedy = true;
    SPEC_TRY(spec_training_texts_sample(&setup->judge[0],
                                        setup->learn.stride == 1 ? &setup->learn : &setup->judge[1],
                                        &how, pool, error));
done:
    return status;
}

/* ---- the training ---------------------------------------------------------------------------- */

/* Refuses a model that training cannot compute, before texts are sampled from it. */
static int need_plain(const spec_training_settings *settings, const char *name, const char *spec,
                      const spec_checkpoint *opt_model, spec_error *error)
{
    spec_error reason = {""};
    if (opt_model == NULL ||
        spec_architecture_need_plain(opt_model, "training", "train with one of llama or qwen2",
                                     &reason) == GSL_SUCCESS)
        return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "%s%s: %.200s: %.260s", settings->dashes, name, spec,
                     reason.text);
}

int spec_training_setup_init(spec_training_setup *setup, const spec_training_settings *settings,
                             spec_context *context, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_training_models models;
    spec_training_plan plan;
    *setup = (spec_training_setup){.settings = settings};
    SPEC_TRY(open_models(setup, &models, context, error));
    SPEC_TRY(spec_training_settings_plan(&plan, &setup->head, settings, &models, error));
    SPEC_TRY(need_plain(settings, "target", settings->target, plan.opt_target, error));
    SPEC_TRY(need_plain(settings, "draft", settings->draft, models.opt_start, error));
    const int asked = spec_training_settings_or(settings->judge_texts, JUDGE_TEXTS),
              judged = (asked + plan.texts - 1) / plan.texts * plan.texts;
    SPEC_TRY(make_texts(setup, plan.places, judged, context->pool, error));
    const bool is_held_out =
        plan.opt_target == NULL || (plan.exits.rotation > 0 && setup->learn.stride == 1);
    const spec_training_data data = {
        &setup->learn, {&setup->judge[0], is_held_out ? &setup->learn : &setup->judge[1]}, judged};
    SPEC_TRY(spec_training_init(&setup->training, &plan, &data, context->pool, error));
    spec_checkpoint *model = &setup->training.model.checkpoint;
    model->begin_of_text = setup->vocabulary_of->begin_of_text;
    model->adds_begin = setup->vocabulary_of->adds_begin;
    model->ends = setup->vocabulary_of->ends;
    if (plan.opt_head != NULL)
        setup->training.head.head.fingerprint = spec_head_file_fingerprint(setup->vocabulary_of);
done:
    if (status != GSL_SUCCESS) spec_training_setup_free(setup);
    return status;
}

void spec_training_setup_free(spec_training_setup *setup)
{
    spec_training_free(&setup->training);
    spec_training_texts_free(&setup->learn);
    for (int i = 0; i < 2; i++) spec_training_texts_free(&setup->judge[i]);
    spec_head_free(&setup->start_head);
    spec_model_close(setup->start);
    spec_model_close(setup->target);
    spec_checkpoint_free(&setup->bytes);
    *setup = (spec_training_setup){0};
}

/* Finds the settings of the target's file, whose spec may be a path without a kind. */
static int settings_of_target(spec_settings *settings, const spec_model *target, spec_error *error)
{
    char spec[PATH_MAX + 16];
    const spec_model_kind *kind = spec_model_open_kind(target->spec);
    int status = spec_settings_init(settings, target->spec, error);
    if (status == GSL_SUCCESS && kind != NULL && strcmp(settings->name, kind->name) != 0) {
        spec_settings_free(settings);
        snprintf(spec, sizeof spec, "%s:%s", kind->name, target->spec);
        status = spec_settings_init(settings, spec, error);
    }
    return status;
}

int spec_training_setup_write(int *ret_kept, const spec_training_setup *setup, const char *path,
                              spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_training *training = &setup->training;
    spec_settings settings = {0};
    spec_gguf_model_vocabulary vocabulary = {0};
    *ret_kept = 0;
    if (training->plan.opt_head != NULL) {
        SPEC_TRY(spec_head_file_write(ret_kept, &training->head.head, path, error));
        goto done;
    }
    if (setup->target == NULL) {
        vocabulary.opt_data = &setup->byte_data.data;
    } else {
        SPEC_TRY(settings_of_target(&settings, setup->target, error));
        vocabulary.opt_file = &settings;
    }
    SPEC_TRY(spec_gguf_model_write(ret_kept, &training->model.checkpoint, &vocabulary, path, NULL,
                                   error));
done:
    spec_settings_free(&settings);
    return status;
}
