/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/engine_windows.h"

#include <math.h>
#include <string.h>

static const double INTERVAL = 10.0;  /* s between lines, by default */
static const double HALF_UNIT = 0.05; /* half a unit of a printed throughput */

/* The tokens of two lines may differ by these shares. SKEW: they are printed at slightly different
 * times. FIRST_TOKENS: first tokens come from prefills, so only the throughput counts them; they
 * explain a difference only if every round has a full draft, because with n-gram drafts some passes
 * have none. CARRIED: a line of speculation that has this share of tokens more than its window also
 * covers earlier intervals. */
static const double SKEW = 0.03, FIRST_TOKENS = 0.10, CARRIED = 0.25;

/* If outputs have only a few rounds, the ends of requests trim at most this share of the tokens
 * counted. */
static const double TRIMMED = 0.25;

/* Returns how far two times between lines may differ and still count as equal; stamps are whole
 * seconds. */
static double slack(double seconds)
{
    return fmax(1.0, 0.1 * seconds);
}

uint64_t spec_engine_windows_label(const spec_engine_windows *windows,
                                   const spec_engine_origin *origin)
{
    if (!windows->mingled || origin->process == 0) return origin->engine;
    for (int i = 0; i < windows->n; i++) {
        const spec_engine_origin *first = &windows->engine[i].last.line.origin;
        if (first->engine != origin->engine || first->process == 0) continue;
        if (first->process == origin->process) return origin->engine;
        break;
    }
    return (origin->engine ^ origin->process * 0x9e3779b97f4a7c15) | 1;
}

/* Returns whether another process with the same engine number has printed since the last line of
 * this one. */
static bool mingles(const spec_engine_windows *windows, const spec_engine_lines *engine)
{
    const spec_engine_origin *own = &engine->last.line.origin;
    for (int i = 0; i < windows->n; i++) {
        const spec_engine_origin *other = &windows->engine[i].last.line.origin;
        if (other->engine == own->engine && other->process != own->process && other->process != 0 &&
            own->process != 0 && windows->engine[i].turn > engine->turn)
            return true;
    }
    return false;
}

/* ---- Windows of plain decoding --------------------------------------------------------------- */

/* Returns whether a window without a line of speculation is plain decoding. If an engine
 * speculates, all tokens of a window with prompts may be first tokens, which need no draft. */
static bool is_plain(const spec_engine_windows *windows, const spec_engine_line *line)
{
    if (!windows->speculates) return true;
    return line->prompt == 0.0 && !line->missing_allowed;
}

static int hand_over(const spec_engine_windows *windows, const spec_engine_window *window,
                     const spec_observer *observer, spec_error *error)
{
    if (!is_plain(windows, &window->line)) return GSL_SUCCESS;
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_WINDOW, window->line.line);
    o.label = spec_engine_windows_label(windows, &window->line.origin);
    spec_observation_decode_plainly(&o, fmax(round(window->line.generated * window->seconds), 1.0));
    o.seconds = window->seconds;
    o.running = window->running;
    return observer->take(observer->self, &o, error);
}

/* Hands over the windows of an engine, except the newest `keep`. */
static int settle(const spec_engine_windows *windows, spec_engine_lines *engine, int keep,
                  const spec_observer *observer, spec_error *error)
{
    int status = GSL_SUCCESS, done = 0;
    for (; done < engine->n - keep; done++)
        SPEC_TRY(hand_over(windows, &engine->held[done], observer, error));
done:
    engine->n -= done;
    memmove(engine->held, engine->held + done, (size_t)engine->n * sizeof *engine->held);
    return status;
}

