/* SPDX-License-Identifier: GPL-3.0-or-later */
/* validate: the conformance test: is this sampler lossless?
 * It runs every fixture that suits the sampler, in each of its scopes, until the evidence or the
 * budget suffices, and gives a verdict. Batches run in parallel and merge in order: for a budget in
 * draws the result is the same for any number of threads. docs/conformance.md#statistics. */
#ifndef SPECLAB_VALIDATE_H
#define SPECLAB_VALIDATE_H

#include "base/thread_pool.h"
#include "conformance/evidence/detectable.h"
#include "conformance/fixtures/design.h"
#include "conformance/reproducer.h"

typedef enum {
    SPEC_VERDICT_PASS, /* and every TV >= eps would have been detected with the stated power */
    SPEC_VERDICT_FAIL,
    SPEC_VERDICT_LOSSY,        /* differs from the target, and declares it: passes, with its TV */
    SPEC_VERDICT_INCONCLUSIVE, /* not enough evidence either way */
    SPEC_VERDICT_DEPENDENT,    /* each request is right; requests of a call depend on each other */
    SPEC_VERDICTS
} spec_validate_verdict;

struct spec_validation;

/* "PASS", "FAIL", "LOSSY", "INCONCLUSIVE", "DEPENDENT", NULL */
extern const char *const spec_validate_verdicts[];

typedef struct {
    /* probability of a FAIL for a lossless sampler, over all tests; 1e-6 */
    double false_alarm_rate;
    double eps; /* TV that a PASS rules out (SPEC_VALIDATE_TELLING); 0: that */
    double power;        /* .9 */
    uint64_t draws; /* budget in tokens of full rounds, over all fixtures; 0: SPEC_VALIDATE_DRAWS */
    double seconds;      /* budget in seconds instead; 0: none */
    uint64_t seed;
    spec_thread_pool *opt_pool;
    const char *const *opt_only; /* names of fixtures and tests, NULL-terminated; NULL: all */
    const spec_fixture_kind *const
        *opt_more;        /* fixtures besides those of the table, NULL-terminated; NULL: none */
    const char *opt_rows; /* file of rows of these fixtures, for the report */
    double temperature;   /* of a trace of responses (trace_read.h); 0: 1 */
    uint32_t scopes;     /* scopes to test, of those of the sampler; 0: all */
    bool hints;          /* search the known mistakes that explain a FAIL */
    bool asks_each;      /* see whether a FAIL is DEPENDENT, by a run of each request by itself */
    /* Requests of a call may depend on each other: calls have at most SPEC_VALIDATE_CALL rounds,
     * and one of them, chosen at random, is counted. */
    bool dependent;
    spec_subject_limits limits;
    /* continue in growing stages until a FAIL, limits.opt_stop or the end of the time. A stop gives
     * the verdict so far; without `endless` a stop is GSL_EFAILED, "interrupted" */
    bool endless;
    void (*progress)(void *self, const char *fixture, uint64_t draws, uint64_t budget,
                     double log_e); /* or NULL */
    void (*stage)(void *self, const struct spec_validation *so_far,
                  int stage); /* called after each stage; or NULL */
    void (*phase)(void *self, const char *what); /* called before the search for hints; or NULL */
    void *self;
} spec_validate_plan;

#define SPEC_VALIDATE_DRAWS 20000000ull

/* A total variation counts as detectable up to SPEC_VALIDATE_TELLING, or up to plan.eps. A PASS
 * requires it at the first token of a round, and in scope S in a text, on the fixtures that are
 * judged: those of the table with at most SPEC_VALIDATE_VOCAB tokens, or all if none of these was
 * run. */
#define SPEC_VALIDATE_TELLING 0.1
enum { SPEC_VALIDATE_VOCAB = 64, SPEC_VALIDATE_CALL = 4, SPEC_VALIDATE_REASON = 800 };
#define SPEC_VALIDATE_PLAN_DEFAULT                                                                 \
    ((spec_validate_plan){.false_alarm_rate = 1e-6,                                                \
                          .power = 0.9,                                                            \
                          .draws = SPEC_VALIDATE_DRAWS,                                            \
                          .seed = 42,                                                              \
                          .hints = true,                                                           \
                          .limits = SPEC_SUBJECT_LIMITS_DEFAULT})

