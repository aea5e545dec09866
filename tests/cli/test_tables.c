/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output on terminals of 60, 80 and 120 columns: no line is wider. SPECLAB names the program. */
#include "tests/support/on_terminal.h"
#include "tests/support/support.h"

#include <stdbool.h>
#include <string.h>

static const char *const shown[] = {
    "predict --alpha 0.27,0.8 --K 1:5",
    "predict --guess 0.5",
    "predict --distribution --K 5",
    "sweep --alpha 0.27,0.8 --K 2,5 --rounds 1000",
    "sweep --target zipf?V=20&s=1.1 --alpha 0.8,0.9 --K 3 --rounds 2000",
    "sweep --ahead --target zipf?V=20&s=1.1 --alpha 0.8 --K 3 --rounds 2000",
    "prove --rule token,block,hsd,resample-target",
    "prove --cases 5 --rule token,block",
    "accept --n 1:3",
    "plan --nodes 4,16",
    "plan --target zipf?V=20 --draft zipf?V=20&s=2 --nodes 4,16 --rounds 2000",
    "rows small.rows",
    "run wide.cfg",
    "advise sglang.log --current 3",
    "advise sglang.log --current 3 --round-over-plain 9 --K 0:1",
    "list",
    "list models",
    "list logs diagnoses",
    "validate --list",
    "validate rule:token --budget 20k --only plain-4,vocab-1000",
    "validate rule:resample-target --budget 50k --only plain-4",
    "validate rule:token --calibrate 3 --budget 2k --only plain-4",
    "validate --self-test --only bonus-from-draft --budget 20k",
};

static void write_wide_cfg(void)
{
    spec_file_write(
        "wide.cfg",
        "measure = \"decode\"; grid = { target = \"zipf?V=1000&temperature={T}\"; T = \"0.5,1\";"
        " draft = \"perturb?of=target&alpha=0.8\"; K = [2, 3]; }; rounds = 500;");
}

TEST(no_line_is_wider_than_the_terminal, SLOW)
{
    static const int columns[] = {60, 80, 120};
    spec_needs_program();
    spec_program_works("rows --target zipf?V=20 --draft zipf?V=20&s=2 -n 50 -o small.rows");
    spec_file_write("sglang.log", "[2025-03-11 07:07:20] Decode batch. #running-req: 32, #token: "
                                  "7352, token usage: 0.01, accept len: 2.54, gen throughput "
                                  "(token/s): 39.33, largest-len: 0, #queue-req: 68\n");
    write_wide_cfg();
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        for (int c = 0; c < 3; c++) {
            spec_terminal t;
            const char *line;
            spec_terminal_run(&t, columns[c], NULL, shown[i]);
            if (t.code > 1 && t.code != 3)
                fail_msg("%s: exit code %d: %s", shown[i], t.code, t.screen);
            const int widest = spec_terminal_widest(t.screen, &line);
            if (widest > columns[c])
                fail_msg("%s: %d columns for %d: %.*s", shown[i], widest, columns[c],
                         (int)strcspn(line, "\n"), line);
            spec_terminal_free(&t);
        }
    }
}

TEST(a_command_to_type_continues_after_backslashes)
{
    spec_terminal t;
    spec_needs_program();
    spec_terminal_run(&t, 40, NULL, "validate rule:resample-target --budget 50k --only plain-4");
    assert_int_equal(t.code, 1);
    assert_non_null(strstr(t.screen, "\n    speclab validate \\\n"
                                     "      rule:resample-target --only \\\n"
                                     "      plain-4 --scopes V --seed 42 \\\n"
                                     "      --budget 25000\n"));
    spec_terminal_free(&t);
    spec_terminal_run(&t, 60, NULL, "validate rule:lenience?l=0.5 --only plain-4 --budget 50k");
    assert_non_null(
        strstr(t.screen, "\n    speclab validate 'rule:lenience?l=0.5' --only plain-4 \\\n"));
    spec_terminal_free(&t);
}

/* A row with one of the longest names is one line. */
TEST(a_narrow_terminal_leaves_out_columns)
{
    static const char name[] = "k2-v17-without-bush-alone-positive-high";
    char arguments[128], row[64];
    spec_terminal t;
    spec_needs_program();
    snprintf(arguments, sizeof arguments, "validate mutant:right --budget 20k --only %s", name);
    snprintf(row, sizeof row, "\n  %s  V  ", name);
    spec_terminal_run(&t, 80, NULL, arguments);
    const char *line = strstr(t.screen, row);
    assert_non_null(line);
    assert_true(strcspn(line + 1, "\n") <= 80);
    assert_non_null(strstr(t.screen, "\n  not shown, --all does: draws, n_acc., p, later"));
    spec_terminal_free(&t);
}

/* Commands of each verb with a grid, and the columns that answer their questions, beginning with
 * the first heading. */
