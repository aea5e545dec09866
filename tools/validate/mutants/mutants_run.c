/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/mutants/mutants_run.h"

#include "base/stop_flag.h"
#include "sim/chance/rng.h"
#include "tools/validate/evidence/evidence.h"
#include "tools/validate/fixtures/design.h"
#include "tools/validate/fixtures/fixtures.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS_MOST = 1024, ROUNDS_LEAST = 64, VOCAB_MOST = 512 };
/* How many probabilities at most are read to measure one distance, which takes a few seconds. */
#define NUMBERS_MOST 2e9

/* ---- running --------------------------------------------------------------------------------- */

static int rounds_of_batch(const spec_fixture *fixture)
{
    const int fits = (1 << 20) / (fixture->vocab * fixture->levels);
    return fits > ROUNDS_MOST ? ROUNDS_MOST : fits < ROUNDS_LEAST ? ROUNDS_LEAST : fits & ~1;
}

static int run_text(spec_evidence *next, spec_subject *subject, uint64_t k, gsl_rng *rng,
                    spec_error *error)
{
    int32_t text[SPEC_FIXTURE_TEXT_MAX];
    spec_text_asked asked;
    const int status = spec_subject_text(&asked, text, subject, (int)(k % 4), rng, error);
    if (status == GSL_SUCCESS) spec_evidence_add_text(next, asked.start, text, asked.n, rng);
    return status;
}

