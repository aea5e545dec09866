/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables in LaTeX: escapes, alignment of numbers, and compilation if pdflatex is installed. */
#include "base/table.h"

#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* Every special character of LaTeX, decimal points to align, exponents, and values that are not
 * finite. */
static void fill(spec_table *table)
{
    static const char *const names[] = {"rule", "n_emitted", "emitted_se", "z", "K"};
    assert_int_equal(spec_table_init(table, names, 5), GSL_SUCCESS);
    free(table->provenance);
    table->provenance = strdup("speclab 0 (100% of it)\nseed: 42");
    spec_table_text(table, "rule", "\\{a}_b^c~d & 100% #1 $x <y> |z|");
    spec_table_number(table, "n_emitted", 1.75);
    spec_table_number(table, "emitted_se", 1.2e-7);
    spec_table_number(table, "z", -0.5);
    spec_table_integer(table, "K", 12);
    assert_int_equal(spec_table_append(table), GSL_SUCCESS);
    spec_table_text(table, "rule", "two\nlines, \xc3\xa9");
    spec_table_number(table, "n_emitted", 2);
    spec_table_number(table, "emitted_se", 0.25);
    spec_table_number(table, "z", -INFINITY);
    assert_int_equal(spec_table_append(table), GSL_SUCCESS);
}

static char *latex(const spec_table *table)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(spec_table_write(table, SPEC_FORMAT_LATEX, out, NULL), GSL_SUCCESS);
    assert_int_equal(fclose(out), 0);
    return text;
}

TEST(texts_are_escaped_and_points_are_lined_up)
{
    OWNED(spec_table) table;
    fill(&table);
    FREED char *text = latex(&table);
    assert_string_equal(
        text,
        "% speclab 0 (100% of it)\n"
        "% seed: 42\n"
        "% \\usepackage{booktabs}\n"
        "\\begin{tabular}{lrrrr}\n"
        "\\toprule\n"
        "rule & n\\_emitted & emitted\\_se & z & K \\\\\n"
        "\\midrule\n"
        "\\textbackslash{}\\{a\\}\\_b\\textasciicircum{}c\\textasciitilde{}d \\& 100\\% \\#1 \\$x "
        "\\textless{}y\\textgreater{} \\textbar{}z\\textbar{} & $1.75$ & $1.2\\times 10^{-7}$ & "
        "$-0.5$ "
        "& $12$ \\\\\n"
        "two lines, \xc3\xa9 & $2$\\phantom{.00} & $0.25$ & $-\\infty$ &  \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n");
}

TEST(it_compiles)
{
    if (system("command -v pdflatex >/dev/null 2>&1 && kpsewhich booktabs.sty >/dev/null 2>&1") !=
        0) {
        printf("skipped: %s: there is no pdflatex with booktabs\n", __func__);
        skip();
    }
    OWNED(spec_table) table;
    fill(&table);
    FREED char *text = latex(&table);
    FILE *out = fopen("t.tex", "w");
    assert_non_null(out);
    fprintf(out,
            "\\documentclass{article}\n\\usepackage[utf8]{inputenc}\n\\usepackage{booktabs}"
            "\n\\begin{document}\n%s"
            "\\end{document}\n",
            text);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(system("pdflatex -interaction=nonstopmode -halt-on-error t.tex >log.txt 2>&1"),
                     0);
    assert_int_equal(access("t.pdf", R_OK), 0);
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
