/* SPDX-License-Identifier: GPL-3.0-or-later */
/* verify: verification rules, which turn a draft and the target's rows into emitted tokens.
 * A rule takes the tree, the target's rows and a chance, and fills a round. It never sees a
 * generator, so enumeration proves the same code that Monte Carlo runs. Rules are entries of the
 * table spec_rules, each in a file sim/verify/verify_*.c. */
#ifndef SPECLAB_VERIFY_H
#define SPECLAB_VERIFY_H

#include "base/settings.h"
#include "sim/chance/chance.h"
#include "sim/draft/draft.h"
#include "sim/verify/residual.h"
#include "speclab/round.h"

/* What a rule claims about the law of the tokens it emits. */
typedef enum {
    SPEC_LOSSLESS,        /* exactly the target's distribution */
    SPEC_LOSSLESS_ARGMAX, /* exactly the target at temperature 0 */
    SPEC_LOSSY,           /* not the target's law, on purpose */
    SPEC_WRONG            /* a known mistake, kept as a negative control */
} spec_rule_claim;

/* A set of sibling kinds has one bit per kind. */
#define SPEC_SIBLINGS_BIT(kind) (1u << (kind))
#define SPEC_SIBLINGS_ANY (SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_KINDS) - 1)

/* The order in which a rule makes its decisions, for sim/decision_role.h. A top-down rule decides
 * one position after the other: it tests the children of the node there, and picks the token itself
 * if none was accepted. A single child is tested the same way by every top-down rule. */
typedef enum {
    SPEC_ASKS_OTHER,      /* an order that sim/decision_role.h does not know */
    SPEC_ASKS_CHILDREN,   /* top-down: all, some or none of the children, in their order */
    SPEC_ASKS_DRAWN,      /* top-down: the one child that was drawn, its siblings being chosen */
    SPEC_ASKS_HUB,        /* top-down: a pair, its hub last */
    SPEC_ASKS_SELECTED,   /* top-down: one child, selected by a pick */
    /* top-down: one child, selected by a series of accepts with num = share and den = 1 */
    SPEC_ASKS_TOURNAMENT,
    SPEC_ASKS_END,        /* only the last token */
    /* tests whether to keep prefixes of the first children, the longest first; then the last
     * token */
    SPEC_ASKS_BLOCK,
    SPEC_ASKS_LEAVES,     /* from the leaves to the root; on a chain as BLOCK */
    /* the tokens of a chain in their order, even beyond a rejected one; then the last token */
    SPEC_ASKS_AHEAD
} spec_asks;

/* An entry of the table is a rule without settings. To decode, use a copy with settings read from a
 * spec. */
typedef struct spec_rule spec_rule;

/* Makes the decision of a top-down rule: returns the token after `node`, from the target's row
 * there (V), the node's children and their row. Averaged over the drawn children, this token must
 * have the target's distribution. It must not read nodes below the children. weight (V) is
 * workspace. */
typedef int spec_verify_decision(const spec_rule *rule, const spec_draft *draft, int node,
                                 const double *target, double *weight, spec_chance *chance);

struct spec_rule {
    const char *name, *summary;
    const char *reference; /* a key of docs/references.md; "" if there is none, never NULL */
    const char *usage; /* the name with its keys and their defaults; NULL: only the name */
    spec_rule_claim claim;
    spec_asks asks;
    /* Kinds of siblings that the claim holds for if a node has several children; 0: only chains.
     * The decoder refuses others, and so must any other caller of _verify. */
    unsigned siblings;
    /* the claim holds only for chains whose length is set before drawing and is at least the
     * previous length minus one; the decoder refuses others */
    bool needs_schedule;

    /* Reads the settings, which may change claim and asks of the copy; NULL: no keys. */
    int (*init)(spec_rule *rule, spec_settings *settings, spec_error *error);

    /* State that lasts from call to call: workspace, or what one round passes to the next. _open
     * makes it, for rows of V and drafts of at most n_nodes; _reset clears what an earlier text
     * left; _close frees it. _verify may change the state but not the rule. NULL: no state. */
    int (*open)(spec_rule *rule, int vocab, int n_nodes, spec_error *error);
    void (*reset)(void *state);
    void (*close)(void *state);
    void *state;

    /* Walks from the root through accepted children, drawing only from `chance`.
     *   rule           the rule itself, for its settings
     *   draft          the tree, nodes in any order with parents first. Without nodes the round
     *                  emits one token of the target
     *   target         (n_nodes+1) rows (V): target[0] at the root, target[i+1] after node i
     *   weight         (V) workspace
     *   ret_round      filled: n_drafted, n_accepted, n_tested, n_emitted, token[], node[] */
    void (*verify)(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                   const double *const *target, double *weight, spec_chance *chance);
    spec_verify_decision *decide; /* NULL unless _verify is spec_verify_walk */

