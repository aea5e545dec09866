/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_open.h"
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/bench/machine_load.h"
#include "tools/bench/timing_trust.h"

#include <omp.h>
#include <string.h>

/* With one thread, the time during which it did not compute is lost; with more, the processor use
 * of others beyond the idle processors. */
TEST(time_is_lost_to_others_by_the_formula)
{
    static const struct {
        int threads, processors;
        bool card;
        double wall, processor, busy, share, others, lost;
    } line[] = {
        {1, 2, false, 4.0, 3.9, 3.99, 0.97, 0.015, 0.03},
        {1, 2, false, 4.0, 2.6, 7.99, 0.65, 1.34, 0.35},
        {1, 2, false, 4.0, 4.0, 4.02, 1.002, 0.0,
         0.0}, /* separate clocks; .02 s may be the error of the counts */
        {1, 8, false, 4.0, 4.0, 12.03, 1.0, 2.0, 0.0}, /* idle processors remain */
        {2, 2, false, 4.0, 7.8, 7.93, 1.95, 0.025, 0.0125},
        {2, 2, false, 4.0, 4.4, 8.03, 1.1, 0.9, 0.45},
        {2, 8, false, 4.0, 8.0, 20.03, 2.0, 3.0, 0.0},
        {1, 2, true, 4.0, 0.4, 0.53, 0.1, 0.025, 0.0}, /* the process waits for the GPU */
        {1, 2, true, 4.0, 0.4, 7.63, 0.1, 1.8, 0.8},
        {1, 2, false, 0.09, 0.05, 0.2, 0.6, NAN, 0.4}, /* the run is too short to measure others */
        {2, 2, false, 0.09, 0.05, 0.2, 0.6, NAN, NAN},
        {1, 2, false, 4.0, 3.9, NAN, NAN, NAN, NAN},
        {2, 0, false, NAN, NAN, NAN, NAN, NAN, NAN},
    };
    for (size_t i = 0; i < sizeof line / sizeof line[0]; i++) {
        spec_timing_trust trust = {.threads = line[i].threads,
                                   .processors = line[i].processors,
                                   .waits_on_card = line[i].card};
        spec_timing_trust_load(&trust, line[i].wall, line[i].processor, line[i].busy,
                               line[i].share);
        assert_near(trust.others, line[i].others, 1e-12);
        assert_near(trust.lost, line[i].lost, 1e-12);
    }
}

TEST(a_spread_is_that_of_the_middle_half)
{
    double value[] = {9.0, 1.0, 3.0, 2.0, 100.0}; /* 1 2 3 9 100 */
    assert_near(spec_timing_spread(value, 5), (9.0 - 2.0) / 3.0, 1e-15);
    assert_near(spec_timing_spread((double[]){4.0, 4.0, 4.0, 4.0}, 4), 0.0, 0.0);
    assert_nan(spec_timing_spread((double[]){1.0, 2.0, 3.0}, 3));
    assert_nan(spec_timing_spread((double[]){1.0, NAN, 3.0, 4.0}, 4));
}

static const spec_timing_trust quiet = {.threads = 2,
                                        .processors = 4,
                                        .others = 0.05,
                                        .lost = 0.02,
                                        .spread = 0.1,
                                        .speed_spread = 0.01};

TEST(a_quiet_run_is_trusted_and_needs_no_line)
{
    char line[256];
    spec_timing_trust unknown = {
        .threads = 2, .others = NAN, .lost = NAN, .spread = NAN, .speed_spread = NAN};
    assert_true(spec_timing_trusted(&quiet) && spec_timing_trusted(&unknown));
    assert_false(spec_timing_trust_line(line, sizeof line, &quiet, NULL, "more --texts", true));
    assert_false(spec_timing_trust_line(line, sizeof line, &unknown, NULL, "more --texts", true));
    assert_string_equal(line, "");
    spec_timing_trust limit = quiet; /* still trusted at the limits */
    limit.lost = SPEC_TRUST_LOST;
    limit.spread = SPEC_TRUST_SPREAD;
    limit.speed_spread = SPEC_TRUST_SPEED;
    assert_true(spec_timing_trusted(&limit));
}

