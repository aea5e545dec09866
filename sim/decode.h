/* SPDX-License-Identifier: GPL-3.0-or-later */
/* decode: the speculative decoding loop: draft, score, verify, emit, roll back.
 * It knows models and chance only through their interfaces, so Monte Carlo, enumeration and real
 * models run the same code. A decoder serves one thread. It owns its sessions and buffers and
 * borrows the models. */
#ifndef SPECLAB_DECODE_H
#define SPECLAB_DECODE_H

#include "base/clock.h"
#include "models/model.h"
#include "sim/chance/chance.h"
#include "sim/decode_ahead.h"
#include "sim/decode_device.h"
#include "sim/draft/drafter.h"
#include "sim/draft/policy.h"
#include "sim/verify/verify.h"
#include "speclab/listener.h"
#include "speclab/round.h"

#include <limits.h>

/* The virtual clock: the time of a round in target calls.
 *     time = drafting + verification + fixed
 *     drafting = draft * (charged draft calls) + token * (charged rows) + inner * (inner calls)
 *     verification = verify + verify_token * (charged draft tokens)
 * All draft calls, rows that the strategy reads and verified draft tokens are charged, unless the
 * policy says otherwise (the oracle does). A strategy without a model makes no calls. A model with
 * one_pass makes one call for all rows. When drafting ahead:
 *     time = drafting before the pass + max(verification, drafting during it) + fixed
 * If the chain was drafted ahead, no call precedes the pass. During the pass we charge the call
 * that makes the guess and the calls of a chain. Only the first is made if the guess is the end of
 * text, and none if the draft ends the text or is empty. */
typedef struct {
    double draft;  /* c: time of a draft call divided by the time of a target call */
    double token;  /* c_token: additional time per row of the draft model, e.g. for a Markov head */
    double verify; /* a verification pass; 1 if a pass of K+1 tokens costs as much as one token */
    double verify_token; /* additional time per verified draft token */
    double fixed;        /* additional time per round */
    double inner;        /* time of a call of the inner draft, in a cascade */
    bool one_pass;       /* all calls of a draft cost one call, as if made in a single pass */
} spec_costs;

#define SPEC_COSTS_DEFAULT ((spec_costs){.draft = 0.1, .verify = 1.0, .fixed = 0.0})

/* Seconds spent in each phase of the rounds. */
typedef struct {
    double draft;  /* the strategy with its draft calls */
    double score;  /* the target's pass; a model packs and rolls back its KV cache here */
    double ahead;  /* drafting ahead during the pass; not part of score */
    double rule;   /* verification */
    double learn;  /* learning of a draft from the round */
    double rest;   /* everything else */
    /* the part of score until the pass is submitted; known only when drafting ahead */
    double handed;
} spec_phases;

/* What the clock charges for in a round. */
typedef struct {
    int calls, rows, tokens;     /* for the round's draft */
    int calls_ahead, rows_ahead; /* for the guess and the draft ahead, during the pass */
    int calls_inner;             /* of the inner draft */
} spec_charges;

static inline double spec_costs_round(const spec_costs *costs, const spec_charges *charges)
{
    const int most = costs->one_pass ? 1 : INT_MAX - 1, /* calls of a draft */
        calls = charges->calls < most ? charges->calls : most,
        calls_ahead = charges->calls_ahead < most + 1 ? charges->calls_ahead : most + 1;
    const double drafting = costs->draft * calls + costs->token * charges->rows +
                            costs->inner * charges->calls_inner,
                 ahead = costs->draft * calls_ahead + costs->token * charges->rows_ahead,
                 pass = costs->verify + costs->verify_token * charges->tokens;
    return drafting + (ahead > pass ? ahead : pass) + costs->fixed;
}

typedef struct spec_decoder spec_decoder;
typedef struct spec_online_draft spec_online_draft;

typedef struct {
    const spec_model *target;
    const spec_model *opt_draft; /* NULL for strategies that need none */
    const spec_model *opt_inner; /* drafts for opt_draft in a cascade; other strategies ignore it */
    const char *drafting;        /* strategy, e.g. "chain" */
    const char *policy;          /* length policy, e.g. "fixed" */
    const char *rule;            /* verification rule, e.g. "token", "lenience?l=0.3" */
    int K;                       /* 0..SPEC_K_MAX */
    bool ahead;                  /* drafts the next chain during verification: sim/decode_ahead.h */
    spec_verify_place verify;    /* where chains are verified: sim/decode_device.h */
    spec_costs costs;
    spec_clock clock;            /* times the rounds; off by default */
    /* notified of each branch of an enumeration (sim/output_law.h) */
    const spec_listener *opt_listener;
    /* nonzero: the next round fails with GSL_EFAILED, "interrupted" */
    const volatile int *opt_stop;
    const spec_decoder *opt_beside; /* the decoder whose sessions this one shares, see below; NULL:
                                     * it opens its own */
    spec_online_draft *opt_online;  /* makes opt_draft learn from the rounds: sim/online_draft.h */
} spec_decoder_config;

