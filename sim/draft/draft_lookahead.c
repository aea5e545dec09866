/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lookahead: Lookahead decoding [Fu24]. A window of Jacobi iterates is scored as scouts in the
 * pass, and its trajectories fill a pool of n-grams. The draft consists of the n-grams that begin
 * with the text's last token.
 *
 * The window has `window` columns and ngram-1 levels. Column i of level l guesses the token i + l
 * positions after the last one, which is column 0 of level 0. Level 0 is a trunk; the further
 * levels of column i are a branch at its node i, so a token sees what the paper's mask shows it.
 * After a round each column gains the target's argmax after its branch, at every temperature, as in
 * the authors' code; the n-gram of column i, from its trunk token on, enters the pool; and the
 * window moves on by the emitted tokens. (The code moves by one token unless ALWAYS_FWD_ONE is
 * off.) A position without an iterate guesses a token of the text. Window and pool begin with the
 * text. */
#include "sim/draft/drafter.h"

#include "base/noise.h"
#include "models/row.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW_MAX = 256, NGRAM_MAX = 16, GUESSES_MAX = 64, NO_GUESS = -1 };

typedef struct {
    int window, ngram, guesses;
    const spec_model *target;
    int *pool;   /* (V, guesses, ngram-1) what followed each token, the oldest first */
    int *n;      /* (V) number of n-grams of each token */
    int *column; /* (ngram-1, window) the iterates, by level; NO_GUESS */
    int *next;   /* (ngram-1, window) workspace */
    int *result; /* (window) argmax after each column */
    int filled;  /* levels that have iterates; 0: the text has not begun */
    bool scored; /* the window is in this round's pass */
    uint64_t guessed;
} lookahead;

static void close(void *state)
{
    lookahead *l = state;
    free(l->pool);
    free(l->n);
    free(l->column); /* one block with next and result */
    free(l);
}

/* Return the deepest path and the number of scouts of a whole window. */
static int depth_of(const lookahead *l)
{
    return l->window - 1 + l->ngram - 2;
}

static int scouts(const lookahead *l)
{
    return l->window - 1 + l->window * (l->ngram - 2);
}

static int nodes(const spec_drafter *drafter, int K)
{
    const lookahead *l = drafter->state;
    const int length = l->ngram - 1 < K ? l->ngram - 1 : K;
    return K == 0 ? 0 : l->guesses * length + scouts(l);
}

