/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/bench/acceptance_theory.h"

#include "analysis/rules/biased_law.h"
#include "analysis/rules/coincidence.h"
#include "analysis/rules/coupling.h"
#include "analysis/rules/optimal.h"
#include "analysis/rules/overlap.h"
#include "analysis/rules/rrsw.h"
#include "analysis/rules/tail_drafts.h"
#include "analysis/rules/tournament.h"
#include "models/row.h"
#include "sim/verify/transport_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one draft token ------------------------------------------------------------------------- */

typedef double single(const spec_rule *rule, bool chosen, const double *target, const double *draft,
                      int vocab);

static double overlap(const spec_rule *rule, bool chosen, const double *target, const double *draft,
                      int vocab)
{
    (void)rule;
    return chosen ? target[spec_row_argmax(draft, vocab)]
                  : spec_overlap(target, draft, (size_t)vocab);
}

/* A rejected token is kept after all with chance min(1, depth). */
static double pardoned(const spec_rule *rule, bool chosen, const double *target,
                       const double *draft, int vocab)
{
    const double kept = overlap(rule, chosen, target, draft, vocab);
    return kept + fmin(rule->settings.pardon.depth, 1.0) * (1.0 - kept);
}

static double coincide(const spec_rule *rule, bool chosen, const double *target,
                       const double *draft, int vocab)
{
    (void)rule;
    return chosen ? target[spec_row_argmax(draft, vocab)]
                  : spec_overlap_match_probability(target, draft, (size_t)vocab);
}

static double argmax_drafted(const spec_rule *rule, bool chosen, const double *target,
                             const double *draft, int vocab)
{
    const int best = spec_row_argmax(target, vocab);
    (void)rule;
    return chosen ? spec_row_argmax(draft, vocab) == best : draft[best];
}

/* Judges a chosen token as if it had been drawn. */
static double as_if_drawn(const spec_rule *rule, bool chosen, const double *target,
                          const double *draft, int vocab)
{
    const int token = spec_row_argmax(draft, vocab);
    return chosen ? fmin(1.0, target[token] / draft[token])
                  : overlap(rule, chosen, target, draft, vocab);
}

/* Both tokens are sampled with common noise; a chosen token does not depend on it. */
static double coupled(double (*acceptance)(const spec_ratio_order *order), bool chosen,
                      const double *target, const double *draft, int vocab)
{
    spec_ratio_order order = {0};
    double value = NAN;
    if (chosen) return target[spec_row_argmax(draft, vocab)];
    if (spec_ratio_order_init(&order, vocab) == GSL_SUCCESS &&
        spec_ratio_order_sort(&order, target, draft) == GSL_SUCCESS)
        value = acceptance(&order);
    spec_ratio_order_free(&order);
    return value;
}

static double gumbel(const spec_rule *rule, bool chosen, const double *target, const double *draft,
                     int vocab)
{
    (void)rule;
    return coupled(spec_coupling_gumbel, chosen, target, draft, vocab);
}

static double minhash(const spec_rule *rule, bool chosen, const double *target, const double *draft,
                      int vocab)
{
    (void)rule;
    return coupled(spec_coupling_minhash, chosen, target, draft, vocab);
}

/* ---- one draft token, by the law of what is emitted ------------------------------------------ */

typedef spec_biased_law biased(double *ret_law, const spec_rule *rule, const double *target,
                               const double *draft, int vocab);

static spec_biased_law target_only(double *ret_law, const spec_rule *rule, const double *target,
                                   const double *draft, int vocab)
{
    return spec_biased_law_target_only(ret_law, target, draft, vocab,
                                       rule->settings.target_only.acc,
                                       rule->settings.target_only.single);
}

static spec_biased_law relaxed(double *ret_law, const spec_rule *rule, const double *target,
                               const double *draft, int vocab)
{
    return spec_biased_law_relaxed(ret_law, target, draft, vocab, rule->settings.relaxed.k,
                                   rule->settings.relaxed.delta, !rule->settings.relaxed.samples);
}

static spec_biased_law single_threshold(double *ret_law, const spec_rule *rule,
                                        const double *target, const double *draft, int vocab)
{
    return spec_biased_law_single_threshold(ret_law, target, draft, vocab,
                                            rule->settings.single_threshold.s);
}

