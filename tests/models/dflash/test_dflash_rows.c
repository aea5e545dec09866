/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of dflash equal their definition, computed from scratch in double precision. They do not
 * depend on what was computed before, on the tree around them, or on whose session it is. */
#include "models/dflash/dflash_model.h"
#include "tests/models/dflash/dflash_cases.h"
#include "tests/models/dflash/reference_dflash.h"
#include "tests/models/open_model.h"
#include "tests/support/scored_rows.h"
#include "tests/support/support.h"

#include "base/cpu.h"
#include "base/noise.h"

#include <unistd.h>

enum { V = 11, CONTEXT = 120, NODES = 9, LEVELS = 8 };

static const char target_spec[] =
    "random?dim=16&layers=3&heads=4&kv_heads=2&ffn=24&vocab=11&context=120&type=f32";

typedef struct {
    spec_model *target, *draft;
    const spec_checkpoint *checkpoint;
    spec_dflash dflash; /* a view into the draft */
} pair;

static pair open_pair(const dflash_case *c, const char *keys, int threads)
{
    pair p = {0};
    assert_works(spec_model_open(&p.target, target_spec, NULL, spec_test_context(threads), &error));
    p.checkpoint = spec_transformer_of(p.target)->checkpoint;
    const drawn_dflash_config config = dflash_case_config(c, &p.checkpoint->shape);
    p.draft = drawn_dflash_open(&config, keys, p.target);
    p.dflash = ((const spec_dflash_model *)p.draft)->dflash;
    return p;
}

static void pair_free(pair *p)
{
    spec_model_close(p->draft);
    spec_model_close(p->target);
}

static int token_at(int i)
{
    return (int)(spec_noise_word(42, (uint64_t)i) % V);
}

/* ---- the definition -------------------------------------------------------------------------- */

/* Returns the largest difference of a chain's rows from the reference, after a text of n tokens,
 * including the begin-of-text token. */
static double difference(const pair *p, spec_session *session, int n, int shift)
{
    int text[CONTEXT + LEVELS];
    double rows[LEVELS * V], expected[V], most = 0.0;
    const int n_path = p->draft->reach - 1;
    text[0] = p->checkpoint->begin_of_text;
    for (int i = 1; i < n + n_path; i++) text[i] = token_at(i);
    score_rows(session, text + 1, n - 1, text + n, NULL, n_path, 0, rows);
    for (int d = 0; d <= n_path; d++) {
        reference_dflash_row(expected, NULL,
                             &(dflash_asked){&p->dflash, p->checkpoint, text, n, shift}, d,
                             text[n + d - 1]);
        assert_normalised(rows + d * V, V);
        for (int i = 0; i < V; i++) most = fmax(most, fabs(expected[i] - rows[d * V + i]));
    }
    return most;
}

TEST(rows_are_those_of_the_definition)
{
    static const int lengths[] = {1, 2, 3, 9, 67, 90, 1};
    for (int c = 0; c < DFLASH_CASES; c++) {
        OWNED(pair) p = open_pair(&dflash_cases[c], "", 0);
        OWNED(spec_session) session;
        assert_works(spec_session_init(&session, p.draft, &error));
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            const double off = difference(&p, &session, lengths[i], 0);
            if (!(off < 1e-5))
                fail_msg("%s: rows after %d tokens are off by %g", dflash_cases[c].name, lengths[i],
                         off);
        }
    }
}

/* The test above would notice these mistakes: they change rows a hundred times as much as it
 * allows. */
