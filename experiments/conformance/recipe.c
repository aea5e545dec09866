#include "experiments/conformance/recipe.h"

#include "models/row.h"
#include "sim/rng.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>

/* How much a weight is changed at most, so that rows of one profile differ in values, too. */
#define JITTER 0.25
/* States are filled anew until their target rows are so far apart in TV, or so often. */
#define APART 0.1
enum { TRIES = 200 };
enum { FILTERED = 40 }; /* ranks that are left */

/* ---- profiles ---------------------------------------------------------------------------------------------------- */

static double weight_of(const spec_profile *profile, int rank, int V)
{
    switch (profile->shape) {
    case SPEC_PROFILE_STEPS: return V > 1 ? exp(-profile->sharp * rank / (V - 1)) : 1.0;
    case SPEC_PROFILE_ZIPF: return pow(rank + 1.0, -profile->sharp);
    case SPEC_PROFILE_MODE:
        return rank == 0 ? profile->sharp : (1.0 - profile->sharp) / (rank * (log(V) + 0.5)); /* the harmonic sum */
    default: return rank < (V + 1) / 2 ? 3.0 : 1.0;
    }
}

static void scale(double *row, int V)
{
    double sum = 0.0;
    for (int i = 0; i < V; i++) sum += row[i];
    for (int i = 0; i < V; i++) row[i] /= sum;
}

static void fill_row(double *row, const spec_profile *profile, const int *order, int V, gsl_rng *rng)
{
    const double jitter = profile->shape == SPEC_PROFILE_TIES ? 0.0 : JITTER;
    for (int r = 0; r < V; r++)
        row[order[r]] = weight_of(profile, r, V) * (1.0 + jitter * (2.0 * gsl_rng_uniform(rng) - 1.0));
    scale(row, V);
}

/* ---- orders: the token of each rank ------------------------------------------------------------------------------ */

static int rank_of(const int *order, int token)
{
    int rank = 0;
    while (order[rank] != token) rank++;
    return rank;
}

static void put(int *order, int token, int rank)
{
    order[rank_of(order, token)] = order[rank];
    order[rank] = token;
}

/* Kernels go wrong at the ends of their tiles. */
static void put_tiles_first(int *order, int V, gsl_rng *rng)
{
    int edge[64], n = 0;
    edge[n++] = 0;
    edge[n++] = V - 1;
    for (int tile = 32; tile < V && n < 60; tile *= 4) {
        edge[n++] = tile - 1;
        edge[n++] = tile;
        edge[n++] = V - V % tile - 1; /* the last whole tile's end */
        if (V % tile != 0) edge[n++] = V - V % tile;
    }
    gsl_ran_shuffle(rng, edge, (size_t)n, sizeof *edge);
    for (int i = 0, r = 0; i < n; i++)
        if (rank_of(order, edge[i]) >= r) put(order, edge[i], r++); /* some are named twice */
}

static void shuffle_target(int *order, const spec_recipe *recipe, gsl_rng *rng)
{
    const int V = recipe->vocab;
    for (int i = 0; i < V; i++) order[i] = i;
    gsl_ran_shuffle(rng, order, (size_t)V, sizeof *order);
    if (recipe->edits & SPEC_EDIT_TILES) put_tiles_first(order, V, rng);
    if (recipe->edits & SPEC_EDIT_TARGET_ZEROS) {
        put(order, 0, 1);
        put(order, V - 1, 3);
    }
}

static void shuffle_draft(int *order, const int *target, const spec_recipe *recipe, gsl_rng *rng)
{
    const int V = recipe->vocab;
    for (int r = 0; r < V; r++)
        order[r] = target[recipe->order == SPEC_ORDER_NEXT       ? (r + 1) % V
                          : recipe->order == SPEC_ORDER_REVERSED ? V - 1 - r
                                                                 : r];
    if (recipe->order == SPEC_ORDER_OWN) gsl_ran_shuffle(rng, order, (size_t)V, sizeof *order);
}

/* ---- edits ------------------------------------------------------------------------------------------------------- */

static void keep_one(double *row, int V, int token)
{
    for (int i = 0; i < V; i++) row[i] = i == token;
}

/* 16 probabilities that a float of 8 bits cannot hold, seven rounded down by almost half a step, seven up by as much:
 * drawn from so rounded a row, they are off by a TV of 2^-9. The target leans a unit to the first seven, so that what
 * it likes better is what comes too seldom. */
static void fill_half_steps(double *target, double *draft, const int *order)
{
    const double unit = ldexp(1.0, -22), step = ldexp(1.0, -11), off = 0.5 * step - 4.0 * unit;
    for (int r = 0; r < 16; r++) {
        const double side = r >= 14 ? 0.0 : r % 2 == 0 ? 1.0 : -1.0;
        draft[order[r]] = (r < 14 ? 136.0 : 72.0) * step + side * off;
        target[order[r]] = draft[order[r]] + side * unit;
    }
}

