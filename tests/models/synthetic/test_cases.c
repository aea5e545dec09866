/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/synthetic/cases.h"

#include "tests/models/open_model.h"
#include "tests/support/support.h"

enum { V = 5, CONTEXTS = 40 };

typedef struct {
    opened target, draft;
} pair;

static pair open_pair(const char *family, int vocab, int seed)
{
    char spec[100];
    pair p;
    snprintf(spec, sizeof spec, "cases?V=%d&family=%s&seed=%d", vocab, family, seed);
    p.target = open_model(spec, NULL);
    snprintf(spec, sizeof spec, "cases?V=%d&family=%s&seed=%d&side=draft", vocab, family, seed);
    p.draft = open_model(spec, NULL);
    return p;
}

static void pair_free(pair *p)
{
    opened_free(&p->target);
    opened_free(&p->draft);
}

TEST(every_row_is_normalised)
{
    for (int family = 0; family < SPEC_CASES_FAMILIES; family++)
        for (int vocab = 1; vocab <= SPEC_CASES_VOCAB_MAX; vocab++) {
            OWNED(pair) p = open_pair(spec_cases_families[family], vocab, 27);
            for (int i = 0; i < CONTEXTS; i++) {
                const int context[] = {i % vocab, i / 7 % vocab};
                assert_normalised(row_after(&p.target, context, (size_t)(i % 3)), vocab);
                assert_normalised(row_after(&p.draft, context, (size_t)(i % 3)), vocab);
            }
        }
}

/* Checks what each family promises, for every context of two seeds. */
static void check_related(spec_cases_family family, const double *target, const double *draft)
{
    int zeros = 0;
    for (int i = 0; i < V; i++) {
        zeros += (target[i] == 0.0) + (draft[i] == 0.0);
        if (family == SPEC_CASES_EQUAL) assert_true(target[i] == draft[i]);
        if (family == SPEC_CASES_NEAR) assert_true(fabs(draft[i] / target[i] - 1.0) <= 4.5e-16);
        if (family == SPEC_CASES_DISJOINT) assert_true((target[i] == 0.0) != (draft[i] == 0.0));
        for (int j = 0; j < i && family == SPEC_CASES_LEVELS; j++) {
            const double ratio = 6.0 * target[i] / target[j]; /* ratio of two of 1, 2 and 3: a whole
                                                               * number of sixths */
            assert_true(fabs(ratio - round(ratio)) < 1e-12);
        }
    }
    if (family == SPEC_CASES_ONE_HOT) assert_int_equal(zeros, 2 * (V - 1));
    if (family == SPEC_CASES_PLAIN || family == SPEC_CASES_LEVELS) assert_int_equal(zeros, 0);
}

TEST(the_two_sides_are_related_as_the_family_says)
{
    int differing = 0, zeros = 0;
    for (int family = 0; family < SPEC_CASES_MIXED; family++)
        for (int seed = 1; seed <= 2; seed++) {
            OWNED(pair) p = open_pair(spec_cases_families[family], V, seed);
            for (int i = 0; i < V * V; i++) {
                const int context[] = {i / V, i % V};
                const double *target = row_after(&p.target, context, 2),
                             *draft = row_after(&p.draft, context, 2);
                check_related((spec_cases_family)family, target, draft);
                differing +=
                    family == SPEC_CASES_NEAR && memcmp(target, draft, V * sizeof *draft) != 0;
                for (int k = 0; k < V && family == SPEC_CASES_ZEROS; k++) zeros += target[k] == 0.0;
            }
        }
    assert_true(differing > V * V);           /* of the 2 V^2 pairs all but a share of (1/3)^V */
    assert_in_range(zeros, V * V, V * V * V); /* about half of 2 V^3 */
}

TEST(short_texts_have_rows_of_their_own)
{
    OWNED(pair) p = open_pair("plain", V, 3);
    double kept[3][V];
    for (size_t n = 0; n < 3; n++)
        memcpy(kept[n], row_after(&p.target, (const int[]){0, 0}, n), sizeof kept[n]);
    for (size_t n = 0; n < 3; n++)
        assert_memory_not_equal(kept[n], kept[(n + 1) % 3], sizeof kept[n]);
    assert_memory_equal(kept[2], row_after(&p.target, (const int[]){4, 0, 0}, 3), sizeof kept[2]);
}

TEST(mixed_contexts_are_of_several_families)
{
    OWNED(pair) p = open_pair("mixed", V, 5);
    int equal = 0, one_hot = 0;
    for (int i = 0; i < V * V; i++) {
        const int context[] = {i / V, i % V};
        const double *target = row_after(&p.target, context, 2),
                     *draft = row_after(&p.draft, context, 2);
        equal += memcmp(target, draft, V * sizeof *draft) == 0;
        one_hot += target[spec_row_argmax(target, V)] == 1.0;
    }
    assert_true(equal > 0 && one_hot > 0 && equal + one_hot < V * V);
}

TEST(an_end_of_text_may_be_given)
{
    opened none = open_model("cases", NULL), some = open_model("cases?end=2", NULL);
    assert_int_equal(none.model->ends.n, 0);
    assert_true(some.model->ends.n == 1 && some.model->ends.token[0] == 2);
    assert_memory_equal(row_after(&none, NULL, 0), row_after(&some, NULL, 0), 3 * sizeof(double));
    opened_free(&none);
    opened_free(&some);
}

TEST(weights_out_of_range_are_refused)
{
    assert_refused("cases?V=17", NULL, "V=17 is not a whole number between 1 and 16");
    assert_refused("cases?order=17", NULL, "between 0 and 16");
    assert_refused("cases?family=plane", NULL, "plain");
    assert_refused("cases?side=both", NULL, "target");
    assert_refused("cases?end=3", NULL, "between -1 and 2");
    assert_refused("cases?concentration=1", NULL, "concentration");
}
