/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/stop_flag.h"
#include "experiments/measures/measures.h"

#include "analysis/acceptance/exact_walk.h"
#include "analysis/rules/overlap.h"
#include "analysis/speedup.h"
#include "analysis/statistics/moments.h"
#include "experiments/training_texts.h"
#include "models/transformed_model.h"
#include "models/transformer/engine/pass_work.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *data;
    int context, window, sink, tokens, K, texts;
    const spec_model *target, *draft;
} question;

/* Sums over all texts. */
typedef struct {
    spec_exact_walk walk;
    spec_moments alpha;      /* over texts, of their mean overlaps */
    double *rounds, *tokens; /* (texts) with K draft tokens per round */
} answer;

static int length_of(const question *q)
{
    return q->context + q->tokens + q->K - 1;
}

/* Opens the target and its draft, with the target's temperature and filters. */
static int open_models(question *q, const spec_point *point, const spec_measure *measure,
                       spec_error *error)
{
    int status = GSL_SUCCESS;
    char draft[256];
    const char *target = spec_point_text(point, measure, "target");
    SPEC_TRY(spec_point_blame(spec_model_cache_open(&q->target, point->models, target, NULL, error),
                              "target", error));
    if (spec_transformer_of(q->target) == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "target: %.200s is not a transformer", target));
    const spec_transform none = SPEC_TRANSFORM_NONE,
                         *own = spec_transformed_model_transform(q->target),
                         *filters = own != NULL ? own : &none;
    snprintf(draft, sizeof draft,
             "layers?window=%d&sink=%d&temperature=%.17g&top_k=%d&top_p=%.17g&min_p=%.17g&"
             "filters=%s",
             q->window, q->sink, spec_transformer_of(q->target)->temperature, filters->top_k,
             filters->top_p, filters->min_p, filters->chained ? "chained" : "joint");
    SPEC_TRY(spec_model_cache_open(&q->draft, point->models, draft, q->target, error));
done:
    return status;
}

static int check(const question *q, spec_error *error)
{
    if (length_of(q) > q->target->window)
        return spec_fail(error, GSL_EINVAL,
                         "context: %d and %d tokens after it do not fit the model's context of %d",
                         q->context, length_of(q) - q->context, q->target->window);
    if (strcmp(q->data, "own") == 0)
        return q->target->one_hot
                   ? spec_fail(error, GSL_EINVAL,
                               "data: at temperature 0 all of the target's own texts are the same; "
                               "give a text file")
                   : GSL_SUCCESS;
    return spec_transformer_of(q->target)->checkpoint->opt_tokenizer != NULL
               ? GSL_SUCCESS
               : spec_fail(error, GSL_EINVAL, "data: the target has no vocabulary to read %.200s",
                           q->data);
}

/* Samples texts of the target: from the first token on, or after the context from a file. */
static int sample(spec_training_texts *ret, const question *q, const spec_point *point,
                  spec_error *error)
{
    int status = GSL_SUCCESS;
    const bool own = strcmp(q->data, "own") == 0;
    spec_training_texts prompts = {0};
    const spec_training_sampling how = {.model = q->target,
                                        .begin = -1,
                                        .places = length_of(q),
                                        .count = (size_t)q->texts,
                                        .prompt = own ? 0 : q->context,
                                        .seed = spec_rng_named_seed(point->seed, "texts")};
    if (!own)
        SPEC_TRY(spec_training_texts_load(&prompts, q->data,
                                          spec_transformer_of(q->target)->checkpoint->opt_tokenizer,
                                          -1, how.places, error));
    SPEC_TRY(spec_training_texts_sample(ret, &prompts, &how, spec_context_pool(point->opt_context),
                                        error));
done:
    spec_training_texts_free(&prompts);
    return status;
}

/* Both models, reading one text. */
typedef struct {
    spec_session draft, target;
    int *token;         /* (2, length): the text, and the token after each */
    const double **row; /* (2, K): the target's and the draft's */
    double *scratch;    /* (2, K, V) */
} reading;

/* Reads the rows of a round after each position, from the end of the context on. */
static int read_text(answer *a, reading *r, const question *q, int text, spec_error *error)
{
    int status = GSL_SUCCESS;
    const int K = q->K, vocab = q->target->vocab;
    const double **const of_target = r->row, **const of_draft = r->row + K;
    const double rounds = a->walk.rounds[K], tokens = a->walk.tokens[K];
    double sum = 0.0;
    double *accept = malloc((size_t)q->tokens * (size_t)(K + 1) * sizeof *accept);
    if (accept == NULL) return spec_no_memory(error);
    for (int t = 0; t < q->tokens; t++) {
        const int *next = r->token + q->context + t;
        spec_score_request request = {.context = r->token,
                                      .n_context = (size_t)(q->context + t),
                                      .token = next,
                                      .n_nodes = K - 1,
                                      .ret_row = of_target,
                                      .scratch = r->scratch};
        SPEC_TRY(spec_session_score(&r->target, &request, error));
        request.ret_row = of_draft;
        request.scratch = r->scratch + (ptrdiff_t)K * vocab;
        SPEC_TRY(spec_session_score(&r->draft, &request, error));
        for (int d = 0; d < K; d++)
            accept[t * K + d] = fmin(1.0, of_draft[d][next[d]] / of_target[d][next[d]]);
        sum += fmin(1.0, spec_overlap(of_target[0], of_draft[0], (size_t)vocab));
    }
    spec_moments_add(&a->alpha, sum / q->tokens);
    spec_exact_walk_add(&a->walk, accept, q->tokens, 0, accept + (ptrdiff_t)q->tokens * K);
    a->rounds[text] = a->walk.rounds[K] - rounds;
    a->tokens[text] = a->walk.tokens[K] - tokens;
done:
    free(accept);
    return status;
}

