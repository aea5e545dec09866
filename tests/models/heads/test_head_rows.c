/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of draft heads equal their definition, computed from scratch in double precision. They do
 * not depend on what was computed before, on the tree around them, or on whose session it is. */
#include "models/model_open.h"
#include "models/transformer/engine/transformer.h"
#include "tests/models/heads/reference_head.h"
#include "tests/models/open_model.h"
#include "tests/support/drawn_head.h"
#include "tests/support/scored_rows.h"
#include "tests/support/support.h"

#include "base/noise.h"
#include "tests/support/model_of.h"

enum { V = 11, REACH = 4, CONTEXT = 120, NODES = 9 };

static const char target_spec[] =
    "random?dim=16&layers=3&heads=4&kv_heads=2&ffn=24&vocab=11&context=120&type=f32";

enum { NEXTN_TABLES = DRAWN_NEXTN | DRAWN_EMBEDDING | DRAWN_OWN_OUTPUT };

/* A target with a draft head: medusa, .., parallel; then variants that differ in one setting. */
typedef struct {
    const char *name;
    drawn_head_config config;
} head_case;

static const head_case cases[] = {
    {"medusa", {SPEC_HEAD_MEDUSA, REACH, 0, false, 1}},
    {"hydra", {SPEC_HEAD_HYDRA, REACH, 0, false, 2}},
    {"redrafter", {SPEC_HEAD_REDRAFTER, 0, 0, false, 3}},
    {"eagle", {SPEC_HEAD_EAGLE, 0, 0, false, 4}},
    {"eagle3", {SPEC_HEAD_EAGLE3, 0, 0, false, 5}},
    {"mtp", {SPEC_HEAD_MTP, REACH, 0, false, 6}},
    {"parallel", {SPEC_HEAD_PARALLEL, REACH, 0, false, 7}},
    {"medusa of 5 tokens", {SPEC_HEAD_MEDUSA, REACH, 5, false, 8}},
    {"redrafter of 7 tokens", {SPEC_HEAD_REDRAFTER, 0, 7, false, 9}},
    {"eagle3 of 5 tokens with a normed residual", {SPEC_HEAD_EAGLE3, 0, 5, true, 10}},
    {"eagle with normed features", {SPEC_HEAD_EAGLE, 0, 0, true, 12}},
    {"parallel of 5 tokens with a normed residual", {SPEC_HEAD_PARALLEL, REACH, 5, true, 11}},
    {"eagle3 with a norm before fc", {SPEC_HEAD_EAGLE3, 0, 0, DRAWN_FC_NORM, 13}},
    {"eagle3 with an embedding", {SPEC_HEAD_EAGLE3, 0, 7, DRAWN_EMBEDDING, 14}},
    {"eagle3 with the target's output", {SPEC_HEAD_EAGLE3, 0, 0, DRAWN_NO_OUTPUT, 15}},
    {"eagle3 of another width", {SPEC_HEAD_EAGLE3, 0, 5, DRAWN_EMBEDDING | DRAWN_OTHER_DIM, 16}},
    {"a draft block", {SPEC_HEAD_MTP, 1, 0, DRAWN_NEXTN, 18}},
    {"a draft block with tables", {SPEC_HEAD_MTP, 1, 0, NEXTN_TABLES, 19}},
    {"draft blocks", {SPEC_HEAD_MTP, REACH, 0, DRAWN_NEXTN, 20}},
    {"draft blocks with tables", {SPEC_HEAD_MTP, REACH, 0, NEXTN_TABLES, 21}},
    {"eagle3 with everything",
     {SPEC_HEAD_EAGLE3, 0, 7,
      DRAWN_NORMED | DRAWN_FC_NORM | DRAWN_EMBEDDING | DRAWN_OTHER_DIM | DRAWN_DESCENDING, 17}},
};
enum { CASES = sizeof cases / sizeof cases[0] };

