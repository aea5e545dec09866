/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "analysis/rules/certificate.h"
#include "analysis/rules/overlap.h"
#include "experiments/measures/trajectory.h"
#include "models/row.h"
#include "tools/bench/acceptance_theory.h"

#include <math.h>
#include <string.h>

enum {
    ALPHA,
    MATCH,
    TARGET_ENTROPY,
    DRAFT_ENTROPY,
    COIN_ENTROPY,
    AGREEMENT,
    ACCEPTED,
    CERTIFIED,
    CERTIFIED_MARGIN,
    N_VALUES
};

typedef struct {
    bool chosen;  /* drafting=greedy */
    bool coins;   /* compute COIN_ENTROPY */
    int top;      /* drafts of a position, the most probable ones; 0: no certificates */
    double delta; /* a draft is accepted if it is at most this much less probable than the argmax */
} overlap_question;

/* Fills in whether greedy decoding accepts a draft here, and whether the divergence of the two rows
 * is enough to be certain of it. */
static void certify(double *value, const overlap_question *question, const spec_position *at)
{
    const size_t vocab = (size_t)at->vocab, top = (size_t)question->top,
                 best = (size_t)spec_row_argmax(at->target, at->vocab);
    const double least = at->target[best] - question->delta,
                 divergence = spec_overlap_kl_divergence(at->target, at->opt_draft, vocab);
    size_t before = 0, rejected = vocab;
    for (size_t x = 0; x < vocab; x++) {
        before += at->opt_draft[x] > at->opt_draft[best] ||
                  (at->opt_draft[x] == at->opt_draft[best] && x < best);
        if (at->target[x] < least && (rejected == vocab || at->target[x] > at->target[rejected]))
            rejected = x;
    }
    double certificate = INFINITY, by_margin = INFINITY; /* nothing can be rejected */
    if (top > 1) {
        certificate = spec_certificate_top(at->target, vocab, top);
        by_margin = spec_certificate_margins(at->target, vocab, top);
    } else if (rejected < vocab) {
        certificate = spec_certificate_token(at->target, vocab, rejected);
        by_margin = spec_certificate_margin(at->target[best] - at->target[rejected], 1);
    }
    value[ACCEPTED] =
        top > 1 ? before < top : at->target[spec_row_argmax(at->opt_draft, at->vocab)] >= least;
    value[CERTIFIED] = isinf(certificate) || divergence < certificate;
    value[CERTIFIED_MARGIN] = isinf(by_margin) || divergence < by_margin;
}

static int visit(double *value, const spec_position *at, const void *self, spec_error *error)
{
    const overlap_question *question = self;
    const bool chosen = question->chosen;
    const size_t vocab = (size_t)at->vocab;
    (void)error;
    value[ALPHA] = spec_acceptance_theory_single(&spec_verify_token, chosen, at->target,
                                                 at->opt_draft, at->vocab);
    value[MATCH] = spec_overlap_match_probability(at->target, at->opt_draft, vocab);
    value[TARGET_ENTROPY] = spec_overlap_entropy(at->target, vocab);
    value[DRAFT_ENTROPY] = spec_overlap_entropy(at->opt_draft, vocab);
    value[COIN_ENTROPY] =
        question->coins ? spec_overlap_coin_entropy(at->target, at->opt_draft, vocab) : NAN;
    value[AGREEMENT] =
        spec_row_argmax(at->target, at->vocab) == spec_row_argmax(at->opt_draft, at->vocab);
    if (question->top > 0)
        certify(value, question, at);
    else
        value[ACCEPTED] = value[CERTIFIED] = value[CERTIFIED_MARGIN] = NAN;
    return GSL_SUCCESS;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    const char *drafting = spec_point_text(point, measure, "drafting");
    overlap_question question = {.chosen = strcmp(drafting, "greedy") == 0};
    spec_trajectory trajectory = {.visit = visit,
                                  .self = &question,
                                  .n_values = N_VALUES,
                                  .seed = point->seed,
                                  .opt_pool = spec_context_pool(point->opt_context),
                                  .opt_stop = point->stop,
                                  .opt_listener = point->opt_listener};
    double mean[N_VALUES], se[N_VALUES];
    int positions, coins, status = GSL_SUCCESS;
    if (strcmp(drafting, "chain") != 0 && strcmp(drafting, "greedy") != 0)
        return spec_fail(error, GSL_EINVAL,
                         "drafting: '%.60s' is not supported: use chain or greedy",
                         drafting);
    SPEC_TRY(spec_point_int(&positions, point, measure, "positions", 1, 1000000000, error));
    SPEC_TRY(spec_point_int(&trajectory.length, point, measure, "length", 0, 1000000000, error));
    SPEC_TRY(spec_point_int(&coins, point, measure, "coins", 0, 1, error));
    question.coins = coins == 1;
    SPEC_TRY(spec_point_int(&question.top, point, measure, "top", 0, 1000, error));
    SPEC_TRY(spec_point_double(&question.delta, point, measure, "delta", 0.0, 1.0, error));
    if (question.top != 1 && question.delta > 0.0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "delta: must be 0 unless top is 1"));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(spec_point_pair(&trajectory.target, &trajectory.opt_draft, point,
                             spec_point_text(point, measure, "target"),
                             spec_point_text(point, measure, "draft"), error));
    if (trajectory.opt_draft == NULL)
        return spec_fail(error, GSL_EINVAL, "draft: give a model");
    SPEC_TRY(spec_point_opened(point));
    trajectory.positions = (uint64_t)positions;
    SPEC_TRY(spec_trajectory_means(mean, se, &trajectory, error));

    spec_table_number(table, "alpha_mean", mean[ALPHA]);
    spec_table_number(table, "alpha_mean_se", se[ALPHA]);
    spec_table_number(table, "match", mean[MATCH]);
    spec_table_number(table, "match_se", se[MATCH]);
    spec_table_number(table, "target_entropy", mean[TARGET_ENTROPY]);
    spec_table_number(table, "draft_entropy", mean[DRAFT_ENTROPY]);
    spec_table_number(table, "coin_entropy", mean[COIN_ENTROPY]);
    spec_table_number(table, "argmax_agreement", mean[AGREEMENT]);
    spec_table_number(table, "greedy_accepted", mean[ACCEPTED]);
    spec_table_number(table, "certified", mean[CERTIFIED]);
    spec_table_number(table, "certified_margin", mean[CERTIFIED_MARGIN]);
done:
    return status;
}

static const char *const parameters[] = {"target",          "draft",    "drafting=chain",
                                         "positions=20000", "length=0", "coins=0",
                                         "top=0",           "delta=0",  NULL};
static const char *const columns[] = {"alpha_mean",   "alpha_mean_se",    "match",
                                      "match_se",     "target_entropy",   "draft_entropy",
                                      "coin_entropy", "argmax_agreement", "greedy_accepted",
                                      "certified",    "certified_margin", NULL};
static const spec_headline headlines[] = {{.column = "alpha_mean"}, {0}};

const spec_measure spec_measure_overlap = {
    .name = "overlap",
    .summary =
        "alpha as a mean over the target's own text: overlap, match probability, entropies (nats)",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .run = run,
};
