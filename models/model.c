#include "models/model.h"

#include "base/names.h"
#include "models/tabulate.h"
#include "models/transform.h"
#include "models/wrapper.h"
#include "speclab/round.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static const char *name_of(int i)
{
    return spec_model_kinds[i] != NULL ? spec_model_kinds[i]->name : NULL;
}

/* A file alone tells its kind by its ending: "a.gguf?context=99" is "gguf:a.gguf?context=99". */
static int read_spec(spec_settings *settings, const char *spec, spec_error *error)
{
    static const struct {
        const char *ending, *kind;
    } files[] = {{".gguf", "gguf"}, {".bin", "llama2c"}, {".rows", "rows"}};
    const size_t length = strcspn(spec, ":?");
    for (size_t i = 0; i < sizeof files / sizeof files[0] && spec[length] != ':'; i++) {
        const size_t n = strlen(files[i].ending);
        if (length <= n || strncmp(spec + length - n, files[i].ending, n) != 0) continue;
        char *whole = NULL;
        if (asprintf(&whole, "%s:%s", files[i].kind, spec) < 0) return spec_fail(error, GSL_ENOMEM, "out of memory");
        const int status = spec_settings_init(settings, whole, error);
        free(whole);
        return status;
    }
    return spec_settings_init(settings, spec, error);
}

int spec_model_open(spec_model **ret_model, const char *spec, const spec_model *opt_target, spec_error *error)
{
    int status = spec_model_look(ret_model, spec, opt_target, error);
    if (status == GSL_SUCCESS) status = spec_model_load(*ret_model, opt_target, error);
    if (status == GSL_SUCCESS) return status;
    spec_model_close(*ret_model);
    *ret_model = NULL;
    return status;
}

int spec_model_load(spec_model *model, const spec_model *opt_target, spec_error *error)
{
    spec_model *inner = (spec_model *)spec_wrapper_innermost(model);
    return inner->kind->load != NULL ? inner->kind->load(inner, opt_target, error) : GSL_SUCCESS;
}

int spec_model_look(spec_model **ret_model, const char *spec, const spec_model *opt_target, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_settings settings = {0};
    const spec_model_kind *kind;
    spec_transform transform;
    spec_model *model = NULL;

    *ret_model = NULL;
    SPEC_TRY(read_spec(&settings, spec, error));
    const int line = spec_names_find(name_of, settings.name, "kind of model", error);
    if (line < 0 && access(settings.name, F_OK) == 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.200s is a file; its kind stands before it, as in ngram:%.200s",
                           settings.name, settings.name));
    SPEC_TRY(line < 0 ? GSL_EINVAL : GSL_SUCCESS);
    kind = spec_model_kinds[line];
    SPEC_TRY(spec_settings_check(&settings, kind->usage, SPEC_TRANSFORM_KEYS, error));
    if (kind->needs_target && opt_target == NULL) {
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%s is built from a target, so it can only be a draft", kind->name));
    }
    SPEC_TRY(spec_transform_read(&transform, &settings, error));
    if (kind->heats) transform.temperature = 1.0;

    SPEC_TRY(kind->open(&model, &settings, opt_target, error));
    assert(model->vocab >= 1 && model->order >= -1 && model->order <= SPEC_ORDER_MAX);
    model->kind = kind;
    model->spec = strdup(spec);
    if (model->spec == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    if (!spec_transform_is_none(&transform)) {
        spec_model *base = model;
        SPEC_TRY(spec_transform_wrap(&model, base, &transform, error));
    }
    SPEC_TRY(spec_tabulate(&model, error));
    *ret_model = model;
done:
    if (status != GSL_SUCCESS) spec_model_close(model);
    spec_settings_free(&settings);
    return status;
}

const spec_model_kind *spec_model_kind_of(const char *spec)
{
    spec_settings settings = {0};
    const spec_model_kind *kind = NULL;
    if (read_spec(&settings, spec, NULL) == GSL_SUCCESS)
        for (int i = 0; spec_model_kinds[i] != NULL && kind == NULL; i++)
            if (strcmp(spec_model_kinds[i]->name, settings.name) == 0) kind = spec_model_kinds[i];
    spec_settings_free(&settings);
    return kind;
}

void spec_model_close(spec_model *model)
{
    if (model == NULL) return;
    free(model->spec);
    model->kind->close(model);
}

/* ---- reading a text ---------------------------------------------------------------------------------------------- */

int spec_session_init(spec_session *session, const spec_model *model, spec_error *error)
{
    int status = GSL_SUCCESS;
    *session = (spec_session){.model = model};
    if (model->kind->score == NULL) {
        session->history = calloc(SPEC_ORDER_MAX + SPEC_NODES_MAX, sizeof session->history[0]);
        if (session->history == NULL) SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
    }
    if (model->kind->session_init != NULL) SPEC_TRY(model->kind->session_init(model, &session->data, error));
done:
    if (status != GSL_SUCCESS) {
        free(session->history);
        *session = (spec_session){0};
    }
    return status;
}

