/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Help, hints for the option names of other programs, and options that are given twice. SPECLAB
 * names the program. */
#include "cli/option_hints.h"
#include "tests/cli/help_text.h"
#include "tests/support/support.h"

#include <string.h>

static const char *const verbs[] = {
    "predict",  "sweep",  "run",    "plot",    "prove",    "accept", "plan",   "generate", "bench",
    "validate", "rows",   "train",  "tune",    "quantize", "widen",  "import", "serve",    "merge",
    "step",     "report", "advise", "profile", "list",     "served", "drive",  NULL};
enum { N_VERBS = sizeof verbs / sizeof verbs[0] - 1 };

TEST(help_of_a_verb_is_what_the_verb_says)
{
    spec_needs_program();
    for (int i = 0; verbs[i] != NULL; i++) {
        char arguments[64], *by_option = help_of(verbs[i]);
        spec_child c;
        snprintf(arguments, sizeof arguments, "help %s", verbs[i]);
        spec_child_run(&c, arguments);
        assert_int_equal(c.code, 0);
        assert_string_equal(c.text, by_option);
        spec_child_free(&c);
        free(by_option);
    }
    spec_program_works("help help");
    spec_program_works("help --help");
}

static bool has_option(const char *help, const char *option)
{
    char whole[80];
    const size_t n = strlen(option);
    snprintf(whole, sizeof whole, " --%s", option);
    for (const char *at = help; (at = strstr(at, whole)) != NULL; at++)
        if (strchr("= \n", at[n + 3]) != NULL) return true;
    return false;
}

