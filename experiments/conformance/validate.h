/* validate: is this sampler lossless? Every fixture that fits it, in every scope it has, until the evidence or the
 * budget is enough; then a verdict. Fixtures and batches are run in parallel and merged in order: for a budget in draws
 * the result is the same for any number of threads. docs/conformance.md#statistics. */
#ifndef SPECLAB_VALIDATE_H
#define SPECLAB_VALIDATE_H

#include "experiments/conformance/evidence.h"

typedef enum {
    SPEC_VERDICT_PASS,         /* and every TV >= eps would have been found with the stated power */
    SPEC_VERDICT_FAIL,
    SPEC_VERDICT_LOSSY,        /* differs, as it says itself: passes, with its TV */
    SPEC_VERDICT_INCONCLUSIVE, /* not enough evidence either way */
    SPEC_VERDICTS
} spec_validate_verdict;

extern const char *const spec_validate_verdicts[]; /* "PASS", "FAIL", "LOSSY", "INCONCLUSIVE", NULL */

typedef struct {
    double alpha;        /* chance of a FAIL for a lossless sampler, over everything that is tested; 1e-6 */
    double eps;          /* TV to certify or detect; 0: whatever the budget gives, and the report says what */
    double power;        /* .9 */
    uint64_t draws;      /* budget in draws, over all fixtures; 0: the default */
    double seconds;      /* budget in time instead; 0: none */
    uint64_t seed;
    int threads;
    const char *const *opt_only; /* names of fixtures and tests, NULL-terminated; NULL: all */
    uint32_t scopes;     /* of those the sampler has; 0: all */
    spec_subject_limits limits;
    void (*progress)(void *self, const char *fixture, uint64_t draws, uint64_t budget, double log_e); /* or NULL */
    void *self;
} spec_validate_plan;

#define SPEC_VALIDATE_DRAWS 20000000ull
#define SPEC_VALIDATE_PLAN_DEFAULT                                                                                     \
    ((spec_validate_plan){.alpha = 1e-6, .power = 0.9, .draws = SPEC_VALIDATE_DRAWS, .seed = 42,                       \
                          .limits = SPEC_SUBJECT_LIMITS_DEFAULT})

/* One fixture in one scope. */
typedef struct {
    const spec_fixture_kind *kind;
    uint32_t scope;
    const char *skipped;          /* why it was not run, or NULL */
    uint64_t rounds, draws;
    double log_e, p;              /* of its tests together: the mean e; the smallest p after Holm over all */
    double detectable;            /* TV */
    double tv;                    /* estimate of the largest TV of a state, bias taken off; 0 where none shows */
    double accepted;              /* mean n_accepted a round */
    spec_finding finding[SPEC_TESTS_MAX];
    int n_findings;
    spec_hard hard;
} spec_validate_result;

/* The smallest case that shows the difference: one state's row, what should come and what came. */
typedef struct {
    const spec_fixture_kind *kind;
    uint32_t scope;
    int state, vocab;
    int n_shown;                  /* the tokens that differ most, at most 16 */
    int32_t token[16];
    double target[16], draft[16], expected[16], seen[16]; /* frequencies */
    uint64_t n;
    spec_exhibit round;           /* one round of it: rows, draft, seed */
    const char *test;             /* the test that found it */
} spec_reproducer;

/* A known mistake whose law is near to what was seen. */
typedef struct {
    const char *name, *where; /* of the catalogue (mutants.h) */
    double log_likelihood;    /* of what was seen, a draw, less that of the best */
} spec_hint;

typedef struct {
    spec_validate_verdict verdict;
    spec_validate_plan plan;
    spec_sampler_about about;
    const char *subject;           /* the caller's */
    spec_validate_result *result;  /* (n_results) */
    int n_results;
    uint64_t rounds, draws;
    double seconds, log_e, p, detectable;
    bool fresh;                    /* a borderline result was decided on fresh data */
    spec_reproducer reproducer;    /* of a FAIL */
    spec_hint hint[3];
    int n_hints;
    char reason[256];              /* one line */
} spec_validation;

/* GSL_EINVAL for a subject, a fixture or a test that there is not; GSL_EFAILED for a sampler that is broken: crashed,
 * hung, talked nonsense. Neither is a verdict. */
int spec_validate(spec_validation *ret, const char *subject, const spec_validate_plan *plan, spec_error *error);
void spec_validation_free(spec_validation *validation);

/* The exact sampler `rule` n times, with fresh seeds: the false alarms, and the p- and e-values of every test.
 * ret_p (n), ret_log_e (n): of the whole of each run. */
int spec_validate_calibrate(int *ret_failed, double *ret_p, double *ret_log_e, const char *subject, int n,
                            const spec_validate_plan *plan, spec_error *error);

#endif