TEST(mistakes_by_one_are_noticed)
{
    for (int c = 0; c < DFLASH_CASES; c++) {
        OWNED(pair) p = open_pair(&dflash_cases[c], "", 0);
        const spec_dflash good = p.dflash;
        spec_dflash_shape *shape = &p.dflash.shape;
        spec_session session;
        assert_works(spec_session_init(&session, p.draft, &error));
#define NOTICE(change, shift, words)                                                               \
    do {                                                                                           \
        p.dflash = good;                                                                           \
        change;                                                                                    \
        if (difference(&p, &session, 17, shift) < 1e-3)                                            \
            fail_msg("%s: not noticed: %s", dflash_cases[c].name, words);                          \
    } while (0)
        NOTICE((void)0, 1, "features of the place before");
        for (int i = 0; i < shape->n_taps; i++)
            NOTICE(shape->tap[i] += shape->tap[i] > 0 ? -1 : 1, 0, "a moved tap");
        NOTICE(shape->causal = !shape->causal, 0, "the block's mask");
        NOTICE(shape->mask--, 0, "another mask token");
        if (shape->window > 0) NOTICE(shape->window++, 0, "a window of one place more");
        if (shape->kind == SPEC_DFLASH_MARKOV && !shape->from_anchor)
            NOTICE(shape->from_anchor = true, 0, "columns that are off by one");
        if (shape->kind == SPEC_DFLASH_LATTICE) NOTICE(shape->candidates--, 0, "a candidate less");
#undef NOTICE
        spec_session_free(&session);
    }
}

/* ---- confidence ------------------------------------------------------------------------------ */

/* Drafts end before the first token whose confidence is below the key, whichever token it is. */
TEST(a_draft_is_declined_by_the_confidence_before_a_token)
{
    int declined = 0, asked = 0;
    for (int c = 0; c < DFLASH_CASES; c++) {
        if (dflash_cases[c].kind != SPEC_DFLASH_MARKOV) continue;
        pair p = open_pair(&dflash_cases[c], "confidence=0.45", 0);
        spec_session session;
        double rows[LEVELS * V], row[V], log_odds;
        int text[CONTEXT];
        assert_true(p.draft->declines);
        assert_works(spec_session_init(&session, p.draft, &error));
        text[0] = p.checkpoint->begin_of_text;
        for (int i = 1; i < CONTEXT; i++) text[i] = token_at(i);
        for (int n = 1; n < 30; n += 3)
            for (int d = 0; d < p.draft->reach; d++) {
                reference_dflash_row(row, &log_odds,
                                     &(dflash_asked){&p.dflash, p.checkpoint, text, n, 0}, d,
                                     text[n + d - 1]);
                if (fabs(log_odds - log(0.45 / 0.55)) < 1e-4) continue;
                score_rows(&session, text + 1, n - 1, text + n, NULL, d, d, rows);
                const bool expected = log_odds < log(0.45 / 0.55);
                assert_int_equal(spec_session_declines(&session), expected);
                declined += expected;
                asked++;
            }
        spec_session_free(&session);
        pair_free(&p);
    }
    assert_true(declined > asked / 10 && declined < asked * 9 / 10); /* both were seen */
}

/* ---- bits ------------------------------------------------------------------------------------ */

static int draw(uint64_t *noise, int n)
{
    return (int)((*noise = spec_noise_mix(*noise + 1)) % (uint64_t)n);
}

/* Each row of the last tree equals that of a fresh session, which has the path as a chain. */
static void check_fresh(const pair *p, const int *text, int n, const int *token, const int *parent,
                        const int *depth, int n_nodes, const double *rows)
{
    double expected[(NODES + 1) * V];
    for (int i = -1; i < n_nodes; i++) {
        int path[NODES], n_path = i < 0 ? 0 : depth[i];
        for (int at = i, k = n_path; at >= 0; at = parent[at]) path[--k] = token[at];
        OWNED(spec_session) fresh;
        assert_works(spec_session_init(&fresh, p->draft, &error));
        score_rows(&fresh, text, n, path, NULL, n_path, n_path, expected);
        assert_memory_equal(rows + (i + 1) * V, expected + n_path * V, V * sizeof *rows);
    }
}

/* Makes requests of one session: random trees, level by level or at once, on a text that grows, is
 * cut, or gets another beginning. */
