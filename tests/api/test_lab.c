/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "speclab/speclab.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_errno.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char question[] =
    "measure = \"decode\"; rounds = 40000; grid = { target = \"zipf?V=40&temperature=0.8\"; "
    "draft = \"perturb?of=target&alpha=0.7\"; K = [2, 3]; positions = 500; };";

static speclab *open_lab(int32_t threads)
{
    char error[512];
    speclab *lab;
    const speclab_options options = {.size = sizeof options, .threads = threads};
    if (speclab_open(&lab, &options, error, sizeof error) != SPECLAB_OK) fail_msg("%s", error);
    return lab;
}

/* The sum of a column: equal sums are equal results. */
static double ask(speclab *lab, int32_t expected)
{
    char error[512];
    double sum = 0.0;
    speclab_table *table;
    const int32_t code = speclab_run(&table, lab, question, NULL, error, sizeof error);
    if (code != expected) return NAN;
    for (int64_t i = 0; i < speclab_table_rows(table); i++)
        sum += speclab_table_number(table, i, speclab_table_find(table, "emitted"));
    speclab_table_free(table);
    return sum;
}

TEST(version_and_abi_are_those_of_the_header)
{
    assert_int_equal(speclab_abi(), SPECLAB_ABI);
    assert_true(strncmp(speclab_version(), SPEC_VERSION, strlen(SPEC_VERSION)) == 0);
}

/* Sizes of the 64-bit processors. A struct of the binary interface may only grow. */
TEST(structs_keep_their_sizes)
{
    assert_int_equal(sizeof(speclab_options), 16);
    assert_int_equal(sizeof(speclab_run_options), 64);
    assert_int_equal(sizeof(speclab_pair), 48);
    assert_int_equal(sizeof(speclab_round_options), 40);
    assert_int_equal(sizeof(speclab_outcome), 72);
    assert_int_equal(sizeof(speclab_decision), 64);
    assert_int_equal(sizeof(speclab_simulation_options), 48);
    assert_int_equal(sizeof(speclab_acceptance), 24);
    assert_int_equal(sizeof(speclab_estimates), 64);
    assert_int_equal(sizeof(speclab_text_options), 64);
    assert_int_equal(sizeof(speclab_text_part), 48);
    assert_int_equal(sizeof(speclab_batch), 144);
    assert_int_equal(sizeof(speclab_sampler), 48);
    assert_int_equal(sizeof(speclab_validate_options), 104);
}

TEST(wrong_options_are_refused)
{
    char error[512];
    speclab *lab = (speclab *)&error;
    speclab_options options = {.size = sizeof options, .threads = -1};
    assert_int_equal(speclab_open(&lab, &options, error, sizeof error), SPECLAB_INPUT);
    assert_null(lab);
    assert_string_equal(error, "threads must be 0 to 1024, got -1");
    options.threads = 1025;
    assert_int_equal(speclab_open(&lab, &options, NULL, 0), SPECLAB_INPUT);
    options = (speclab_options){.size = 4};
    assert_int_equal(speclab_open(&lab, &options, error, sizeof error), SPECLAB_INPUT);
    assert_true(strncmp(error, "the size of speclab_options is 4, not ", 38) == 0);
    assert_int_equal(speclab_open(NULL, NULL, error, sizeof error), SPECLAB_INPUT);
    assert_string_equal(error, "ret_lab is NULL");
    speclab_close(NULL);
}

TEST(threads_do_not_change_results)
{
    speclab *one = open_lab(1), *three = open_lab(3), *all = open_lab(0);
    const double sum = ask(one, SPECLAB_OK);
    assert_true(sum > 3.0);
    assert_same(ask(three, SPECLAB_OK), sum);
    assert_same(ask(all, SPECLAB_OK), sum);
    speclab_close(one);
    speclab_close(three);
    speclab_close(all);
}

static void *ask_in_thread(void *lab)
{
    double *sum = malloc(sizeof *sum);
    *sum = ask(lab, SPECLAB_OK);
    return sum;
}

TEST(several_threads_use_one_library_at_once)
{
    enum { THREADS = 4 };
    speclab *lab = open_lab(2);
    const double sum = ask(lab, SPECLAB_OK);
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, ask_in_thread, lab), 0);
    for (int i = 0; i < THREADS; i++) {
        FREED void *got;
        pthread_join(thread[i], &got);
        assert_same(*(double *)got, sum);
    }
    speclab_close(lab);
}

