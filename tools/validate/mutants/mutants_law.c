/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mistakes in acceptance, and in the token after a rejection. */
#include "tools/validate/mutants/mutants.h"

#include <math.h>

static double chance_of(const spec_reference_sampler *s, int child)
{
    return s->drawn == SPEC_DRAWN_FIXED ? 1.0 : s->draft[s->token[child]];
}

static double target_of(const spec_reference_sampler *s, int child)
{
    return s->target[s->token[child]];
}

/* ---- accepting ------------------------------------------------------------------------------- */

static bool accept_all(spec_reference_sampler *s, int child)
{
    (void)s;
    (void)child;
    return true;
}

static bool accept_unless_impossible(spec_reference_sampler *s, int child)
{
    return 0.0 < target_of(s, child);
}

static bool accept_none(spec_reference_sampler *s, int child)
{
    s->memory[0] = s->token[child];
    return false;
}

static int correct_with_draft(spec_reference_sampler *s)
{
    return (int)s->memory[0];
}

static bool accept_inverted(spec_reference_sampler *s, int child)
{
    return spec_reference_sampler_uniform(s, SPEC_REFERENCE_ACCEPTS) * target_of(s, child) <
           chance_of(s, child);
}

static bool accept_coin_at_most(spec_reference_sampler *s, int child)
{
    return (float)spec_reference_sampler_uniform(s, SPEC_REFERENCE_ACCEPTS) *
               (float)chance_of(s, child) <=
           (float)target_of(s, child);
}

/* A draft that is fixed before the coin may be judged as a one-hot draft. */
static bool accept_certain(spec_reference_sampler *s, int child)
{
    return spec_reference_sampler_uniform(s, SPEC_REFERENCE_ACCEPTS) < target_of(s, child);
}

static void residual_zeroed(spec_reference_sampler *s, int child)
{
    s->target[s->token[child]] = 0.0;
    (void)spec_reference_sampler_normalise(s->target, s->vocab);
}

/* ---- after a rejection ----------------------------------------------------------------------- */

static void residual_none(spec_reference_sampler *s, int child)
{
    (void)s;
    (void)child;
}

static void residual_of_draft(spec_reference_sampler *s, int child)
{
    if (s->drawn == SPEC_DRAWN_FIXED) return;
    (void)child;
    for (int i = 0; i < s->vocab; i++) s->target[i] = s->draft[i];
}

static void residual_softmax(spec_reference_sampler *s, int child)
{
    if (s->drawn != SPEC_DRAWN_FIXED)
        for (int i = 0; i < s->vocab; i++)
            s->target[i] = exp(fmax(s->target[i] - s->draft[i], 0.0));
    else
        for (int i = 0; i < s->vocab; i++)
            s->target[i] = exp(i == s->token[child] ? 0.0 : s->target[i]);
    (void)spec_reference_sampler_normalise(s->target, s->vocab);
}

/* Draws as if the residual summed to 1: the last token gets the missing mass. */
static void residual_short(spec_reference_sampler *s, int child)
{
    double sum = 0.0;
    if (s->drawn == SPEC_DRAWN_FIXED) s->target[s->token[child]] = 0.0;
    else
        for (int i = 0; i < s->vocab; i++) s->target[i] = fmax(s->target[i] - s->draft[i], 0.0);
    for (int i = 0; i < s->vocab; i++) sum += s->target[i];
    s->target[s->vocab - 1] += fmax(1.0 - sum, 0.0);
}

/* A residual of less than a thousandth counts as nothing, and padding is emitted. */
static void residual_or_padding(spec_reference_sampler *s, int child)
{
    double sum = 0.0;
    for (int i = 0; i < s->vocab && s->drawn != SPEC_DRAWN_FIXED; i++)
        sum += fmax(s->target[i] - s->draft[i], 0.0);
    s->memory[0] = s->drawn != SPEC_DRAWN_FIXED && sum < 1e-3;
    spec_reference_sampler_residual(s, child);
}

static int correct_or_pad(spec_reference_sampler *s)
{
    return s->memory[0] ? -1 : spec_reference_sampler_pick(s, s->target, SPEC_REFERENCE_CORRECTS);
}

/* Uses logarithms in single precision: 1 - draft/target loses its digits if draft/target is
 * small. */
static void residual_log(spec_reference_sampler *s, int child)
{
    if (s->drawn != SPEC_DRAWN_IID) {
        spec_reference_sampler_residual(s, child);
        return;
    }
    for (int i = 0; i < s->vocab; i++) {
        const float target = (float)s->target[i], draft = (float)s->draft[i];
        s->target[i] =
            target > draft ? (double)expf(logf(target) + logf(1.0f - draft / target)) : 0.0;
    }
    if (!spec_reference_sampler_normalise(s->target, s->vocab))
        spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, s->place, s->target);
}

/* ---- the last token -------------------------------------------------------------------------- */

static int last_argmax(spec_reference_sampler *s)
{
    return spec_reference_sampler_argmax(s->target, s->vocab);
}

