/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/rule_case.h"

#include "tests/support/support.h"

void rule_case_init(rule_case *run, int vocab)
{
    *run = (rule_case){.round = {.token = NULL}};
    assert_int_equal(spec_draft_init(&run->draft, RULE_CASE_NODES, vocab, NULL), GSL_SUCCESS);
}

void rule_case_free(rule_case *run)
{
    spec_draft_free(&run->draft);
}

void rule_case_chain(rule_case *run, const int *token, const double *const *row, int n)
{
    for (int i = 0; i < n; i++) spec_draft_append(&run->draft, token[i], i - 1, row[i], true);
}

const double rule_case_target[4][4] = {{0.4, 0.3, 0.2, 0.1},
                                       {0.15, 0.05, 0.55, 0.25},
                                       {0.27, 0.36, 0.0, 0.37},
                                       {0.02, 0.9, 0.03, 0.05}};
const double rule_case_draft[3][4] = {
    {0.1, 0.2, 0.3, 0.4}, {0.3, 0.25, 0.3, 0.15}, {0.0, 0.5, 0.15, 0.35}};

rule_case rule_case_text(const int *token, int n)
{
    const double *const row[] = {rule_case_draft[0], rule_case_draft[1], rule_case_draft[2]};
    rule_case run;
    rule_case_init(&run, 4);
    for (int i = 0; i <= n; i++) run.target[i] = rule_case_target[i];
    rule_case_chain(&run, token, row, n);
    return run;
}

void rule_case_verify(rule_case *run, const char *rule, const int *answer, int n)
{
    spec_rule opened;
    assert_int_equal(spec_rule_init(&opened, rule, NULL), GSL_SUCCESS);
    assert_int_equal(spec_rule_open(&opened, run->draft.vocab, RULE_CASE_NODES, NULL), GSL_SUCCESS);
    run->round.token = run->token;
    run->round.node = run->node;
    spec_script_init(&run->script, answer, n, run->asked);
    opened.verify(&run->round, &opened, &run->draft, run->target, run->weight, &run->script.chance);
    spec_rule_free(&opened);
    assert_false(run->script.broken);
    assert_int_equal(run->script.used, n);
    assert_int_equal(run->round.n_drafted, run->draft.n_nodes);
    assert_int_equal(run->round.n_emitted, run->round.n_accepted + 1);

    /* The children of the last accepted node were tested. */
    const int n_accepted = run->round.n_accepted,
              last = n_accepted > 0 ? run->node[n_accepted - 1] : -1;
    bool goes_on = false;
    for (int i = 0; i < run->draft.n_nodes; i++) goes_on = goes_on || run->draft.parent[i] == last;
    assert_int_equal(run->round.n_tested, n_accepted + (goes_on ? 1 : 0));
}
