/* SPDX-License-Identifier: GPL-3.0-or-later */
/* policy_case: a length policy with a draft of its own, for scripted rounds. */
#ifndef SPECLAB_TESTS_POLICY_CASE_H
#define SPECLAB_TESTS_POLICY_CASE_H

#include "base/noise.h"
#include "sim/draft/policy.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

enum { CASE_K = 64, CASE_VOCAB = 4 };

typedef struct {
    spec_policy policy;
    spec_draft draft;
    double row[CASE_K + 1][CASE_VOCAB];
    int drawn; /* tokens of the last draft before it was cut */
} policy_case;

static inline policy_case case_of(const char *spec, int K)
{
    policy_case c = {.drawn = 0};
    spec_error error = {""};
    if (spec_policy_init(&c.policy, spec, K, &error) != GSL_SUCCESS)
        fail_msg("%s: %s", spec, error.text);
    assert_int_equal(spec_draft_init(&c.draft, CASE_K, CASE_VOCAB, NULL), GSL_SUCCESS);
    return c;
}

static inline void case_free(policy_case *c)
{
    spec_policy_free(&c->policy);
    spec_draft_free(&c->draft);
}

/* Drafts by the rows, with tokens token[i], as a drafter does; returns the number of tokens
 * kept. */
static inline int case_draft(policy_case *c, const int *token)
{
    spec_draft *draft = &c->draft;
    const bool ahead = c->policy.looks_ahead;
    spec_draft_reset(draft);
    while (spec_policy_go_on(&c->policy, draft, ahead ? c->row[draft->n_nodes] : NULL)) {
        const int i = draft->n_nodes;
        spec_draft_append(draft, token[i], i - 1, c->row[i], true);
    }
    c->drawn = draft->n_nodes;
    for (const int kept = spec_policy_cut(&c->policy, draft); draft->n_nodes > kept;)
        spec_draft_retract(draft);
    return draft->n_nodes;
}

/* Reports the draft's outcome: so many tokens accepted, then this token. */
static inline void case_see(policy_case *c, int n_accepted, int last)
{
    int token[CASE_K + 1];
    for (int i = 0; i < n_accepted; i++) token[i] = c->draft.token[i];
    token[n_accepted] = last;
    const spec_round round = {.n_drafted = c->draft.n_nodes,
                              .n_accepted = n_accepted,
                              .n_emitted = n_accepted + 1,
                              .token = token};
    assert_int_equal(spec_policy_observe(&c->policy, &c->draft, &round, NULL), GSL_SUCCESS);
}

/* Runs a round of a policy that does not look at the draft. */
static inline void case_round(policy_case *c, int n_drafted, int n_accepted)
{
    const spec_round round = {
        .n_drafted = n_drafted, .n_accepted = n_accepted, .n_emitted = n_accepted + 1};
    assert_int_equal(spec_policy_observe(&c->policy, &c->draft, &round, NULL), GSL_SUCCESS);
}

static inline double case_uniform(uint64_t key, uint64_t i)
{
    return (double)(spec_noise_word(key, i) >> 11) * 0x1p-53;
}

/* Returns how many of K tokens a round accepts. The chance of each drifts between low and high. */
static inline int case_accepted(int round, int K)
{
    const uint64_t key = spec_noise_mix(spec_test_seed() * 1000003 + (uint64_t)round);
    const double chance = 0.2 + 0.78 * ((round / 50) % 5) / 4.0;
    int n = 0;
    while (n < K && case_uniform(key, (uint64_t)n) < chance) n++;
    return n;
}

/* Makes rows with a peak between 1/4 and 1 at a random token, and their tokens: the peak or another
 * one. */
static inline void case_rows(policy_case *c, int *token, uint64_t seed, int n)
{
    for (int i = 0; i < n; i++) {
        const uint64_t key = spec_noise_mix(seed * 1000003 + (uint64_t)i);
        const int peak = (int)(CASE_VOCAB * case_uniform(key, 0));
        const double p = 0.25 + 0.75 * case_uniform(key, 1);
        for (int x = 0; x < CASE_VOCAB; x++)
            c->row[i][x] = x == peak ? p : (1.0 - p) / (CASE_VOCAB - 1);
        token[i] = case_uniform(key, 2) < p ? peak : (peak + 1) % CASE_VOCAB;
    }
}

#endif
