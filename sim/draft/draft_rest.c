/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rest: retrieval from a datastore, a file of text in the target's tokens [He24]. The suffix array
 * of the file finds the longest suffix of the text, of max..min tokens, that occurs in it. The
 * draft is the most frequent part of the trie of its continuations. The paper draws from at most
 * 5,000 occurrences; all are counted here. The file is read and sorted when a decoder opens. */
#include "sim/draft/drafter.h"

#include "models/token_file.h"
#include "sim/draft/index/best_first.h"
#include "sim/draft/index/suffix_array.h"

#include <stdlib.h>
#include <string.h>

enum { MATCH_MAX = 256 };

typedef struct {
    char *path;
    int max, min, nodes;
    int *token; /* tokens of the file */
    spec_suffix_array store;
    int matched; /* tokens of the match, for _children */
    spec_best_first tree;
} rest;

static void close(void *state)
{
    rest *r = state;
    free(r->path);
    free(r->token);
    spec_suffix_array_free(&r->store);
    spec_best_first_free(&r->tree);
    free(r);
}

static int nodes(const spec_drafter *drafter, int K)
{
    const rest *r = drafter->state;
    return K == 0 ? 0 : drafter->widest > 1 || r->nodes < K ? r->nodes : K;
}

static int init(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    rest *r = drafter->state = calloc(1, sizeof *r);
    if (r == NULL || (r->path = strdup(settings->path)) == NULL)
        return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(spec_settings_int(&r->max, settings, "max", 16, 1, MATCH_MAX, error));
    SPEC_TRY(
        spec_settings_int(&r->min, settings, "min", r->max < 3 ? r->max : 3, 1, r->max, error));
    SPEC_TRY(spec_settings_int(&r->nodes, settings, "nodes", 64, 1, SPEC_NODES_MAX, error));
    SPEC_TRY(spec_settings_int(&drafter->widest, settings, "width", 8, 1, SPEC_NODES_MAX, error));
    drafter->siblings = SPEC_SIBLINGS_TOP;
done:
    return status;
}

static int open(spec_drafter *drafter, const spec_model *target, int K, spec_error *error)
{
    rest *r = drafter->state;
    int n, status = GSL_SUCCESS;
    SPEC_TRY(spec_token_file_read(&r->token, &n, r->path, target, error));
    SPEC_TRY(spec_suffix_array_init(&r->store, r->token, n, target->vocab, r->max + K, error));
    status = spec_best_first_init(&r->tree, nodes(drafter, K), drafter->widest, error);
done:
    return status;
}

static void children(spec_best_first *tree, const void *index, const spec_branch *node)
{
    const rest *r = index;
    const spec_suffix_array *store = &r->store;
    const int offset = r->matched + node->depth;
    int low = node->low;
    if (low < node->high && store->position[low] + offset == store->n) low++; /* the file ends
                                                                               * there */
    while (low < node->high) {
        const int end = spec_suffix_array_end(store, low, node->high, offset);
        spec_best_first_offer(tree, store->token[store->position[low] + offset], end - low, low,
                              end);
        low = end;
    }
}

/* Returns the longest match of the context's last tokens; every suffix of a match occurs too. */
static int longest(int *ret_low, int *ret_high, const rest *r, const int *context, size_t n)
{
    int known = r->min - 1, high = n < (size_t)r->max ? (int)n : r->max;
    *ret_low = *ret_high = 0;
    while (known < high) {
        const int length = known + (high - known + 1) / 2;
        int low, end;
        spec_suffix_array_find(&low, &end, &r->store, context + n - length, length);
        if (low == end) {
            high = length - 1;
            continue;
        }
        known = length;
        *ret_low = low;
        *ret_high = end;
    }
    return known;
}

static int draft(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                 const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    rest *r = drafter->state;
    int low, high;
    (void)chance, (void)error;
    r->matched = longest(&low, &high, r, context, n);
    spec_best_first_grow(&r->tree, &(spec_continuations){r, children}, low, high,
                         &(spec_best_first_limit){.nodes = r->tree.capacity, .depth = policy->now});
    spec_best_first_submit(ret_draft, &r->tree);
    return GSL_SUCCESS;
}

const spec_drafter_kind spec_draft_rest = {
    .name = "rest",
    .usage = "rest:PATH?max=16&min=3&nodes=64&width=8",
    .summary = "what most often followed the last max..min tokens in a file of text in the "
               "target's tokens, as a tree (one-hot, no model)",
    .reference = "He24",
    .nodes = nodes,
    .init = init,
    .free = close,
    .open = open,
    .draft = draft,
};
