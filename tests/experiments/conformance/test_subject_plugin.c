#include "experiments/conformance/caller.h"
#include "experiments/conformance/evidence.h"
#include "sim/rng.h"
#include "tests/support/orphans.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum { BATCH = 300, V = 5, NODES = 3 };

static const spec_subject_limits patient = {.timeout = 20.0, .memory = 256ull << 20}, hasty = {.timeout = 0.4};

/* The path of a library of tests/plugins, which lie beside this program's folders. */
static const char *path_of(const char *name)
{
    static char path[PATH_MAX + 64];
    const ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
    assert_true(n > 0);
    path[n] = '\0';
    for (int i = 0; i < 3; i++) *strrchr(path, '/') = '\0';
    strcat(path, "/plugins/");
    strcat(path, name);
    return path;
}

/* ---- fixtures of our own ----------------------------------------------------------------------------------------- */

static int open_fixture(spec_fixture *f, const int *opt_parent, spec_error *error)
{
    int status = spec_fixture_alloc(f, V, opt_parent, NODES, 4, error);
    if (status != GSL_SUCCESS) return status;
    f->blind = f->coins = opt_parent == NULL;
    f->batch = 128;
    for (int s = 0; s < f->n_states; s++)
        for (int draft = 0; draft < 2; draft++) {
            double weight[V];
            for (int x = 0; x < V; x++) weight[x] = 0.27 + (double)((s * 7 + x * 13 + draft * 5) % 11);
            spec_fixture_set(f, draft, s, weight);
        }
    return spec_fixture_finish(f, error);
}

static int open_chain(spec_fixture *f, spec_error *error)
{
    return open_fixture(f, NULL, error);
}

static int open_tree(spec_fixture *f, spec_error *error)
{
    return open_fixture(f, (const int[]){-1, -1, 0}, error);
}

static const spec_fixture_kind chain = {"chain-5", "", SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT, open_chain};
static const spec_fixture_kind tree = {"tree-5", "", SPEC_SCOPE_VERIFY, open_tree};

typedef struct {
    spec_fixture fixture;
    spec_evidence *evidence;
    gsl_rng *rng;
} stand;

static void stand_init(stand *s, const spec_fixture_kind *kind, uint32_t scope)
{
    assert_int_equal(spec_fixture_open(&s->fixture, kind, NULL), GSL_SUCCESS);
    assert_int_equal(spec_evidence_init(&s->evidence, &s->fixture, scope, NULL), GSL_SUCCESS);
    s->rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(s->rng, 42, 0);
}

static void stand_free(stand *s)
{
    spec_evidence_free(s->evidence);
    spec_fixture_close(&s->fixture);
    gsl_rng_free(s->rng);
}

/* ---- the right one ----------------------------------------------------------------------------------------------- */

/* Two routes: the library in this process, and the same library in a child. */
static void load_here(spec_sampler_api *api, void **ret_library, const char *path)
{
    void *library = *ret_library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    void *symbol[] = {dlsym(library, "spec_sampler_describe"), dlsym(library, "spec_sampler_open"),
                      dlsym(library, "spec_sampler_step"),     dlsym(library, "spec_sampler_close"),
                      dlsym(library, "spec_sampler_generate"), dlsym(library, "spec_sampler_counters"),
                      dlsym(library, "spec_sampler_error")};
    assert_int_equal(sizeof symbol, sizeof *api);
    memcpy(api, symbol, sizeof *api);
}

