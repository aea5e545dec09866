/* SPDX-License-Identifier: GPL-3.0-or-later */
/* validate: the conformance test: is this sampler lossless?
 * It runs every fixture that suits the sampler, in each of its scopes, until the evidence is
 * sufficient or the budget is used up, and gives a verdict. Batches run in parallel and are merged
 * in order, so for a budget in draws the result is the same for any number of threads.
 * docs/conformance.md#statistics. */
#ifndef SPECLAB_VALIDATE_H
#define SPECLAB_VALIDATE_H

#include "base/thread_pool.h"
#include "tools/validate/evidence/detectable.h"
#include "tools/validate/fixtures/design.h"
#include "tools/validate/reproducer.h"

typedef enum {
    SPEC_VERDICT_PASS, /* also, every TV >= eps would have been detected with the stated power */
    SPEC_VERDICT_FAIL,
    SPEC_VERDICT_LOSSY,        /* differs from the target, as it declares: passes, with its TV */
    SPEC_VERDICT_INCONCLUSIVE, /* not enough evidence either way */
    SPEC_VERDICT_DEPENDENT,    /* each request is right, but requests of a call depend on each
                                * other */
    SPEC_VERDICTS
} spec_validate_verdict;

struct spec_validation;

/* "PASS", "FAIL", "LOSSY", "INCONCLUSIVE", "DEPENDENT", NULL */
extern const char *const spec_validate_verdicts[];

typedef struct {
    /* probability of a FAIL for a lossless sampler, over all tests; default 1e-6 */
    double false_alarm_rate;
    double eps; /* TV that a PASS rules out; 0: SPEC_VALIDATE_TELLING */
    double power;        /* default .9 */
    uint64_t draws; /* budget in tokens of full rounds, over all fixtures; 0: SPEC_VALIDATE_DRAWS */
    double seconds;      /* budget in seconds instead; 0: none */
    uint64_t seed;
    spec_thread_pool *opt_pool;
    const char *const *opt_only; /* names of fixtures and tests, NULL-terminated; NULL: all */
    const spec_fixture_kind *const
        *opt_more;        /* fixtures besides those of the table, NULL-terminated; NULL: none */
    const char *opt_rows; /* the file of rows that these fixtures come from, for the report */
    double temperature;   /* temperature of a trace of responses (trace_read.h); 0: 1 */
    uint32_t scopes;     /* the sampler's scopes to test; 0: all */
    bool hints;          /* look for known mistakes that explain a FAIL */
    bool asks_each;      /* find out whether a FAIL is DEPENDENT, judging each request alone */
    /* Requests of a call may depend on each other: calls have at most SPEC_VALIDATE_CALL rounds,
     * and only one of them, chosen at random, is counted. */
    bool dependent;
    spec_subject_limits limits;
    /* continue in growing stages until a FAIL, limits.opt_stop or the end of the time. If stopped,
     * the run gives its verdict so far; without `endless` it fails with GSL_EFAILED,
     * "interrupted" */
    bool endless;
    void (*progress)(void *self, const char *fixture, uint64_t draws, uint64_t budget,
                     double log_e); /* may be NULL */
    void (*stage)(void *self, const struct spec_validation *so_far,
                  int stage); /* called after each stage; may be NULL */
    void (*phase)(void *self, const char *what); /* called before hints are sought; may be NULL */
    void *self;
} spec_validate_plan;

#define SPEC_VALIDATE_DRAWS 20000000ull

/* We call a place covered if its detectable total variation is at most SPEC_VALIDATE_TELLING, or
 * plan.eps if given. A PASS requires this for the first token of a round, and in scope S for a
 * text, on the fixtures that are judged. These are the fixtures of the table with at most
 * SPEC_VALIDATE_VOCAB tokens, or all if none of these was run. */
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
    /* a call exceeded limits.timeout. The fixture was left out from then on, but its earlier data
     * are used */
    bool late;
    uint64_t rounds, draws;       /* draws: tokens of the sampler */
    uint64_t asked; /* tokens of full rounds asked for, as budgets count them */
    /* over all its tests: log of the mean e-value; smallest p-value, after Holm over all results */
    double log_e, p;
    /* from the first look. For a trace, SPEC_PLACE_TEXT has the TV between the PITs and uniform */
    spec_detectable detectable[SPEC_PLACES];
    double tv; /* estimated largest TV of a state, corrected for bias; 0: no difference shows */
    double accepted;              /* mean n_accepted per round */
    spec_finding finding[SPEC_TESTS_MAX];
    int n_findings;
    spec_hard hard;
    bool failed; /* this result by itself is a FAIL, or the reproducer shows it */
    bool judged;                  /* a PASS requires detectability on this fixture */
    uint64_t budget;              /* planned budget, tokens of full rounds */
} spec_validate_result;

