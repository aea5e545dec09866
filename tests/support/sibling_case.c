/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/sibling_case.h"

#include "tests/support/near.h"

static void check(const sibling_case *c)
{
    OWNED(rule_case) run;
    rule_case_init(&run, c->vocab);
    run.draft.siblings = c->siblings;
    for (int i = 0; i <= c->n; i++) run.target[i] = c->target;
    for (int i = 0; i < c->n; i++)
        spec_draft_append(&run.draft, c->token[i], -1, c->row, i >= c->chosen);
    rule_case_verify(&run, c->rule, c->answer, c->n_answers);
    for (int i = 0; i < c->n_answers; i++) assert_within(run.asked[i], c->asked[i], 1e-12);
    assert_int_equal(run.round.n_accepted, c->accepted);
    assert_int_equal(run.round.n_tested, 1);
    assert_int_equal(run.round.token[0], c->emitted);
}

void sibling_cases_check(const sibling_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) check(&cases[i]);
}
