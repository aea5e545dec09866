/* SPDX-License-Identifier: GPL-3.0-or-later */
/* training_schedule: how many steps a training has, even if a time limit changes that on the way.
 * As text it is "1000", or "1000,760@520": 1000 steps were planned, and from step 520 on 760. The
 * share that is done grows from 0 to 1 without jumps and depends only on the schedule, so the text
 * can repeat a training planned by a clock. */
#ifndef SPECLAB_TRAINING_SCHEDULE_H
#define SPECLAB_TRAINING_SCHEDULE_H

#include "base/clock.h"
#include "speclab/status.h"

#include <stdbool.h>

enum { SPEC_TRAINING_SCHEDULE_MAX = 64, SPEC_TRAINING_SCHEDULE_TEXT = 2048 };

typedef struct {
    long n; /* 0: none */
    struct {
        /* total number of steps, as planned from step `at` on; `at` ascends from 0 */
        long steps, at;
    } plan[SPEC_TRAINING_SCHEDULE_MAX];
} spec_training_schedule;

spec_training_schedule spec_training_schedule_of(long steps);

/* Returns whether each plan is made before the previous one has ended, or just as it ends. */
bool spec_training_schedule_is_valid(const spec_training_schedule *schedule);

/* Reads a schedule. Returns GSL_EINVAL, without a message, for a text that is not a valid one. */
int spec_training_schedule_read(spec_training_schedule *ret, const char *text);
const char *spec_training_schedule_text(char text[SPEC_TRAINING_SCHEDULE_TEXT],
                                        const spec_training_schedule *schedule);

/* Return how many steps are planned once `step` of them are done, and which share, 0..1, is
 * done. */
long spec_training_schedule_steps(const spec_training_schedule *schedule, long step);
double spec_training_schedule_done(const spec_training_schedule *schedule, long step);

/* A time limit, by the wall clock, and the measurements needed to keep to it. */
typedef struct {
    spec_clock clock;
    double begun, seconds; /* the limit is begun + seconds; seconds 0: none */
    int rows;              /* total rows of a curve, the last one at the end ... */
    double row;            /* ... and the seconds that the last one took */
    double took;           /* seconds of the last n steps */
    long n;
} spec_training_limit;

/* Called after step number `step`, which took `seconds`: plans as many steps as fit. The first step
 * makes the plan, because its own rate does not depend on it. Later ones plan again if the training
 * would miss the limit by SPEC_TRAINING_SCHEDULE_OFF of it; at the end of the plan, training also
 * continues if another step still fits. */
#define SPEC_TRAINING_SCHEDULE_OFF 0.02
void spec_training_schedule_follow(spec_training_schedule *schedule, spec_training_limit *limit,
                                   long step, double seconds);

#endif
