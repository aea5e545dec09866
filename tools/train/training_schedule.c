/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/train/training_schedule.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* A step's time is averaged over this share of the limit, so that there is little noise and few new
 * plans. */
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
        if (i > 0 && (at <= schedule->plan[i - 1].at || at > schedule->plan[i - 1].steps))
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

/* Within each plan, the remaining share is divided evenly among its steps. The last step of a plan
 * that was extended just as it ended must not complete the share, so that plan counts as one step
 * longer. */
double spec_training_schedule_done(const spec_training_schedule *schedule, long step)
{
    double done = 0.0;
    for (int i = 0; i < schedule->n && schedule->plan[i].at < step; i++) {
        const long at = schedule->plan[i].at, steps = schedule->plan[i].steps;
        const bool is_last = i + 1 == schedule->n || schedule->plan[i + 1].at > step;
        const long end = is_last ? step : schedule->plan[i + 1].at;
        const bool goes_on = !is_last && end == steps;
        done += (1.0 - done) * (double)(end - at) / (double)(steps - at + goes_on);
    }
    return done;
}

/* ---- a limit of time ------------------------------------------------------------------------- */

/* Returns how many rows of the curve are still to come; the last one is at the end. */
static double rows_after(const spec_training_limit *limit, double done)
{
    return fmax(limit->rows - floor(done * limit->rows), 1.0);
}

/* Returns the seconds of n more steps; each has at most one row. */
static double seconds_of(const spec_training_limit *limit, double rows, double each, double n)
{
    return n * each + fmin(n, rows) * limit->row;
}

/* Returns how many more steps fit into `left` seconds. */
static double steps_in(const spec_training_limit *limit, double rows, double each, double left)
{
    const double few = left / (each + limit->row);
    return few <= rows ? few : (left - rows * limit->row) / each;
}

void spec_training_schedule_follow(spec_training_schedule *schedule, spec_training_limit *limit,
                                   long step, double seconds)
{
    const long more = spec_training_schedule_steps(schedule, step) - step;
    limit->took += seconds;
    limit->n++;
    if (limit->seconds == 0.0) return;
    const double left = limit->begun + limit->seconds - spec_clock_read(&limit->clock),
                 rows = rows_after(limit, spec_training_schedule_done(schedule, step)),
                 each = limit->took / (double)limit->n, fit = steps_in(limit, rows, each, left),
                 off = fabs(seconds_of(limit, rows, each, (double)more) - left);
    const bool is_first = step == 1, ends = more == 0, is_over = left <= limit->row;
    const long steps = step + (is_over ? 0 : (long)fmin(fit, (double)(INT_MAX - step)));
    if (!is_first && !ends && !is_over && limit->took < LOOK_EVERY * limit->seconds) return;
    limit->took = 0.0;
    limit->n = 0;
    if (is_first) {
        *schedule = spec_training_schedule_of(steps);
        return;
    }
    if (!is_over && off < SPEC_TRAINING_SCHEDULE_OFF * limit->seconds) return;
    if (steps == step + more) return;
    const long last = SPEC_TRAINING_SCHEDULE_MAX - 1; /* kept for the end */
    if (schedule->n > last || (schedule->n == last && !is_over)) return;
    schedule->plan[schedule->n].at = step;
    schedule->plan[schedule->n++].steps = steps;
}
