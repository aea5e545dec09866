/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"
#include "speclab/no_memory.h"

#include "base/settings.h"
#include "sim/chance/rng.h"
#include "tools/advise/advised_logs.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTHS = 16, LOGS_MAX = 10000, TEXT = 400 };
static const double OUTPUT = 400.0, WINDOW = 10.0; /* tokens of a response, seconds of a window */
static const double CLOSE = 0.98;                  /* share of the fastest speed */

/* A published sweep: draft lengths from..from + n - 1 of one engine under one load. */
typedef struct {
    spec_counted_log log;
    int from, n, batch, count;
    double plain;           /* tokens per second of a request; 0: not published */
    double speed[LENGTHS];  /* the same at each length */
    double tokens[LENGTHS]; /* per round */
    double rates[LENGTHS];  /* [j]: share of rounds that accept depth j + 1, up to one factor */
    const spec_point *point;
} sweep;

/* ---- the log of a length --------------------------------------------------------------------- */

/* Fills in the probability that a round of K tokens accepts k of them. The published shares by
 * depth come from one length, often the longest; we scale them by one factor so that their sum is
 * right for this length. */
static void law_of(double p[LENGTHS + 1], const sweep *s, int K)
{
    double sum = 0.0, survival[LENGTHS + 1] = {1.0};
    for (int j = 1; j <= K; j++) sum += s->rates[j - 1];
    for (int j = 1; j <= K; j++) {
        const double rate = s->rates[j - 1] * (s->tokens[K - s->from] - 1.0) / sum;
        survival[j] = fmin(rate, survival[j - 1]);
    }
    for (int k = 0; k <= K; k++) p[k] = survival[k] - (k < K ? survival[k + 1] : 0.0);
}

/* Draws the counters of a window or a response with this many rounds, all of which take `step`
 * seconds. */
static spec_engine_counters draw(const sweep *s, int K, const double *p, int rounds, double step,
                                 gsl_rng *rng)
{
    unsigned n[LENGTHS + 1];
    spec_engine_counters c = {.rounds = (uint64_t)rounds, .drafted = (uint64_t)(K * rounds)};
    gsl_ran_multinomial(rng, (size_t)K + 1, (unsigned)rounds, p, n);
    for (int k = 0; k <= K; k++) {
        c.n_accepted[k] = n[k];
        c.accepted += (uint64_t)k * n[k];
    }
    c.emitted = c.rounds + c.accepted;
    c.seconds = step * rounds / s->batch;
    return c;
}

/* Writes a log. A step serves the whole batch. */
static int write_log(spec_advised_logs *logs, const sweep *s, int K, gsl_rng *rng,
                     spec_error *error)
{
    double p[LENGTHS + 1] = {1.0};
    const double tokens = K > 0 ? s->tokens[K - s->from] : 1.0;
    const double step = tokens / (K > 0 ? s->speed[K - s->from] : s->plain);
    const spec_counted_engine engine = {.K = K, .batch = s->batch};
    const int steps = s->log == SPEC_COUNTED_VLLM     ? (int)(WINDOW / step)
                      : s->log == SPEC_COUNTED_SGLANG ? SPEC_COUNTED_LOG_STEPS
                                                      : (int)(OUTPUT / tokens);
    const bool request = s->log == SPEC_COUNTED_LLAMACPP;
    FILE *out = spec_advised_logs_add(logs, K == 0, error);
    spec_engine_counters *c = malloc((size_t)s->count * sizeof *c);
    if (out == NULL || c == NULL) {
        free(c);
        return out == NULL ? GSL_EFAILED : spec_no_memory(error);
    }
    if (K > 0) law_of(p, s, K);
    for (int i = 0; i < s->count; i++) {
        c[i] = draw(s, K, p, request ? steps : steps * s->batch, step, rng);
        if (request) c[i].seconds *= s->batch;
    }
    spec_counted_log_write(out, s->log, &engine, c, s->count);
    free(c);
    return GSL_SUCCESS;
}

/* ---- what advise makes of it ----------------------------------------------------------------- */

/* Finds the length that the advice names after runs at K and, unless it is 0, at `other`. */
static int next_of(int *ret, const sweep *s, int K, int other, spec_error *error)
{
    spec_advised_logs logs = {0};
    spec_advised advised = {.K = -1};
    gsl_rng *rng = spec_rng_alloc();
    int status = GSL_SUCCESS;
    if (rng == NULL) SPEC_TRY(spec_no_memory(error));
    spec_rng_stream(rng, s->point->seed, (uint64_t)(K * (LENGTHS + 1) + other));
    SPEC_TRY(write_log(&logs, s, K, rng, error));
    if (other > 0) SPEC_TRY(write_log(&logs, s, other, rng, error));
    if (s->plain > 0.0) SPEC_TRY(write_log(&logs, s, 0, rng, error));
    SPEC_TRY(spec_advised_ask(&advised, &logs, s->log == SPEC_COUNTED_LLAMACPP ? K : -1,
                              s->point->seed, error));
    *ret = advised.K;
done:
    spec_advised_free(&advised);
    spec_advised_logs_free(&logs);
    if (rng != NULL) gsl_rng_free(rng);
    return status;
}

static int fastest(const sweep *s)
{
    int best = s->plain > 0.0 ? 0 : s->from;
    double most = s->plain;
    for (int i = 0; i < s->n; i++) {
        if (s->speed[i] <= most) continue;
        most = s->speed[i];
        best = s->from + i;
    }
    return best;
}

typedef struct {
    /* close: the published speed of the named length is within 2 % of the fastest */
    int n, near, close;
    char far[TEXT];     /* "1: 4, 2: 5", the lengths that the advice names instead */
} outcome;