TEST(every_reason_has_its_remedy_in_one_line)
{
    static const struct {
        double lost, others, spread, speed;
        int threads;
        bool card, processor, clock;
        const char *opt_withheld, *says;
    } line[] = {
        {0.3, 2.6, 0.0, 0.0, 2, false, false, true, NULL,
         "warning: this run lost 30 % of its time to other programs, which took 2.6 of 4 "
         "processors: close other programs, or "
         "use --clock processor --threads 1"},
        {0.3, 2.6, 0.0, 0.0, 2, false, false, false, NULL,
         "warning: this run lost 30 % of its time to other programs, which took 2.6 of 4 "
         "processors: close other programs, or "
         "use --threads 1"},
        {0.3, 2.1, 0.0, 0.0, 4, false, false, true, NULL,
         "warning: this run lost 30 % of its time to other programs, which took 2.1 of 4 "
         "processors: close other programs, or "
         "use --threads 2, or use --clock processor --threads 1"},
        {0.3, 3.2, 0.0, 0.0, 1, true, false, true, NULL,
         "warning: this run lost 30 % of its time to other programs, which took 3.2 of 4 "
         "processors: close other programs"},
        {0.3, NAN, 0.0, 0.0, 1, false, false, true, NULL,
         "warning: this run lost 30 % of its time to other programs: close other programs, or use "
         "--clock processor --threads "
         "1"},
        {0.3, 2.6, 0.0, 0.0, 1, false, true, true, NULL,
         ""}, /* measured by the processor's clock, nothing is lost */
        {0.3, 2.6, 0.8, 0.0, 1, false, true, true, NULL,
         "warning: the time of a plain token varies by 80 %: give more --texts"},
        {0.0, 0.0, 0.0, 0.12, 1, false, false, true, NULL,
         "warning: the processor's speed varies by 12 %: fix the processor's frequency"},
        {0.0, 0.0, 0.8, 0.12, 1, false, false, true, NULL,
         "warning: the time of a plain token varies by 80 %; the processor's speed varies by 12 %: "
         "fix the processor's "
         "frequency, or give more --texts"},
        {0.0, 0.0, 0.0, 0.0, 1, false, false, true, "c", "warning: withheld: c: give more --texts"},
    };
    for (size_t i = 0; i < sizeof line / sizeof line[0]; i++) {
        const spec_timing_trust trust = {.threads = line[i].threads,
                                         .processors = 4,
                                         .waits_on_card = line[i].card,
                                         .processor_clock = line[i].processor,
                                         .others = line[i].others,
                                         .lost = line[i].lost,
                                         .spread = line[i].spread,
                                         .speed_spread = line[i].speed};
        char got[512];
        const bool said = spec_timing_trust_line(got, sizeof got, &trust, line[i].opt_withheld,
                                                 "more --texts", line[i].clock);
        assert_string_equal(got, line[i].says);
        assert_int_equal(said, line[i].says[0] != '\0');
        assert_int_equal(spec_timing_trusted(&trust), !said || line[i].opt_withheld != NULL);
        assert_null(strchr(got, '\n'));
    }
    char cut[20]; /* a short buffer is filled and terminated */
    assert_true(
        spec_timing_trust_line(cut, sizeof cut, &quiet, "everything there is", "more", true));
    assert_string_equal(cut, "warning: withheld: ");
}

/* Transformers on the processor use a thread pool; other models have one thread. */
TEST(threads_are_those_of_transformers)
{
    spec_model *transformer, *zipf;
    spec_timing_trust trust;
    const char *spec = "random?dim=8&layers=1&heads=1&ffn=8&vocab=9&context=8&type=f32";
    assert_int_equal(spec_model_open(&transformer, spec, NULL, spec_test_context(0), NULL),
                     GSL_SUCCESS);
    assert_int_equal(spec_model_open(&zipf, "zipf?V=9", NULL, spec_test_context(0), NULL),
                     GSL_SUCCESS);
    spec_timing_trust_of_models(&trust, zipf, NULL);
    assert_true(trust.threads == 1 && !trust.waits_on_card);
    spec_timing_trust_of_models(&trust, zipf, transformer);
    assert_true(trust.threads == omp_get_max_threads() && !trust.waits_on_card);
    spec_model_close(zipf);
    spec_model_close(transformer);
}

/* Readings of this machine are plausible, for any load. */
TEST(this_machine_can_be_read)
{
    const spec_machine_load load = spec_machine_load_here(), off = {.read = NULL};
    const double busy = spec_machine_load_busy(&load);
    const spec_load_reading a = spec_machine_load_read(&load);
    const double spin = spec_machine_load_spin(&load);
    const spec_load_reading b = spec_machine_load_read(&load);
    assert_true(load.processors >= 1 && spin > 0.0 && spin < 1.0);
    assert_true(b.wall - a.wall >= spin && b.processor - a.processor >= spin * 0.9);
    assert_true(b.switched >= a.switched);
    assert_true(isnan(busy) || spec_machine_load_busy(&load) >= busy);
    assert_nan(spec_machine_load_read(&off).wall);
    assert_nan(spec_machine_load_busy(&off));
    assert_nan(spec_machine_load_spin(&off));
}
