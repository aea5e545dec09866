/* SPDX-License-Identifier: GPL-3.0-or-later */
/* advice_record: the question that an advice answers, and the answer, as plain records.
 * NaN means that a number is not known. Headers only. */
#ifndef SPECLAB_ADVICE_RECORD_H
#define SPECLAB_ADVICE_RECORD_H

#include "analysis/acceptance/acceptance_drift.h"
#include "analysis/acceptance/beta_mixture.h"
#include "analysis/acceptance/cluster_ratio.h"
#include "analysis/acceptance/moment_bounds.h"
#include "analysis/statistics/block_bootstrap.h"
#include "analysis/statistics/permutation.h"
#include "tools/advise/observed_sums.h"

enum { SPEC_ADVICE_K = 65 }; /* K = 0..64 */

/* If a length is faster by less than this, we call both equally good. */
#define SPEC_ADVICE_TOLERANCE 0.02

/* What the user adds. NaN or -1: not given. */
typedef struct {
    double plain_tokens_per_s; /* tokens per second of one request in plain decoding */
    /* the time of a round at the current K, divided by that of a plain token */
    double round_over_plain;
    int K_low, K_high;         /* the lengths to consider; -1: 0 to twice the longest run */
    bool without[SPEC_ADVICE_K]; /* lengths between them that are not considered */
    double error;              /* 1 - confidence (0.05) */
    uint64_t seed;
} spec_advice_question;

/* Nothing known, all lengths, and 95 % confidence. */
#define SPEC_ADVICE_QUESTION                                                                       \
    {                                                                                              \
        .plain_tokens_per_s = NAN, .round_over_plain = NAN, .K_low = -1, .K_high = -1,             \
        .error = 0.05, .seed = 42                                                                  \
    }

/* Returns whether the user gave the speed of plain decoding. */
static inline bool spec_advice_question_gives_plain(const spec_advice_question *question)
{
    return question->plain_tokens_per_s > 0.0 || question->round_over_plain > 0.0;
}

/* Where the numbers for a K come from. */
typedef enum {
    SPEC_ADVICE_MEASURED, /* this K was run */
    SPEC_ADVICE_WITHIN,   /* below a K that was run: from that run's depths */
    SPEC_ADVICE_BEYOND,   /* above every K that was run: only bounds */
} spec_advice_source;

/* One draft length. NaN: not known. */
typedef struct {
    int K;
    spec_advice_source source;
    double rounds, drafted, accepted; /* sums over runs at this K; 0: none */
    /* per round (emitted per pass if given); if this K was not run, value is the central estimate,
     * and the ends cover sampling and what the data leave open */
    spec_cluster_ratio tokens;
    /* accepted / tested draft tokens of runs at this K. If drafts were shorter, the number of tests
     * is not known exactly: value and low end assume the most possible, the high end the fewest */
    spec_cluster_ratio alpha;
    spec_cluster_ratio conditional;   /* the same at depth K, from runs at K or longer */
    double seconds;                   /* time of a round of one request */
    /* time of a round divided by that of a plain token, with ends as for `tokens` */
    spec_block_interval round_over_plain;
    spec_block_interval speedup; /* over plain decoding; the ends as for `tokens` */
    bool best;
} spec_advice_length;

typedef enum {
    SPEC_ADVICE_KEEP,
    SPEC_ADVICE_CHANGE, /* to to_K */
    SPEC_ADVICE_OFF,
    SPEC_ADVICE_MEASURE, /* one more run, at decides_K, may decide */
    SPEC_ADVICE_NOTHING, /* no round was seen */
} spec_advice_verdict;

/* A range of batches with its own draft length. */
typedef struct {
    int from, to; /* requests; to = -1: no upper end */
    int K;
    spec_block_interval speedup;
    bool decided;
} spec_advice_batch;

typedef struct {
    int K; /* the current draft length, which has the most rounds; -1: not known */
    int n; /* entries of length, K = length[i].K ascending */
    spec_advice_length length[SPEC_ADVICE_K];
    spec_cluster_ratio alpha; /* as length[i].alpha, over all runs with drafts */
    /* the same without the 1 % of requests (at least one) that have the most rounds, and the share
     * of rounds that these have; NaN for windows */
    spec_cluster_ratio without_longest;
    double longest_share;
    double accepted_over_drafted;
    double missing;   /* how far drafts fall short of K tokens per round, as a share */
    double undrafted; /* share of the target's passes without a draft */
    double mixture_z; /* (m_2 - m_1^2) / its standard error: > 0 mixture, < 0 decay */
    spec_beta_mixture mixture;
    spec_acceptance_drift drift; /* drift.from counts the windows or requests before the change */
    double plain_seconds;        /* time per token of plain decoding for one request; or NaN */
    bool plain_given;            /* given by the question; else plain decoding was run */
    bool over_plain;             /* speeds are relative to plain decoding */
    double running, plain_running; /* requests at a time, at the current length and at K = 0 */
    bool equal_rate;   /* these differ but the tokens/s do not, so speeds refer to one request */
    double break_even; /* the current K pays off if accepted/drafted is above this */
    int n_batches;
    spec_advice_batch batch[SPEC_SUM_BATCHES]; /* neighbours have different K */
    spec_advice_verdict verdict;
    int to_K;      /* the length to run; without times: the current one */
    int decides_K; /* MEASURE: the length whose run may decide (0: plain decoding); else -1 */
    /* tokens per second at to_K relative to the current length; if that length was not run, the
     * times in the interval come from likely engines */
    spec_block_interval gain;
    double loss; /* the most that we may lose at to_K, compared with the fastest length */
    /* before against after, if both were given */
    bool compared;
    spec_permutation change;
} spec_advice;

/* Returns the entry of K, or NULL. */
static inline const spec_advice_length *spec_advice_length_of(const spec_advice *advice, int K)
{
    for (int i = 0; i < advice->n; i++)
        if (advice->length[i].K == K) return &advice->length[i];
    return NULL;
}

#endif
