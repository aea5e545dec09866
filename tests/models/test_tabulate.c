/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/tabulate.h"

#include "base/noise.h"
#include "models/model_open.h"
#include "models/transformed_model.h"
#include "tests/models/open_model.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"

/* A test model whose row is a hash of the context, computed into the scratch; `calls` counts the
 * calls. */
typedef struct {
    spec_model head;
    int *calls;
    bool own, gap; /* own: it returns a row in memory of its own; gap: the context of two zeros has
                    * no row */
    double row[8];
} hashed;

static const double *hashed_row(const spec_model *model, void *session, const int *context,
                                size_t n, double *scratch, spec_error *error)
{
    (void)session;
    const hashed *self = (const hashed *)model;
    ++*self->calls;
    if (self->own) return self->row;
    if (self->gap && n >= 2 && context[n - 1] == 0 && context[n - 2] == 0) {
        spec_fail(error, GSL_EDOM, "no row here");
        return NULL;
    }
    const uint64_t key = spec_noise_key(27, context, n, model->order);
    for (int i = 0; i < model->vocab; i++)
        scratch[i] = (double)(1 + (spec_noise_mix(key + (uint64_t)i) >> 40));
    spec_row_normalise(scratch, model->vocab);
    return scratch;
}

/* Its _score gives each node its whole path, as a model that reads the whole text needs. */
static int hashed_score(const spec_model *model, void *session, const spec_score_request *request,
                        spec_error *error)
{
    for (int i = request->first; i <= request->n_nodes; i++) {
        int path[64];
        assert_true(request->n_context + (size_t)request->n_nodes <= 64);
        size_t length = 0, depth = 0;
        for (int node = i - 1; node >= 0;
             node = request->opt_parent != NULL ? request->opt_parent[node] : node - 1)
            depth++;
        for (; length < request->n_context; length++) path[length] = request->context[length];
        length += depth;
        for (int node = i - 1; node >= 0;
             node = request->opt_parent != NULL ? request->opt_parent[node] : node - 1)
            path[request->n_context + --depth] = request->token[node];
        request->ret_row[i] =
            hashed_row(model, session, path, length,
                       request->scratch + (size_t)i * (size_t)model->vocab, error);
    }
    return GSL_SUCCESS;
}

static size_t letter(const spec_model *model, int token, char *buffer, size_t size)
{
    (void)model;
    return (size_t)snprintf(buffer, size, "%c", 'a' + token);
}

static size_t count_bytes(const spec_model *model, const char *text, size_t length, int *token,
                          size_t capacity)
{
    (void)text, (void)token, (void)capacity;
    return length + (size_t)model->vocab;
}

static size_t begin_with(const spec_model *model, uint64_t index, int *token, size_t capacity)
{
    (void)model, (void)capacity;
    token[0] = (int)index;
    return 1;
}

static void close_hashed(spec_model *model)
{
    free(model);
}

static const spec_model_kind stateless = {.name = "hashed",
                                          .row = hashed_row,
                                          .close = close_hashed,
                                          .token_text = letter,
                                          .tokenize = count_bytes,
                                          .prompt = begin_with};
static const spec_model_kind stateful = {
    .name = "reader", .row = hashed_row, .close = close_hashed, .score = hashed_score};

static spec_model *new_hashed(const spec_model_kind *kind, int vocab, int order, int *calls)
{
    hashed *model = calloc(1, sizeof *model);
    model->head = (spec_model){
        .kind = kind, .spec = strdup("hashed"), .vocab = vocab, .order = order, .ends = {1, {2}}};
    model->calls = calls;
    for (int i = 0; i < 8; i++) model->row[i] = 0.125;
    return &model->head;
}

