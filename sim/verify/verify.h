/* verify: the rules that turn a draft and the target's rows into emitted tokens.
 * A rule takes the tree, the target's rows and a chance, and fills a round. It never sees a generator, so enumeration
 * proves the very code that Monte Carlo runs. Rules are lines of the table spec_rules, each in a sim/verify_*.c. */
#ifndef SPECLAB_VERIFY_H
#define SPECLAB_VERIFY_H

#include "base/settings.h"
#include "sim/chance/chance.h"
#include "sim/draft/draft.h"
#include "sim/verify/excess.h"
#include "speclab/round.h"

/* What a rule promises about the law of the tokens it emits. */
typedef enum {
    SPEC_LOSSLESS,        /* exactly the target's law */
    SPEC_LOSSLESS_ARGMAX, /* exactly the target at temperature 0 */
    SPEC_LOSSY,           /* not the target's law, on purpose */
    SPEC_WRONG            /* a known mistake, kept as a negative control */
} spec_rule_claim;

/* Sets of siblings, one bit a kind. */
#define SPEC_SIBLINGS_BIT(kind) (1u << (kind))
#define SPEC_SIBLINGS_ANY (SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_KINDS) - 1)

/* A line of the table is a rule; a copy of it whose settings were read from a spec is a rule to decode with. */
typedef struct spec_rule spec_rule;

/* What a top-down rule is: the token after `node`, from the target's row there (V), the node's children and their
 * row. It must have the target's law over the draft of the children; it sees nothing below them. weight (V) is
 * workspace. */
typedef int spec_verify_decision(const spec_rule *rule, const spec_draft *draft, int node, const double *target,
                                 double *weight, spec_chance *chance);

struct spec_rule {
    const char *name, *summary, *reference;
    const char *usage; /* the name with its keys and their defaults; NULL: the name alone */
    spec_rule_claim claim;
    unsigned siblings; /* the kinds for which the claim holds where a node has more than one child, 0: chains alone; the
                          decoder refuses others, and it is a mistake to call _verify with them */
    bool needs_schedule; /* holds where a draft is a chain, its length set before it is drawn and at most one less than
                            the last one's; the decoder refuses others */

    int (*init)(spec_rule *rule, spec_settings *settings, spec_error *error); /* read the settings; NULL: no keys */

    /* A rule that keeps something from call to call, a workspace or what one round hands on to the next, makes it in
     * _open, for rows of V and drafts of at most n_nodes; _reset forgets what an earlier text left; _close frees. The
     * rule is const to _verify, its state is not. NULL: nothing is kept. */
    int (*open)(spec_rule *rule, int vocab, int n_nodes, spec_error *error);
    void (*reset)(void *state);
    void (*close)(void *state);
    void *state;

    /* Walk from the root through accepted children; draws what it needs from `chance` and from nothing else.
     * rule           the rule itself, for its settings
     * draft          the tree; nodes in any order with parents first. No nodes: one token from the target
     * target         (n_nodes+1) rows (V): target[0] at the root, target[i+1] after node i
     * weight         (V) workspace
     * ret_round      filled: n_drafted, n_accepted, n_tested, n_emitted, token[], node[] */
    void (*verify)(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft, const double *const *target,
                   double *weight, spec_chance *chance);
    spec_verify_decision *decide; /* of the rules whose _verify is spec_verify_walk */

    double lenience;       /* of lenience: l */
    double epsilon, delta; /* of typical */
    double budget;         /* of mentored, in nats */
    int k;                 /* of top-k-relaxed */

    spec_shared_noise noise; /* of gumbel and minhash; other than NONE: what is emitted is no matter of chance */
};

extern const spec_rule *const spec_rules[]; /* NULL-terminated, sim/verify/verify.c */
extern const spec_rule spec_verify_token, spec_verify_match, spec_verify_greedy;
extern const spec_rule spec_verify_block, spec_verify_block_greedy, spec_verify_hsd;
extern const spec_rule spec_verify_lenience, spec_verify_typical, spec_verify_top_k, spec_verify_mentored;
extern const spec_rule spec_verify_resample_target, spec_verify_greedy_softmax;
extern const spec_rule spec_verify_naive_tree, spec_verify_rrs, spec_verify_rrsw, spec_verify_kseq, spec_verify_spechub;
extern const spec_rule spec_verify_token_rest, spec_verify_traversal, spec_verify_gumbel, spec_verify_minhash;
extern const spec_rule spec_verify_ot, spec_verify_khisti;

/* The table's line of that name; GSL_EINVAL naming the nearest. */
int spec_rule_find(const spec_rule **ret_rule, const char *name, spec_error *error);

/* `spec` is e.g. "token", "lenience?l=0.3". GSL_EINVAL for an unknown name (the nearest is named) or key; GSL_EDOM or
 * GSL_EINVAL for a value. Zeroed on failure. Nothing is owned until it is opened, which a rule must be before it
 * verifies: for rows of V and drafts of at most n_nodes, by one decoder. A new text begins with a reset. */
