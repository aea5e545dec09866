/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mistakes that need two values of the design at once, generated from its table: a correct sampler
 * until both occur in a round, then a typical mistake. */
#include "tools/validate/mutants/mutants.h"

#include "tools/validate/fixtures/design.h"
#include "tools/validate/fixtures/design_values.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BRIEF_MOST = 17 }; /* tokens of a text */

typedef struct {
    spec_mutant mutant; /* the first member */
    int dimension[2], value[2];
    char name[48], mistake[200];
} pair_mutant;

static const pair_mutant *pair_of(const spec_reference_sampler *s)
{
    const char *hooks = (const char *)s->hook;
    return (const pair_mutant *)(const void *)(hooks - offsetof(spec_mutant, hooks));
}

/* ---- what a round has ------------------------------------------------------------------------ */

static bool calls_differ(const spec_reference_sampler *s,
                         bool (*differ)(const spec_step *a, const spec_step *b))
{
    for (int i = 1; i < s->n_steps; i++)
        if (differ(&s->steps[0], &s->steps[i])) return true;
    return false;
}

static bool differ_in_parameters(const spec_step *a, const spec_step *b)
{
    return memcmp(&a->sampling, &b->sampling, sizeof a->sampling) != 0;
}

static bool differ_in_kind(const spec_step *a, const spec_step *b)
{
    return (a->draft == NULL) != (b->draft == NULL);
}

static int length_of(const spec_step *step)
{
    int n = 0;
    while (n < step->n_nodes && (step->token == NULL || step->token[n] >= 0)) n++;
    return n;
}

static bool differ_in_length(const spec_step *a, const spec_step *b)
{
    return length_of(a) != length_of(b);
}

static int depth_of(const spec_reference_sampler *s)
{
    return s->step == NULL || s->step->parent == NULL
               ? s->length
               : spec_design_depth(s->step->parent, s->step->n_nodes);
}

static int kind_of(const spec_reference_sampler *s)
{
    if (s->step == NULL || s->step->token == NULL) return 0;
    return s->step->draft == NULL                 ? CHOSEN
           : s->step->drawn == SPEC_DRAWN_WITHOUT ? WITHOUT
                                                  : SAMPLED;
}

static int shape_of(const spec_reference_sampler *s)
{
    return s->step == NULL || s->step->parent == NULL ? CHAIN
           : s->step->n_nodes <= SMALL_TREE_MOST      ? TREE
                                                      : LARGE_TREE;
}

static int rows_of(spec_reference_sampler *s)
{
    const float *row = spec_reference_sampler_given(s, SPEC_REFERENCE_TARGET, 0);
    float most = -INFINITY;
    for (int i = 0; i < s->vocab && row != NULL; i++) most = fmaxf(most, row[i]);
    return fabsf(most) > 50.0f ? LARGE : most > 0.0f ? POSITIVE : LOGARITHMS;
}

/* Returns how many values of the row are above the k-th; less than k - 1 if there are ties. */
static int above_kth(spec_reference_sampler *s, const float *row, int k)
{
    int above = 0;
    if (row == NULL || k < 2 || k > s->vocab) return k - 1;
    for (int i = 0; i < s->vocab; i++) { /* spare: the k largest so far, descending */
        const double value = (double)row[i];
        int at = i < k ? i : k;
        for (; at > 0 && s->spare[at - 1] < value; at--)
            if (at < k) s->spare[at] = s->spare[at - 1];
        if (at < k) s->spare[at] = value;
    }
    while (s->spare[above] > s->spare[k - 1]) above++;
    return above;
}

static bool has_ties(spec_reference_sampler *s)
{
    const int k = s->sampling.top_k;
    return above_kth(s, spec_reference_sampler_given(s, SPEC_REFERENCE_TARGET, 0), k) < k - 1;
}

static int texts_of(const spec_reference_sampler *s)
{
    if (s->step != NULL) return 0;
    return s->n_text > SPEC_FIXTURE_TEXT ? LONG : s->n_text + s->missing <= BRIEF_MOST ? BRIEF : 0;
}

