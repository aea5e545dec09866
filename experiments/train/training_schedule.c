/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/train/training_schedule.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* The mean time of a step comes from this share of the limit: few plans, and little noise. */
#define LOOK_EVERY 0.05

spec_training_schedule spec_training_schedule_of(long steps)
{
    return (spec_training_schedule){.n = 1, .plan = {{steps, 0}}};
}

bool spec_training_schedule_is_valid(const spec_training_schedule *schedule)
{
    if (schedule->n < 1 || schedule->n > SPEC_TRAINING_SCHEDULE_MAX || schedule->plan[0].at != 0)
        return false;
    for (int i = 0; i < schedule->n; i++) {
        const long steps = schedule->plan[i].steps, at = schedule->plan[i].at;
        if (steps < 1 || steps < at || steps > INT_MAX) return false;
        if (i > 0 && (at <= schedule->plan[i - 1].at || at >= schedule->plan[i - 1].steps))
            return false;
    }
    return true;
}

int spec_training_schedule_read(spec_training_schedule *ret, const char *text)
{
    *ret = (spec_training_schedule){0};
    for (char *end = NULL; end == NULL || *end == ','; text = end + 1) {
        if (ret->n == SPEC_TRAINING_SCHEDULE_MAX || !isdigit((unsigned char)*text))
            return GSL_EINVAL;
        ret->plan[ret->n].steps = strtol(text, &end, 10);
        if (ret->n > 0 && (*end != '@' || !isdigit((unsigned char)end[1]))) return GSL_EINVAL;
        ret->plan[ret->n].at = ret->n > 0 ? strtol(end + 1, &end, 10) : 0;
        ret->n++;
        if (*end != ',' && *end != '\0') return GSL_EINVAL;
    }
    return spec_training_schedule_is_valid(ret) ? GSL_SUCCESS : GSL_EINVAL;
}

const char *spec_training_schedule_text(char text[SPEC_TRAINING_SCHEDULE_TEXT],
                                        const spec_training_schedule *schedule)
{
    size_t used = 0;
    for (int i = 0; i < schedule->n; i++)
        used += (size_t)snprintf(text + used, SPEC_TRAINING_SCHEDULE_TEXT - used,
                                 i == 0 ? "%ld" : ",%ld@%ld", schedule->plan[i].steps,
                                 schedule->plan[i].at);
    return text;
}

long spec_training_schedule_steps(const spec_training_schedule *schedule, long step)
{
    long i = schedule->n - 1;
    while (schedule->plan[i].at > step) i--;
    return schedule->plan[i].steps;
}

/* In each part the remaining share is divided evenly among the steps that are then planned. */
double spec_training_schedule_done(const spec_training_schedule *schedule, long step)
{
    double done = 0.0;
    for (int i = 0; i < schedule->n && schedule->plan[i].at < step; i++) {
        const long at = schedule->plan[i].at, steps = schedule->plan[i].steps;
        const bool is_last = i + 1 == schedule->n || schedule->plan[i + 1].at > step;
        const long end = is_last ? step : schedule->plan[i + 1].at;
        done += (1.0 - done) * (double)(end - at) / (double)(steps - at);
    }
    return done;
}

/* ---- a limit of time ------------------------------------------------------------------------- */

/* Seconds left for steps, after `done` of the training; rows of the curve need theirs. */
static double seconds_left(const spec_training_limit *limit, double done)
{
    const double rows = limit->rows - floor(done * limit->rows);
    return limit->begun + limit->seconds - spec_clock_read(&limit->clock) - rows * limit->row;
}

static long whole(double steps)
{
    return (long)fmin(fmax(steps, 0.0), INT_MAX);
}

void spec_training_schedule_plan(spec_training_schedule *schedule, const spec_training_limit *limit,
                                 double step_seconds)
{
    const long steps = whole(seconds_left(limit, 0.0) / step_seconds);
    *schedule = spec_training_schedule_of(steps > 1 ? steps : 1);
}

void spec_training_schedule_follow(spec_training_schedule *schedule, spec_training_limit *limit,
                                   long step, double seconds)
{
    const long steps = spec_training_schedule_steps(schedule, step);
    limit->took += seconds;
    limit->n++;
    if (limit->seconds == 0.0 || step >= steps) return;
    const double left = seconds_left(limit, spec_training_schedule_done(schedule, step)),
                 each = limit->took / (double)limit->n,
                 off = fabs(each * (double)(steps - step) - left);
    const bool is_over = left <= 0.0;
    if (!is_over && limit->took < LOOK_EVERY * limit->seconds) return;
    limit->took = 0.0;
    limit->n = 0;
    if (!is_over && off < SPEC_TRAINING_SCHEDULE_OFF * limit->seconds) return;
    const long last = SPEC_TRAINING_SCHEDULE_MAX - 1; /* kept for the end */
    if (schedule->n > last || (schedule->n == last && !is_over)) return;
    schedule->plan[schedule->n].at = step;
    schedule->plan[schedule->n++].steps = is_over ? step : whole((double)step + left / each);
}
