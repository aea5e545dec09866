/* validate: is this sampler lossless? Every fixture that fits it, in every scope it has, until the evidence or the
 * budget is enough; then a verdict. Fixtures and batches are run in parallel and merged in order: for a budget in draws
 * the result is the same for any number of threads. docs/conformance.md#statistics. */
#ifndef SPECLAB_VALIDATE_H
#define SPECLAB_VALIDATE_H

#include "conformance/reproducer.h"

typedef enum {
    SPEC_VERDICT_PASS,         /* and every TV >= eps would have been found with the stated power */
    SPEC_VERDICT_FAIL,
    SPEC_VERDICT_LOSSY,        /* differs, as it says itself: passes, with its TV */
    SPEC_VERDICT_INCONCLUSIVE, /* not enough evidence either way */
    SPEC_VERDICTS
} spec_validate_verdict;

struct spec_validation;

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
    const spec_fixture_kind *const *opt_more; /* fixtures beside those of the table, NULL-terminated; NULL: none */
    const char *opt_rows; /* the file of rows that these come from, as the report is to tell it */
    uint32_t scopes;     /* of those the sampler has; 0: all */
    bool hints;          /* look for the known mistakes that are near to a FAIL */
    spec_subject_limits limits;
    bool endless;        /* go on, in ever larger stages, until a FAIL, limits.opt_stop or the time is over; a stop
                            gives the verdict so far. Otherwise a stop is GSL_EFAILED, "interrupted" */
    void (*progress)(void *self, const char *fixture, uint64_t draws, uint64_t budget, double log_e); /* or NULL */
    void (*stage)(void *self, const struct spec_validation *so_far, int stage); /* after each stage; or NULL */
    void *self;
} spec_validate_plan;

#define SPEC_VALIDATE_DRAWS 20000000ull
#define SPEC_VALIDATE_PLAN_DEFAULT                                                                                     \
    ((spec_validate_plan){.alpha = 1e-6, .power = 0.9, .draws = SPEC_VALIDATE_DRAWS, .seed = 42, .hints = true,        \
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
    bool failed;                  /* this result alone is enough for a FAIL, or the reproducer is of it */
    uint64_t budget;              /* draws that it was to have */
} spec_validate_result;

/* A known mistake whose law is near to what was seen. */
typedef struct {
    const char *name, *where; /* of the catalogue (mutants.h) */
    double log_likelihood;    /* of what was seen, a draw, less that of the best */
} spec_hint;

typedef struct spec_validation {
    spec_validate_verdict verdict;
    spec_validate_plan plan;
    spec_sampler_about about;
    const char *subject;           /* the caller's */
    spec_validate_result *result;  /* (n_results) */
    int n_results;
    uint64_t rounds, draws;
    double seconds, log_e, p, detectable;
    bool trace;                    /* of records, not of a run (trace.h) */
    bool stopped;                  /* by limits.opt_stop, of an endless run */
    const char *together;          /* the test that shows most over all fixtures together, where that is more than any
                                      fixture shows alone; or NULL */
    bool fresh;                    /* a borderline result was decided on fresh data */
    spec_reproducer reproducer;    /* of a FAIL or LOSSY; else its kind is NULL */
    spec_hint hint[3];
    int n_hints;
    char reason[256];              /* one line */
} spec_validation;

/* GSL_EINVAL for a subject, a fixture or a test that there is not; GSL_EFAILED for a sampler that is broken: crashed,
 * hung, talked nonsense. Neither is a verdict. */
int spec_validate(spec_validation *ret, const char *subject, const spec_validate_plan *plan, spec_error *error);
void spec_validation_free(spec_validation *validation);

/* Fixture i of the plan: of the table, then of opt_more; NULL after the last. */
const spec_fixture_kind *spec_validate_fixture(const spec_validate_plan *plan, int i);

/* Are all names of plan->opt_only there? GSL_EINVAL naming the first that is not, and the nearest to it. */
int spec_validate_check_only(const spec_validate_plan *plan, spec_error *error);

#endif
