/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/experiment.h"
#include "tests/support/child.h"
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* An experiment of 18 points with simulated rows. */
static const char grid_text[] = "measure = \"acceptance\"; rounds = 3000; figure = \"speedup\";\n"
                                "grid = { process = [\"iid\", \"markov?rho=0.5&spread=0.1\"]; "
                                "alpha = \"0.3:0.7:0.2\"; K = [1, 2, 7]; };\n";

static void parse(spec_experiment *experiment, const char *text, const char *const *set)
{
    spec_error error = {""};
    if (spec_experiment_parse(experiment, "run.cfg", text, strlen(text), set, &error) !=
        GSL_SUCCESS)
        fail_msg("%s", error.text);
}

static char *read_bytes(const char *path, size_t *ret_n)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    char *bytes = calloc(1 << 20, 1);
    *ret_n = fread(bytes, 1, (1 << 20) - 1, in);
    fclose(in);
    return bytes;
}

static void write_bytes(const char *path, const char *bytes, size_t n)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
}

static void temporary(char path[64])
{
    strcpy(path, "/tmp/speclab-test-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
}

/* Runs the experiment of a text into a file; returns the file's bytes. */
static char *run_to(const char *path, const char *text, const char *const *set, int threads,
                    bool resume, uint64_t *opt_resumed, size_t *ret_n)
{
    spec_experiment e;
    spec_result result;
    spec_error error = {""};
    spec_run_options options = {
        .csv_path = path, .opt_context = spec_test_context(threads), .resume = resume};
    parse(&e, text, set);
    if (spec_experiment_run(&result, &e, &options, &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
    if (opt_resumed != NULL) *opt_resumed = result.resumed;
    spec_result_free(&result);
    spec_experiment_free(&e);
    return read_bytes(path, ret_n);
}

/* Runs first, before any threads start, because fork loses them: kill -9 in the middle, resume,
 * and compare. */
TEST(a_killed_run_resumes_to_the_same_bytes)
{
    static const char *const slow[] = {"rounds=3000000", NULL};
    char whole_path[64], path[64];
    size_t n_whole, n;
    uint64_t resumed = 0;
    temporary(whole_path);
    temporary(path);
    for (int attempt = 0; resumed == 0 || resumed == 18; attempt++) {
        assert_true(attempt < 20); /* otherwise this process slept through every run */
        assert_int_equal(truncate(path, 0), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            spec_experiment e;
            spec_result result;
            spec_run_options options = {.csv_path = path, .opt_context = spec_test_context(1)};
            if (spec_experiment_parse(&e, "run.cfg", grid_text, strlen(grid_text), slow, NULL) ==
                GSL_SUCCESS)
                spec_experiment_run(&result, &e, &options, NULL);
            _exit(0);
        }
        /* the file begins with the first finished row */
        spec_await(spec_file_size(path) > 0 || spec_child_ended(child));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        free(run_to(path, grid_text, slow, 1, true, &resumed, &n));
    }
    char *whole = run_to(whole_path, grid_text, slow, 1, false, NULL, &n_whole),
         *bytes = read_bytes(path, &n);
    assert_int_equal(n, n_whole);
    assert_memory_equal(bytes, whole, n);
    free(bytes);
    free(whole);
    unlink(path);
    unlink(whole_path);
}

/* Cut a result at every byte of its last rows, and at some earlier ones; resume, and compare. */
TEST(a_result_cut_anywhere_resumes_to_the_same_bytes)
{
    static const char text[] =
        "measure = \"predict\"; grid = { alpha = \"0.27,0.8\"; K = [1, 5, 9]; };";
    char path[64];
    size_t n, n_again;
    temporary(path);
    char *whole = run_to(path, text, NULL, 1, false, NULL, &n);
    for (size_t cut = 0; cut <= n; cut += cut + 90 < n ? 11 : 1) {
        uint64_t resumed;
        write_bytes(path, whole, cut);
        char *again = run_to(path, text, NULL, 1, true, &resumed, &n_again);
        assert_int_equal(n, n_again);
        assert_memory_equal(whole, again, n);
        if (cut == n) assert_int_equal(resumed, 6);
        if (cut == n - 1) assert_int_equal(resumed, 5);
        if (cut == 0) assert_int_equal(resumed, 0);
        free(again);
    }
    unlink(path); /* and the same with an empty file */
    free(run_to(path, text, NULL, 1, true, NULL, &n_again));
    assert_int_equal(n, n_again);
    free(whole);
    unlink(path);
}

TEST(the_bytes_do_not_depend_on_the_threads)
{
    char path[64];
    size_t n1, n3;
    temporary(path);
    char *one = run_to(path, grid_text, NULL, 1, false, NULL, &n1),
         *three = run_to(path, grid_text, NULL, 3, false, NULL, &n3);
    assert_int_equal(n1, n3);
    assert_memory_equal(one, three, n1);
    free(one);
    free(three);
    unlink(path);
}

TEST(the_head_names_everything_that_the_rows_depend_on)
{
    static const char *const set[] = {"seed=7", NULL};
    char path[64];
    size_t n;
    temporary(path);
    char *bytes = run_to(path,
                         "measure = \"acceptance\"; rounds = 100; figure = \"speedup\"; grid = { "
                         "alpha = 0.27; K = 2; c = 0.1; };",
                         set, 1, false, NULL, &n);
    const char *const lines[] = {"# speclab " SPEC_VERSION " (",
                                 "# experiment: run\n",
                                 "# measure: acceptance\n",
                                 "# figure: speedup\n",
                                 "# seed: 7\n",
                                 "# rounds: 100\n",
                                 "# compiler: ",
                                 "# | measure = \"acceptance\"; rounds",
                                 "# | # set seed=7\n",
                                 ("\nalpha,K,c,rounds,emitted,emitted_se,emitted_theory,emitted_z,"
                                  "speedup,speedup_theory,ops_factor,row_check\n"
                                  "0.27,2,0.1,100,")};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (strstr(bytes, lines[i]) == NULL) fail_msg("no '%s' in:\n%s", lines[i], bytes);
    assert_null(strstr(bytes, path));
    free(bytes);
    unlink(path);
}

/* `show` hides the parameters and the column that checks rows: row_check alone stores the result
 * of each check and the order of the rows. */
TEST(rows_that_show_little_resume_and_cannot_be_edited)
{
    static const char text[] =
        "measure = \"acceptance\"; grid = { alpha = \"0.27,0.5,0.8\"; K = 3; };"
        "rounds = 2000; show = [\"speedup\"];";
    char path[64];
    size_t n, n_again;
    uint64_t resumed;
    spec_error error = {""};
    spec_experiment e;
    spec_result result;
    temporary(path);
    char *whole = run_to(path, text, NULL, 1, false, NULL, &n);
    char *last = strrchr((whole[n - 1] = '\0', whole), '\n') + 1;
    whole[n - 1] = '\n';
    write_bytes(path, whole, (size_t)(last - whole));
    char *again = run_to(path, text, NULL, 1, true, &resumed, &n_again);
    assert_int_equal(resumed, 2);
    assert_int_equal(n_again, n);
    assert_memory_equal(again, whole, n);

    const spec_run_options options = {.csv_path = path, .resume = true};
    parse(&e, text, NULL);
    assert_int_equal(spec_experiment_run(&result, &e, &options, &error), GSL_SUCCESS);
    assert_int_equal(result.resumed, 3);
    assert_int_equal(result.holds, 3);
    assert_int_equal(result.fails, 0);
    spec_result_free(&result);

    /* The second row is missing. */
    char *first = strstr(whole, "row_check\n") + strlen("row_check\n"),
         *second = strchr(first, '\n') + 1;
    memmove(second, last, n - (size_t)(last - whole));
    write_bytes(path, whole, n - (size_t)(last - second));
    assert_int_equal(spec_experiment_run(&result, &e, &options, &error), GSL_EINVAL);
    assert_non_null(strstr(error.text, ": cannot resume: row 2 was edited"));
    spec_result_free(&result);
    spec_experiment_free(&e);
    free(whole);
    free(again);
    unlink(path);
}

TEST(a_resume_of_something_else_is_refused)
{
    static const char *const other_seed[] = {"seed=7", NULL},
                             *const other_rounds[] = {"rounds=9", NULL},
                             *const other_alpha[] = {"alpha=0.3", NULL};
    static const char text[] =
        "measure = \"predict\"; grid = { alpha = \"0.27,0.8\"; K = [1, 5, 9]; };";
    const struct {
        const char *const *set;
        const char *from, *to, *error;
    } cases[] = {
        {other_seed, "", "",
         ":4: cannot resume: another experiment, seed, version or setting wrote '# seed: 42'"},
        {other_rounds, "", "", ":7: cannot resume"},
        {other_alpha, "", "", ":7: cannot resume"},
        {NULL, "0.27,5", "0.28,5", ": row 2 has a different alpha from what this run would write"},
        {NULL, "0.8,9", "0.8,8", ": row 6 has a different K from"},
        {NULL, "0.8,1,", "0.8,1,7,", ":11: more than the 10 fields"},
        {NULL, "0.27,5", "0.270,5", ": cannot resume: row 2 was edited"},
        {NULL, "0.5066080745,", "0.5066080746,", ": cannot resume: row 3 was edited"},
        {NULL, ",n", ",h", ": cannot resume: row 1 was edited"},
        {NULL, ",n", ",x", ": cannot resume: row 1 was edited"},
    };
    char path[64];
    size_t n;
    temporary(path);
    char *whole = run_to(path, text, NULL, 1, false, NULL, &n);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spec_experiment e;
        spec_result result;
        spec_error error = {""};
        spec_run_options options = {.csv_path = path, .resume = true};
        char *edited = calloc(n + 10, 1), *at = strstr(whole, cases[i].from);
        sprintf(edited, "%.*s%s%s", (int)(at - whole), whole, cases[i].to,
                at + strlen(cases[i].from));
        write_bytes(path, edited, strlen(edited));
        parse(&e, text, cases[i].set);
        assert_int_equal(spec_experiment_run(&result, &e, &options, &error), GSL_EINVAL);
        if (strncmp(error.text, path, strlen(path)) != 0 ||
            strncmp(error.text + strlen(path), cases[i].error, strlen(cases[i].error)) != 0)
            fail_msg("'%s', not '%s'", error.text, cases[i].error);
        size_t n_after;
        char *after = read_bytes(path, &n_after); /* and the file stays unchanged */
        assert_string_equal(after, edited);
        free(after);
        free(edited);
        spec_result_free(&result);
        spec_experiment_free(&e);
    }
    write_bytes(path, whole, n);
    FILE *more = fopen(path, "ab");
    fputs("0.8,9,0,0,0,0,0,0,0,n00000000\n", more);
    fclose(more);
    spec_experiment e;
    spec_result result;
    spec_error error = {""};
    spec_run_options options = {.csv_path = path, .resume = true};
    parse(&e, text, NULL);
    assert_int_equal(spec_experiment_run(&result, &e, &options, &error), GSL_EINVAL);
    assert_non_null(strstr(error.text, "more rows than this run would write"));
    spec_result_free(&result);
    spec_experiment_free(&e);
    free(whole);
    unlink(path);
}

TEST(adding_a_point_changes_no_other)
{
    static const char *const more[] = {"alpha=0.3,0.5,0.6,0.7", NULL};
    spec_experiment few, many;
    spec_result a, b;
    spec_run_options options = {.opt_context = spec_test_context(1)};
    spec_error error;
    size_t matched = 0;
    parse(&few, grid_text, NULL);
    parse(&many, grid_text, more);
    assert_int_equal(spec_experiment_run(&a, &few, &options, &error), GSL_SUCCESS);
    assert_int_equal(spec_experiment_run(&b, &many, &options, &error), GSL_SUCCESS);
    int alpha = spec_table_column(&b.table, "alpha"),
        emitted = spec_table_column(&b.table, "emitted");
    for (size_t r = 0; r < b.table.n_rows; r++) {
        if (spec_cell_number(spec_table_cell(&b.table, r, alpha)) == 0.6) continue;
        assert_same(spec_cell_number(spec_table_cell(&b.table, r, emitted)),
                    spec_cell_number(spec_table_cell(&a.table, matched, emitted)));
        matched++;
    }
    assert_int_equal(matched, a.table.n_rows);
    spec_result_free(&a);
    spec_result_free(&b);
    spec_experiment_free(&few);
    spec_experiment_free(&many);
}

typedef struct {
    volatile int stop;
    uint64_t after;
} brake;

static void stop_after(void *context, double done, uint64_t total)
{
    brake *b = context;
    assert_int_equal(total, 18);
    if (done == (double)b->after) b->stop = 1;
}

TEST(a_stopped_run_keeps_its_rows_and_goes_on)
{
    char path[64], whole_path[64];
    size_t n, n_whole;
    spec_experiment e;
    spec_result result;
    spec_error error = {""};
    uint64_t resumed;
    brake b = {.after = 5};
    temporary(path);
    temporary(whole_path);
    spec_run_options options = {.csv_path = path,
                                .opt_context = spec_test_context(1),
                                .stop = &b.stop,
                                .progress = stop_after,
                                .self = &b};
    parse(&e, grid_text, NULL);
    assert_int_equal(spec_experiment_run(&result, &e, &options, &error), GSL_EFAILED);
    assert_string_equal(error.text,
                        "interrupted after 5 of 18 points; --resume continues from there");
    assert_int_equal(result.table.n_rows, 5);
    spec_result_free(&result);
    spec_experiment_free(&e);
    char *bytes = run_to(path, grid_text, NULL, 1, true, &resumed, &n);
    assert_int_equal(resumed, 5);
    char *whole = run_to(whole_path, grid_text, NULL, 1, false, NULL, &n_whole);
    assert_int_equal(n, n_whole);
    assert_memory_equal(bytes, whole, n);
    free(bytes);
    free(whole);
    unlink(path);
    unlink(whole_path);
}

TEST(a_full_disk_and_a_closed_pipe_are_told)
{
    spec_experiment e;
    spec_result result;
    spec_error error = {""};
    int end[2];
    parse(&e, grid_text, NULL);
    spec_run_options full = {.csv_path = "/dev/full", .opt_context = spec_test_context(1)};
    assert_int_equal(spec_experiment_run(&result, &e, &full, &error), GSL_EFAILED);
    assert_string_equal(error.text, "/dev/full: No space left on device after 0 of 18 points");
    spec_result_free(&result);

    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(end), 0);
    close(end[0]);
    FILE *out = fdopen(end[1], "w");
    spec_run_options closed = {.opt_csv = out, .opt_context = spec_test_context(1)};
    assert_int_equal(spec_experiment_run(&result, &e, &closed, &error), GSL_EFAILED);
    assert_string_equal(error.text, "standard output: Broken pipe after 0 of 18 points");
    spec_result_free(&result);
    fclose(out);

    spec_run_options folder = {.csv_path = "/tmp", .opt_context = spec_test_context(1)};
    assert_int_equal(spec_experiment_run(&result, &e, &folder, &error), GSL_EFAILED);
    assert_string_equal(error.text, "/tmp: Is a directory");
    spec_result_free(&result);
    spec_experiment_free(&e);
}

TEST(an_experiment_that_cannot_run_says_why)
{
    const char *const cases[][2] = {
        {"measure = \"predict\"; grid = { alpha = 0.5; };", "predict needs 'K'"},
        {"measure = \"predict\"; grid = { alpha = 0.5; K = 1; emitted = 3; }; labels = "
         "\"emitted\";",
         "'emitted' is a column of predict: another name is needed"},
        {"measure = \"predict\"; grid = { alpha = 1.5; K = 1; };",
         "K=1;alpha=1.5: alpha: 1.5 is not within [0, 1]"},
        {"measure = \"predict\"; grid = { alpha = 0.5; K = -1; };",
         "K=-1;alpha=0.5: K: -1 is not within [0, 256]"},
        {"measure = \"predict\"; grid = { alpha = \"x\"; K = 1; };",
         "K=1;alpha=x: alpha: 'x' is not a number"},
        {"measure = \"predict\"; grid = { alpha = 0.5; K = 1.5; };",
         "K=1.5;alpha=0.5: K: '1.5' is not a whole number"},
        {"measure = \"overlap\"; grid = { target = \"zipf?V=3\"; draft = \"zipf?V=4\"; };",
         "draft=zipf?V=4;target=zipf?V=3: draft: the draft has 4 tokens and the target 3: they "
         "must share one "
         "vocabulary"},
        {"measure = \"prove\"; grid = { target = \"zipf?V=3\"; draft = \"chain:zipf?V=3\"; rule = "
         "\"tokn\"; K = 1; };",
         "K=1;draft=chain:zipf?V=3;rule=tokn;target=zipf?V=3: rule: no rule"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spec_experiment e;
        spec_result result;
        spec_error error = {""};
        spec_run_options options = {.opt_context = spec_test_context(1)};
        parse(&e, cases[i][0], NULL);
        assert_int_not_equal(spec_experiment_run(&result, &e, &options, &error), GSL_SUCCESS);
        if (strncmp(error.text, cases[i][1], strlen(cases[i][1])) != 0)
            fail_msg("'%s', not '%s'", error.text, cases[i][1]);
        spec_result_free(&result);
        /* An error without its grid point begins with the parameter at fault. */
        options.no_point = true;
        assert_int_not_equal(spec_experiment_run(&result, &e, &options, &error), GSL_SUCCESS);
        const char *rest = strstr(cases[i][1], ": ");
        if (strchr(cases[i][1], '=') != NULL && strchr(cases[i][1], '=') < rest)
            assert_int_equal(strncmp(error.text, rest + 2, strlen(rest + 2)), 0);
        spec_result_free(&result);
        spec_experiment_free(&e);
    }
}