spec_session spec_session_lend(const spec_session *session)
{
    spec_session lent = *session;
    lent.lent = true;
    return lent;
}

void spec_session_free(spec_session *session)
{
    if (session->lent) *session = (spec_session){0};
    if (session->model != NULL && session->model->kind->session_free != NULL) {
        session->model->kind->session_free(session->model, session->data);
    }
    free(session->history);
    *session = (spec_session){0};
}

const double *spec_session_row(spec_session *session, const int *context, size_t n, double *scratch, spec_error *error)
{
    return session->model->kind->row(session->model, session->data, context, n, scratch, error);
}

bool spec_session_share(spec_session *draft, spec_session *target)
{
    while (draft->model->kind->session_base != NULL) draft = draft->model->kind->session_base(draft->data);
    while (target->model->kind->session_base != NULL) target = target->model->kind->session_base(target->data);
    const spec_model_kind *kind = draft->model->kind;
    return kind->session_share != NULL && kind->session_share(draft->model, draft->data, target->model, target->data);
}

size_t spec_session_tail(int *ret_tail, int order, const int *context, size_t n, const int *token,
                         const int *opt_parent, int node)
{
    size_t used = 0;
    const size_t wanted = (size_t)order;
    for (; node >= 0 && used < wanted; node = opt_parent != NULL ? opt_parent[node] : node - 1) {
        ret_tail[wanted - ++used] = token[node];
    }
    for (; n > 0 && used < wanted; n--) ret_tail[wanted - ++used] = context[n - 1];
    if (used < wanted) memmove(ret_tail, ret_tail + (wanted - used), used * sizeof ret_tail[0]);
    return used;
}

/* A chain's contexts are the prefixes of one array: the tail before the first row, and then the tokens. */
static int score_chain(spec_session *session, const int *context, size_t n, const int *token, int n_nodes,
                       int first, const double **ret_row, double *scratch, spec_error *error)
{
    const spec_model *model = session->model;
    int *history = session->history;
    size_t length = spec_session_tail(history, model->order, context, n, token, NULL, first - 1);
    for (int i = first; i <= n_nodes; i++) {
        ret_row[i] = model->kind->row(model, session->data, history, length,
                                      scratch + (size_t)i * (size_t)model->vocab, error);
        if (ret_row[i] == NULL) return GSL_EFAILED;
        if (i < n_nodes) history[length++] = token[i];
    }
    return GSL_SUCCESS;
}

static int score_tree(spec_session *session, const int *context, size_t n, const int *token, const int *parent,
                      int n_nodes, int first, const double **ret_row, double *scratch, spec_error *error)
{
    const spec_model *model = session->model;
    for (int i = first; i <= n_nodes; i++) {
        const size_t length = spec_session_tail(session->history, model->order, context, n, token, parent, i - 1);
        ret_row[i] = model->kind->row(model, session->data, session->history, length,
                                      scratch + (size_t)i * (size_t)model->vocab, error);
        if (ret_row[i] == NULL) return GSL_EFAILED;
    }
    return GSL_SUCCESS;
}

int spec_session_score(spec_session *session, const int *context, size_t n, const int *token, const int *parent,
                       int n_nodes, int first, const double **ret_row, double *scratch, spec_error *error)
{
    assert(n_nodes >= 0 && n_nodes <= SPEC_NODES_MAX && first >= 0 && first <= n_nodes);
    const spec_model *model = session->model;
    if (model->kind->score != NULL) {
        return model->kind->score(model, session->data, context, n, token, parent, n_nodes, first, ret_row, scratch,
                                  error);
    }
    assert(model->order >= 0); /* a kind that reads the whole text must score it itself */
    if (parent == NULL) return score_chain(session, context, n, token, n_nodes, first, ret_row, scratch, error);
    return score_tree(session, context, n, token, parent, n_nodes, first, ret_row, scratch, error);
}

int spec_session_score_begin(spec_session *session, const int *context, size_t n, const int *token, const int *parent,
                             int n_nodes, int first, const double **ret_row, double *scratch, spec_error *error)
{
    const spec_model *model = session->model;
    if (model->kind->score_begin == NULL)
        return spec_session_score(session, context, n, token, parent, n_nodes, first, ret_row, scratch, error);
    assert(n_nodes >= 0 && n_nodes <= SPEC_NODES_MAX && first >= 0 && first <= n_nodes);
    return model->kind->score_begin(model, session->data, context, n, token, parent, n_nodes, first, ret_row, scratch,
                                    error);
}

int spec_session_score_end(spec_session *session, spec_error *error)
{
    const spec_model *model = session->model;
    return model->kind->score_end != NULL ? model->kind->score_end(model, session->data, error) : GSL_SUCCESS;
}
