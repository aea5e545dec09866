/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every line of tests/cli/wrong_inputs.txt ends with exit status 2 and writes nothing, neither on
 * standard output nor into a file. Its one error line says what the table says. SPECLAB names the
 * program. */
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <string.h>
#include <unistd.h>

enum {
    LENGTH = 1024,
    LINES_MAX = 4000,
    NAMES_MAX = 16,
    SIDE_MAX = 32,
    LEAST = 30,
    PATIENCE_MS = 60000
};

#define TABLE "tests/cli/wrong_inputs.txt"

/* A wrong command line of the table, with names replaced, and the line number. */
typedef struct {
    char *arguments, *text; /* what the error line says */
    bool begins;            /* with the text, after "speclab VERB: " */
    int number;
    spec_child child;
} wrong_line;

static wrong_line lines[LINES_MAX];
static int n_lines;

/* ---- the table ------------------------------------------------------------------------------- */

/* Replaces every `from`. */
static void replace(char line[LENGTH], const char *from, const char *to)
{
    char rest[LENGTH];
    for (char *at = line; (at = strstr(at, from)) != NULL; at += strlen(to)) {
        strcpy(rest, at + strlen(from));
        const int room = (int)(line + LENGTH - at);
        assert_true(snprintf(at, (size_t)room, "%s%s", to, rest) < room);
    }
}

/* Creates the files that the table describes, and keeps its wrong command lines. */
static void read_table(FILE *in)
{
    static char line[LENGTH], names[NAMES_MAX][LENGTH];
    int n_names = 0;
    for (int number = 1; fgets(line, sizeof line, in) != NULL; number++) {
        char *arrow;
        if (strchr(line, '\n') == NULL) fail_msg(TABLE ":%d is too long", number);
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0') continue;
        for (int i = 0; i < n_names; i++) replace(line, names[i], names[i] + strlen(names[i]) + 1);
        replace(line, "\\n", "\n");
        replace(line, "\\r", "\r");
        if (line[0] == '$') {
            assert_true(n_names < NAMES_MAX);
            strcpy(names[n_names], line);
            names[n_names++][strcspn(line, " ")] = '\0';
        } else if (strncmp(line, "write ", 6) == 0) {
            char *text = strchr(line + 6, ' ');
            if (text != NULL) *text++ = '\0';
            spec_file_write(line + 6, text != NULL ? text : "");
        } else if (strncmp(line, "works ", 6) == 0) {
            spec_program_works(line + 6);
        } else {
            assert_true(n_lines < LINES_MAX);
            wrong_line *wrong = &lines[n_lines++];
            wrong->begins = (arrow = strstr(line, " ==> ")) != NULL;
            if (arrow == NULL && (arrow = strstr(line, " => ")) == NULL)
                fail_msg(TABLE ":%d: neither => nor ==>", number);
            wrong->arguments = strndup(line, (size_t)(arrow - line));
            wrong->text = strdup(strchr(arrow, '>') + 2);
            wrong->number = number;
        }
    }
}

/* ---- running it ------------------------------------------------------------------------------ */

/* Waits for a line's end, and returns whether it is as the table says. */
static bool check(wrong_line *wrong)
{
    char begin[2 * LENGTH], text[SPEC_CHILD_COMPLAINT];
    spec_child *c = &wrong->child;
    const bool whole = wrong->begins && strncmp(wrong->text, "speclab", 7) == 0;
    snprintf(begin, sizeof begin, "speclab %.*s: %s", (int)strcspn(wrong->arguments, " "),
             wrong->arguments, wrong->begins ? wrong->text : "");
    const char *complaint = !spec_child_ends(c, PATIENCE_MS)
                                ? "it hangs, and was killed"
                                : spec_child_complaint(text, c, 2, whole ? wrong->text : begin);
    if (complaint == NULL && strstr(c->line, wrong->text) == NULL) {
        snprintf(text, sizeof text, "'%s' does not name %s", c->line, wrong->text);
        complaint = text;
    }
    if (complaint == NULL && c->n > 0) {
        snprintf(text, sizeof text, "it failed, and yet wrote '%.80s'", c->text);
        complaint = text;
    }
    if (complaint != NULL)
        print_error(TABLE ":%d: %s: %s\n", wrong->number, wrong->arguments, complaint);
    spec_child_free(c);
    return complaint == NULL;
}

/* Starts the lines in order, one for each processor at a time; returns how many fail. With the
 * address sanitizer, every fourth is searched for leaks, which takes as long as the line itself. */
static int check_lines(void)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const int side = processors < SIDE_MAX ? (int)processors : SIDE_MAX;
    int failed = 0;
    for (int i = 0; i < n_lines + side; i++) {
        if (i >= side) failed += !check(&lines[i - side]);
        if (i < n_lines)
            spec_child_start(&lines[i].child, i % 4 == 0 ? NULL : "LSAN_OPTIONS=detect_leaks=0",
                             NULL, lines[i].arguments);
    }
    return failed;
}

/* The folder's files, with sizes and times. */
static char *listing(void)
{
    char *text = calloc(SPEC_CHILD_TEXT, 1);
    FILE *in = popen("find . -type d -print -o -printf '%p %s %i %T@\n' | sort", "r");
    assert_true(text != NULL && in != NULL);
    assert_true(fread(text, 1, SPEC_CHILD_TEXT - 1, in) > 0);
    assert_int_equal(pclose(in), 0);
    return text;
}

static void check_every_verb_has_lines(void)
{
    spec_child c;
    spec_child_run(&c, "--help");
    int verbs = 0;
    for (const char *at = c.text; (at = strstr(at, "\n  ")) != NULL; at += 3) {
        const char *verb = at + 3;
        const size_t length = strspn(verb, "abcdefghijklmnopqrstuvwxyz");
        int count = 0;
        if (length == 0) continue;
        for (int i = 0; i < n_lines; i++)
            count +=
                strncmp(lines[i].arguments, verb, length) == 0 && lines[i].arguments[length] <= ' ';
        if (count < LEAST)
            fail_msg("%.*s: %d lines, fewer than %d", (int)length, verb, count, LEAST);
        verbs++;
    }
    assert_true(verbs > 15);
    spec_child_free(&c);
}

TEST(every_wrong_input_is_one_line_that_names_it)
{
    char path[PATH_MAX + 32];
    spec_needs_program();
    snprintf(path, sizeof path, "%s/" TABLE, spec_folder_before);
    FILE *in = fopen(path, "r");
    if (in == NULL) {
        printf("skipped: %s: not run from the source tree\n", __func__);
        skip();
    }
    read_table(in);
    fclose(in);
    check_every_verb_has_lines();
    char *before = listing();
    const int failed = check_lines();
    if (failed > 0) fail_msg("%d of %d lines fail", failed, n_lines);
    char *after = listing();
    size_t same = 0, begin;
    while (before[same] == after[same] && before[same] != '\0') same++;
    for (begin = same; begin > 0 && before[begin - 1] != '\n';) begin--;
    if (before[same] != after[same])
        fail_msg("a file was made, changed or removed: '%.99s', before '%.99s'", after + begin,
                 before + begin);
    free(before);
    free(after);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