static const struct {
    const char *arguments, *columns[6];
} grids[] = {
    {"predict --alpha 0.5:0.9:0.1 --K 1:8", {"alpha", "K", "emitted", "speedup", "best_"}},
    {"predict --guess 0.2,0.5", {"guess", "emitted", "speedup", "speedup_ahead"}},
    {"sweep --alpha 0.5:0.9:0.1 --rounds 100", {"alpha", "K", "emitted", "speedup"}},
    {"sweep --target zipf?V=20 --alpha 0.8,0.9 --K 3,4 --rounds 100", {"draft", "speedup"}},
    {"sweep --ahead --target zipf?V=20&s=1.1 --alpha 0.8,0.9 --K 3 --rounds 2000",
     {"draft", "ahead", "gain", "hit"}},
    {"prove --rule token,block,lenience", {"rule", "draft", "tv", "verdict"}},
    {"prove --cases 3 --rule token,lenience", {"rule", "worst_tv", "verdict"}},
    {"accept --n 1:3 --rule token,rrs", {"rule", "n", "acceptance", "ratio", "verdict"}},
    {"plan --nodes 4,16", {"method", "budget", "emitted", "speedup"}},
    {"run wide.cfg", {"target", "K", "emitted", "speedup"}},
    {"serve --alpha 0.7 --rate 10:30:10 --K 0,3 --requests 200",
     {"rate", "K", "latency", "speedup_", "high", "best_K"}},
};

static size_t lines_of(const char *text, const char *first_letters)
{
    size_t n = 0;
    for (const char *line = text; line[strcspn(line, "\n")] != '\0'; line = strchr(line, '\n') + 1)
        n += *line != '\0' && strchr(first_letters, *line) == NULL;
    return n;
}

/* Returns the lines from the first heading to the empty line below the rows, without the
 * headings. */
static size_t rows_on_screen(const char *screen, const char *first_column)
{
    size_t n = 0;
    bool inside = false, ended = false;
    for (const char *line = screen; *line != '\0' && !ended; line = strchr(line, '\n') + 1) {
        const char *word = line + strspn(line, " ");
        const bool heading = strcspn(word, " \n") == strlen(first_column) &&
                             strncmp(word, first_column, strlen(first_column)) == 0;
        const bool above =
            line[0] == ' ' && line[strspn(line, " _abcdefghijklmnopqrstuvwxyz")] == '\n';
        ended = inside && *line == '\n';
        n += inside && !ended && !heading && !above;
        inside = inside || heading;
    }
    return n;
}

TEST(a_row_of_a_grid_is_one_line_of_80_columns_with_what_was_asked, SLOW)
{
    spec_needs_program();
    write_wide_cfg();
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        const char *arguments = grids[i].arguments, *const *column = grids[i].columns;
        spec_terminal t;
        spec_child csv;
        spec_terminal_run(&t, 80, NULL, arguments);
        spec_child_run(&csv, arguments);
        const size_t rows = lines_of(csv.text, "#") - 1,
                     lines = rows_on_screen(t.screen, column[0]);
        if (lines != rows)
            fail_msg("%s: %zu lines for %zu rows: %s", arguments, lines, rows, t.screen);
        for (int c = 0; c < 6 && column[c] != NULL; c++)
            if (strstr(t.screen, column[c]) == NULL)
                fail_msg("%s: no %s: %s", arguments, column[c], t.screen);
        if (strcmp(column[0], "rate") == 0)
            assert_non_null(strstr(t.screen, "(--all shows them)\n"));
        spec_child_free(&csv);
        spec_terminal_free(&t);
    }
}

/* Terminal and pipe have the same output, apart from blanks and line ends. */
static void on_terminal_as_in_a_pipe(int columns, const char *environment, const char *arguments,
                                     bool same)
{
    spec_terminal t;
    spec_child c;
    spec_terminal_run(&t, columns, environment, arguments);
    spec_child_run(&c, arguments);
    if ((strcmp(t.screen, c.text) == 0) != same)
        fail_msg("%s, %d columns: '%s' and '%s'", arguments, columns, t.screen, c.text);
    spec_terminal_free(&t);
    spec_child_free(&c);
}

#define SWEEP "sweep --alpha 0.6,0.8 --K 2,5 --c 0.1 --rounds 100"

TEST(a_pipe_gets_whole_lines_and_so_does_all)
{
    spec_needs_program();
    on_terminal_as_in_a_pipe(200, NULL, SWEEP " --format table", true);
    on_terminal_as_in_a_pipe(80, NULL, SWEEP " --format table", false);
    on_terminal_as_in_a_pipe(80, NULL, SWEEP " --format table --all", true);
    on_terminal_as_in_a_pipe(80, "COLUMNS=200", SWEEP " --format table", true);
    on_terminal_as_in_a_pipe(200, "COLUMNS=80", SWEEP " --format table", false);
    on_terminal_as_in_a_pipe(80, NULL, "list rules --format table --all", true);
    on_terminal_as_in_a_pipe(80, NULL, "list rules --format csv", true);
    on_terminal_as_in_a_pipe(80, NULL, SWEEP " --format vertical", true);
    on_terminal_as_in_a_pipe(80, NULL, SWEEP " --format latex", true);
}

/* At 80 columns a list is short: names are in one column, with usages below them. */
TEST(a_list_has_names_in_a_column_and_usages_below)
{
    spec_needs_program();
    spec_terminal t;
    spec_terminal_run(&t, 60, NULL, "list processes policies");
    assert_non_null(strstr(t.screen, "Length policies, for --policy\n"
                                     "  fixed            K tokens every round [Leviathan23]\n"));
    assert_non_null(strstr(t.screen, "\n                   confidence?threshold=0.4\n"));
    assert_non_null(
        strstr(t.screen, "\n\nAcceptance processes, for --process of 'speclab sweep'\n  iid     "));
    spec_terminal_free(&t);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
