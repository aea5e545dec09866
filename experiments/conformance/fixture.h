/* fixture: the models that a sampler is tested on, as a finite automaton: what is next depends on a state, and the
 * token leads to another state. So rows differ at every place, node and request, and the law of the first m tokens is
 * known exactly. Rows are whole multiples of 2^-22, so that floats hold them, and sum to 1, without rounding. Fixtures
 * are lines of the table spec_fixtures; an opened one owns its rows. */
#ifndef SPECLAB_FIXTURE_H
#define SPECLAB_FIXTURE_H

#include "speclab/sampler.h"
#include "speclab/status.h"

#include <stdbool.h>

/* Most nodes of a fixture's drafts. */
enum { SPEC_FIXTURE_NODES_MAX = 32 };

typedef struct spec_fixture_kind spec_fixture_kind;

/* States are variants of levels: that of variant v and level l is v * levels + l. A text begins in level 0 of a variant
 * drawn evenly, which stands for the request; each token leads a level on, and after the last level comes level 0. In a
 * blind fixture the variant stays, so that the rows of a chain lie one after another. */
typedef struct {
    const spec_fixture_kind *kind;
    int vocab, levels, variants, n_states; /* levels: the deepest path + 1, for the token after it */
    bool blind;            /* the next state does not depend on the token: rows are known before the draft is, as
                              scope DV needs */
    int n_nodes;           /* of a full draft */
    int parent[SPEC_FIXTURE_NODES_MAX];
    bool chain;
    uint32_t drawn;        /* SPEC_DRAWN_*, one of them */
    bool shorter;          /* drafts of all lengths 0..n_nodes in one batch, the rest padding or left out */
    int batch;             /* rounds in a batch that the sampler is given */
    bool repeats;          /* every round is asked twice, with the same seed and offset */
    bool coins;            /* the sampler is given its uniform numbers */
    spec_sampling sampling; /* what the sampler is to apply; SPEC_SAMPLING_NONE: nothing */
    float *target, *draft; /* (n_states, V) what the sampler is given, before sampling parameters are applied */
    double *target_law, *draft_law; /* (n_states, V) after they are: the law that is promised */
    int32_t *next;         /* (n_states, V) the state after a token */
} spec_fixture;

#define SPEC_SAMPLING_NONE ((spec_sampling){.temperature = 1.0f, .top_p = 1.0f})

struct spec_fixture_kind {
    const char *name;   /* "near-uniform-64" */
    const char *reason; /* one line: which mistakes show here */
    uint32_t scopes;    /* SPEC_SCOPE_* in which it makes sense */
    int (*open)(spec_fixture *fixture, spec_error *error);
};

extern const spec_fixture_kind *const spec_fixtures[]; /* NULL-terminated; experiments/conformance/fixtures.c */

/* The line of that name; GSL_EINVAL naming the nearest. */
int spec_fixture_find(const spec_fixture_kind **ret_kind, const char *name, spec_error *error);

int spec_fixture_open(spec_fixture *fixture, const spec_fixture_kind *kind, spec_error *error);
void spec_fixture_close(spec_fixture *fixture);

/* Can the sampler be asked this in that scope? If not, *opt_why says so in a few words. */
bool spec_fixture_fits(const spec_fixture *fixture, const spec_sampler_about *about, uint32_t scope,
                       const char **opt_why);

/* The state after `token`. Defined for any token of the vocabulary. */
int spec_fixture_next(const spec_fixture *fixture, int state, int token);

/* ---- for those who make one: experiments/conformance/fixtures_*.c ------------------------------------------------ */

/* Room for rows of these sizes, and the defaults: drawn iid, batches of 256, nothing to apply. opt_parent (n_nodes):
 * NULL is a chain. */
int spec_fixture_alloc(spec_fixture *fixture, int vocab, const int *opt_parent, int n_nodes, int variants,
                       spec_error *error);

/* Put weights (V <= 2^20), finite, not negative and not all 0, into a state's target or draft row, rounded to multiples
 * of 2^-22 that sum to 1; a positive weight stays positive, and shares that are such multiples stay what they are. */
void spec_fixture_set(spec_fixture *fixture, bool draft, int state, const double *weight);

/* The laws from the rows and the sampling parameters, and the states from the laws: the last step of every open. */
int spec_fixture_finish(spec_fixture *fixture, spec_error *error);

#endif
