/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/evidence/nearest.h"

#include "base/parallel.h"
#include "speclab/no_memory.h"
#include "tools/validate/evidence/split.h"
#include "tools/validate/mutants/mutants.h"

#include <math.h>
#include <stdlib.h>

/* GLANCE draws are examined first, then 1/PREVIEW of the draws. */
enum { HINTS = 3, PREVIEW = 8, GLANCE = 2000 };

/* unexplained: share of the difference that a near mistake may leave. showing: standard deviations
 * by which a difference must stand out. slack: standard deviations by which a near mistake may be
 * off. */
static const double unexplained = 0.005, showing = 10.0, slack = 8.0;

/* The splits (split.h) of the sampler under test and of an exact one, on one fixture. */
typedef struct {
    spec_split *seen, *exact;
    double dispersion;
    /* excess of the difference over its expectation; 0 if it does not show */
    double shows[SPEC_SPLIT_PARTS];
} base;

static double excess(const spec_split_distance *d)
{
    return d->lost - d->df;
}

static double chance(const spec_split_distance *d)
{
    return sqrt(2.0 * d->df);
}

/* A mistake whose law is also close to that of an exact sampler explains nothing. */
static bool is_near(const spec_split_distance *d, double shows)
{
    const double left = excess(d), most = slack * chance(d) + unexplained * shows;
    return left <= most && (shows == 0.0 || left <= 0.5 * shows);
}

static void scale(spec_split_distance d[SPEC_SPLIT_PARTS], double dispersion)
{
    d[SPEC_SPLIT_TOKENS].lost /= dispersion;
    d[SPEC_SPLIT_DEPENDENCE].lost /= dispersion;
}

static int open_mutant(spec_subject *subject, const char *name, spec_error *error)
{
    char spec[96];
    snprintf(spec, sizeof spec, "mutant:%s", name);
    return spec_subject_open(subject, spec, &SPEC_SUBJECT_LIMITS_DEFAULT, error);
}

static int ask_base(base *ret, spec_subject *subject, const spec_hint_base *on, uint32_t scope,
                    uint64_t seed, spec_error *error)
{
    spec_subject exact = {.kind = NULL};
    spec_split_distance d[SPEC_SPLIT_PARTS];
    int status = GSL_SUCCESS;
    status = spec_split_ask(&ret->seen, subject, on->fixture, scope, on->draws, seed, error);
    if (status == GSL_EFAILED) return GSL_SUCCESS; /* the verdict does not depend on it */
    SPEC_TRY(status);
    SPEC_TRY(open_mutant(&exact, "right", error));
    SPEC_TRY(spec_split_ask(&ret->exact, &exact, on->fixture, scope, on->draws, seed + 1, error));
    spec_split_compare(d, ret->seen, ret->exact);
    ret->dispersion = spec_split_dispersion(ret->seen, error);
    if (isnan(ret->dispersion)) SPEC_TRY(GSL_ENOMEM);
    scale(d, ret->dispersion);
    for (int part = 0; part < SPEC_SPLIT_PARTS; part++)
        ret->shows[part] = excess(&d[part]) > showing * chance(&d[part]) ? excess(&d[part]) : 0.0;
done:
    spec_subject_close(&exact);
    return status;
}

static double shown_by(const base *b)
{
    double sum = 0.0;
    for (int part = 0; part < SPEC_SPLIT_PARTS; part++) sum += b->shows[part];
    return sum;
}

int spec_nearest_differs(bool *ret, spec_subject *subject, const spec_hint_base *on, uint32_t scope,
                         uint64_t seed, spec_error *error)
{
    base one = {.seen = NULL};
    const int status = ask_base(&one, subject, on, scope, seed, error);
    *ret = shown_by(&one) > 0.0;
    spec_split_free(one.seen);
    spec_split_free(one.exact);
    return status;
}

static bool is_candidate(const spec_mutant *mutant, uint32_t scope)
{
    const bool mistake = mutant->kind == SPEC_MUTANT_WRONG || mutant->kind == SPEC_MUTANT_HARD ||
                         mutant->kind == SPEC_MUTANT_LOSSY;
    return mistake && (mutant->scope == scope || mutant->everywhere);
}

static bool fits(const spec_fixture *fixture, const spec_mutant *mutant)
{
    return (mutant->max_vocab == 0 || fixture->vocab <= mutant->max_vocab) &&
           (fixture->chain || (!mutant->chains_only &&
                               (mutant->trees == 0 || mutant->trees & fixture->drawn)));
}

/* The job of comparing each mistake of the catalogue, in parallel. */
typedef struct {
    const base *bases;
    const spec_hint_request *request;
    double *left;      /* one per mistake: the unexplained difference; +inf: not near */
    spec_error *error; /* one per mistake; empty if there was no error */
} comparison;

/* Computes the difference that the mistake leaves on fixture k in `draws` tokens; infinite if it is
 * not near. */
