/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/train/exit_score.h"

#include "models/row.h"
#include "models/transformer/engine/logits.h"
#include "speclab/no_memory.h"
#include "tools/train/training_speed.h"

#include <math.h>
#include <stdlib.h>

int spec_exit_score_init(spec_exit_score *score, const spec_training *training, spec_error *error)
{
    *score = (spec_exit_score){.shape = training->model.checkpoint.shape,
                               .n_exits = training->exits.n_layers - 1};
    for (int i = 0; i < 2; i++) {
        score->walk[i] = calloc((size_t)score->n_exits, sizeof *score->walk[i]);
        if (score->walk[i] == NULL) return spec_no_memory(error);
    }
    return GSL_SUCCESS;
}

void spec_exit_score_free(spec_exit_score *score)
{
    for (int i = 0; i < 2; i++) free(score->walk[i]);
    *score = (spec_exit_score){0};
}

/* The scoring at one temperature. */
typedef struct {
    spec_training *training;
    bool greedy;
    double *agree;         /* (n_exits, places): the probability of acceptance at each position */
    double *accept, *room; /* (places, K), (places): of one walk */
    double *row[2];        /* (V) each */
    double nats, target_nats, overlap, n;
} judging;

static int row_of(double *row, const judging *j, const spec_graph_node *logits, int place,
                  spec_error *error)
{
    return spec_logits_rows(&row, spec_graph_row(logits->value, place, logits->cols), 1.0, 1,
                            logits->cols, j->training->graph.kernels, NULL, error);
}

static double nats_of(double probability)
{
    return -log(fmax(probability, 0x1p-60));
}

/* Scores all exits at one position of the batch; `at` is its position in its text. */
static int judge_place(judging *j, int place, int at, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_training *training = j->training;
    const spec_training_exits *exits = &training->exits;
    const int next = training->next[place], n = exits->n_layers, vocab = exits->logits[n]->cols,
              places = training->plan.places;
    double *const own = j->row[0], *const other = j->row[1];
    SPEC_TRY(row_of(own, j, exits->logits[n], place, error));
    if (!j->greedy) {
        SPEC_TRY(row_of(other, j, training->target_logits, place, error));
        j->nats += nats_of(own[next]);
        j->target_nats += nats_of(other[next]);
        j->overlap += spec_row_overlap(own, other, vocab);
        j->n++;
    }
    for (int l = 1; l < n; l++) {
        SPEC_TRY(row_of(other, j, exits->logits[l], place, error));
        j->agree[(l - 1) * places + at] =
            j->greedy ? spec_row_argmax(own, vocab) == spec_row_argmax(other, vocab)
                      : spec_row_overlap(own, other, vocab);
    }
done:
    return status;
}

/* Walks a text: a round at position t drafts the tokens after positions t, t + 1, ... */
static void walk_text(judging *j, spec_exact_walk *walk, const double *agree)
{
    const spec_training_plan *plan = &j->training->plan;
    const int begins = plan->places - plan->K + 1;
    for (int t = 0; t < begins; t++)
        for (int d = 0; d < plan->K; d++) j->accept[t * plan->K + d] = agree[t + d];
    spec_exact_walk_add(walk, j->accept, begins, plan->first, j->room);
}

static int judge_texts(judging *j, spec_exact_walk *walk, const spec_training_texts *texts,
                       spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_training *training = j->training;
    const spec_training_plan *plan = &training->plan;
    const int judged = training->data.judged;
    for (int first = 0; first < judged; first += plan->texts) {
        spec_training_texts_held_out_batch(training->token, training->next, texts, first,
                                           plan->texts, judged);
        spec_training_forward(training, !j->greedy);
        for (int k = 0; k < plan->texts; k++) {
            for (int t = 0; t < plan->places; t++)
                SPEC_TRY(judge_place(j, k * plan->places + t, t, error));
            for (int l = 0; l < training->exits.n_layers - 1; l++)
                walk_text(j, &walk[l], j->agree + (size_t)l * (size_t)plan->places);
        }
    }
done:
    return status;
}

int spec_exit_score_judge(spec_exit_score *score, spec_training *training, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_training_plan *plan = &training->plan;
    const size_t places = (size_t)plan->places, K = (size_t)plan->K,
                 vocab = (size_t)training->target_logits->cols;
    judging j = {.training = training,
                 .agree = malloc((size_t)score->n_exits * places * sizeof *j.agree),
                 .accept = malloc(places * K * sizeof *j.accept),
                 .room = malloc(places * sizeof *j.room),
                 .row = {malloc(vocab * sizeof *j.row[0]), malloc(vocab * sizeof *j.row[1])}};
    if (j.agree == NULL || j.accept == NULL || j.room == NULL || j.row[0] == NULL ||
        j.row[1] == NULL)
        SPEC_TRY(spec_no_memory(error));
    for (int i = 0; i < 2; i++) {
        for (int l = 0; l < score->n_exits; l++)
            score->walk[i][l] = (spec_exact_walk){.K = plan->K};
        j.greedy = i == 0;
        SPEC_TRY(judge_texts(&j, score->walk[i], training->data.judge[i], error));
    }
    score->bits = j.nats / M_LN2 / j.n;
    score->target_bits = j.target_nats / M_LN2 / j.n;
    score->overlap = j.overlap / j.n;
done:
    free(j.agree);
    free(j.accept);
    free(j.room);
    for (int i = 0; i < 2; i++) free(j.row[i]);
    return status;
}

spec_exit_choice spec_exit_score_best(const spec_exit_score *score, int temperature,
                                      const double *opt_pass)
{
    spec_exit_choice best = {0};
    for (int l = 1; l <= score->n_exits; l++) {
        const spec_exact_walk *walk = &score->walk[temperature][l - 1];
        const double call = spec_training_speed_of_exit(&score->shape, l);
        for (int k = 1; k <= walk->K; k++) {
            const double tokens = spec_exact_walk_tokens_per_round(walk, k),
                         gain = tokens / (k * call + (opt_pass != NULL ? opt_pass[k + 1] : 1.0));
            if (gain > best.speed_up) best = (spec_exit_choice){l, k, tokens, gain};
        }
    }
    return best;
}