static int bonus_of_draft(spec_reference_sampler *s)
{
    if (s->drawn == SPEC_DRAWN_FIXED)
        return spec_reference_sampler_pick(s, s->target, SPEC_REFERENCE_CLOSES);
    spec_reference_sampler_load(s, SPEC_REFERENCE_DRAFT, s->place, s->draft);
    return spec_reference_sampler_pick(s, s->draft, SPEC_REFERENCE_CLOSES);
}

static void tail_cut(spec_reference_sampler *s, int side, int place, double *row)
{
    (void)place;
    if (side != SPEC_REFERENCE_TARGET || s->vocab > 64) return;
    for (int i = 0; i < s->vocab; i++)
        if (row[i] < 1e-3) row[i] = 0.0;
    (void)spec_reference_sampler_normalise(row, s->vocab);
}

static void one_hot_target(spec_reference_sampler *s, int side, int place, double *row)
{
    (void)place;
    if (side != SPEC_REFERENCE_TARGET) return;
    const int best = spec_reference_sampler_argmax(row, s->vocab);
    for (int i = 0; i < s->vocab; i++) row[i] = i == best ? 1.0 : 0.0;
}

/* ---- other rounds ---------------------------------------------------------------------------- */

/* Draws from the target, and continues while the draws equal the draft: exact, but slow. */
static void round_match(spec_reference_sampler *s)
{
    int child[SPEC_FIXTURE_NODES_MAX], place = 0;
    for (;;) {
        const int n = spec_reference_sampler_children(s, place, child);
        int next = 0;
        spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, place, s->target);
        const int token = spec_reference_sampler_pick(
            s, s->target, n > 0 ? SPEC_REFERENCE_CORRECTS : SPEC_REFERENCE_CLOSES);
        spec_reference_sampler_emit(s, token);
        while (next < n && s->token[child[next]] != token) next++;
        if (next == n) return;
        place = child[next] + 1;
    }
}

/* Drops an improbable token after seeing it, and draws a replacement from the target. */
static bool accept_confident(spec_reference_sampler *s, int child)
{
    s->memory[0] =
        s->drawn != SPEC_DRAWN_FIXED &&
        chance_of(s, child) < 0.5 * s->draft[spec_reference_sampler_argmax(s->draft, s->vocab)];
    return s->memory[0] == 0 && spec_reference_sampler_accept(s, child);
}

/* An impossible draft token ends the draft as if it had not been drawn. */
static bool accept_unless_cut(spec_reference_sampler *s, int child)
{
    s->memory[0] = s->drawn != SPEC_DRAWN_FIXED && target_of(s, child) == 0.0;
    return s->memory[0] == 0 && spec_reference_sampler_accept(s, child);
}

static void residual_unless_dropped(spec_reference_sampler *s, int child)
{
    if (s->memory[0] == 0) spec_reference_sampler_residual(s, child);
}

/* Judges fewer tokens; the number does not depend on the tokens. */
static void round_shorter(spec_reference_sampler *s)
{
    s->n_nodes = (int)(spec_reference_sampler_fresh(s) * (s->n_nodes + 1));
    spec_reference_sampler_walk(s);
}

/* If a token was rejected, runs the round again with new numbers and with the draft cut to what was
 * accepted, so the rounds that stay are selected. Matching shows it, whatever the draft. */
static void round_redrawn(spec_reference_sampler *s)
{
    round_match(s);
    if (s->n_emitted > s->n_nodes) return;
    s->n_nodes = s->n_emitted - 1;
    s->n_emitted = 0;
    round_match(s);
}

/* ---- lossy ones ------------------------------------------------------------------------------ */

static bool accept_lenient(spec_reference_sampler *s, int child)
{
    const double lenience = 0.8;
    return spec_reference_sampler_uniform(s, SPEC_REFERENCE_ACCEPTS) * lenience *
               chance_of(s, child) <
           target_of(s, child);
}

static bool accept_typical(spec_reference_sampler *s, int child)
{
    const double most = 0.09, share = 0.3;
    double entropy = 0.0;
    for (int i = 0; i < s->vocab; i++) entropy -= s->target[i] * log(s->target[i] + 1e-5);
    return target_of(s, child) > fmin(most, share * exp(-entropy));
}

