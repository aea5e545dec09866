/* block-greedy: greedy block verification of one chain [Sun25]; docs/formulas.md#block-greedy. A prefix is kept with
 * the smaller of its chances under target and draft, the most that any rule can keep of one block. What that leaves of
 * the target for the places of the block that were not kept is not the target's law, so it is handed on: these places
 * are decided by a target with the draft taken off, and a rejection among them takes the draft off once more.
 *
 * Passes over a pair of rows: those of block, and one for each place and each round whose block still covers it. */
#include "sim/verify/verify.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What one round leaves to the next ones: in the first `left` places the row of the levels before it is replaced by
 * norm((ratio row - draft)+). ratio is the chance of the text since that round began, under those rows, over its chance
 * to be drafted. */
typedef struct {
    double ratio;
    int left;
} level;

/* At most n_nodes - 1 levels, for each round takes at least one place off each. */
typedef struct {
    int capacity, vocab, n_levels;
    level *trail;        /* (capacity+1, capacity) the levels after each drafted token, oldest first; the first line is
                            kept from round to round */
    const double **row;  /* (capacity+1) what stands for the target */
    double *store;       /* (capacity, V) */
} carried;

static void close(void *state)
{
    carried *c = state;
    free(c->trail);
    free(c->row);
    free(c->store);
    free(c);
}

static int open(spec_rule *rule, int vocab, int n_nodes, spec_error *error)
{
    const size_t n = (size_t)n_nodes + 1;
    carried *c = rule->state = calloc(1, sizeof *c);
    if (c != NULL) {
        *c = (carried){.capacity = n_nodes, .vocab = vocab};
        c->trail = malloc(n * n * sizeof *c->trail);
        c->row = malloc(n * sizeof *c->row);
        c->store = malloc(n * (size_t)vocab * sizeof *c->store);
        if (c->trail != NULL && c->row != NULL && c->store != NULL) return GSL_SUCCESS;
    }
    return spec_fail(error, GSL_ENOMEM, "out of memory for %d rows of %d probabilities", n_nodes, vocab);
}

static void reset(void *state)
{
    ((carried *)state)->n_levels = 0;
}

static level *levels_after(const carried *c, int place)
{
    return c->trail + (size_t)place * (size_t)c->capacity;
}

/* The target's row at a place of the chain, as all levels leave it; and carry these past `token` there. Where rounding
 * left nothing of a row, it stays. */
static const double *carry_past(int token, int place, level *levels, const carried *c, const spec_draft *draft,
                                const double *target, double *weight)
{
    double *left = c->store + (size_t)place * (size_t)c->vocab;
    const double law = spec_verify_drafted(draft, place, token), *row = target;
    for (int l = 0; l < c->n_levels; l++) {
        if (levels[l].left <= place) continue;
        const double ratio = levels[l].ratio, mass_of_token = row[token];
        const double mass = spec_verify_surplus(weight, ratio, row, draft, place);
        if (mass > 0.0) {
            for (int i = 0; i < c->vocab; i++) left[i] = weight[i] / mass;
            row = left;
        }
        levels[l].ratio = spec_verify_ratio(ratio, mass_of_token, law);
    }
    return row;
}

/* The levels after a round that kept `kept` tokens of the chain and ended with `token`: the old ones, and its own. */
static void hand_on(carried *c, const spec_draft *draft, const double *target, int kept, int token, double *weight)
{
    level *levels = levels_after(c, kept);
    const int n = c->n_levels;
    c->n_levels = 0;
    if (kept == draft->n_nodes || token == draft->end_of_text) return; /* nothing was to be drafted from here on */
    c->n_levels = n;
    carry_past(token, kept, levels, c, draft, target, weight);
    levels[n] = (level){.ratio = 1.0, .left = draft->depth};
    for (int i = 0; i <= kept; i++) {
        const int x = i < kept ? draft->token[i] : token;
        levels[n].ratio = spec_verify_ratio(levels[n].ratio, c->row[i][x], spec_verify_drafted(draft, i, x));
    }
    c->n_levels = 0;
    for (int l = 0; l <= n; l++) {
        const level after = {.ratio = levels[l].ratio, .left = levels[l].left - kept - 1};
        if (after.left > 0 && after.ratio < SPEC_VERIFY_RATIO_MAX) c->trail[c->n_levels++] = after;
    }
}

static void verify(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft, const double *const *target,
                   double *weight, spec_chance *chance)
{
    carried *c = rule->state;
    const int n = draft->n_nodes;
    assert(!draft->branches && draft->depth >= n);
    for (int i = 0; i < n; i++) {
        level *levels = levels_after(c, i + 1);
        memcpy(levels, levels_after(c, i), (size_t)c->n_levels * sizeof *levels);
        c->row[i] = carry_past(draft->token[i], i, levels, c, draft, target[i], weight);
    }
    c->row[n] = target[n]; /* no level reaches as far: after as many tokens as were to be drafted, or the draft's end */
    spec_verify_block_by(ret_round, draft, c->row, SPEC_BLOCK_UNCAPPED, weight, chance);
    const int kept = ret_round->n_accepted;
    hand_on(c, draft, target[kept], kept, ret_round->token[kept], weight);
}

const spec_rule spec_verify_block_greedy = {
    .name = "block-greedy",
    .summary = "keeps the most that can be kept of one block; the next rounds pay for it with a worse target",
    .reference = "Sun25",
    .claim = SPEC_LOSSLESS,
    .needs_schedule = true,
    .open = open,
    .reset = reset,
    .close = close,
    .verify = verify,
};