static int measure_on(double *ret, const comparison *c, int k, spec_subject *subject,
                      uint64_t draws, spec_error *error)
{
    const base *seen = &c->bases[k];
    spec_split *split = NULL;
    spec_split_distance d[SPEC_SPLIT_PARTS];
    int status = GSL_SUCCESS;
    *ret = 0.0;
    SPEC_TRY(spec_split_ask(&split, subject, c->request->base[k].fixture, c->request->scope, draws,
                            c->request->seed + 2, error));
    spec_split_compare(d, seen->seen, split);
    scale(d, seen->dispersion);
    for (int part = 0; part < SPEC_SPLIT_PARTS; part++)
        *ret += is_near(&d[part], seen->shows[part]) ? excess(&d[part]) : INFINITY;
done:
    spec_split_free(split);
    return status;
}

/* Computes the difference that the mistake leaves over all fixtures; infinite if it is not near on
 * one of them. Most mistakes are far off, and a preview of the draws shows it, because the
 * difference they leave only grows with the draws. */
static int measure(double *ret, const comparison *c, const spec_mutant *mutant, spec_error *error)
{
    const spec_hint_request *request = c->request;
    spec_subject subject = {.kind = NULL};
    double left = 0.0, explained = 0.0;
    int status = GSL_SUCCESS;
    *ret = 0.0;
    SPEC_TRY(open_mutant(&subject, mutant->name, error));
    for (int k = 0; k < request->n && !isinf(*ret); k++) {
        const uint64_t draws = request->base[k].draws;
        if (c->bases[k].seen == NULL || !fits(request->base[k].fixture, mutant)) continue;
        const uint64_t looks[] = {GLANCE, draws / PREVIEW, draws};
        left = 0.0;
        for (int look = 0; look < 3 && !isinf(left); look++)
            if (look == 2 || looks[look] < draws)
                SPEC_TRY(measure_on(&left, c, k, &subject, looks[look], error));
        *ret += left;
        explained += shown_by(&c->bases[k]);
    }
    if (explained == 0.0) *ret = INFINITY;
done:
    spec_subject_close(&subject);
    return status;
}

/* Inserts a hint in order of likelihood, and drops the fourth. */
static int insert(spec_hint *hint, int n, const spec_hint *one)
{
    int at = n;
    while (at > 0 && hint[at - 1].log_likelihood < one->log_likelihood) at--;
    if (at == HINTS) return n;
    for (int k = n < HINTS ? n : HINTS - 1; k > at; k--) hint[k] = hint[k - 1];
    hint[at] = *one;
    return n < HINTS ? n + 1 : n;
}

static void compare_one(void *job, uint64_t i, int worker)
{
    const comparison *c = job;
    const spec_mutant *mutant = spec_mutants_at((int)i);
    (void)worker;
    c->left[i] = INFINITY;
    if (is_candidate(mutant, c->request->scope))
        (void)measure(&c->left[i], c, mutant, &c->error[i]);
}

int spec_nearest(spec_hint ret_hint[3], int *ret_n, spec_subject *subject,
                 const spec_hint_request *request, spec_error *error)
{
    const int n = request->n;
    base *bases = calloc((size_t)n + 1, sizeof *bases);
    comparison all = {.bases = bases, .request = request};
    double shows = 0.0, draws = 0.0;
    int n_mutants = 0, status = GSL_SUCCESS;
    *ret_n = 0;
    while (spec_mutants_at(n_mutants) != NULL) n_mutants++;
    all.left = malloc((size_t)n_mutants * sizeof *all.left);
    all.error = calloc((size_t)n_mutants, sizeof *all.error);
    if (bases == NULL || all.left == NULL || all.error == NULL) SPEC_TRY(spec_no_memory(error));
    for (int k = 0; k < n; k++) {
        SPEC_TRY(
            ask_base(&bases[k], subject, &request->base[k], request->scope, request->seed, error));
        draws += (double)request->base[k].draws;
        if (request->opt_shows != NULL) request->opt_shows[k] = shown_by(&bases[k]) > 0.0;
        shows += shown_by(&bases[k]);
    }
    if (shows == 0.0) goto done;
    spec_parallel_run(request->opt_pool, compare_one, &all, (uint64_t)n_mutants,
                      spec_thread_pool_size(request->opt_pool));
    for (int i = 0; i < n_mutants; i++)
        if (all.error[i].text[0] != '\0')
            SPEC_TRY(spec_fail(error, GSL_EFAILED, "%s", all.error[i].text));
    for (int i = 0; i < n_mutants; i++) {
        const spec_mutant *mutant = spec_mutants_at(i);
        const spec_hint one = {mutant->name, mutant->where, -0.5 * all.left[i] / draws};
        if (!isinf(all.left[i])) *ret_n = insert(ret_hint, *ret_n, &one);
    }
    for (int k = *ret_n; k-- > 0;) ret_hint[k].log_likelihood -= ret_hint[0].log_likelihood;
done:
    for (int k = 0; k < n && bases != NULL; k++) {
        spec_split_free(bases[k].seen);
        spec_split_free(bases[k].exact);
    }
    free(bases);
    free(all.left);
    free(all.error);
    return status;
}