typedef struct {
    spec_model *target, *draft;
    spec_head head;
    const spec_checkpoint *checkpoint;
} pair;

static pair open_pair(const char *spec, const drawn_head_config *config, const char *keys)
{
    pair p = {0};
    p.target = model_of(spec, NULL);
    p.checkpoint = spec_transformer_of(p.target)->checkpoint;
    drawn_head(&p.head, config, p.checkpoint);
    p.draft = drawn_head_open(&p.head, keys, p.target);
    return p;
}

static void pair_free(pair *p)
{
    spec_model_close(p->draft);
    spec_model_close(p->target);
    spec_head_free(&p->head);
}

static int token_at(int i)
{
    return (int)(spec_noise_word(42, (uint64_t)i) % V);
}

/* ---- the definition -------------------------------------------------------------------------- */

/* Returns the largest difference of a chain's rows from the reference, after a text of n tokens,
 * including the begin-of-text token. */
static double difference(const pair *p, spec_session *session, int n, int n_path, int shift)
{
    int text[CONTEXT + REACH];
    double rows[REACH * V], expected[V], most = 0.0;
    text[0] = p->checkpoint->begin_of_text;
    for (int i = 1; i < n + n_path; i++) text[i] = token_at(i);
    score_rows(session, text + 1, n - 1, text + n, NULL, n_path, 0, rows);
    for (int d = 0; d <= n_path; d++) {
        reference_head_row(expected, &p->head, p->checkpoint, text, n, d, shift);
        assert_normalised(rows + d * V, V);
        for (int i = 0; i < V; i++) most = fmax(most, fabs(expected[i] - rows[d * V + i]));
    }
    return most;
}

TEST(rows_are_those_of_the_definition)
{
    static const int lengths[] = {1, 2, 3, 4, 9, 67, 90, 1};
    for (int c = 0; c < CASES; c++) {
        OWNED(pair) p = open_pair(target_spec, &cases[c].config, "");
        OWNED(spec_session) session;
        assert_works(spec_session_init(&session, p.draft, &error));
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            const double off = difference(&p, &session, lengths[i], REACH - 1, 0);
            if (!(off < 1e-5))
                fail_msg("%s: rows after %d tokens are off by %g", cases[c].name, lengths[i], off);
        }
    }
}

/* The test above would notice these mistakes: with a tap one layer lower, or a feature from one
 * position earlier, rows differ a thousand times as much as it allows. */
TEST(a_tap_or_a_feature_that_is_off_by_one_is_noticed)
{
    for (int c = 0; c < CASES; c++) {
        OWNED(pair) p = open_pair(target_spec, &cases[c].config, "");
        OWNED(spec_session) session;
        assert_works(spec_session_init(&session, p.draft, &error));
        if (difference(&p, &session, 9, REACH - 1, 1) < 1e-2)
            fail_msg("%s: a feature of the place before is not noticed", cases[c].name);
        for (int i = 0; i < p.head.shape.n_taps; i++) {
            const int tap = p.head.shape.tap[i];
            p.head.shape.tap[i] = tap > 0 ? tap - 1 : 1;
            if (difference(&p, &session, 9, REACH - 1, 0) < 1e-2)
                fail_msg("%s: a moved tap is not noticed", cases[c].name);
            p.head.shape.tap[i] = tap;
        }
    }
}

/* ---- bits ------------------------------------------------------------------------------------ */

static int draw(uint64_t *noise, int n)
{
    return (int)((*noise = spec_noise_mix(*noise + 1)) % (uint64_t)n);
}

/* Makes requests of one session: random trees of at most REACH - 1 levels, level by level or all at
 * once, on a text that grows, is cut, or gets another beginning. Each row equals, bit for bit, that
 * of a fresh session which has the path as a chain. */
