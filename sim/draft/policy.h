/* SPDX-License-Identifier: GPL-3.0-or-later */
/* policy: length policies: the number of tokens to draft per round.
 * A policy is asked before each token is drawn and sees only the tokens included so far. So it
 * cannot anticipate, as losslessness requires (docs/formulas/rules.md#non-anticipation); the
 * exceptions are negative controls, which drop drawn tokens. It owns what it learns about a
 * text. */
#ifndef SPECLAB_POLICY_H
#define SPECLAB_POLICY_H

#include "base/settings.h"
#include "sim/draft/draft.h"

typedef struct spec_policy spec_policy;

/* Times that some kinds take into account, in target calls. */
typedef struct {
    double pass;   /* time of a round without a draft */
    double call;   /* additional time per draft call */
    double row;    /* per row of the draft model */
    double token;  /* per draft token that is verified */
    bool one_pass; /* all calls of a round cost one call */
} spec_policy_prices;

typedef struct {
    const char *name, *usage, *summary, *reference;
    bool anticipates; /* a negative control: not lossless for sampled drafts */
    /* _go_on reads the next row, which must be computed first, so a stop costs that draft call */
    bool looks_ahead;
    bool drops; /* a length may be less than the previous one minus one */

    /* Reads the keys. May set K, the first length `now`, anticipates and looks_ahead. NULL: no
     * keys. */
    int (*init)(spec_policy *policy, spec_settings *settings, spec_error *error);

    /* Returns the size in bytes of the state that holds what is learnt about a text; NULL: none. At
     * the beginning of a text the state is zeroed, then _begin is called. _end frees what the state
     * points to; a kind with _end must read tokens. */
    size_t (*state_size)(const spec_policy *policy);
    void (*begin)(spec_policy *policy);
    void (*end)(void *state);

    /* Returns whether to draft one more token. `draft` holds the tokens so far; opt_next_row (V) is
     * the draft model's row for the next token, NULL without a model or if the policy does not look
     * ahead. Asked only below the limit `now`, once for each number of tokens, from 0 on. It may
     * record in the state what it read. NULL: always true. */
    bool (*go_on)(const spec_policy *policy, const spec_draft *draft, const double *opt_next_row);

    /* Returns whether to remove the last node and stop; only for a negative control. */
    bool (*retract)(const spec_policy *policy, const spec_draft *draft);

    /* Returns how many nodes of a complete draft to keep. This anticipates unless it depends only
     * on the kept nodes and the rows up to the first node that is dropped. NULL: all. */
    int (*cut)(const spec_policy *policy, const spec_draft *draft);

    /* Learns from the outcome of a draft; may return GSL_ENOMEM. NULL: learns nothing. */
    int (*observe)(spec_policy *policy, const spec_draft *draft, const spec_round *round,
                   spec_error *error);

    /* Returns how many of the round's n draft calls, or of its n draft tokens, cost time. NULL:
     * all, including the calls for a dropped token and for a row that was read but not drawn
     * from. */
    int (*charged)(const spec_policy *policy, const spec_round *round, int n);
} spec_policy_kind;

enum { SPEC_LENGTHS_MAX = 16, SPEC_ROUNDS_MAX = 64 };

/* A copy of the struct shares the state, e.g. to draft with a smaller `now`; only the original
 * observes. */
struct spec_policy {
    const spec_policy_kind *kind;
    int K;            /* the most tokens that any round may draft */
    int first, now;   /* the limits for the first round and for this one, <= K */
    bool anticipates, looks_ahead; /* from the kind, or from the settings */
    double threshold; /* setting of some kinds */
    spec_policy_prices prices;
    bool has_call, has_token; /* this price is from the spec */
    union {           /* settings of the others */
        struct {
            int top, least;
        } peak;
        struct {
            int n, length[SPEC_LENGTHS_MAX], warm, every;
            double rate, down, up, ceiling;
        } average;
        struct {
            int base, warm, window;
            double share;
        } gate;
        struct {
            int n, length[SPEC_LENGTHS_MAX], window;
            double full, mean;
        } tiers;
        struct {
            int window;
            bool share;
        } off;
        struct {
            int every, n_sizes, size[SPEC_LENGTHS_MAX];
        } goodput;
        struct {
            int pairs;
            bool schedule;
        } refit;
        struct {
            double doubt, explore;
            int samples, seed;
        } bandit;
        struct {
            int least, samples;
        } probe;
        struct {
            int samples, every;
            double rate;
        } climb;
        struct {
            bool product;
            double width, decay, least, burn;
        } bins;
    };
    size_t state_size;
    void *state; /* NULL: the kind learns nothing, or only sets `now` */
};

