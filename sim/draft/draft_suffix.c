/* SPDX-License-Identifier: GPL-3.0-or-later */
/* suffix: SuffixDecoding [Oliaro24]. The last p tokens of the text are looked up in the text itself
 * and, separately, in earlier outputs. For each p = 1..max that occurred, a tree of at most alpha p
 * nodes grows from the continuations there; the tree with the largest score is drafted. Patterns
 * that end at the same positions have the same continuations, so only the longest of them is tried.
 * The paper keeps suffix trees; a suffix automaton answers the same questions.
 *
 * Earlier outputs last from text to text. An output enters the index when the next text begins,
 * without the tokens of its last round. When the index has `earlier` tokens, it begins again. */
#include "sim/draft/drafter.h"

#include "sim/draft/index/best_first.h"
#include "sim/draft/index/suffix_automaton.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN_MAX = 256, EARLIER_MAX = 1 << 24 };

typedef struct {
    int max; /* longest pattern */
    double alpha, least;
    int earlier; /* maximum tokens of earlier outputs */
    spec_suffix_automaton text, outputs;
    int *token; /* (capacity) the text */
    int capacity;
    int n, n_prompt;         /* indexed tokens of the text; -1: the text has not begun */
    int match, matched;      /* state of the longest pattern in `outputs`, and its length */
    spec_best_first tree[2]; /* the best tree so far, and the next candidate */
} suffix;

static void close(void *state)
{
    suffix *s = state;
    spec_suffix_automaton_free(&s->text);
    spec_suffix_automaton_free(&s->outputs);
    free(s->token);
    for (int i = 0; i < 2; i++) spec_best_first_free(&s->tree[i]);
    free(s);
}

static int nodes_of(const suffix *s, int pattern)
{
    const double nodes = s->alpha * pattern;
    return nodes < SPEC_NODES_MAX ? (int)nodes : SPEC_NODES_MAX;
}

static int nodes(const spec_drafter *drafter, int K)
{
    const suffix *s = drafter->state;
    const int most = nodes_of(s, s->max);
    return K == 0 ? 0 : drafter->widest > 1 || most < K ? most : K;
}

static int init(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    suffix *s = drafter->state = calloc(1, sizeof *s);
    if (s == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(spec_settings_int(&s->max, settings, "max", 64, 1, PATTERN_MAX, error));
    SPEC_TRY(spec_settings_double(&s->alpha, settings, "alpha", 1.0, 0.0, SPEC_NODES_MAX, error));
    SPEC_TRY(spec_settings_double(&s->least, settings, "min_frac", 0.1, 0.0, 1.0, error));
    SPEC_TRY(spec_settings_int(&drafter->widest, settings, "width", 8, 1, SPEC_NODES_MAX, error));
    SPEC_TRY(spec_settings_int(&s->earlier, settings, "earlier", 65536, 0, EARLIER_MAX, error));
    drafter->siblings = SPEC_SIBLINGS_TOP;
done:
    return status;
}

static int open(spec_drafter *drafter, const spec_model *target, int K, spec_error *error)
{
    suffix *s = drafter->state;
    int status = GSL_SUCCESS;
    (void)target;
    spec_suffix_automaton_init(&s->text, s->max + K);
    spec_suffix_automaton_init(&s->outputs, s->max + K);
    for (int i = 0; i < 2; i++)
        SPEC_TRY(spec_best_first_init(&s->tree[i], nodes(drafter, K), drafter->widest, error));
    s->n_prompt = -1;
done:
    return status;
}

/* Adds the output of the text that ends. */
static int learn(suffix *s, spec_error *error)
{
    const int n = s->n_prompt >= 0 ? s->n - s->n_prompt : 0;
    if (n == 0 || n > s->earlier) return GSL_SUCCESS;
    if (n > s->earlier - s->outputs.n_tokens) spec_suffix_automaton_reset(&s->outputs);
    const int status = spec_suffix_automaton_reserve(&s->outputs, n, error);
    if (status != GSL_SUCCESS) return status;
    spec_suffix_automaton_begin(&s->outputs);
    for (int i = s->n_prompt; i < s->n; i++) spec_suffix_automaton_append(&s->outputs, s->token[i]);
    return GSL_SUCCESS;
}

static int reset(spec_drafter *drafter, bool all, spec_error *error)
{
    suffix *s = drafter->state;
    int status = GSL_SUCCESS;
    if (all)
        spec_suffix_automaton_reset(&s->outputs);
    else
        status = learn(s, error);
    spec_suffix_automaton_reset(&s->text);
    s->n = s->match = s->matched = 0;
    s->n_prompt = -1;
    return status;
}

/* Indexes the tokens that the text has gained. */
static int follow(suffix *s, const int *context, size_t n, spec_error *error)
{
    int status = GSL_SUCCESS;
    if (n > SPEC_SUFFIX_AUTOMATON_MAX)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "a text of more than %d tokens is too long to index",
                           SPEC_SUFFIX_AUTOMATON_MAX));
    const int length = (int)n;
    assert(length >= s->n);
    SPEC_TRY(spec_suffix_automaton_reserve(&s->text, length - s->n, error));
    if (s->text.capacity > s->capacity) {
        int *token = realloc(s->token, (size_t)s->text.capacity * sizeof *token);
        if (token == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
        s->token = token;
        s->capacity = s->text.capacity;
    }
    if (s->n_prompt < 0) s->n_prompt = length;
    for (; s->n < length; s->n++) {
        const int token = s->token[s->n] = context[s->n];
        spec_suffix_automaton_append(&s->text, token);
        if (s->outputs.n_tokens > 0)
            spec_suffix_automaton_follow(&s->outputs, &s->match, &s->matched, token, s->max);
    }
done:
    return status;
}

