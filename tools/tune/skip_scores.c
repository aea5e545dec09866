/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/tune/skip_scores.h"

#include "analysis/speedup.h"
#include "models/model_open.h"
#include "models/row.h"
#include "models/transformer/engine/pass_work.h"
#include "speclab/no_memory.h"
#include "speclab/round.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOGETHER = 63 }; /* tokens of a pass after the first one */
static const double most_row_bytes = (double)(UINT64_C(1) << 32);

void spec_skip_scores_spec(char *spec, size_t size, const spec_skip_scores *scores,
                           const unsigned char *set)
{
    size_t used = (size_t)snprintf(spec, size, "layers?of=target&skip=");
    const char *dot = "";
    for (int layer = 0; layer < scores->sublayers / 2; layer++) {
        const bool attention = set[2 * layer] != 0, ffn = set[2 * layer + 1] != 0;
        if (!attention && !ffn) continue;
        used += (size_t)snprintf(spec + used, size - used, "%s%d%s", dot, layer,
                                 attention && ffn ? ""
                                 : attention      ? "a"
                                                  : "f");
        dot = ".";
    }
    if (scores->temperature != 1.0)
        snprintf(spec + used, size - used, "&temperature=%.17g", scores->temperature);
}

/* ---- rows along a text ----------------------------------------------------------------------- */

/* Called with the row after token t of a text. */
typedef void (*row_use)(void *self, int text, int t, const double *row);

static int visit_rows(const spec_skip_scores *s, const spec_model *model, row_use use, void *self,
                      spec_error *error)
{
    spec_session session = {0};
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_session_init(&session, model, error));
    for (int text = 0; text < s->texts; text++) {
        const int *token = s->token + (ptrdiff_t)text * s->length;
        for (int from = 0; from < s->length; from += 1 + TOGETHER) {
            const int rest = s->length - from - 1;
            const spec_score_request request = {.context = token,
                                                .n_context = (size_t)from + 1,
                                                .token = token + from + 1,
                                                .n_nodes = rest < TOGETHER ? rest : TOGETHER,
                                                .ret_row = s->at,
                                                .scratch = s->scratch};
            SPEC_TRY(spec_session_score(&session, &request, error));
            for (int i = 0; i <= request.n_nodes; i++) use(self, text, from + i, s->at[i]);
        }
    }
done:
    spec_session_free(&session);
    return status;
}

static float *row_after(const spec_skip_scores *s, int text, int t)
{
    return s->row + ((size_t)text * (size_t)s->length + (size_t)t) * (size_t)s->target->vocab;
}

static void keep_row(void *self, int text, int t, const double *row)
{
    spec_skip_scores *s = self;
    float *to = row_after(s, text, t);
    for (int i = 0; i < s->target->vocab; i++) to[i] = (float)row[i];
}

int spec_skip_scores_init(spec_skip_scores *s, const spec_model *target,
                          const spec_skip_texts *texts, spec_context *opt_context,
                          spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_transformer *transformer = spec_transformer_of(target);
    const size_t tokens = (size_t)texts->texts * (size_t)texts->length,
                 vocab = (size_t)target->vocab;
    *s = (spec_skip_scores){.target = target,
                            .opt_context = opt_context,
                            .texts = texts->texts,
                            .length = texts->length,
                            .first = texts->first};
    if (transformer == NULL)
        return spec_fail(error, GSL_EINVAL,
                         "%.200s is not a transformer, so it has no layers to skip; give a "
                         "checkpoint of llama2.c or a GGUF file",
                         target->spec);
    s->sublayers = 2 * transformer->checkpoint->shape.n_layers;
    s->temperature = transformer->temperature;
    if ((double)tokens * (double)vocab * sizeof *s->row > most_row_bytes)
        return spec_fail(error, GSL_ENOMEM,
                         "the rows of %zu tokens of a vocabulary of %zu need more than 4 GiB; take "
                         "fewer or shorter texts",
                         tokens, vocab);
    s->token = malloc(tokens * sizeof *s->token);
    s->row = malloc(tokens * vocab * sizeof *s->row);
    s->scratch = malloc((TOGETHER + 1) * vocab * sizeof *s->scratch);
    s->at = malloc((TOGETHER + 1) * sizeof *s->at);
    if (s->token == NULL || s->row == NULL || s->scratch == NULL || s->at == NULL)
        SPEC_TRY(spec_no_memory(error));
    memcpy(s->token, texts->token, tokens * sizeof *s->token);
    SPEC_TRY(visit_rows(s, target, keep_row, s, error));
done:
    if (status != GSL_SUCCESS) spec_skip_scores_free(s);
    return status;
}

void spec_skip_scores_free(spec_skip_scores *s)
{
    free(s->token);
    free(s->row);
    free(s->scratch);
    free(s->at);
    free(s->set);
    free(s->score);
    *s = (spec_skip_scores){0};
}