static double speed_of(const sweep *s, int K)
{
    if (K == 0) return s->plain;
    return K >= s->from && K < s->from + s->n ? s->speed[K - s->from] : 0.0;
}

static void add(outcome *o, const sweep *s, int next, int best, int K, int other)
{
    const size_t used = strlen(o->far);
    char from[32];
    o->n++;
    o->close += speed_of(s, next) >= CLOSE * speed_of(s, best);
    if (next >= 0 && abs(next - best) <= 1) {
        o->near++;
        return;
    }
    if (other > 0)
        snprintf(from, sizeof from, "%d+%d", K, other);
    else
        snprintf(from, sizeof from, "%d", K);
    snprintf(o->far + used, TEXT - used, "%s%s: %d", used > 0 ? ", " : "", from, next);
}

static int run_sweep(spec_table *table, const sweep *s, spec_error *error)
{
    outcome one = {0}, two = {0};
    const int best = fastest(s);
    int status = GSL_SUCCESS, next;
    for (int K = s->from; K < s->from + s->n; K++) {
        SPEC_TRY(next_of(&next, s, K, 0, error));
        add(&one, s, next, best, K, 0);
        for (int other = K + 1; other < s->from + s->n && s->log != SPEC_COUNTED_LLAMACPP;
             other++) {
            SPEC_TRY(next_of(&next, s, K, other, error));
            add(&two, s, next, best, K, other);
        }
    }
    spec_table_integer(table, "best", best);
    spec_table_integer(table, "starts", one.n);
    spec_table_integer(table, "near", one.near);
    spec_table_integer(table, "close", one.close);
    spec_table_text(table, "far", one.far);
    if (two.n > 0) {
        spec_table_integer(table, "pairs", two.n);
        spec_table_integer(table, "pairs_near", two.near);
        spec_table_integer(table, "pairs_close", two.close);
        spec_table_text(table, "pairs_far", two.far);
    }
done:
    return status;
}

/* ---- the measure ----------------------------------------------------------------------------- */

/* Reads n numbers from low to high, separated by blanks; *n = 0: as many as there are. */
static int read_list(double ret[LENGTHS], int *n, const spec_point *point,
                     const spec_measure *measure, const char *name, double low, double high,
                     spec_error *error)
{
    const char *rest = spec_point_text(point, measure, name);
    int read = 0;
    for (rest += strspn(rest, " "); *rest != '\0'; rest += strspn(rest, " ")) {
        char word[64];
        const size_t size = strcspn(rest, " ");
        double value;
        snprintf(word, sizeof word, "%.*s", (int)size, rest);
        if (!spec_settings_parse_double(&value, word) || !(value >= low && value <= high))
            return spec_fail(error, GSL_EINVAL, "%s: '%s' is not a number from %g to %g", name,
                             word, low, high);
        if (read < LENGTHS) ret[read] = value;
        read++;
        rest += size;
    }
    if (*n == 0 && read >= 1 && read <= LENGTHS) *n = read;
    if (read != *n || read == 0)
        return spec_fail(error, GSL_EINVAL, "%s: expected %d numbers, not %d", name,
                         *n > 0 ? *n : LENGTHS, read);
    return GSL_SUCCESS;
}

static int read_sweep(sweep *s, const spec_point *point, const spec_measure *measure,
                      spec_error *error)
{
    int status = GSL_SUCCESS, depths;
    *s = (sweep){.point = point};
    SPEC_TRY(spec_counted_log_find(&s->log, spec_point_text(point, measure, "log"), error));
    SPEC_TRY(spec_point_int(&s->from, point, measure, "from", 1, LENGTHS, error));
    SPEC_TRY(read_list(s->speed, &s->n, point, measure, "speed", 1e-3, 1e6, error));
    SPEC_TRY(read_list(s->tokens, &s->n, point, measure, "tokens", 1.0, LENGTHS, error));
    depths = s->from + s->n - 1;
    if (depths > LENGTHS)
        SPEC_TRY(spec_fail(error, GSL_EDOM, "from: lengths up to %d are over %d", depths, LENGTHS));
    SPEC_TRY(read_list(s->rates, &depths, point, measure, "rates", 1e-6, 1.0, error));
    SPEC_TRY(spec_point_double(&s->plain, point, measure, "plain", 0.0, 1e6, error));
    SPEC_TRY(spec_point_int(&s->batch, point, measure, "batch", 1, SPEC_COUNTED_BATCH, error));
    SPEC_TRY(spec_point_int(&s->count, point, measure, "windows", 2, LOGS_MAX, error));
done:
    return status;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    sweep s;
    int status = GSL_SUCCESS;
    SPEC_TRY(read_sweep(&s, point, measure, error));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(run_sweep(table, &s, error));
done:
    return status;
}

static const char *const parameters[] = {"log=vllm",
                                         "from=1",
                                         "speed=27.6 29.4 27.8",
                                         "tokens=1.88 2.63 3.14",
                                         "rates=0.88 0.75 0.51",
                                         "plain=0",
                                         "batch=1",
                                         "windows=60",
                                         NULL};
static const char *const columns[] = {"best",  "starts",     "near",        "close",     "far",
                                      "pairs", "pairs_near", "pairs_close", "pairs_far", NULL};
static const spec_headline headlines[] = {{.column = "near"}, {.column = "pairs_near"}, {0}};

const spec_measure spec_measure_advice_sweep = {
    .name = "advice_sweep",
    .summary = "for how many of the lengths in a published sweep advise recommends one within 1 of "
               "the fastest",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .run = run,
};
