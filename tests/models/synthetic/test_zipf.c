/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/models/open_model.h"
#include "tests/support/support.h"

TEST(weights_fall_as_a_power)
{
    OWNED(opened) o = open_model("zipf?V=1000&s=1.1", NULL);
    const double *row = row_after(&o, NULL, 0);
    assert_normalised(row, 1000);
    long double harmonic = 0.0L;
    for (int i = 1; i <= 1000; i++) harmonic += powl(i, -1.1L);
    for (int i = 0; i < 1000; i++)
        assert_true(fabsl(row[i] * harmonic * powl(i + 1, 1.1L) - 1.0L) < 1e-14L);
}

/* s = 2, V = 3: 1, 1/4, 1/9, of 49/36. */
TEST(a_small_row_is_known_by_hand)
{
    OWNED(opened) o = open_model("zipf?V=3&s=2", NULL);
    const double *row = row_after(&o, NULL, 0);
    assert_true(fabs(row[0] - 36.0 / 49.0) < 2e-16 && fabs(row[1] - 9.0 / 49.0) < 1e-16 &&
                fabs(row[2] - 4.0 / 49.0) < 1e-16);
}

TEST(the_edges_are_rows_too)
{
    static const char *const specs[] =
        {"zipf?V=1",    "zipf?V=1048576&s=1", "zipf?V=1048576&s=0", "zipf?V=7&s=100", "zipf",
         "uniform?V=1", "uniform?V=1048576",  "uniform?V=3",        "uniform",        NULL};
    for (int i = 0; specs[i] != NULL; i++) {
        OWNED(opened) o = open_model(specs[i], NULL);
        assert_int_equal(o.model->order, 0);
        assert_normalised(row_after(&o, NULL, 0), o.model->vocab);
    }
}

TEST(at_exponent_zero_zipf_is_uniform)
{
    opened zipf = open_model("zipf?V=27&s=0", NULL), uniform = open_model("uniform?V=27", NULL);
    assert_memory_equal(row_after(&zipf, NULL, 0), row_after(&uniform, NULL, 0),
                        27 * sizeof(double));
    opened_free(&zipf);
    opened_free(&uniform);
}

TEST(sizes_out_of_range_are_refused)
{
    assert_refused("zipf?V=0", NULL, "V=0 is not a whole number between 1 and 1048576");
    assert_refused("zipf?V=1048577", NULL, "between 1 and 1048576");
    assert_refused("zipf?V=-5", NULL, "between");
    assert_refused("uniform?V=2000000000", NULL, "between");
    assert_refused("uniform?V=99999999999999999999", NULL, "between");
    assert_refused("uniform?V=", NULL, "whole number");
    assert_refused("zipf?s=-1", NULL, "between 0 and 100");
    assert_refused("zipf?s=1e3", NULL, "between 0 and 100");
    assert_refused("zipf:5", NULL, "takes no ':5'");
}
