#include "tests/support/table_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const pair_family_names[] = {"plain", "zeros", "levels", "equal", "near", "disjoint", "one-hot", "mixed"};

static const double *kind_row(const spec_model *head, void *session, const int *context, size_t n, double *scratch,
                              spec_error *error)
{
    const table_model *model = (const table_model *)head;
    (void)session;
    if (model->fails_after >= 0 && n >= (size_t)model->fails_after) {
        spec_fail(error, GSL_EFAILED, "no row after %zu tokens", n);
        return NULL;
    }
    memcpy(scratch, table_model_row(model, context, n), (size_t)head->vocab * sizeof *scratch);
    return scratch;
}

static const spec_model_kind table_kind = {
    .name = "table", .usage = "table", .summary = "", .reference = "", .row = kind_row};

const spec_model *table_model_init(table_model *model, int vocab)
{
    const int n_rows = 1 + vocab + vocab * vocab;
    *model = (table_model){.head = {.kind = &table_kind, .vocab = vocab, .order = 2, .end_of_text = -1},
                           .n_rows = n_rows, .fails_after = -1};
    model->row = malloc((size_t)(n_rows * vocab) * sizeof *model->row);
    if (model->row == NULL) abort();
    for (int i = 0; i < n_rows * vocab; i++) model->row[i] = 1.0 / vocab;
    return &model->head;
}

void table_model_free(table_model *model)
{
    free(model->row);
    *model = (table_model){0};
}

void table_model_fill(table_model *model, const double *row)
{
    const int V = model->head.vocab;
    for (int i = 0; i < model->n_rows; i++) memcpy(model->row + i * V, row, (size_t)V * sizeof *row);
}

const double *table_model_row(const table_model *model, const int *context, size_t n)
{
    const int V = model->head.vocab;
    int index = 0;
    if (n == 1) index = 1 + context[0];
    if (n >= 2) index = 1 + V + context[n - 2] * V + context[n - 1];
    return model->row + index * V;
}

/* ---- random pairs ------------------------------------------------------------------------------------------------ */

double table_uniform(uint64_t *state)
{
    uint64_t word = *state += 0x9e3779b97f4a7c15u;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    word ^= word >> 31;
    return ((double)(word >> 11) + 0.5) * 0x1p-53;
}

static int below(uint64_t *state, int n)
{
    return (int)(table_uniform(state) * n);
}

static void normalize(double *row, int V)
{
    double total = 0.0;
    for (int i = 0; i < V; i++) total += row[i];
    for (int i = 0; i < V; i++) row[i] /= total;
}

static void plain(double *row, int V, uint64_t *state)
{
    for (int i = 0; i < V; i++) row[i] = -log(table_uniform(state));
    normalize(row, V);
}

/* Tokens outside `keep` (a bit mask) to zero. */
static void restrict_to(double *row, int V, int keep)
{
    for (int i = 0; i < V; i++)
        if (!(keep >> i & 1)) row[i] = 0.0;
    normalize(row, V);
}

static void pair(double *target, double *draft, int V, pair_family family, uint64_t *state)
{
    const int all = (1 << V) - 1;
    plain(target, V, state);
    plain(draft, V, state);
    switch (family) {
    case PAIR_ZEROS:
        restrict_to(target, V, 1 + below(state, all));
        restrict_to(draft, V, 1 + below(state, all));
        break;
    case PAIR_LEVELS:
        for (int i = 0; i < V; i++) target[i] = 1 + below(state, 3);
        for (int i = 0; i < V; i++) draft[i] = 1 + below(state, 3);
        normalize(target, V);
        normalize(draft, V);
        break;
    case PAIR_EQUAL:
        memcpy(draft, target, (size_t)V * sizeof *draft);
        break;
    case PAIR_NEAR:
        for (int i = 0; i < V; i++) draft[i] = target[i] * (1.0 + (below(state, 3) - 1) * 0x1p-52);
        break;
    case PAIR_DISJOINT:
        if (V > 1) {
            const int keep = 1 + below(state, all - 1);
            restrict_to(target, V, keep);
            restrict_to(draft, V, all & ~keep);
        }
        break;
    case PAIR_ONE_HOT:
        restrict_to(target, V, 1 << below(state, V));
        restrict_to(draft, V, 1 << below(state, V));
        break;
    default:
        break;
    }
}

void table_pair_randomize(table_model *target, table_model *draft, pair_family family, uint64_t *state)
{
    const int V = target->head.vocab;
    for (int i = 0; i < target->n_rows; i++) {
        const pair_family now = family == PAIR_MIXED ? (pair_family)below(state, PAIR_MIXED) : family;
        pair(target->row + i * V, draft->row + i * V, V, now, state);
    }
}