static void children(spec_best_first *tree, const void *index, const spec_branch *node)
{
    const spec_suffix_automaton *automaton = index;
    for (int i = automaton->state[node->low].edge; i >= 0; i = automaton->edge[i].next) {
        const spec_suffix_edge *edge = &automaton->edge[i];
        spec_best_first_offer(tree, edge->token, automaton->state[edge->to].count, edge->to, 0);
    }
}

/* Tries the patterns that end at `state`, and all shorter ones. */
static void try_patterns(suffix *s, const spec_suffix_automaton *automaton, int state, int length,
                         int depth)
{
    const spec_continuations from = {automaton, children};
    while (state > 0) {
        const int budget = nodes_of(s, length), most = s->tree[1].capacity;
        const spec_best_first_limit limit = {
            .nodes = budget < most ? budget : most, .depth = depth, .least = s->least};
        spec_best_first_grow(&s->tree[1], &from, state, 0, &limit);
        if (s->tree[1].score > s->tree[0].score) {
            const spec_best_first better = s->tree[1];
            s->tree[1] = s->tree[0];
            s->tree[0] = better;
        }
        state = automaton->state[state].link;
        length = automaton->state[state].length;
    }
}

static int draft(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                 const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    suffix *s = drafter->state;
    (void)chance;
    const int status = follow(s, context, n, error);
    if (status != GSL_SUCCESS) return status;
    s->tree[0].n = 0;
    s->tree[0].score = 0.0;
    int state = s->text.near, length = s->text.near_length;
    while (state > 0 && s->text.state[s->text.state[state].link].length >= s->max)
        state = s->text.state[state].link;
    if (length > s->max) length = s->max;
    try_patterns(s, &s->text, state, length, policy->now);
    try_patterns(s, &s->outputs, s->match, s->matched, policy->now);
    spec_best_first_submit(ret_draft, &s->tree[0]);
    return GSL_SUCCESS;
}

const spec_drafter_kind spec_draft_suffix = {
    .name = "suffix",
    .usage = "suffix?max=64&alpha=1&min_frac=0.1&width=8&earlier=65536",
    .summary = "what followed the last 1..max tokens in this text and in earlier outputs: a tree "
               "of alpha nodes per token matched (one-hot, no model)",
    .reference = "Oliaro24",
    .nodes = nodes,
    .init = init,
    .free = close,
    .open = open,
    .reset = reset,
    .draft = draft,
};