/* The table, in this order, and NULL. POLICY(name) is spec_policy_<name>. */
extern const spec_policy_kind *const spec_policy_kinds[];
#define SPEC_POLICIES(POLICY)                                                                      \
    POLICY(fixed)                                                                                  \
    POLICY(heuristic)                                                                              \
    POLICY(oracle)                                                                                 \
    POLICY(average)                                                                                \
    POLICY(gate)                                                                                   \
    POLICY(tiers)                                                                                  \
    POLICY(switch_off)                                                                             \
    POLICY(confidence)                                                                             \
    POLICY(refit)                                                                                  \
    POLICY(cumulative)                                                                             \
    POLICY(peak)                                                                                   \
    POLICY(bins)                                                                                   \
    POLICY(goodput)                                                                                \
    POLICY(trim)                                                                                   \
    POLICY(probe)                                                                                  \
    POLICY(climb)                                                                                  \
    POLICY(eliminate)                                                                              \
    POLICY(ucb)                                                                                    \
    POLICY(ucbspec)                                                                                \
    POLICY(exp3spec)                                                                               \
    POLICY(confidence_drop)                                                                        \
    POLICY(trim_drawn)
#define DECLARE(name) extern const spec_policy_kind spec_policy_##name;
SPEC_POLICIES(DECLARE)
#undef DECLARE

/* Makes a policy from a spec such as "fixed", "heuristic?cap=20", "confidence?threshold=0.4",
 * "cumulative?threshold=0.7" or "oracle". K is the maximum number of tokens to draft per round. The
 * policies heuristic, average, tiers, probe and refit with a schedule have their own limits: K is
 * the first length, and policy->K becomes the limit. Returns GSL_EINVAL for K outside 0..SPEC_K_MAX
 * or an unknown key or name (the message suggests the nearest name); GSL_EDOM or GSL_EINVAL for a
 * bad value; or GSL_ENOMEM. */
int spec_policy_init(spec_policy *policy, const char *spec, int K, spec_error *error);
void spec_policy_free(spec_policy *policy); /* a zeroed one is allowed */

/* Tells the policy the times of the clock. Times in its spec take precedence. */
void spec_policy_price(spec_policy *policy, const spec_policy_prices *prices);

/* Begins a text: the policy is again as it was after _init and _price. */
void spec_policy_reset(spec_policy *policy);

/* Makes `into`, of the same spec and K, equal to `from`. Only for kinds without _end. */
void spec_policy_copy(spec_policy *into, const spec_policy *from);

/* Returns whether the length depends on the tokens or rows of the draft; else it is known
 * beforehand. */
bool spec_policy_reads(const spec_policy *policy);

/* For use by kinds: parses the ascending numbers of a key, at most SPEC_LENGTHS_MAX. If the key is
 * missing, it parses `fallback`; "" means no numbers. */
int spec_policy_list(int *ret_n, int *ret_number, const spec_settings *settings, const char *key,
                     const char *fallback, spec_error *error);

/* For use by kinds that weigh tokens against time. The first reads the keys c and token; the second
 * returns the time of a round that drafts K tokens. */
int spec_policy_time_init(spec_policy *policy, spec_settings *settings, spec_error *error);
double spec_policy_time(const spec_policy *policy, int K);

bool spec_policy_go_on(const spec_policy *policy, const spec_draft *draft,
                       const double *opt_next_row);
bool spec_policy_retract(const spec_policy *policy, const spec_draft *draft);
int spec_policy_cut(const spec_policy *policy, const spec_draft *draft);
int spec_policy_observe(spec_policy *policy, const spec_draft *draft, const spec_round *round,
                        spec_error *error);
int spec_policy_charged(const spec_policy *policy, const spec_round *round, int n);

#endif
