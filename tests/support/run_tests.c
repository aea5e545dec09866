/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The main function of every test program: chooses tests by name and tag, and runs them suite by
 * suite. */
#include "tests/support/support.h"

#include "base/clock.h"
#include "tests/support/child.h"
#include "tests/support/simulated_card.h"
#include "tools/validate/samplers/child_environment.h"
#include "tools/validate/samplers/supervisor.h"

#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIP_TAG = 256, SECONDS };

static const char *const tag_name[] = {"slow",   "statistics", "simulator",
                                       "plugin", "server",     "driver"};
enum { N_TAGS = sizeof tag_name / sizeof tag_name[0] };

/* Variables that change what a test does: a failure prints those that are set. */
static const char *const variable[] = {"SPECLAB",      "SPECLAB_DATA", "SPEC_TEST_LONG",
                                       "SPECLAB_CARD", "SIM_LIBRARY",  "SIM_ORDER",
                                       "SIM_SEED",     "SIM_COMPARE",  "SIM_CAPABILITY"};

static spec_test_case *first, **end = &first, *current;
static bool prints_seconds;

void spec_test_add(spec_test_case *test)
{
    *end = test;
    end = &test->next;
}

void spec_test_skip(const char *file, int line)
{
    if (current != NULL) current->passed = true;
    _skip(file, line);
}

uint64_t spec_test_seed(void)
{
    const char *text = getenv("SPEC_TEST_SEED");
    return text != NULL ? strtoull(text, NULL, 10) : 42;
}

typedef struct {
    const char *suite, *only; /* a suite's name; patterns, separated by commas; NULL: all */
    unsigned tags, skipped_tags;
    bool lists;
} choice;

static unsigned tags_of(const spec_test_case *test)
{
    return test->tags | test->suite->tags;
}

/* Returns "decode" for tests/sim/test_decode.c. */
static const char *suite_name(const spec_test_case *test)
{
    static char name[NAME_MAX + 1];
    const char *slash = strrchr(test->file, '/'), *base = slash != NULL ? slash + 1 : test->file;
    snprintf(name, sizeof name, "%s", strncmp(base, "test_", 5) == 0 ? base + 5 : base);
    name[strcspn(name, ".")] = '\0';
    return name;
}

static bool matches(const char *patterns, const spec_test_case *test)
{
    const char *suite = suite_name(test);
    char whole[2 * NAME_MAX], pattern[2 * NAME_MAX];
    snprintf(whole, sizeof whole, "%s/%s", suite, test->name);
    for (const char *at = patterns; *at != '\0'; at += *at == ',') {
        const size_t n = strcspn(at, ",");
        snprintf(pattern, sizeof pattern, "%.*s", (int)n, at);
        at += n;
        if (fnmatch(pattern, whole, 0) == 0 || fnmatch(pattern, suite, 0) == 0 ||
            fnmatch(pattern, test->name, 0) == 0)
            return true;
    }
    return false;
}

static bool chosen(const choice *by, const spec_test_case *test)
{
    const unsigned tags = tags_of(test);
    return (by->tags == 0 || (tags & by->tags) != 0) && (tags & by->skipped_tags) == 0 &&
           (by->suite == NULL || strcmp(by->suite, suite_name(test)) == 0) &&
           (by->only == NULL || matches(by->only, test));
}

static void print_test(const spec_test_case *test)
{
    printf("%s/%s %s:%d", suite_name(test), test->name, test->file, test->line);
    for (int i = 0; i < N_TAGS; i++)
        if ((tags_of(test) >> i & 1U) != 0) printf(" %s", tag_name[i]);
    putchar('\n');
}

/* ---- A run ----------------------------------------------------------------------------------- */

static int set_up(void **state)
{
    current = *state;
    *state = NULL;
    spec_test_fixture *before =
        current->setup != NULL ? current->setup : current->suite->before_each;
    return before != NULL ? before(state) : 0;
}

/* Returns the processor time of this process and of its children that have ended. */
static double seconds_used(void)
{
    const spec_clock processor = spec_clock_processor();
    return spec_clock_read(&processor) + spec_children_seconds();
}

static void run(void **state)
{
    const double begin = seconds_used();
    current->run(state);
    current->passed = true;
    if (prints_seconds)
        printf("%8.2f s  %s/%s\n", seconds_used() - begin, suite_name(current), current->name);
}

static int tear_down(void **state)
{
    spec_test_fixture *after =
        current->teardown != NULL ? current->teardown : current->suite->after_each;
    const int code = after != NULL ? after(state) : 0;
    if (code != 0) current->passed = false;
    return code;
}

static void print_command(const spec_test_case *test, const char *program)
{
    fprintf(stderr, "%s:%d: repeat: SPEC_TEST_SEED=%" PRIu64, test->file, test->line,
            spec_test_seed());
    for (size_t i = 0; i < sizeof variable / sizeof variable[0]; i++)
        if (getenv(variable[i]) != NULL)
            fprintf(stderr, " %s=%s", variable[i], getenv(variable[i]));
    fprintf(stderr, " %s --only %s/%s\n", program, suite_name(test), test->name);
}

