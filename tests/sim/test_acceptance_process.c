/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/acceptance.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static spec_process process_of(const char *spec, double alpha)
{
    spec_process process;
    assert_works(spec_acceptance_process_init(&process, spec, alpha, &error));
    return process;
}

TEST(specs_are_read)
{
    spec_process process = process_of("iid", 0.27);
    assert_true(process.kind == SPEC_PROCESS_IID && process.alpha == 0.27);
    process = process_of("decay", 0.27);
    assert_true(process.kind == SPEC_PROCESS_DECAY && process.alpha == 0.27 &&
                process.decay == 0.95);
    process = process_of("decay?rate=0.2385", 1.0);
    assert_true(process.decay == 0.2385);
    process = process_of("markov", 0.27);
    assert_true(process.kind == SPEC_PROCESS_MARKOV && process.rho == 0.5 && process.spread == 0.2);
    process = process_of("markov?spread=0.1&rho=-0.27", 0.9);
    assert_true(process.rho == -0.27 && process.spread == 0.1 && process.alpha == 0.9);
    process = process_of("markov?spread=0.3", 0.7); /* 0.7 + 0.3 and 0.3 - 0.3 are not exact */
    process = process_of("markov?spread=0.3", 0.3);
    assert_true(process.spread == 0.3);
    process = process_of("geometric?length=3.61", NAN); /* alpha is not read */
    assert_true(process.kind == SPEC_PROCESS_GEOMETRIC && process.length == 3.61 &&
                process.alpha == 0.0 && !spec_acceptance_reads_alpha(&process));
    assert_true(process_of("minimum-variance", 2.0).length == 2.5);
    process = process_of("markov", 0.27);
    assert_true(spec_acceptance_reads_alpha(&process));
    process = process_of("rates?of=1/0.27/0.27/0", 2.0);
    assert_true(process.kind == SPEC_PROCESS_RATES && process.n_rates == 4 &&
                process.rate[0] == 1.0 && process.rate[1] == 0.27 && process.rate[2] == 0.27 &&
                process.rate[3] == 0.0 && !spec_acceptance_reads_alpha(&process));
}

TEST(lengths_and_rates_must_fit_into_a_round)
{
    static const struct {
        const char *spec;
        int K;
        bool fits;
    } row[] = {{"geometric?length=4", 3, true},
               {"geometric?length=4.0001", 3, false},
               {"minimum-variance?length=1", 0, true},
               {"minimum-variance", 1, false},
               {"rounded-normal?length=200", 3, true},
               {"iid", 0, true},
               {"minimum-variance?length=257", 256, true},
               {"context?of=0.5", 1, false},
               {"rates?of=0.5/0.5", 2, true},
               {"rates?of=0.5/0.5", 3, false}};
    for (size_t i = 0; i < LENGTH(row); i++) {
        const spec_process process = process_of(row[i].spec, 0.5);
        spec_error error = {""};
        const int status = spec_acceptance_process_check(&process, row[i].K, &error);
        assert_int_equal(status, row[i].fits ? GSL_SUCCESS : GSL_EDOM);
        if (!row[i].fits)
            assert_non_null(strstr(error.text, process.kind == SPEC_PROCESS_RATES
                                                   ? "acceptance is given to depth 2, but K is 3"
                                               : process.kind == SPEC_PROCESS_CONTEXT
                                                   ? "only serve has requests"
                                                   : "the tokens of a round of K = "));
    }
}

