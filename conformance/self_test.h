/* self_test: does speclab find the mistakes that are known? Every mutant is validated, as any sampler would be, with
 * several seeds. A mistake must FAIL, unless the table says that it is too small; an exact algorithm must not; a lossy
 * one must be called so. */
#ifndef SPECLAB_SELF_TEST_H
#define SPECLAB_SELF_TEST_H

#include "conformance/mutants/mutants_run.h"
#include "conformance/validate.h"

typedef struct {
    const spec_mutant *mutant;
    int runs, n_found;         /* how many, and how many of them said FAIL (of a lossy one: LOSSY) */
    const char *fixture;       /* that found it in the first run, and the test; NULL where none did */
    const char *test;
    double draws;              /* until then, the median of the runs; NaN: not found in most of them */
    spec_mutants_distance worst;
    bool ok;
} spec_self_test_line;

typedef struct {
    int runs;                  /* seeds for each mutant */
    uint64_t draws;            /* of each run; where nothing is to be found, one run of a sixteenth */
    uint64_t distance_draws;   /* of spec_mutants_worst; 0: it is not asked */
    uint64_t seed;
    int threads;
    const char *const *opt_only; /* mutants, NULL-terminated; NULL: all */
    void (*progress)(void *self, const spec_self_test_line *line, int done, int all); /* or NULL */
    void *self;
} spec_self_test_plan;

#define SPEC_SELF_TEST_PLAN_DEFAULT                                                                                    \
    ((spec_self_test_plan){.runs = 3, .draws = SPEC_VALIDATE_DRAWS, .distance_draws = 10000, .seed = 42})

typedef struct {
    spec_self_test_line *line; /* (n) */
    int n, n_wrong;            /* n_wrong: lines that are not ok */
} spec_self_test_result;

int spec_self_test(spec_self_test_result *ret, const spec_self_test_plan *plan, spec_error *error);
void spec_self_test_free(spec_self_test_result *result);

/* In a word or two: "found", or "MISSED"; "too small"; "lossy", or "NOT CALLED LOSSY"; "passes", or "FALSE ALARM". */
const char *spec_self_test_outcome(const spec_self_test_line *line);

#endif
