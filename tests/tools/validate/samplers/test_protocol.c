/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the protocol's hellos and questions; test_protocol_answers checks its answers. */
#include "tests/support/support.h"
#include "tests/tools/validate/protocol_rounds.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define EMPTY ((spec_bytes){.at = NULL})

/* ---- hello ----------------------------------------------------------------------------------- */

static int hello(spec_hello *ret, const char *line, spec_error *error)
{
    return spec_protocol_hello(ret, line, strlen(line), error);
}

TEST(a_hello_declares_the_sampler)
{
    spec_hello h;
    assert_works(
        hello(&h,
              "{\"speclab\":1,\"name\":\"m\\u00fcll\\t\",\"scopes\":[\"V\",\"S\"],\"chains\":["
              "\"iid\"],"
              "\"trees\":[\"without\",\"fixed\"],\"rows\":\"logits\",\"sampling\":true,"
              "\"filters\":\"temperature,min_p,top_k,top_p\",\"padding\":true,"
              "\"seeded\":true,\"coins\":true,\"counters\":true,\"lossy\":true,\"max_batch\":3,"
              "\"max_nodes\":5,\"max_vocab\":2147483647,\"frames\":\"binary\",\"new\":[]}",
              &error));
    assert_string_equal(h.about.name, "m??ll?");
    assert_int_equal(h.about.scopes, SPEC_SCOPE_VERIFY | SPEC_SCOPE_STREAM);
    assert_int_equal(h.about.chains, SPEC_DRAWN_IID);
    assert_int_equal(h.about.trees, SPEC_DRAWN_WITHOUT | SPEC_DRAWN_FIXED);
    assert_int_equal(h.about.rows, SPEC_ROWS_LOGITS);
    assert_true(h.about.sampling && h.about.padding && h.about.seeded && h.about.coins &&
                h.about.lossy && h.counters);
    assert_string_equal(h.about.filters, "temperature,min_p,top_k,top_p");
    assert_int_equal(h.about.max_batch, 3);
    assert_int_equal(h.about.max_nodes, 5);
    assert_int_equal(h.about.max_vocab, INT32_MAX);
    assert_ptr_equal(h.protocol, &spec_protocol_binary);
    assert_works(spec_subject_check_about(&h.about, &error));
}

TEST(the_least_hello_has_the_documented_defaults)
{
    spec_hello h;
    assert_int_equal(hello(&h, "{\"speclab\":1,\"scopes\":[\"DV\"]}", NULL), GSL_SUCCESS);
    assert_string_equal(h.about.name, "a process");
    assert_int_equal(h.about.scopes, SPEC_SCOPE_DRAFT);
    assert_int_equal(h.about.chains, 0);
    assert_int_equal(h.about.trees, 0);
    assert_int_equal(h.about.rows, SPEC_ROWS_PROBABILITIES);
    assert_false(h.about.sampling || h.about.padding || h.about.seeded || h.about.coins ||
                 h.about.lossy || h.counters);
    assert_string_equal(h.about.filters, "");
    assert_int_equal(h.about.max_vocab, 1024);
    assert_ptr_equal(h.protocol, &spec_protocol_json);
    assert_int_equal(hello(&h, "{\"speclab\":1,\"scopes\":[\"V\"],\"max_vocab\":0}", NULL),
                     GSL_SUCCESS);
    assert_int_equal(h.about.max_vocab, 0);
    assert_int_equal(hello(&h, "{\"speclab\":1,\"scopes\":[\"V\"],\"frames\":\"binary\"}", NULL),
                     GSL_SUCCESS);
    assert_int_equal(h.about.max_vocab, 0);
}