    union { /* the settings of the rules that have any, read by _init */
        struct {
            double l;
        } lenience;
        struct {
            double depth; /* 0 for block-greedy */
        } pardon;
        struct {
            double epsilon, delta;
        } typical;
        struct {
            double budget; /* nats */
        } mentored;
        struct {
            int k;
            double delta;
            bool samples; /* false: take its argmax */
        } relaxed;
        struct {
            double acc, single;
        } target_only;
        struct {
            double s;
        } single_threshold;
        struct {
            double w;
        } ensemble;
        struct {
            double delta;
        } cactus;
        struct {
            int window;     /* 0: set by the draft's length */
            double entropy; /* nats */
        } fly;
        struct {
            bool block;
        } cut_invalid;
        struct {
            bool drawn_last; /* univer */
        } traversal;
    } settings;

    /* gumbel, minhash: if not NONE, the output depends only on noise, not on chance */
    spec_shared_noise noise;
};

/* The table, in this order, and NULL. RULE(name) is spec_verify_<name>. */
extern const spec_rule *const spec_rules[];
#define SPEC_RULES(RULE)                                                                           \
    RULE(token)                                                                                    \
    RULE(block)                                                                                    \
    RULE(block_greedy)                                                                             \
    RULE(traversal)                                                                                \
    RULE(univer)                                                                                   \
    RULE(match)                                                                                    \
    RULE(greedy)                                                                                   \
    RULE(naive_tree)                                                                               \
    RULE(rrs)                                                                                      \
    RULE(rrsw)                                                                                     \
    RULE(kseq)                                                                                     \
    RULE(ot)                                                                                       \
    RULE(khisti)                                                                                   \
    RULE(spechub)                                                                                  \
    RULE(token_rest)                                                                               \
    RULE(gumbel)                                                                                   \
    RULE(minhash)                                                                                  \
    RULE(target_only)                                                                              \
    RULE(lenience)                                                                                 \
    RULE(typical)                                                                                  \
    RULE(relaxed)                                                                                  \
    RULE(top_k)                                                                                    \
    RULE(single_threshold)                                                                         \
    RULE(ensemble)                                                                                 \
    RULE(cactus)                                                                                   \
    RULE(fly)                                                                                      \
    RULE(mentored)                                                                                 \
    RULE(pardon)                                                                                   \
    RULE(hsd)                                                                                      \
    RULE(resispec)                                                                                 \
    RULE(resample_target)                                                                          \
    RULE(greedy_softmax)                                                                           \
    RULE(cut_invalid)
#define DECLARE(name) extern const spec_rule spec_verify_##name;
SPEC_RULES(DECLARE)
#undef DECLARE

/* Finds the table's entry with this name. Returns GSL_EINVAL if there is none; the message suggests
 * the nearest name. */
int spec_rule_find(const spec_rule **ret_rule, const char *name, spec_error *error);

/* Makes a rule from a spec such as "token" or "lenience?l=0.3". Returns GSL_EINVAL for an unknown
 * key or name (the message suggests the nearest name), and GSL_EDOM or GSL_EINVAL for a bad value;
 * the rule is then zeroed. A rule owns nothing until it is opened. One decoder must open it before
 * it verifies, for rows of V and drafts of at most n_nodes. Reset it at the beginning of each
 * text. */
int spec_rule_init(spec_rule *rule, const char *spec, spec_error *error);
int spec_rule_open(spec_rule *rule, int vocab, int n_nodes,
                   spec_error *error); /* GSL_ENOMEM, or an error of the rule */
void spec_rule_reset(const spec_rule *rule);
void spec_rule_free(spec_rule *rule);

/* ---- what rules share ------------------------------------------------------------------------ */

/* Begin a round of this draft, with nothing accepted; accept a node; emit the last token, a
 * correction or a bonus. All children of the last accepted node are counted as tested, even if the
 * rule does not read them all. */
void spec_verify_begin(spec_round *round, const spec_draft *draft);
void spec_verify_accept(spec_round *round, const spec_draft *draft, int node);
void spec_verify_end(spec_round *round, int token);

/* Returns the first child of `node` (-1: the root) at or after index `from`, or -1. Children come
 * after their parent, so `from` may be node + 1, and in a chain the search takes one step. */
int spec_verify_child(const spec_draft *draft, int node, int from);

