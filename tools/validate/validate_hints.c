/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses the fixtures from which hints are computed. */
#include "tools/validate/evidence/nearest.h"
#include "tools/validate/validate_run.h"

#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* DRAWS: tokens per fixture. VARIANT: tokens per variant of the failed fixture; AGAIN: tokens per
 * variant that did not show the failure in VARIANT tokens. FAILED_*: limits for the failed fixture,
 * which otherwise gets as many tokens as it took to fail. NUMBERS: a round whose rows have more
 * probabilities than this gets fewer draws. VOCAB_MOST: largest vocabulary. */
enum {
    DRAWS = 16000,
    VARIANT = 32000,
    AGAIN = 128000,
    FURTHER = 2,
    FAILED_LEAST = 64000,
    FAILED_MOST = 256000,
    NUMBERS = 512,
    VOCAB_MOST = 1024
};

/* Fixtures that tell mistakes apart: residuals, lengths, requests, parameters, siblings, texts. */
static const char *const wanted[] = {
    "plain-4",      "heavy-draft-4",  "shorter-4",      "batch-3",  "draft-zeros-8", "cold-8",
    "top-k-16",     "binary-iid-4",   "wide-without-8", "wide-fixed-8", "fixed-4",   "blind-3",
    "blind-long-3", "blind-equal-16", "blind-argmax-4", "text-5-3", "brief-3-4",     "text-1-4",
    NULL};

static bool is_wanted(const char *name)
{
    for (int i = 0; wanted[i] != NULL; i++)
        if (strcmp(wanted[i], name) == 0) return true;
    return false;
}

/* With two tokens every residual is a single token, so residual mistakes do not show. */
static bool tells(const spec_validate_run *r, int i, uint32_t scope)
{
    const spec_validate_result *result = &r->validation->result[i];
    return result->skipped == NULL && !result->late && result->scope == scope &&
           result->vocab > 2 && result->vocab <= VOCAB_MOST;
}

/* Returns how many tokens the search may take: the budget of the run or, if time limits it, the
 * tokens drawn so far. */
static uint64_t most_draws(const spec_validate_run *r)
{
    return r->plan->seconds > 0.0 || r->plan->endless ? r->done : r->plan->draws;
}

/* Returns `draws`, or fewer if rows are large. */
static uint64_t affordable(uint64_t draws, const spec_fixture *fixture)
{
    return (uint64_t)((double)draws * fmin(1.0, NUMBERS / spec_fixture_round_size(fixture)));
}

/* The failed fixture with one dimension changed. */
typedef struct {
    int dimension;
    spec_recipe recipe;
    int parent[SPEC_FIXTURE_NODES_MAX];
    char name[48];
    spec_fixture fixture;
} variant;

/* Makes a variant; each number has other sizes and rows. Returns 1 if it was made, 0 if the sampler
 * cannot be tested on it, -1 if out of memory. The caller closes its fixture. */
static int make_variant(variant *v, const spec_validate_run *r, const spec_design_values *values,
                        uint32_t scope, int dimension, int number)
{
    const spec_sampler_about *about = &r->validation->about;
    spec_design_values other = *values;
    if (!spec_design_simplify(&other, dimension) ||
        !spec_design_recipe(&v->recipe, v->parent, &other, scope, number))
        return 0;
    v->dimension = dimension;
    snprintf(v->name, sizeof v->name, "%s %d", spec_design_dimensions[dimension].name, number);
    v->recipe.blind = scope == SPEC_SCOPE_DRAFT;
    v->recipe.kind = (spec_fixture_kind){v->name, "", scope, spec_recipe_open};
    if (spec_fixture_open(&v->fixture, &v->recipe.kind, r->error) != GSL_SUCCESS) return -1;
    spec_design_adapt(&v->fixture, about, scope);
    if (spec_fixture_fits(&v->fixture, about, scope, NULL) && v->fixture.vocab <= VOCAB_MOST &&
        spec_fixture_promise(&v->fixture, about, r->error) == GSL_SUCCESS)
        return 1;
    spec_fixture_close(&v->fixture);
    return 0;
}

static bool values_of(spec_design_values *ret, const spec_fixture_kind *kind)
{
    return kind->open == spec_recipe_open && spec_design_values_of(ret, (const spec_recipe *)kind);
}

/* Fills ret (SPEC_DESIGN_DIMENSIONS) with the variants on which the sampler can be tested; returns
 * their number, or -1 if out of memory. */
static int make_variants(variant *ret, const spec_validate_run *r, int worst, uint32_t scope)
{
    spec_design_values values;
    int n = 0;
    if (!values_of(&values, r->validation->result[worst].kind)) return 0;
    for (int d = 0; d < SPEC_DESIGN_DIMENSIONS; d++) {
        const int made = make_variant(&ret[n], r, &values, scope, d, 0);
        if (made < 0) return -1;
        n += made;
    }
    return n;
}

/* Finds out whether the failure shows in one of the further variants of a dimension, whose rows may
 * show it better than those of the first. *draws is the number of tokens requested so far. */
static int shows_elsewhere(bool *ret, spec_validate_run *r, const spec_design_values *values,
                           uint32_t scope, int dimension, uint64_t *draws)
{
    int status = GSL_SUCCESS;
    variant *v = calloc(1, sizeof *v);
    *ret = false;
    if (v == NULL) return spec_no_memory(r->error);
    for (int number = 1; number <= FURTHER && !*ret && status == GSL_SUCCESS; number++) {
        const int made = make_variant(v, r, values, scope, dimension, number);
        if (made < 0) status = GSL_ENOMEM;
        if (made <= 0) continue;
        const spec_hint_base on = {&v->fixture, affordable(AGAIN, &v->fixture)};
        if (*draws + on.draws <= most_draws(r)) {
            status = spec_nearest_differs(ret, &r->worker[0].subject, &on, scope,
                                          spec_rng_named_seed(r->plan->seed, v->name), r->error);
            *draws += on.draws;
        }
        spec_fixture_close(&v->fixture);
    }
    free(v);
    return status;
}