static void check_bits(const pair *p, bool share)
{
    spec_session session, target;
    int text[CONTEXT], n = 0;
    uint64_t noise = 7;
    assert_works(spec_session_init(&session, p->draft, &error));
    assert_works(spec_session_init(&target, p->target, &error));
    if (share) assert_true(spec_session_share(&session, &target));
    int token[NODES], parent[NODES], depth[NODES], n_nodes = 0;
    for (int round = 0; round < 40; round++) {
        const bool new_tree = draw(&noise, 2) == 0; /* otherwise the last tree, on another text */
        if (new_tree) n_nodes = draw(&noise, NODES + 1);
        double rows[(NODES + 1) * V], expected[(NODES + 1) * V];
        for (int i = 0; new_tree && i < n_nodes; i++) {
            do parent[i] = draw(&noise, i + 1) - 1;
            while (parent[i] >= 0 && depth[parent[i]] == REACH - 1);
            depth[i] = parent[i] < 0 ? 1 : depth[parent[i]] + 1;
            token[i] = draw(&noise, V);
        }
        const int begins = draw(&noise, 3) > 0 ? 0 : n_nodes;
        for (int first = begins; first <= n_nodes;) { /* rows in random portions, in order */
            const int end = first + draw(&noise, n_nodes - first + 1);
            score_rows(&session, text, n, token, parent, end, first, rows);
            first = end + 1;
        }
        if (draw(&noise, 2)) score_rows(&target, text, n, token, parent, n_nodes, 0, expected);
        for (int i = begins - 1; i < n_nodes; i++) {
            int path[NODES], n_path = i < 0 ? 0 : depth[i];
            for (int at = i, k = n_path; at >= 0; at = parent[at]) path[--k] = token[at];
            OWNED(spec_session) fresh;
            assert_works(spec_session_init(&fresh, p->draft, &error));
            score_rows(&fresh, text, n, path, NULL, n_path, n_path, expected);
            assert_memory_equal(rows + (i + 1) * V, expected + n_path * V, V * sizeof *rows);
        }
        const int what = draw(&noise, 8);
        if (what == 0)
            n = draw(&noise, n + 1);
        else if (what == 1 && n > 0)
            text[0] = draw(&noise, V);
        for (int at = what > 2 ? n_nodes - 1 : -1, d = at < 0 ? 0 : depth[at]; at >= 0;
             at = parent[at], n += at < 0 ? depth[n_nodes - 1] : 0)
            text[n + --d] = token[at];
        if (n < CONTEXT - 20 && what != 1) text[n++] = draw(&noise, V);
        if (n > CONTEXT - 20) n = 5;
    }
    spec_session_free(&session);
    spec_session_free(&target);
}

TEST(rows_after_trees_and_roll_backs_are_those_of_a_fresh_session, SLOW)
{
    for (int c = 0; c < CASES; c++) {
        OWNED(pair) p = open_pair(target_spec, &cases[c].config, "");
        check_bits(&p, false);
        check_bits(&p, true);
        /* texts that begin with any token */
        ((spec_transformer *)p.target)->own_checkpoint.adds_begin = false;
        check_bits(&p, true);
    }
}

