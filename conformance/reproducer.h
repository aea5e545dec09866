/* reproducer: the smallest case that shows that a sampler is not lossless, for its developer to debug.
 * It is about one state of one fixture: what should come after it and what came. Rounds are asked again, with the seeds
 * of the run, to tell tokens of the draft from corrections and bonuses, and to keep one round whole. Owns its rows. */
#ifndef SPECLAB_REPRODUCER_H
#define SPECLAB_REPRODUCER_H

#include "conformance/evidence/evidence.h"

/* Most tokens that are shown, most probabilities of a round's rows that are kept. */
enum { SPEC_REPRODUCER_TOKENS = 16, SPEC_REPRODUCER_ROWS = 1 << 14 };

/* Where a token came from. */
typedef enum {
    SPEC_CAME_DRAFT,      /* a draft token, accepted */
    SPEC_CAME_CORRECTION, /* drawn where draft tokens were there, and all rejected */
    SPEC_CAME_BONUS,      /* drawn where there was no draft token */
    SPEC_CAME_KINDS
} spec_came;

extern const char *const spec_came_names[SPEC_CAME_KINDS];

typedef struct {
    const spec_fixture_kind *kind;
    uint32_t scope;
    int state, vocab;
    double tv;                    /* of that state, less what chance would show, which may be all of it */
    int n_shown;                  /* the tokens that differ most; all of a small vocabulary, in order of ids */
    int32_t token[SPEC_REPRODUCER_TOKENS];
    double target[SPEC_REPRODUCER_TOKENS], draft[SPEC_REPRODUCER_TOKENS];
    double expected[SPEC_REPRODUCER_TOKENS], seen[SPEC_REPRODUCER_TOKENS]; /* frequencies, of the verdict's data */
    uint64_t n;                   /* tokens that came after the state, in the verdict's data */
    const char *test;             /* the test that found it, or "hard" */
    spec_finding finding;         /* what that test said; of "hard", a name alone */

    /* Asked again: how many rounds; how often draft tokens were to be verified after the state, and how often none was
     * there; how often each token was drafted, and how it came. The token rule's counts are what its law expects:
     * another lossless rule may split otherwise. NaN for trees. Scope S tells none of this. */
    uint64_t again, n_drafted, n_bonus;
    uint64_t drafted[SPEC_REPRODUCER_TOKENS], came[SPEC_CAME_KINDS][SPEC_REPRODUCER_TOKENS];
    double draft_expected[SPEC_REPRODUCER_TOKENS], token_rule[SPEC_CAME_KINDS][SPEC_REPRODUCER_TOKENS];

    /* One round of it; in scope S a text: `state` is its start, `seed` its seed, `index` the place of the last of the
     * n_emitted tokens, which are the end of it. */
    spec_exhibit round;
    int levels, parent[SPEC_FIXTURE_NODES_MAX];
    uint32_t drawn;
    int batch;                    /* rounds in one call */
    spec_sampling sampling;
    float *target_row, *draft_row; /* (n_nodes+1, V) as the sampler was given them; NULL where they are too large */
} spec_reproducer;

/* What the run was that found it. */
typedef struct {
    const spec_fixture *fixture;
    const spec_evidence *evidence;
    const spec_finding *finding; /* (n_findings) */
    int n_findings;
    uint32_t scope;
    uint64_t seed, batches;      /* of the trial, and how many batches of `rounds` rounds, or `texts` texts, it had */
    int rounds, texts, text_tokens;
} spec_reproducer_case;

/* The state whose tokens differ most from its row in total variation, less three times what chance would show. */
int spec_reproducer_state(const spec_fixture *fixture, const spec_evidence *evidence, double *ret_tv);

/* `subject` is begun anew. Where it fails now, or gives nothing, the split and the round are left out: the counts of
 * the verdict are there in any case. GSL_ENOMEM. */
int spec_reproducer_find(spec_reproducer *ret, const spec_reproducer_case *found, spec_subject *subject,
                         spec_error *error);
void spec_reproducer_free(spec_reproducer *reproducer);

#endif
