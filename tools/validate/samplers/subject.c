/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/samplers/subject.h"

#include "base/names.h"
#include "base/wide_rng.h"

#include <string.h>

const spec_subject_kind *const spec_subject_kinds[] = {
    &spec_subject_rule,   &spec_subject_plugin, &spec_subject_exec,
    &spec_subject_mutant, &spec_subject_biased, NULL,
};

static const char *name_of(int i)
{
    return spec_subject_kinds[i] != NULL ? spec_subject_kinds[i]->name : NULL;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

/* Finds the kind of a spec, and returns the rest of it. */
static int find_kind(const spec_subject_kind **ret_kind, const char **ret_path, const char *spec,
                     spec_error *error)
{
    char name[32] = "plugin";
    const char *colon = strchr(spec, ':');
    *ret_path = spec;
    if (colon != NULL) {
        snprintf(name, sizeof name, "%.*s", (int)(colon - spec), spec);
        *ret_path = colon + 1;
    } else if (!ends_with(spec, ".so")) {
        return spec_fail(error, GSL_EINVAL,
                         "'%.100s' is not a sampler; use rule:NAME, ./FILE.so or "
                         "exec:COMMAND",
                         spec);
    }
    const int line = spec_names_find(name_of, name, "kind of sampler", error);
    if (line < 0) return GSL_EINVAL;
    if ((*ret_path)[0] == '\0')
        return spec_fail(error, GSL_EINVAL, "'%.100s': nothing comes after the colon", spec);
    *ret_kind = spec_subject_kinds[line];
    return GSL_SUCCESS;
}

int spec_subject_open(spec_subject *subject, const char *spec, const spec_subject_limits *limits,
                      spec_error *error)
{
    const spec_subject_kind *kind = &spec_subject_call;
    const char *path = spec;
    int status = GSL_SUCCESS;
    *subject = (spec_subject){.limits = *limits};
    if (limits->opt_call == NULL) status = find_kind(&kind, &path, spec, error);
    if (status != GSL_SUCCESS) return status;
    subject->kind = kind;
    status = kind->open(subject, path, error);
    if (status != GSL_SUCCESS) spec_subject_close(subject);
    return status;
}

bool spec_subject_is_foreign(const char *spec)
{
    const spec_subject_kind *kind = NULL;
    const char *path;
    spec_error error;
    return find_kind(&kind, &path, spec, &error) == GSL_SUCCESS && kind->foreign;
}

void spec_subject_close(spec_subject *subject)
{
    if (subject->kind != NULL) subject->kind->close(subject);
    *subject = (spec_subject){.kind = NULL};
}

int spec_subject_begin(spec_subject *subject, const spec_fixture *fixture, uint32_t scope,
                       int capacity, spec_error *error)
{
    subject->fixture = fixture;
    subject->scope = scope;
    subject->capacity = capacity;
    return subject->kind->begin(subject, error);
}

bool spec_subject_is_late(const spec_subject *subject)
{
    return subject->kind != NULL && subject->kind->late != NULL && subject->kind->late(subject);
}

int spec_subject_run(spec_subject *subject, int n, spec_error *error)
{
    return subject->kind->run(subject, n, error);
}

int spec_subject_generate(spec_subject *subject, int start, int K, uint64_t seed,
                          int32_t *ret_token, int64_t n_tokens, spec_error *error)
{
    return subject->kind->generate(subject, start, K, seed, ret_token, n_tokens, error);
}

int spec_subject_text(spec_text_asked *ret, int32_t *ret_token, spec_subject *subject, int k,
                      gsl_rng *rng, spec_error *error)
{
    const spec_fixture *f = subject->fixture;
    ret->n = spec_fixture_text(f, k);
    ret->start = f->levels * (int)spec_wide_rng_below(rng, (uint64_t)f->variants);
    ret->seed = spec_wide_rng_word(rng);
    if (f->seeds == SPEC_SEEDS_CONSECUTIVE) {
        if (k == 0) subject->first_seed = ret->seed >> 16;
        ret->seed = subject->first_seed + (uint64_t)k;
    }
    if (f->seeds == SPEC_SEEDS_HIGH_BITS && k % 2 == 0) subject->first_seed = ret->seed;
    if (f->seeds == SPEC_SEEDS_HIGH_BITS && k % 2 == 1) /* differs in one of the bits 16 to 52 */
        ret->seed = subject->first_seed ^ 1ull << (16 + k / 2 % 37);
    return spec_subject_generate(subject, ret->start, f->n_nodes, ret->seed, ret_token, ret->n,
                                 error);
}

int spec_subject_counters(spec_subject *subject, uint64_t ret[3], bool *ret_known,
                          spec_error *error)
{
    *ret_known = false;
    return subject->kind->counters != NULL ? subject->kind->counters(subject, ret, ret_known, error)
                                           : GSL_SUCCESS;
}

/* ---- what it says of itself ------------------------------------------------------------------ */

static bool is_name(const char *name, size_t size)
{
    size_t n = 0;
    while (n < size && name[n] >= ' ' && name[n] <= '~') n++;
    return n > 0 && n < size && name[n] == '\0';
}

int spec_subject_check_about(const spec_sampler_about *about, spec_error *error)
{
    const uint32_t scopes = SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT | SPEC_SCOPE_STREAM;
    const uint32_t chains = SPEC_DRAWN_FIXED | SPEC_DRAWN_IID, trees = chains | SPEC_DRAWN_WITHOUT;
    const int32_t flag[] = {about->sampling, about->coins, about->padding,
                            about->seeded,   about->lossy, about->uniform};
    static const char *const flags[] = {"sampling", "coins", "padding",
                                        "seeded",   "lossy", "uniform"};
    if (!is_name(about->name, sizeof about->name))
        return spec_fail(error, GSL_EFAILED, "its name is not 1 to %zu printable characters",
                         sizeof about->name - 1);
    if (about->scopes == 0 || about->scopes & ~scopes)
        return spec_fail(error, GSL_EFAILED,
                         "its scopes are %#x, which must be a sum of SPEC_SCOPE_*", about->scopes);
    if (about->chains & ~chains)
        return spec_fail(error, GSL_EFAILED,
                         "its chains are %#x: SPEC_DRAWN_FIXED and SPEC_DRAWN_IID", about->chains);
    if (about->trees & ~trees)
        return spec_fail(error, GSL_EFAILED, "its trees are %#x: any of SPEC_DRAWN_*",
                         about->trees);
    if (about->rows > SPEC_ROWS_LOGITS)
        return spec_fail(error, GSL_EFAILED, "its rows are %u: one of SPEC_ROWS_*", about->rows);
    for (size_t i = 0; i < sizeof flag / sizeof *flag; i++)
        if (flag[i] != 0 && flag[i] != 1)
            return spec_fail(error, GSL_EFAILED, "its %s is %d: 0 or 1", flags[i], flag[i]);
    if (memchr(about->filters, '\0', sizeof about->filters) == NULL)
        return spec_fail(error, GSL_EFAILED, "its filters are not a text of at most %zu bytes",
                         sizeof about->filters - 1);
    if (about->filters[0] != '\0' && !about->sampling)
        return spec_fail(error, GSL_EFAILED, "its filters are declared, but sampling is 0");
    spec_filter_order order;
    if (spec_filter_order_parse(&order, about->filters, error) != GSL_SUCCESS) return GSL_EFAILED;
    if (about->max_batch < 0 || about->max_nodes < 0 || about->max_vocab < 0)
        return spec_fail(error, GSL_EFAILED, "its max_batch, max_nodes or max_vocab is negative");
    return GSL_SUCCESS;
}

/* ---- a batch in one block -------------------------------------------------------------------- */

enum { ALIGNED = 16 };

/* Returns the next array of the block; if `memory` is NULL it only counts bytes. */
static void *lay(void *memory, size_t *used, size_t n, size_t size)
{
    void *array = memory != NULL ? (char *)memory + *used : NULL;
    *used += (n * size + ALIGNED - 1) / ALIGNED * ALIGNED;
    return array;
}

static size_t lay_all(spec_round_batch *batch, void *memory, int capacity, int nodes, int n_coins)
{
    const size_t n = (size_t)capacity, m = n * (size_t)nodes, k = n * (size_t)(nodes + 1);
    size_t used = 0;
    *batch = (spec_round_batch){.capacity = capacity, .nodes = nodes, .n_coins = n_coins};
    batch->n_nodes = lay(memory, &used, n, sizeof *batch->n_nodes);
    batch->token = lay(memory, &used, m, sizeof *batch->token);
    batch->state = lay(memory, &used, k, sizeof *batch->state);
    batch->request = lay(memory, &used, n, sizeof *batch->request);
    batch->seed = lay(memory, &used, n, sizeof *batch->seed);
    batch->offset = lay(memory, &used, n, sizeof *batch->offset);
    batch->coin = lay(memory, &used, n * (size_t)n_coins, sizeof *batch->coin);
    batch->emitted = lay(memory, &used, k, sizeof *batch->emitted);
    batch->n_emitted = lay(memory, &used, n, sizeof *batch->n_emitted);
    batch->n_accepted = lay(memory, &used, n, sizeof *batch->n_accepted);
    batch->fault = lay(memory, &used, n, sizeof *batch->fault);
    if (n_coins == 0) batch->coin = NULL;
    return used;
}

int spec_round_batch_coins(const spec_fixture *fixture)
{
    return fixture->coins ? 3 * fixture->n_nodes + 1 : 0;
}

size_t spec_round_batch_bytes(int capacity, int nodes, int n_coins)
{
    spec_round_batch counted;
    return lay_all(&counted, NULL, capacity, nodes, n_coins);
}

void spec_round_batch_lay(spec_round_batch *batch, void *memory, int capacity, int nodes,
                          int n_coins)
{
    lay_all(batch, memory, capacity, nodes, n_coins);
}