int spec_rule_init(spec_rule *rule, const char *spec, spec_error *error);
int spec_rule_open(spec_rule *rule, int vocab, int n_nodes, spec_error *error); /* GSL_ENOMEM, or what the rule refuses */
void spec_rule_reset(const spec_rule *rule);
void spec_rule_free(spec_rule *rule);

/* ---- what rules share -------------------------------------------------------------------------------------------- */

/* A round of this draft in which nothing is accepted yet; accept a node; emit the last token, a correction or a bonus.
 * The children of the last accepted node count as tested, whichever of them the rule looked at. */
void spec_verify_begin(spec_round *round, const spec_draft *draft);
void spec_verify_accept(spec_round *round, const spec_draft *draft, int node);
void spec_verify_end(spec_round *round, int token);

/* The first child of `node` (-1: the root) at or after index `from`, or -1. Children come after their parent, so
 * node + 1 will do for `from`, and in a chain it is found at once. */
int spec_verify_child(const spec_draft *draft, int node, int from);

/* How many children `node` has. */
int spec_verify_children(const spec_draft *draft, int node);

/* Draw a token from `row`. One decision. */
int spec_verify_sample(const double *row, int vocab, spec_chance *chance);

/* Draw a token from what is left, by its block sums and their sum; where rounding left nothing, from the target, which
 * then equals what was taken. One decision, or two for V > SPEC_EXCESS_BLOCK. */
int spec_verify_sample_left(const spec_excess *left, const double *block, double mass, spec_chance *chance);

/* Draw a correction so from norm((target - draft)+); opt_draft NULL: draft is one-hot at `token`. weight (V) is
 * workspace. */
int spec_verify_correct(const double *target, const double *opt_draft, int token, int vocab, double *weight,
                        spec_chance *chance);

/* Read the key "seed". Where it is a number the rule becomes `match` by shared noise: lossless over the seeds, for any
 * tree, and the same text for any draft; it asks the chance for nothing. */
int spec_verify_share(spec_rule *rule, spec_noise_kind kind, const spec_settings *settings, spec_error *error);

/* ---- top-down ---------------------------------------------------------------------------------------------------- */

/* A whole round of a top-down rule, its _verify: decide the token at each place and, whether an accepted child or a
 * draw of the rule's own, go on in the first child that has it. What is below a child was drafted after that child's
 * token alone, whoever its siblings are and whatever was decided about them: so the next decision is fresh, and none
 * of several children with one token is better than another. Lossless by induction over the depth. */
void spec_verify_walk(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                      const double *const *target, double *weight, spec_chance *chance);

/* The decision of the token rule on the first child alone; the target's own token where there is none. All rules
 * below decide like this where a node has one child. */
int spec_verify_first(const spec_draft *draft, int node, const double *target, double *weight, spec_chance *chance);

/* Fill weight with (target - taken * row)+ and return its sum, where the row or what is left is needed whole; sim/verify/excess.h
 * is faster. row may be weight. */
double spec_verify_excess(double *weight, const double *target, const double *row, double taken, int vocab);

/* Fill weight with the row at the node's children, less these children's tokens, and return its sum: exactly 0 where
 * nothing is left. Or the sum alone: half a pass, and n^2 steps for n children. */
double spec_verify_rest(double *weight, const spec_draft *draft, int node, const double *row);
double spec_verify_rest_sum(const spec_draft *draft, int node, const double *row);

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* The chance that `token` was drafted at the place of `node`: of its law, or 1 and 0 where that is one-hot. */
double spec_verify_drafted(const spec_draft *draft, int node, int token);

/* ratio target/drafted, for a token that is at hand, at most SPEC_VERIFY_RATIO_MAX: a draft may be as faint as it
 * will. */
#define SPEC_VERIFY_RATIO_MAX 1e300
double spec_verify_ratio(double ratio, double target, double drafted);

/* Fill weight with (ratio target - draft)+ at the place of `node`; the sum. */
double spec_verify_surplus(double *weight, double ratio, const double *target, const spec_draft *draft, int node);

/* How the product of the ratios target/draft of a prefix is capped at 1. */
typedef enum {
    SPEC_BLOCK_CAPPED,        /* after each token */
    SPEC_BLOCK_LAST_UNCAPPED, /* the same, but for the whole chain, which has the product of all ratios */
    SPEC_BLOCK_UNCAPPED       /* never */
} spec_block_caps;

/* A whole round of the rules that judge the chain of first children as one block (sim/verify/verify_block.c). The first i
 * tokens are kept with probability min(1, product), and one decision is asked for each prefix from the longest on,
 * until one is kept; then one for the last token. weight (V) is workspace. */
void spec_verify_block_by(spec_round *round, const spec_draft *draft, const double *const *target, spec_block_caps caps,
                          double *weight, spec_chance *chance);

#endif