/* One fixture in one scope. */
typedef struct {
    const spec_fixture_kind *kind;
    uint32_t scope;
    int vocab;
    const char *skipped;          /* reason for not running it, or NULL */
    /* a call exceeded limits.timeout: the fixture was left out from then on, and earlier data count
     */
    bool late;
    uint64_t rounds, draws;       /* draws: tokens of the sampler */
    uint64_t asked; /* tokens of full rounds asked for, as budgets count them */
    /* of all its tests: mean e-value, as a logarithm; least p-value after Holm over all results */
    double log_e, p;
    /* of the first look. For a trace, that of a text is the TV of PITs from uniform */
    spec_detectable detectable[SPEC_PLACES];
    double tv; /* estimated largest TV of a state, corrected for bias; 0: none shows */
    double accepted;              /* mean n_accepted per round */
    spec_finding finding[SPEC_TESTS_MAX];
    int n_findings;
    spec_hard hard;
    bool failed; /* this result alone is a FAIL, or the reproducer shows it */
    bool judged;                  /* a PASS requires detectability here */
    uint64_t budget;              /* planned budget, tokens of full rounds */
} spec_validate_result;

/* One place over all fixtures that were run. */
typedef struct {
    /* results where the sampler reaches the place; of these, those with a detectable TV within the
     * limit */
    int reached, covered;
    /* detectable TV: median of the reached, largest of the covered; NaN if there are none */
    double median, worst;
    int worst_result;     /* -1: none */
} spec_validate_power;

/* A known mistake whose law is near that of the sampler. */
typedef struct {
    const char *name, *where; /* its entry in the catalogue (mutants.h) */
    double log_likelihood;    /* log likelihood per draw, relative to the best hint */
} spec_hint;

typedef struct spec_validation {
    spec_validate_verdict verdict;
    spec_validate_plan plan;
    spec_sampler_about about;
    const char *subject;           /* its spec; the caller's */
    spec_validate_result *result;  /* (n_results) */
    int n_results;
    uint64_t rounds, draws;
    double seconds, log_e, p;
    spec_validate_power power[SPEC_PLACES];
    bool trace;                    /* the validation is of a trace (trace.h) */
    bool stopped;                  /* limits.opt_stop ended an endless run */
    bool alone; /* instances gave the same answers to different seeds, so only one was used */
    /* the test over all fixtures together that shows more than any single fixture; or NULL */
    const char *together;
    const char *together_reason; /* what that test looks for */
    uint32_t together_scope;
    bool fresh; /* fresh data decided a borderline result: log_e and p are of these data */
    double first_log_e, first_p;   /* of all earlier data */
    /* of a FAIL or LOSSY on a single fixture; otherwise its kind is NULL */
    spec_reproducer reproducer;
    bool of_state; /* the tokens after the reproducer's state alone show it */
    spec_hint hint[3];
    int n_hints;
    /* of a FAIL on an ordinary fixture: the values of the design that it needs: with one of them
     * replaced it does not show */
    const char *needed[SPEC_DESIGN_DIMENSIONS]; /* their names */
    int n_needed;
    char needed_why[120]; /* if there are none: why, a clause; empty without hints */
    /* of a FAIL: an order of filters other than the declared one under which the sampler passes the
     * fixture; or NULL */
    const char *order;
    char reason[SPEC_VALIDATE_REASON]; /* one line */
    /* After a FAIL by a test of how requests depend on each other: the result of a second run that
     * judges each request by itself (plan.dependent). */
    struct {
        bool suspected, asked; /* the run is due; it has ended */
        spec_validate_verdict verdict;
        uint64_t draws;
        double log_e, p;
        /* before: how requests depend, if `reason` does not say it */
        char reason[SPEC_VALIDATE_REASON];
    } each;
} spec_validation;

/* GSL_EINVAL for an unknown sampler, fixture or test; GSL_EFAILED for a broken sampler: crashed,
 * hung, or answered nonsense. Neither is a verdict. */
int spec_validate(spec_validation *ret, const char *subject, const spec_validate_plan *plan,
                  spec_error *error);
void spec_validation_free(spec_validation *validation);

/* Fixture i of the plan: first those of the table, then opt_more; NULL after the last. */
const spec_fixture_kind *spec_validate_fixture(const spec_validate_plan *plan, int i);

/* Largest vocabulary that was run, tokens. */
int spec_validate_largest_vocab(const spec_validation *validation);

/* The largest TV that counts as detectable. */
double spec_validate_limit(const spec_validate_plan *plan);

/* Checks the names of plan->opt_only; GSL_EINVAL for the first unknown one, with the nearest name.
 */
int spec_validate_check_only(const spec_validate_plan *plan, spec_error *error);

#endif