static void check_bits(const pair *p, bool share)
{
    spec_session session, target;
    int text[CONTEXT], n = 0, token[NODES], parent[NODES], depth[NODES];
    double rows[(NODES + 1) * V], unused[(NODES + 1) * V];
    uint64_t noise = 7;
    assert_works(spec_session_init(&session, p->draft, &error));
    assert_works(spec_session_init(&target, p->target, &error));
    if (share) assert_true(spec_session_share(&session, &target));
    for (int round = 0; round < 24; round++) {
        const int n_nodes = draw(&noise, NODES + 1);
        for (int i = 0; i < n_nodes; i++) {
            do parent[i] = draw(&noise, i + 1) - 1;
            while (parent[i] >= 0 && depth[parent[i]] == p->draft->reach - 1);
            depth[i] = parent[i] < 0 ? 1 : depth[parent[i]] + 1;
            token[i] = draw(&noise, V);
        }
        for (int first = 0; first <= n_nodes;) {
            const int end = first + draw(&noise, n_nodes - first + 1);
            score_rows(&session, text, n, token, parent, end, first, rows);
            first = end + 1;
        }
        if (draw(&noise, 2)) score_rows(&target, text, n, token, parent, n_nodes, 0, unused);
        check_fresh(p, text, n, token, parent, depth, n_nodes, rows);
        const int what = draw(&noise, 8);
        if (what == 0) n = draw(&noise, n + 1);
        if (what == 1 && n > 0) text[0] = draw(&noise, V);
        for (int at = what > 2 ? n_nodes - 1 : -1, d = at < 0 ? 0 : depth[at]; at >= 0;
             at = parent[at], n += at < 0 ? depth[n_nodes - 1] : 0)
            text[n + --d] = token[at];
        if (what != 1) text[n++] = draw(&noise, V);
        if (n > CONTEXT - 20) n = 5;
    }
    spec_session_free(&session);
    spec_session_free(&target);
}

TEST(rows_after_trees_and_roll_backs_are_those_of_a_fresh_session, SLOW)
{
    for (int c = 0; c < DFLASH_CASES; c++) {
        OWNED(pair) p = open_pair(&dflash_cases[c], "", 0);
        check_bits(&p, false);
        check_bits(&p, true);
    }
}

TEST(rows_do_not_depend_on_threads_or_instructions)
{
    for (int c = 0; c < DFLASH_CASES; c++) {
        double rows[LEVELS * V], expected[LEVELS * V];
        int text[CONTEXT];
        for (int i = 0; i < CONTEXT; i++) text[i] = token_at(i);
        for (spec_isa isa = SPEC_ISA_PORTABLE; isa <= spec_cpu_best_isa(); isa++)
            for (int threads = 1; threads <= 3; threads += 2) {
                assert_int_equal(spec_cpu_limit(spec_cpu_isa_name(isa), NULL), GSL_SUCCESS);
                OWNED(pair) p = open_pair(&dflash_cases[c], "", threads);
                const bool first = isa == SPEC_ISA_PORTABLE && threads == 1;
                OWNED(spec_session) session;
                const int n_path = p.draft->reach - 1;
                assert_works(spec_session_init(&session, p.draft, &error));
                score_rows(&session, text, 80, text + 80, NULL, n_path, 0, first ? expected : rows);
                if (!first)
                    assert_memory_equal(rows, expected, (size_t)(n_path + 1) * V * sizeof *rows);
            }
    }
    assert_int_equal(spec_cpu_limit(NULL, NULL), GSL_SUCCESS);
}

TEST(a_row_at_temperature_0_has_all_its_mass_on_one_token)
{
    for (int c = 0; c < DFLASH_CASES; c++) {
        OWNED(pair) p = open_pair(&dflash_cases[c], "temperature=0", 0);
        OWNED(spec_session) session;
        double rows[V], expected[V];
        int text[8] = {p.checkpoint->begin_of_text};
        assert_true(p.draft->one_hot);
        assert_works(spec_session_init(&session, p.draft, &error));
        for (int i = 1; i < 8; i++) text[i] = token_at(i);
        score_rows(&session, text + 1, 7, NULL, NULL, 0, 0, rows);
        reference_dflash_row(expected, NULL, &(dflash_asked){&p.dflash, p.checkpoint, text, 8, 0},
                             0, text[7]);
        for (int i = 0; i < V; i++)
            assert_true(rows[i] == (i == spec_row_argmax(expected, V) ? 1.0 : 0.0));
    }
}