static int read_texts(answer *a, const question *q, const spec_training_texts *texts,
                      const spec_point *point, spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t rows = 2 * (size_t)q->K;
    reading r = {.token = malloc(2 * (size_t)length_of(q) * sizeof *r.token),
                 .row = malloc(rows * sizeof *r.row),
                 .scratch = malloc(rows * (size_t)q->target->vocab * sizeof *r.scratch)};
    if (r.token == NULL || r.row == NULL || r.scratch == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_session_init(&r.draft, q->draft, error));
    SPEC_TRY(spec_session_init(&r.target, q->target, error));
    spec_session_share(&r.draft, &r.target);
    for (int i = 0; i < q->texts; i++) {
        SPEC_TRY(spec_stop_check(point->stop, error));
        spec_training_texts_held_out(r.token, r.token + length_of(q), texts, i, q->texts);
        SPEC_TRY(read_text(a, &r, q, i, error));
        spec_listener_tell(point->opt_listener, (i + 1.0) / q->texts);
    }
done:
    spec_session_free(&r.draft);
    spec_session_free(&r.target);
    free(r.token);
    free(r.row);
    free(r.scratch);
    return status;
}

/* Returns the standard error of `ratio`, all tokens over all rounds, from the texts' residuals. */
static double ratio_error(const answer *a, double ratio, int texts)
{
    double squares = 0.0, rounds = 0.0;
    for (int i = 0; i < texts; i++) {
        squares += pow(a->tokens[i] - ratio * a->rounds[i], 2.0);
        rounds += a->rounds[i];
    }
    return texts > 1 ? sqrt(squares * texts / (texts - 1.0)) / rounds : NAN;
}

static void fill(spec_table *table, const question *q, const answer *a)
{
    const spec_pass_work of_draft = spec_pass_work_of(spec_transformer_of(q->draft)),
                         of_target = spec_pass_work_of(spec_transformer_of(q->target));
    const double kv_draft = spec_pass_work_kv_bytes(&of_draft, q->context),
                 kv_target = spec_pass_work_kv_bytes(&of_target, q->context);
    const double c = (of_draft.weight_bytes + kv_draft) / (of_target.weight_bytes + kv_target);
    const double emitted = spec_exact_walk_tokens_per_round(&a->walk, q->K);
    double best = 1.0;
    int best_K = 0;
    for (int k = 1; k <= q->K; k++) {
        const double tokens = spec_exact_walk_tokens_per_round(&a->walk, k),
                     speedup = spec_speedup_from_emitted(tokens, k, c);
        if (speedup > best) {
            best = speedup;
            best_K = k;
        }
    }
    spec_table_number(table, "alpha_mean", a->alpha.mean);
    spec_table_number(table, "alpha_mean_se", spec_moments_standard_error(&a->alpha));
    spec_table_number(table, "emitted", emitted);
    spec_table_number(table, "emitted_se", ratio_error(a, emitted, q->texts));
    spec_table_number(table, "kv_share", kv_draft / kv_target);
    spec_table_number(table, "c", c);
    spec_table_integer(table, "best_K", best_K);
    spec_table_number(table, "best_speedup", best);
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    int status = GSL_SUCCESS;
    question q = {.data = spec_point_text(point, measure, "data")};
    answer a = {.alpha = {0}};
    spec_training_texts texts = {0};
    SPEC_TRY(spec_point_int(&q.context, point, measure, "context", 1, SPEC_CONTEXT_MAX, error));
    SPEC_TRY(spec_point_int(&q.window, point, measure, "window", 1, SPEC_CONTEXT_MAX, error));
    SPEC_TRY(spec_point_int(&q.sink, point, measure, "sink", 0, SPEC_CONTEXT_MAX, error));
    SPEC_TRY(spec_point_int(&q.tokens, point, measure, "tokens", 1, 1 << 16, error));
    SPEC_TRY(spec_point_int(&q.K, point, measure, "K", 1, SPEC_EXACT_WALK_K_MAX, error));
    SPEC_TRY(spec_point_int(&q.texts, point, measure, "texts", 1, 1 << 20, error));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(open_models(&q, point, measure, error));
    SPEC_TRY(check(&q, error));
    SPEC_TRY(spec_point_opened(point));
    a.walk.K = q.K;
    a.rounds = malloc((size_t)q.texts * sizeof *a.rounds);
    a.tokens = malloc((size_t)q.texts * sizeof *a.tokens);
    if (a.rounds == NULL || a.tokens == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(sample(&texts, &q, point, error));
    SPEC_TRY(read_texts(&a, &q, &texts, point, error));
    fill(table, &q, &a);
done:
    spec_training_texts_free(&texts);
    free(a.rounds);
    free(a.tokens);
    return status;
}

static const char *const parameters[] = {"target", "data=own", "context",   "window", "sink=4",
                                         "K=4",    "texts=32", "tokens=32", NULL};
static const char *const columns[] = {"alpha_mean", "alpha_mean_se", "emitted",
                                      "emitted_se", "kv_share",      "c",
                                      "best_K",     "best_speedup",  NULL};
static const spec_headline headlines[] = {
    {.column = "alpha_mean"}, {.column = "emitted", .unit = "tokens per round"}, {0}};

const spec_measure spec_measure_window_draft = {
    .name = "window_draft",
    .summary = "a draft with a window at a context: acceptance, tokens per round, cost in bytes",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .run = run,
};
