/* SPDX-License-Identifier: GPL-3.0-or-later */
/* round: the plain records that simulation writes and analysis reads.
 * A round is one draft-and-verify cycle. A tally sums rounds in integers, so that merging is exact
 * in any order. The caller owns every array. Headers only. */
#ifndef SPECLAB_ROUND_H
#define SPECLAB_ROUND_H

#include <stdbool.h>
#include <stdint.h>

/* The longest draft, in tokens along one path (K), and the most nodes of a draft tree. */
enum { SPEC_K_MAX = 256, SPEC_NODES_MAX = 1024 };

/* The outcome of one round. */
typedef struct {
    int n_drafted;  /* draft tokens submitted for verification: K for a chain, nodes for a tree */
    int n_accepted; /* accepted prefix, 0..K */
    /* depths at which draft tokens were tested: n_accepted, plus 1 if a depth rejected all of its
     * tokens */
    int n_tested;
    int n_emitted;  /* tokens the round adds: n_accepted + 1 (a correction or a bonus) */
    int *token;     /* (n_emitted) the tokens; memory for K + 1 */
    int *node;      /* (n_accepted) the accepted nodes, root first; memory for K */

    /* Drafting ahead (sim/decode_ahead.h); all false without it. */
    bool hit;          /* its chain was drafted while the previous round was verified */
    /* the whole chain was accepted, and the next one was drafted with a guessed bonus token */
    bool guess_tested;
    bool guess_right;  /* the guess was right, so the next chain is ready */
} spec_round;

/* Sums over rounds. Every mean, variance and estimator of alpha is a function of these integers and
 * `time`. */
typedef struct {
    uint64_t rounds;
    uint64_t drafted;                     /* sum of n_drafted */
    uint64_t accepted;                    /* sum of n_accepted */
    uint64_t emitted;                     /* sum of n_emitted */
    uint64_t n_accepted[SPEC_K_MAX + 1];  /* [k]: rounds with n_accepted = k */
    uint64_t tested[SPEC_K_MAX]; /* [i]: rounds that tested tokens at depth i, counted from 0 */
    uint64_t passed[SPEC_K_MAX]; /* [i]: of these, rounds that accepted one */
    uint64_t hits, guesses_tested, guesses_right; /* sums of hit, guess_tested, guess_right */
    double time;                          /* virtual time, in target calls */
} spec_tally;

/* Adds a round; the caller adds its time. */
static inline void spec_tally_add(spec_tally *tally, const spec_round *round)
{
    const int accepted = round->n_accepted;
    tally->rounds++;
    tally->drafted += (uint64_t)round->n_drafted;
    tally->accepted += (uint64_t)accepted;
    tally->emitted += (uint64_t)round->n_emitted;
    tally->n_accepted[accepted]++;
    for (int i = 0; i < round->n_tested; i++) tally->tested[i]++;
    for (int i = 0; i < accepted; i++) tally->passed[i]++;
    tally->hits += round->hit;
    tally->guesses_tested += round->guess_tested;
    tally->guesses_right += round->guess_right;
}

static inline void spec_tally_merge(spec_tally *into, const spec_tally *from)
{
    into->rounds += from->rounds;
    into->drafted += from->drafted;
    into->accepted += from->accepted;
    into->emitted += from->emitted;
    for (int k = 0; k <= SPEC_K_MAX; k++) into->n_accepted[k] += from->n_accepted[k];
    for (int i = 0; i < SPEC_K_MAX; i++) {
        into->tested[i] += from->tested[i];
        into->passed[i] += from->passed[i];
    }
    into->hits += from->hits;
    into->guesses_tested += from->guesses_tested;
    into->guesses_right += from->guesses_right;
    into->time += from->time;
}

#endif