/* ---- keys and refusals ----------------------------------------------------------------------- */

TEST(a_shorter_block_is_that_of_a_file_that_says_so)
{
    OWNED(pair) p = open_pair(&dflash_cases[2], "block=3", 0);
    OWNED(spec_session) session;
    assert_int_equal(p.draft->reach, 2);
    assert_works(spec_session_init(&session, p.draft, &error));
    assert_true(difference(&p, &session, 9, 0) < 1e-5);
    p.dflash.shape.block = 6;
    assert_true(difference(&p, &session, 9, 0) > 1e-3); /* columns see the whole block */
}

TEST(what_cannot_be_drafted_is_refused)
{
    pair p = open_pair(&dflash_cases[0], "", 0);
    spec_session session;
    int text[CONTEXT] = {0};
    double rows[LEVELS * V];
    const double *row[LEVELS];
    assert_int_equal(p.draft->reach, 3);
    assert_true(p.draft->one_pass && p.draft->by_depth && !p.draft->declines);
    assert_int_equal(p.draft->window, p.target->window);
    assert_works(spec_session_init(&session, p.draft, &error));
    assert_false(spec_session_declines(&session));
    spec_score_request request = {
        .context = text, .n_context = 3, .token = text, .ret_row = row, .scratch = rows};
    request.n_nodes = 3;
    assert_fails_with(spec_session_score(&session, &request, &error), GSL_EINVAL,
                      "rows for 3 tokens, so none for number 4");
    request.n_nodes = 2;
    request.n_context = (size_t)p.draft->window - 1;
    assert_fails_with(spec_session_score(&session, &request, &error), GSL_EINVAL,
                      "is too long: the model's context is 119");
    spec_session_free(&session);
    pair_free(&p);

    opened target = open_model(target_spec, NULL);
    spec_transformer *transformer = (spec_transformer *)target.model;
    const spec_shape *shape = &transformer->checkpoint->shape;
    char path[] = "/tmp/speclab-dflash-XXXXXX", spec[80];
    assert_int_equal(close(mkstemp(path)), 0);
    drawn_dflash_config config = drawn_dflash(SPEC_DFLASH_PLAIN, shape);
    drawn_dflash_write(path, &config);
    snprintf(spec, sizeof spec, "gguf:%s", path);
    assert_refused(spec, NULL,
                   "is a draft head of kind dflash, not a model; use it as a draft: dflash:/tmp/");
    snprintf(spec, sizeof spec, "dflash:%s?confidence=0.4", path);
    assert_refused(spec, target.model, "has no confidence head; leave out confidence=0.4");
    snprintf(spec, sizeof spec, "dflash:%s?block=1", path);
    assert_refused(spec, target.model, "dflash: block=1: one position drafts no token");
    snprintf(spec, sizeof spec, "dflash:%s?block=5", path);
    assert_refused(spec, target.model, "block");
    assert_int_equal(unlink(path), 0);
    spec_backend other = spec_backend_cpu;
    other.taps_init = NULL; /* as a GPU's */
    transformer->own_weights.backend = &other;
    assert_refused("dflash:x.gguf", target.model,
                   "dflash: draft heads need a target on the CPU; open it with device=cpu");
    transformer->own_weights.backend = &spec_backend_cpu;
    opened_free(&target);

    OWNED(opened) zipf = open_model("zipf?V=11", NULL);
    assert_refused("dflash:x.gguf", zipf.model, "dflash needs a transformer as its target");
    assert_refused("dflash:x.gguf", NULL, "dflash is built from a target");
}