TEST(a_wrong_hello_is_refused_by_the_name_of_its_key)
{
    static const char *const wrong[][2] = {
        {"", "is not a hello, but ''"},
        {"[1]", "is not a hello, but '[1]'"},
        {"{\"speclab\":1,\"scopes\":[\"V\"]} x", "is not a hello"},
        {"{\"speclab\":1,\"speclab\":1,\"scopes\":[\"V\"]}", "is not a hello"},
        {"{}", "'speclab' must be the protocol's version, 1"},
        {"{\"speclab\":\"1\",\"scopes\":[\"V\"]}", "'speclab'"},
        {"{\"speclab\":2,\"scopes\":[\"V\"]}",
         "it speaks version 2 of the protocol, but this speclab speaks version 1"},
        {"{\"speclab\":1}", "'scopes'"},
        {"{\"speclab\":1,\"scopes\":[]}", "'scopes'"},
        {"{\"speclab\":1,\"scopes\":\"V\"}", "'scopes'"},
        {"{\"speclab\":1,\"scopes\":[\"W\"]}", "'scopes'"},
        {"{\"speclab\":1,\"scopes\":[1]}", "'scopes'"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"name\":7}", "'name' must be a string"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"name\":\"\"}", "'name' must be a string"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"chains\":[\"without\"]}", "'chains'"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"chains\":[]}", "'chains'"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"trees\":{}}", "'trees'"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"rows\":\"log\"}", "'rows'"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"frames\":null}", "'frames'"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"filters\":[\"top_k\"]}",
         "'filters' must be an order"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"filters\":\"temperature,top_k,top_p,min_p,"
         "temperature,top_k,top_p,min_p,top_k\"}",
         "'filters' must be an order"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"padding\":1}", "'padding' must be true or false"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"counters\":\"yes\"}", "'counters'"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"max_batch\":-1}", "'max_batch'"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"max_nodes\":2.5}", "'max_nodes'"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"max_vocab\":2147483648}", "'max_vocab'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spec_hello h;
        spec_error error = {{0}};
        assert_int_equal(hello(&h, wrong[i][0], &error), GSL_EFAILED);
        assert_null(h.protocol);
        if (strstr(error.text, wrong[i][1]) == NULL) fail_msg("%s: %s", wrong[i][0], error.text);
    }
}

/* ---- questions ------------------------------------------------------------------------------- */

static void expect_bytes(const spec_bytes *out, const void *expected, size_t n)
{
    assert_int_equal(out->n, n);
    assert_memory_equal(out->at, expected, n);
}

/* The bytes that docs/conformance.md specifies, number by number. */
TEST(a_frame_has_the_documented_bytes)
{
    rounds r;
    spec_bytes out = EMPTY;
    const spec_question q = question_in(SPEC_SCOPE_VERIFY);
    static const uint32_t expected[] = {
        0x43455053, 2, 8 + 2 * (24 + 4 + 12 + 8 + 8), SERIAL, 2, 2, /* "SPEC", header, n, n_coins */
        4, 0, 5, 0, 0x76543210, 0xfedcba98, 6, 0, 1, 0, 2, 0,       /* request, seed, offset */
        2, 1, 0, 1, 2, 0, 2, 8, 3, 1, 2, 8,                         /* n_nodes, state, token */
        0x3e800000, 0x3f000000, 0x3e000000, 0x3f400000};            /* coin */
    fill(&r);
    r.batch.coin = r.coin;
    r.batch.n_coins = 2;
    spec_protocol_binary.put_steps(&out, &q, &r.batch);
    expect_bytes(&out, expected, sizeof expected);
    out.n = 0;
    const spec_question text =
        spec_protocol_question(SPEC_FRAME_GENERATE, 8, SPEC_SCOPE_STREAM, 0, 50, 0);
    static const uint32_t generate[] = {0x43455053, 3, 24, 8, 6, 4, 50, 0, 0x76543210, 0xfedcba98};
    spec_protocol_binary.put_generate(&out, &text, 6, 4, r.seed[1]);
    expect_bytes(&out, generate, sizeof generate);
    out.n = 0;
    const spec_question counters = spec_protocol_question(SPEC_FRAME_COUNTERS, 9, 0, 0, 3, 0);
    static const uint32_t asked[] = {0x43455053, 4, 0, 9};
    spec_protocol_binary.put_counters(&out, &counters);
    expect_bytes(&out, asked, sizeof asked);
    free(out.at);
}

/* A frame in scope DV has no tokens, and without coins it has no coins. */
TEST(a_frame_of_scope_DV_has_no_tokens)
{
    rounds r;
    spec_bytes out = EMPTY;
    const spec_question q = question_in(SPEC_SCOPE_DRAFT);
    static const uint32_t expected[] = {0x43455053, 2,          8 + 2 * (24 + 4 + 12),
                                        SERIAL,     2,          0,
                                        4,          0,          5,
                                        0,          0x76543210, 0xfedcba98,
                                        6,          0,          1,
                                        0,          2,          0,
                                        2,          1,          0,
                                        1,          2,          0,
                                        2,          8};
    fill(&r);
    spec_protocol_binary.put_steps(&out, &q, &r.batch);
    expect_bytes(&out, expected, sizeof expected);
    free(out.at);
}

TEST(lines_and_frames_agree)
{
    rounds r;
    spec_bytes out = EMPTY;
    spec_question q = question_in(SPEC_SCOPE_VERIFY);
    static const char expected[] = "{\"type\":\"steps\",\"serial\":7,\"n_nodes\":[2,1],\"state\":[["
                                   "0,1,2],[0,2]],\"token\":[[3,1],[2]],"
                                   "\"request\":[4,5],\"seed\":[8086463330923024,6],\"offset\":[1,"
                                   "2],\"coin\":[[0.25,0.5],[0.125,0.75]]}\n";
    fill(&r);
    r.batch.coin = r.coin;
    r.batch.n_coins = 2;
    spec_protocol_json.put_steps(&out, &q, &r.batch);
    expect_bytes(&out, expected, sizeof expected - 1);
    out.n = 0;
    q.scope = SPEC_SCOPE_DRAFT;
    r.batch.coin = NULL;
    spec_protocol_json.put_steps(&out, &q, &r.batch);
    spec_bytes_put(&out, "", 1);
    assert_null(strstr(out.at, "token"));
    assert_null(strstr(out.at, "coin"));
    free(out.at);
}

/* The lines that docs/conformance.md specifies, for a fixture made for them. */
TEST(lines_are_as_documented)
{
    float target[] = {0.5f, 0.25f, 0.25f, 1.0f, 0.0f, 0.0f},
          draft[] = {0.25f, 0.25f, 0.5f, 0.0f, 1.0f, 0.0f};
    int32_t next[] = {1, 1, 1, 0, 0, 0};
    const spec_fixture f = {.vocab = 3,
                            .n_states = 2,
                            .n_nodes = 1,
                            .parent = {-1},
                            .drawn = SPEC_DRAWN_IID,
                            .levels = 1,
                            .sampling = {SPEC_SAMPLING_NONE},
                            .n_samplings = 1,
                            .target = target,
                            .draft = draft,
                            .next = next};
    static const char head[] =
        "\"drawn\":\"iid\",\"vocab\":3,\"n_states\":2,\"n_nodes\":1,\"parent\":[-1],"
        "\"temperature\":1,\"top_k\":0,\"top_p\":1,\"min_p\":0,"
        "\"target\":[[0.5,0.25,0.25],[1,0,0]],\"draft\":[[0.25,0.25,0.5],[0,1,0]]";
    static const char rest[] =
        "{\"type\":\"generate\",\"serial\":1,\"start\":0,\"K\":1,\"n_tokens\":4,\"seed\":79}\n"
        "{\"type\":\"counters\",\"serial\":2}\n";
    static const char *const scopes[] = {"V", "DV", "S"};
    const spec_question text =
        spec_protocol_question(SPEC_FRAME_GENERATE, 1, SPEC_SCOPE_STREAM, 0, 4, 0);
    const spec_question counters = spec_protocol_question(SPEC_FRAME_COUNTERS, 2, 0, 0, 3, 0);
    spec_bytes out = EMPTY;
    char expected[512];
    for (int i = 0; i < 3; i++) {
        const int n =
            snprintf(expected, sizeof expected, "{\"type\":\"begin\",\"scope\":\"%s\",%s%s}\n",
                     scopes[i], head, i == 2 ? ",\"next\":[[1,1,1],[0,0,0]]" : "");
        out.n = 0;
        assert_int_equal(
            spec_protocol_json.put_begin(&out, &f, 1u << i, SPEC_ROWS_PROBABILITIES, NULL),
            GSL_SUCCESS);
        expect_bytes(&out, expected, (size_t)n);
    }
    out.n = 0;
    spec_protocol_json.put_generate(&out, &text, 0, 1, 79);
    spec_protocol_json.put_counters(&out, &counters);
    expect_bytes(&out, rest, sizeof rest - 1);
    out.n = 0;
    assert_int_equal(
        spec_protocol_json.put_begin(&out, &f, SPEC_SCOPE_VERIFY, SPEC_ROWS_LOGITS, NULL),
        GSL_SUCCESS);
    spec_bytes_put(&out, "", 1);
    assert_non_null(strstr(out.at, "[0,-1e30,-1e30]]"));
    free(out.at);
}

/* Sends a fixture's rows in a frame, in a line and directly, also as logits. */
TEST(both_encodings_carry_the_same_fixture)
{
    const spec_fixture_kind *kind;
    CLOSED(spec_fixture) f;
    spec_error error = {{0}};
    assert_works(spec_fixture_find(&kind, "text-5-3", &error));
    assert_works(spec_fixture_open(&f, kind, &error));
    const size_t V = (size_t)f.vocab, cells = (size_t)f.n_states * V, nodes = (size_t)f.n_nodes;
    for (uint32_t rows = SPEC_ROWS_PROBABILITIES; rows <= SPEC_ROWS_LOGITS; rows++) {
        spec_bytes frame = EMPTY, line = EMPTY;
        assert_int_equal(
            spec_protocol_binary.put_begin(&frame, &f, SPEC_SCOPE_STREAM, rows, &error),
            GSL_SUCCESS);
        assert_int_equal(spec_protocol_json.put_begin(&line, &f, SPEC_SCOPE_STREAM, rows, &error),
                         GSL_SUCCESS);
        json_t *json = json_loadb(line.at, line.n, 0, NULL);
        assert_non_null(json);
        assert_int_equal(frame.n, 16 + 48 + 4 * (nodes + 3 * cells));
        const float *target = (const float *)(const void *)(frame.at + 64 + 4 * nodes),
                    *draft = target + cells;
        const int32_t *next = (const int32_t *)(const void *)(draft + cells);
        for (size_t s = 0; s < (size_t)f.n_states; s++)
            for (size_t x = 0; x < V; x++) {
                const size_t i = s * V + x;
                const json_t *number =
                    json_array_get(json_array_get(json_object_get(json, "target"), s), x);
                const float given = rows == SPEC_ROWS_LOGITS ? logf(f.target[i]) : f.target[i];
                assert_true(target[i] == given);
                assert_true((float)json_number_value(number) ==
                            (f.target[i] > 0.0f ? given : -1e30f));
                assert_true(draft[i] == (rows == SPEC_ROWS_LOGITS ? logf(f.draft[i]) : f.draft[i]));
                assert_int_equal(next[i], spec_fixture_next(&f, (int)s, (int)x));
                number = json_array_get(json_array_get(json_object_get(json, "next"), s), x);
                assert_int_equal(json_integer_value(number), next[i]);
            }
        json_decref(json);
        free(frame.at);
        free(line.at);
    }
}

TEST(a_tree_brings_its_parents)
{
    const spec_fixture_kind *kind;
    CLOSED(spec_fixture) f;
    spec_bytes frame = EMPTY, line = EMPTY;
    assert_int_equal(spec_fixture_find(&kind, "binary-without-4", NULL), GSL_SUCCESS);
    assert_int_equal(spec_fixture_open(&f, kind, NULL), GSL_SUCCESS);
    assert_int_equal(spec_protocol_binary.put_begin(&frame, &f, SPEC_SCOPE_VERIFY, 1, NULL),
                     GSL_SUCCESS);
    assert_int_equal(((const int32_t *)(const void *)frame.at)[3], 0);
    assert_int_equal(((const int32_t *)(const void *)frame.at)[5], SPEC_DRAWN_WITHOUT);
    assert_int_equal(spec_protocol_json.put_begin(&line, &f, SPEC_SCOPE_VERIFY, 1, NULL),
                     GSL_SUCCESS);
    json_t *json = json_loadb(line.at, line.n, 0, NULL);
    const json_t *parent = json_object_get(json, "parent");
    assert_int_equal(json_array_size(parent), f.n_nodes);
    for (int i = 0; i < f.n_nodes; i++) {
        assert_int_equal(((const int32_t *)(const void *)(frame.at + 64))[i], f.parent[i]);
        assert_int_equal(json_integer_value(json_array_get(parent, (size_t)i)), f.parent[i]);
    }
    assert_string_equal(json_string_value(json_object_get(json, "drawn")), "without");
    json_decref(json);
    free(frame.at);
    free(line.at);
}

TEST(fixed_drafts_bring_no_draft_rows)
{
    const spec_fixture_kind *kind;
    CLOSED(spec_fixture) f;
    spec_bytes frame = EMPTY, line = EMPTY;
    assert_int_equal(spec_fixture_find(&kind, "fixed-4", NULL), GSL_SUCCESS);
    assert_int_equal(spec_fixture_open(&f, kind, NULL), GSL_SUCCESS);
    assert_int_equal(spec_protocol_binary.put_begin(&frame, &f, SPEC_SCOPE_VERIFY, 1, NULL),
                     GSL_SUCCESS);
    assert_int_equal(frame.n,
                     16 + 48 + 4 * ((size_t)f.n_nodes + (size_t)f.n_states * (size_t)f.vocab));
    assert_int_equal(((const int32_t *)(const void *)frame.at)[5], SPEC_DRAWN_FIXED);
    assert_int_equal(spec_protocol_json.put_begin(&line, &f, SPEC_SCOPE_VERIFY, 1, NULL),
                     GSL_SUCCESS);
    spec_bytes_put(&line, "", 1);
    assert_non_null(strstr(line.at, "\"drawn\":\"fixed\""));
    assert_null(strstr(line.at, "\"draft\""));
    free(frame.at);
    free(line.at);
}
