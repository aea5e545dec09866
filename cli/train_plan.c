/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/train_plan.h"

#include "base/noise.h"

#include <string.h>

int spec_train_or(int given, int otherwise)
{
    return given > 0 ? given : otherwise;
}

static spec_training_shape model_shape(const spec_train_args *args, const spec_shape *vocabulary_of)
{
    const bool distils = args->target != NULL && strcmp(args->method, "distill") == 0;
    spec_shape s = {.vocab = vocabulary_of->vocab, .norm_eps = 1e-5f, .rope_base = 10000.0};
    s.context = args->target != NULL ? vocabulary_of->context : spec_train_or(args->window, 256);
    s.dim = spec_train_or(args->dim, distils ? vocabulary_of->dim / 2 : 128);
    s.n_layers = spec_train_or(args->layers, 2);
    s.n_heads = spec_train_or(args->heads, s.dim < 32 ? 1 : s.dim / 16);
    s.n_kv_heads = spec_train_or(args->kv_heads, s.n_heads);
    s.head_dim = s.dim / s.n_heads;
    s.ffn_dim = spec_train_or(args->ffn, (s.dim * 8 / 3 + 15) / 16 * 16);
    return (spec_training_shape){.shape = s, .is_tied = true};
}

static int check_model(const spec_shape *s, spec_error *error)
{
    if (s->dim % s->n_heads != 0 || s->n_heads % s->n_kv_heads != 0 || s->head_dim % 2 != 0 ||
        s->head_dim > SPEC_HEAD_DIM_MAX)
        return spec_fail(error, GSL_EINVAL,
                         "--heads: %d heads, %d of them of keys, do not share a width of %d; heads "
                         "have an even width of at most %d",
                         s->n_heads, s->n_kv_heads, s->dim, (int)SPEC_HEAD_DIM_MAX);
    return GSL_SUCCESS;
}

/* Heads of attention have the target's width, so that both use one table of rotary angles. */
static int fill_head(spec_head_shape *ret, const spec_train_args *args, const spec_shape *target,
                     int K, spec_error *error)
{
    *ret = spec_training_head_shape((spec_head_kind)args->head, target, K);
    spec_shape *s = &ret->shape;
    s->n_kv_heads = spec_train_or(args->kv_heads, args->heads > 0 ? args->heads : s->n_kv_heads);
    s->n_heads = spec_train_or(args->heads, s->n_heads);
    s->ffn_dim = spec_train_or(args->ffn, s->ffn_dim);
    if (s->n_kv_heads > 0 && s->n_heads % s->n_kv_heads != 0)
        return spec_fail(error, GSL_EINVAL, "--kv-heads: %d do not share %d heads", s->n_kv_heads,
                         s->n_heads);
    if (args->tap[2] > 0) memcpy(ret->tap, args->tap, sizeof ret->tap);
    for (int i = 0; i < ret->n_taps; i++)
        if (ret->tap[i] > target->n_layers || ret->tap[i] < (i > 0 ? ret->tap[i - 1] + 1 : 0))
            return spec_fail(error, GSL_EINVAL,
                             "--taps: %d.%d.%d are not three ascending numbers of layers of the "
                             "target, 0 to %d",
                             ret->tap[0], ret->tap[1], ret->tap[2], target->n_layers);
    return GSL_SUCCESS;
}

/* A head to begin with has the settings that can be given, or the defaults. */
static int check_start_head(const spec_head_shape *start, const spec_train_args *args,
                            spec_error *error)
{
    if ((int)start->kind != args->head)
        return spec_fail(error, GSL_EINVAL, "--draft: %.200s is a %s head, not %s", args->start,
                         spec_head_kind_names[start->kind], args->method);
    if (args->heads > 0 || args->kv_heads > 0 || args->ffn > 0 || args->tap[2] > 0)
        return spec_fail(error, GSL_EINVAL,
                         "--draft: %.200s has its own shape; leave out --heads, --kv-heads, --ffn "
                         "and --taps",
                         args->start);
    if (start->reach > 0 && args->K > start->reach)
        return spec_fail(error, GSL_EINVAL, "--K: %.200s drafts at most %d tokens", args->start,
                         start->reach);
    return GSL_SUCCESS;
}

