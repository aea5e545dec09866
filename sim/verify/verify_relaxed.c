/* SPDX-License-Identifier: GPL-3.0-or-later */
/* relaxed: accepts a draft token among the target's k most probable ones if it is at most delta
 * less probable than the first of them; docs/formulas/rules.md#relaxed. Otherwise the target's
 * argmax or a sample replaces it. One pass over the target's row per token. top-k-relaxed is a
 * special case. */
#include "sim/verify/verify.h"

#include "models/row.h"

#include <limits.h>

enum { ELSE_ARGMAX, ELSE_SAMPLE };

static int init_top_k(spec_rule *rule, spec_settings *settings, spec_error *error)
{
    rule->settings.relaxed.delta = 1.0;
    rule->settings.relaxed.samples = true;
    return spec_settings_int(&rule->settings.relaxed.k, settings, "k", 3, 1, INT_MAX, error);
}

static int init(spec_rule *rule, spec_settings *settings, spec_error *error)
{
    static const char *const fallbacks[] = {
        [ELSE_ARGMAX] = "argmax", [ELSE_SAMPLE] = "sample", NULL};
    int fallback, status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_int(&rule->settings.relaxed.k, settings, "k", 10, 1, INT_MAX, error));
    SPEC_TRY(spec_settings_double(&rule->settings.relaxed.delta, settings, "delta", 0.6, 0.0, 1.0,
                                  error));
    SPEC_TRY(spec_settings_choice(&fallback, settings, "else", ELSE_ARGMAX, fallbacks, error));
    rule->settings.relaxed.samples = fallback == ELSE_SAMPLE;
done:
    return status;
}

/* Returns the number of tokens that rank before this one: those that are more probable, or equally
 * probable with a lower id. */
static int rank(const double *row, int vocab, int token)
{
    int before = 0;
    for (int i = 0; i < vocab; i++)
        before += row[i] > row[token] || (row[i] == row[token] && i < token);
    return before;
}

static bool passes(const spec_rule *rule, const double *row, int vocab, int token)
{
    const double most = row[spec_row_argmax(row, vocab)];
    return row[token] >= most - rule->settings.relaxed.delta &&
           rank(row, vocab, token) < rule->settings.relaxed.k;
}

static void verify(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                   const double *const *target, double *weight, spec_chance *chance)
{
    const int vocab = draft->vocab;
    int at = -1; /* the last accepted node */
    (void)weight;
    spec_verify_begin(ret_round, draft);
    for (int node; (node = spec_verify_child(draft, at, at + 1)) >= 0; at = node) {
        if (!passes(rule, target[at + 1], vocab, draft->token[node])) break;
        spec_verify_accept(ret_round, draft, node);
    }
    spec_verify_end(ret_round, rule->settings.relaxed.samples
                                   ? spec_verify_sample(target[at + 1], vocab, chance)
                                   : spec_row_argmax(target[at + 1], vocab));
}

const spec_rule spec_verify_relaxed = {
    .name = "relaxed",
    .usage = "relaxed?k=10&delta=0.6&else=argmax",
    .summary = "LOSSY on purpose: accept one of the target's k most probable tokens within delta "
               "of the first, else the target's argmax or sample",
    .reference = "",
    .claim = SPEC_LOSSY,
    .asks = SPEC_ASKS_END,
    .init = init,
    .verify = verify,
};

const spec_rule spec_verify_top_k = {
    .name = "top-k-relaxed",
    .usage = "top-k-relaxed?k=3",
    .summary = "LOSSY on purpose: relaxed with delta=1 and else=sample",
    .reference = "",
    .claim = SPEC_LOSSY,
    .asks = SPEC_ASKS_END,
    .init = init_top_k,
    .verify = verify,
};