static spec_biased_law ensemble(double *ret_law, const spec_rule *rule, const double *target,
                                const double *draft, int vocab)
{
    return spec_biased_law_ensemble(ret_law, target, draft, vocab, rule->settings.ensemble.w);
}

static spec_biased_law cactus(double *ret_law, const spec_rule *rule, const double *target,
                              const double *draft, int vocab)
{
    return spec_biased_law_cactus(ret_law, target, draft, vocab, rule->settings.cactus.delta);
}

static const struct {
    const char *rule;
    biased *law;
} laws[] = {
    {"target-only", target_only},           {"relaxed", relaxed},   {"top-k-relaxed", relaxed},
    {"single-threshold", single_threshold}, {"ensemble", ensemble}, {"cactus", cactus},
};

static biased *law_of(const spec_rule *rule)
{
    int i = (int)(sizeof laws / sizeof laws[0]) - 1;
    while (i >= 0 && strcmp(laws[i].rule, rule->name) != 0) i--;
    return i >= 0 ? laws[i].law : NULL;
}

static double accepted_by(biased *law, const spec_rule *rule, bool chosen, const double *target,
                          const double *draft, int vocab)
{
    const size_t V = (size_t)vocab;
    double *row = calloc(2 * V, sizeof *row); /* the law, and a one-hot draft */
    if (row == NULL) return NAN;
    if (chosen) row[V + (size_t)spec_row_argmax(draft, vocab)] = 1.0;
    const double accepted = law(row, rule, target, chosen ? row + V : draft, vocab).accepted;
    free(row);
    return accepted;
}

/* ---- siblings -------------------------------------------------------------------------------- */

typedef double several(const spec_ratio_order *order, int n);

/* For rules that look only at the first sibling, whether it was drawn from the row or chosen. */
static double first_drawn(const spec_ratio_order *order, int n)
{
    (void)n;
    return spec_ratio_order_common(order, 1.0);
}

static double first_chosen(const spec_ratio_order *order, int n)
{
    (void)n;
    return spec_multi_draft_match_top(order, 1);
}

/* For larger vocabularies `ot` does not reach the optimum. */
static double ot_without(const spec_ratio_order *order, int n)
{
    return order->V <= SPEC_TRANSPORT_SETS_VOCAB ? spec_optimal_without_replacement(order, n) : NAN;
}

/* ---- the table ------------------------------------------------------------------------------- */

#define IID [SPEC_SIBLINGS_IID]
#define WITHOUT [SPEC_SIBLINGS_WITHOUT]
#define TOP [SPEC_SIBLINGS_TOP]
#define HUB [SPEC_SIBLINGS_HUB]
#define GREEDY [SPEC_SIBLINGS_GREEDY]
#define TAIL [SPEC_SIBLINGS_TAIL]