static int init(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    lookahead *l = drafter->state = calloc(1, sizeof *l);
    if (l == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(spec_settings_int(&l->window, settings, "window", 15, 1, WINDOW_MAX, error));
    SPEC_TRY(spec_settings_int(&l->ngram, settings, "ngram", 5, 2, NGRAM_MAX, error));
    SPEC_TRY(spec_settings_int(&l->guesses, settings, "guesses", 15, 1, GUESSES_MAX, error));
    drafter->siblings = SPEC_SIBLINGS_TOP;
    drafter->widest = l->guesses;
done:
    return status;
}

static int open(spec_drafter *drafter, const spec_model *target, int K, spec_error *error)
{
    lookahead *l = drafter->state;
    const size_t vocab = (size_t)target->vocab, levels = (size_t)l->ngram - 1,
                 window = (size_t)l->window;
    (void)K;
    l->target = target;
    l->pool = malloc(vocab * (size_t)l->guesses * levels * sizeof *l->pool);
    l->n = calloc(vocab, sizeof *l->n);
    l->column = malloc((2 * levels + 1) * window * sizeof *l->column);
    if (l->pool == NULL || l->n == NULL || l->column == NULL)
        return spec_fail(error, GSL_ENOMEM, "out of memory for %zu x %d n-grams of %zu tokens",
                         vocab, l->guesses, levels);
    l->next = l->column + levels * window;
    l->result = l->next + levels * window;
    return GSL_SUCCESS;
}

static int reset(spec_drafter *drafter, bool all, spec_error *error)
{
    lookahead *l = drafter->state;
    (void)all, (void)error;
    memset(l->n, 0, (size_t)l->target->vocab * sizeof *l->n);
    l->filled = 0;
    l->guessed = 0;
    return GSL_SUCCESS;
}

/* ---- the draft ------------------------------------------------------------------------------- */

static int child_with(const spec_draft *draft, int parent, int token)
{
    for (int i = parent + 1; i < draft->n_nodes; i++)
        if (draft->parent[i] == parent && draft->token[i] == token) return i;
    return -1;
}

/* Appends the n-grams of the pool, the latest first; n-grams share the path of a common
 * beginning. */
static void append_guesses(spec_draft *draft, const lookahead *l, int last, int depth)
{
    const int levels = l->ngram - 1, length = levels < depth ? levels : depth;
    const int *pool = l->pool + (size_t)last * (size_t)l->guesses * (size_t)levels;
    for (int i = l->n[last] - 1; i >= 0; i--)
        for (int d = 0, node = -1; d < length; d++) {
            const int token = pool[i * levels + d], known = child_with(draft, node, token);
            if (known < 0) spec_draft_append(draft, token, node, NULL, false);
            node = known >= 0 ? known : draft->n_nodes - 1;
        }
}

/* Appends the window: the trunk, then level by level, each in the order of its columns. */
static void append_window(spec_draft *draft, lookahead *l, const int *context, size_t n)
{
    const int W = l->window;
    const int trunk = draft->n_nodes - 1; /* node of column i of level 0 is trunk + i */
    l->column[0] = context[n - 1];
    for (int i = 0; i < l->filled * W; i++)
        if (l->column[i] == NO_GUESS)
            l->column[i] = context[spec_noise_word(0, l->guessed++) % (uint64_t)n];
    for (int i = 1; i < W; i++)
        spec_draft_append_scout(draft, l->column[i], i > 1 ? trunk + i - 1 : -1);
    for (int level = 1; level < l->filled; level++)
        for (int i = 0; i < W; i++)
            spec_draft_append_scout(draft, l->column[level * W + i],
                                    level > 1 ? trunk + (level - 1) * W + i
                                    : i > 0   ? trunk + i
                                              : -1);
}

static int draft(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                 const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    lookahead *l = drafter->state;
    (void)chance, (void)error;
    l->scored = false;
    if (n == 0 || policy->now == 0) return GSL_SUCCESS;
    append_guesses(ret_draft, l, context[n - 1], policy->now);
    if (l->target->window > 0 && n + (size_t)depth_of(l) > (size_t)l->target->window)
        return GSL_SUCCESS;
    l->scored = true;
    if (l->filled == 0) {
        l->filled = 1;
        for (int i = 0; i < l->window; i++) l->column[i] = NO_GUESS;
    }
    append_window(ret_draft, l, context, n);
    return GSL_SUCCESS;
}

/* ---- after the pass -------------------------------------------------------------------------- */

/* Makes an n-gram the latest of its first token; in a full pool it replaces the oldest. */
static void remember(lookahead *l, int first, const int *gram)
{
    const size_t levels = (size_t)l->ngram - 1, size = levels * sizeof *gram;
    int *pool = l->pool + (size_t)first * (size_t)l->guesses * levels;
    int at = 0;
    while (at < l->n[first] && memcmp(pool + (size_t)at * levels, gram, size) != 0) at++;
    if (at == l->guesses) at = 0;
    if (at == l->n[first]) {
        l->n[first]++;
    } else {
        const size_t behind = (size_t)(l->n[first] - 1 - at);
        memmove(pool + (size_t)at * levels, pool + ((size_t)at + 1) * levels, behind * size);
    }
    memcpy(pool + (size_t)(l->n[first] - 1) * levels, gram, size);
}

static void fill_pool(lookahead *l)
{
    const int W = l->window, levels = l->ngram - 1;
    int gram[NGRAM_MAX];
    for (int i = 0; i < W; i++) {
        for (int level = 1; level < levels; level++) gram[level - 1] = l->column[level * W + i];
        gram[levels - 1] = l->result[i];
        remember(l, l->column[i], gram);
    }
}

/* Moves the window on by the emitted tokens. While levels are missing, the results become a new
 * one; afterwards they push level 0 out. */
static void move(lookahead *l, int emitted)
{
    const int W = l->window, levels = l->ngram - 1;
    const bool whole = l->filled == levels;
    const int by = whole ? emitted - 1 : emitted, kept = whole ? levels - 1 : l->filled;
    for (int level = 0; level <= kept; level++) {
        const int *from = level == kept ? l->result : l->column + (level + (whole ? 1 : 0)) * W;
        for (int i = 0; i < W; i++) l->next[level * W + i] = i < W - by ? from[i + by] : NO_GUESS;
    }
    l->filled = kept + 1;
    memcpy(l->column, l->next, (size_t)(l->filled * W) * sizeof *l->column);
}

static void observe(spec_drafter *drafter, const spec_draft *draft, const double *const *target_row,
                    const spec_round *round)
{
    lookahead *l = drafter->state;
    const int W = l->window, deepest = l->filled - 1;
    if (!l->scored) return;
    /* the row after a node has the node's index plus one, and the trunk begins at the root */
    const double *const *trunk = target_row + draft->n_nodes;
    for (int i = 0; i < W; i++) {
        const double *row = deepest > 0 ? trunk[deepest * W + i] : i > 0 ? trunk[i] : target_row[0];
        l->result[i] = spec_row_argmax(row, l->target->vocab);
    }
    if (l->filled == l->ngram - 1) fill_pool(l);
    move(l, round->n_emitted);
}

const spec_drafter_kind spec_draft_lookahead = {
    .name = "lookahead",
    .usage = "lookahead?window=15&ngram=5&guesses=15",
    .summary = "n-grams of the target's own Jacobi iterates, computed in the same pass (one-hot, "
               "no model)",
    .reference = "Fu24",
    .nodes = nodes,
    .init = init,
    .free = close,
    .open = open,
    .reset = reset,
    .observe = observe,
    .draft = draft,
};
