/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/train/training_settings.h"

#include "base/noise.h"

#include <string.h>

enum { DEFAULT_K = 5, DEFAULT_STEPS = 600, DEFAULT_WINDOW = 256 };

#define REFUSE(settings, format, ...)                                                              \
    spec_fail(error, GSL_EINVAL, "%s" format, (settings)->dashes, __VA_ARGS__)

int spec_training_settings_or(int given, int otherwise)
{
    return given > 0 ? given : otherwise;
}

int spec_training_settings_taps(spec_training_settings *settings, const char *text,
                                spec_error *error)
{
    int *tap = settings->tap;
    char rest;
    if (sscanf(text, "%d.%d.%d%c", &tap[0], &tap[1], &tap[2], &rest) == 3) return GSL_SUCCESS;
    return REFUSE(settings, "taps: '%.60s' is not three numbers of layers, such as 1.3.5", text);
}

/* ---- methods --------------------------------------------------------------------------------- */

static bool is(const spec_training_settings *settings, const char *method)
{
    return strcmp(settings->method, method) == 0;
}

int spec_training_settings_check(spec_training_settings *settings, spec_error *error)
{
    const char *method = settings->method;
    for (int i = 0; method != NULL && spec_head_kind_names[i] != NULL; i++)
        if (is(settings, spec_head_kind_names[i])) settings->head = i;
    const int head = settings->head;
    if (method == NULL ||
        (head < 0 && !is(settings, "lm") && !is(settings, "distill") && !is(settings, "layerskip")))
        return spec_fail(error, GSL_EINVAL, "give a method: %s%s%s%s",
                         "lm, distill, layerskip, medusa, hydra, redrafter, eagle, eagle3, mtp or "
                         "parallel",
                         method != NULL ? ", not '" : "", method != NULL ? method : "",
                         method != NULL ? "'" : "");
    const bool has_exits = is(settings, "layerskip"),
               has_layers = (head < 0 && !has_exits) || head >= SPEC_HEAD_EAGLE,
               has_taps = head == SPEC_HEAD_EAGLE3 || head == SPEC_HEAD_PARALLEL,
               reads_itself = head == SPEC_HEAD_EAGLE || head == SPEC_HEAD_EAGLE3;
    const struct {
        bool wrong;
        const char *name;
    } checks[] = {
        {(head >= 0 || has_exits) && settings->layers > 0, "layers"},
        {(head >= 0 || has_exits) && settings->dim > 0, "dim"},
        {!has_layers && settings->heads > 0, "heads"},
        {!has_layers && settings->kv_heads > 0, "kv-heads"},
        {!has_layers && settings->ffn > 0, "ffn"},
        {!has_taps && settings->tap[2] > 0, "taps"},
        {!reads_itself && settings->ttt > 0, "ttt"},
        {is(settings, "lm") && settings->K > 0, "K"},
        {has_exits && settings->draft != NULL, "draft"},
        {!has_exits && settings->bar >= 0.0, "bar"},
        {!has_exits && settings->dropout >= 0.0, "dropout"},
        {!has_exits && settings->exit_scale > 0.0, "exit-scale"},
        {!has_exits && settings->rotate > 0, "rotate"},
    };
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        if (checks[i].wrong)
            return spec_fail(error, GSL_EINVAL, "%s has no %s%s", method, settings->dashes,
                             checks[i].name);
    if (settings->target == NULL && !is(settings, "lm"))
        return spec_fail(error, GSL_EINVAL, "%s needs %starget, the model that is imitated", method,
                         settings->dashes);
    if (settings->data == NULL)
        return spec_fail(error, GSL_EINVAL, "give the texts with %sdata, a file, own or draft",
                         settings->dashes);
    if (settings->steps.n > 0 && settings->minutes > 0.0)
        return spec_fail(error, GSL_EINVAL, "%ssteps and %sminutes cannot be combined",
                         settings->dashes, settings->dashes);
    return GSL_SUCCESS;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static spec_training_shape model_shape(const spec_training_settings *settings,
                                       const spec_shape *vocabulary_of)
{
    spec_shape s = {.vocab = vocabulary_of->vocab, .norm_eps = 1e-5f, .rope.base = 10000.0};
    s.context = settings->target != NULL
                    ? vocabulary_of->context
                    : spec_training_settings_or(settings->window, DEFAULT_WINDOW);
    s.dim = spec_training_settings_or(settings->dim,
                                      is(settings, "distill") ? vocabulary_of->dim / 2 : 128);
    s.n_layers = spec_training_settings_or(settings->layers, 2);
    s.n_heads = spec_training_settings_or(settings->heads, s.dim < 32 ? 1 : s.dim / 16);
    s.n_kv_heads = spec_training_settings_or(settings->kv_heads, s.n_heads);
    s.head_dim = s.dim / s.n_heads;
    s.ffn_dim = spec_training_settings_or(settings->ffn, (s.dim * 8 / 3 + 15) / 16 * 16);
    return (spec_training_shape){.shape = s, .is_tied = true};
}

static int check_model(const spec_shape *s, const spec_training_settings *settings,
                       spec_error *error)
{
    if (s->dim % s->n_heads != 0 || s->n_heads % s->n_kv_heads != 0 || s->head_dim % 2 != 0 ||
        s->head_dim > SPEC_HEAD_DIM_MAX)
        return REFUSE(
            settings,
            "heads: %d head%s, %d of keys, cannot share a width of %d; heads have an even "
            "width of at most %d",
            s->n_heads, s->n_heads == 1 ? "" : "s", s->n_kv_heads, s->dim, (int)SPEC_HEAD_DIM_MAX);
    return GSL_SUCCESS;
}

/* Fills the head's shape. Attention heads have the target's width, so that both use one table of
 * rotary angles. */
static int fill_head(spec_head_shape *ret, const spec_training_settings *settings,
                     const spec_shape *target, int K, spec_error *error)
{
    *ret = spec_training_head_shape((spec_head_kind)settings->head, target, K);
    spec_shape *s = &ret->shape;
    s->n_kv_heads = spec_training_settings_or(
        settings->kv_heads, settings->heads > 0 ? settings->heads : s->n_kv_heads);
    s->n_heads = spec_training_settings_or(settings->heads, s->n_heads);
    s->ffn_dim = spec_training_settings_or(settings->ffn, s->ffn_dim);
    if (s->n_kv_heads > 0 && s->n_heads % s->n_kv_heads != 0)
        return REFUSE(settings, "kv-heads: %d does not divide the number of heads, %d",
                      s->n_kv_heads, s->n_heads);
    if (settings->tap[2] > 0) memcpy(ret->tap, settings->tap, sizeof ret->tap);
    for (int i = 0; i < ret->n_taps; i++)
        if (ret->tap[i] > target->n_layers || ret->tap[i] < (i > 0 ? ret->tap[i - 1] + 1 : 0))
            return REFUSE(settings,
                          "taps: %d.%d.%d are not three ascending numbers of layers of the target, "
                          "0 to %d",
                          ret->tap[0], ret->tap[1], ret->tap[2], target->n_layers);
    return GSL_SUCCESS;
}

/* Checks that the initial head has the settings that were given, or the defaults. */
static int check_start_head(const spec_head_shape *start, const spec_training_settings *settings,
                            spec_error *error)
{
    if ((int)start->kind != settings->head)
        return REFUSE(settings, "draft: %.200s is a %s head, not %s", settings->draft,
                      spec_head_kind_names[start->kind], settings->method);
    if (settings->heads > 0 || settings->kv_heads > 0 || settings->ffn > 0 || settings->tap[2] > 0)
        return REFUSE(settings,
                      "draft: %.200s has its own shape; leave out heads, kv-heads, ffn and taps",
                      settings->draft);
    if (start->reach > 0 && settings->K > start->reach)
        return REFUSE(settings, "K: %.200s drafts at most %d token%s", settings->draft,
                      start->reach, start->reach == 1 ? "" : "s");
    return GSL_SUCCESS;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static spec_losses_kind default_loss(const spec_training_settings *settings)
{
    if (settings->loss >= 0) return (spec_losses_kind)settings->loss;
    if (settings->head >= 0 || is(settings, "layerskip")) return SPEC_LOSSES_FKL;
    return is(settings, "lm") ? SPEC_LOSSES_CE : SPEC_LOSSES_JSD;
}

static double default_rate(const spec_training_settings *settings)
{
    if (settings->rate > 0.0) return settings->rate;
    if (is(settings, "layerskip")) return 0.0005;
    return settings->draft != NULL ? 0.001 : settings->head >= 0 ? 0.002 : 0.003;
}

/* Fills the plan for a copy of the target with early exits. */
static int fill_exits(spec_training_plan *plan, const spec_training_settings *settings,
                      spec_error *error)
{
    const int exits = plan->opt_target->shape.n_layers - 1;
    if (exits < 1) return REFUSE(settings, "target: %s", "a model of one layer has no early exits");
    plan->opt_start = plan->opt_target;
    plan->shape.shape = plan->opt_target->shape;
    plan->bar = settings->bar >= 0.0 ? settings->bar : 0.1;
    plan->exits = (spec_training_exits_plan){
        .dropout = settings->dropout >= 0.0 ? settings->dropout : 0.1,
        .scale = settings->exit_scale > 0.0 ? settings->exit_scale : 0.2,
        .rotation = spec_training_settings_or(settings->rotate, exits < 4 ? exits : 4)};
    return GSL_SUCCESS;
}

/* Checks that loss, length, places and rate agree with each other and with the models. */
static int check_plan(const spec_training_plan *plan, const spec_training_settings *settings,
                      int context, spec_error *error)
{
    const int least = SPEC_TRAINING_PROMPT + plan->K + 1;
    if (plan->opt_target == NULL && plan->loss != SPEC_LOSSES_CE)
        return REFUSE(settings, "loss %s needs the rows of a target: use distill",
                      spec_losses_names[plan->loss]);
    if (plan->trained > plan->K)
        return REFUSE(settings, "ttt: %d steps exceed the draft length of %d", plan->trained,
                      plan->K);
    if (plan->places < least || plan->places > context)
        return REFUSE(settings, "window: %d is out of range: from %d to the context of %d",
                      plan->places, least, context);
    return GSL_SUCCESS;
}

int spec_training_settings_plan(spec_training_plan *ret_plan, spec_head_shape *ret_head,
                                const spec_training_settings *settings,
                                const spec_training_models *models, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_checkpoint *of = models->vocabulary_of;
    const bool is_head = settings->head >= 0;
    const spec_head_shape *start =
        models->opt_start_head != NULL ? &models->opt_start_head->shape : NULL;
    int K = spec_training_settings_or(settings->K, DEFAULT_K);
    if (start != NULL) {
        SPEC_TRY(check_start_head(start, settings, error));
        if (settings->K == 0 && start->reach > 0) K = start->reach;
    }
    *ret_plan = (spec_training_plan){
        .opt_target = is(settings, "lm") ? NULL : of,
        .opt_start = models->opt_start,
        .opt_start_head = models->opt_start_head,
        .loss = default_loss(settings),
        .texts = spec_training_settings_or(settings->batch, 8),
        .K = K,
        .trained =
            spec_training_settings_or(settings->ttt, settings->head == SPEC_HEAD_EAGLE ? 1 : K),
        .first = SPEC_TRAINING_PROMPT - (of->adds_begin ? 0 : 1),
        .schedule =
            settings->steps.n > 0 ? settings->steps : spec_training_schedule_of(DEFAULT_STEPS),
        .rate = default_rate(settings),
        .clip = settings->head >= SPEC_HEAD_EAGLE ? 0.5 : 1.0,
        .seed = settings->seed};
    if (is(settings, "layerskip")) {
        SPEC_TRY(fill_exits(ret_plan, settings, error));
    } else if (is_head) {
        ret_plan->opt_head = ret_head;
        if (start != NULL)
            *ret_head = *start;
        else
            SPEC_TRY(fill_head(ret_head, settings, &of->shape, K, error));
    } else {
        ret_plan->shape = model_shape(settings, &of->shape);
        SPEC_TRY(check_model(&ret_plan->shape.shape, settings, error));
    }
    const int context = is_head ? of->shape.context : ret_plan->shape.shape.context;
    ret_plan->places = spec_training_settings_or(
        settings->window, context < DEFAULT_WINDOW ? context : DEFAULT_WINDOW);
    SPEC_TRY(check_plan(ret_plan, settings, context, error));
done:
    return status;
}

static uint64_t hash(const void *data, size_t bytes)
{
    uint64_t sum = bytes;
    for (size_t i = 0; i < bytes; i++) sum = spec_noise_mix(sum ^ ((const unsigned char *)data)[i]);
    return sum;
}

void spec_training_settings_describe(char *text, size_t size, const spec_training *training,
                                     const spec_training_settings *settings)
{
    const spec_training_plan *plan = &training->plan;
    const bool is_head = plan->opt_head != NULL;
    const spec_shape *s =
        is_head ? &training->head.head.shape.shape : &training->model.checkpoint.shape;
    const int *tap = training->head.head.shape.tap;
    const spec_parameters *target = &training->target.parameters, *start = training->parameters;
    const spec_training_texts *learn = training->data.learn;
    char length[SPEC_TRAINING_SCHEDULE_TEXT];
    if (settings->minutes > 0.0)
        snprintf(length, sizeof length, "%.10g", settings->minutes);
    else
        spec_training_schedule_text(length, &plan->schedule);
    snprintf(text, size,
             "method=%s\nloss=%s\n%s=%s\nrate=%.10g\nbatch=%d\nwindow=%d\nseed=%llu\nK=%d\nttt=%d\n"
             "taps=%d.%d.%d\nbar=%.10g\ndropout=%.10g\nexit-scale=%.10g\nrotate=%d\n"
             "judge-texts=%d\nlayers=%d\ndim=%d\nheads=%d\nkv-heads=%d\nffn=%d\ntarget=%016llx\n"
             "draft=%016llx\ndata=%016llx\n",
             settings->method, spec_losses_names[plan->loss],
             settings->minutes > 0.0 ? "minutes" : "steps", length, plan->rate, plan->texts,
             plan->places, (unsigned long long)plan->seed, plan->K, plan->trained, tap[0], tap[1],
             tap[2], plan->bar, plan->exits.dropout, plan->exits.scale, plan->exits.rotation,
             plan->exits.rotation > 0 ? training->data.judged : 0, s->n_layers, s->dim, s->n_heads,
             s->n_kv_heads, s->ffn_dim,
             (unsigned long long)hash(target->value, target->numbers * sizeof *target->value),
             (unsigned long long)hash(start->value, start->numbers * sizeof *start->value),
             (unsigned long long)hash(learn->token, learn->n * sizeof *learn->token));
}