static void the_child_answers_as_this_process_would(void **state)
{
    (void)state;
    static const struct {
        const spec_fixture_kind *kind;
        uint32_t scope;
    } cases[] = {{&chain, SPEC_SCOPE_VERIFY}, {&chain, SPEC_SCOPE_DRAFT}, {&tree, SPEC_SCOPE_VERIFY}};
    spec_sampler_api api;
    spec_sampler_about about = {.size = sizeof about};
    spec_subject subject;
    spec_caller *caller;
    spec_error error = {{0}};
    void *library;
    load_here(&api, &library, path_of("newcomer.so"));
    assert_int_equal(api.describe(&about), 0);
    assert_int_equal(spec_caller_init(&caller, &api, &about, NULL, NULL), GSL_SUCCESS);
    assert_int_equal(spec_subject_open(&subject, path_of("newcomer.so"), &patient, &error), GSL_SUCCESS);
    assert_memory_equal(&subject.about, &about, sizeof about);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        stand s;
        spec_batch here;
        stand_init(&s, cases[c].kind, cases[c].scope);
        assert_int_equal(spec_subject_begin(&subject, &s.fixture, cases[c].scope, BATCH, &error), GSL_SUCCESS);
        assert_int_equal(spec_caller_begin(caller, &s.fixture, cases[c].scope, BATCH, &error), GSL_SUCCESS);
        const spec_batch *there = &subject.batch;
        const int n_coins = spec_batch_coins(&s.fixture);
        const size_t bytes = spec_batch_bytes(BATCH, NODES, n_coins);
        void *memory = calloc(1, bytes);
        spec_batch_lay(&here, memory, BATCH, NODES, n_coins);
        assert_true((n_coins > 0) == (cases[c].kind == &chain) && (n_coins > 0) == (there->coin != NULL));
        for (uint64_t b = 0; b < 3; b++) {
            spec_evidence_ask(s.evidence, &subject.batch, BATCH, b * BATCH, 42, s.rng);
            memcpy(memory, there->n_nodes, bytes);
            assert_int_equal(spec_caller_run(caller, &here, BATCH, NULL), GSL_SUCCESS);
            assert_int_equal(spec_subject_run(&subject, BATCH, &error), GSL_SUCCESS);
            assert_memory_equal(memory, there->n_nodes, bytes);
            for (int i = 0; i < BATCH; i++) assert_int_equal(there->fault[i], 0);
        }
        free(memory);
        stand_free(&s);
    }
    uint64_t there[3], here[3];
    bool known = false;
    assert_int_equal(spec_subject_counters(&subject, there, &known, &error), GSL_SUCCESS);
    assert_true(known);
    assert_int_equal(spec_caller_counters(caller, here, &known, NULL), GSL_SUCCESS);
    assert_memory_equal(there, here, sizeof here);
    assert_int_equal(there[0], 3 * 3 * BATCH * NODES);
    spec_subject_close(&subject);
    spec_caller_free(caller);
    dlclose(library);
    orphans_none();
}

/* The least p-value of the tests after 40 batches, or of texts of as many tokens; 0 for what is hard. */
static double least_p(const char *opt_options, const spec_fixture_kind *kind, uint32_t scope)
{
    enum { BATCHES = 40, TEXT = 1000 };
    stand s;
    spec_subject subject;
    spec_error error = {{0}};
    spec_evidence *part;
    spec_finding finding[SPEC_TESTS_MAX];
    spec_subject_limits limits = patient;
    int32_t text[TEXT];
    double p = 1.0;
    stand_init(&s, kind, scope);
    limits.opt_options = opt_options;
    assert_int_equal(spec_subject_open(&subject, path_of("newcomer.so"), &limits, &error), GSL_SUCCESS);
    assert_int_equal(spec_subject_begin(&subject, &s.fixture, scope, BATCH, &error), GSL_SUCCESS);
    const size_t most = (size_t)(BATCH * s.fixture.levels + TEXT);
    assert_int_equal(spec_evidence_fork(&part, s.evidence, most, NULL), GSL_SUCCESS);
    for (uint64_t b = 0; b < BATCHES; b++) {
        spec_evidence_clear(part);
        if (scope == SPEC_SCOPE_STREAM) {
            const int start = (int)(b % 4) * s.fixture.levels;
            assert_int_equal(spec_subject_generate(&subject, start, NODES, b, text, TEXT, &error), GSL_SUCCESS);
            spec_evidence_add_text(part, start, text, TEXT, s.rng);
        } else {
            spec_evidence_ask(s.evidence, &subject.batch, BATCH, b * BATCH, spec_test_seed(), s.rng);
            assert_int_equal(spec_subject_run(&subject, BATCH, &error), GSL_SUCCESS);
            spec_evidence_add(part, &subject.batch, BATCH, b * BATCH, s.rng);
        }
        spec_evidence_merge(s.evidence, part);
    }
    const int n = spec_evidence_findings(finding, s.evidence);
    for (int i = 0; i < n; i++)
        if (finding[i].p < p) p = finding[i].p;
    if (spec_evidence_hard(s.evidence) != NULL) p = 0.0;
    spec_evidence_free(part);
    spec_subject_close(&subject);
    stand_free(&s);
    return p;
}

