#include "models/transform.h"

#include "models/filters.h"
#include "models/row.h"
#include "models/wrapper.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- settings ---------------------------------------------------------------------------------------------------- */

bool spec_transform_is_none(const spec_transform *transform)
{
    return transform->temperature == 1.0 && transform->top_k == 0 && transform->top_p == 1.0 && transform->min_p == 0.0;
}

int spec_transform_read(spec_transform *ret_transform, spec_settings *settings, spec_error *error)
{
    static const char *const filters[] = {"joint", "chained", NULL};
    int status = GSL_SUCCESS, filter;
    spec_transform read = SPEC_TRANSFORM_NONE;
    SPEC_TRY(spec_settings_double(&read.temperature, settings, "temperature", read.temperature, 0.0, 1e9, error));
    SPEC_TRY(spec_settings_int(&read.top_k, settings, "top_k", read.top_k, 0, INT_MAX, error));
    SPEC_TRY(spec_settings_double(&read.top_p, settings, "top_p", read.top_p, 0.0, 1.0, error));
    SPEC_TRY(spec_settings_double(&read.min_p, settings, "min_p", read.min_p, 0.0, 1.0, error));
    SPEC_TRY(spec_settings_choice(&filter, settings, "filters", 0, filters, error));
    read.chained = filter == 1;
done:
    *ret_transform = status == GSL_SUCCESS ? read : SPEC_TRANSFORM_NONE;
    return status;
}

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

static void apply_argmax(double *row, int vocab)
{
    const int best = spec_row_argmax(row, vocab);
    for (int i = 0; i < vocab; i++) row[i] = 0.0;
    row[best] = 1.0;
}

/* row^(1/T), relative to the largest, which becomes 1: nothing overflows, and the sum cannot vanish. */
static void apply_temperature(double *row, int vocab, double temperature)
{
    const double largest = row[spec_row_argmax(row, vocab)];
    for (int i = 0; i < vocab; i++) {
        if (row[i] > 0.0) row[i] = exp(log(row[i] / largest) / temperature);
    }
    spec_row_normalise(row, vocab);
}

void spec_transform_apply(double *row, int vocab, const spec_transform *transform, int *order)
{
    if (transform->temperature == 0.0) {
        apply_argmax(row, vocab);
        return;
    }
    if (transform->temperature != 1.0) apply_temperature(row, vocab, transform->temperature);
    spec_filters_apply(row, vocab, transform, order);
}

/* ---- the model that applies it ----------------------------------------------------------------------------------- */

typedef struct {
    spec_wrapper wrapper;
    spec_transform transform;
} transformed;

typedef struct {
    spec_session base;
    int *order; /* (V) */
    const double **row; /* of a score that was begun: rows first..n_nodes, and where they go */
    double *scratch;
    int first, n_nodes;
} transformed_session;

static int init_session(const spec_model *model, void **ret_session, spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret_session = NULL;
    transformed_session *session = calloc(1, sizeof *session);
    if (session == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(spec_session_init(&session->base, ((const spec_wrapper *)model)->base, error));
    session->order = calloc((size_t)model->vocab, sizeof session->order[0]);
    if (session->order == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    *ret_session = session;
    session = NULL;
done:
    if (session != NULL) {
        spec_session_free(&session->base);
        free(session);
    }
    return status;
}

static void free_session(const spec_model *model, void *data)
{
    (void)model;
    transformed_session *session = data;
    spec_session_free(&session->base);
    free(session->order);
    free(session);
}

static spec_session *base_session(void *session)
{
    return &((transformed_session *)session)->base;
}

static const double *transform_into(double *scratch, const double *row, const spec_model *model, int *order)
{
    if (row != scratch) memcpy(scratch, row, (size_t)model->vocab * sizeof scratch[0]);
    spec_transform_apply(scratch, model->vocab, &((const transformed *)model)->transform, order);
    return scratch;
}

static const double *transformed_row(const spec_model *model, void *data, const int *context, size_t n, double *scratch,
                                     spec_error *error)
{
    transformed_session *session = data;
    const double *row = spec_session_row(&session->base, context, n, scratch, error);
    if (row == NULL) return NULL;
    return transform_into(scratch, row, model, session->order);
}

static int begin_score(const spec_model *model, void *data, const int *context, size_t n, const int *token,
                       const int *parent, int n_nodes, int first, const double **ret_row, double *scratch,
                       spec_error *error)
{
    (void)model;
    transformed_session *session = data;
    session->row = ret_row;
    session->scratch = scratch;
    session->first = first;
    session->n_nodes = n_nodes;
    return spec_session_score_begin(&session->base, context, n, token, parent, n_nodes, first, ret_row, scratch, error);
}

static int end_score(const spec_model *model, void *data, spec_error *error)
{
    int status = GSL_SUCCESS;
    transformed_session *session = data;
    SPEC_TRY(spec_session_score_end(&session->base, error));
    for (int i = session->first; i <= session->n_nodes; i++)
        session->row[i] = transform_into(session->scratch + (size_t)i * (size_t)model->vocab, session->row[i], model,
                                         session->order);
done:
    return status;
}

static int transformed_score(const spec_model *model, void *data, const int *context, size_t n, const int *token,
                             const int *parent, int n_nodes, int first, const double **ret_row, double *scratch,
                             spec_error *error)
{
    const int status = begin_score(model, data, context, n, token, parent, n_nodes, first, ret_row, scratch, error);
    return status == GSL_SUCCESS ? end_score(model, data, error) : status;
}

int spec_transform_wrap(spec_model **ret_model, spec_model *base, const spec_transform *transform, spec_error *error)
{
    int status = GSL_SUCCESS;
    transformed *model = calloc(1, sizeof *model);
    if (model == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(spec_wrapper_init(&model->wrapper, base, error));
    model->wrapper.head.one_hot = base->one_hot || transform->temperature == 0.0;
    model->wrapper.kind.row = transformed_row;
    model->wrapper.kind.score = transformed_score;
    model->wrapper.kind.score_begin = begin_score;
    model->wrapper.kind.score_end = end_score;
    model->wrapper.kind.session_init = init_session;
    model->wrapper.kind.session_free = free_session;
    model->wrapper.kind.session_base = base_session;
    model->transform = *transform;
    *ret_model = &model->wrapper.head;
    model = NULL;
done:
    free(model);
    return status;
}

const spec_transform *spec_transform_of(const spec_model *model)
{
    return model->kind->score == transformed_score ? &((const transformed *)model)->transform : NULL;
}