/* Every option in an example is an option of the verb that the example names. */
TEST(every_verb_has_examples_of_its_own_options)
{
    spec_needs_program();
    for (int i = 0; verbs[i] != NULL; i++) {
        char *help = help_of(verbs[i]), begin[32];
        int examples = 0;
        snprintf(begin, sizeof begin, "\n  $ speclab %s ", verbs[i]);
        for (const char *at = help; (at = strstr(at, begin)) != NULL; at++) {
            char line[128];
            snprintf(line, sizeof line, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
            for (char *option = line; (option = strstr(option, " --")) != NULL; option++) {
                char name[64];
                snprintf(name, sizeof name, "%.*s", (int)strcspn(option + 3, " ="), option + 3);
                if (!has_option(help, name)) fail_msg("%s: no --%s, of %s", verbs[i], name, line);
            }
            examples++;
        }
        if (examples == 0) fail_msg("%s has no example", verbs[i]);
        free(help);
    }
}

/* Gives each option of each verb twice. */
TEST(an_option_repeats_if_and_only_if_its_help_says_so, SLOW)
{
    spec_needs_program();
    int repeated = 0;
    for (int v = 0; verbs[v] != NULL; v++) {
        char *help = help_of(verbs[v]), name[64], about[2048], arguments[256];
        for (const char *at = help; (at = next_option(at, name, about)) != NULL;) {
            const bool says = strstr(about, "may be repeated") != NULL;
            spec_child c;
            snprintf(arguments, sizeof arguments, "%s --%s=x --%s=y", verbs[v], name, name);
            spec_child_run(&c, arguments);
            const bool refused = strstr(c.line, "is given twice") != NULL;
            if (refused == says) fail_msg("%s --%s %s; %s", verbs[v], name, about, c.line);
            spec_child_free(&c);
            repeated += says;
        }
        free(help);
    }
    assert_true(repeated >= 5);
}

enum {
    MOST_LINES = 37,
    MOST_OF_OVERVIEW = 21,
    MOST_INDENT = 6
}; /* fits a screen of 24 lines with both prompts */

TEST(the_help_of_all_fits_a_screen)
{
    spec_needs_program();
    spec_child c;
    int lines = 0;
    spec_child_run(&c, "help");
    for (const char *line = c.text; *line != '\0'; line += strcspn(line, "\n") + 1, lines++)
        if (strcspn(line, "\n") > 80) fail_msg("too wide: %.100s", line);
    if (lines > MOST_LINES) fail_msg("%d lines", lines);
    for (int i = 0; verbs[i] != NULL; i++) {
        char begin[32];
        snprintf(begin, sizeof begin, "\n  %s  ", verbs[i]);
        if (strstr(c.text, begin) == NULL) fail_msg("no %s", verbs[i]);
    }
    spec_child_free(&c);
}

/* Usage, options and texts of each verb. The help of an option begins in column 30, beside a short
 * name and below a long one; only examples may be longer than 79 columns. */
TEST(the_help_of_a_verb_is_aligned)
{
    enum { COLUMNS = 79, HELP = 29 };
    spec_needs_program();
    for (int v = 0; verbs[v] != NULL; v++) {
        char *help = help_of(verbs[v]);
        for (const char *line = help; *line != '\0'; line += strcspn(line, "\n") + 1) {
            const int n = (int)strcspn(line, "\n");
            const char *name = line + strspn(line, " ");
            const bool option = *name == '-' && (name - line == 2 || name - line == MOST_INDENT),
                       example = strncmp(line, "  $ ", 4) == 0;
            if (!example && n > COLUMNS) fail_msg("%s: too wide: %.*s", verbs[v], n, line);
            if (name[1] != '-') name += strcspn(name, " \n") + 1; /* after the letter */
            if (option && name + strcspn(name, " \n") < line + n &&
                (line[HELP - 1] != ' ' || line[HELP] == ' '))
                fail_msg("%s: not aligned: %.*s", verbs[v], n, line);
        }
        free(help);
    }
}

/* 'speclab' alone, on a terminal of 24 lines: all verbs. */
TEST(the_overview_fits_a_screen_of_24_lines)
{
    spec_needs_program();
    spec_child c;
    int lines = 0;
    spec_child_run(&c, "");
    assert_int_equal(c.code, 2);
    for (const char *line = c.line; *line != '\0'; line += strcspn(line, "\n") + 1, lines++)
        if (strcspn(line, "\n") > 80) fail_msg("too wide: %.100s", line);
    if (lines > MOST_OF_OVERVIEW) fail_msg("%d lines", lines);
    for (int i = 0; verbs[i] != NULL; i++) {
        char word[32];
        snprintf(word, sizeof word, " %s", verbs[i]);
        const char *at = strstr(c.line, "\n\n");
        while (at != NULL && strchr(" \n", at[strlen(word)]) == NULL) at = strstr(at + 1, word);
        if (at == NULL) fail_msg("no %s", verbs[i]);
    }
    spec_child_free(&c);
}

/* merge has almost no options, so the hint about another engine's name ends with the verbs that
 * have the option. */
TEST(hints_name_the_verbs_that_have_the_option)
{
    spec_needs_program();
    const char *names;
    char *help[N_VERBS];
    int told = 0;
    for (int v = 0; v < N_VERBS; v++) {
        help[v] = help_of(verbs[v]);
        char *last = strstr(help[v], "--version");
        assert_non_null(last);
        *last = '\0'; /* sentences and examples follow */
    }
    for (int i = 0; (names = spec_option_hint_names(i)) != NULL; i++) {
        const char *name = strrchr(names, ' ') != NULL ? strrchr(names, ' ') + 1 : names;
        char arguments[128], option[64];
        spec_child c;
        snprintf(arguments, sizeof arguments, "merge --%s", name);
        spec_child_run(&c, arguments);
        c.line[strcspn(c.line, "\n")] = '\0';
        snprintf(option, sizeof option, "%s", name); /* "is an option of" */
        const char *of = strstr(c.line, " of "), *is = strstr(c.line, " is --");
        if (is != NULL) sscanf(is, " is --%63[a-zA-Z-]", option);
        for (const char *next; of != NULL && (next = strstr(of + 1, " of ")) != NULL;) of = next;
        for (int v = 0; of != NULL && v < N_VERBS; v++, told++)
            if (has_option(help[v], option) != is_among(of + strlen(" of "), verbs[v]))
                fail_msg("--%s at %s: %s", option, verbs[v], c.line);
        spec_child_free(&c);
    }
    assert_true(told > 20 * N_VERBS);
    for (int v = 0; v < N_VERBS; v++) free(help[v]);
}

/* Each option name of another program, at each verb without it: one line names the option here. */
TEST(every_foreign_name_is_answered)
{
    spec_needs_program();
    const char *names;
    int n = 0;
    for (int i = 0; (names = spec_option_hint_names(i)) != NULL; i++) {
        for (const char *name = names; *name != '\0'; name += strspn(name, " "), n++) {
            const int length = (int)strcspn(name, " ");
            char arguments[128];
            spec_child c;
            snprintf(arguments, sizeof arguments, "%s --%.*s", verbs[n % N_VERBS], length, name);
            spec_child_run(&c, arguments);
            const bool answered = strstr(c.line, "there is no --") != NULL &&
                                  strstr(c.line, "did you mean") == NULL &&
                                  strstr(c.line, "lists them") == NULL;
            const bool abbreviates =
                strstr(c.line, "needs a value") != NULL || strstr(c.line, "is ambiguous") != NULL;
            if (c.code != 2 || !(answered || abbreviates))
                fail_msg("%s: %d, %s", arguments, c.code, c.line);
            spec_child_free(&c);
            name += length;
        }
    }
    assert_true(n > 100);
}

/* A name with a slip: two letters swapped, one missing or one doubled. */
static void slip(char *made, const char *name, int kind)
{
    const size_t n = strlen(name), at = n / 2;
    const char swapped[] = {name[at], name[at - 1], '\0'},
               doubled[] = {name[at - 1], name[at - 1], name[at], '\0'};
    const char *middle = kind == 0 ? swapped : kind == 1 ? swapped + 1 : doubled;
    sprintf(made, "%.*s%.*s%s", (int)at - 1, name, kind == 1 ? 0 : 3, middle,
            name + at + (kind != 1));
}

static void expect_meant(const char *arguments, const char *meant)
{
    spec_child c;
    spec_child_run(&c, arguments);
    if (c.code != 2 || strstr(c.line, meant) == NULL || strchr(c.line, '\n')[1] != '\0')
        fail_msg("speclab %s: %d, not '%s': %s", arguments, c.code, meant, c.line);
    spec_child_free(&c);
}

static bool is_as_near_to_another(const char *made, const char *name)
{
    static const char *const pairs[][2] = {{"theads", "threads"},
                                           {"seeed", "seed"},
                                           {"sed", "seed"},
                                           {"spead", "spread"},
                                           {"form", "from"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(made, pairs[i][0]) == 0 && strcmp(name, pairs[i][1]) == 0) return true;
    return false; /* as near to heads, speed, set and format */
}

TEST(a_misspelt_verb_or_option_is_answered_with_the_right_one, SLOW)
{
    spec_needs_program();
    char made[64], arguments[128], meant[128];
    for (int v = 0; verbs[v] != NULL; v++) {
        for (int kind = 0; kind < 3; kind++) {
            slip(made, verbs[v], kind);
            snprintf(meant, sizeof meant, "did you mean '%s'?", verbs[v]);
            if (strcmp(made, verbs[v]) != 0) expect_meant(made, meant);
        }
        char *help = help_of(verbs[v]);
        for (const char *at = help; (at = strstr(at, " --")) != NULL; at += 3) {
            char name[64];
            snprintf(name, sizeof name, "%.*s",
                     (int)strspn(at + 3, "abcdefghijklmnopqrstuvwxyzKV-"), at + 3);
            const int kind = (int)(at - help) % 3;
            const char *line = at;
            while (line[-1] != '\n') line--;
            if (*line != ' ' || at - line > MOST_INDENT || strlen(name) < 4)
                continue; /* a name in a sentence */
            slip(made, name, kind);
            snprintf(arguments, sizeof arguments, "%s --%s", verbs[v], made);
            snprintf(meant, sizeof meant, "--%s", name);
            if (!has_option(help, made) && !is_as_near_to_another(made, name))
                expect_meant(arguments, meant);
        }
        free(help);
    }
    expect_meant("predict --alfa 0.8", "did you mean --alpha?");
    expect_meant("--verison", "speclab: there is no option '--verison'; did you mean '--version'?");
    expect_meant("--hepl", "did you mean '--help'?");
    expect_meant("verison", "did you mean 'version'?");
    spec_program_ends("version", 0, "speclab ");
    spec_program_ends("help", 0, "Usage: speclab");
}

TEST(options_are_abbreviated_and_some_are_repeated)
{
    spec_needs_program();
    spec_program_works("sweep --alp 0.27 --roun 100 --K 2");
    spec_program_works("run one.cfg --set K=1 --set alpha=0.5");
    spec_program_works("predict --distribution --distribution");
    spec_program_works("predict -dddddddddddddddd --K 2");
    spec_program_works("predict -dK2 --alp=0.5");
    spec_program_ends("predict -?", 0, "Usage: speclab predict");
    spec_program_ends("predict -dh --K", 0, "Usage: speclab predict");
    spec_program_works("validate --list --only plain-4 --only two-2,coins");
    spec_program_works("predict --alpha 0.5 -- ");
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
