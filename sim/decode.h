/* decode: the loop that everything runs in: draft, score, verify, emit, roll back.
 * It knows models and chance only through their interfaces, so Monte Carlo, enumeration and real models run the same
 * lines. A decoder is one thread's; it owns its sessions and buffers, and borrows the models. */
#ifndef SPECLAB_DECODE_H
#define SPECLAB_DECODE_H

#include "models/model.h"
#include "sim/chance/chance.h"
#include "base/clock.h"
#include "sim/decode_ahead.h"
#include "sim/decode_device.h"
#include "sim/draft/drafter.h"
#include "sim/draft/policy.h"
#include "sim/verify/verify.h"
#include "speclab/round.h"

/* The virtual clock: what a round costs, in target calls. time = draft * (charged draft calls) + verify + fixed.
 * Every call of the draft model is charged, unless the policy says otherwise (the oracle does); a strategy without a
 * model makes none. Drafting ahead, time = draft * (calls before the verification) + max(verify, draft * (calls during
 * it)) + fixed: none before it where the chain was there, and during it K + 1, of which the first is for the guess; or
 * 1, if the guess is that the text ends; or none, if the draft ends it, or has no tokens. */
typedef struct {
    double draft;  /* c: one draft call over one target call */
    double verify; /* one verification pass; 1 where a pass of K+1 tokens costs what a pass of one does */
    double fixed;  /* per round, besides */
} spec_costs;

#define SPEC_COSTS_DEFAULT ((spec_costs){.draft = 0.1, .verify = 1.0, .fixed = 0.0})

/* Where the seconds of rounds went. */
typedef struct {
    double draft; /* the strategy, its calls of the draft model among them */
    double score; /* the target's pass; a model that packs its cache and rolls it back does so there */
    double ahead; /* drafting ahead, meanwhile: not in score */
    double rule;  /* verification */
    double rest;  /* the books */
    double handed; /* of score: until the pass was handed over; known where drafts are made ahead */
} spec_phases;

typedef struct spec_decoder spec_decoder;

typedef struct {
    const spec_model *target;
    const spec_model *opt_draft; /* NULL for strategies that need none */
    const char *drafting;        /* strategy, e.g. "chain" */
    const char *policy;          /* length policy, e.g. "fixed" */
    const char *rule;            /* verification rule, e.g. "token", "lenience?l=0.3" */
    int K;                       /* 0..SPEC_K_MAX */
    bool ahead;                  /* draft the next chain while this one is verified: sim/decode_ahead.h */
    spec_verify_place verify;    /* where chains are verified: sim/decode_device.h */
    spec_costs costs;
    spec_clock clock;            /* rounds are timed by it; off by default */
    const volatile int *opt_stop; /* where it is not 0, a round is refused: GSL_EFAILED, "interrupted" */
    const spec_decoder *opt_beside; /* whose sessions it uses too, see below; NULL: its own */
} spec_decoder_config;

#define SPEC_DECODER_DEFAULT                                                                                           \
    ((spec_decoder_config){.drafting = "chain", .policy = "fixed", .rule = "token", .K = 5,                            \
                           .costs = SPEC_COSTS_DEFAULT})

struct spec_decoder {
    spec_decoder_config config;
    spec_rule rule;
    spec_policy policy, fresh_policy;
    spec_drafter drafter;
    spec_session target;
    spec_ahead ahead;
    spec_device_chain device;
    bool shared;                /* the draft reads what the target has computed of the text, and need not catch up; not
                                   so when it drafts ahead of the target */
    spec_draft draft;           /* without rows, and target_row is not filled, in a round that device.used */
    int nodes;                  /* most nodes of a draft */
    const double **target_row;  /* (nodes+1) */
    double *target_store;       /* (nodes+1, V) */
    double *weight;             /* (V) */
    spec_phases phases;         /* of all rounds since _init, where there is a clock; the caller may set it back */
    spec_round round;           /* the last one; K being the most that the policy may draft */
    uint64_t text;              /* its number, the caller's: texts of one seed of shared noise differ by it */
    int *context;               /* the text so far: prompt and emitted tokens */
    size_t n_context, context_capacity;
};

/* Does the rule's claim hold for what the strategy drafts, to lengths that the policy sets? */
bool spec_decoder_allows(const spec_rule *rule, const spec_drafter *drafter, const spec_policy *policy);

/* GSL_EINVAL for unknown names, K out of range, models of different vocabularies (models/vocabularies.h), trees of
 * more than SPEC_NODES_MAX nodes, a rule that does not hold for the siblings that the strategy makes, a strategy
 * that shares noise where the rule does not, and a tree with a policy that looks at its tokens: only a policy that sets
 * the length beforehand says how deep a tree is. Drafting ahead, and verifying on a device, refuse what they cannot.
 *
 * Decoders of the same models that take turns, a round or token at a time, may do with one session of each: keys and
 * values are there once, and what is decoded stays the same. One whose opt_beside is another decoder, which outlives
 * it, borrows the target's from it, and the draft's where it has that; but when it drafts ahead, none that shares the
 * target's. Its first round of a turn computes anew what its text has beyond the text of the turn before. */
int spec_decoder_init(spec_decoder *decoder, const spec_decoder_config *config, spec_error *error);
void spec_decoder_free(spec_decoder *decoder);

/* Begin a new text with this prompt (n may be 0); the policy forgets what it learnt. GSL_EINVAL for a token outside the
 * vocabulary, and for a prompt beyond the target's window. */
int spec_decoder_reset(spec_decoder *decoder, const int *prompt, size_t n, spec_error *error);

/* The longest path that a draft may have now, 0..SPEC_K_MAX, for both models' windows to hold it after the context: 0
 * too where the draft model's is full, and plain decoding goes on. -1: the target's is full, and the text is over. */
int spec_decoder_room(const spec_decoder *decoder);

/* One round: the context grows by decoder->round.n_emitted tokens (an end of text among them ends nothing here), and
 * the round is added to the tally. A draft has no longer paths than there is room for. On failure, of which GSL_EINVAL
 * is that there is no room, the context is as it was. */
int spec_decoder_round(spec_decoder *decoder, spec_chance *chance, spec_tally *opt_tally, spec_error *error);

/* Rounds until the context has grown by n_tokens, to the token: the text is cut there (the tally counts whole rounds),
 * or after the target's end of text, which belongs to the text. The context is cut too, so a next call goes on from the
 * text. ret_token (n_tokens) receives the text, ret_n its length: 0 on failure. */
int spec_decode(spec_decoder *decoder, size_t n_tokens, int *ret_token, size_t *ret_n, spec_chance *chance,
                spec_tally *opt_tally, spec_error *error);

/* The same by the target alone, one token a call: what speculation is measured against; the argmax each time where the
 * rule promises no more (SPEC_LOSSLESS_ARGMAX), and by its noise where the rule has a seed.
 * ret_time: target calls, one a token. */
int spec_decode_plain(spec_decoder *decoder, size_t n_tokens, int *ret_token, size_t *ret_n, spec_chance *chance,
                      double *ret_time, spec_error *error);

#endif
