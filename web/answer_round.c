/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One round, decision by decision. */
#include "web/answers.h"

#include <math.h>
#include <stdlib.h>

static void write_nodes(web_json *json, const speclab_round *round, const speclab_outcome *o)
{
    web_json_key(json, "nodes");
    web_json_bracket(json, '[');
    for (int32_t i = 0; i < o->n_nodes; i++) {
        web_json_bracket(json, '{');
        web_json_put_integer(json, "token", o->draft[i]);
        web_json_put_integer(json, "parent", o->parent[i]);
        web_json_key(json, "drawn");
        web_json_bool(json, o->drawn[i] != 0);
        web_json_key(json, "row");
        web_json_numbers(json, speclab_round_draft_row(round, i), o->vocab);
        web_json_bracket(json, '}');
    }
    web_json_bracket(json, ']');
    web_json_key(json, "target");
    web_json_bracket(json, '[');
    for (int32_t i = -1; i < o->n_nodes; i++)
        web_json_numbers(json, speclab_round_target_row(round, i), o->vocab);
    web_json_bracket(json, ']');
}

static void write_decision(web_json *json, const speclab_decision *d)
{
    const bool accepts = d->kind == SPECLAB_DECISION_ACCEPT;
    static const char *const role[] = {[SPECLAB_ROLE_OTHER] = "other",
                                       [SPECLAB_ROLE_DRAFT] = "draft",
                                       [SPECLAB_ROLE_SELECT] = "select",
                                       [SPECLAB_ROLE_TEST] = "test",
                                       [SPECLAB_ROLE_KEEP] = "keep",
                                       [SPECLAB_ROLE_BLOCK] = "block",
                                       [SPECLAB_ROLE_CORRECTION] = "correction",
                                       [SPECLAB_ROLE_BONUS] = "bonus",
                                       [SPECLAB_ROLE_TARGET] = "target"};
    web_json_bracket(json, '{');
    web_json_put_string(json, "role", role[d->role]);
    web_json_put_integer(json, "node", d->node);
    web_json_put_integer(json, "after", d->after);
    web_json_put_string(json, "phase", d->phase == SPECLAB_PHASE_DRAFT ? "draft" : "verify");
    web_json_put_string(json, "kind", accepts ? "accept" : "pick");
    if (accepts) {
        web_json_put_number(json, "num", d->num);
        web_json_put_number(json, "den", d->den);
    } else {
        web_json_key(json, "weights");
        web_json_numbers(json, d->weight, d->n_weights);
    }
    web_json_put_number(json, "coin", d->coin);
    web_json_key(json, "answer");
    if (accepts) web_json_bool(json, d->answer != 0);
    else web_json_integer(json, d->answer);
    web_json_bracket(json, '}');
}

static void write_round(web_json *json, const speclab_round *round)
{
    speclab_outcome o = {.size = sizeof o};
    speclab_round_outcome(&o, round);
    web_json_put_integer(json, "vocab", o.vocab);
    web_json_put_integer(json, "n_accepted", o.n_accepted);
    web_json_put_integer(json, "coins_used", o.coins_used);
    web_json_key(json, "tokens");
    web_json_integers(json, o.token, o.n_emitted);
    web_json_key(json, "accepted");
    web_json_integers(json, o.node, o.n_accepted);
    write_nodes(json, round, &o);
    web_json_key(json, "decisions");
    web_json_bracket(json, '[');
    for (int32_t i = 0; i < o.n_decisions; i++) {
        speclab_decision d = {.size = sizeof d};
        speclab_round_decision(&d, round, i);
        write_decision(json, &d);
    }
    web_json_bracket(json, ']');
}

/* Converts numbers to tokens; returns NULL if a number is not a token or memory runs out. */
static int32_t *tokens_of(const double *number, int32_t n)
{
    int32_t *token = calloc((size_t)n + 1, sizeof *token);
    for (int32_t i = 0; token != NULL && i < n; i++) {
        if (number[i] >= 0 && number[i] <= INT32_MAX && number[i] == floor(number[i])) {
            token[i] = (int32_t)number[i];
            continue;
        }
        free(token);
        token = NULL;
    }
    return token;
}

int32_t web_answer_round(web_lab *web, web_question *question)
{
    speclab_round *round = NULL;
    int32_t n_coins, n_context;
    const speclab_pair pair = web_answers_pair(question);
    const uint64_t seed = web_question_count(question, "seed", 42);
    double *coin = web_question_numbers(&n_coins, question, "coins"),
           *number = web_question_numbers(&n_context, question, "context");
    int32_t *context = tokens_of(number, n_context);
    int32_t status = web_answers_check(web, question);
    if (status == SPECLAB_OK && context == NULL)
        status = web_answers_refuse(web, "context has no tokens");
    const speclab_round_options options = {.size = sizeof options,
                                           .n_coins = n_coins,
                                           .coin = coin,
                                           .seed = seed,
                                           .context = context,
                                           .n_context = n_context};
    if (status == SPECLAB_OK)
        status = speclab_round_run(&round, web->lab, &pair, &options, web->error,
                                   sizeof web->error);
    if (status == SPECLAB_OK) write_round(&web->json, round);
    speclab_round_free(round);
    free(context);
    free(number);
    free(coin);
    return status;
}