/* ---- the score of a set ---------------------------------------------------------------------- */

static double overlap(const float *target, const double *draft, int vocab)
{
    double sum = 0.0;
    for (int i = 0; i < vocab; i++) sum += fmin((double)target[i], draft[i]);
    return fmin(1.0, sum);
}

typedef struct {
    const spec_skip_scores *scores;
    double sum;
} overlaps;

static void add_overlap(void *self, int text, int t, const double *row)
{
    overlaps *o = self;
    if (t >= o->scores->first)
        o->sum += overlap(row_after(o->scores, text, t), row, o->scores->target->vocab);
}

static int open_draft(spec_model **ret_draft, const spec_skip_scores *s, const unsigned char *set,
                      spec_error *error)
{
    char spec[SPEC_SKIP_SPEC_SIZE];
    spec_skip_scores_spec(spec, sizeof spec, s, set);
    return spec_model_open(ret_draft, spec, s->target, s->opt_context, error);
}

static int grow(spec_skip_scores *s, spec_error *error)
{
    if (s->n < s->capacity) return GSL_SUCCESS;
    const int capacity = s->capacity > 0 ? 2 * s->capacity : 64;
    unsigned char *set = realloc(s->set, (size_t)capacity * (size_t)s->sublayers);
    if (set == NULL) return spec_no_memory(error);
    s->set = set;
    spec_skip_score *score = realloc(s->score, (size_t)capacity * sizeof *score);
    if (score == NULL) return spec_no_memory(error);
    s->score = score;
    s->capacity = capacity;
    return GSL_SUCCESS;
}

int spec_skip_scores_get(spec_skip_score *ret, spec_skip_scores *s, const unsigned char *set,
                         spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_model *draft = NULL;
    const size_t d = (size_t)s->sublayers;
    for (int i = 0; i < s->n; i++)
        if (memcmp(s->set + (size_t)i * d, set, d) == 0) {
            *ret = s->score[i];
            return GSL_SUCCESS;
        }
    *ret = (spec_skip_score){0};
    SPEC_TRY(grow(s, error));
    SPEC_TRY(open_draft(&draft, s, set, error));
    overlaps sum = {.scores = s};
    SPEC_TRY(visit_rows(s, draft, add_overlap, &sum, error));
    ret->alpha = sum.sum / ((double)s->texts * (s->length - s->first));
    ret->c = spec_pass_work_of(spec_transformer_of(draft)).weight_bytes /
             spec_pass_work_of(spec_transformer_of(s->target)).weight_bytes;
    const spec_round_time time = {.fixed = 1.0, .calls = 1.0};
    ret->best_K = spec_speedup_best_K_between(ret->alpha, ret->c, time, 1.0, SPEC_K_MAX);
    ret->speedup = spec_speedup(ret->alpha, ret->best_K, ret->c);
    memcpy(s->set + (size_t)s->n * d, set, d);
    s->score[s->n++] = *ret;
done:
    spec_model_close(draft);
    return status;
}

/* ---- as decoding would ----------------------------------------------------------------------- */

int spec_skip_scores_walk(spec_exact_walk *walk, spec_skip_scores *s, const unsigned char *set,
                          spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_model *draft = NULL;
    spec_session session[2] = {{0}};
    const int K = walk->K, places = s->length - K;
    double *accept = NULL;
    SPEC_TRY(open_draft(&draft, s, set, error));
    SPEC_TRY(spec_session_init(&session[0], draft, error));
    SPEC_TRY(spec_session_init(&session[1], s->target, error));
    spec_session_share(&session[0], &session[1]);
    accept = malloc(((size_t)places * (size_t)K + (size_t)places) * sizeof *accept);
    if (accept == NULL) SPEC_TRY(spec_no_memory(error));
    for (int text = 0; text < s->texts; text++) {
        const int *token = s->token + (ptrdiff_t)text * s->length;
        for (int t = s->first; t < places; t++) { /* a round after token t */
            const spec_score_request request = {.context = token,
                                                .n_context = (size_t)t + 1,
                                                .token = token + t + 1,
                                                .n_nodes = K - 1,
                                                .ret_row = s->at,
                                                .scratch = s->scratch};
            SPEC_TRY(spec_session_score(&session[0], &request, error));
            for (int d = 0; d < K; d++) {
                const float *row = row_after(s, text, t + d);
                const int next = token[t + d + 1];
                accept[t * K + d] = fmin(1.0, s->at[d][next] / (double)row[next]);
            }
        }
        spec_exact_walk_add(walk, accept, places, s->first, accept + (size_t)places * (size_t)K);
    }
done:
    free(accept);
    for (int i = 0; i < 2; i++) spec_session_free(&session[i]);
    spec_model_close(draft);
    return status;
}
