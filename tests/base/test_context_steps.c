/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/context_steps.h"

#include "tests/support/support.h"

#include <string.h>

TEST(each_number_holds_from_its_length_on)
{
    static const struct {
        const char *text;
        int64_t context;
        double value;
    } known[] = {
        {"0.27", 0, 0.27},
        {"0.27", INT64_MAX, 0.27},
        {"0.8@0/0.7@4000/0.5@16000", 0, 0.8},
        {"0.8@0/0.7@4000/0.5@16000", 3999, 0.8},
        {"0.8@0/0.7@4000/0.5@16000", 4000, 0.7},
        {"0.8@0/0.7@4000/0.5@16000", 15999, 0.7},
        {"0.8@0/0.7@4000/0.5@16000", 16000, 0.5},
        {"0.8/0@1", 0, 0.8},
        {"0.8/0@1", 1, 0.0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        spec_context_steps steps;
        assert_works(spec_context_steps_parse(&steps, "of", known[i].text, 0.0, 1.0, &error));
        assert_true(spec_context_steps_at(&steps, known[i].context) == known[i].value);
    }
}

TEST(wrong_steps_are_refused)
{
    static const struct {
        const char *text, *expected;
    } bad[] = {
        {"", "of: '' is not a number from 0 to 1"},
        {"1.5", "of: '1.5' is not a number from 0 to 1"},
        {"nan", "of: 'nan' is not a number from 0 to 1"},
        {"0.8@0/", "of: '' is not a number from 0 to 1"},
        {"0.8@0/0.7", "of: '0.7' has no context length; write it as in 0.7@4000"},
        {"0.8@x", "of: 'x' is not a number of tokens"},
        {"0.8@", "of: '' is not a number of tokens"},
        {"0.8@0/0.7@4k", "of: '4k' is not a number of tokens"},
        {"0.8@5", "of: @5: context lengths must increase, starting from 0"},
        {"0.8@0/0.7@9/0.6@9", "of: @9: context lengths must increase, starting from 0"},
        {"0/0@1/0@2/0@3/0@4/0@5/0@6/0@7/0@8/0@9/0@10/0@11/0@12/0@13/0@14/0@15/0@16/0@17/0@18/0@19/"
         "0@20/0@21/0@22/0@23/0@24/0@25/0@26/0@27/0@28/0@29/0@30/0@31/0@32",
         "of: more than 32 steps"},
    };
    const spec_context_steps zero = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        spec_context_steps steps;
        spec_error error = {""};
        assert_int_equal(spec_context_steps_parse(&steps, "of", bad[i].text, 0.0, 1.0, &error),
                         GSL_EINVAL);
        if (strcmp(error.text, bad[i].expected) != 0)
            fail_msg("'%s', not '%s'", error.text, bad[i].expected);
        assert_memory_equal(&steps, &zero, sizeof zero);
    }
}
