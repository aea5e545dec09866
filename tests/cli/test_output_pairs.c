/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gives every pair of options that write a file, as the help texts list them, together. SPECLAB
 * names the program. */
#include "tests/cli/help_text.h"
#include "tests/support/support.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

typedef struct {
    const char *verb, *rest;
    int code;
} command;

static const command commands[] = {
    {"validate", "rule:resample-target --only two-2 --budget 20k", 1},
    {"validate", "rule:token --only two-2 --budget 200k", 0},
    {"validate", "rule:lenience --only zipf-16 --budget 400k", 0},
    {"validate", "rule:token --only two-2 --budget 100", 3},
    {"validate", "rule:token --calibrate 3 --only two-2 --budget 5k", 0},
    {"serve", "--alpha 0.7 --rate 5 --requests 50", 0},
    {"plan", "--accept 0.6,0.2,0.1 --nodes 4", 0},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands, MOST = 8 };

typedef struct {
    char option[64], file[32];
} output;

/* The options whose help says that they write a file, and a file for each, all with the same
 * stem. */
static int outputs_of(output ret[MOST], const char *verb)
{
    static const char *const says[][2] = {{"draw ", "v.svg"},
                                          {"report as JUnit", "v.xml"},
                                          {"report as JSON", "v.json"},
                                          {"write a trace", "v.jsonl"},
                                          {" to FILE", "v.csv"}};
    char *help = help_of(verb), name[64], about[2048];
    int n = 0;
    for (const char *at = help; (at = next_option(at, name, about)) != NULL;)
        for (size_t i = 0; i < sizeof says / sizeof *says && strncmp(about, "=FILE", 5) == 0; i++)
            if (strstr(about, says[i][0]) != NULL) {
                assert_true(n < MOST);
                const bool main = strcmp(name, "output") == 0; /* serve's --output has a list */
                snprintf(ret[n].option, sizeof ret[n].option, main ? "-o" : "--%s", name);
                snprintf(ret[n++].file, sizeof ret[n].file, "%s", says[i][1]);
                break;
            }
    free(help);
    return n;
}

/* Removes the files of a run, and returns how many there were. */
static int remove_files(const char *arguments)
{
    DIR *folder = opendir(".");
    int n = 0;
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, "v.", 2) != 0) continue;
        if (strstr(entry->d_name, ".partial") != NULL || strstr(entry->d_name, ".bak") != NULL)
            fail_msg("%s: left %s", arguments, entry->d_name);
        assert_int_equal(unlink(entry->d_name), 0);
        n++;
    }
    closedir(folder);
    return n;
}

/* A pair either works, or is refused in one line before anything is written. Returns whether it
 * works. */
static bool tries(const command *c, const output *a, const output *b)
{
    char arguments[400];
    spec_child child;
    snprintf(arguments, sizeof arguments, "%s %s %s %s %s %s", c->verb, c->rest, a->option, a->file,
             b->option, b->file);
    spec_child_run(&child, arguments);
    const bool refused = child.code == 2;
    const bool both = access(a->file, F_OK) == 0 && access(b->file, F_OK) == 0;
    const bool drawn = strcmp(a->option, "--figure") == 0 || strcmp(b->option, "--figure") == 0;
    const char *said[] = {child.text, child.line};
    static const char *const verdicts[] = {"PASS: ", "FAIL: ", "LOSSY: ", "INCONCLUSIVE: "};
    bool told = strcmp(c->verb, "validate") != 0 || strstr(c->rest, "--calibrate") != NULL;
    for (int i = 0; i < 8; i++) told = told || strstr(said[i % 2], verdicts[i / 2]) != NULL;
    if (refused ? strchr(child.line, '\n') != child.line + child.n_line - 1
                : child.code != c->code || !told || (!both && !(drawn && c->code != 1)))
        fail_msg("%s: code %d, %s", arguments, child.code, child.line);
    spec_child_free(&child);
    const int n = remove_files(arguments);
    if (refused && n > 0) fail_msg("%s: refused, but %d files were written", arguments, n);
    return !refused;
}

TEST(every_pair_of_outputs_works_or_is_refused_at_once, SLOW)
{
    spec_needs_program();
    int works[N_COMMANDS] = {0};
    for (int i = 0; i < N_COMMANDS; i++) {
        output all[MOST];
        const int n = outputs_of(all, commands[i].verb);
        for (int a = 0; a < n; a++)
            for (int b = a + 1; b < n; b++) works[i] += tries(&commands[i], &all[a], &all[b]);
    }
    for (int i = 0; i < 4; i++) assert_int_equal(works[i], 6); /* not with --write-trace */
    assert_int_equal(works[4], 1);
    for (int i = 5; i < N_COMMANDS; i++) assert_int_equal(works[i], 1);
}

/* A run that is interrupted gives no verdict, and leaves no file. */
TEST(an_interrupted_run_leaves_nothing, SLOW)
{
    spec_needs_program();
    output all[MOST];
    const int n = outputs_of(all, "validate");
    for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n; b++) {
            char arguments[400];
            spec_child c;
            if (strcmp(all[a].option, "--write-trace") == 0 ||
                strcmp(all[b].option, "--write-trace") == 0)
                continue;
            snprintf(arguments, sizeof arguments,
                     "validate rule:token --only two-2 --budget 10min %s %s %s %s", all[a].option,
                     all[a].file, all[b].option, all[b].file);
            spec_child_start(&c, NULL, NULL, arguments);
            spec_await(spec_child_catches(c.pid, SIGINT) && spec_child_seconds(c.pid) > 0.05);
            assert_int_equal(kill(c.pid, SIGINT), 0);
            spec_child_listen(&c, NULL);
            spec_child_says(&c, arguments, 130, "speclab validate: interrupted");
            spec_child_free(&c);
            assert_int_equal(remove_files(arguments), 0);
        }
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
