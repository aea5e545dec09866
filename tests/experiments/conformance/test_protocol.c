#include "experiments/conformance/protocol.h"
#include "tests/support/support.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

/* Two rounds of a chain of two nodes, in a batch of three; the first is not asked about. */
enum { CAPACITY = 3, NODES = 2, PLACES = NODES + 1, FROM = 1, ROUNDS = 2, SERIAL = 7 };

#define EMPTY ((spec_bytes){.at = NULL})

typedef struct {
    int32_t n_nodes[CAPACITY], token[CAPACITY * NODES], state[CAPACITY * PLACES];
    uint64_t request[CAPACITY], seed[CAPACITY], offset[CAPACITY];
    float coin[CAPACITY * 2];
    int32_t emitted[CAPACITY * PLACES], n_emitted[CAPACITY], n_accepted[CAPACITY];
    uint32_t fault[CAPACITY];
    spec_batch batch;
} rounds;

static void fill(rounds *r)
{
    *r = (rounds){.n_nodes = {2, 2, 1},
                  .token = {9, 9, 3, 1, 2, 8},
                  .state = {9, 9, 9, 0, 1, 2, 0, 2, 8},
                  .request = {9, 4, 5},
                  .seed = {9, UINT64_C(0xfedcba9876543210), 6},
                  .offset = {9, 1, 2},
                  .coin = {9, 9, 0.25f, 0.5f, 0.125f, 0.75f}};
    r->batch = (spec_batch){.capacity = CAPACITY, .nodes = NODES, .n_nodes = r->n_nodes, .token = r->token,
                            .state = r->state, .request = r->request, .seed = r->seed, .offset = r->offset,
                            .emitted = r->emitted, .n_emitted = r->n_emitted, .n_accepted = r->n_accepted,
                            .fault = r->fault};
}

static spec_question question_in(uint32_t scope)
{
    return spec_protocol_question(SPEC_FRAME_STEPS, SERIAL, scope, FROM, ROUNDS, NODES);
}

/* ---- hello ------------------------------------------------------------------------------------------------------- */

static int hello(spec_hello *ret, const char *line, spec_error *error)
{
    return spec_protocol_hello(ret, line, strlen(line), error);
}

static void a_hello_says_what_the_sampler_does(void **state)
{
    (void)state;
    spec_hello h;
    spec_error error = {{0}};
    assert_int_equal(hello(&h,
                           "{\"speclab\":1,\"name\":\"m\\u00fcll\\t\",\"scopes\":[\"V\",\"S\"],\"chains\":[\"iid\"],"
                           "\"trees\":[\"without\",\"fixed\"],\"rows\":\"logits\",\"sampling\":true,\"padding\":true,"
                           "\"seeded\":true,\"coins\":true,\"counters\":true,\"lossy\":true,\"max_batch\":3,"
                           "\"max_nodes\":5,\"max_vocab\":2147483647,\"frames\":\"binary\",\"new\":[]}",
                           &error), GSL_SUCCESS);
    assert_string_equal(h.about.name, "m??ll?");
    assert_int_equal(h.about.scopes, SPEC_SCOPE_VERIFY | SPEC_SCOPE_STREAM);
    assert_int_equal(h.about.chains, SPEC_DRAWN_IID);
    assert_int_equal(h.about.trees, SPEC_DRAWN_WITHOUT | SPEC_DRAWN_FIXED);
    assert_int_equal(h.about.rows, SPEC_ROWS_LOGITS);
    assert_true(h.about.sampling && h.about.padding && h.about.seeded && h.about.coins && h.about.lossy && h.counters);
    assert_int_equal(h.about.max_batch, 3);
    assert_int_equal(h.about.max_nodes, 5);
    assert_int_equal(h.about.max_vocab, INT32_MAX);
    assert_ptr_equal(h.protocol, &spec_protocol_binary);
    assert_int_equal(spec_subject_check_about(&h.about, &error), GSL_SUCCESS);
}