/* 12,000 rounds or 40,000 tokens. Resampling from the target is off by a TV of about .07 here: p below 1e-30. */
static void a_sampler_written_from_the_header_alone_is_lossless(void **state)
{
    (void)state;
    assert_true(least_p(NULL, &chain, SPEC_SCOPE_VERIFY) > SPEC_TEST_P);
    assert_true(least_p(NULL, &tree, SPEC_SCOPE_VERIFY) > SPEC_TEST_P);
    assert_true(least_p(NULL, &chain, SPEC_SCOPE_DRAFT) > SPEC_TEST_P);
    assert_true(least_p(NULL, &chain, SPEC_SCOPE_STREAM) > SPEC_TEST_P);
    assert_true(least_p(NULL, &tree, SPEC_SCOPE_STREAM) > SPEC_TEST_P);
    assert_true(least_p("wrong", &chain, SPEC_SCOPE_VERIFY) < 1e-12);
    assert_true(least_p("wrong", &chain, SPEC_SCOPE_DRAFT) < 1e-12);
    assert_true(least_p("wrong", &chain, SPEC_SCOPE_STREAM) < 1e-12);
}

/* ---- those that are not ------------------------------------------------------------------------------------------ */

/* `line` with '*' for anything. */
static bool is_like(const char *text, const char *line)
{
    if (*line == '*') return is_like(text, line + 1) || (*text != '\0' && is_like(text + 1, line));
    if (*line == '\0' || *text != *line) return *line == *text;
    return is_like(text + 1, line + 1);
}

static void expect(const char *deed, int status, const spec_error *error, const char *line)
{
    if (status != GSL_EFAILED && status != GSL_EINVAL) fail_msg("%s: status %d", deed, status);
    if (!is_like(error->text, line)) fail_msg("%s: '%s' is not '%s'", deed, error->text, line);
}

static void a_library_that_cannot_be_used_says_why(void **state)
{
    (void)state;
    static const struct {
        const char *deed, *line;
    } cases[] = {
        {"another version", "in spec_sampler_abi: it was made for version 7 of the interface; this speclab has 1"},
        {"no name", "in spec_sampler_describe: its name is not 1 to 63 printable characters"},
        {"endless name", "*: its name is not 1 to 63 printable characters"},
        {"name with colours", "*: its name is not 1 to 63 printable characters"},
        {"no scopes", "*: its scopes are 0: one or more of SPEC_SCOPE_*"},
        {"unknown scopes", "*: its scopes are 0x40: one or more of SPEC_SCOPE_*"},
        {"scope S without generate", "*: it has scope S, and does not export spec_sampler_generate"},
        {"rows of a new kind", "*: its rows are 3: one of SPEC_ROWS_*"},
        {"a flag of 2", "*: its coins is 2: 0 or 1"},
        {"a negative limit", "*: its max_batch, max_nodes or max_vocab is negative"},
        {"unknown trees", "*: its trees are 0x8: any of SPEC_DRAWN_*"},
        {"unknown chains", "*: its chains are 0x4: SPEC_DRAWN_FIXED and SPEC_DRAWN_IID"},
        {"a longer struct", "*: its describe wrote past the end of its struct: is its header newer?"},
        {"describe fails", "in spec_sampler_describe: its describe returned 5"},
        {"open fails", "in spec_sampler_open: the sampler's open returned 3"},
        {"exit in open", "in spec_sampler_open: it exited with code 0"},
        {"crash when loaded", "while it was loaded: it crashed (signal 11, Segmentation fault)"},
        {"crash in describe", "in spec_sampler_describe: it crashed (signal 11, Segmentation fault)"},
        {"hang when loaded", "while it was loaded: it did not answer within 0.4 s"},
    };
    spec_subject subject;
    spec_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool hangs = strncmp(cases[i].deed, "hang", 4) == 0;
        setenv("HOSTILE", cases[i].deed, 1);
        const int status = spec_subject_open(&subject, path_of("hostile.so"), hangs ? &hasty : &patient, &error);
        expect(cases[i].deed, status, &error, cases[i].line);
        assert_null(subject.kind);
        spec_subject_close(&subject);
        orphans_none();
    }
    unsetenv("HOSTILE");
}

