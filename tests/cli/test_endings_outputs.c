/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How each verb ends if its output cannot be written: a closed pipe, closed descriptors, a full
 * disk, a folder without write permission. SPECLAB names the program. */
#include "tests/cli/endings.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <linux/capability.h>

enum { FILE_BYTES = 100 };

/* ---- standard output ------------------------------------------------------------------------- */

/* Returns the command `small`, with its file or without. */
static void small_of(char arguments[ARGUMENTS], size_t i, bool with_file)
{
    snprintf(arguments, ARGUMENTS, "%s %s", verbs[i].small, with_file ? verbs[i].file : "");
}

/* Returns whether `small` needs a file. Its table then goes to standard output. */
static bool needs_file(size_t i)
{
    return strstr(file_of(i), ".gguf") != NULL || strstr(file_of(i), ".rows") != NULL ||
           strstr(file_of(i), ".svg") != NULL || strncmp(verbs[i].file, "--", 2) == 0;
}

/* Returns `small`, changed so that it writes to standard output. */
static void print_of(char arguments[ARGUMENTS], size_t i)
{
    small_of(arguments, i, needs_file(i));
    if (strncmp(verbs[i].file, "--", 2) == 0)
        snprintf(arguments, ARGUMENTS, "%s --write-trace -", verbs[i].small);
}

/* Standard output becomes a pipe that nobody reads. */
static void close_reader(void)
{
    int ends[2];
    if (pipe(ends) != 0) _exit(126);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
}

/* Runs `speclab ... | true` and, for rows that are written one by one, `speclab ... | head -1`. */
TEST(a_reader_that_leaves_ends_every_verb_as_it_ends_other_tools, SLOW)
{
    spec_needs_program();
    for (size_t i = 0; i < N_VERBS; i++) {
        spec_child c;
        char arguments[ARGUMENTS];
        print_of(arguments, i);
        spec_child_before = close_reader;
        spec_child_run(&c, arguments);
        spec_child_before = NULL;
        if (c.code != SPEC_CHILD_KILLED + SIGPIPE || strstr(c.line, "standard output") != NULL)
            complain("%s | true: %d: %s", arguments, c.code, c.line);
        spec_child_free(&c);
        remove_files(arguments, ".partial");
        if (verbs[i].work != GROWS) continue;
        spec_child_start(&c, NULL, NULL, verbs[i].run);
        spec_child_listen(&c, "\n");
        close(c.out);
        c.out = -1;
        spec_child_listen(&c, NULL);
        if (c.code != SPEC_CHILD_KILLED + SIGPIPE || c.n_line > 0)
            complain("%s | head -1: %d: %s", verbs[i].run, c.code, c.line);
        spec_child_free(&c);
    }
    no_complaints();
}

/* `-o -` and similar options mean standard output, or are refused: no file is created with that
 * name. */
