/* SPDX-License-Identifier: GPL-3.0-or-later */
/* training_settings: the settings of a training as users give them, and the plan they stand for.
 * A setting that is 0 or NULL was not given and has its default. Texts are borrowed. */
#ifndef SPECLAB_TRAINING_SETTINGS_H
#define SPECLAB_TRAINING_SETTINGS_H

#include "tools/train/training.h"

/* Length of the prompt of a sampled held-out text, in tokens; the prompt comes from another
 * text. */
enum { SPEC_TRAINING_PROMPT = 32 };

typedef struct {
    const char *dashes; /* put before the names of settings in error lines: "--" or "" */
    const char *method; /* "lm", "distill", "layerskip" or a name of spec_head_kind_names */
    int head;           /* its spec_head_kind, or -1 */
    const char *target; /* the spec of a transformer; for lm the one whose vocabulary is used */
    const char *data;   /* a text file; "own", "draft": texts sampled from target or draft */
    const char *draft;  /* the spec of the initial model, or the file of the initial head */
    int layers, dim, heads, kv_heads, ffn; /* sizes of a new model or head */
    int K;                                 /* longest draft */
    int ttt, tap[SPEC_HEAD_TAPS_MAX];
    int batch, window, own_texts, judge_texts;
    int loss; /* a spec_losses_kind; -1: not given */
    spec_training_schedule steps;
    double minutes, rate;
    double bar, dropout; /* for layerskip; -1: not given */
    double exit_scale;
    int rotate;
    uint64_t seed;
} spec_training_settings;

#define SPEC_TRAINING_SETTINGS_DEFAULT                                                             \
    ((spec_training_settings){                                                                     \
        .dashes = "", .head = -1, .loss = -1, .bar = -1.0, .dropout = -1.0, .seed = 42})

/* Returns the value, or the default if it is 0. */
int spec_training_settings_or(int given, int otherwise);

/* Reads `tap` from a text such as "1.3.5". Returns GSL_EINVAL for another text. */
int spec_training_settings_taps(spec_training_settings *settings, const char *text,
                                spec_error *error);

/* Finds the method and sets `head`. Returns GSL_EINVAL for an unknown method, for settings that the
 * method does not have, and if its target or its texts are missing. */
int spec_training_settings_check(spec_training_settings *settings, spec_error *error);

/* Models of the settings, borrowed. */
typedef struct {
    const spec_checkpoint *vocabulary_of; /* the target, or for lm the bytes */
    const spec_checkpoint *opt_start;
    const spec_head *opt_start_head;
} spec_training_models;

/* Makes the plan; with a head, its shape is in *ret_head, which must outlive the plan. Returns
 * GSL_EINVAL, naming the wrong setting. */
int spec_training_settings_plan(spec_training_plan *ret_plan, spec_head_shape *ret_head,
                                const spec_training_settings *settings,
                                const spec_training_models *models, spec_error *error);

/* Writes everything that the trained weights depend on, as lines of a training_state. */
void spec_training_settings_describe(char *text, size_t size, const spec_training *training,
                                     const spec_training_settings *settings);

#endif