const spec_mutant spec_mutants_law[] = {
    {"accept-all", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "every drafted token is accepted",
     "huggingface/transformers #28508", .everywhere = true, .hooks = {.accept = accept_all}},
    {"coin-zero", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "the uniform number of every acceptance is 0", "vllm-project/vllm-ascend #13730",
     .everywhere = true, .hooks = {.accept = accept_unless_impossible}},
    {"accept-none", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "nothing is accepted, and the drafted token is emitted as the correction", "",
     .everywhere = true, .hooks = {.accept = accept_none, .correct = correct_with_draft}},
    {"ratio-inverted", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "accepts with draft/target instead of target/draft", "", .everywhere = true,
     .hooks = {.accept = accept_inverted}},
    {"coin-at-most", SPEC_MUTANT_HARD, SPEC_SCOPE_VERIFY,
     "coin <= ratio: a coin of 0 accepts a token of probability 0", "sgl-project/sglang #35771",
     .coins = true, .everywhere = true, .hooks = {.accept = accept_coin_at_most}},
    {"residual-from-target", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "after a rejection draws from the target, not the residual", "Spec-RL #14", .everywhere = true,
     .hooks = {.residual = residual_none}},
    {"residual-from-draft", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "after a rejection draws from the draft again", "", .everywhere = true,
     .hooks = {.residual = residual_of_draft}},
    {"residual-softmax", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "the residual goes through a softmax instead of being normalised",
     "huggingface/transformers #28508", .everywhere = true,
     .hooks = {.residual = residual_softmax}},
    {"residual-short", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "the residual is not normalised: the last token gets what is missing", "", .everywhere = true,
     .hooks = {.residual = residual_short}},
    {"residual-zeroed", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "a sampled draft is verified by the ratio, but its residual is the target without the token",
     "ggerganov/llama.cpp, examples/speculative", .everywhere = true,
     .hooks = {.residual = residual_zeroed}},
    {"residual-padding", SPEC_MUTANT_HARD, SPEC_SCOPE_VERIFY,
     "a residual of less than a thousandth counts as nothing, and padding is emitted", "",
     .hooks = {.residual = residual_or_padding, .correct = correct_or_pad}},
    {"tail-cut", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "tokens below a thousandth are cut off from the target", "", .everywhere = true,
     .hooks = {.shape = tail_cut}},
    {"residual-log", SPEC_MUTANT_SMALL, SPEC_SCOPE_VERIFY,
     "log(1 - draft/target) instead of log1p, in single precision", "vllm-project/vllm #46665",
     .everywhere = true, .hooks = {.residual = residual_log}},
    {"correction-argmax", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "builds the filtered distribution, then returns its argmax", "EricLBuehler/mistral.rs #2329",
     .everywhere = true, .hooks = {.correct = last_argmax, .bonus = last_argmax}},
    {"target-argmax", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "emits the target's argmax at a temperature above 0", "lablup/mlxcel #902", .everywhere = true,
     .hooks = {.shape = one_hot_target}},
    {"bonus-argmax", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY, "the bonus is the target's argmax", "",
     .everywhere = true, .hooks = {.bonus = last_argmax}},
    {"bonus-from-draft", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "the bonus is drawn from the draft's row", "", .everywhere = true,
     .hooks = {.bonus = bonus_of_draft}},
    {"anticipates", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "drops a drafted token because it is unlikely, and draws its replacement from the target", "",
     .everywhere = true,
     .hooks = {.accept = accept_confident, .residual = residual_unless_dropped}},
    {"cut-impossible", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "cuts the draft before an impossible token, and draws the next token from the target",
     "vllm-project/vllm 0.33.0, grammars", .everywhere = true,
     .hooks = {.accept = accept_unless_cut, .residual = residual_unless_dropped}},
    {"redraws-partial", SPEC_MUTANT_WRONG, SPEC_SCOPE_VERIFY,
     "returns to a checkpoint after a rejection, without resetting the random numbers", "",
     .chains_only = true, .everywhere = true, .hooks = {.round = round_redrawn}},
    {"lenience", SPEC_MUTANT_LOSSY, SPEC_SCOPE_VERIFY, "accepts with target/(.8 draft)",
     "[Leviathan23] A.5", .everywhere = true, .hooks = {.accept = accept_lenient}},
    {"typical", SPEC_MUTANT_LOSSY, SPEC_SCOPE_VERIFY,
     "typical acceptance: whatever the target finds likely enough", "[Cai24]", .everywhere = true,
     .hooks = {.accept = accept_typical, .residual = residual_none}},
    {"right", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: the sampler that the others are made from", "", .hooks = {0}},
    {"right-drafts", SPEC_MUTANT_EXACT, SPEC_SCOPE_DRAFT, "none: the same, with drafts of its own",
     "", .hooks = {0}},
    {"right-texts", SPEC_MUTANT_EXACT, SPEC_SCOPE_STREAM, "none: the same, writing texts", "",
     .hooks = {0}},
    {"right-logits", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY, "none: the same, from logits", "",
     .hooks = {.logits = true}},
    {"right-logits-texts", SPEC_MUTANT_EXACT, SPEC_SCOPE_STREAM,
     "none: the same, from logits, writing texts", "", .hooks = {.logits = true}},
    {"sampler-match", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: draws from the target, and goes on while that was drafted; only inefficient",
     "mlx-swift-lm #459, z-lab/dflash #74", .hooks = {.round = round_match}},
    {"draft-as-certain", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: a draft that is fixed before the coin may be verified as if it were deterministic",
     "SafeAILab/EAGLE #329, vllm-project/vllm #40149",
     .hooks = {.accept = accept_certain, .residual = residual_zeroed}},
    {"judges-fewer", SPEC_MUTANT_EXACT, SPEC_SCOPE_VERIFY,
     "none: leaves the end of the draft unverified, whatever it is", "",
     .hooks = {.round = round_shorter}},
    {.name = NULL},
};