#define SPEC_DECODER_DEFAULT                                                                       \
    ((spec_decoder_config){.drafting = "chain",                                                    \
                           .policy = "fixed",                                                      \
                           .rule = "token",                                                        \
                           .K = 5,                                                                 \
                           .costs = SPEC_COSTS_DEFAULT})

struct spec_decoder {
    spec_decoder_config config;
    spec_rule rule;
    spec_policy policy;
    spec_policy guessed; /* when drafting ahead: the policy after full acceptance */
    spec_drafter drafter;
    spec_session target;
    spec_ahead ahead;
    spec_device_chain device;
    /* the draft reads what the target has computed and need not catch up; never when drafting
     * ahead */
    bool shared;
    spec_draft draft; /* if device.used, it has no rows, and target_row is not filled either */
    int nodes;        /* maximum nodes of a draft */
    const double **target_row; /* (nodes+1) */
    double *target_store;      /* (nodes+1, V) */
    double *weight;            /* (V) */
    /* sums over all rounds since _init, if there is a clock; the caller may reset them */
    spec_phases phases;
    spec_round round;           /* the last round; K is the most that the policy may draft */
    /* number of the text, set by the caller; selects the shared noise of a seed */
    uint64_t text;
    int *context;               /* prompt and emitted tokens */
    size_t n_context, context_capacity;
};

/* Returns GSL_EINVAL for:
 *   - unknown names, K out of range, models of different vocabularies (models/vocabularies.h)
 *   - a strategy, a policy and a rule that do not fit together (sim/decode_fit.h)
 *   - drafting ahead or verifying on a device where that is not possible
 *   - drafting ahead with a draft that learns or with rules that compare rows of several rounds
 *
 * Decoders of the same models that take turns, per round or per token, can share one session of
 * each model: the KV cache exists once, and the decoded text is the same. With opt_beside, which
 * must outlive this decoder, it borrows that decoder's target session, and its draft session if
 * there is one; when drafting ahead it does not borrow a draft session that shares the target's
 * state. The first round of a turn recomputes what differs from the text of the turn before. */
int spec_decoder_init(spec_decoder *decoder, const spec_decoder_config *config, spec_error *error);
void spec_decoder_free(spec_decoder *decoder);

/* Begins a new text with this prompt (n may be 0); policy and draft strategy forget the last text.
 * Returns GSL_EINVAL for a token outside the vocabulary and for a prompt longer than the target's
 * window. */
int spec_decoder_reset(spec_decoder *decoder, const int *prompt, size_t n, spec_error *error);

/* Forgets what the draft strategy, or a draft that learns, learnt from earlier texts, and resets.
 * Without this, drafts may depend on earlier texts, so call this wherever results must not depend
 * on the order of texts: an enumeration does before each branch, a simulation before each batch. */
int spec_decoder_forget(spec_decoder *decoder, spec_error *error);

/* Returns the longest path that a draft may have now, 0..SPEC_K_MAX: after the context it must fit
 * into both models' windows, and into the draft model's reach. Returns 0 if the draft model's
 * window is full (plain decoding goes on), and -1 if the target's is (the text is over). */
int spec_decoder_room(const spec_decoder *decoder);

/* Runs one round. The context grows by decoder->round.n_emitted tokens, and the round is added to
 * the tally. An end of text does not stop the round. Paths are cut to spec_decoder_room. On failure
 * the context is unchanged. Returns GSL_EINVAL if no token fits. */
int spec_decoder_round(spec_decoder *decoder, spec_chance *chance, spec_tally *opt_tally,
                       spec_error *error);

/* Returns whether a token of the last round ends the text. Tokens after it are not part of the
 * text. */
bool spec_decoder_ended(const spec_decoder *decoder);

/* Decodes until the context has grown by exactly n_tokens or the target ends the text. The
 * end-of-text token belongs to the text. The context is cut there too, so that the next call
 * continues the text; the tally counts whole rounds. ret_token (n_tokens) receives the text and
 * ret_n its length, 0 on failure. */
int spec_decode(spec_decoder *decoder, size_t n_tokens, int *ret_token, size_t *ret_n,
                spec_chance *chance, spec_tally *opt_tally, spec_error *error);

/* Decodes with only the target, one token per call: the baseline of speculation. Takes the argmax
 * if the rule promises no more (SPEC_LOSSLESS_ARGMAX), and uses the rule's noise if the rule has a
 * seed. ret_time receives the number of target calls, one per token. */
int spec_decode_plain(spec_decoder *decoder, size_t n_tokens, int *ret_token, size_t *ret_n,
                      spec_chance *chance, double *ret_time, spec_error *error);

#endif