static bool has(spec_reference_sampler *s, int dimension, int value)
{
    const bool call = s->step != NULL;
    switch (dimension) {
    case SPEC_DESIGN_LENGTH: return spec_design_length(depth_of(s)) == value;
    case SPEC_DESIGN_VOCAB: return spec_design_vocab(s->vocab) == value;
    case SPEC_DESIGN_DRAFT:
        return value == BOTH_KINDS ? call && calls_differ(s, differ_in_kind) : kind_of(s) == value;
    case SPEC_DESIGN_SHAPE: return shape_of(s) == value;
    case SPEC_DESIGN_PARAMETERS:
        return value == PER_REQUEST ? call && calls_differ(s, differ_in_parameters)
                                    : spec_design_parameters(&s->sampling, 1) == value;
    case SPEC_DESIGN_BATCH:
        return (s->n_steps == 1 ? ALONE : s->n_steps <= BATCH_MOST ? BATCH : LARGE_BATCH) == value;
    case SPEC_DESIGN_LENGTHS:
        return call && calls_differ(s, differ_in_length) == (value == MIXED_LENGTHS);
    case SPEC_DESIGN_ROWS: return rows_of(s) == value;
    case SPEC_DESIGN_TEXTS: return texts_of(s) == value;
    case SPEC_DESIGN_TIES: return has_ties(s);
    default: return true; /* seeds: the mistakes themselves need them */
    }
}