TEST(bad_specs_get_one_clear_line)
{
    static const struct {
        const char *spec, *line;
        double alpha;
        int status;
    } bad[] = {
        {"iid", "alpha", -1e-300, GSL_EDOM},
        {"iid", "alpha", 1.0 + 0x1p-52, GSL_EDOM},
        {"iid", "alpha", NAN, GSL_EDOM},
        {"iid", "alpha", INFINITY, GSL_EDOM},
        {"idd", "'iid'", 0.5, GSL_EINVAL},
        {"markvo", "'markov'", 0.5, GSL_EINVAL},
        {"zipf", "no process is named 'zipf'", 0.5, GSL_EINVAL},
        {"geometric?length=0.9", "length", 0.5, 0},
        {"geometric?length=258", "length", 0.5, 0},
        {"rates?of=0.5/0.6", "rises to 0.6", 0.5, GSL_EDOM},
        {"rates?of=1.01", "'1.01' is not a number from 0 to 1", 0.5, GSL_EINVAL},
        {"rates?of=0.5/-0.1", "'-0.1' is not a number", 0.5, GSL_EINVAL},
        {"rates?of=0.5/", "'' is not a number", 0.5, GSL_EINVAL},
        {"rates?of=0.8.5", "'0.8.5' is not a number", 0.5, GSL_EINVAL},
        {"rates?of=nan", "'nan' is not a number", 0.5, GSL_EINVAL},
        {"rates?length=2", "length", 0.5, GSL_EINVAL},
        {"rates?of=0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0"
         "/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0",
         "rates: more than 64", 0.5, GSL_EINVAL},
        {"context?of=0.8@5", "context: of: @5: context lengths must increase", 0.5, GSL_EINVAL},
        {"context?of=1.8", "context: of: '1.8' is not a number from 0 to 1", 0.5, GSL_EINVAL},
        {"minimum-variance?alpha=0.5", "alpha", 0.5, GSL_EINVAL},
        {"rounded-normal?length=nan", "length", 0.5, 0},
        {"", "", 0.5, GSL_EINVAL},
        {"iid?rate=0.5", "rate", 0.5, GSL_EINVAL},
        {"decay?rat=0.5", "did you mean 'rate'?", 0.5, GSL_EINVAL},
        {"decay?rate=1.1", "rate", 0.5, 0},
        {"decay?rate=-0.1", "rate", 0.5, 0},
        {"decay?rate=x", "rate", 0.5, 0},
        {"decay?rate=nan", "rate", 0.5, 0},
        {"markov?rho=1.01", "rho", 0.5, 0},
        {"markov?rho=-1.01", "rho", 0.5, 0},
        {"markov?spread=-0.1", "spread", 0.5, 0},
        {"markov?spread=0.3", "spread may be at most 0.2", 0.8, GSL_EDOM},
        {"markov?spread=0.3", "spread may be at most 0.1", 0.1, GSL_EDOM},
        {"markov", "spread", 0.9, GSL_EDOM},
    };
    const spec_process zero = {0};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        spec_process process;
        memset(&process, 1, sizeof process);
        spec_error error = {""};
        const int status =
            spec_acceptance_process_init(&process, bad[i].spec, bad[i].alpha, &error);
        if (status == GSL_SUCCESS || (bad[i].status != 0 && status != bad[i].status)) {
            fail_msg("\"%s\" at %g: status %d", bad[i].spec, bad[i].alpha, status);
        }
        if (strstr(error.text, bad[i].line) == NULL || error.text[0] == '\0' ||
            strchr(error.text, '\n') != NULL) {
            fail_msg("\"%s\": \"%s\" should mention %s", bad[i].spec, error.text, bad[i].line);
        }
        assert_memory_equal(&process, &zero, sizeof zero);
        assert_true(spec_acceptance_process_init(&process, bad[i].spec, bad[i].alpha, NULL) ==
                    status);
    }
}

TEST(every_usage_opens_and_shows_the_defaults)
{
    for (int i = 0; spec_process_usages[i] != NULL; i++) {
        char usage[128];
        snprintf(usage, sizeof usage, "%s", spec_process_usages[i]);
        char *tab = strchr(usage, '\t');
        assert_non_null(tab);
        *tab = '\0';
        if (strchr(usage, ':') != NULL) continue; /* of a file: test_acceptance_profile.c */
        const spec_process process = process_of(usage, 0.6);
        assert_int_equal((int)process.kind, i);
        usage[strcspn(usage, "?")] = '\0';
        const spec_process bare = process_of(usage, 0.6);
        assert_memory_equal(&process, &bare, sizeof bare); /* the usage shows the defaults */
    }
}
