/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs each adapter of tools/validate/adapters against a stand-in with the engine's signature
 * (tests/adapters/stand_in): the right one must pass, one with the named mistake must fail. If
 * SPECLAB_PYTHON names a Python with the engines, runs the adapters against these as well. Run from
 * the root of the sources. */
#include "tests/support/contexts.h"
#include "tests/support/support.h"
#include "tools/validate/samplers/supervisor.h"
#include "tools/validate/validate.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#define STAND_IN "tests/adapters/stand_in"

enum { DRAWS = 36000 };

/* Returns the verdict on `subject` on this fixture, and on those that find badly seeded numbers. */
static spec_validate_verdict verdict_on(const char *subject, const char *fixture)
{
    OWNED(spec_validation) validation;
    spec_error error = {{0}};
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    plan.opt_pool = spec_test_pool(0);
    const char *const only[] = {fixture, "batch-1", "wide-4", NULL};
    plan.seed = spec_test_seed();
    plan.draws = spec_test_samples(DRAWS);
    plan.opt_pool = spec_test_pool(1);
    plan.hints = false;
    plan.opt_only = only;
    plan.limits.supervisor = "/proc/self/exe";
    plan.limits.timeout = 100.0; /* one call also loads PyTorch */
    const int status = spec_validate(&validation, subject, &plan, &error);
    if (status != GSL_SUCCESS) fail_msg("%s: %s", subject, error.text);
    printf("%s: %s, %s\n", subject, spec_validate_verdicts[validation.verdict], validation.reason);
    const spec_validate_verdict verdict = validation.verdict;
    return verdict;
}

static void expect_verdicts(const char *subject, const char *fixture)
{
    char path[PATH_MAX + sizeof STAND_IN];
    char root[PATH_MAX];
    assert_non_null(getcwd(root, sizeof root));
    snprintf(path, sizeof path, "%s/%s", root, STAND_IN);
    assert_int_equal(setenv("PYTHONPATH", path, 1), 0);
    assert_int_equal(setenv("SPECLAB_STAND_IN", "right", 1), 0);
    assert_int_equal(verdict_on(subject, fixture), SPEC_VERDICT_PASS);
    assert_int_equal(setenv("SPECLAB_STAND_IN", "wrong", 1), 0);
    assert_int_equal(verdict_on(subject, fixture), SPEC_VERDICT_FAIL);
}

#define needs(command, what)                                                                       \
    do {                                                                                           \
        if (access(STAND_IN, R_OK) != 0 || system(command " >/dev/null 2>&1") != 0) {              \
            printf("skipped: %s: needs " what " and the sources\n", __func__);                     \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

/* ---- Python ---------------------------------------------------------------------------------- */

typedef struct {
    const char *file, *module, *fixture;
} adapter;

static const adapter adapters[] = {
    {"vllm_rejection.py", "vllm", "shorter-4"},
    {"flashinfer_chain.py", "flashinfer", "plain-4"},
    {"sglang_tree.py", "sgl_kernel", "deep-fixed-4"},
    {"transformers_assisted.py", "transformers", "plain-4"},
    {"transformers_generate.py", "transformers", "text-5-3"},
    {"transformers_generate.py", "transformers",
     "orders-cold-16"}, /* the adapter applies filters in turn */
};
enum { N_ADAPTERS = sizeof adapters / sizeof *adapters };

static void python(int i)
{
    char subject[128];
    snprintf(subject, sizeof subject, "exec:python3 -B tools/validate/adapters/%s",
             adapters[i].file);
    expect_verdicts(subject, adapters[i].fixture);
}

TEST(vllm_with_rows_of_another_request_fails, SLOW | STATISTICS)
{
    needs("python3 -V", "python3");
    python(0);
}

TEST(flashinfer_with_one_uniform_number_fails, SLOW | STATISTICS)
{
    needs("python3 -V", "python3");
    python(1);
}

TEST(sglang_with_rows_in_the_wrong_order_fails, SLOW | STATISTICS)
{
    needs("python3 -V", "python3");
    python(2);
}

TEST(transformers_with_softmax_of_the_residual_fails, SLOW | STATISTICS)
{
    needs("python3 -V", "python3");
    python(3);
}

TEST(transformers_with_caches_cut_at_the_wrong_end_fails, SLOW | STATISTICS)
{
    needs("python3 -V", "python3");
    python(4);
    python(5);
}

TEST(engines_pass, STATISTICS)
{
    const char *interpreter = getenv("SPECLAB_PYTHON");
    char command[PATH_MAX + 128];
    int tried = 0;
    if (interpreter == NULL) {
        printf("skipped: engines_pass: SPECLAB_PYTHON names no Python that has them\n");
        skip();
    }
    unsetenv("PYTHONPATH");
    for (int i = 0; i < N_ADAPTERS; i++) {
        snprintf(command, sizeof command, "%s -c 'import torch, %s' 2>/dev/null", interpreter,
                 adapters[i].module);
        if (system(command) != 0) continue;
        tried++;
        snprintf(command, sizeof command, "exec:%s -B tools/validate/adapters/%s", interpreter,
                 adapters[i].file);
        assert_int_equal(verdict_on(command, adapters[i].fixture), SPEC_VERDICT_PASS);
    }
    if (tried == 0) {
        printf("skipped: engines_pass: %s imports none of them\n", interpreter);
        skip();
    }
}

/* ---- C++ ------------------------------------------------------------------------------------- */

TEST(llama_cpp_with_rows_off_by_one_fails, SLOW | STATISTICS)
{
    char folder[] = "/tmp/test_adapters_XXXXXX", subject[64], command[512];
    needs("c++ --version", "a C++ compiler");
    assert_non_null(mkdtemp(folder));
    snprintf(subject, sizeof subject, "plugin:%s/llama_cpp.so", folder);
    snprintf(command, sizeof command,
             "c++ -w -shared -fPIC -Iinclude -I" STAND_IN
             "/llama_cpp tools/validate/adapters/llama_cpp.cpp -o %s/llama_cpp.so",
             folder);
    assert_int_equal(system(command), 0);
    expect_verdicts(subject, "plain-4");
    /* the adapter applies filters before the temperature */
    expect_verdicts(subject, "orders-hot-16");
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

SUITE(PLUGIN);