/* One place over all fixtures that were run. */
typedef struct {
    /* in how many results the sampler reaches the place, and in how many of these the detectable TV
     * is within the limit */
    int reached, covered;
    /* detectable TV: median over the results reached, largest over the results covered; NaN: there
     * are none */
    double median, worst;
    int worst_result;     /* -1: none */
} spec_validate_power;

/* A known mistake whose law is close to the sampler's. */
typedef struct {
    const char *name, *where; /* its entry in the catalogue (mutants.h) */
    double log_likelihood;    /* log likelihood per draw, relative to the best hint */
} spec_hint;

typedef struct spec_validation {
    spec_validate_verdict verdict;
    spec_validate_plan plan;
    spec_sampler_about about;
    const char *subject;           /* the spec; owned by the caller */
    spec_validate_result *result;  /* (n_results) */
    int n_results;
    uint64_t rounds, draws;
    double seconds, log_e, p;
    spec_validate_power power[SPEC_PLACES];
    bool trace;                    /* the run validated a trace (trace.h) */
    bool stopped;                  /* limits.opt_stop ended an endless run */
    bool alone; /* several instances gave the same answers to different seeds, so only one was
                 * used */
    /* the test over all fixtures together, if it shows more than any single fixture; or NULL */
    const char *together;
    const char *together_reason; /* what that test looks for */
    uint32_t together_scope;
    bool fresh; /* fresh data decided a borderline result: log_e and p are from these data */
    double first_log_e, first_p;   /* the same, from all earlier data */
    /* the case of a FAIL or LOSSY on a single fixture; otherwise its kind is NULL */
    spec_reproducer reproducer;
    bool of_state; /* the tokens after the reproducer's state show it by themselves */
    spec_hint hint[3];
    int n_hints;
    /* for a FAIL on an ordinary fixture, the values of the design that it needs: if any of them is
     * replaced, the mistake does not show */
    const char *needed[SPEC_DESIGN_DIMENSIONS]; /* their names */
    int n_needed;
    char needed_why[160]; /* if there are none, a sentence that says why; empty without hints */
    /* for a FAIL, another order of filters than the declared one, with which the sampler passes the
     * fixture; or NULL */
    const char *order;
    char reason[SPEC_VALIDATE_REASON]; /* one line */
    /* After a FAIL by a test of whether requests depend on each other, the result of a second run
     * that judges each request by itself (plan.dependent). */
    struct {
        bool suspected, asked; /* this run is due; this run has ended */
        spec_validate_verdict verdict;
        uint64_t draws;
        double log_e, p;
        /* before the run: how requests depend, if `reason` does not say so */
        char reason[SPEC_VALIDATE_REASON];
    } each;
} spec_validation;

/* Validates a sampler. Returns GSL_EINVAL for an unknown sampler, fixture or test; GSL_EFAILED for
 * a broken sampler, which crashed, hung, or answered nonsense. Neither is a verdict. */
int spec_validate(spec_validation *ret, const char *subject, const spec_validate_plan *plan,
                  spec_error *error);
void spec_validation_free(spec_validation *validation);

/* Returns fixture i of the plan, in the order of the table, followed by opt_more; NULL after the
 * last. */
const spec_fixture_kind *spec_validate_fixture(const spec_validate_plan *plan, int i);

/* Returns the largest vocabulary that was run, in tokens. */
int spec_validate_largest_vocab(const spec_validation *validation);

/* Returns the largest detectable TV with which a place is covered. */
double spec_validate_limit(const spec_validate_plan *plan);

/* Checks the names of plan->opt_only. Returns GSL_EINVAL for the first unknown one, with the
 * nearest name. */
int spec_validate_check_only(const spec_validate_plan *plan, spec_error *error);

#endif
