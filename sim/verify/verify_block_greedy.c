/* SPDX-License-Identifier: GPL-3.0-or-later */
/* block-greedy: greedy block verification of one chain [Sun25];
 * docs/formulas/rules.md#block-greedy. A prefix is kept with the smaller of its chances under
 * target and draft, the most that any rule can keep of one block. At the block's positions after
 * the kept prefix the remaining target is not the target, so the correction passes to later rounds:
 * they decide these positions by the target minus the draft, and a rejection among them subtracts
 * the draft once more.
 *
 * pardon: the same, but a block of which only i tokens were kept is still kept as a whole with
 * chance depth - i, clamped to 0..1. No rule that keeps as much of a block is nearer to the
 * target's law: docs/formulas/rules.md#lossy-front. A round that begins inside an earlier block is
 * not pardoned.
 *
 * Passes over a pair of rows: those of block, and one per position and per earlier round whose
 * block still covers it. */
#include "sim/verify/verify.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The state that one round passes to later ones. At the first `left` positions, norm((ratio row -
 * draft)+) replaces the row of the levels before it. The ratio is the chance of the text since that
 * round began, under those rows, over its chance to be drafted. */
typedef struct {
    double ratio;
    int left;
} level;

/* At most n_nodes - 1 levels, because each round removes at least one position from each. */
typedef struct {
    int capacity, vocab, n_levels;
    int covered; /* pardon: the positions that a block which was not pardoned still covers */
    /* (capacity+1, capacity) the levels after each drafted token, oldest first; the first row
     * persists between rounds */
    level *trail;
    const double **row;  /* (capacity+1) the rows that replace the target's */
    double *store;       /* (capacity, V) */
} carried;

static int init_pardon(spec_rule *rule, spec_settings *settings, spec_error *error)
{
    return spec_settings_double(&rule->settings.pardon.depth, settings, "depth", 0.5, 0.0,
                                SPEC_K_MAX, error);
}

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
    return spec_fail(error, GSL_ENOMEM, "out of memory for %d rows of %d probabilities", n_nodes,
                     vocab);
}

static void reset(void *state)
{
    carried *c = state;
    c->n_levels = c->covered = 0;
}

static level *levels_after(const carried *c, int place)
{
    return c->trail + (size_t)place * (size_t)c->capacity;
}

/* Returns the target's row at a position of the chain, after all levels; also advances the levels
 * past `token`. A row stays as it is if rounding leaves no residual. */
static const double *carry_past(int token, int place, level *levels, const carried *c,
                                const spec_draft *draft, const double *target, double *weight)
{
    double *left = c->store + (size_t)place * (size_t)c->vocab;
    const double law = spec_verify_drafted(draft, place, token), *row = target;
    for (int l = 0; l < c->n_levels; l++) {
        if (levels[l].left <= place) continue;
        const double ratio = levels[l].ratio, mass_of_token = row[token];
        const double mass = spec_verify_block_residual(weight, ratio, row, draft, place);
        if (mass > 0.0) {
            for (int i = 0; i < c->vocab; i++) left[i] = weight[i] / mass;
            row = left;
        }
        levels[l].ratio = spec_verify_ratio(ratio, mass_of_token, law);
    }
    return row;
}

/* Sets the levels after a round that kept `kept` tokens of the chain and ended with `token`: the
 * old ones and its own. */
static void hand_on(carried *c, const spec_draft *draft, const double *target, int kept, int token,
                    double *weight)
{
    level *levels = levels_after(c, kept);
    const int n = c->n_levels;
    c->n_levels = 0;
    if (kept == draft->n_nodes || spec_draft_ends_at(draft, token))
        return; /* nothing would be drafted from here on */
    c->n_levels = n;
    carry_past(token, kept, levels, c, draft, target, weight);
    levels[n] = (level){.ratio = 1.0, .left = draft->depth};
    for (int i = 0; i <= kept; i++) {
        const int x = i < kept ? draft->token[i] : token;
        levels[n].ratio =
            spec_verify_ratio(levels[n].ratio, c->row[i][x], spec_verify_drafted(draft, i, x));
    }
    c->n_levels = 0;
    for (int l = 0; l <= n; l++) {
        const level after = {.ratio = levels[l].ratio, .left = levels[l].left - kept - 1};
        if (after.left > 0 && after.ratio < SPEC_VERIFY_RATIO_MAX) c->trail[c->n_levels++] = after;
    }
}

/* Keeps the rest of the chain instead of the correction, with the chance that the rule gives. */
static void pardon(spec_round *round, double depth, const spec_draft *draft, const double *last,
                   spec_chance *chance)
{
    const int kept = round->n_accepted, n = draft->n_nodes;
    const double share = fmin(depth - kept, 1.0);
    if (kept == n || !(share > 0.0) || !spec_chance_accept(chance, share, 1.0)) return;
    round->n_emitted = kept;
    for (int i = kept; i < n; i++) spec_verify_accept(round, draft, i);
    spec_verify_end(round, spec_verify_sample(last, draft->vocab, chance));
}

static void verify(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                   const double *const *target, double *weight, spec_chance *chance)
{
    carried *c = rule->state;
    const int n = draft->n_nodes;
    assert(!draft->branches && draft->depth >= n);
    for (int i = 0; i < n; i++) {
        level *levels = levels_after(c, i + 1);
        memcpy(levels, levels_after(c, i), (size_t)c->n_levels * sizeof *levels);
        c->row[i] = carry_past(draft->token[i], i, levels, c, draft, target[i], weight);
    }
    c->row[n] = target[n]; /* no level covers the position after the last token */
    spec_verify_block_by(ret_round, draft, c->row, SPEC_BLOCK_UNCAPPED, weight, chance);
    if (c->covered == 0) {
        pardon(ret_round, rule->settings.pardon.depth, draft, target[n], chance);
        c->covered = draft->depth;
    }
    const int kept = ret_round->n_accepted;
    c->covered = c->covered > kept + 1 ? c->covered - kept - 1 : 0;
    hand_on(c, draft, target[kept], kept, ret_round->token[kept], weight);
}

const spec_rule spec_verify_block_greedy = {
    .name = "block-greedy",
    .summary = "accepts as much as possible of one block; the next rounds then have a worse target",
    .reference = "Sun25",
    .claim = SPEC_LOSSLESS,
    .asks = SPEC_ASKS_BLOCK,
    .needs_schedule = true,
    .open = open,
    .reset = reset,
    .close = close,
    .verify = verify,
};

const spec_rule spec_verify_pardon = {
    .name = "pardon",
    .usage = "pardon?depth=0.5",
    .summary = "LOSSY on purpose: block-greedy, but some blocks that it rejects are kept whole",
    .reference = "",
    .claim = SPEC_LOSSY,
    .asks = SPEC_ASKS_OTHER,
    .needs_schedule = true,
    .init = init_pardon,
    .open = open,
    .reset = reset,
    .close = close,
    .verify = verify,
};
