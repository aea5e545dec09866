/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/tune/skip_search.h"

#include "analysis/gaussian_process.h"
#include "base/wide_rng.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <gsl/gsl_randist.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *const spec_skip_methods[] = {"bayes", "random", "exhaustive", NULL};

enum { FIRST = 10, BEST = 5, CANDIDATES = 200, REDRAWS = 1000 };

typedef struct {
    const spec_skip_search *of;
    spec_skip_trials *trials;
    size_t d;
    gsl_rng *rng;
    spec_gaussian_process process;
    unsigned char *set, *chosen; /* (sublayers) */
    int *index;                  /* (sublayers) */
} search;

static const unsigned char *set_of(const search *s, int trial)
{
    return s->trials->set + (size_t)trial * s->d;
}

/* Returns whether a set may be tried: it is new, skips something and leaves something. */
static bool is_open(const search *s, const unsigned char *set)
{
    if (memchr(set, 0, s->d) == NULL || memchr(set, 1, s->d) == NULL) return false;
    for (int i = 0; i < s->trials->n; i++)
        if (memcmp(set, set_of(s, i), s->d) == 0) return false;
    return true;
}

static int try_set(search *s, const unsigned char *set, spec_error *error)
{
    spec_skip_trials *trials = s->trials;
    memcpy(trials->set + (size_t)trials->n * s->d, set, s->d);
    const int status = s->of->value(s->of->self, &trials->value[trials->n], set, error);
    if (status == GSL_SUCCESS) trials->n++;
    return status;
}

/* Draws a random set into s->set; returns false if a thousand sets in a row had been tried
 * before. */
static bool draw(search *s)
{
    for (int k = 0; k < REDRAWS; k++) {
        const size_t n = 1 + spec_wide_rng_below(s->rng, s->d - 1);
        gsl_ran_shuffle(s->rng, s->index, s->d, sizeof *s->index);
        for (size_t i = 0; i < s->d; i++) s->set[s->index[i]] = i < n;
        if (is_open(s, s->set)) return true;
    }
    return false;
}

/* ---- Bayesian optimisation ------------------------------------------------------------------- */

static double improvement(search *s, const unsigned char *set, double best)
{
    double mean, sd;
    spec_gaussian_process_predict(&mean, &sd, &s->process, set);
    return spec_gaussian_process_improvement(mean, sd, best);
}

/* Keeps the best of s->chosen and the open neighbours of s->set, which differ in one sublayer. */
static bool try_neighbours(search *s, double best, double *most)
{
    bool better = false;
    for (size_t i = 0; i < s->d; i++) {
        s->set[i] ^= 1;
        if (is_open(s, s->set)) {
            const double gain = improvement(s, s->set, best);
            if (gain > *most) {
                *most = gain;
                memcpy(s->chosen, s->set, s->d);
                better = true;
            }
        }
        s->set[i] ^= 1;
    }
    return better;
}

/* Returns the trial with the largest value below that of trial `under` (-1: the largest of all);
 * among equal values, the first. */
static int next_best(const search *s, int under)
{
    const double *value = s->trials->value;
    int best = -1;
    for (int i = 0; i < s->trials->n; i++) {
        const bool is_under =
            under < 0 || value[i] < value[under] || (value[i] == value[under] && i > under);
        if (is_under && (best < 0 || value[i] > value[best])) best = i;
    }
    return best;
}

/* Puts into s->chosen the open set with the largest expected improvement that was found. */
static int choose(search *s, bool *ret_found, spec_error *error)
{
    const spec_skip_trials *trials = s->trials;
    double most = -1.0;
    if (spec_gaussian_process_fit(&s->process, trials->set, trials->value, trials->n, (int)s->d) !=
        GSL_SUCCESS)
        return spec_no_memory(error);
    const double best = trials->value[next_best(s, -1)];
    for (int k = 0, at = -1; k < BEST && (at = next_best(s, at)) >= 0; k++) {
        memcpy(s->set, set_of(s, at), s->d);
        try_neighbours(s, best, &most);
    }
    for (int k = 0; k < CANDIDATES && draw(s); k++) {
        const double gain = improvement(s, s->set, best);
        if (gain <= most) continue;
        most = gain;
        memcpy(s->chosen, s->set, s->d);
    }
    *ret_found = most >= 0.0;
    do memcpy(s->set, s->chosen, s->d);
    while (*ret_found && try_neighbours(s, best, &most));
    return GSL_SUCCESS;
}

/* ---- the search ------------------------------------------------------------------------------ */

static int try_all(search *s, spec_error *error)
{
    for (uint64_t bits = 1; bits < (UINT64_C(1) << s->d) - 1; bits++) {
        for (size_t i = 0; i < s->d; i++) s->set[i] = bits >> i & 1;
        const int status = try_set(s, s->set, error);
        if (status != GSL_SUCCESS) return status;
    }
    return GSL_SUCCESS;
}

static int try_some(search *s, bool models, spec_error *error)
{
    int status = GSL_SUCCESS;
    while (s->trials->n < s->of->trials) {
        bool found = true;
        if (models && s->trials->n >= FIRST) {
            SPEC_TRY(choose(s, &found, error));
            if (!found) break;
            SPEC_TRY(try_set(s, s->chosen, error));
        } else {
            if (!draw(s)) break;
            SPEC_TRY(try_set(s, s->set, error));
        }
    }
done:
    return status;
}

int spec_skip_search_most(spec_skip_method method, const spec_skip_search *of)
{
    return method == SPEC_SKIP_EXHAUSTIVE ? (1 << of->sublayers) - 2 : of->trials;
}

int spec_skip_search_run(spec_skip_trials *ret, spec_skip_method method, const spec_skip_search *of,
                         spec_error *error)
{
    int status = GSL_SUCCESS;
    search s = {.of = of, .trials = ret, .d = (size_t)of->sublayers};
    const bool is_exhaustive = method == SPEC_SKIP_EXHAUSTIVE;
    *ret = (spec_skip_trials){0};
    if (is_exhaustive && of->sublayers > SPEC_SKIP_EXHAUSTIVE_MAX)
        return spec_fail(error, GSL_EINVAL,
                         "an exhaustive search is for at most %d sublayers, not %d: use bayes",
                         (int)SPEC_SKIP_EXHAUSTIVE_MAX, of->sublayers);
    const size_t most = (size_t)spec_skip_search_most(method, of);
    ret->set = malloc(most * s.d);
    ret->value = malloc(most * sizeof *ret->value);
    s.set = calloc(2, s.d);
    s.index = malloc(s.d * sizeof *s.index);
    s.rng = spec_rng_alloc();
    if (ret->set == NULL || ret->value == NULL || s.set == NULL || s.index == NULL || s.rng == NULL)
        SPEC_TRY(spec_no_memory(error));
    s.chosen = s.set + s.d;
    for (size_t i = 0; i < s.d; i++) s.index[i] = (int)i;
    gsl_rng_set(s.rng, of->seed);
    SPEC_TRY(is_exhaustive ? try_all(&s, error) : try_some(&s, method == SPEC_SKIP_BAYES, error));
done:
    spec_gaussian_process_free(&s.process);
    if (s.rng != NULL) gsl_rng_free(s.rng);
    free(s.index);
    free(s.set);
    if (status != GSL_SUCCESS) spec_skip_trials_free(ret);
    return status;
}

void spec_skip_trials_free(spec_skip_trials *trials)
{
    free(trials->set);
    free(trials->value);
    *trials = (spec_skip_trials){0};
}
