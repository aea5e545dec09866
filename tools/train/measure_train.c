/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/stop_flag.h"
#include "experiments/measures/measures.h"

#include "tools/train/training_score.h"
#include "tools/train/training_setup.h"
#include "tools/train/training_speed.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { K_MAX = 5, COLUMN = 24 };

/* ---- settings -------------------------------------------------------------------------------- */

static const char *given(const spec_point *point, const spec_measure *measure, const char *name)
{
    const char *text = spec_point_text(point, measure, name);
    return text != NULL && text[0] != '\0' ? text : NULL;
}

static int read_numbers(spec_training_settings *s, const spec_point *point,
                        const spec_measure *measure, spec_error *error)
{
    const struct {
        const char *name;
        int *number, high;
    } numbers[] = {
        {"K", &s->K, K_MAX},
        {"ttt", &s->ttt, K_MAX},
        {"layers", &s->layers, SPEC_LAYERS_MAX},
        {"dim", &s->dim, SPEC_DIM_MAX},
        {"heads", &s->heads, SPEC_DIM_MAX},
        {"kv_heads", &s->kv_heads, SPEC_DIM_MAX},
        {"ffn", &s->ffn, SPEC_DIM_MAX},
        {"batch", &s->batch, 4096},
        {"window", &s->window, SPEC_CONTEXT_MAX},
        {"own_texts", &s->own_texts, INT_MAX},
        {"judge_texts", &s->judge_texts, 1 << 20},
    };
    int status = GSL_SUCCESS, steps, seed;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        SPEC_TRY(spec_point_int(numbers[i].number, point, measure, numbers[i].name, 0,
                                numbers[i].high, error));
    SPEC_TRY(spec_point_int(&steps, point, measure, "steps", 1, INT_MAX, error));
    SPEC_TRY(spec_point_int(&seed, point, measure, "training_seed", 0, INT_MAX, error));
    SPEC_TRY(spec_point_double(&s->rate, point, measure, "rate", 0.0, 1.0, error));
    s->steps = spec_training_schedule_of(steps);
    s->seed = (uint64_t)seed;
done:
    return status;
}

static int read_settings(spec_training_settings *ret, const spec_point *point,
                         const spec_measure *measure, spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret = SPEC_TRAINING_SETTINGS_DEFAULT;
    ret->method = given(point, measure, "method");
    ret->target = given(point, measure, "target");
    ret->data = given(point, measure, "data");
    ret->draft = given(point, measure, "start");
    SPEC_TRY(read_numbers(ret, point, measure, error));
    const char *loss = given(point, measure, "loss");
    for (int i = 0; loss != NULL && i < SPEC_LOSSES_KINDS; i++)
        if (strcmp(loss, spec_losses_names[i]) == 0) ret->loss = i;
    if (loss != NULL && ret->loss < 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "loss: '%.60s' is not ce, fkl, rkl, jsd, tv, nla or lk", loss));
    SPEC_TRY(spec_training_settings_check(ret, error));
    if (strcmp(ret->method, "lm") == 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "method: lm trains no draft, so there is no "
                           "acceptance to measure"));
    if (strcmp(ret->method, "layerskip") == 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "method: layerskip trains no draft apart from its target; use speclab "
                           "train"));
done:
    return status;
}

/* ---- the result ------------------------------------------------------------------------------ */

static void number(spec_table *table, const char *format, int temperature, double value)
{
    char name[COLUMN];
    snprintf(name, sizeof name, format, temperature);
    spec_table_number(table, name, value);
}

/* Returns the speed-up at the best draft length if time is proportional to the weights that are
 * read, so that passes of any width take the same time. */
static double most_speedup(const spec_training_plan *plan, const spec_exact_walk *walk)
{
    spec_training_speed speed = {.K = plan->K};
    int best;
    for (int k = 0; k <= plan->K; k++) {
        speed.pass[k + 1] = 1.0;
        speed.draft[k] = spec_training_speed_of_draft(plan, k);
    }
    return spec_training_speed_best(&best, &speed, walk);
}

static void fill(spec_table *table, const spec_training *training, const spec_training_score *score)
{
    const int K = training->plan.K;
    spec_table_number(table, "c", spec_training_speed_of_draft(&training->plan, K) / K);
    spec_table_number(table, "bits_per_token", score->bits);
    for (int i = 0; i < 2; i++) {
        const spec_exact_walk *walk = &score->walk[i];
        for (int d = 1; d <= K; d++) {
            char format[COLUMN];
            snprintf(format, sizeof format, "alpha_%d_T%%d", d);
            number(table, format, i, spec_exact_walk_alpha(walk, d));
        }
        number(table, "tokens_T%d", i, spec_exact_walk_tokens_per_round(walk, K));
        number(table, "tree8_T%d", i, score->tree[i][0]);
        number(table, "tree60_T%d", i, score->tree[i][1]);
        number(table, "speedup_T%d", i, most_speedup(&training->plan, walk));
    }
}

static int train(spec_training *training, const spec_point *point, spec_error *error)
{
    int status = GSL_SUCCESS;
    const long steps = spec_training_steps(training);
    while (training->step < steps) {
        double loss;
        SPEC_PASS(spec_stop_check(point->stop, error));
        SPEC_TRY(spec_training_step(training, &loss, error));
        spec_listener_tell(point->opt_listener, (double)training->step / (double)steps);
    }
done:
    return status;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_training_settings settings;
    spec_training_score score;
    spec_training_setup *setup = calloc(1, sizeof *setup);
    if (setup == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(read_settings(&settings, point, measure, error));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(spec_point_opened(point)); /* each point opens and trains its own models */
    SPEC_TRY(spec_training_setup_init(setup, &settings, point->opt_context, error));
    SPEC_TRY(train(&setup->training, point, error));
    SPEC_TRY(spec_training_score_judge(&score, &setup->training, error));
    fill(table, &setup->training, &score);
done:
    spec_training_setup_free(setup);
    free(setup);
    return status;
}

static const char *const parameters[] = {"method",
                                         "target",
                                         "data=own",
                                         "start=",
                                         "loss=",
                                         "K=5",
                                         "ttt=0",
                                         "layers=0",
                                         "dim=0",
                                         "heads=0",
                                         "kv_heads=0",
                                         "ffn=0",
                                         "batch=8",
                                         "window=256",
                                         "steps=600",
                                         "rate=0",
                                         "own_texts=1536",
                                         "judge_texts=64",
                                         "training_seed=42",
                                         NULL};
static const char *const columns[] = {
    "c",          "bits_per_token", "alpha_1_T1", "alpha_2_T1", "alpha_3_T1", "alpha_4_T1",
    "alpha_5_T1", "tokens_T1",      "tree8_T1",   "tree60_T1",  "speedup_T1", "alpha_1_T0",
    "alpha_2_T0", "alpha_3_T0",     "alpha_4_T0", "alpha_5_T0", "tokens_T0",  "tree8_T0",
    "tree60_T0",  "speedup_T0",     NULL};
static const spec_headline headlines[] = {
    {.column = "tokens_T1", .unit = "tokens per round"},
    {.column = "tokens_T0", .unit = "tokens per round"},
    {.column = "c"},
    {0},
};

const spec_measure spec_measure_train = {
    .name = "train",
    .summary = "training of a draft or a draft head: acceptance by depth, tokens per round of "
               "chains and static trees",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .run = run,
};