/* Names the values without which the failure does not show. */
static int name_needed(spec_validate_run *r, int worst, uint32_t scope, const variant *variants,
                       int n, const bool *shows, uint64_t draws)
{
    spec_validation *v = r->validation;
    spec_design_values values;
    (void)values_of(&values, v->result[worst].kind);
    for (int k = 0; k < n; k++) {
        const int d = variants[k].dimension;
        bool elsewhere;
        if (shows[k]) continue;
        const int status = shows_elsewhere(&elsewhere, r, &values, scope, d, &draws);
        if (status != GSL_SUCCESS) return status;
        if (!elsewhere)
            v->needed[v->n_needed++] = spec_design_dimensions[d].value[(int)values.of[d]].name;
    }
    if (v->n_needed == 0)
        snprintf(v->needed_why, sizeof v->needed_why,
                 "No single condition is needed for it: it shows with each of them changed (%d "
                 "variants)",
                 n);
    return GSL_SUCCESS;
}

/* Says why no condition is named: no variants of the failed fixture were tested, or the fixture
 * does not show the failure again. */
static void say_unknown(spec_validation *v, int opt_worst, uint64_t asked, bool is_asked, int used)
{
    const int vocab = opt_worst >= 0 ? v->result[opt_worst].vocab : 0;
    char why[96];
    if (opt_worst < 0)
        snprintf(why, sizeof why, "no single fixture shows it");
    else if (vocab > VOCAB_MOST)
        snprintf(why, sizeof why, "fixtures of over %d tokens are not tested in variants",
                 VOCAB_MOST);
    else if (vocab <= 2)
        snprintf(why, sizeof why, "fixtures of two tokens are not tested in variants");
    else if (!is_asked)
        snprintf(why, sizeof why, "its rows are special, and other fixtures do not have them");
    else if (used == 0)
        snprintf(why, sizeof why, "the budget leaves no tokens for variants");
    else
        snprintf(why, sizeof why, "it does not show again in %llu tokens from other seeds",
                 (unsigned long long)asked);
    snprintf(v->needed_why, sizeof v->needed_why, "The conditions that it needs are not known: %s",
             why);
}

/* The failed fixture comes first, because it rules out most mistakes. */
int spec_validate_find_hints(spec_validate_run *r, int opt_worst)
{
    enum { VARIANTS = SPEC_DESIGN_DIMENSIONS };
    spec_validation *v = r->validation;
    const uint32_t scope = opt_worst >= 0 ? v->result[opt_worst].scope : v->together_scope;
    const size_t most = (size_t)v->n_results + 1 + VARIANTS;
    spec_hint_base *on = malloc(most * sizeof *on);
    bool *shows = calloc(most, sizeof *shows);
    variant *variants = calloc(VARIANTS, sizeof *variants);
    uint64_t draws = 0;
    int n = 0, n_variants = 0, used = 0, status = GSL_SUCCESS;
    if (on == NULL || shows == NULL || variants == NULL) SPEC_TRY(spec_no_memory(r->error));
    if (opt_worst >= 0 && tells(r, opt_worst, scope)) {
        const spec_fixture *failed = &r->trial[opt_worst].fixture;
        const uint64_t asked = v->result[opt_worst].asked, least = affordable(FAILED_LEAST, failed),
                       most_of = affordable(FAILED_MOST, failed);
        draws = asked < least ? least : asked > most_of ? most_of : asked;
        if (draws > most_draws(r)) draws = most_draws(r);
        on[n++] = (spec_hint_base){failed, draws};
        n_variants = make_variants(variants, r, opt_worst, scope);
        if (n_variants < 0) SPEC_TRY(GSL_ENOMEM);
    }
    for (; used < n_variants && draws + VARIANT <= most_draws(r); used++) {
        const spec_fixture *fixture = &variants[used].fixture;
        on[n] = (spec_hint_base){fixture, affordable(VARIANT, fixture)};
        draws += on[n++].draws;
    }
    for (int i = 0; i < v->n_results && draws + DRAWS <= most_draws(r); i++) {
        if (i == opt_worst || !tells(r, i, scope) || !is_wanted(v->result[i].kind->name)) continue;
        SPEC_TRY(spec_validate_fill_trial(r, i));
        on[n] = (spec_hint_base){&r->trial[i].fixture, affordable(DRAWS, &r->trial[i].fixture)};
        draws += on[n++].draws;
    }
    if (n > 0)
        status = spec_nearest(
            v->hint, &v->n_hints, &r->worker[0].subject,
            &(spec_hint_request){on, n, scope, spec_rng_named_seed(r->plan->seed, "hints"),
                                 r->threads > 1 ? r->plan->opt_pool : NULL, shows},
            r->error);
    if (status == GSL_SUCCESS && used > 0 && shows[0])
        status = name_needed(r, opt_worst, scope, variants, used, shows + 1, draws);
    else if (status == GSL_SUCCESS)
        say_unknown(v, opt_worst, n > 0 ? on[0].draws : 0, n_variants > 0, used);
done:
    for (int k = 0; k < n_variants && variants != NULL; k++)
        spec_fixture_close(&variants[k].fixture);
    free(variants);
    free(shows);
    free(on);
    return status;
}