static speclab_simulation *open_simulation(speclab *lab)
{
    const speclab_acceptance acceptance = {.size = sizeof acceptance, .K = 3, .alpha = 0.7};
    const speclab_simulation_options options = {.size = sizeof options, .rounds = 1 << 24};
    speclab_simulation *s;
    assert_int_equal(speclab_simulation_open_acceptance(&s, lab, &acceptance, &options, NULL, 0),
                     SPECLAB_OK);
    return s;
}

/* Runs in the child of a fork; returns the exit code. */
static int use_in_child(speclab *parents, speclab_simulation *simulation, double sum)
{
    int32_t done;
    char error[512];
    speclab_table *table;
    speclab *own;
    alarm(60); /* a hang is a failure */
    if (speclab_run(&table, parents, question, NULL, error, sizeof error) != SPECLAB_FORKED)
        return 1;
    if (table != NULL || strstr(error, "forked after speclab_open") == NULL) return 2;
    if (speclab_simulation_next(&done, simulation, error, sizeof error) != SPECLAB_FORKED) return 5;
    speclab_estimates read = {.size = sizeof read};
    if (speclab_simulation_read(&read, simulation) != SPECLAB_OK || read.rounds == 0) return 6;
    speclab_simulation_close(simulation);
    if (speclab_open(&own, NULL, error, sizeof error) != SPECLAB_OK) return 3;
    if (ask(own, SPECLAB_OK) != sum) return 4;
    speclab_close(own);
    speclab_close(parents);
    return 0;
}

TEST(a_forked_child_gets_an_error_and_opens_its_own_library)
{
    int status;
    speclab *lab = open_lab(3);
    const double sum = ask(lab, SPECLAB_OK);
    speclab_simulation *simulation = open_simulation(lab);
    int32_t done;
    assert_int_equal(speclab_simulation_next(&done, simulation, NULL, 0), SPECLAB_OK);
    const pid_t child = fork();
    if (child == 0) _exit(use_in_child(lab, simulation, sum));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_same(ask(lab, SPECLAB_OK), sum);
    speclab_simulation_close(simulation);
    speclab_close(lab);
}

/* A locale with decimal commas: an installed one, or one that localedef makes in `folder`. */
static bool set_german(const char *folder)
{
    char command[256];
    if (setlocale(LC_ALL, "de_DE.UTF-8") != NULL) return true;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>/dev/null",
             folder);
    setenv("LOCPATH", folder, 1);
    return system(command) == 0 && setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
}

TEST(results_do_not_depend_on_the_locale, SLOW)
{
    char folder[] = "/tmp/speclab-locale-XXXXXX", command[64];
    speclab *lab = open_lab(2);
    const double sum = ask(lab, SPECLAB_OK);
    assert_non_null(mkdtemp(folder));
    const bool set = set_german(folder);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    unsetenv("LOCPATH");
    if (!set) {
        speclab_close(lab);
        printf("skipped: %s: localedef makes no German locale here\n", __func__);
        skip();
    }
    char before[32], after[32];
    snprintf(before, sizeof before, "%.1f", 0.5);
    assert_string_equal(before, "0,5");
    speclab *other = open_lab(3);
    assert_same(ask(lab, SPECLAB_OK), sum);
    assert_same(ask(other, SPECLAB_OK), sum);
    snprintf(after, sizeof after, "%.1f", 0.5);
    assert_string_equal(after, before);
    setlocale(LC_ALL, "C");
    speclab_close(lab);
    speclab_close(other);
}

static int errors;
static void count_error(const char *reason, const char *file, int line, int number)
{
    (void)reason, (void)file, (void)line, (void)number;
    errors++;
}

TEST(the_handlers_of_the_program_stay)
{
    struct sigaction found, left;
    assert_int_equal(sigaction(SIGINT, NULL, &found), 0);
    gsl_error_handler_t *const before = gsl_set_error_handler(count_error);
    speclab *lab = open_lab(2);
    assert_true(ask(lab, SPECLAB_OK) > 0.0);
    assert_int_equal(sigaction(SIGINT, NULL, &left), 0);
    assert_true(left.sa_handler == found.sa_handler);
    speclab_close(lab);
    assert_int_equal(errors, 0);
    assert_true(gsl_set_error_handler(before) == count_error);
}