static void the_least_hello_has_the_documented_defaults(void **state)
{
    (void)state;
    spec_hello h;
    assert_int_equal(hello(&h, "{\"speclab\":1,\"scopes\":[\"DV\"]}", NULL), GSL_SUCCESS);
    assert_string_equal(h.about.name, "a process");
    assert_int_equal(h.about.scopes, SPEC_SCOPE_DRAFT);
    assert_int_equal(h.about.chains, 0);
    assert_int_equal(h.about.trees, 0);
    assert_int_equal(h.about.rows, SPEC_ROWS_PROBABILITIES);
    assert_false(h.about.sampling || h.about.padding || h.about.seeded || h.about.coins || h.about.lossy || h.counters);
    assert_int_equal(h.about.max_vocab, 1024);
    assert_ptr_equal(h.protocol, &spec_protocol_json);
    assert_int_equal(hello(&h, "{\"speclab\":1,\"scopes\":[\"V\"],\"max_vocab\":0}", NULL), GSL_SUCCESS);
    assert_int_equal(h.about.max_vocab, 0);
    assert_int_equal(hello(&h, "{\"speclab\":1,\"scopes\":[\"V\"],\"frames\":\"binary\"}", NULL), GSL_SUCCESS);
    assert_int_equal(h.about.max_vocab, 0);
}

static void a_wrong_hello_is_refused_by_the_name_of_its_key(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"", "is no hello, but ''"},
        {"[1]", "is no hello, but '[1]'"},
        {"{\"speclab\":1,\"scopes\":[\"V\"]} x", "is no hello"},
        {"{\"speclab\":1,\"speclab\":1,\"scopes\":[\"V\"]}", "is no hello"},
        {"{}", "'speclab' is to be the protocol's version, 1"},
        {"{\"speclab\":\"1\",\"scopes\":[\"V\"]}", "'speclab'"},
        {"{\"speclab\":2,\"scopes\":[\"V\"]}", "it speaks version 2 of the protocol, and this is version 1"},
        {"{\"speclab\":1}", "'scopes'"},
        {"{\"speclab\":1,\"scopes\":[]}", "'scopes'"},
        {"{\"speclab\":1,\"scopes\":\"V\"}", "'scopes'"},
        {"{\"speclab\":1,\"scopes\":[\"W\"]}", "'scopes'"},
        {"{\"speclab\":1,\"scopes\":[1]}", "'scopes'"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"name\":7}", "'name' is to be a text"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"name\":\"\"}", "'name' is to be a text"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"chains\":[\"without\"]}", "'chains'"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"chains\":[]}", "'chains'"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"trees\":{}}", "'trees'"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"rows\":\"log\"}", "'rows'"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"frames\":null}", "'frames'"},
        {"{\"speclab\":1,\"scopes\":[\"V\"],\"padding\":1}", "'padding' is to be true or false"},
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

/* ---- questions --------------------------------------------------------------------------------------------------- */

static void expect_bytes(const spec_bytes *out, const void *expected, size_t n)
{
    assert_int_equal(out->n, n);
    assert_memory_equal(out->at, expected, n);
}