static void a_file_that_is_no_sampler_says_why(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *line;
    } cases[] = {
        {"plugin:/nonexistent/sampler.so", "No such file or directory"},
        {"nonexistent.so", "No such file or directory"},
        {"plugin:/etc/passwd", "while it was loaded: it cannot be loaded: /etc/passwd: *"},
        {"plugin:/tmp", "while it was loaded: it cannot be loaded: /tmp: *"},
        {"plugin:", "'plugin:': nothing comes after the colon"},
    };
    spec_subject subject;
    spec_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i].spec, spec_subject_open(&subject, cases[i].spec, &patient, &error), &error, cases[i].line);
    expect("bare", spec_subject_open(&subject, path_of("bare.so"), &patient, &error), &error,
           "while it was loaded: it does not export spec_sampler_open");
    spec_subject_limits limits = patient;
    limits.opt_options = "wring";
    expect("plain", spec_subject_open(&subject, path_of("newcomer.so"), &limits, &error), &error,
           "in spec_sampler_open: the sampler's open returned 2: the only option is 'wrong'");
    orphans_none();
}

/* Open it, ready to be run; and ask for a batch. */
static void open_deed(const char *deed, spec_subject *subject, stand *s, const spec_subject_limits *limits,
                      uint32_t scope)
{
    spec_error error = {{0}};
    setenv("HOSTILE", deed, 1);
    stand_init(s, &chain, scope);
    if (spec_subject_open(subject, path_of("hostile.so"), limits, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
    assert_int_equal(spec_subject_begin(subject, &s->fixture, scope, BATCH, &error), GSL_SUCCESS);
    spec_evidence_ask(s->evidence, &subject->batch, BATCH, 0, 42, s->rng);
    unsetenv("HOSTILE");
}

static int try_deed(const char *deed, spec_subject *subject, stand *s, const spec_subject_limits *limits,
                    uint32_t scope, spec_error *error)
{
    open_deed(deed, subject, s, limits, scope);
    return spec_subject_run(subject, BATCH, error);
}

static void whoever_hangs_is_ended(void **state)
{
    (void)state;
    enum { DEEDS = 5 };
    static const char *const deeds[DEEDS] = {"hang", "spin", "mask", "group", "stop keeper"};
    spec_subject subject[DEEDS];
    spec_error error[DEEDS];
    stand s[DEEDS];
    int status[DEEDS];
    for (int i = 0; i < DEEDS; i++) open_deed(deeds[i], &subject[i], &s[i], &hasty, SPEC_SCOPE_VERIFY);
#pragma omp parallel for num_threads(DEEDS) schedule(static, 1)
    for (int i = 0; i < DEEDS; i++) status[i] = spec_subject_run(&subject[i], BATCH, &error[i]);
    for (int i = 0; i < DEEDS; i++) {
        expect(deeds[i], status[i], &error[i], "in spec_sampler_step, *: it did not answer within 0.4 s");
        spec_subject_close(&subject[i]);
        stand_free(&s[i]);
    }
    orphans_none();
}

static void whoever_does_not_come_back_from_a_call_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *deed, *line;
    } cases[] = {
        {"crash", "it crashed (signal 11, Segmentation fault)"},
        {"abort", "it crashed (signal 6, Aborted)"},
        {"deep", "it crashed (signal 11, Segmentation fault)"},
        {"longjmp", "*"}, /* into a frame that is gone: anything, but said in a line */
        {"exit", "it exited with code 0"},
        {"exit with words", "it exited with code 3; it said: 'last words'"},
        {"stop", "it stopped itself (signal 19, Stopped (signal))"},
        {"leak", "it took more than 256 MB of memory"},
        {"step fails", "the sampler's step returned 4: no such?luck"},
        {"fork away", "it crashed (signal 11, Segmentation fault)"},
        {"kill keeper", "it killed its keeper"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spec_subject subject;
        stand s;
        spec_error error = {{0}};
        char line[300];
        const int status = try_deed(cases[i].deed, &subject, &s, &patient, SPEC_SCOPE_VERIFY, &error);
        snprintf(line, sizeof line, "in spec_sampler_step, fixture chain-5, scope V, rounds from seed %llu, "
                 "offset %llu on: %s", (unsigned long long)subject.batch.seed[0],
                 (unsigned long long)subject.batch.offset[0], cases[i].line);
        expect(cases[i].deed, status, &error, line);
        assert_int_equal(spec_subject_run(&subject, BATCH, &error), GSL_EFAILED); /* it stays dead */
        spec_subject_close(&subject);
        spec_subject_close(&subject);
        stand_free(&s);
        if (strcmp(cases[i].deed, "kill keeper") == 0) orphans_end(1);
        else orphans_none();
    }
}

static void the_channel_may_be_attacked(void **state)
{
    (void)state;
    static const struct {
        const char *deed, *line;
    } cases[] = {
        {"close all", "in spec_sampler_step*: it closed its output"},
        {"write to all", "in spec_sampler_step*: it wrote over speclab's channel"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spec_subject subject;
        stand s;
        spec_error error = {{0}};
        const int status = try_deed(cases[i].deed, &subject, &s, &patient, SPEC_SCOPE_VERIFY, &error);
        expect(cases[i].deed, status, &error, cases[i].line);
        spec_subject_close(&subject);
        stand_free(&s);
        orphans_none();
    }
}

/* The second round of every call of 128 does it. */
static void what_no_sampler_may_do_to_memory_is_noted_at_its_round(void **state)
{
    (void)state;
    static const struct {
        const char *deed;
        uint32_t fault;
        spec_hard hard;
        uint32_t scope;
    } cases[] = {
        {"token written", SPEC_FAULT_INPUT, SPEC_HARD_INPUT, SPEC_SCOPE_VERIFY},
        {"coin written", SPEC_FAULT_INPUT, SPEC_HARD_INPUT, SPEC_SCOPE_VERIFY},
        {"overrun", SPEC_FAULT_OVERRUN, SPEC_HARD_OVERRUN, SPEC_SCOPE_VERIFY},
        {"underrun", SPEC_FAULT_OVERRUN, SPEC_HARD_OVERRUN, SPEC_SCOPE_VERIFY},
        {"untouched", SPEC_FAULT_UNTOUCHED, SPEC_HARD_UNTOUCHED, SPEC_SCOPE_VERIFY},
        {"too many", 0, SPEC_HARD_COUNTS, SPEC_SCOPE_VERIFY},
        {"huge count", 0, SPEC_HARD_COUNTS, SPEC_SCOPE_VERIFY},
        {"token out of range", 0, SPEC_HARD_RANGE, SPEC_SCOPE_VERIFY},
        {"draft out of range", 0, SPEC_HARD_RANGE, SPEC_SCOPE_DRAFT},
        {"behave", 0, SPEC_HARD_NONE, SPEC_SCOPE_VERIFY},
        {"print", 0, SPEC_HARD_NONE, SPEC_SCOPE_VERIFY},
        {"read all", 0, SPEC_HARD_NONE, SPEC_SCOPE_VERIFY},
        {"shrink", 0, SPEC_HARD_NONE, SPEC_SCOPE_VERIFY},
        {"fork", 0, SPEC_HARD_NONE, SPEC_SCOPE_VERIFY},
        {"crash in close", 0, SPEC_HARD_NONE, SPEC_SCOPE_VERIFY},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spec_subject subject;
        stand s;
        spec_error error = {{0}};
        const int status = try_deed(cases[c].deed, &subject, &s, &patient, cases[c].scope, &error);
        if (status != GSL_SUCCESS) fail_msg("%s: %s", cases[c].deed, error.text);
        for (int i = 0; i < BATCH; i++)
            if (subject.batch.fault[i] != (i % 128 == 1 ? cases[c].fault : 0))
                fail_msg("%s: fault %u at round %d", cases[c].deed, subject.batch.fault[i], i);
        spec_evidence_add(s.evidence, &subject.batch, BATCH, 0, s.rng);
        const spec_exhibit *hard = spec_evidence_hard(s.evidence);
        assert_int_equal(hard != NULL ? hard->hard : SPEC_HARD_NONE, cases[c].hard);
        if (hard != NULL) assert_int_equal(hard->index, 1);
        spec_subject_close(&subject);
        stand_free(&s);
        orphans_none();
    }
}

/* Rows of chains lie in one place for all rounds of a call: a write there spoils them all, and is undone. */
static void a_row_that_is_written_spoils_its_call(void **state)
{
    (void)state;
    spec_subject subject;
    stand s;
    spec_error error = {{0}};
    assert_int_equal(try_deed("row written", &subject, &s, &patient, SPEC_SCOPE_VERIFY, &error), GSL_SUCCESS);
    for (int i = 0; i < BATCH; i++) assert_int_equal(subject.batch.fault[i], SPEC_FAULT_INPUT);
    spec_subject_close(&subject);
    stand_free(&s);
    orphans_none();
}

/* A text that begins with what is no token: there is no row after it, from the first call on or from a later one. */
static int ask_for_rows(void *self, const spec_models *models, const int32_t *context, int64_t n_context, int32_t K,
                        spec_sampling sampling, uint64_t seed, int32_t *ret_token, int64_t n_tokens)
{
    static const int32_t texts[][2] = {{1, V}, {-1, 1}, {1, INT32_MAX}, {1, 2}};
    (void)self, (void)context, (void)n_context, (void)K, (void)sampling, (void)seed;
    for (int64_t i = 0; i < n_tokens; i++)
        ret_token[i] =
            models->target(models->self, texts[i], 2) != NULL && models->draft(models->self, texts[i], 2) != NULL;
    return 0;
}

static int open_nothing(void **ret_self, const char *opt_options)
{
    (void)opt_options;
    *ret_self = NULL;
    return 0;
}

static void close_nothing(void *self)
{
    (void)self;
}

static void a_context_that_holds_no_token_has_no_row(void **state)
{
    (void)state;
    const spec_sampler_api api = {.open = open_nothing, .close = close_nothing, .generate = ask_for_rows};
    const spec_sampler_about about = {.size = sizeof about};
    spec_caller *caller;
    spec_fixture fixture;
    int32_t known[4];
    assert_int_equal(spec_fixture_open(&fixture, &tree, NULL), GSL_SUCCESS);
    assert_int_equal(spec_caller_init(&caller, &api, &about, NULL, NULL), GSL_SUCCESS);
    assert_int_equal(spec_caller_begin(caller, &fixture, SPEC_SCOPE_STREAM, 1, NULL), GSL_SUCCESS);
    assert_int_equal(spec_caller_generate(caller, 0, 2, 42, known, 4, NULL), GSL_SUCCESS);
    for (int i = 0; i < 4; i++) assert_int_equal(known[i], i == 3);
    spec_caller_free(caller);
    spec_fixture_close(&fixture);
}

static void threads_have_children_of_their_own(void **state)
{
    (void)state;
    enum { CHILDREN = 6 };
    spec_subject subject[CHILDREN];
    stand s[CHILDREN];
    int good = 0;
    (void)path_of("newcomer.so");
#pragma omp parallel for num_threads(CHILDREN) schedule(static, 1) reduction(+ : good)
    for (int i = 0; i < CHILDREN; i++) {
        char path[PATH_MAX + 64];
#pragma omp critical
        {
            strcpy(path, path_of("newcomer.so"));
            stand_init(&s[i], &chain, SPEC_SCOPE_VERIFY);
        }
        int status = spec_subject_open(&subject[i], path, &patient, NULL);
        if (status == GSL_SUCCESS)
            status = spec_subject_begin(&subject[i], &s[i].fixture, SPEC_SCOPE_VERIFY, BATCH, NULL);
        for (int b = 0; b < 20 && status == GSL_SUCCESS; b++) {
            spec_evidence_ask(s[i].evidence, &subject[i].batch, BATCH, 0, 42, s[i].rng);
            status = spec_subject_run(&subject[i], BATCH, NULL);
        }
        good += status == GSL_SUCCESS;
    }
    assert_int_equal(good, CHILDREN);
    for (int i = 1; i < CHILDREN; i++)
        assert_memory_equal(subject[i].batch.emitted, subject[0].batch.emitted, BATCH * (NODES + 1) * sizeof(int32_t));
    for (int i = 0; i < CHILDREN; i++) {
        spec_subject_close(&subject[i]);
        stand_free(&s[i]);
    }
    orphans_none();
}

static void the_header_is_one_for_c99_and_for_cpp(void **state)
{
    (void)state;
    static const char *const compilers[] = {"gcc -x c -std=c99", "g++ -x c++ -std=c++98", "clang -x c -std=c99"};
    for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) {
        char command[256];
        snprintf(command, sizeof command, "command -v %.*s >/dev/null", (int)strcspn(compilers[i], " "), compilers[i]);
        if (system(command) != 0) {
            printf("skipped: %s: no %.3s\n", __func__, compilers[i]);
            continue;
        }
        snprintf(command, sizeof command,
                 "echo '#include <speclab/sampler.h>' | %s -Wall -Wextra -Werror -Iinclude -fsyntax-only -",
                 compilers[i]);
        assert_int_equal(system(command), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_child_answers_as_this_process_would),
        cmocka_unit_test(a_sampler_written_from_the_header_alone_is_lossless),
        cmocka_unit_test(a_library_that_cannot_be_used_says_why),
        cmocka_unit_test(a_file_that_is_no_sampler_says_why),
        cmocka_unit_test(whoever_hangs_is_ended),
        cmocka_unit_test(whoever_does_not_come_back_from_a_call_is_told),
        cmocka_unit_test(the_channel_may_be_attacked),
        cmocka_unit_test(what_no_sampler_may_do_to_memory_is_noted_at_its_round),
        cmocka_unit_test(a_row_that_is_written_spoils_its_call),
        cmocka_unit_test(a_context_that_holds_no_token_has_no_row),
        cmocka_unit_test(threads_have_children_of_their_own),
        cmocka_unit_test(the_header_is_one_for_c99_and_for_cpp),
    };
    setenv("ASAN_OPTIONS", "handle_segv=0:handle_abort=0:allocator_may_return_null=1", 0); /* crashes as they are */
    return cmocka_run_group_tests(tests, orphans_adopt, NULL);
}
