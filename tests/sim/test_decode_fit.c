/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/decode_fit.h"

#include "models/model_open.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include <string.h>

typedef struct {
    const char *rule, *drafting, *policy;
    bool rows_by_round; /* the draft is a head or a block draft */
    bool claim;        /* the rule's claim holds */
    const char *opt_says;
} way;

#define WITHOUT "tree?widths=2.1&siblings=without"

TEST(what_does_not_fit_is_refused_with_its_reason)
{
    static const way ways[] = {
        {"token", "chain", "confidence", true, true, NULL},
        {"block-greedy", "chain", "heuristic", false, true, NULL},
        {"block-greedy", "chain", "confidence", false, false,
         "must know the length of a draft before"},
        {"block-greedy", "chain", "average", false, false, "this length may fall by at most 1: "},
        {"block-greedy", "chain", "probe", false, true, NULL},
        {"block-greedy", WITHOUT, "fixed", false, false, "must know the length of a draft before"},
        {"block-greedy", "chain", "fixed", true, false, "needs a draft whose rows do not change"},
        {"rrsw", WITHOUT, "fixed", true, true, NULL},
        {"rrs", WITHOUT, "fixed", false, false,
         "does not support the without siblings of draft strategy '"},
        {"gumbel?seed=7", "gumbel?seed=7", "fixed", false, true, NULL},
        {"gumbel?seed=none", "gumbel?seed=7", "fixed", false, false,
         "'gumbel?seed=7' shares its noise with the rule, and rule 'gumbel?seed=none' has no seed"},
        {"rrs", "tree?n=2", "confidence", false, true, "reads the tokens of a chain"},
        {"rrs", "tree?n=64", "fixed", false, true, "to depth 2 has more than"},
    };
    OWNED_MODEL *draft;
    assert_int_equal(
        spec_model_open(&draft, "markov?V=3&order=1", NULL, spec_test_context(1), NULL),
        GSL_SUCCESS);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const way *w = &ways[i];
        OWNED(spec_rule) rule;
        OWNED(spec_policy) policy;
        OWNED(spec_drafter) drafter;
        spec_error error = {""};
        assert_works(spec_rule_init(&rule, w->rule, &error));
        assert_works(spec_policy_init(&policy, w->policy, 2, &error));
        assert_works(spec_drafter_init(&drafter, w->drafting, draft, &error));
        drafter.rows_by_round = w->rows_by_round;
        const int status =
            spec_decode_fit_check(&rule, w->rule, &drafter, w->drafting, &policy, &error);
        assert_int_equal(status, w->opt_says == NULL ? GSL_SUCCESS : GSL_EINVAL);
        if (w->opt_says != NULL && strstr(error.text, w->opt_says) == NULL)
            fail_msg("'%s' lacks '%s'", error.text, w->opt_says);
        assert_int_equal(spec_decode_fit_allows(&rule, &drafter, &policy), w->claim);
    }
}