/* The bytes of docs/conformance.md, written down number by number. */
static void a_frame_has_the_documented_bytes(void **state)
{
    (void)state;
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
    const spec_question text = spec_protocol_question(SPEC_FRAME_GENERATE, 8, SPEC_SCOPE_STREAM, 0, 50, 0);
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

/* What is left out in scope DV, and where there are no coins. */
static void a_frame_of_scope_DV_has_no_tokens(void **state)
{
    (void)state;
    rounds r;
    spec_bytes out = EMPTY;
    const spec_question q = question_in(SPEC_SCOPE_DRAFT);
    static const uint32_t expected[] = {0x43455053, 2, 8 + 2 * (24 + 4 + 12), SERIAL, 2, 0,
                                        4, 0, 5, 0, 0x76543210, 0xfedcba98, 6, 0, 1, 0, 2, 0, 2, 1, 0, 1, 2, 0, 2, 8};
    fill(&r);
    spec_protocol_binary.put_steps(&out, &q, &r.batch);
    expect_bytes(&out, expected, sizeof expected);
    free(out.at);
}

static void a_line_says_the_same(void **state)
{
    (void)state;
    rounds r;
    spec_bytes out = EMPTY;
    spec_question q = question_in(SPEC_SCOPE_VERIFY);
    static const char expected[] =
        "{\"type\":\"steps\",\"serial\":7,\"n_nodes\":[2,1],\"state\":[[0,1,2],[0,2]],\"token\":[[3,1],[2]],"
        "\"request\":[4,5],\"seed\":[8086463330923024,6],\"offset\":[1,2],\"coin\":[[0.25,0.5],[0.125,0.75]]}\n";
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

/* The lines of docs/conformance.md, by a fixture that is made for them. */
static void lines_are_as_documented(void **state)
{
    (void)state;
    float target[] = {0.5f, 0.25f, 0.25f, 1.0f, 0.0f, 0.0f}, draft[] = {0.25f, 0.25f, 0.5f, 0.0f, 1.0f, 0.0f};
    int32_t next[] = {1, 1, 1, 0, 0, 0};
    const spec_fixture f = {.vocab = 3, .n_states = 2, .n_nodes = 1, .parent = {-1}, .drawn = SPEC_DRAWN_IID,
                            .sampling = SPEC_SAMPLING_NONE, .target = target, .draft = draft, .next = next};
    static const char head[] = "\"drawn\":\"iid\",\"vocab\":3,\"n_states\":2,\"n_nodes\":1,\"parent\":[-1],"
                               "\"temperature\":1,\"top_k\":0,\"top_p\":1,\"min_p\":0,"
                               "\"target\":[[0.5,0.25,0.25],[1,0,0]],\"draft\":[[0.25,0.25,0.5],[0,1,0]]";
    static const char rest[] = "{\"type\":\"generate\",\"serial\":1,\"start\":0,\"K\":1,\"n_tokens\":4,\"seed\":79}\n"
                               "{\"type\":\"counters\",\"serial\":2}\n";
    static const char *const scopes[] = {"V", "DV", "S"};
    const spec_question text = spec_protocol_question(SPEC_FRAME_GENERATE, 1, SPEC_SCOPE_STREAM, 0, 4, 0);
    const spec_question counters = spec_protocol_question(SPEC_FRAME_COUNTERS, 2, 0, 0, 3, 0);
    spec_bytes out = EMPTY;
    char expected[512];
    for (int i = 0; i < 3; i++) {
        const int n = snprintf(expected, sizeof expected, "{\"type\":\"begin\",\"scope\":\"%s\",%s%s}\n", scopes[i],
                               head, i == 2 ? ",\"next\":[[1,1,1],[0,0,0]]" : "");
        out.n = 0;
        assert_int_equal(spec_protocol_json.put_begin(&out, &f, 1u << i, SPEC_ROWS_PROBABILITIES, NULL), GSL_SUCCESS);
        expect_bytes(&out, expected, (size_t)n);
    }
    out.n = 0;
    spec_protocol_json.put_generate(&out, &text, 0, 1, 79);
    spec_protocol_json.put_counters(&out, &counters);
    expect_bytes(&out, rest, sizeof rest - 1);
    out.n = 0;
    assert_int_equal(spec_protocol_json.put_begin(&out, &f, SPEC_SCOPE_VERIFY, SPEC_ROWS_LOGITS, NULL), GSL_SUCCESS);
    spec_bytes_put(&out, "", 1);
    assert_non_null(strstr(out.at, "[0,-1e30,-1e30]]"));
    free(out.at);
}

/* A fixture's rows by the frame, by the line, and as they are; logarithms where they are wanted. */
static void both_encodings_bring_a_fixture_alike(void **state)
{
    (void)state;
    const spec_fixture_kind *kind;
    spec_fixture f;
    spec_error error = {{0}};
    assert_int_equal(spec_fixture_find(&kind, "text-5-3", &error), GSL_SUCCESS);
    assert_int_equal(spec_fixture_open(&f, kind, &error), GSL_SUCCESS);
    const size_t V = (size_t)f.vocab, cells = (size_t)f.n_states * V, nodes = (size_t)f.n_nodes;
    for (uint32_t rows = SPEC_ROWS_PROBABILITIES; rows <= SPEC_ROWS_LOGITS; rows++) {
        spec_bytes frame = EMPTY, line = EMPTY;
        assert_int_equal(spec_protocol_binary.put_begin(&frame, &f, SPEC_SCOPE_STREAM, rows, &error), GSL_SUCCESS);
        assert_int_equal(spec_protocol_json.put_begin(&line, &f, SPEC_SCOPE_STREAM, rows, &error), GSL_SUCCESS);
        json_t *json = json_loadb(line.at, line.n, 0, NULL);
        assert_non_null(json);
        assert_int_equal(frame.n, 16 + 48 + 4 * (nodes + 3 * cells));
        const float *target = (const float *)(const void *)(frame.at + 64 + 4 * nodes), *draft = target + cells;
        const int32_t *next = (const int32_t *)(const void *)(draft + cells);
        for (size_t s = 0; s < (size_t)f.n_states; s++)
            for (size_t x = 0; x < V; x++) {
                const size_t i = s * V + x;
                const json_t *number = json_array_get(json_array_get(json_object_get(json, "target"), s), x);
                const float given = rows == SPEC_ROWS_LOGITS ? logf(f.target[i]) : f.target[i];
                assert_true(target[i] == given);
                assert_true((float)json_number_value(number) == (f.target[i] > 0.0f ? given : -1e30f));
                assert_true(draft[i] == (rows == SPEC_ROWS_LOGITS ? logf(f.draft[i]) : f.draft[i]));
                assert_int_equal(next[i], spec_fixture_next(&f, (int)s, (int)x));
                number = json_array_get(json_array_get(json_object_get(json, "next"), s), x);
                assert_int_equal(json_integer_value(number), next[i]);
            }
        json_decref(json);
        free(frame.at);
        free(line.at);
    }
    spec_fixture_close(&f);
}

static void a_tree_brings_its_parents(void **state)
{
    (void)state;
    const spec_fixture_kind *kind;
    spec_fixture f;
    spec_bytes frame = EMPTY, line = EMPTY;
    assert_int_equal(spec_fixture_find(&kind, "binary-without-4", NULL), GSL_SUCCESS);
    assert_int_equal(spec_fixture_open(&f, kind, NULL), GSL_SUCCESS);
    assert_int_equal(spec_protocol_binary.put_begin(&frame, &f, SPEC_SCOPE_VERIFY, 1, NULL), GSL_SUCCESS);
    assert_int_equal(((const int32_t *)(const void *)frame.at)[3], 0);
    assert_int_equal(((const int32_t *)(const void *)frame.at)[5], SPEC_DRAWN_WITHOUT);
    assert_int_equal(spec_protocol_json.put_begin(&line, &f, SPEC_SCOPE_VERIFY, 1, NULL), GSL_SUCCESS);
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
    spec_fixture_close(&f);
}

static void fixed_drafts_bring_no_draft_rows(void **state)
{
    (void)state;
    const spec_fixture_kind *kind;
    spec_fixture f;
    spec_bytes frame = EMPTY, line = EMPTY;
    assert_int_equal(spec_fixture_find(&kind, "fixed-4", NULL), GSL_SUCCESS);
    assert_int_equal(spec_fixture_open(&f, kind, NULL), GSL_SUCCESS);
    assert_int_equal(spec_protocol_binary.put_begin(&frame, &f, SPEC_SCOPE_VERIFY, 1, NULL), GSL_SUCCESS);
    assert_int_equal(frame.n, 16 + 48 + 4 * ((size_t)f.n_nodes + (size_t)f.n_states * (size_t)f.vocab));
    assert_int_equal(((const int32_t *)(const void *)frame.at)[5], SPEC_DRAWN_FIXED);
    assert_int_equal(spec_protocol_json.put_begin(&line, &f, SPEC_SCOPE_VERIFY, 1, NULL), GSL_SUCCESS);
    spec_bytes_put(&line, "", 1);
    assert_non_null(strstr(line.at, "\"drawn\":\"fixed\""));
    assert_null(strstr(line.at, "\"draft\""));
    free(frame.at);
    free(line.at);
    spec_fixture_close(&f);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* Read an answer as the subject does; the status of whatever fails first, or 1 where more is needed. */
static int take(const spec_protocol *protocol, rounds *r, uint32_t scope, const void *bytes, size_t n,
                spec_error *error)
{
    const spec_question q = question_in(scope);
    size_t length;
    fill(r);
    int status = protocol->extent(&length, &q, bytes, n, error);
    if (status != GSL_SUCCESS) return status;
    return length > 0 ? protocol->take_steps(&r->batch, &q, bytes, length, error) : 1;
}

static void expect_two_rounds(const rounds *r)
{
    static const int32_t n_emitted[] = {0, 3, 1}, n_accepted[] = {0, 2, 0}, emitted[] = {0, 0, 0, 3, 1, 5, 6, 0, 0};
    assert_memory_equal(r->n_emitted, n_emitted, sizeof n_emitted);
    assert_memory_equal(r->n_accepted, n_accepted, sizeof n_accepted);
    assert_memory_equal(r->emitted, emitted, sizeof emitted);
}

static void expect_answer(const spec_protocol *protocol, rounds *r, uint32_t scope, const void *bytes, size_t n)
{
    spec_error error = {{0}};
    if (take(protocol, r, scope, bytes, n, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
    expect_two_rounds(r);
}

static void answers_of_both_kinds_fill_their_rounds_and_no_others(void **state)
{
    (void)state;
    rounds r;
    static const int32_t verified[] = {0x43455053, 2, 32, SERIAL, 3, 1, 2, 0, 3, 1, 5, 6};
    static const int32_t drafted[] = {0x43455053, 2, 44, SERIAL, 3, 1, 2, 0, 3, 1, 2, 3, 1, 5, 6};
    static const char line[] = "{\"serial\":7,\"emitted\":[[3,1,5],[6]]}\n",
                      counted[] = "{\"emitted\":[[3,1,5],[6]], \"serial\":7, \"accepted\":[2,0]}\n",
                      drew[] = "{\"serial\":7,\"emitted\":[[3,1,5],[6]],\"drafted\":[[3,1],[2]]}\n";
    static const int32_t token[] = {9, 9, 3, 1, 2, 8};
    expect_answer(&spec_protocol_binary, &r, SPEC_SCOPE_VERIFY, verified, sizeof verified);
    expect_answer(&spec_protocol_binary, &r, SPEC_SCOPE_DRAFT, drafted, sizeof drafted);
    assert_memory_equal(r.token, token, sizeof token);
    expect_answer(&spec_protocol_json, &r, SPEC_SCOPE_VERIFY, line, sizeof line - 1);
    expect_answer(&spec_protocol_json, &r, SPEC_SCOPE_VERIFY, counted, sizeof counted - 1);
    expect_answer(&spec_protocol_json, &r, SPEC_SCOPE_DRAFT, drew, sizeof drew - 1);
    assert_memory_equal(r.token, token, sizeof token);
}

/* Cut anywhere, an answer waits for the rest; what comes after it is left alone. */
static void an_answer_is_whole_or_waited_for(void **state)
{
    (void)state;
    rounds r;
    size_t length;
    static const int32_t frame[] = {0x43455053, 2, 32, SERIAL, 3, 1, 2, 0, 3, 1, 5, 6, 0x43455053};
    static const char line[] = "{\"serial\":7,\"emitted\":[[3,1,5],[6]]}\n{\"ser";
    const spec_question q = question_in(SPEC_SCOPE_VERIFY);
    for (size_t n = 0; n < 48; n++)
        assert_int_equal(take(&spec_protocol_binary, &r, SPEC_SCOPE_VERIFY, frame, n, NULL), 1);
    assert_int_equal(spec_protocol_binary.extent(&length, &q, (const char *)frame, sizeof frame, NULL), GSL_SUCCESS);
    assert_int_equal(length, 48);
    for (size_t n = 0; n + 6 < sizeof line - 1; n++)
        assert_int_equal(take(&spec_protocol_json, &r, SPEC_SCOPE_VERIFY, line, n, NULL), 1);
    assert_int_equal(spec_protocol_json.extent(&length, &q, line, sizeof line - 1, NULL), GSL_SUCCESS);
    assert_int_equal(length, sizeof line - 1 - 5);
}

/* Too many tokens are the sampler's mistake, not the protocol's: as many as fit are kept, and their count. */
static void too_many_tokens_do_not_leave_their_room(void **state)
{
    (void)state;
    rounds r;
    static const int32_t frame[] = {0x43455053, 2, 48, SERIAL, 7, 1, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    static const char line[] = "{\"serial\":7,\"emitted\":[[1,2,3,4,5,6,7],[9999999999]]}\n";
    assert_int_equal(take(&spec_protocol_binary, &r, SPEC_SCOPE_VERIFY, frame, sizeof frame, NULL), GSL_SUCCESS);
    assert_int_equal(r.n_emitted[1], 7);
    assert_int_equal(r.emitted[5], 3);
    assert_int_equal(r.emitted[6], 8);
    assert_int_equal(r.emitted[7], 0);
    assert_int_equal(take(&spec_protocol_json, &r, SPEC_SCOPE_VERIFY, line, sizeof line - 1, NULL), GSL_SUCCESS);
    assert_int_equal(r.n_emitted[1], 7);
    assert_int_equal(r.n_accepted[1], 6);
    assert_int_equal(r.emitted[5], 3);
    assert_int_equal(r.emitted[6], INT32_MAX);
}

static void frames_that_make_no_sense_are_told(void **state)
{
    (void)state;
    static const struct {
        uint32_t scope;
        int32_t frame[18];
        const char *says;
    } wrong[] = {
        {SPEC_SCOPE_VERIFY, {0x43455052}, "a frame begins with 'SPEC', and 'RPEC"},
        {SPEC_SCOPE_VERIFY, {0x43455053, 3, 0, SERIAL}, "an answer of type 3 came to a question of type 2"},
        {SPEC_SCOPE_VERIFY, {0x43455053, 2, 0, 8}, "answer 8 came to question 7"},
        {SPEC_SCOPE_VERIFY, {0x43455053, 2, 137, SERIAL}, "an answer of 137 bytes came where at most 136 make sense"},
        {SPEC_SCOPE_VERIFY, {0x43455053, 2, 0, SERIAL}, "an answer of 0 bytes is too short for 2 rounds"},
        {SPEC_SCOPE_VERIFY, {0x43455053, 2, 4, SERIAL, 1}, "an answer of 4 bytes is too short for 2 rounds"},
        {SPEC_SCOPE_VERIFY, {0x43455053, 2, 12, SERIAL, 1, 1, 0}, "an answer of 12 bytes is too short for 2 rounds"},
        {SPEC_SCOPE_VERIFY, {0x43455053, 2, 20, SERIAL, 1, 1, 0, 0, 5}, "an answer of 20 bytes is too short"},
        {SPEC_SCOPE_VERIFY, {0x43455053, 2, 20, SERIAL, 2, 0, 0, 0, 5}, "an answer of 20 bytes is too short"},
        {SPEC_SCOPE_VERIFY, {0x43455053, 2, 24, SERIAL, 1, 0, 0, 0, 5, 6}, "an answer of 24 bytes has 4 too many"},
        {SPEC_SCOPE_VERIFY, {0x43455053, 2, 25, SERIAL, 1, 1, 0, 0, 5, 6}, "an answer of 25 bytes has 1 too many"},
        {SPEC_SCOPE_VERIFY, {0x43455053, 2, 24, SERIAL, 2, -1, 0, 0, 5, 6}, "it says that round 1 emitted -1 tokens"},
        {SPEC_SCOPE_DRAFT, {0x43455053, 2, 20, SERIAL, 1, 1, 0, 0, 5}, "an answer of 20 bytes is too short"},
        {SPEC_SCOPE_DRAFT, {0x43455053, 2, 24, SERIAL, 1, 1, 0, 0, 5, 6}, "an answer of 24 bytes is too short"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rounds r;
        spec_error error = {{0}};
        assert_int_equal(take(&spec_protocol_binary, &r, wrong[i].scope, wrong[i].frame, sizeof wrong[i].frame, &error),
                         GSL_EFAILED);
        if (strstr(error.text, wrong[i].says) == NULL) fail_msg("%s: %s", wrong[i].says, error.text);
    }
}

/* 136 bytes are as many as make sense: round 1 emits all of them. A round that emits none is judged later. */
static void the_longest_frame_and_the_emptiest_round_are_read(void **state)
{
    (void)state;
    rounds r;
    int32_t frame[38] = {0x43455053, 2, 136, SERIAL, 30, 0, 29, 0};
    const spec_question q = question_in(SPEC_SCOPE_VERIFY);
    assert_int_equal(q.most, 136);
    assert_int_equal(take(&spec_protocol_binary, &r, SPEC_SCOPE_VERIFY, frame, sizeof frame, NULL), GSL_SUCCESS);
    assert_int_equal(r.n_emitted[1], 30);
    assert_int_equal(r.n_emitted[2], 0);
}

static void lines_that_make_no_sense_are_told(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"step 1\n", "its answer is no line of JSON, but 'step 1'; standard output is for answers alone"},
        {"\n", "its answer is no line of JSON, but ''"},
        {"[7]\n", "its answer is no line of JSON, but '[7]'"},
        {"{\"emitted\":[[3],[6]]}\n", "its answer has no \"serial\": '{\"emitted\":[[3],[6]]}'"},
        {"{\"serial\":8,\"emitted\":[[3],[6]]}\n", "answer 8 came to question 7"},
        {"{\"serial\":-1,\"emitted\":[[3],[6]]}\n", "answer -1 came to question 7"},
        {"{\"serial\":7}\n", "its answer's \"emitted\" is to be a list of 2"},
        {"{\"serial\":7,\"emitted\":[[3]]}\n", "its answer's \"emitted\" is to be a list of 2"},
        {"{\"serial\":7,\"emitted\":[3,6]}\n", "\"emitted\" of round 0 is to be a list of tokens"},
        {"{\"serial\":7,\"emitted\":[[3],[6.0]]}\n", "\"emitted\" of round 1 is to be a list of tokens"},
        {"{\"serial\":7,\"emitted\":[[3],[\"6\"]]}\n", "\"emitted\" of round 1 is to be a list of tokens"},
        {"{\"serial\":7,\"emitted\":[[3],[6]],\"accepted\":[0]}\n", "its answer's \"accepted\" is to be a list of 2"},
        {"{\"serial\":7,\"emitted\":[[3],[6]],\"accepted\":[0,null]}\n", "\"accepted\" of round 1"},
        {"{\"serial\":7,\"emitted\":[[3],[6]]}\n", "its answer's \"drafted\" is to be a list of 2"},
        {"{\"serial\":7,\"emitted\":[[3],[6]],\"drafted\":[[1,2],[1,2]]}\n",
         "\"drafted\" of round 1 has 2 tokens, and 1 were to be drafted"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rounds r;
        spec_error error = {{0}};
        const uint32_t scope = strstr(wrong[i][1], "drafted") != NULL ? SPEC_SCOPE_DRAFT : SPEC_SCOPE_VERIFY;
        assert_int_equal(take(&spec_protocol_json, &r, scope, wrong[i][0], strlen(wrong[i][0]), &error), GSL_EFAILED);
        if (strstr(error.text, wrong[i][1]) == NULL) fail_msg("%s: %s", wrong[i][0], error.text);
    }
}

static void a_line_without_an_end_is_not_waited_for_for_ever(void **state)
{
    (void)state;
    static char line[1 << 16];
    rounds r;
    spec_error error = {{0}};
    memset(line, 'x', sizeof line);
    assert_int_equal(take(&spec_protocol_json, &r, SPEC_SCOPE_VERIFY, line, 4096, &error), 1);
    assert_int_equal(take(&spec_protocol_json, &r, SPEC_SCOPE_VERIFY, line, sizeof line, &error), GSL_EFAILED);
    line[sizeof line - 1] = '\n';
    assert_int_equal(take(&spec_protocol_json, &r, SPEC_SCOPE_VERIFY, line, sizeof line, &error), GSL_EFAILED);
    assert_non_null(strstr(error.text, "where none makes sense: 'xxxx"));
}

static void texts_and_counters_have_their_length(void **state)
{
    (void)state;
    const spec_question text = spec_protocol_question(SPEC_FRAME_GENERATE, 1, SPEC_SCOPE_STREAM, 0, 3, 0);
    const spec_question count = spec_protocol_question(SPEC_FRAME_COUNTERS, 2, 0, 0, 3, 0);
    static const int32_t words[] = {0x43455053, 3, 12, 1, 4, -5, 6},
                         counters[] = {0x43455053, 4, 24, 2, 6, 0, 3, 0, 7, 0};
    const char *frame = (const char *)words;
    static const char line[] = "{\"serial\":1,\"tokens\":[4,-5,6]}\n", few[] = "{\"serial\":1,\"tokens\":[4,5]}\n",
                      counted[] = "{\"serial\":2,\"drafted\":6,\"accepted\":3,\"emitted\":7}\n",
                      below[] = "{\"serial\":2,\"drafted\":6,\"accepted\":-3,\"emitted\":7}\n";
    int32_t token[3] = {0};
    uint64_t counter[3] = {0};
    spec_error error = {{0}};
    assert_int_equal(spec_protocol_binary.take_text(token, &text, frame, sizeof words, NULL), GSL_SUCCESS);
    assert_true(token[0] == 4 && token[1] == -5 && token[2] == 6);
    assert_int_equal(spec_protocol_binary.take_text(token, &text, frame, 24, &error), GSL_EFAILED);
    assert_string_equal(error.text, "an answer of 8 bytes is too short for 3 numbers");
    token[0] = token[1] = token[2] = 0;
    assert_int_equal(spec_protocol_json.take_text(token, &text, line, sizeof line - 1, NULL), GSL_SUCCESS);
    assert_true(token[0] == 4 && token[1] == -5 && token[2] == 6);
    assert_int_equal(spec_protocol_json.take_text(token, &text, few, sizeof few - 1, NULL), GSL_EFAILED);
    assert_int_equal(spec_protocol_binary.take_counters(counter, &count, (const char *)counters, sizeof counters, NULL),
                     GSL_SUCCESS);
    assert_true(counter[0] == 6 && counter[1] == 3 && counter[2] == 7);
    memset(counter, 0, sizeof counter);
    assert_int_equal(spec_protocol_json.take_counters(counter, &count, counted, sizeof counted - 1, NULL), GSL_SUCCESS);
    assert_true(counter[0] == 6 && counter[1] == 3 && counter[2] == 7);
    assert_int_equal(spec_protocol_json.take_counters(counter, &count, below, sizeof below - 1, NULL), GSL_EFAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hello_says_what_the_sampler_does),
        cmocka_unit_test(the_least_hello_has_the_documented_defaults),
        cmocka_unit_test(a_wrong_hello_is_refused_by_the_name_of_its_key),
        cmocka_unit_test(a_frame_has_the_documented_bytes),
        cmocka_unit_test(a_frame_of_scope_DV_has_no_tokens),
        cmocka_unit_test(a_line_says_the_same),
        cmocka_unit_test(lines_are_as_documented),
        cmocka_unit_test(both_encodings_bring_a_fixture_alike),
        cmocka_unit_test(a_tree_brings_its_parents),
        cmocka_unit_test(fixed_drafts_bring_no_draft_rows),
        cmocka_unit_test(answers_of_both_kinds_fill_their_rounds_and_no_others),
        cmocka_unit_test(an_answer_is_whole_or_waited_for),
        cmocka_unit_test(too_many_tokens_do_not_leave_their_room),
        cmocka_unit_test(frames_that_make_no_sense_are_told),
        cmocka_unit_test(the_longest_frame_and_the_emptiest_round_are_read),
        cmocka_unit_test(lines_that_make_no_sense_are_told),
        cmocka_unit_test(a_line_without_an_end_is_not_waited_for_for_ever),
        cmocka_unit_test(texts_and_counters_have_their_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