/* Runs the chosen tests of the suite of `begin`; returns whether all passed. */
static bool run_suite(spec_test_case *begin, const choice *by, const char *program)
{
    const spec_test_suite *suite = begin->suite;
    struct CMUnitTest *tests = NULL;
    size_t n = 0;
    for (spec_test_case *test = begin; test != NULL && test->suite == suite; test = test->next) {
        if (!chosen(by, test)) continue;
        tests = realloc(tests, (n + 1) * sizeof *tests);
        if (tests == NULL) abort();
        tests[n++] = (struct CMUnitTest){test->name, run, set_up, tear_down, test};
    }
    if ((suite->tags & SIMULATOR) != 0) spec_simulated_card();
    const bool good =
        _cmocka_run_group_tests(suite_name(begin), tests, n, suite->setup, suite->teardown) == 0;
    for (size_t i = 0; i < n && !good; i++) {
        const spec_test_case *test = tests[i].initial_state;
        if (!test->passed) print_command(test, program);
    }
    free(tests);
    return good;
}

/* Does the same in a process of its own, because suites share neither variables nor devices. */
static bool run_apart(spec_test_case *begin, const choice *by, const char *program)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) exit(!run_suite(begin, by, program));
    int status;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) abort();
    }
    if (WIFSIGNALED(status))
        fprintf(stderr, "%s --suite %s: signal %d\n", program, suite_name(begin), WTERMSIG(status));
    return status == 0;
}

/* ---- The command line ------------------------------------------------------------------------ */

static unsigned tags_named(char *text)
{
    unsigned tags = 0;
    for (char *name = strtok(text, ","); name != NULL; name = strtok(NULL, ",")) {
        int i = 0;
        while (i < N_TAGS && strcmp(name, tag_name[i]) != 0) i++;
        if (i == N_TAGS) {
            fprintf(stderr, "there is no tag '%s'\n", name);
            exit(2);
        }
        tags |= 1U << i;
    }
    return tags;
}

static const char help[] =
    "Usage: %s [OPTION...]\n"
    "Run the tests of one folder: all, or those that are chosen.\n\n"
    "  -l, --list              list the tests with their places and tags, and run none\n"
    "  -s, --suite=NAME        the tests of one file: 'decode' is test_decode.c\n"
    "  -o, --only=PATTERN,...  tests or suites of these names: 'decode/*', '*mass*'\n"
    "  -t, --tag=TAG,...       tests with one of: slow, statistics, simulator, plugin,\n"
    "                          server, driver\n"
    "      --skip-tag=TAG,...  tests with none of these\n"
    "      --seconds           print each test's processor seconds\n";

static choice chosen_by(int argc, char **argv)
{
    static const struct option options[] = {{"list", no_argument, NULL, 'l'},
                                            {"suite", required_argument, NULL, 's'},
                                            {"only", required_argument, NULL, 'o'},
                                            {"tag", required_argument, NULL, 't'},
                                            {"skip-tag", required_argument, NULL, SKIP_TAG},
                                            {"seconds", no_argument, NULL, SECONDS},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    choice by = {0};
    for (int key; (key = getopt_long(argc, argv, "ls:o:t:h", options, NULL)) != -1;) switch (key) {
        case 'l': by.lists = true; break;
        case 's': by.suite = optarg; break;
        case 'o': by.only = optarg; break;
        case 't': by.tags = tags_named(optarg); break;
        case SKIP_TAG: by.skipped_tags = tags_named(optarg); break;
        case SECONDS: prints_seconds = true; break;
        case 'h': printf(help, argv[0]); exit(0);
        default: exit(2);
        }
    if (optind < argc) {
        fprintf(stderr, "%s: '%s' is not an option\n", argv[0], argv[optind]);
        exit(2);
    }
    return by;
}

int main(int argc, char **argv)
{
    spec_supervisor_main(argc, argv);
    static char **environment; /* without secrets, because validate would name them */
    environ = environment = spec_child_environment(NULL);
    /* background jobs of a shell ignore the first signal, and nohup's command the second; the
     * programs under test would inherit that */
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    const choice by = chosen_by(argc, argv);
    int n = 0, failed = 0;
    const spec_test_suite *suite = NULL;
    for (spec_test_case *test = first; test != NULL; test = test->next) {
        if (!chosen(&by, test)) continue;
        n++;
        if (by.lists)
            print_test(test);
        else if (test->suite != suite && !run_apart(test, &by, argv[0]))
            failed++;
        suite = test->suite;
    }
    if (n == 0 && !by.lists) fprintf(stderr, "%s: no test matches\n", argv[0]);
    return n == 0 && !by.lists ? 2 : failed > 0;
}