int spec_train_plan_fill(spec_train_plan *ret_plan, const spec_train_args *args,
                         const spec_train_models *models, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_checkpoint *of = models->vocabulary_of;
    const bool is_head = args->head >= 0, is_lm = strcmp(args->method, "lm") == 0,
               has_start = models->opt_start != NULL || models->opt_start_head != NULL;
    int K = spec_train_or(args->K, SPEC_TRAIN_K);
    if (models->opt_start_head != NULL) {
        SPEC_TRY(check_start_head(&models->opt_start_head->shape, args, error));
        if (args->K == 0 && models->opt_start_head->shape.reach > 0)
            K = models->opt_start_head->shape.reach;
    }
    *ret_plan = (spec_train_plan){.plan = {.opt_target = is_lm ? NULL : of,
                                           .opt_start = models->opt_start,
                                           .opt_start_head = models->opt_start_head,
                                           .loss = args->loss >= 0 ? (spec_losses_kind)args->loss
                                                   : is_lm         ? SPEC_LOSSES_CE
                                                   : is_head       ? SPEC_LOSSES_FKL
                                                                   : SPEC_LOSSES_JSD,
                                           .texts = spec_train_or(args->batch, 8),
                                           .K = K,
                                           .trained = args->head == SPEC_HEAD_EAGLE
                                                          ? spec_train_or(args->ttt, 1)
                                                          : spec_train_or(args->ttt, K),
                                           .first = SPEC_TRAIN_PROMPT - (of->adds_begin ? 0 : 1),
                                           .steps = args->steps > 0 ? args->steps : 600,
                                           .rate = args->rate > 0.0 ? args->rate
                                                   : has_start      ? 0.001
                                                   : is_head        ? 0.002
                                                                    : 0.003,
                                           .clip = args->head >= SPEC_HEAD_EAGLE ? 0.5 : 1.0,
                                           .seed = args->common.seed}};
    spec_training_plan *plan = &ret_plan->plan;
    if (is_head) {
        plan->opt_head = &ret_plan->head;
        if (models->opt_start_head != NULL)
            ret_plan->head = models->opt_start_head->shape;
        else
            SPEC_TRY(fill_head(&ret_plan->head, args, &of->shape, K, error));
    } else {
        plan->shape = model_shape(args, &of->shape);
        SPEC_TRY(check_model(&plan->shape.shape, error));
    }
    if (is_lm && plan->loss != SPEC_LOSSES_CE)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "--loss %s needs the rows of a target: use distill",
                           spec_losses_names[plan->loss]));
    if (plan->trained > K)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "--ttt: %d steps exceed the draft length of %d",
                           plan->trained, K));
    const int context = is_head ? of->shape.context : plan->shape.shape.context,
              least = SPEC_TRAIN_PROMPT + K + 1;
    plan->places = spec_train_or(args->window, context < 256 ? context : 256);
    if (plan->places < least || plan->places > context)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "--window: %d is not from %d to the context of %d",
                           plan->places, least, context));
done:
    return status;
}

static uint64_t hash(const void *data, size_t bytes)
{
    uint64_t sum = bytes;
    for (size_t i = 0; i < bytes; i++) sum = spec_noise_mix(sum ^ ((const unsigned char *)data)[i]);
    return sum;
}

void spec_train_plan_describe(char *text, size_t size, const spec_training *training,
                              const spec_train_args *args)
{
    const spec_training_plan *plan = &training->plan;
    const bool is_head = plan->opt_head != NULL;
    const spec_shape *s =
        is_head ? &training->head.head.shape.shape : &training->model.checkpoint.shape;
    const int *tap = training->head.head.shape.tap;
    const spec_parameters *target = &training->target.parameters, *start = training->parameters;
    const spec_training_texts *learn = training->data.learn;
    char length[48];
    if (args->minutes > 0.0)
        snprintf(length, sizeof length, "minutes=%.10g", args->minutes);
    else
        snprintf(length, sizeof length, "steps=%ld", plan->steps);
    snprintf(text, size,
             "method=%s\nloss=%s\n%s\nrate=%.10g\nbatch=%d\nwindow=%d\nseed=%llu\nK=%d\nttt=%d\n"
             "taps=%d.%d.%d\nlayers=%d\ndim=%d\nheads=%d\nkv-heads=%d\nffn=%d\ntarget=%016llx\n"
             "draft=%016llx\ndata=%016llx\n",
             args->method, spec_losses_names[plan->loss], length, plan->rate, plan->texts,
             plan->places, (unsigned long long)plan->seed, plan->K, plan->trained, tap[0], tap[1],
             tap[2], s->n_layers, s->dim, s->n_heads, s->n_kv_heads, s->ffn_dim,
             (unsigned long long)hash(target->value, target->numbers * sizeof *target->value),
             (unsigned long long)hash(start->value, start->numbers * sizeof *start->value),
             (unsigned long long)hash(learn->token, learn->n * sizeof *learn->token));
}
