#include "experiments/conformance/fixture.h"

#include "models/names.h"
#include "models/row.h"
#include "models/transform.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { UNITS = 1 << 22 }; /* a row is so many equal parts, shared out among its tokens */

static const char *name_of(int i)
{
    return spec_fixtures[i] != NULL ? spec_fixtures[i]->name : NULL;
}

int spec_fixture_find(const spec_fixture_kind **ret_kind, const char *name, spec_error *error)
{
    const int i = spec_names_find(name_of, name, "fixture", error);
    *ret_kind = i >= 0 ? spec_fixtures[i] : NULL;
    return i >= 0 ? GSL_SUCCESS : GSL_EINVAL;
}

int spec_fixture_open(spec_fixture *fixture, const spec_fixture_kind *kind, spec_error *error)
{
    *fixture = (spec_fixture){.kind = kind};
    const int status = kind->open(fixture, error);
    if (status != GSL_SUCCESS) spec_fixture_close(fixture);
    return status;
}

void spec_fixture_close(spec_fixture *fixture)
{
    free(fixture->target);
    free(fixture->draft);
    free(fixture->target_law);
    free(fixture->draft_law);
    free(fixture->next);
    *fixture = (spec_fixture){.kind = NULL};
}

/* ---- can it be asked? -------------------------------------------------------------------------------------------- */

bool spec_fixture_fits(const spec_fixture *fixture, const spec_sampler_about *about, uint32_t scope,
                       const char **opt_why)
{
    const uint32_t chains = about->chains != 0 ? about->chains : SPEC_DRAWN_FIXED | SPEC_DRAWN_IID;
    const bool applies = fixture->sampling.temperature != 1.0f || fixture->sampling.top_k != 0 ||
                         fixture->sampling.top_p != 1.0f || fixture->sampling.min_p != 0.0f;
    const char *why = NULL;
    if (!(fixture->kind->scopes & scope)) why = "not for this scope";
    else if (!(about->scopes & scope)) why = "the sampler has not this scope";
    else if (!fixture->chain && about->trees == 0) why = "the sampler takes no trees";
    else if (scope == SPEC_SCOPE_VERIFY && !((fixture->chain ? chains : about->trees) & fixture->drawn))
        why = "the sampler takes no such drafts";
    else if (applies && !about->sampling) why = "the sampler applies no sampling parameters";
    else if (fixture->shorter && !about->padding) why = "the sampler takes no padding";
    else if (fixture->repeats && !about->seeded) why = "the sampler is not seeded";
    else if (fixture->coins && !about->coins) why = "the sampler takes no coins";
    else if (about->max_vocab > 0 && fixture->vocab > about->max_vocab) why = "too many tokens for the sampler";
    else if (about->max_nodes > 0 && fixture->n_nodes > about->max_nodes) why = "too long a draft for the sampler";
    if (opt_why != NULL) *opt_why = why;
    return why == NULL;
}

/* ---- the automaton ----------------------------------------------------------------------------------------------- */

int spec_fixture_next(const spec_fixture *fixture, int state, int token)
{
    return fixture->next[(size_t)state * (size_t)fixture->vocab + (size_t)token];
}

/* The target's first token leads from a variant to the next, so that all of them are met as often as their neighbours
 * were, however likely it is; others lead anywhere. */
