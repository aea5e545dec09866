/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests plug-ins that are right, and invalid files. test_hostile_plugin tests harmful ones. */
#include "tests/support/contexts.h"
#include "tests/support/support.h"
#include "tests/tools/validate/plugin_stand.h"
#include "tools/validate/samplers/sampler_host.h"
#include "tools/validate/samplers/supervisor.h"
#include "tools/validate/validate.h"

#include <dlfcn.h>
#include <omp.h>

/* ---- the right one --------------------------------------------------------------------------- */

/* Two routes: the library in this process, and the same library in a child. */
static void load_here(spec_sampler_api *api, void **ret_library, const char *path)
{
    void *library = *ret_library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    void *symbol[] = {
        dlsym(library, "spec_sampler_describe"), dlsym(library, "spec_sampler_open"),
        dlsym(library, "spec_sampler_step"),     dlsym(library, "spec_sampler_close"),
        dlsym(library, "spec_sampler_generate"), dlsym(library, "spec_sampler_counters"),
        dlsym(library, "spec_sampler_error"),    NULL};
    assert_int_equal(sizeof symbol, sizeof *api);
    memcpy(api, symbol, sizeof *api);
}

TEST(the_child_answers_as_this_process_would)
{
    static const struct {
        const spec_fixture_kind *kind;
        uint32_t scope;
    } cases[] = {
        {&chain, SPEC_SCOPE_VERIFY}, {&chain, SPEC_SCOPE_DRAFT}, {&tree, SPEC_SCOPE_VERIFY}};
    spec_sampler_api api;
    spec_sampler_about about = {.size = sizeof about};
    spec_subject subject;
    spec_sampler_host *caller;
    void *library;
    load_here(&api, &library, path_of("newcomer.so"));
    assert_int_equal(api.describe(&about), 0);
    assert_int_equal(spec_sampler_host_init(&caller, &api, &about, NULL, NULL), GSL_SUCCESS);
    assert_works(spec_subject_open(&subject, path_of("newcomer.so"), &patient, &error));
    assert_memory_equal(&subject.about, &about, sizeof about);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        stand s;
        spec_round_batch here;
        stand_init(&s, cases[c].kind, cases[c].scope);
        assert_works(spec_subject_begin(&subject, &s.fixture, cases[c].scope, BATCH, &error));
        assert_works(spec_sampler_host_begin(caller, &s.fixture, cases[c].scope, BATCH, &error));
        const spec_round_batch *there = &subject.batch;
        const int n_coins = spec_round_batch_coins(&s.fixture);
        const size_t bytes = spec_round_batch_bytes(BATCH, NODES, n_coins);
        void *memory = calloc(1, bytes);
        spec_round_batch_lay(&here, memory, BATCH, NODES, n_coins);
        assert_true((n_coins > 0) == (cases[c].kind == &chain) &&
                    (n_coins > 0) == (there->coin != NULL));
        for (uint64_t b = 0; b < 3; b++) {
            spec_evidence_ask(s.evidence, &subject.batch, BATCH, b * BATCH, 42, s.rng);
            memcpy(memory, there->n_nodes, bytes);
            assert_int_equal(spec_sampler_host_run(caller, &here, BATCH, NULL), GSL_SUCCESS);
            assert_works(spec_subject_run(&subject, BATCH, &error));
            assert_memory_equal(memory, there->n_nodes, bytes);
            for (int i = 0; i < BATCH; i++) assert_int_equal(there->fault[i], 0);
        }
        free(memory);
        stand_free(&s);
    }
    uint64_t there[3], here[3];
    bool known = false;
    assert_works(spec_subject_counters(&subject, there, &known, &error));
    assert_true(known);
    assert_int_equal(spec_sampler_host_counters(caller, here, &known, NULL), GSL_SUCCESS);
    assert_memory_equal(there, here, sizeof here);
    assert_int_equal(there[0], 3 * 3 * BATCH * NODES);
    spec_subject_close(&subject);
    spec_sampler_host_free(caller);
    dlclose(library);
    orphans_none();
}

/* Returns the smallest p-value of the tests after 40 batches, or after texts with as many tokens; 0
 * if a hard rule was broken. */
