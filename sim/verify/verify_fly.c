/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fly: a rejected draft token is accepted after all where the target's entropy is high and the
 * token rule accepts the next `window` draft tokens; docs/formulas/rules.md#fly. It follows the
 * first children. One pass over the target's row per rejection. */
#include "sim/verify/verify.h"

#include "models/row.h"

#include <math.h>
#include <string.h>

enum { ENTROPY_TOKENS = 3, WINDOW_USUAL = 6 };

static int init(spec_rule *rule, spec_settings *settings, spec_error *error)
{
    const char *window = spec_settings_text(settings, "window");
    int status = GSL_SUCCESS;
    rule->settings.fly.window = 0;
    if (window != NULL && strcmp(window, "auto") != 0 &&
        spec_settings_int(&rule->settings.fly.window, settings, "window", 0, 1, SPEC_K_MAX, NULL))
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "fly: window=%.60s is neither auto nor in 1..%d",
                           window, SPEC_K_MAX));
    SPEC_TRY(spec_settings_double(&rule->settings.fly.entropy, settings, "entropy", 0.3, 0.0, 1.2,
                                  error));
done:
    return status;
}

static bool accepts(const spec_draft *draft, int node, const double *row, spec_chance *chance)
{
    const double *law = spec_draft_law(draft, node);
    const int token = draft->token[node];
    return spec_chance_accept(chance, row[token], law != NULL ? law[token] : 1.0);
}

/* Returns the part of the row's entropy that is due to its most probable tokens. */
static double entropy_of(const double *row, int vocab)
{
    int most[ENTROPY_TOKENS];
    const int n = spec_row_largest(most, ENTROPY_TOKENS, row, vocab);
    double entropy = 0.0;
    for (int i = 0; i < n; i++)
        if (row[most[i]] > 0.0) entropy -= row[most[i]] * log(row[most[i]]);
    return entropy;
}

/* Fills ret_node with the nodes of the window; returns false if the chain ends within it. */
static bool window_after(int *ret_node, const spec_draft *draft, int node, int window)
{
    for (int i = 0; i < window; i++) {
        node = spec_verify_child(draft, node, node + 1);
        if (node < 0) return false;
        ret_node[i] = node;
    }
    return true;
}

/* Tests the window after the node that was rejected. Returns true if the node is accepted after
 * all. */
static bool defers(int *ret_node, const spec_rule *rule, const spec_draft *draft, int window,
                   int node, const double *const *target, spec_chance *chance)
{
    const double *row = target[draft->parent[node] + 1];
    if (!(row[draft->token[node]] > 0.0) || !window_after(ret_node, draft, node, window) ||
        !(entropy_of(row, draft->vocab) >= rule->settings.fly.entropy))
        return false;
    for (int i = 0; i < window; i++)
        if (!accepts(draft, ret_node[i], target[draft->parent[ret_node[i]] + 1], chance))
            return false;
    return true;
}

static void verify(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                   const double *const *target, double *weight, spec_chance *chance)
{
    const int usual = draft->depth - 1 < WINDOW_USUAL ? draft->depth - 1 : WINDOW_USUAL,
              window = rule->settings.fly.window > 0 ? rule->settings.fly.window
                       : usual > 1                   ? usual
                                                     : 1;
    int at = -1, after[SPEC_K_MAX];
    spec_verify_begin(ret_round, draft);
    for (int node; (node = spec_verify_child(draft, at, at + 1)) >= 0;) {
        const double *row = target[at + 1];
        const bool accepted = accepts(draft, node, row, chance);
        if (!accepted && !defers(after, rule, draft, window, node, target, chance)) {
            spec_verify_end(ret_round,
                            spec_verify_correct(row, spec_draft_law(draft, node),
                                                draft->token[node], draft->vocab, weight, chance));
            return;
        }
        spec_verify_accept(ret_round, draft, node);
        for (int i = 0; i < window && !accepted; i++)
            spec_verify_accept(ret_round, draft, after[i]);
        at = ret_round->node[ret_round->n_accepted - 1];
    }
    spec_verify_end(ret_round, spec_verify_sample(target[at + 1], draft->vocab, chance));
}

const spec_rule spec_verify_fly = {
    .name = "fly",
    .usage = "fly?window=auto&entropy=0.3",
    .summary = "LOSSY on purpose: the token rule, but a rejection at an uncertain position is "
               "undone if the next tokens are accepted",
    .reference = "LiJ25",
    .claim = SPEC_LOSSY,
    .asks = SPEC_ASKS_AHEAD,
    .init = init,
    .verify = verify,
};
