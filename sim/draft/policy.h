/* SPDX-License-Identifier: GPL-3.0-or-later */
/* policy: length policies: the number of tokens to draft per round.
 * A policy is asked before each token is drawn and sees only the tokens included so far. So it
 * cannot anticipate, as losslessness requires (docs/formulas.md#non-anticipation), but for negative
 * controls, which drop drawn tokens. It owns what it learns of a text. */
#ifndef SPECLAB_POLICY_H
#define SPECLAB_POLICY_H

#include "base/settings.h"
#include "sim/draft/draft.h"

typedef struct spec_policy spec_policy;

/* Times that some kinds weigh, in target calls. */
typedef struct {
    double pass;   /* of a round without a draft */
    double call;   /* further time per draft call */
    double row;    /* per row of the draft model */
    double token;  /* per draft token that is verified */
    bool one_pass; /* the calls of a round cost one */
} spec_policy_prices;

typedef struct {
    const char *name, *usage, *summary, *reference;
    bool anticipates; /* a negative control: not lossless for sampled drafts */
    /* _go_on reads the next row, which is computed first: a stop costs that draft call */
    bool looks_ahead;
    bool drops; /* a length may be less than the last one's less one */

    /* Read the keys. It may set K, the first length `now`, anticipates and looks_ahead. NULL: no
     * keys. */
    int (*init)(spec_policy *policy, spec_settings *settings, spec_error *error);

    void (*price)(spec_policy *policy, const spec_policy_prices *prices); /* or NULL */

    /* Bytes of the state, for what is learnt of a text. NULL: nothing. A text begins with zeros and
     * then _begin; _end frees what the state points to, and its kind must read tokens. */
    size_t (*state_size)(const spec_policy *policy);
    void (*begin)(spec_policy *policy);
    void (*end)(void *state);

    /* Whether to draft one more token. `draft` holds the tokens so far; opt_next_row (V) is the
     * draft model's row for the next token, NULL without a model or if the policy does not look
     * ahead. Asked only below the limit `now`, once for each number of tokens, from 0 on. It may
     * note in the state what it read. NULL: always. */
    bool (*go_on)(const spec_policy *policy, const spec_draft *draft, const double *opt_next_row);

    /* Whether to remove the last node and stop; only for a negative control. */
    bool (*retract)(const spec_policy *policy, const spec_draft *draft);

    /* How many nodes of a complete draft to keep. Anticipates, unless the nodes that are kept, and
     * the rows up to the first that is not, decide. NULL: all. */
    int (*cut)(const spec_policy *policy, const spec_draft *draft);

    /* Learn from the outcome of a draft: GSL_ENOMEM, or success. NULL: learns nothing. */
    int (*observe)(spec_policy *policy, const spec_draft *draft, const spec_round *round,
                   spec_error *error);

    /* How many of the round's n draft calls, or of its n draft tokens, cost time. NULL: all,
     * including the calls for a dropped token and for a row that was read but not drawn from. */
    int (*charged)(const spec_policy *policy, const spec_round *round, int n);
} spec_policy_kind;

enum { SPEC_LENGTHS_MAX = 16, SPEC_ROUNDS_MAX = 64 };

/* A struct copy drafts by the same state, as for a smaller `now`; only the original observes. */
struct spec_policy {
    const spec_policy_kind *kind;
    int K;            /* the most tokens any round may draft */
    int first, now;   /* the limits of the first round and of this one, <= K */
    bool anticipates, looks_ahead; /* as the kind's, or by the settings */
    double threshold; /* setting of some kinds */
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
            spec_policy_prices prices;
            bool has_call, has_token; /* by its keys */
            int every, n_sizes, size[SPEC_LENGTHS_MAX];
        } goodput;
        struct {
            int pairs;
            bool schedule;
        } refit;
        struct {
            bool product;
            double width, decay, least, burn;
        } bins;
    };
    size_t state_size;
    void *state; /* NULL: the kind learns nothing, or only `now` */
};

extern const spec_policy_kind *const spec_policy_kinds[]; /* NULL-terminated */
extern const spec_policy_kind spec_policy_fixed, spec_policy_heuristic, spec_policy_oracle;
extern const spec_policy_kind spec_policy_confidence, spec_policy_cumulative, spec_policy_peak;
extern const spec_policy_kind spec_policy_average, spec_policy_gate, spec_policy_tiers,
    spec_policy_switch_off, spec_policy_goodput, spec_policy_trim, spec_policy_refit,
    spec_policy_bins;
extern const spec_policy_kind spec_policy_confidence_drop, spec_policy_trim_drawn;

/* `spec` is e.g. "fixed", "heuristic?cap=20", "confidence?threshold=0.4",
 * "cumulative?threshold=0.7", "oracle". K is the most tokens to draft per round. heuristic,
 * average, tiers and refit with a schedule grow up to a limit of their own: K is the first length,
 * and policy->K becomes the limit. GSL_EINVAL for K outside 0..SPEC_K_MAX, an unknown name
 * (the nearest is named) or key; GSL_EDOM or GSL_EINVAL for its value; GSL_ENOMEM. */
int spec_policy_init(spec_policy *policy, const char *spec, int K, spec_error *error);
void spec_policy_free(spec_policy *policy); /* a zeroed one is allowed */

/* Tell a kind that weighs times those of the clock. Its keys come first. */
void spec_policy_price(spec_policy *policy, const spec_policy_prices *prices);

/* Begin a text: the policy is as after _init and _price. */
void spec_policy_reset(spec_policy *policy);

/* Make `into`, of the same spec and K, equal to `from`. Only for kinds without _end. */
void spec_policy_copy(spec_policy *into, const spec_policy *from);

/* Whether the length depends on the tokens or rows of the draft; else it is known beforehand. */
bool spec_policy_reads(const spec_policy *policy);

/* For kinds: the rising numbers of a key, at most SPEC_LENGTHS_MAX; of `fallback` without the key,
 * none if that is "". */
int spec_policy_list(int *ret_n, int *ret_number, const spec_settings *settings, const char *key,
                     const char *fallback, spec_error *error);

bool spec_policy_go_on(const spec_policy *policy, const spec_draft *draft,
                       const double *opt_next_row);
bool spec_policy_retract(const spec_policy *policy, const spec_draft *draft);
int spec_policy_cut(const spec_policy *policy, const spec_draft *draft);
int spec_policy_observe(spec_policy *policy, const spec_draft *draft, const spec_round *round,
                        spec_error *error);
int spec_policy_charged(const spec_policy *policy, const spec_round *round, int n);

#endif