/* Adds at least `draws` tokens of the mutant to the evidence, or fewer if it breaks a hard rule. */
static int run_mutant(spec_evidence *evidence, const spec_mutant *mutant,
                      const spec_fixture *fixture, uint64_t draws, uint64_t seed,
                      const volatile int *opt_stop, spec_error *error)
{
    const uint32_t scope = mutant->scope;
    const int n = rounds_of_batch(fixture);
    spec_subject subject = {.kind = NULL};
    spec_evidence *next = NULL;
    gsl_rng *rng = spec_rng_alloc();
    char spec[96];
    int status = GSL_SUCCESS;
    if (rng == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    snprintf(spec, sizeof spec, "mutant:%s", mutant->name);
    SPEC_TRY(spec_subject_open(&subject, spec, &SPEC_SUBJECT_LIMITS_DEFAULT, error));
    SPEC_TRY(spec_subject_begin(&subject, fixture, scope, n, error));
    SPEC_TRY(spec_evidence_fork(&next, evidence,
                                (size_t)(n * fixture->levels + SPEC_FIXTURE_TEXT_MAX), error));
    for (uint64_t b = 0;
         spec_evidence_tokens(evidence) < draws && spec_evidence_hard(evidence) == NULL; b++) {
        const uint64_t first = b * (uint64_t)n;
        SPEC_TRY(spec_stop_check(opt_stop, error));
        spec_rng_stream(rng, seed, b);
        spec_evidence_clear(next);
        if (scope == SPEC_SCOPE_STREAM) {
            SPEC_TRY(run_text(next, &subject, b, rng, error));
        } else {
            spec_evidence_ask(next, &subject.batch, n, first, seed, rng);
            SPEC_TRY(spec_subject_run(&subject, n, error));
            spec_evidence_add(next, &subject.batch, n, first, rng);
        }
        spec_evidence_merge(evidence, next);
    }
done:
    spec_evidence_free(next);
    spec_subject_close(&subject);
    gsl_rng_free(rng);
    return status;
}

/* ---- how far off ----------------------------------------------------------------------------- */

/* Where a difference shows: the tokens in excess after a state, or the event that a test counts. */
typedef struct {
    int state;        /* -1: none */
    const char *test; /* NULL: none */
    double sign, tv;  /* sign of the test; observed TV minus the expected one */
} spot;

static double law_of(const spec_fixture *f, int state, int token)
{
    return f->target_law[(size_t)state * (size_t)f->vocab + (size_t)token];
}

static bool too_often(const spec_evidence *e, const spec_fixture *f, int state, int token)
{
    const double n = (double)spec_evidence_visits(e, state);
    return (double)spec_evidence_count(e, state, token) > n * law_of(f, state, token);
}

/* Finds the state with the largest TV, and the test with the largest difference. */
static void find_spots(spot ret[2], const spec_evidence *e, const spec_fixture *f)
{
    spec_finding finding[SPEC_TESTS_MAX];
    const int n_findings = spec_evidence_findings(finding, e);
    ret[0] = ret[1] = (spot){.state = -1, .tv = -INFINITY};
    for (int state = 0; state < f->n_states; state++) {
        const double n = (double)spec_evidence_visits(e, state);
        double tv = 0.0, chance = 0.0;
        if (n == 0.0) continue;
        for (int i = 0; i < f->vocab; i++) {
            const double law = law_of(f, state, i);
            tv += 0.5 * fabs((double)spec_evidence_count(e, state, i) / n - law);
            chance += 0.5 * sqrt(2.0 * law * (1.0 - law) / (M_PI * n));
        }
        if (tv - 2.0 * chance > ret[0].tv) ret[0] = (spot){.state = state, .tv = tv - 2.0 * chance};
    }
    for (int k = 0; k < n_findings; k++) {
        const double more = finding[k].seen - finding[k].expected,
                     tv = fabs(more) - sqrt(1.0 / finding[k].n);
        /* other tests are not about the share of an event */
        if (finding[k].expected > 0.0 && finding[k].expected < 1.0 && tv > ret[1].tv)
            ret[1] = (spot){
                .state = -1, .test = finding[k].name, .sign = more > 0.0 ? 1.0 : -1.0, .tv = tv};
    }
}

/* Measures the excess over the promised probability, in draws that did not choose the spot. */
static spec_mutants_distance measure(const spot *at, const spec_evidence *learnt,
                                     const spec_evidence *e, const spec_fixture *f)
{
    spec_finding finding[SPEC_TESTS_MAX];
    double n = 0.0, mass = 0.0, seen = 0.0;
    for (int i = 0; i < f->vocab && at->state >= 0; i++) {
        if (!too_often(learnt, f, at->state, i)) continue;
        n = (double)spec_evidence_visits(e, at->state);
        mass += law_of(f, at->state, i);
        seen += (double)spec_evidence_count(e, at->state, i) / n;
    }
    for (int k = at->test != NULL ? spec_evidence_findings(finding, e) : 0; k-- > 0;) {
        if (finding[k].name != at->test) continue;
        n = finding[k].n;
        mass = finding[k].expected;
        seen = finding[k].seen;
    }
    if (!(n > 0.0)) return (spec_mutants_distance){.kind = f->kind};
    return (spec_mutants_distance){
        .tv = fmax(at->test != NULL ? at->sign * (seen - mass) : seen - mass, 0.0),
        .se = sqrt(fmax(mass * (1.0 - mass), 0.0) / n),
        .kind = f->kind};
}

static bool is_larger(const spec_mutants_distance *a, const spec_mutants_distance *b)
{
    return b->kind == NULL || a->tv - 2.0 * a->se > b->tv - 2.0 * b->se;
}

static int distance_on(spec_mutants_distance *ret, const spec_mutant *mutant,
                       const spec_fixture *fixture, uint64_t draws, uint64_t seed,
                       const volatile int *opt_stop, spec_error *error)
{
    spec_evidence *half[2] = {NULL, NULL};
    spot at[2];
    int status = GSL_SUCCESS;
    for (int i = 0; i < 2; i++) {
        SPEC_TRY(spec_evidence_init(&half[i], fixture, mutant->scope, error));
        SPEC_TRY(
            run_mutant(half[i], mutant, fixture, draws / 2, seed + (uint64_t)i, opt_stop, error));
    }
    find_spots(at, half[0], fixture);
    *ret = measure(&at[0], half[0], half[1], fixture);
    const spec_mutants_distance other = measure(&at[1], half[0], half[1], fixture);
    if (is_larger(&other, ret)) *ret = other;
done:
    spec_evidence_free(half[0]);
    spec_evidence_free(half[1]);
    return status;
}

int spec_mutants_worst(spec_mutants_distance *ret, const spec_mutant *mutant,
                       const spec_fixture_kind *opt_kind, uint64_t draws, uint64_t seed,
                       const volatile int *opt_stop, spec_error *error)
{
    spec_subject subject = {.kind = NULL};
    spec_fixture fixture = {.kind = NULL};
    char spec[96];
    int status = GSL_SUCCESS;
    *ret = (spec_mutants_distance){.tv = 0.0, .kind = opt_kind};
    snprintf(spec, sizeof spec, "mutant:%s", mutant->name);
    SPEC_TRY(spec_subject_open(&subject, spec, &SPEC_SUBJECT_LIMITS_DEFAULT, error));
    for (int i = 0; opt_kind == NULL && spec_recipe_at(i) != NULL; i++) {
        spec_mutants_distance here;
        SPEC_TRY(spec_fixture_open(&fixture, &spec_recipe_at(i)->kind, error));
        if (fixture.vocab <= VOCAB_MOST &&
            spec_fixture_fits(&fixture, &subject.about, mutant->scope, NULL)) {
            SPEC_TRY(spec_fixture_promise(&fixture, &subject.about, error));
            SPEC_TRY(distance_on(&here, mutant, &fixture, draws, seed, opt_stop, error));
            if (is_larger(&here, ret)) *ret = here;
        }
        spec_fixture_close(&fixture);
    }
    if (ret->kind != NULL) {
        SPEC_TRY(spec_fixture_open(&fixture, ret->kind, error));
        spec_design_adapt(&fixture, &subject.about, mutant->scope);
        SPEC_TRY(spec_fixture_promise(&fixture, &subject.about, error));
        const double most = NUMBERS_MOST / spec_fixture_round_size(&fixture);
        SPEC_TRY(distance_on(ret, mutant, &fixture, (uint64_t)fmin(10.0 * (double)draws, most),
                             seed + 2, opt_stop, error));
    }
done:
    spec_fixture_close(&fixture);
    spec_subject_close(&subject);
    return status;
}