static void edit_rows(double *target, double *draft, const int *target_order, const int *draft_order,
                      const spec_recipe *recipe)
{
    const int V = recipe->vocab;
    const unsigned edits = recipe->edits;
    for (int r = 0; r < V; r++) {
        const int token = target_order[r];
        const bool end = token == 0 || token == V - 1;
        if (r % 2 == 1 && (edits & (SPEC_EDIT_DISJOINT | SPEC_EDIT_TARGET_ZEROS))) target[token] = 0.0;
        if (r % 2 == 0 && (edits & (SPEC_EDIT_DISJOINT | SPEC_EDIT_DRAFT_ZEROS))) draft[token] = 0.0;
        if (end && (edits & SPEC_EDIT_NO_ENDS)) target[token] = draft[token] = 0.0;
        if (r >= FILTERED && (edits & SPEC_EDIT_FILTERED)) target[token] = draft[draft_order[r]] = 0.0;
    }
    if (edits & SPEC_EDIT_TARGET_ONE_HOT) keep_one(target, V, target_order[0]);
    if (edits & SPEC_EDIT_DRAFT_ONE_HOT) keep_one(draft, V, draft_order[0]);
    if (edits & SPEC_EDIT_DRAFT_TINY) draft[spec_row_argmax(target, V)] = 1e-12;
    if (edits & SPEC_EDIT_HALF_STEPS) fill_half_steps(target, draft, target_order);
}

/* The draft is what became of the target, but for one unit. */
static void move_unit(double *draft, const float *target, const int *order, int V)
{
    for (int i = 0; i < V; i++) draft[i] = (double)target[i];
    draft[order[0]] -= ldexp(1.0, -22);
    draft[order[V - 1]] += ldexp(1.0, -22);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

typedef struct {
    double *target, *draft;          /* (V) */
    int *target_order, *draft_order; /* (V) */
} workspace;

/* How far a state's target row is from the nearest of those before it. */
static double apart(const spec_fixture *fixture, int state)
{
    const size_t V = (size_t)fixture->vocab;
    const float *row = fixture->target + (size_t)state * V;
    double least = 1.0;
    for (int s = 0; s < state; s++) {
        double tv = 0.0;
        for (size_t i = 0; i < V; i++) tv += 0.5 * fabs((double)row[i] - (double)fixture->target[(size_t)s * V + i]);
        least = fmin(least, tv);
    }
    return least;
}

static void fill_state(spec_fixture *fixture, const spec_recipe *recipe, int state, workspace *w, gsl_rng *rng)
{
    const int V = recipe->vocab, level = state % fixture->levels;
    const double along = fixture->levels > 1 ? (double)level / (fixture->levels - 1) : 0.0;
    const double blend = recipe->blend[0] + along * (recipe->blend[1] - recipe->blend[0]);
    shuffle_target(w->target_order, recipe, rng);
    shuffle_draft(w->draft_order, w->target_order, recipe, rng);
    fill_row(w->target, &recipe->target, w->target_order, V, rng);
    fill_row(w->draft, &recipe->draft, w->draft_order, V, rng);
    for (int i = 0; i < V; i++) w->draft[i] = blend * w->target[i] + (1.0 - blend) * w->draft[i];
    edit_rows(w->target, w->draft, w->target_order, w->draft_order, recipe);
    spec_fixture_set(fixture, false, state, w->target);
    if (recipe->edits & SPEC_EDIT_ONE_UNIT)
        move_unit(w->draft, fixture->target + (size_t)state * (size_t)V, w->target_order, V);
    spec_fixture_set(fixture, true, state, w->draft);
}

int spec_recipe_open(spec_fixture *fixture, spec_error *error)
{
    const spec_recipe *recipe = (const spec_recipe *)fixture->kind; /* its first member */
    const size_t V = (size_t)recipe->vocab;
    workspace w = {NULL, NULL, NULL, NULL};
    gsl_rng *rng = NULL;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_fixture_alloc(fixture, recipe->vocab, recipe->opt_parent, recipe->nodes, recipe->variants, error));
    fixture->blind = recipe->blind;
    fixture->shorter = recipe->shorter;
    fixture->repeats = recipe->repeats;
    fixture->coins = recipe->coins;
    if (recipe->drawn != 0) fixture->drawn = recipe->drawn;
    if (recipe->batch != 0) fixture->batch = recipe->batch;
    if (recipe->sampling.top_p > 0.0f) fixture->sampling = recipe->sampling;
    w = (workspace){malloc(V * sizeof *w.target), malloc(V * sizeof *w.draft), malloc(V * sizeof *w.target_order),
                    malloc(V * sizeof *w.draft_order)};
    rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    if (w.target == NULL || w.draft == NULL || w.target_order == NULL || w.draft_order == NULL || rng == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory for rows of %d probabilities", recipe->vocab));
    for (int state = 0; state < fixture->n_states; state++) {
        spec_rng_stream(rng, spec_rng_named_seed(0, recipe->kind.name), (uint64_t)state);
        for (int i = 0; i == 0 || (i < TRIES && apart(fixture, state) < APART); i++)
            fill_state(fixture, recipe, state, &w, rng);
    }
    SPEC_TRY(spec_fixture_finish(fixture, error));
done:
    free(w.target);
    free(w.draft);
    free(w.target_order);
    free(w.draft_order);
    if (rng != NULL) gsl_rng_free(rng);
    return status;
}
