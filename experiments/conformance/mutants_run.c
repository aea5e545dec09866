#include "experiments/conformance/mutants_run.h"

#include "sim/rng.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS_MOST = 1024, ROUNDS_LEAST = 64, TEXT_TOKENS = 512 };

/* ---- running ----------------------------------------------------------------------------------------------------- */

static int rounds_of_batch(const spec_fixture *fixture)
{
    const int fits = (1 << 20) / (fixture->vocab * fixture->levels);
    return fits > ROUNDS_MOST ? ROUNDS_MOST : fits < ROUNDS_LEAST ? ROUNDS_LEAST : fits & ~1;
}

static int run_text(spec_evidence *next, spec_subject *subject, gsl_rng *rng, spec_error *error)
{
    const spec_fixture *f = subject->fixture;
    int32_t text[TEXT_TOKENS];
    const int start = f->levels * (int)gsl_rng_uniform_int(rng, (unsigned long)f->variants);
    const uint64_t seed = gsl_rng_get(rng);
    const int status = spec_subject_generate(subject, start, f->n_nodes, seed, text, TEXT_TOKENS, error);
    if (status == GSL_SUCCESS) spec_evidence_add_text(next, start, text, TEXT_TOKENS, rng);
    return status;
}

int spec_mutants_run(spec_evidence *evidence, const spec_mutant *mutant, const spec_fixture *fixture, uint64_t draws,
                     uint64_t seed, spec_error *error)
{
    const int n = rounds_of_batch(fixture);
    spec_subject subject = {.kind = NULL};
    spec_evidence *next = NULL;
    gsl_rng *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    char spec[96];
    int status = GSL_SUCCESS;
    if (rng == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    snprintf(spec, sizeof spec, "mutant:%s", mutant->name);
    SPEC_TRY(spec_subject_open(&subject, spec, &SPEC_SUBJECT_LIMITS_DEFAULT, error));
    SPEC_TRY(spec_subject_begin(&subject, fixture, mutant->scope, n, error));
    SPEC_TRY(spec_evidence_fork(&next, evidence, (size_t)(n * fixture->levels + TEXT_TOKENS), error));
    for (uint64_t b = 0; spec_evidence_tokens(evidence) < draws && spec_evidence_hard(evidence) == NULL; b++) {
        const uint64_t first = b * (uint64_t)n;
        spec_rng_stream(rng, seed, b);
        spec_evidence_clear(next);
        if (mutant->scope == SPEC_SCOPE_STREAM) {
            SPEC_TRY(run_text(next, &subject, rng, error));
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

/* ---- how far off ------------------------------------------------------------------------------------------------- */

/* Where a difference was seen: the tokens that came too often after a state, or what a test counts. */
typedef struct {
    int state;        /* -1: none */
    const char *test; /* NULL: none */
    double sign, tv;  /* of the test; what was seen, less what chance would show */
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

static void find_spot(spot *ret, const spec_evidence *e, const spec_fixture *f)
{
    spec_finding finding[SPEC_TESTS_MAX];
    const int n_findings = spec_evidence_findings(finding, e);
    *ret = (spot){.state = -1, .tv = -INFINITY};
    for (int state = 0; state < f->n_states; state++) {
        const double n = (double)spec_evidence_visits(e, state);
        double tv = 0.0, chance = 0.0;
        if (n == 0.0) continue;
        for (int i = 0; i < f->vocab; i++) {
            const double law = law_of(f, state, i);
            tv += 0.5 * fabs((double)spec_evidence_count(e, state, i) / n - law);
            chance += 0.5 * sqrt(2.0 * law * (1.0 - law) / (M_PI * n));
        }
        if (tv - 2.0 * chance > ret->tv) *ret = (spot){.state = state, .tv = tv - 2.0 * chance};
    }
    for (int k = 0; k < n_findings; k++) {
        const double more = finding[k].seen - finding[k].expected;
        const double tv = fabs(more) - 2.0 * sqrt(0.25 / finding[k].n);
        if (tv > ret->tv) /* NaN: a test that is not about one number */
            *ret = (spot){.state = -1, .test = finding[k].name, .sign = more > 0.0 ? 1.0 : -1.0, .tv = tv};
    }
}

/* How much more often than promised did these tokens come, in draws that did not choose them? */
static void measure(spec_mutants_distance *ret, const spot *at, const spec_evidence *learnt, const spec_evidence *e,
                    const spec_fixture *f)
{
    spec_finding finding[SPEC_TESTS_MAX];
    double n = 0.0, mass = 0.0, seen = 0.0;
    if (at->state >= 0) {
        n = (double)spec_evidence_visits(e, at->state);
        for (int i = 0; i < f->vocab; i++) {
            if (!too_often(learnt, f, at->state, i)) continue;
            mass += law_of(f, at->state, i);
            seen += (double)spec_evidence_count(e, at->state, i) / n;
        }
        ret->tv = seen - mass;
    } else {
        for (int k = spec_evidence_findings(finding, e); k-- > 0;) {
            if (finding[k].name != at->test) continue;
            n = finding[k].n;
            mass = finding[k].expected;
            ret->tv = at->sign * (finding[k].seen - mass);
        }
    }
    ret->se = sqrt(fmax(mass * (1.0 - mass), 0.0) / n);
}

static int distance_on(spec_mutants_distance *ret, const spec_mutant *mutant, const spec_fixture *fixture,
                       uint64_t draws, uint64_t seed, spec_error *error)
{
    spec_evidence *half[2] = {NULL, NULL};
    spot at;
    int status = GSL_SUCCESS;
    for (int i = 0; i < 2; i++) {
        SPEC_TRY(spec_evidence_init(&half[i], fixture, mutant->scope, error));
        SPEC_TRY(spec_mutants_run(half[i], mutant, fixture, draws / 2, seed + (uint64_t)i, error));
    }
    find_spot(&at, half[0], fixture);
    *ret = (spec_mutants_distance){.tv = 0.0, .kind = fixture->kind};
    if (at.state >= 0 || at.test != NULL) measure(ret, &at, half[0], half[1], fixture);
done:
    spec_evidence_free(half[0]);
    spec_evidence_free(half[1]);
    return status;
}

int spec_mutants_worst(spec_mutants_distance *ret, const spec_mutant *mutant, uint64_t draws, uint64_t seed,
                       spec_error *error)
{
    spec_subject subject = {.kind = NULL};
    spec_fixture fixture = {.kind = NULL};
    char spec[96];
    int status = GSL_SUCCESS;
    *ret = (spec_mutants_distance){.tv = 0.0};
    snprintf(spec, sizeof spec, "mutant:%s", mutant->name);
    SPEC_TRY(spec_subject_open(&subject, spec, &SPEC_SUBJECT_LIMITS_DEFAULT, error));
    for (int i = 0; spec_fixtures[i] != NULL; i++) {
        spec_mutants_distance here;
        SPEC_TRY(spec_fixture_open(&fixture, spec_fixtures[i], error));
        if (spec_fixture_fits(&fixture, &subject.about, mutant->scope, NULL)) {
            /* Rows of many tokens take time in proportion. */
            const double share = 1.0 / (1.0 + (double)fixture.vocab * fixture.levels / 2048.0);
            SPEC_TRY(distance_on(&here, mutant, &fixture, (uint64_t)((double)draws * share), seed, error));
            if (here.tv - 2.0 * here.se > ret->tv - 2.0 * ret->se || ret->kind == NULL) *ret = here;
        }
        spec_fixture_close(&fixture);
    }
    if (ret->kind != NULL) {
        SPEC_TRY(spec_fixture_open(&fixture, ret->kind, error));
        SPEC_TRY(distance_on(ret, mutant, &fixture, 10 * draws, seed + 2, error));
    }
done:
    spec_fixture_close(&fixture);
    spec_subject_close(&subject);
    return status;
}
