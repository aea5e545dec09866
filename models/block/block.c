/* SPDX-License-Identifier: GPL-3.0-or-later */
/* block, markov-block: drafts that compute the rows of all offsets in one pass. PARD, DFlash and
 * UNO draft every token of a block independently; in DSpark and DFlash2 a row also depends on the
 * previous token. */
#include "models/block/block_rows.h"
#include "models/model_kinds.h"
#include "speclab/no_memory.h"
#include "speclab/round.h"

#include <stdlib.h>
#include <string.h>

enum { PATHS_MAX = 65536 };

typedef struct {
    spec_model head;
    spec_block_settings settings;
} block;

static int read_common(spec_block_settings *set, spec_settings *settings, spec_error *error)
{
    static const char *const of[] = {"target", NULL};
    int status = GSL_SUCCESS, unused, row;
    SPEC_TRY(spec_settings_choice(&unused, settings, "of", 0, of, error));
    SPEC_TRY(
        spec_settings_choice(&row, settings, "row", SPEC_BLOCK_BEST, spec_block_row_names, error));
    set->row = (spec_block_row)row;
    SPEC_TRY(spec_settings_int(&set->reach, settings, "reach", 16, 1, SPEC_K_MAX, error));
    SPEC_TRY(spec_settings_int(&set->paths, settings, "paths", 64, 1, PATHS_MAX, error));
    SPEC_TRY(spec_settings_double(&set->alpha, settings, "alpha", 1.0, 0.0, 1.0, error));
    SPEC_TRY(spec_settings_double(&set->noise, settings, "noise", 1.0, 0.0, 50.0, error));
    SPEC_TRY(spec_settings_u64(&set->seed, settings, "seed", 1, error));
    if (set->alpha == 0.0)
        status = spec_fail(error, GSL_EDOM, "%s: alpha=0: an overlap is above 0, and at most 1",
                           settings->name);
done:
    return status;
}

/* Reads a number within [low, high], or the word `all`, which is the default. */
static int read_some(int *ret_value, const spec_settings *settings, const char *key, int all,
                     int low, int high, spec_error *error)
{
    const char *text = spec_settings_text(settings, key);
    *ret_value = all;
    if (text == NULL || strcmp(text, "all") == 0) return GSL_SUCCESS;
    return spec_settings_int(ret_value, settings, key, all, low, high, error);
}

static int open_with(spec_model **ret_model, spec_settings *settings, const spec_model *opt_target,
                     bool by_token, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_block_settings set = {.target = opt_target, .by_token = by_token, .rank = -1};
    SPEC_TRY(read_common(&set, settings, error));
    if (by_token) {
        SPEC_TRY(read_some(&set.rank, settings, "rank", -1, 0, opt_target->vocab, error));
        SPEC_TRY(read_some(&set.top, settings, "top", 0, 1, SPEC_BLOCK_TOP_MAX, error));
    }
    SPEC_TRY(spec_block_settings_check(&set, settings->name, error));
    block *model = calloc(1, sizeof *model);
    if (model == NULL) SPEC_TRY(spec_no_memory(error));
    model->settings = set;
    model->head.vocab = opt_target->vocab;
    model->head.order = -1; /* rows depend on where the round began, which cannot be seen from the
                               last tokens */
    model->head.ends = opt_target->ends;
    model->head.window = opt_target->window;
    model->head.reach = set.reach;
    model->head.one_pass = true;
    model->head.by_depth = !by_token || set.rank == 0;
    model->head.one_hot =
        (opt_target->one_hot || set.row == SPEC_BLOCK_GREEDY) && set.alpha == 1.0 && set.rank <= 0;
    *ret_model = &model->head;
done:
    return status;
}

static int open_block(spec_model **ret_model, spec_settings *settings, const spec_model *opt_target,
                      spec_context *opt_context, spec_error *error)
{
    (void)opt_context;
    return open_with(ret_model, settings, opt_target, false, error);
}

static int open_markov_block(spec_model **ret_model, spec_settings *settings,
                             const spec_model *opt_target, spec_context *opt_context,
                             spec_error *error)
{
    (void)opt_context;
    return open_with(ret_model, settings, opt_target, true, error);
}

static void close_block(spec_model *model)
{
    free(model);
}

static int init_session(const spec_model *model, void **ret_session, spec_error *error)
{
    *ret_session = NULL;
    spec_block_rows *rows = malloc(sizeof *rows);
    if (rows == NULL) return spec_no_memory(error);
    const int status = spec_block_rows_init(rows, &((const block *)model)->settings, error);
    if (status == GSL_SUCCESS)
        *ret_session = rows;
    else
        free(rows);
    return status;
}

static void free_session(const spec_model *model, void *data)
{
    (void)model;
    if (data == NULL) return;
    spec_block_rows_free(data);
    free(data);
}

/* Returns the number of nodes on the path to this one: the offset of the row after it. */
static int depth_of(const spec_score_request *request, int node)
{
    int depth = 0;
    for (; node >= 0; node = request->opt_parent != NULL ? request->opt_parent[node] : node - 1)
        depth++;
    return depth;
}

static int block_score(const spec_model *model, void *data, const spec_score_request *request,
                       spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t V = (size_t)model->vocab;
    SPEC_TRY(spec_block_rows_begin(data, request->context, request->n_context, error));
    for (int i = request->first; i <= request->n_nodes; i++) {
        const int depth = depth_of(request, i - 1);
        double *const place = request->scratch + (size_t)i * V;
        if (depth >= model->reach)
            SPEC_TRY(spec_fail(error, GSL_EINVAL,
                               "'%.200s' has rows for %d draft tokens, so none for number %d",
                               model->spec, model->reach, depth + 1));
        const double *row =
            spec_block_rows_row(data, depth, i > 0 ? request->token[i - 1] : -1, error);
        if (row == NULL) return GSL_EFAILED;
        request->ret_row[i] = memcpy(place, row, V * sizeof *row);
    }
done:
    return status;
}

static const double *block_row(const spec_model *model, void *data, const int *context, size_t n,
                               double *scratch, spec_error *error)
{
    const double *row;
    const int status =
        block_score(model, data,
                    &(spec_score_request){
                        .context = context, .n_context = n, .ret_row = &row, .scratch = scratch},
                    error);
    return status == GSL_SUCCESS ? row : NULL;
}

#define BLOCK(id, words, keys, does, opens, key)                                                   \
    const spec_model_kind spec_model_##id = {                                                      \
        .name = words,                                                                             \
        .usage = words "?of=target&row=best&reach=16&paths=64" keys "&alpha=1&seed=1&noise=1",     \
        .summary = does,                                                                           \
        .reference = key,                                                                          \
        .needs_target = true,                                                                      \
        .rows_by_round = true,                                                                     \
        .open = opens,                                                                             \
        .close = close_block,                                                                      \
        .row = block_row,                                                                          \
        .score = block_score,                                                                      \
        .session_init = init_session,                                                              \
        .session_free = free_session,                                                              \
    }

BLOCK(block, "block", "", "a block of independent rows from one pass: row=best, mean or greedy",
      open_block, "An25");
BLOCK(markov_block, "markov-block", "&rank=all&top=all",
      "the same, but a row knows the token before it, through a bias of this rank on the top "
      "tokens",
      open_markov_block, "");