TEST(a_target_has_the_same_rows_while_heads_read_it)
{
    OWNED(pair) p = open_pair(target_spec, &cases[3].config, "");
    OWNED(spec_head) other_head; /* which reads more layers */
    drawn_head(&other_head, &cases[4].config, p.checkpoint);
    OWNED_MODEL *other = drawn_head_open(&other_head, "", p.target);
    spec_session plain, tapped, draft[2], alone[2];
    int text[CONTEXT];
    double expected[(NODES + 1) * V], rows[(NODES + 1) * V];
    assert_works(spec_session_init(&plain, p.target, &error));
    assert_works(spec_session_init(&tapped, p.target, &error));
    for (int d = 0; d < 2; d++) {
        assert_works(spec_session_init(&draft[d], d ? other : p.draft, &error));
        assert_works(spec_session_init(&alone[d], d ? other : p.draft, &error));
    }
    for (int i = 0; i < CONTEXT; i++) text[i] = token_at(i);
    for (int n = 5; n < 80; n += 3) {
        if (n == 5 || n == 26) assert_true(spec_session_share(&draft[n > 5], &tapped));
        for (int d = 0; d <= (n >= 26); d++) {
            score_rows(&draft[d], text, n, NULL, NULL, 0, 0, rows);
            score_rows(&alone[d], text, n, NULL, NULL, 0, 0, expected);
            assert_memory_equal(expected, rows, V * sizeof *rows);
        }
        score_rows(&plain, text, n, text + n, NULL, 4, 0, expected);
        score_rows(&tapped, text, n, text + n, NULL, 4, 0, rows);
        assert_memory_equal(expected, rows, 5 * V * sizeof *rows);
    }
    assert_false(spec_session_share(&draft[0], &plain)); /* it shares already */
    spec_session_free(&plain);
    spec_session_free(&tapped);
    for (int d = 0; d < 2; d++) {
        spec_session_free(&draft[d]);
        spec_session_free(&alone[d]);
    }
}

TEST(a_row_at_temperature_0_has_all_its_mass_on_one_token)
{
    for (int c = 0; c < CASES; c++) {
        OWNED(pair) p = open_pair(target_spec, &cases[c].config, "temperature=0");
        OWNED(spec_session) session;
        double rows[V], expected[V];
        int text[8] = {p.checkpoint->begin_of_text};
        assert_true(p.draft->one_hot);
        assert_works(spec_session_init(&session, p.draft, &error));
        for (int i = 1; i < 8; i++) text[i] = token_at(i);
        score_rows(&session, text + 1, 7, NULL, NULL, 0, 0, rows);
        reference_head_row(expected, &p.head, p.checkpoint, text, 8, 0, 0);
        for (int i = 0; i < V; i++)
            assert_true(rows[i] == (i == spec_row_argmax(expected, V) ? 1.0 : 0.0));
    }
}

/* ---- refusals -------------------------------------------------------------------------------- */

TEST(what_cannot_be_drafted_is_refused)
{
    pair p = open_pair(target_spec, &cases[0].config, "");
    spec_session session;
    int text[CONTEXT] = {0};
    double rows[(REACH + 2) * V];
    const double *row[REACH + 2];
    assert_int_equal(p.draft->reach, REACH);
    assert_true(p.draft->one_pass);
    assert_int_equal(p.draft->window, p.target->window);
    assert_works(spec_session_init(&session, p.draft, &error));
    spec_score_request request = {
        .context = text, .n_context = 3, .token = text, .ret_row = row, .scratch = rows};
    request.n_nodes = REACH;
    assert_fails_with(spec_session_score(&session, &request, &error), GSL_EINVAL,
                      "rows for 4 tokens, so none for number 5");
    request.n_nodes = 2;
    request.n_context = (size_t)p.draft->window - 1;
    assert_fails_with(spec_session_score(&session, &request, &error), GSL_EINVAL,
                      "is too long: the model's context is 119");
    request.n_context = (size_t)p.draft->window + 1;
    assert_status(spec_session_score(&session, &request, &error), GSL_EINVAL);
    spec_session_free(&session);
    pair_free(&p);

    opened target = open_model(target_spec, NULL);
    spec_transformer *transformer = (spec_transformer *)target.model;
    spec_backend other = spec_backend_cpu;
    other.taps_init = NULL; /* as a GPU's */
    transformer->own_weights.backend = &other;
    assert_refused("eagle3:x.gguf", target.model,
                   "eagle3: draft heads need a target on the CPU; open it with device=cpu");
    transformer->own_weights.backend = &spec_backend_cpu;
    opened_free(&target);

    OWNED(opened) zipf = open_model("zipf?V=11", NULL);
    assert_refused("medusa:x.gguf", zipf.model, "medusa needs a transformer as its target");
    assert_refused("eagle:x.gguf", NULL, "eagle is built from a target");
}