static bool applies(spec_reference_sampler *s)
{
    const pair_mutant *pair = pair_of(s);
    return has(s, pair->dimension[0], pair->value[0]) && has(s, pair->dimension[1], pair->value[1]);
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static bool accept_often(spec_reference_sampler *s, int child)
{
    const double of = s->drawn == SPEC_DRAWN_FIXED ? 1.0 : s->draft[s->token[child]];
    if (!s->applies) return spec_reference_sampler_accept(s, child);
    return 0.4 * spec_reference_sampler_uniform(s, SPEC_REFERENCE_ACCEPTS) * of <
           s->target[s->token[child]];
}

static void residual_forgotten(spec_reference_sampler *s, int child)
{
    if (!s->applies) spec_reference_sampler_residual(s, child);
}

static const float *given_other(spec_reference_sampler *s, int side, int place)
{
    const int other = place > 0 ? place - 1 : place + 1;
    if (!s->applies || side != SPEC_REFERENCE_TARGET || other > s->n_nodes)
        return spec_reference_sampler_given(s, side, place);
    return spec_reference_sampler_given(s, side, other);
}

static int last_argmax(spec_reference_sampler *s)
{
    return s->applies ? spec_reference_sampler_argmax(s->target, s->vocab)
                      : spec_reference_sampler_pick(s, s->target, SPEC_REFERENCE_CLOSES);
}

static double uniform_again(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    if (!s->applies || use != SPEC_REFERENCE_CORRECTS) {
        s->number[0] = spec_reference_sampler_fresh(s);
        return s->number[0];
    }
    return s->number[0]; /* the coin that rejected */
}

static void target_plain(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    (void)place;
    if (s->applies && side == SPEC_REFERENCE_TARGET) *t = SPEC_TRANSFORM_NONE;
}

static void draft_plain(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    (void)place;
    if (s->applies && side == SPEC_REFERENCE_DRAFT) *t = SPEC_TRANSFORM_NONE;
}

static void of_first_request(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    (void)side;
    (void)place;
    if (s->applies) *t = spec_fixture_parameters(&s->steps[0].sampling);
}

/* Keeps what is above the k-th probability. */
static void without_ties(spec_reference_sampler *s, int side, int place, spec_transform *t)
{
    if (!s->applies || side != SPEC_REFERENCE_TARGET) return;
    const int above = above_kth(s, spec_reference_sampler_given(s, side, place), t->top_k);
    if (above > 0) t->top_k = above;
}

/* Clamps logits to the range that single precision can exponentiate. */
static void clamped(spec_reference_sampler *s, int side, int place, double *row)
{
    const float *given = spec_reference_sampler_given(s, side, place);
    if (!s->applies || given == NULL) return;
    for (int i = 0; i < s->vocab; i++)
        row[i] = isinf(given[i]) ? 0.0 : exp(fmax(fmin((double)given[i], 80.0), -80.0) - 80.0);
    (void)spec_reference_sampler_normalise(row, s->vocab);
}

static uint64_t seed_16_bits(const spec_reference_sampler *s, uint64_t seed)
{
    return s->applies ? seed & 0xffff : seed;
}

static uint64_t seed_halved(const spec_reference_sampler *s, uint64_t seed)
{
    return s->applies ? seed >> 1 : seed;
}

typedef struct {
    const char *tag, *text;
    spec_reference_sampler_hooks hooks;
} mistake;

static const mistake of_high_bits = {"seed", "seeds are cut to 16 bits", {.seed = seed_16_bits}};
static const mistake of_next = {"seed", "seeds lose their last bit", {.seed = seed_halved}};
static const mistake of_ties = {
    "above", "a top-k keeps only what is above the k-th probability", {.parameters = without_ties}};
static const mistake of_large = {"clamped", "logits are clamped to 80", {.raw = clamped}};
static const mistake of_requests = {
    "first", "all requests get the parameters of the first", {.parameters = of_first_request}};
static const mistake of_parameters[] = {
    {"plain", "the target's row is used without the parameters", {.parameters = target_plain}},
    {"draft-plain", "the draft's row is used without the parameters", {.parameters = draft_plain}},
};
static const mistake of_bonus = {"argmax", "the bonus is the argmax", {.bonus = last_argmax}};
static const mistake of_rounds[] = {
    {"residual", "the residual is forgotten", {.residual = residual_forgotten}},
    {"row", "the target's row is that of the position before", {.given = given_other}},
    {"often", "drafts are accepted too often", {.accept = accept_often}},
    {"argmax", "the bonus is the argmax", {.bonus = last_argmax}},
    {"again", "the coin that rejects also draws the correction", {.uniform = uniform_again}},
};
enum { OFTEN = 2, OF_TREES = 4, OF_ROUNDS = sizeof of_rounds / sizeof *of_rounds };

/* ---- the catalogue of pairs ------------------------------------------------------------------ */

enum { MOST = 160, OF_EACH = 2 };

static struct {
    pair_mutant pair[MOST];
    int n;
} made;

static bool is_of(const pair_mutant *pair, int dimension, int value)
{
    return (pair->dimension[0] == dimension && pair->value[0] == value) ||
           (pair->dimension[1] == dimension && pair->value[1] == value);
}

static int value_of(const pair_mutant *pair, int dimension)
{
    for (int k = 0; k < 2; k++)
        if (pair->dimension[k] == dimension) return pair->value[k];
    return -1;
}

/* Returns the mistake for a pair: some values need a particular one; for the others, the mistakes
 * take turns. */
static const mistake *mistake_of(const pair_mutant *pair, uint32_t scope, int turn)
{
    const bool no_draft = value_of(pair, SPEC_DESIGN_LENGTH) == 0,
               target = scope != SPEC_SCOPE_VERIFY || no_draft ||
                        is_of(pair, SPEC_DESIGN_DRAFT, CHOSEN) ||
                        is_of(pair, SPEC_DESIGN_PARAMETERS, MIN_P);
    const bool tree = value_of(pair, SPEC_DESIGN_SHAPE) > 0;
    if (is_of(pair, SPEC_DESIGN_SEEDS, HIGH_BITS)) return &of_high_bits;
    if (is_of(pair, SPEC_DESIGN_SEEDS, CONSECUTIVE)) return &of_next;
    if (value_of(pair, SPEC_DESIGN_TIES) > 0) return &of_ties;
    if (is_of(pair, SPEC_DESIGN_ROWS, LARGE)) return &of_large;
    if (is_of(pair, SPEC_DESIGN_ROWS, POSITIVE) && !no_draft) return &of_rounds[OFTEN];
    if (is_of(pair, SPEC_DESIGN_PARAMETERS, PER_REQUEST)) return &of_requests;
    if (value_of(pair, SPEC_DESIGN_PARAMETERS) > 0) return &of_parameters[target ? 0 : turn % 2];
    if (no_draft) return &of_bonus;
    /* with many siblings, few rounds end with a correction */
    return &of_rounds[turn % (tree ? OF_TREES : OF_ROUNDS)];
}

static void add(uint32_t scope, int a, int x, int b, int y)
{
    pair_mutant *pair = &made.pair[made.n];
    const spec_design_value *first = &spec_design_dimensions[b].value[y],
                            *second = &spec_design_dimensions[a].value[x];
    assert(made.n < MOST);
    *pair = (pair_mutant){.dimension = {b, a}, .value = {y, x}};
    const mistake *one = mistake_of(pair, scope, made.n);
    const char *in = scope == SPEC_SCOPE_VERIFY ? "" : scope == SPEC_SCOPE_DRAFT ? "-dv" : "-s";
    snprintf(pair->name, sizeof pair->name, "%s-%s-%s%s", first->tag, second->tag, one->tag, in);
    snprintf(pair->mistake, sizeof pair->mistake, "%s, where these meet: %s, %s", one->text,
             first->name, second->name);
    pair->mutant = (spec_mutant){.name = pair->name,
                                 .kind = SPEC_MUTANT_WRONG,
                                 .scope = scope,
                                 .mistake = pair->mistake,
                                 .where = "",
                                 .hooks = one->hooks};
    pair->mutant.hooks.applies = applies;
    pair->mutant.hooks.logits = a == SPEC_DESIGN_ROWS || b == SPEC_DESIGN_ROWS;
    made.n++;
}

static bool is_wanted(uint32_t scope, int a, int x, int b, int y)
{
    const spec_design_dimension *first = &spec_design_dimensions[b],
                                *second = &spec_design_dimensions[a];
    return first->scopes & scope && second->scopes & scope && first->value[y].tag != NULL &&
           second->value[x].tag != NULL &&
           !(b == SPEC_DESIGN_SEEDS && spec_design_hides_seeds(a, x)) &&
           !(a == SPEC_DESIGN_SEEDS && spec_design_hides_seeds(b, y)) &&
           spec_design_makes_sense(scope, a, x, b, y, NULL) &&
           !(scope == SPEC_SCOPE_STREAM && a == SPEC_DESIGN_PARAMETERS && x == PER_REQUEST) &&
           !(scope == SPEC_SCOPE_STREAM && b == SPEC_DESIGN_PARAMETERS && y == PER_REQUEST);
}

/* Adds up to `most` of the pairs of two dimensions, evenly spaced. */
static void add_some(uint32_t scope, int a, int b, int most)
{
    const int n_a = spec_design_n_values(a), n_b = spec_design_n_values(b);
    int all = 0, at = 0, added = 0;
    for (int k = 0; k < n_a * n_b; k++) all += is_wanted(scope, a, k / n_b, b, k % n_b);
    for (int k = 0; k < n_a * n_b; k++) {
        if (!is_wanted(scope, a, k / n_b, b, k % n_b)) continue;
        if (added < most && at * most >= added * all) {
            add(scope, a, k / n_b, b, k % n_b);
            added++;
        }
        at++;
    }
}

static void generate(void)
{
    for (int a = 0; a < SPEC_DESIGN_DIMENSIONS; a++)
        for (int b = 0; b < a; b++) add_some(SPEC_SCOPE_VERIFY, a, b, OF_EACH);
    for (int d = 0; d < SPEC_DESIGN_DIMENSIONS; d++) {
        if (d < SPEC_DESIGN_PARAMETERS) add_some(SPEC_SCOPE_DRAFT, SPEC_DESIGN_PARAMETERS, d, 1);
        if (d > SPEC_DESIGN_PARAMETERS) add_some(SPEC_SCOPE_DRAFT, d, SPEC_DESIGN_PARAMETERS, 1);
        if (d < SPEC_DESIGN_TEXTS) add_some(SPEC_SCOPE_STREAM, SPEC_DESIGN_TEXTS, d, OF_EACH);
    }
}

const spec_mutant *spec_mutants_pair(int i)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, generate);
    return i < made.n ? &made.pair[i].mutant : NULL;
}
