/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cascade: the draft model speculates, too: a smaller model, the inner draft, drafts for it, and a
 * lossless rule verifies [Mohri25]; docs/formulas/lengths.md#cascade.
 *
 * A draft is made in several inner rounds. How many tokens it gets depends on what they accept, but
 * that does no harm: both rules judge each round by itself, so a token has the draft model's
 * distribution even given that the round got that far. An inner round drafts fewer tokens where
 * less room is left. */
#include "sim/draft/drafter.h"
#include "sim/verify/verify.h"

#include <stdlib.h>
#include <string.h>

static const char *const rules[] = {"token", "block", NULL};

typedef struct {
    int rounds;         /* inner rounds of a draft */
    spec_policy policy; /* K: the most tokens of an inner draft; now: of the next one */
    spec_rule verify;
    spec_drafter inner;
    spec_draft draft; /* of an inner round */
    spec_round round;
    const double **row; /* (K+1) rows of the draft model */
    double *store;      /* (K+1, V) */
    double *weight;     /* (V) */
    int *text;          /* (capacity) the context and the tokens drafted so far */
    size_t capacity;
} cascade;

static void close(void *state)
{
    cascade *c = state;
    spec_policy_free(&c->policy);
    spec_rule_free(&c->verify);
    spec_drafter_free(&c->inner);
    spec_draft_free(&c->draft);
    free(c->round.token);
    free(c->round.node);
    free(c->row);
    free(c->store);
    free(c->weight);
    free(c->text);
    free(c);
}

static int init(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    int K, rule, status = GSL_SUCCESS;
    cascade *c = drafter->state = calloc(1, sizeof *c);
    if (c == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory for a cascade");
    SPEC_TRY(spec_settings_int(&K, settings, "K", 4, 1, SPEC_K_MAX - 1, error));
    SPEC_TRY(spec_settings_int(&c->rounds, settings, "rounds", 1, 1, SPEC_K_MAX, error));
    SPEC_TRY(spec_settings_choice(&rule, settings, "rule", 0, rules, error));
    drafter->n_levels = c->rounds <= SPEC_K_MAX / (K + 1) ? c->rounds * (K + 1) : SPEC_K_MAX;
    SPEC_TRY(spec_policy_init(&c->policy, "fixed", K, error));
    status = spec_rule_init(&c->verify, rules[rule], error);
done:
    return status;
}

/* Returns K, the length of the chain. Other chains do not define this function; a cascade does, so
 * that it is treated as a tree and refused where trees are: its length is not known beforehand, and
 * it does not ask the policy before each token. */
static int nodes(const spec_drafter *drafter, int K)
{
    (void)drafter;
    return K;
}

static int open(spec_drafter *drafter, const spec_model *target, int K, spec_error *error)
{
    cascade *c = drafter->state;
    const spec_model *middle = drafter->session.model, *small = drafter->inner.model;
    const size_t most = (size_t)c->policy.K, vocab = (size_t)target->vocab;
    int status = GSL_SUCCESS;
    (void)K;
    if (small == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "draft strategy 'cascade' needs an inner draft: a smaller model that "
                           "drafts for the draft model"));
    if (drafter->rows_by_round || middle->one_pass)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "draft strategy 'cascade' needs a draft that is a model of its own, and "
                           "'%.200s' is a draft head or a block draft",
                           middle->spec));
    SPEC_TRY(spec_drafter_check_reach(small, c->policy.K, error));
    (void)spec_session_share(&drafter->inner, &drafter->session);
    SPEC_TRY(spec_drafter_init_lent(&c->inner, "chain", small, &drafter->inner, error));
    SPEC_TRY(spec_rule_open(&c->verify, target->vocab, c->policy.K, error));
    SPEC_TRY(spec_draft_init(&c->draft, c->policy.K, target->vocab, error));
    c->round.token = malloc((most + 1) * sizeof *c->round.token);
    c->round.node = malloc(most * sizeof *c->round.node);
    c->row = malloc((most + 1) * sizeof *c->row);
    c->store = malloc((most + 1) * vocab * sizeof *c->store);
    c->weight = malloc(vocab * sizeof *c->weight);
    if (c->round.token == NULL || c->round.node == NULL || c->row == NULL || c->store == NULL ||
        c->weight == NULL)
        status = spec_fail(error, GSL_ENOMEM, "out of memory for %zu rows of %zu probabilities",
                           most + 1, vocab);
done:
    return status;
}

static int begin_text(cascade *c, const int *context, size_t n, int more, spec_error *error)
{
    const size_t needed = n + (size_t)more;
    if (needed > c->capacity) {
        int *text = realloc(c->text, 2 * needed * sizeof *text);
        if (text == NULL)
            return spec_fail(error, GSL_ENOMEM, "out of memory for a text of %zu tokens", needed);
        c->text = text;
        c->capacity = 2 * needed;
    }
    if (n > 0) memcpy(c->text, context, n * sizeof *context);
    return GSL_SUCCESS;
}

/* Runs an inner round after n tokens of text; it emits at most `most` tokens. */
static int inner_round(cascade *c, spec_drafter *drafter, size_t n, int most, spec_chance *chance,
                       spec_error *error)
{
    const int window = c->inner.session.model->window;
    int now = c->policy.K < most ? c->policy.K : most - 1, status = GSL_SUCCESS;
    if (window > 0 && n + (size_t)now > (size_t)window)
        now = n < (size_t)window ? window - (int)n : 0;
    c->policy.now = now;
    SPEC_TRY(spec_drafter_draft(&c->draft, &c->inner, c->text, n, &c->policy, chance, error));
    SPEC_TRY(spec_session_score(&drafter->session,
                                &(spec_score_request){.context = c->text,
                                                      .n_context = n,
                                                      .token = c->draft.token,
                                                      .n_nodes = c->draft.n_nodes,
                                                      .ret_row = c->row,
                                                      .scratch = c->store},
                                error));
    c->verify.verify(&c->round, &c->verify, &c->draft, c->row, c->weight, chance);
    drafter->n_calls++;
    drafter->n_rows += c->draft.n_nodes + 1;
    drafter->n_inner_calls += c->inner.n_calls;
done:
    return status;
}

static int draft(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                 const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    cascade *c = drafter->state;
    int status = GSL_SUCCESS;
    bool ended = false;
    SPEC_TRY(begin_text(c, context, n, policy->now, error));
    for (int r = 0; r < c->rounds && !ended && ret_draft->n_nodes < policy->now; r++) {
        SPEC_TRY(inner_round(c, drafter, n + (size_t)ret_draft->n_nodes,
                             policy->now - ret_draft->n_nodes, chance, error));
        for (int i = 0; i < c->round.n_emitted && !ended; i++) {
            const int node = ret_draft->n_nodes, token = c->round.token[i];
            double *row = spec_draft_slot(ret_draft);
            memcpy(row, c->row[i], (size_t)ret_draft->vocab * sizeof *row);
            spec_draft_append(ret_draft, token, node - 1, row, true);
            c->text[n + (size_t)node] = token;
            ended = spec_draft_ends_at(ret_draft, token);
        }
    }
done:
    return status;
}

const spec_drafter_kind spec_draft_cascade = {
    .name = "cascade",
    .usage = "cascade?K=4&rounds=1&rule=token",
    .summary = "a chain of a draft model that speculates, too: in each of its rounds a smaller "
               "model, the inner draft, drafts K tokens, and rule token or block verifies them",
    .reference = "Mohri25",
    .needs_model = true,
    .nodes = nodes,
    .init = init,
    .free = close,
    .open = open,
    .draft = draft,
};
