/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plugin_stand: runs a library of tests/plugins as a sampler on a small fixture. */
#ifndef SPECLAB_TESTS_PLUGIN_STAND_H
#define SPECLAB_TESTS_PLUGIN_STAND_H

#include "base/clock.h"
#include "sim/chance/rng.h"
#include "tests/support/built.h"
#include "tests/support/orphans.h"
#include "tools/validate/evidence/evidence.h"

#include <string.h>

enum { BATCH = 300, V = 5, NODES = 3 };

/* The clock of `hasty` stands still while a library is opened, because that may take long on a busy
 * machine. */
static bool stopped;

static inline double unless_stopped(void *self)
{
    (void)self;
    return stopped ? 0.0 : spec_clock_monotonic();
}

/* hasty: time-outs for calls that hang. patient: for all others. */
static const spec_subject_limits patient = {.timeout = 100.0,
                                            .memory = 256ull << 20,
                                            .supervisor = "/proc/self/exe"},
                                 hasty = {.timeout = 0.4,
                                          .clock = {.seconds = unless_stopped},
                                          .supervisor = "/proc/self/exe"};

/* Returns the path of a library of tests/plugins, in the build folder of this program. */
static inline const char *path_of(const char *name)
{
    static char path[PATH_MAX];
    return strcat(spec_built_path(path, "plugins/"), name);
}

/* ---- fixtures -------------------------------------------------------------------------------- */

static inline int open_fixture(spec_fixture *f, const int *opt_parent, spec_error *error)
{
    int status = spec_fixture_alloc(f, V, opt_parent, NODES, 4, error);
    if (status != GSL_SUCCESS) return status;
    f->blind = f->coins = opt_parent == NULL;
    f->batch = 128;
    for (int s = 0; s < f->n_states; s++)
        for (int draft = 0; draft < 2; draft++) {
            double weight[V];
            for (int x = 0; x < V; x++)
                weight[x] = 0.27 + (double)((s * 7 + x * 13 + draft * 5) % 11);
            spec_fixture_set(f, draft, s, weight);
        }
    return spec_fixture_finish(f, error);
}

static inline int open_chain(spec_fixture *f, spec_error *error)
{
    return open_fixture(f, NULL, error);
}

static inline int open_tree(spec_fixture *f, spec_error *error)
{
    return open_fixture(f, (const int[]){-1, -1, 0}, error);
}

static const spec_fixture_kind chain = {"chain-5", "", SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT,
                                        open_chain};
static const spec_fixture_kind tree = {"tree-5", "", SPEC_SCOPE_VERIFY, open_tree};

typedef struct {
    spec_fixture fixture;
    spec_evidence *evidence;
    gsl_rng *rng;
} stand;

static inline void stand_init(stand *s, const spec_fixture_kind *kind, uint32_t scope)
{
    assert_int_equal(spec_fixture_open(&s->fixture, kind, NULL), GSL_SUCCESS);
    assert_int_equal(spec_evidence_init(&s->evidence, &s->fixture, scope, NULL), GSL_SUCCESS);
    s->rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(s->rng, 42, 0);
}

static inline void stand_free(stand *s)
{
    spec_evidence_free(s->evidence);
    spec_fixture_close(&s->fixture);
    gsl_rng_free(s->rng);
}

/* Returns whether `line`, in which '*' stands for any text, matches. */
static inline bool is_like(const char *text, const char *line)
{
    if (*line == '*') return is_like(text, line + 1) || (*text != '\0' && is_like(text + 1, line));
    if (*line == '\0' || *text != *line) return *line == *text;
    return is_like(text + 1, line + 1);
}

static inline void expect(const char *deed, int status, const spec_error *error, const char *line)
{
    if (status != GSL_EFAILED && status != GSL_EINVAL) fail_msg("%s: status %d", deed, status);
    if (!is_like(error->text, line)) fail_msg("%s: '%s' is not '%s'", deed, error->text, line);
}

#endif