static const struct {
    const char *rule;
    single *one; /* one draft token; NULL: computed from the rule's law */
    several *kind[SPEC_SIBLINGS_KINDS];
} lines[] = {
    {"token",
     overlap,
     {IID = first_drawn, WITHOUT = first_drawn, HUB = first_drawn, TOP = first_chosen,
      GREEDY = first_chosen, TAIL = first_chosen}},
    {"block", overlap, {0}},
    {"block-greedy", overlap, {0}},
    {"pardon", pardoned, {0}},
    {"match",
     coincide,
     {IID = spec_multi_draft_match, WITHOUT = spec_coincidence_match_without,
      TOP = spec_multi_draft_match_top, HUB = spec_coincidence_match_greedy,
      GREEDY = spec_coincidence_match_greedy, TAIL = spec_tail_drafts_match}},
    {"greedy",
     argmax_drafted,
     {IID = spec_multi_draft_match, WITHOUT = spec_coincidence_match_without,
      TOP = spec_multi_draft_match_top, HUB = spec_coincidence_match_greedy,
      GREEDY = spec_coincidence_match_greedy, TAIL = spec_tail_drafts_match}},
    {"naive-tree",
     overlap,
     {IID = spec_multi_draft_naive_tree, WITHOUT = spec_coincidence_naive_tree_without,
      TOP = spec_multi_draft_match_top, HUB = spec_coincidence_naive_tree_hub,
      GREEDY = spec_coincidence_match_greedy, TAIL = spec_tail_drafts_match}},
    {"traversal",
     overlap,
     {IID = spec_multi_draft_rrs, WITHOUT = spec_rrsw_acceptance, TOP = spec_multi_draft_match_top,
      HUB = spec_multi_draft_greedy, GREEDY = spec_multi_draft_greedy}},
    {"univer", overlap, {GREEDY = spec_multi_draft_greedy}},
    {"rrs", overlap, {IID = spec_multi_draft_rrs}},
    {"rrsw", overlap, {WITHOUT = spec_rrsw_acceptance}},
    {"kseq", overlap, {IID = spec_multi_draft_kseq}},
    {"ot", overlap, {IID = spec_optimal_iid, WITHOUT = ot_without}},
    {"khisti", overlap, {IID = spec_tournament_khisti}},
    {"spechub", overlap, {HUB = spec_multi_draft_spechub}},
    {"token-rest",
     overlap,
     {TOP = spec_multi_draft_match_top, GREEDY = spec_multi_draft_greedy,
      TAIL = spec_tail_drafts_token}},
    {"gumbel", gumbel, {0}},
    {"minhash", minhash, {0}},
    {"target-only",
     NULL,
     {WITHOUT = spec_coincidence_match_without, TOP = spec_multi_draft_match_top,
      HUB = spec_coincidence_match_greedy, GREEDY = spec_coincidence_match_greedy,
      TAIL = spec_tail_drafts_match}},
    {"hsd", overlap, {0}},
    {"resispec", overlap, {0}},
    {"resample-target", overlap, {0}},
    {"greedy-softmax", as_if_drawn, {0}},
    {"cut-invalid", overlap, {0}},
};

static several *const optimum[SPEC_SIBLINGS_KINDS] = {
    IID = spec_optimal_iid,           WITHOUT = spec_optimal_without_replacement,
    TOP = spec_multi_draft_match_top, HUB = spec_multi_draft_greedy,
    GREEDY = spec_multi_draft_greedy, TAIL = spec_tail_drafts_optimum};

/* A rule that draws its own noise accepts like `match`, no matter whether drafts were drawn at
 * random or chosen. */
static int line_of(const spec_rule *rule)
{
    const char *name = rule->noise.kind != SPEC_NOISE_NONE ? spec_verify_match.name : rule->name;
    int i = (int)(sizeof lines / sizeof lines[0]) - 1;
    while (i >= 0 && strcmp(lines[i].rule, name) != 0) i--;
    return i;
}

double spec_acceptance_theory_single(const spec_rule *rule, bool chosen, const double *target,
                                     const double *draft, int vocab)
{
    const int i = line_of(rule);
    biased *law = law_of(rule);
    if (law != NULL) return accepted_by(law, rule, chosen, target, draft, vocab);
    return i >= 0 ? lines[i].one(rule, chosen, target, draft, vocab) : NAN;
}

double spec_acceptance_theory_single_optimum(const spec_rule *rule, bool chosen,
                                             const double *target, const double *draft, int vocab)
{
    single *best = rule->claim == SPEC_LOSSLESS_ARGMAX ? argmax_drafted : overlap;
    return best(rule, chosen, target, draft, vocab);
}

double spec_acceptance_theory_siblings(const spec_rule *rule, spec_siblings siblings, int n,
                                       const spec_ratio_order *order)
{
    const int i = line_of(rule);
    const bool known = i >= 0 && lines[i].kind[siblings] != NULL && rule->claim < SPEC_LOSSY;
    return known ? lines[i].kind[siblings](order, n) : NAN;
}

bool spec_acceptance_theory_same_form(const spec_rule *rule, const spec_rule *other,
                                      spec_siblings siblings)
{
    const int i = line_of(rule), j = line_of(other);
    return i >= 0 && j >= 0 && lines[i].kind[siblings] == lines[j].kind[siblings];
}

double spec_acceptance_theory_steps(const spec_rule *rule, spec_siblings siblings, int n,
                                    const spec_ratio_order *order)
{
    const int i = line_of(rule);
    return i >= 0 && lines[i].kind[siblings] == spec_rrsw_acceptance ? pow(order->n_drafted, n - 1)
                                                                     : 0.0;
}

double spec_acceptance_theory_siblings_optimum(spec_siblings siblings, int n,
                                               const spec_ratio_order *order)
{
    return optimum[siblings](order, n);
}