TEST(a_table_gives_the_same_bits_without_computing)
{
    for (int order = 0; order <= 4; order++) {
        int calls = 0, ref_calls = 0;
        spec_model *model = new_hashed(&stateless, 5, order, &calls),
                   *ref = new_hashed(&stateless, 5, order, &ref_calls);
        const spec_model *const base = model;
        assert_int_equal(spec_tabulate(&model, NULL), GSL_SUCCESS);
        assert_ptr_not_equal(model, base);
        const int contexts[] = {1, 6, 31, 156, 781};
        assert_int_equal(calls, contexts[order]); /* 1 + 5 + ... + 5^order */
        assert_int_equal(model->order, order);
        assert_true(model->ends.n == 1 && model->ends.token[0] == 2);

        spec_session session;
        double scratch[5], other[5];
        assert_int_equal(spec_session_init(&session, model, NULL), GSL_SUCCESS);
        for (int i = 0; i < 4000; i++) {
            int context[6];
            const size_t n = (size_t)(i % 7);
            for (size_t j = 0; j < n; j++)
                context[j] = (int)(spec_noise_mix((uint64_t)i * 6 + j) % 5);
            const double *row = spec_session_row(&session, context, n, scratch, NULL);
            assert_ptr_not_equal(row, scratch);
            assert_memory_equal(row, hashed_row(ref, NULL, context, n, other, NULL), sizeof other);
        }
        assert_int_equal(calls, contexts[order]);
        char text[4];
        assert_int_equal(model->kind->token_text(model, 3, text, sizeof text), 1);
        assert_string_equal(text, "d");
        int token = 0;
        assert_int_equal(model->kind->tokenize(model, "xyz", 3, NULL, 0), 8);
        assert_int_equal(model->kind->prompt(model, 4, &token, 1), 1);
        assert_int_equal(token, 4);
        assert_string_equal(model->spec, "hashed");
        spec_session_free(&session);
        spec_model_close(model);
        spec_model_close(ref);
    }
}

TEST(a_model_without_a_useful_table_stays_unchanged)
{
    for (int reason = 0; reason < 4; reason++) {
        int calls = 0;
        static const int order[] = {
            -1, 6, 2, 2}; /* it reads the whole text; its table is too large; its rows are its
                             own; a row is missing */
        OWNED_MODEL *model =
            new_hashed(reason == 0 ? &stateful : &stateless, 8, order[reason], &calls);
        ((hashed *)model)->own = reason == 2;
        ((hashed *)model)->gap = reason == 3;
        const spec_model *const base = model;
        assert_int_equal(spec_tabulate(&model, NULL), GSL_SUCCESS);
        assert_ptr_equal(model, base);
        assert_true(reason == 3 || calls <= 1);
    }
}

/* 2^18 cells are 512 contexts of 512 tokens; with the empty one there are 513. */
TEST(the_largest_table_is_known)
{
    opened large = open_model("dirichlet?V=512&order=1", NULL),
           small = open_model("dirichlet?V=511&order=1", NULL);
    assert_ptr_equal(row_after(&large, NULL, 0), large.scratch);
    assert_ptr_not_equal(row_after(&small, NULL, 0), small.scratch);
    opened_free(&large);
    opened_free(&small);
}

/* A model that reads the whole text keeps its own _score inside a transform and a perturbed draft.
 */
TEST(wrappers_of_a_stateful_model_use_its_score)
{
    int calls = 0;
    spec_error error = {""};
    spec_model *base = new_hashed(&stateful, 6, -1, &calls), *warm, *draft;
    assert_works(
        spec_model_open(&draft, "perturb?alpha=0.651", base, spec_test_context(0), &error));
    assert_int_equal(draft->order, -1);
    assert_true(draft->ends.n == 1 && draft->ends.token[0] == 2);
    assert_null(draft->kind->tokenize);
    spec_model *const inner = new_hashed(&stateful, 6, -1, &calls);
    spec_transform transform = SPEC_TRANSFORM_NONE;
    transform.temperature = 0.27;
    transform.top_k = 4;
    assert_works(spec_transformed_model_open(&warm, inner, &transform, &error));

    assert_true(warm->kind->token_text == NULL && warm->kind->tokenize == NULL &&
                warm->kind->prompt == NULL);
    const int context[20] = {1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 1, 1, 3},
              token[] = {4, 0, 2, 5}, tree[] = {-1, 0, 0, 1};
    const int path[5][4] = {{0}, {4}, {4, 0}, {4, 2}, {4, 0, 5}};
    const size_t depth[] = {0, 1, 2, 2, 3};
    const spec_model *const models[] = {draft, warm};
    for (int m = 0; m < 2; m++) {
        OWNED(spec_session) session;
        double scratch[30], one[6];
        const double *row[5];
        assert_works(spec_session_init(&session, models[m], &error));
        assert_null(session.history);
        assert_works(spec_session_score(&session,
                                        &(spec_score_request){.context = context,
                                                              .n_context = 20,
                                                              .token = token,
                                                              .opt_parent = tree,
                                                              .n_nodes = 4,
                                                              .ret_row = row,
                                                              .scratch = scratch},
                                        &error));
        for (int i = 0; i < 5; i++) {
            int whole[24];
            memcpy(whole, context, sizeof context);
            memcpy(whole + 20, path[i], sizeof path[i]);
            assert_memory_equal(
                row[i], spec_session_row(&session, whole, 20 + depth[i], one, &error), sizeof one);
            assert_normalised(row[i], 6);
        }
    }
    spec_model_close(draft);
    spec_model_close(warm);
    spec_model_close(base);
}
