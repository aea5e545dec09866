/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the marks, lines and bars that 'speclab plot' draws. SPECLAB names the program. */
#include "tests/cli/plot_checks.h"
#include "tests/support/support.h"

/* Returns whether a bar begins at a tic of the lower axis. One SVG path has several bars. */
static bool has_bar_from_the_axis(const char *path)
{
    char *bytes = spec_file_bytes(path), bar[80];
    bool found = false;
    for (const char *at = bytes; !found && (at = strstr(at, "d='M")) != NULL; at++) {
        double x, y, x_end, y_end;
        if (sscanf(at, "d='M%lf,%lf L%lf,%lf", &x, &y, &x_end, &y_end) != 4 || x != x_end) continue;
        snprintf(bar, sizeof bar, " M%.2f,%.2f L%.2f,", x, y, x);
        found = strstr(bytes, bar) != NULL;
    }
    free(bytes);
    return found;
}

TEST(bars_that_end_at_zero_reach_the_edge_of_a_logarithmic_axis)
{
    spec_needs_program();
    for (int negative = 0; negative < 2; negative++) {
        char csv[128];
        snprintf(csv, sizeof csv, "K,hit,hit_low,hit_high\n1,0.1,0.0002,0.2\n2,0.01,%s,0.02\n",
                 negative ? "-0.1" : "0.001");
        spec_file_write("bars.csv", csv);
        draws("bars.csv --x K --y hit --log y");
        assert_int_equal(has_bar_from_the_axis("x.svg"), negative);
    }
}

TEST(a_zero_on_a_logarithmic_axis_is_drawn_at_its_edge)
{
    spec_needs_program();
    spec_file_write("zero.csv", "K,hit\n1,0.1\n2,0.01\n3,0\n");
    draws("zero.csv --x K --y hit --log y");
    shows("x.svg", "0\n0.01\n");
    assert_int_equal(count("x.svg", " scale("), 3);
    draws("zero.csv --x hit --y K --log x");
    shows("x.svg", "0\n0.01\n");
    assert_int_equal(count("x.svg", " scale("), 3);
    draws("zero.csv --x K --y hit --log y --where K=1,2");
    shows_not("x.svg", "0\n0.01\n");
}

TEST(values_label_a_logarithmic_axis_if_they_fit)
{
    spec_needs_program();
    spec_file_write("log.csv",
                    "blocks,capacity\n400,1\n1000,2\n2500,3\n6300,4\n16000,5\n40000,6\n");
    draws("log.csv --log x");
    shows("x.svg", "\n2500\n");
    draws("log.csv --log x --size 5x5cm");
    shows_not("x.svg", "\n2500\n");
    shows("x.svg", "\n1000\n");
}

/* Two marks for the texts in the legend, and one for each point. */
TEST(marks_of_the_legend_mean_one_thing)
{
    spec_needs_program();
    spec_file_write("marks.csv", "emitted,rule,kind,text\n2,token,chain,a\n2.1,token,chain,b\n"
                                 "3,match,tree,a\n3.1,match,tree,b\n");
    draws("marks.csv --x emitted --y rule --by kind,text");
    assert_int_equal(count("x.svg", " scale("), 6);
}

/* The number of distinct pairs of mark and colour in a figure. */
static int pairs_of(const char *path)
{
    enum { PAIRS = 200, SIZE = 64 };
    static char pair[PAIRS][SIZE];
    char *svg = spec_file_bytes(path);
    int n = 0;
    for (const char *at = svg; (at = strstr(at, "<use xlink:href='#gpPt")) != NULL; at++) {
        const char *end = strchr(at, '>'), *place = strstr(at, " scale("),
                   *colour = strstr(at, "color='rgb(");
        if (place == NULL || place > end || colour == NULL || colour > end) continue;
        assert_in_range(n, 0, PAIRS - 1);
        snprintf(pair[n], SIZE, "%.25s %.24s", at, colour);
        int i = 0;
        while (strcmp(pair[i], pair[n]) != 0) i++;
        n += i == n;
    }
    free(svg);
    return n;
}

TEST(every_series_has_its_own_mark_or_colour)
{
    char csv[1000] = "name,kind,x,y\n";
    spec_needs_program();
    for (int s = 0; s < 24; s++)
        for (int x = 0; x < 2; x++)
            snprintf(csv + strlen(csv), sizeof csv - strlen(csv), "s%d,k%d,%d,%d\n", s, s % 2, x,
                     s);
    spec_file_write("many.csv", csv);
    draws("many.csv --x x --y y --by name");
    assert_int_equal(pairs_of("x.svg"), 24);
    shows("x.svg", "s23");
    draws("many.csv --x x --y y --by kind,name --legend none");
    assert_int_equal(pairs_of("x.svg"), 24);
    draws("many.csv --x x --y y --by name,kind --legend none");
    assert_int_equal(pairs_of("x.svg"), 24);
    snprintf(csv, sizeof csv, "a,b,c,x,y\n");
    for (int s = 0; s < 12; s++)
        for (int x = 0; x < 2; x++)
            snprintf(csv + strlen(csv), sizeof csv - strlen(csv), "a%d,b%d,c%d,%d,%d\n", s % 2,
                     s / 2 % 2, s / 4, x, s);
    spec_file_write("many.csv", csv);
    draws("many.csv --x x --y y --by a,b,c --legend none");
    assert_int_equal(pairs_of("x.svg"), 12);
}

/* Curves that coincide have marks of different sizes, the largest first. */
TEST(curves_that_coincide_are_all_seen)
{
    spec_needs_program();
    for (int apart = 0; apart < 2; apart++) {
        char csv[128];
        snprintf(csv, sizeof csv, "x,y,g\n1,1,a\n2,1,a\n3,2,a\n1,1,b\n2,1,b\n3,%d,b\n", 2 + apart);
        spec_file_write("same.csv", csv);
        draws("same.csv --x x --y y --by g");
        char *svg = spec_file_bytes("x.svg");
        const char *first = strstr(svg, " scale("), *last = first; /* the legend has two more */
        for (int i = 0; i < 5; i++) assert_non_null(last = strstr(last + 1, " scale("));
        const double a = strtod(first + 7, NULL), b = strtod(last + 7, NULL);
        assert_true(apart ? a == b : a > 1.3 * b);
        free(svg);
    }
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
