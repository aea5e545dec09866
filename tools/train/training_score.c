/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/train/training_score.h"

#include "models/transformer/engine/logits.h"
#include "speclab/no_memory.h"
#include "tools/train/rank_tree.h"

#include <math.h>
#include <stdlib.h>

const int spec_training_tree_nodes[SPEC_TRAINING_TREES] = {8, 60};

/* The scoring at one temperature. A round that begins at position t drafts the tokens after
 * positions t, t + 1, ...: a model drafts from its rows there, a head from its depths at the anchor
 * t - 1. */
typedef struct {
    spec_training *training;
    bool is_head, greedy;
    int K, begins;       /* begins: positions where a round of K tokens fits */
    int first;           /* the first round begins here */
    double *accept;      /* (begins, K) */
    double *room;        /* (begins) */
    unsigned char *rank; /* (judged, begins, K) */
    double *row;         /* (V) */
    double nats, n_nats;
} judging;

static int row_of(const judging *j, const float *logits, int vocab, spec_error *error)
{
    double *row = j->row;
    return spec_logits_rows(&row, logits, 1.0, 1, vocab, j->training->graph.kernels, NULL, error);
}

/* Returns how many tokens are likelier than this one, or equally likely with a lower id. */
static unsigned char rank_of(const float *logits, int vocab, int token)
{
    int rank = 0;
    for (int i = 0; i < vocab && rank < SPEC_RANK_TREE_RANKS; i++)
        rank += logits[i] > logits[token] || (logits[i] == logits[token] && i < token) ? 1 : 0;
    return (unsigned char)rank;
}

/* Scores draft token d = 0.. of a round at position t of text `text` of the batch. */
static int judge_token(judging *j, double *ret_accept, unsigned char *ret_rank, int text, int t,
                       int d, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_training *training = j->training;
    const int places = training->plan.places, anchors = places - training->plan.K,
              place = text * places + t + d, next = training->next[place];
    const spec_graph_node *node = training->nodes.logits[j->is_head ? d : 0];
    const int vocab = node->cols;
    const float *draft =
        spec_graph_row(node->value, j->is_head ? text * anchors + t - 1 : place, vocab);
    SPEC_TRY(row_of(j, draft, vocab, error));
    const double drafted = j->row[next];
    if (!j->is_head || d == 0) {
        j->nats -= log(fmax(drafted, 0x1p-60));
        j->n_nats++;
    }
    *ret_rank = rank_of(draft, vocab, next);
    *ret_accept = *ret_rank == 0 ? 1.0 : 0.0;
    if (j->greedy || training->target_logits == NULL) goto done;
    SPEC_TRY(row_of(j, spec_graph_row(training->target_logits->value, place, vocab), vocab, error));
    *ret_accept = j->row[next] > 0.0 ? fmin(1.0, drafted / j->row[next]) : 1.0;
done:
    return status;
}

/* Scores a text. A model's row is the same for every round that reads it. A head has none for
 * position 0. */
static int judge_text(judging *j, int text, unsigned char *rank, spec_error *error)
{
    int status = GSL_SUCCESS;
    const int K = j->K;
    for (int t = 0; t < j->begins; t++)
        for (int d = 0; d < K; d++) {
            const int at = t * K + d, before = at - K + 1;
            if (j->is_head && t == 0) {
                j->accept[at] = 0.0;
                rank[at] = SPEC_RANK_TREE_RANKS;
            } else if (!j->is_head && t > 0 && d < K - 1) {
                j->accept[at] = j->accept[before];
                rank[at] = rank[before];
            } else {
                SPEC_TRY(judge_token(j, &j->accept[at], &rank[at], text, t, d, error));
            }
        }
done:
    return status;
}

static int judge_texts(judging *j, spec_exact_walk *opt_walk, int kind, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_training *training = j->training;
    const spec_training_plan *plan = &training->plan;
    const size_t each = (size_t)j->begins * (size_t)j->K;
    for (int first = 0; first < training->data.judged; first += plan->texts) {
        spec_training_texts_held_out_batch(training->token, training->next,
                                           training->data.judge[kind], first, plan->texts,
                                           training->data.judged);
        spec_training_forward(training, opt_walk != NULL);
        for (int k = 0; k < plan->texts; k++) {
            SPEC_TRY(judge_text(j, k, j->rank + (size_t)(first + k) * each, error));
            if (opt_walk != NULL)
                spec_exact_walk_add(opt_walk, j->accept, j->begins, j->first, j->room);
        }
    }
done:
    return status;
}

int spec_training_score_judge(spec_training_score *ret_score, spec_training *training,
                              spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_training_plan *plan = &training->plan;
    const bool walks = plan->opt_target != NULL;
    const int judged = training->data.judged, K = walks ? plan->K : 1,
              begins = plan->places - K + 1;
    const size_t each = (size_t)begins * (size_t)K;
    judging j = {.training = training,
                 .is_head = plan->opt_head != NULL,
                 .K = K,
                 .begins = begins,
                 .first = plan->first,
                 .accept = malloc(each * sizeof *j.accept),
                 .room = malloc((size_t)begins * sizeof *j.room),
                 .rank = malloc((size_t)judged * each),
                 .row = malloc((size_t)training->nodes.logits[0]->cols * sizeof *j.row)};
    *ret_score = (spec_training_score){0};
    if (j.accept == NULL || j.room == NULL || j.rank == NULL || j.row == NULL)
        SPEC_TRY(spec_no_memory(error));
    for (int i = walks ? 0 : 1; i < 2; i++) {
        spec_exact_walk *walk = &ret_score->walk[i];
        j.greedy = i == 0;
        j.nats = j.n_nats = 0.0;
        walk->K = walks ? K : 0;
        SPEC_TRY(judge_texts(&j, walks ? walk : NULL, i, error));
        for (int k = 0; k < SPEC_TRAINING_TREES; k++) {
            ret_score->tree[i][k] = (double)NAN;
            if (walks && judged >= 2)
                SPEC_TRY(spec_rank_tree_tokens(
                    &ret_score->tree[i][k],
                    &(spec_rank_tree_texts){j.rank, judged, begins, K, plan->first},
                    spec_training_tree_nodes[k], error));
        }
    }
    ret_score->bits = j.nats / M_LN2 / j.n_nats;
done:
    free(j.accept);
    free(j.room);
    free(j.rank);
    free(j.row);
    return status;
}