static void fill_next(spec_fixture *fixture, int state)
{
    const int V = fixture->vocab, levels = fixture->levels, variants = fixture->variants;
    const int level = (state % levels + 1) % levels, variant = state / levels;
    const size_t at = (size_t)state * (size_t)V;
    const int mode = spec_row_argmax(fixture->target_law + at, V);
    for (int i = 0; i < V; i++) {
        const uint32_t mixed = (uint32_t)(i - mode) * 2654435761u; /* spreads neighbouring tokens [Knuth97] */
        const int step = fixture->blind ? 0 : 1 + (int)((mixed >> 16) % (uint32_t)variants);
        fixture->next[at + (size_t)i] = (variant + step) % variants * levels + level;
    }
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

static int deepest(const int *parent, int n)
{
    int depth[SPEC_FIXTURE_NODES_MAX], most = 0;
    for (int i = 0; i < n; i++) {
        depth[i] = parent[i] < 0 ? 1 : depth[parent[i]] + 1;
        if (depth[i] > most) most = depth[i];
    }
    return most;
}

int spec_fixture_alloc(spec_fixture *fixture, int vocab, const int *opt_parent, int n_nodes, int variants,
                       spec_error *error)
{
    assert(vocab >= 1 && variants >= 1 && n_nodes >= 0 && n_nodes <= SPEC_FIXTURE_NODES_MAX);
    fixture->vocab = vocab;
    fixture->variants = variants;
    fixture->n_nodes = n_nodes;
    fixture->chain = true;
    for (int i = 0; i < n_nodes; i++) {
        fixture->parent[i] = opt_parent != NULL ? opt_parent[i] : i - 1;
        assert(fixture->parent[i] >= -1 && fixture->parent[i] < i);
        fixture->chain = fixture->chain && fixture->parent[i] == i - 1;
    }
    fixture->levels = deepest(fixture->parent, n_nodes) + 1;
    fixture->n_states = fixture->levels * variants;
    fixture->drawn = SPEC_DRAWN_IID;
    fixture->batch = 256;
    fixture->sampling = SPEC_SAMPLING_NONE;
    const size_t size = (size_t)fixture->n_states * (size_t)vocab;
    fixture->target = calloc(size, sizeof *fixture->target);
    fixture->draft = calloc(size, sizeof *fixture->draft);
    fixture->target_law = calloc(size, sizeof *fixture->target_law);
    fixture->draft_law = calloc(size, sizeof *fixture->draft_law);
    fixture->next = calloc(size, sizeof *fixture->next);
    if (fixture->target != NULL && fixture->draft != NULL && fixture->target_law != NULL &&
        fixture->draft_law != NULL && fixture->next != NULL)
        return GSL_SUCCESS;
    return spec_fail(error, GSL_ENOMEM, "out of memory for %d rows of %d probabilities", fixture->n_states, vocab);
}

/* Sums from the first token on are rounded, not the shares: so what is lost at one token is made up for at the next,
 * and shares that are whole units stay as they are. The units that light tokens need to be there at all are taken from
 * the heaviest. */
void spec_fixture_set(spec_fixture *fixture, bool draft, int state, const double *weight)
{
    const int vocab = fixture->vocab;
    float *row = (draft ? fixture->draft : fixture->target) + (size_t)state * (size_t)vocab;
    double sum = 0.0, below = 0.0, before = 0.0;
    int lent = 0;
    for (int i = 0; i < vocab; i++) {
        assert(weight[i] >= 0.0);
        sum += weight[i];
    }
    assert(sum > 0.0 && isfinite(sum) && vocab <= UNITS / 4);
    for (int i = 0; i < vocab; i++) {
        below += weight[i];
        const double upto = floor(UNITS * (below / sum) + 0.5), units = upto - before;
        const bool lends = weight[i] > 0.0 && units == 0.0;
        row[i] = (float)(lends ? 1.0 : units) / UNITS;
        lent += lends;
        before = upto;
    }
    while (lent > 0) {
        int heaviest = 0;
        for (int i = 1; i < vocab; i++)
            if (row[i] > row[heaviest]) heaviest = i;
        const int half = (int)(row[heaviest] * UNITS) / 2, paid = lent < half ? lent : half;
        row[heaviest] -= (float)paid / UNITS;
        lent -= paid;
    }
}

int spec_fixture_finish(spec_fixture *fixture, spec_error *error)
{
    const size_t vocab = (size_t)fixture->vocab, size = (size_t)fixture->n_states * vocab;
    const spec_sampling *s = &fixture->sampling;
    const spec_transform transform = {.temperature = (double)s->temperature, .top_k = s->top_k,
                                      .top_p = (double)s->top_p, .min_p = (double)s->min_p};
    int *order = malloc(vocab * sizeof *order);
    if (order == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    for (size_t i = 0; i < size; i++) {
        fixture->target_law[i] = (double)fixture->target[i];
        fixture->draft_law[i] = (double)fixture->draft[i];
    }
    for (size_t at = 0; at < size && !spec_transform_is_none(&transform); at += vocab) {
        spec_transform_apply(fixture->target_law + at, fixture->vocab, &transform, order);
        spec_transform_apply(fixture->draft_law + at, fixture->vocab, &transform, order);
    }
    free(order);
    for (int state = 0; state < fixture->n_states; state++) fill_next(fixture, state);
    return GSL_SUCCESS;
}