TEST(a_minus_is_standard_output, SLOW)
{
    spec_needs_program();
    for (size_t i = 0; i < N_VERBS; i++) {
        char arguments[ARGUMENTS];
        const char *option = verbs[i].file;
        spec_child c;
        snprintf(arguments, sizeof arguments, "%s %.*s-",
                 option[0] == '\0' ? "quantize lm.gguf" : verbs[i].small,
                 (int)(strlen(option) - (option[0] == '\0' ? 0 : strlen(file_of(i)))), option);
        spec_child_run(&c, arguments);
        const bool refused = c.code == 2 && c.n == 0 && c.n_line > 0;
        if (needs_file(i) && option[0] == '-' && option[1] == 'o' ? !refused
            : option[0] == '\0'                                   ? !refused
                                : (c.code != 0 && c.code != 3) || c.n == 0)
            complain("%s: %d: %s", arguments, c.code, c.line);
        if (access("-", F_OK) == 0) complain("%s: there is a file '-'", arguments);
        unlink("-");
        spec_child_free(&c);
    }
    spec_program_works(TOKEN "--budget 100k -o f.txt --report -");
    spec_program_works(TOKEN "--budget 100k -o f.txt --junit -");
    spec_program_fails(TOKEN "--budget 100k --report -", 2,
                       "speclab validate: two reports cannot both go to standard output");
    assert_int_not_equal(access("-", F_OK), 0);
    remove_files("--report -", ".partial");
    no_complaints();
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static int closed_fd;

static void close_one(void)
{
    close(closed_fd);
}

/* Runs `small` with the descriptor closed; -1: none. */
static char *run_closed(spec_child *c, const char *arguments, int fd, size_t i)
{
    closed_fd = fd;
    spec_child_before = fd >= 0 ? close_one : NULL;
    spec_child_run(c, arguments);
    spec_child_before = NULL;
    return spec_file_bytes(file_of(i));
}

/* The file is the same as if all descriptors were open, and no message ends up in it. */
TEST(no_message_goes_into_a_file_where_descriptors_are_closed, SLOW)
{
    spec_needs_program();
    for (size_t i = 0; i < N_VERBS; i++) {
        char arguments[ARGUMENTS], message[64];
        spec_child open, c;
        small_of(arguments, i, true);
        char *bytes = run_closed(&open, arguments, -1, i);
        if (bytes[0] == '\0') complain("%s: wrote nothing: %s", arguments, open.line);
        remove_files(arguments, ".partial");
        for (int fd = 0; fd < 3; fd++) {
            char *now_bytes = run_closed(&c, arguments, fd, i);
            const int code = fd == STDOUT_FILENO && verbs[i].prints ? 2 : open.code;
            if (c.code != code)
                complain("%s, %d closed: exit code %d: %s", arguments, fd, c.code, c.line);
            snprintf(message, sizeof message, "speclab %s: ", name_of(i));
            if (verbs[i].same ? strcmp(now_bytes, bytes) != 0
                              : now_bytes[0] == '\0' || strstr(now_bytes, message) != NULL)
                complain("%s, %d closed: another file: %.2000s", arguments, fd, now_bytes);
            free(now_bytes);
            spec_child_free(&c);
            remove_files(arguments, ".partial");
        }
        free(bytes);
        spec_child_free(&open);
    }
    no_complaints();
}

TEST(closed_standard_output_is_an_error, SLOW)
{
    spec_needs_program();
    for (size_t i = 0; i < N_VERBS; i++) {
        char arguments[ARGUMENTS];
        spec_child c;
        print_of(arguments, i);
        free(run_closed(&c, arguments, STDOUT_FILENO, i));
        if (c.code != 2 || strstr(c.line, "standard output: ") == NULL ||
            strstr(c.line, "Bad file descriptor") == NULL)
            complain("%s >&-: %d: %s", arguments, c.code, c.line);
        spec_child_free(&c);
        remove_files(arguments, ".partial");
    }
    no_complaints();
}

/* ---- files that cannot be written ------------------------------------------------------------ */

static void limit_files(void)
{
    const struct rlimit limit = {FILE_BYTES, FILE_BYTES};
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void fill_file(size_t i)
{
    char arguments[ARGUMENTS], begin[80];
    spec_child c;
    small_of(arguments, i, true);
    snprintf(begin, sizeof begin, ": %s: ", file_of(i));
    spec_child_before = limit_files;
    spec_child_run(&c, arguments);
    spec_child_before = NULL;
    if (c.code != 2 || strstr(c.line, begin) == NULL || strstr(c.line, ": File too large") == NULL)
        complain("%s: %d: %s", arguments, c.code, c.line);
    if (remove_files(arguments, NULL) > 0) complain("%s: a file is left", arguments);
    spec_child_free(&c);
}

static void fill_standard_output(size_t i)
{
    char arguments[ARGUMENTS];
    spec_child c;
    print_of(arguments, i);
    spec_child_start(&c, NULL, "/dev/full", arguments);
    spec_child_listen(&c, NULL);
    if (c.code != 2 || strstr(c.line, "standard output: ") == NULL ||
        strstr(c.line, "No space left on device") == NULL)
        complain("%s >/dev/full: %d: %s", arguments, c.code, c.line);
    spec_child_free(&c);
    remove_files(arguments, ".partial");
}

TEST(a_full_disk_is_an_error_that_names_the_file_and_leaves_none, SLOW)
{
    spec_needs_program();
    for (size_t i = 0; i < N_VERBS; i++) {
        /* gnuplot's file is in memory, which the limit also covers; test_plot_faults.c fills a
         * disk */
        if (strcmp(name_of(i), "plot") != 0) fill_file(i);
        fill_standard_output(i);
    }
    no_complaints();
}

/* Root may write into every folder, so the program runs without that right. */
static void drop_override(void)
{
    prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE);
}

TEST(a_folder_that_cannot_be_written_is_told_before_any_work, SLOW)
{
    spec_needs_program();
    write_large_models();
    for (size_t i = 0; i < N_VERBS; i++) {
        char arguments[ARGUMENTS], begin[80];
        spec_child c;
        const bool quantize = strcmp(name_of(i), "quantize") == 0;
        const char *option = quantize ? "" : verbs[i].file;
        if (verbs[i].work == OPENS) continue; /* it waits for its input first */
        snprintf(arguments, sizeof arguments, "%s %.*sreadonly/%s",
                 quantize ? "quantize big.gguf" : verbs[i].run,
                 (int)(strlen(option) - (quantize ? 0 : strlen(file_of(i)))), option, file_of(i));
        snprintf(begin, sizeof begin, "readonly/%s: Permission denied", file_of(i));
        const double before = spec_children_seconds();
        spec_child_before = drop_override;
        spec_child_start(&c, NULL, NULL, arguments);
        spec_child_listen(&c, NULL);
        spec_child_before = NULL;
        const double used = spec_children_seconds() - before;
        if (c.code != 2 || strstr(c.line, begin) == NULL || used > CPU_MOST)
            complain("%s: %d, %.1f s: %s", arguments, c.code, used, c.line);
        spec_child_free(&c);
    }
    no_complaints();
}

SUITE(.setup = set_up, .teardown = spec_program_tear_down);
