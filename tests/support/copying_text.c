/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/copying_text.h"

#include "models/model_open.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

void copying_text_init(copying_text *t, const char *drafting, int V, int K, uint64_t seed)
{
    char model[32];
    spec_error error = {""};
    *t = (copying_text){.V = V, .noise = seed};
    snprintf(model, sizeof model, "uniform?V=%d", V);
    if (spec_model_open(&t->target, model, NULL, spec_test_context(0), &error) != GSL_SUCCESS ||
        spec_policy_init(&t->policy, "fixed", K, &error) != GSL_SUCCESS ||
        spec_drafter_init(&t->drafter, drafting, NULL, &error) != GSL_SUCCESS ||
        spec_drafter_open(&t->drafter, t->target, K, &error) != GSL_SUCCESS ||
        spec_draft_init(&t->draft, spec_drafter_nodes(&t->drafter, K), V, &error) != GSL_SUCCESS)
        fail_msg("%s: %s", drafting, error.text);
}

void copying_text_free(copying_text *t)
{
    spec_drafter_free(&t->drafter);
    spec_draft_free(&t->draft);
    spec_model_close(t->target);
}

int copying_text_below(copying_text *t, int n)
{
    return (int)(table_uniform(&t->noise) * n);
}

void copying_text_begin(copying_text *t, int n_text, int n_prompt)
{
    int n = 0;
    assert_true(n_prompt >= 0 && n_prompt <= n_text && n_text <= COPYING_TEXT_MAX);
    while (n < n_text) {
        const bool copies = n > 4 && copying_text_below(t, 5) > 0;
        const int from = copies ? copying_text_below(t, n - 2) : 0;
        const int length = 1 + copying_text_below(t, copies ? 40 : 5);
        for (int i = 0; i < length && n < n_text; i++) {
            const bool errs = !copies || copying_text_below(t, 30) == 0;
            t->token[n++] = errs ? copying_text_below(t, t->V) : t->token[from + i];
        }
    }
    t->n_text = n_text;
    t->n = n_prompt;
    assert_int_equal(spec_drafter_reset(&t->drafter, false, NULL), GSL_SUCCESS);
}

int copying_text_draft(copying_text *t, int most)
{
    int agrees = 0;
    assert_int_equal(
        spec_drafter_draft(&t->draft, &t->drafter, t->token, (size_t)t->n, &t->policy, NULL, NULL),
        GSL_SUCCESS);
    while (agrees < t->draft.n_nodes && agrees < most && t->n + agrees < t->n_text &&
           t->draft.parent[agrees] == agrees - 1 &&
           t->draft.token[agrees] == t->token[t->n + agrees])
        agrees++;
    return agrees;
}

void copying_text_accept(copying_text *t, int n_accepted)
{
    const spec_round round = {
        .n_drafted = t->draft.n_nodes, .n_accepted = n_accepted, .n_emitted = n_accepted + 1};
    spec_drafter_observe(&t->drafter, &t->draft, NULL, &round);
    t->n += n_accepted + 1;
}