/* Holds the last line of an engine, because no line of speculation follows it. */
static int hold(const spec_engine_windows *windows, spec_engine_lines *engine,
                const spec_observer *observer, spec_error *error)
{
    if (!engine->waits) return GSL_SUCCESS;
    engine->waits = false;
    if (!(engine->last.line.generated > 0.0)) return GSL_SUCCESS;
    const int status = settle(windows, engine, SPEC_ENGINE_WINDOWS_HELD - 1, observer, error);
    if (status == GSL_SUCCESS) engine->held[engine->n++] = engine->last;
    return status;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Finds the engine of a line by its origin, or adds one. If there is no room, the new engine
 * replaces the one that has been silent for longest. */
static int engine_of(spec_engine_lines **ret_engine, bool *ret_new, spec_engine_windows *windows,
                     const spec_engine_line *line, const spec_observer *observer, spec_error *error)
{
    spec_engine_lines *oldest = windows->engine;
    for (spec_engine_lines *e = windows->engine; e < windows->engine + windows->n; e++) {
        const spec_engine_origin *origin = &e->last.line.origin;
        *ret_engine = e;
        if (origin->engine == line->origin.engine && origin->process == line->origin.process)
            return GSL_SUCCESS;
        if (e->turn < oldest->turn) oldest = e;
    }
    *ret_new = true;
    if (windows->n < SPEC_ENGINE_WINDOWS) {
        oldest = &windows->engine[windows->n++];
    } else {
        SPEC_PASS(hold(windows, oldest, observer, error));
        SPEC_PASS(settle(windows, oldest, 0, observer, error));
    }
    oldest->gap = 0.0;
    *ret_engine = oldest;
    return GSL_SUCCESS;
}

/* Returns the seconds that a line covers. This is less than the time since the previous line if
 * some intervals in between were silent. */
static double covered(spec_engine_windows *windows, spec_engine_lines *engine, double gap)
{
    const double before = engine->gap;
    const double usual = windows->interval > 0.0 ? windows->interval : INTERVAL;
    if (!(gap > 0.0)) return usual;
    engine->gap = gap;
    if (before > 0.0 && fabs(gap - before) <= slack(gap))
        windows->interval = gap;
    else if (gap > usual + slack(usual))
        return usual;
    return gap;
}

int spec_engine_windows_add(spec_engine_windows *windows, const spec_engine_line *line,
                            const spec_observer *observer, spec_error *error)
{
    bool is_new = false;
    spec_engine_lines *engine;
    SPEC_PASS(engine_of(&engine, &is_new, windows, line, observer, error));
    if (!is_new && mingles(windows, engine)) windows->mingled = true;
    SPEC_PASS(hold(windows, engine, observer, error));
    const spec_engine_line before = engine->last.line;
    spec_engine_window w = {.line = *line, .running = NAN};
    w.seconds = covered(windows, engine, is_new ? NAN : line->stamp - before.stamp);
    /* If the first line has prompts, it may cover the time before the first request. */
    if (line->running > 0.0 && is_new && line->prompt == 0.0) w.running = line->running;
    if (line->running > 0.0 && !is_new && before.running > 0.0)
        w.running = (before.running + line->running) / 2.0;
    engine->last = w;
    engine->waits = true;
    engine->turn = ++windows->turn;
    return GSL_SUCCESS;
}

/* Returns the engine whose line of throughput directly precedes a line of speculation; NULL:
 * none. */
static spec_engine_lines *last_engine(spec_engine_windows *windows,
                                      const spec_engine_origin *origin)
{
    spec_engine_lines *found = NULL;
    for (spec_engine_lines *e = windows->engine; e < windows->engine + windows->n; e++) {
        const spec_engine_origin *last = &e->last.line.origin;
        const bool other =
            last->process != origin->process && last->process != 0 && origin->process != 0;
        if (!e->waits || other) continue;
        if (origin->engine != 0 && last->engine != origin->engine) continue;
        if (found == NULL || e->turn > found->turn) found = e;
    }
    return found;
}

/* Returns the tokens that a line of speculation accounts for: the accepted ones, plus one per
 * round. */
static double accounted(const spec_observation *o)
{
    const double rounds = isnan(o->rounds) ? o->drafted / (o->K > 0 ? o->K : 1) : o->rounds;
    return o->accepted + rounds;
}

/* Sets the output tokens of the window from the engine's throughput, and the passes that made them.
 * If requests end within a round, counters have more tokens than the output. */
static void join_tokens(spec_observation *o, double generated)
{
    const double tokens = generated * o->seconds, counted = accounted(o), excess = tokens - counted;
    const double least = HALF_UNIT * o->seconds + SKEW * tokens + 1.0;
    const bool full = o->K > 0 && o->drafted == o->K * o->rounds;
    if (excess < -least - TRIMMED * counted) return;
    o->emitted = round(tokens);
    if (isnan(o->rounds)) return;
    const bool rounds_alone =
        excess <= (full && o->rounds > 0.0 ? fmax(least, FIRST_TOKENS * tokens) : least);
    o->passes = rounds_alone ? o->rounds : o->emitted - o->accepted;
}

int spec_engine_windows_join(spec_engine_windows *windows, spec_observation *observation,
                             double elapsed, const spec_engine_origin *origin,
                             const spec_observer *observer, spec_error *error)
{
    spec_observation *o = observation;
    spec_engine_lines *engine = last_engine(windows, origin);
    windows->speculates = true;
    o->label = spec_engine_windows_label(windows, origin);
    if (o->kind == SPEC_OBSERVED_WINDOW) o->seconds = elapsed;
    if (engine == NULL) return GSL_SUCCESS;
    spec_engine_window *w = &engine->last;
    engine->waits = false;
    o->label = spec_engine_windows_label(windows, &w->line.origin);
    o->running = w->running;
    if (o->kind == SPEC_OBSERVED_TOTAL) {
        engine->n = 0;
        return GSL_SUCCESS;
    }
    if (isnan(w->line.stamp)) w->seconds = covered(windows, engine, elapsed);
    /* Early V1 prints no line of speculation if the last step had no draft; the next line then
     * includes those counts. Later versions omit silent intervals, but count their time. */
    const double most = (w->line.generated + HALF_UNIT) * w->seconds * (1.0 + CARRIED) + 1.0;
    if (accounted(o) > most) {
        engine->n = 0;
        o->running = NAN;
        return GSL_SUCCESS;
    }
    if (isnan(elapsed) || elapsed > (1.0 + CARRIED) * w->seconds + 1.0) o->seconds = w->seconds;
    join_tokens(o, w->line.generated);
    return settle(windows, engine, 0, observer, error);
}

int spec_engine_windows_end(spec_engine_windows *windows, const spec_observer *observer,
                            spec_error *error)
{
    for (spec_engine_lines *e = windows->engine; e < windows->engine + windows->n; e++) {
        /* The last line's own line of speculation may not have been written yet. */
        if (!windows->speculates) SPEC_PASS(hold(windows, e, observer, error));
        SPEC_PASS(settle(windows, e, 0, observer, error));
    }
    return GSL_SUCCESS;
}
