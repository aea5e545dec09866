#include "tests/support/rule_law.h"

#include "tests/support/support.h"

spec_output_law rule_law(const table_model *target, const table_model *draft, const char *rule, const char *drafting,
                         int K, int n_tokens)
{
    const spec_decoder_config config = {.target = &target->head,
                                        .opt_draft = &draft->head,
                                        .drafting = drafting,
                                        .policy = "fixed",
                                        .rule = rule,
                                        .K = K,
                                        .costs = SPEC_COSTS_DEFAULT};
    spec_error error = {""};
    spec_output_law law;
    if (spec_output_law_init(&law, &config, NULL, 0, n_tokens, 50000000, &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
    return law;
}

double rule_law_drafted(const table_model *draft, const char *drafting, const int *context, size_t n, int x)
{
    const double *row = table_model_row(draft, context, n);
    if (drafting[0] == 'c') return row[x];
    int best = 0;
    for (int i = 1; i < draft->head.vocab; i++)
        if (row[i] > row[best]) best = i;
    return x == best ? 1.0 : 0.0;
}

void rule_law_pair(table_model *ret_target, table_model *ret_draft, const double *target, const double *draft,
                   int vocab)
{
    table_model_init(ret_target, vocab);
    table_model_init(ret_draft, vocab);
    table_model_fill(ret_target, target);
    table_model_fill(ret_draft, draft);
}
