/* SPDX-License-Identifier: GPL-3.0-or-later */
/* With drafts that have another vocabulary, or a part of the target's, the law of a text is still
 the target's. */
#include "models/model_open.h"
#include "sim/output_law.h"
#include "tests/support/contexts.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <math.h>

static int enter(void **state)
{
    if (spec_folder_enter(state) != 0) return -1;
    FILE *out = fopen("text.txt", "w");
    if (out == NULL) return -1;
    fputs("a b, a! b a, b a: a! b a, a b a.", out);
    return fclose(out);
}

TEST(texts_keep_the_targets_law)
{
    static const char *const drafts[] = {"ngram:text.txt?order=2&tokens=bytes&vocabulary=target",
                                         "ngram:text.txt?order=2&tokens=chars&vocabulary=target",
                                         "ngram:text.txt?order=2&tokens=words&ids=4",
                                         "ngram:text.txt?order=2&tokens=bytes&vocabulary=target"
                                         "&ids=5&temperature=0"};
    static const struct {
        const char *drafting, *rule;
        int K;
    } ways[] = {{"chain", "token", 2}, {"greedy", "match", 2}, {"tree?n=2&siblings=iid", "rrs", 1}};
    uint64_t branches = 0;
    for (int c = 0; c < 4 * 3; c++) {
        spec_model *target, *draft;
        spec_output_law law;
        spec_error error = {""};
        const int prompt[] = {0, 1};
        if (spec_model_open(&target, "ngram:text.txt?order=3&tokens=words", NULL,
                            spec_test_context(0), &error) != GSL_SUCCESS ||
            spec_model_open(&draft, drafts[c / 3], target, spec_test_context(0), &error) !=
                GSL_SUCCESS)
            fail_msg("%s", error.text);
        const spec_decoder_config config = {.target = target,
                                            .opt_draft = draft,
                                            .drafting = ways[c % 3].drafting,
                                            .policy = "fixed",
                                            .rule = ways[c % 3].rule,
                                            .K = ways[c % 3].K,
                                            .costs = SPEC_COSTS_DEFAULT};
        assert_works(spec_output_law_init(&law, &config, prompt, 2, 2, 0, &error));
        assert_true(law.tv < 1e-12 && fabs(law.total - 1.0) < 1e-12);
        branches += law.branches;
        spec_output_law_free(&law);
        spec_model_close(draft);
        spec_model_close(target);
    }
    print_message("%llu branches\n", (unsigned long long)branches);
    assert_true(branches > 1000);
}

SUITE(.setup = enter, .teardown = spec_folder_leave);