static double least_p(const char *opt_options, const spec_fixture_kind *kind, uint32_t scope)
{
    enum { BATCHES = 40, TEXT = 1000 };
    stand s;
    spec_subject subject;
    spec_evidence *part;
    spec_finding finding[SPEC_TESTS_MAX];
    spec_subject_limits limits = patient;
    int32_t text[TEXT];
    double p = 1.0;
    stand_init(&s, kind, scope);
    limits.opt_options = opt_options;
    assert_works(spec_subject_open(&subject, path_of("newcomer.so"), &limits, &error));
    assert_works(spec_subject_begin(&subject, &s.fixture, scope, BATCH, &error));
    const size_t most = (size_t)(BATCH * s.fixture.levels + TEXT);
    assert_int_equal(spec_evidence_fork(&part, s.evidence, most, NULL), GSL_SUCCESS);
    for (uint64_t b = 0; b < BATCHES; b++) {
        spec_evidence_clear(part);
        if (scope == SPEC_SCOPE_STREAM) {
            const int start = (int)(b % 4) * s.fixture.levels;
            assert_works(spec_subject_generate(&subject, start, NODES, b, text, TEXT, &error));
            spec_evidence_add_text(part, start, text, TEXT, s.rng);
        } else {
            spec_evidence_ask(s.evidence, &subject.batch, BATCH, b * BATCH, spec_test_seed(),
                              s.rng);
            assert_works(spec_subject_run(&subject, BATCH, &error));
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

/* 12,000 rounds or 40,000 tokens. Resampling from the target is off by a TV of about .07: p below
 * 1e-30. */
TEST(a_sampler_written_from_the_header_alone_is_lossless, STATISTICS)
{
    assert_true(least_p(NULL, &chain, SPEC_SCOPE_VERIFY) > SPEC_TEST_P);
    assert_true(least_p(NULL, &tree, SPEC_SCOPE_VERIFY) > SPEC_TEST_P);
    assert_true(least_p(NULL, &chain, SPEC_SCOPE_DRAFT) > SPEC_TEST_P);
    assert_true(least_p(NULL, &chain, SPEC_SCOPE_STREAM) > SPEC_TEST_P);
    assert_true(least_p(NULL, &tree, SPEC_SCOPE_STREAM) > SPEC_TEST_P);
    assert_true(least_p("wrong", &chain, SPEC_SCOPE_VERIFY) < 1e-12);
    assert_true(least_p("wrong", &chain, SPEC_SCOPE_DRAFT) < 1e-12);
    assert_true(least_p("wrong", &chain, SPEC_SCOPE_STREAM) < 1e-12);
}

/* ---- invalid files --------------------------------------------------------------------------- */

TEST(an_unusable_library_is_an_error_with_a_reason)
{
    static const struct {
        const char *deed, *line;
    } cases[] = {
        {"another version",
         "in spec_sampler_abi: it was made for version 7 of the interface; this speclab has 1"},
        {"no name", "in spec_sampler_describe: its name is not 1 to 63 printable characters"},
        {"endless name", "*: its name is not 1 to 63 printable characters"},
        {"name with colours", "*: its name is not 1 to 63 printable characters"},
        {"no scopes", "*: its scopes are 0, which must be a sum of SPEC_SCOPE_*"},
        {"unknown scopes", "*: its scopes are 0x40, which must be a sum of SPEC_SCOPE_*"},
        {"scope S without generate",
         "*: it has scope S, but does not export spec_sampler_generate"},
        {"rows of a new kind", "*: its rows are 3: one of SPEC_ROWS_*"},
        {"a flag of 2", "*: its coins is 2: 0 or 1"},
        {"a negative limit", "*: its max_batch, max_nodes or max_vocab is negative"},
        {"unknown trees", "*: its trees are 0x8: any of SPEC_DRAWN_*"},
        {"unknown chains", "*: its chains are 0x4: SPEC_DRAWN_FIXED and SPEC_DRAWN_IID"},
        {"filters alone", "*: its filters are declared, but sampling is 0"},
        {"unknown filters",
         "*: filters 'top_k,typical': 'typical' is not temperature, top_k, top_p or min_p"},
        {"endless filters", "*: its filters are not a text of at most 63 bytes"},
        {"a longer struct",
         "*: its describe wrote past the end of its struct; was it built with a newer header?"},
        {"describe fails", "in spec_sampler_describe: its describe returned 5"},
        {"open fails", "in spec_sampler_open: the sampler's open returned 3"},
        {"exit in open", "in spec_sampler_open: it exited with code 0"},
        {"crash when loaded", "while it was loaded: it crashed (signal 11, Segmentation fault)"},
        {"crash in describe",
         "in spec_sampler_describe: it crashed (signal 11, Segmentation fault)"},
        {"hang when loaded", "while it was loaded: it did not answer within 0.4 s"},
    };
    spec_subject subject;
    spec_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool hangs = strncmp(cases[i].deed, "hang", 4) == 0;
        setenv("SPECLAB_HOSTILE", cases[i].deed, 1);
        const int status =
            spec_subject_open(&subject, path_of("hostile.so"), hangs ? &hasty : &patient, &error);
        expect(cases[i].deed, status, &error, cases[i].line);
        assert_null(subject.kind);
        spec_subject_close(&subject);
        orphans_none();
    }
    unsetenv("SPECLAB_HOSTILE");
}

TEST(an_invalid_file_is_an_error_with_a_reason)
{
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
        expect(cases[i].spec, spec_subject_open(&subject, cases[i].spec, &patient, &error), &error,
               cases[i].line);
    expect("bare", spec_subject_open(&subject, path_of("bare.so"), &patient, &error), &error,
           "while it was loaded: it does not export spec_sampler_open");
    spec_subject_limits limits = patient;
    limits.opt_options = "wring";
    expect("plain", spec_subject_open(&subject, path_of("newcomer.so"), &limits, &error), &error,
           "in spec_sampler_open: the sampler's open returned 2: the options are 'wrong', "
           "'unseeded' and 'slow'");
    orphans_none();
}

/* A context that begins with an invalid token has no row, whether in the first call or later. */
static int ask_for_rows(void *self, const spec_models *models, const int32_t *context,
                        int64_t n_context, int32_t K, spec_sampling sampling, uint64_t seed,
                        int32_t *ret_token, int64_t n_tokens)
{
    static const int32_t texts[][2] = {{1, V}, {-1, 1}, {1, INT32_MAX}, {1, 2}};
    (void)self, (void)context, (void)n_context, (void)K, (void)sampling, (void)seed;
    for (int64_t i = 0; i < n_tokens; i++)
        ret_token[i] = models->target(models->self, texts[i], 2) != NULL &&
                       models->draft(models->self, texts[i], 2) != NULL;
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

TEST(a_context_with_an_invalid_token_has_no_row)
{
    const spec_sampler_api api = {
        .open = open_nothing, .close = close_nothing, .generate = ask_for_rows};
    const spec_sampler_about about = {.size = sizeof about};
    spec_sampler_host *caller;
    spec_fixture fixture;
    int32_t known[4];
    assert_int_equal(spec_fixture_open(&fixture, &tree, NULL), GSL_SUCCESS);
    assert_int_equal(spec_sampler_host_init(&caller, &api, &about, NULL, NULL), GSL_SUCCESS);
    assert_int_equal(spec_sampler_host_begin(caller, &fixture, SPEC_SCOPE_STREAM, 1, NULL),
                     GSL_SUCCESS);
    assert_int_equal(spec_sampler_host_generate(caller, 0, 2, 42, known, 4, NULL), GSL_SUCCESS);
    for (int i = 0; i < 4; i++) assert_int_equal(known[i], i == 3);
    spec_sampler_host_free(caller);
    spec_fixture_close(&fixture);
}

TEST(each_thread_has_its_own_process)
{
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
        assert_memory_equal(subject[i].batch.emitted, subject[0].batch.emitted,
                            BATCH * (NODES + 1) * sizeof(int32_t));
    for (int i = 0; i < CHILDREN; i++) {
        spec_subject_close(&subject[i]);
        stand_free(&s[i]);
    }
    orphans_none();
}

/* Each instance is exact by itself; eight with the same random numbers make the requests of a run
 * dependent. */
TEST(instances_that_draw_the_same_numbers_are_not_mixed)
{
    static const char *const only[] = {"long-4", "plain-4", NULL};
    static const char *const options[] = {"unseeded", NULL};
    for (int i = 0; i < 2; i++) {
        spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
        plan.opt_pool = spec_test_pool(0);
        spec_validation v;
        plan.draws = 400000;
        plan.opt_only = only;
        plan.opt_pool = spec_test_pool(8);
        plan.limits = patient;
        plan.limits.opt_options = options[i];
        assert_works(spec_validate(&v, path_of("newcomer.so"), &plan, &error));
        assert_int_equal(v.verdict, SPEC_VERDICT_PASS);
        assert_int_equal(v.alone, i == 0);
        spec_validation_free(&v);
    }
}

/* The plug-in declares itself before open, and again with its options. */
TEST(options_change_what_is_declared)
{
    spec_subject subject;
    spec_subject_limits limits = patient;
    for (int i = 0; i < 2; i++) {
        limits.opt_options = i == 0 ? NULL : "every-16th";
        assert_works(spec_subject_open(&subject, path_of("inventions.so"), &limits, &error));
        assert_string_equal(subject.about.name, i == 0 ? "invention none" : "invention every-16th");
        assert_int_equal(subject.about.scopes, i == 0 ? 7 : SPEC_SCOPE_STREAM);
        spec_subject_close(&subject);
    }
    orphans_none();
}

static void validate_slow(spec_validation *ret, const char *const *only, const char *options,
                          int threads, int status, spec_error *error)
{
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    plan.opt_pool = spec_test_pool(0);
    plan.draws = 200000;
    plan.opt_only = only;
    plan.opt_pool = spec_test_pool(threads);
    plan.scopes = SPEC_SCOPE_VERIFY;
    plan.limits = (spec_subject_limits){
        .timeout = 2.0, .opt_options = options, .supervisor = "/proc/self/exe"};
    *error = (spec_error){{0}};
    if (spec_validate(ret, path_of("newcomer.so"), &plan, error) != status)
        fail_msg("'%s'", error->text);
}

/* The other fixture passes. If the sampler answered on neither, there is no verdict. */
TEST(a_fixture_that_takes_too_long_is_left_out)
{
    static const char *const large[] = {"plain-4", "vocab-1000", NULL}, *const none[] = {"zipf-16",
                                                                                         NULL};
    spec_validation v;
    spec_error error;
    for (int threads = 1; threads <= 2; threads++) {
        validate_slow(&v, large, "slow", threads, GSL_SUCCESS, &error);
        assert_int_equal(v.verdict, SPEC_VERDICT_PASS);
        assert_non_null(strstr(
            v.reason, "; not tested, since a call took longer than --timeout: vocab-1000 (V)"));
        for (int i = 0; i < v.n_results; i++) {
            assert_int_equal(v.result[i].late, v.result[i].vocab == 1000);
            assert_int_equal(v.result[i].draws > 0, v.result[i].vocab == 4);
        }
        spec_validation_free(&v);
    }
    validate_slow(&v, none, "slow", 1, GSL_EFAILED, &error);
    if (!is_like(error.text, "*fixture zipf-16, *: it did not answer within 2 s; --timeout gives "
                             "more time, --only fewer "
                             "fixtures: 16 tokens in the largest"))
        fail_msg("%s", error.text);
    orphans_none();
}

TEST(the_header_is_one_for_c99_and_for_cpp)
{
    static const char *const compilers[] = {"gcc -x c -std=c99", "g++ -x c++ -std=c++98",
                                            "clang -x c -std=c99"};
    for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) {
        char command[256];
        snprintf(command, sizeof command, "command -v %.*s >/dev/null",
                 (int)strcspn(compilers[i], " "), compilers[i]);
        if (system(command) != 0) {
            printf("skipped: %s: no %.3s\n", __func__, compilers[i]);
            continue;
        }
        snprintf(command, sizeof command,
                 "echo '#include <speclab/sampler.h>' | %s -Wall -Wextra -Werror -Iinclude "
                 "-fsyntax-only -",
                 compilers[i]);
        assert_int_equal(system(command), 0);
    }
}

/* Children may crash, so sanitizers must not catch their signals. */
static int set_up(void **state)
{
    setenv("ASAN_OPTIONS",
           "handle_segv=0:handle_abort=0:allocator_may_return_null=1:intercept_tls_get_addr=0", 1);
    return orphans_adopt(state);
}

SUITE(PLUGIN, .setup = set_up);