/* Returns the number of children of `node`. */
int spec_verify_children(const spec_draft *draft, int node);

/* Draws a token from `row`, with one decision. */
int spec_verify_sample(const double *row, int vocab, spec_chance *chance);

/* Draws a token from the residual, given its block sums and their sum. If rounding left no
 * residual, draws from the target. Makes one decision, or two for V > SPEC_RESIDUAL_BLOCK. */
int spec_verify_sample_residual(const spec_residual *residual, const double *block, double mass,
                                spec_chance *chance);

/* Draws a correction from norm((target - draft)+) in the same way; opt_draft NULL: draft is one-hot
 * at `token`. weight (V) is workspace. */
int spec_verify_correct(const double *target, const double *opt_draft, int token, int vocab,
                        double *weight, spec_chance *chance);

/* Reads the key "seed". If it is a number, the rule becomes `match` with shared noise. It is then
 * lossless over random seeds, for any tree; the text does not depend on the draft; and the rule
 * makes no random decisions. */
int spec_verify_share(spec_rule *rule, spec_noise_kind kind, const spec_settings *settings,
                      spec_error *error);

/* ---- top-down -------------------------------------------------------------------------------- */

/* Runs a whole round of a top-down rule, as its _verify: decides the token at each position, and
 * continues in the first child that has it, whether the token was accepted or drawn by the rule.
 * The nodes below a child depend only on that child's token, not on its siblings or on decisions
 * about them. So the next decision is independent, and several children with the same token are
 * equivalent. Lossless by induction over the depth. */
void spec_verify_walk(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                      const double *const *target, double *weight, spec_chance *chance);

/* Makes the token rule's decision on the first child only; without children, draws the target's own
 * token. All rules below decide like this if a node has one child. */
int spec_verify_first(const spec_draft *draft, int node, const double *target, double *weight,
                      spec_chance *chance);

/* Fills weight with (target - taken * row)+ and returns its sum, for rules that need the whole row
 * or residual; sim/verify/residual.h is faster. row may be weight. */
double spec_verify_residual(double *weight, const double *target, const double *row, double taken,
                            int vocab);

/* Fills weight with the rest of the row at the node's children, without their tokens, and returns
 * its sum, exactly 0 if there is no rest. The second function only returns the sum, in half a pass
 * and n^2 steps for n children. */
double spec_verify_rest(double *weight, const spec_draft *draft, int node, const double *row);
double spec_verify_rest_sum(const spec_draft *draft, int node, const double *row);

/* Returns whether to accept a draft token with these two probabilities. One decision. */
typedef bool spec_verify_test(const spec_rule *rule, double target, double drafted,
                              spec_chance *chance);
spec_verify_test spec_verify_token_test; /* the token rule's test: min(1, target/drafted) */

/* Runs a whole round along the first children: each is tested, and the first rejected one is
 * corrected as by the token rule (sim/verify/verify_token.c). */
void spec_verify_token_by(spec_round *round, const spec_rule *rule, const spec_draft *draft,
                          const double *const *target, spec_verify_test *test, double *weight,
                          spec_chance *chance);

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Returns the chance that `token` was drafted at the position of `node`: from its law, or 1 or 0 if
 * that is one-hot. */
double spec_verify_drafted(const spec_draft *draft, int node, int token);

/* Returns ratio * target / drafted for a drafted token, but at most SPEC_VERIFY_RATIO_MAX, because
 * drafted may be arbitrarily small. */
#define SPEC_VERIFY_RATIO_MAX 1e300
double spec_verify_ratio(double ratio, double target, double drafted);

/* Fills weight with (ratio target - draft)+ at the position of `node`; returns the sum. */
double spec_verify_block_residual(double *weight, double ratio, const double *target,
                                  const spec_draft *draft, int node);

/* How the product of the ratios target/draft of a prefix is capped at 1. */
typedef enum {
    SPEC_BLOCK_CAPPED, /* after each token */
    /* after each token, except that the whole chain is kept with the uncapped product of all
     * ratios */
    SPEC_BLOCK_LAST_UNCAPPED,
    SPEC_BLOCK_UNCAPPED /* never */
} spec_block_caps;

/* Runs a whole round of a rule that judges the chain of first children as one block
 * (sim/verify/verify_block.c). The first i tokens are kept with probability min(1, product). One
 * decision per prefix, from the longest to the first that is kept, then one for the last token.
 * weight (V) is workspace. */
void spec_verify_block_by(spec_round *round, const spec_draft *draft, const double *const *target,
                          spec_block_caps caps, double *weight, spec_chance *chance);

#endif
