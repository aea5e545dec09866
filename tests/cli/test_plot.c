/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures of any CSV: what 'speclab plot' draws by its options, and its error messages. SPECLAB
 * names the program. */
#include "tests/cli/plot_checks.h"
#include "tests/support/on_terminal.h"
#include "tests/support/support.h"

/* ---- figures of the user's own CSV ----------------------------------------------------------- */

static const char mine[] = "\xef\xbb\xbf# by another program\n"
                           "size, time ,time_se,ms_low,ms,ms_high,gpu,name\n"
                           "\n"
                           "4,\"2.5\",0.2,1,1.5,2,A100,\"a, b\"\n"
                           "1,1.0,0.1,1,1.2,1.5,A100,\"it's \"\"x\"\"\"\n"
                           "# in between\n"
                           "2,,0.1,1,1.1,1.2,H100,x\n"
                           "1,NA,0.1,2,2.2,2.5,H100,y\n"
                           "4,3,0.1,3,3.3,3.5,H100,z"; /* no newline at the end */

TEST(a_foreign_csv_is_drawn, SLOW)
{
    spec_needs_program();
    spec_file_write("mine.csv", mine);
    draws("mine.csv --x size --y time --by gpu");
    shows("x.svg", "size");
    shows("x.svg", "time, ±2\xc2\xa0s.e.");
    shows("x.svg", "H100");
    draws("mine.csv --x size --y ms --facet gpu");
    shows("x.svg", "ms, low to high");
    draws("mine.csv --x name --y ms");
    shows("x.svg", "it's \"x\"");
    shows("x.svg", "a, b");
    draws("mine.csv --x ms --y name --by gpu"); /* names on the vertical axis */
    shows("x.svg", "A100");
    draws("mine.csv --x size --y time,ms --by gpu --log xy");
    shows("x.svg", "ms");
}

/* The line on standard error says how the file is drawn. */
static void chooses(const char *csv, const char *options)
{
    spec_child c;
    char arguments[64], line[200];
    snprintf(arguments, sizeof arguments, "plot %s -o x.svg --force", csv);
    snprintf(line, sizeof line, "speclab plot: %s names no figure; drawn with %s\n", csv, options);
    spec_child_run(&c, arguments);
    assert_int_equal(c.code, 0);
    assert_string_equal(c.line, line);
    spec_picture_check("x.svg");
    spec_child_free(&c);
}

TEST(what_varies_with_x_is_no_curve_of_its_own)
{
    spec_needs_program();
    spec_program_works("sweep --target zipf?V=9 --alpha 0.6,0.8 --K 2:3 --rounds 99 -o pair.csv");
    chooses("pair.csv", "--x alpha --y emitted --by K"); /* there is a draft for each alpha */
}

TEST(drafting_ahead_is_drawn)
{
    spec_needs_program();
    spec_program_works("predict --guess 0.8 --K 1:4 -o guess.csv");
    chooses("guess.csv", "--x K --y speedup_ahead");
}

TEST(other_files_are_drawn_without_options, SLOW)
{
    spec_needs_program();
    spec_file_write("mine.csv", mine);
    chooses("mine.csv", "--x size --y time --by gpu,name");
    spec_file_write("semi.csv", "\"the run\";latency_ms;latency_ms_std;gpu\n\"a;b\";0,5;0,1;A100\n"
                                "c;1,5;0,2;A100\n\"a;b\";0,7;0,1;H100\n");
    chooses("semi.csv", "--x 'the run' --y latency_ms --by gpu");
    shows("x.svg", "latency (ms)");
    shows("x.svg", "1.4"); /* a decimal comma */
    shows("x.svg", "a;b");
    spec_file_write("tabs.tsv", "x\ty, z\tname\n1\t2\ta, b\n2\t3\ta, b\n");
    chooses("tabs.tsv", "--x x --y 'y, z'");
    spec_program_works("plot tabs.tsv");
    spec_picture_check("tabs.svg");
    spec_file_write("rows.json", "[{\"n\": 1, \"ms\": 2.5}, {\"n\": 2, \"ms\": 3}]");
    chooses("rows.json", "--x n --y ms");
    spec_file_write("first.csv", "gpu;batch;ms;sd\nA;1;2;0.1\nA;2;3;0.1\nB;1;4;0.2\nB;2;5;0.2\n");
    chooses("first.csv", "--x batch --y ms --by gpu");
    spec_file_write("engine.csv", "\"Engine, version\",K (tokens),tok/s\nv 1,1,20\nv 1,2,30\n"
                                  "w,1,25\nw,2,28.5\n");
    chooses("engine.csv", "--x 'K (tokens)' --y tok/s --by 'Engine, version'");
    spec_file_write("bars.csv", "gpu,ms,watts\nA,1,300\nB,2,300\n"); /* no curve */
    chooses("bars.csv", "--x gpu --y ms");
    spec_file_write("comma.csv", "x,\"y,z\",\"name,of\"\n1,2,a\n2,3,b\n");
    draws("comma.csv --x x --y y,z --by name,of --error y,z");
    draws("comma.csv --x x --y x,x --by name,of");
    refuses("comma.csv --x x --y x,z", "comma.csv has no column 'z'");
    spec_file_write("rows.jsonl", "{\"n\": 1, \"ms\": 2.5}\n{\"n\": 2, \"ms\": 3}\n");
    chooses("rows.jsonl", "--x n --y ms");
}

TEST(error_bars_titles_and_kinds_are_as_asked, SLOW)
{
    spec_needs_program();
    spec_file_write("bars.csv",
                    "gpu,n,ms,err,low,high\nA,1,2,0.5,1,4\nA,2,3,0.5,1,4\nB,1,4,0.5,1,5\n"
                    "B,2,5,0.5,1,6\n");
    draws("bars.csv --x n --y ms --by gpu --error err");
    shows("x.svg", "ms \xc2\xb1 err");
    draws("bars.csv --x n --y ms --by gpu --error low,high");
    shows("x.svg", "ms, low to high");
    draws("bars.csv --x n --y ms --by gpu --xlabel Size --ylabel Milliseconds");
    shows("x.svg", "Size");
    shows("x.svg", "Milliseconds");
    draws("bars.csv --x n --y ms --by gpu --kind scatter");
    draws("bars.csv --x n --y ms,err --by gpu --kind bars --error err,err");
    shows("x.svg", "A, ms");
    draws("bars.csv --x n --y ms --by gpu --kind bars");
    assert_int_equal(count("x.svg", "<polygon fill = 'rgb(  0, 114, 178)'"), 3); /* and a key */
    assert_int_equal(count("x.svg", "<polygon fill = 'rgb(213,  94,   0)'"), 3);
    shows("x.svg", "0\n1\n2\n"); /* where bars begin */
    draws("bars.csv --x ms --y gpu --by n --kind bars");
    draws("bars.csv --x n --y gpu --heat ms --xlabel Size");
    shows("x.svg", "Size");
}

TEST(values_with_commas_choose_rows)
{
    spec_needs_program();
    spec_file_write("commas.csv", "x,y,model\n1,1,\"probs:0.5,0.5\"\n2,2,\"probs:0.5,0.5\"\n"
                                  "1,3,zipf\n2,4,zipf\n1,5,b\n2,6,b\n");
    draws("commas.csv --x x --y y --by model --where model=probs:0.5,0.5");
    assert_int_equal(count("x.svg", "xlink:href='#gpPt6' transform"), 2);
    draws("commas.csv --x x --y y --by model --where model=probs:0.5,0.5 --where model=zipf");
    shows("x.svg", "zipf");
    shows_not("x.svg", ">b<");
    draws("commas.csv --x x --y y --by model --where model=zipf,b --where x=1");
    refuses("commas.csv --x x --y y --where model=zipf --where x=7", "commas.csv has no row with");
}

/* A run can end early in two ways, and the figure says so next to any title. */
TEST(an_unfinished_result_says_so)
{
    static const char head[] = "# speclab 1\n# measure: acceptance\n# figure: speedup\n"
                               "alpha,K,c,speedup\n0.5,1,0.1,1.2\n0.5,2,0.1,1.3\n";
    char csv[300];
    spec_needs_program();
    snprintf(csv, sizeof csv, "%s# interrupted after 2 of 9 points\n", head);
    spec_file_write("short.csv", csv);
    draws("short.csv");
    shows("x.svg", "(interrupted after 2 of 9 points)");
    draws("short.csv --title Mine");
    shows("x.svg", "Mine (interrupted after 2 of 9 points)");
    snprintf(csv, sizeof csv, "%s0.5,3,", head);
    spec_file_write("short.csv", csv);
    draws("short.csv");
    shows("x.svg", "(interrupted within a row)");
    spec_file_write("short.csv", head);
    draws("short.csv");
    shows_not("x.svg", "interrupted");
}

/* A pipe can be read only once. */
TEST(a_pipe_is_drawn)
{
    char command[2 * PATH_MAX];
    spec_needs_program();
    spec_file_write("mine.csv", mine);
    snprintf(command, sizeof command,
             "cat mine.csv | '%s' plot /dev/stdin --x size --y time -o pipe.svg >said",
             spec_program);
    assert_int_equal(system(command), 0);
    shows("pipe.svg", "size");
}

TEST(results_have_bars_theory_and_the_words_of_the_field, SLOW)
{
    spec_needs_program();
    spec_program_works("sweep --alpha 0.5,0.8 --K 1:4 --c 0.1 --rounds 2000 -o sweep.csv");
    draws("sweep.csv --x K --y speedup --by alpha");
    shows("x.svg", "draft length K (tokens)");
    shows("x.svg", "speed-up over plain decoding, ±2\xc2\xa0s.e.");
    shows("x.svg", "α = 0.8");
    shows("x.svg", "theory");
    shows("x.svg", "simulated");
    shows("x.svg", "c = 0.1"); /* constant, so in the title */
    draws("sweep.csv --x K --y emitted,emitted_theory --facet alpha");
    shows("x.svg", "emitted, theory");
    shows_not("x.svg", "a round");
    draws("sweep.csv"); /* the result's own figure */
    shows("x.svg", "Speed-up of speculative decoding, c = 0.1");
    draws("sweep.csv --by c"); /* with another grouping */
    spec_program_works("sweep --alpha 0.5,0.8 --K 1:4 --c 0.1,0.3 --rounds 2000 -o two.csv");
    draws("two.csv");
    shows_not("x.svg", "c = 0.1,");
    shows("x.svg", "c = 0.3"); /* two costs, so line styles instead of the title */
    draws("two.csv --where c=0.3");
    shows("x.svg", "Speed-up of speculative decoding, c = 0.3");
}

/* A column with an empty cell is not constant, even if all its other cells are equal. */
TEST(a_title_names_what_all_rows_have)
{
    spec_needs_program();
    spec_file_write("part.csv", "# measure: acceptance\nalpha,K,c,speedup\n"
                                "0.5,1,0.1,1.2\n0.5,2,,1.4\n0.5,3,0.1,1.5\n");
    draws("part.csv --x K --y speedup");
    shows("x.svg", "α = 0.5");
    shows_not("x.svg", "c = 0.1");
    assert_int_equal(count("x.svg", "xlink:href='#gpPt6' transform"), 3);
    draws("part.csv -F speedup"); /* needs c: the row without it is omitted */
    shows("x.svg", "α = 0.5, c = 0.1");
    assert_int_equal(count("x.svg", "xlink:href='#gpPt6' transform"), 2);
}

TEST(points_of_a_series_are_joined_in_order)
{
    spec_needs_program();
    spec_file_write("order.csv", "x,y\n3,1\n1,1\n2,1\n");
    draws("order.csv --x x --y y");
    char *bytes = spec_file_bytes("x.svg"), *plot = strstr(bytes, "gnuplot_plot_1"),
         *line = strstr(plot, "d='M");
    assert_non_null(line);
    double x[3];
    assert_int_equal(sscanf(line, "d='M%lf,%*f L%lf,%*f L%lf", &x[0], &x[1], &x[2]), 3);
    assert_true(x[0] < x[1] && x[1] < x[2]);
    free(bytes);
    /* A missing value leaves a gap, unless another row has a value at the same position. */
    for (int missing = 0; missing < 2; missing++) {
        spec_file_write("gap.csv", missing ? "x,y\n1,1\n2,1\n3,\n4,1\n5,1\n"
                                           : "x,y\n1,1\n2,1\n3,\n3,1\n4,1\n5,1\n");
        draws("gap.csv --x x --y y");
        bytes = spec_file_bytes("x.svg");
        line = strstr(strstr(bytes, "gnuplot_plot_1"), "d='M") + 4;
        const char *again = strchr(line, 'M');
        assert_int_equal(again != NULL && again < strchr(line, '\''), missing);
        free(bytes);
    }
}

TEST(a_map_has_a_cell_for_each_pair_and_a_line_at_one, SLOW)
{
    spec_needs_program();
    spec_file_write(
        "map.csv", "K,alpha,speedup,c\n1,0.2,0.8,0.1\n1,0.6,1.3,0.1\n2,0.2,0.7,0.1\n2,0.6,1.5,0.1\n"
                   "3,0.6,1.4,0.1\n");
    draws("map.csv --x K --y alpha --heat speedup");
    shows("x.svg", "1.5");
    shows("x.svg", "(line: 1)");
    draws("map.csv --x K --y alpha --heat speedup --where alpha=0.6");
    shows_not("x.svg", "(line: 1)");
    draws("map.csv --x K --y alpha --heat speedup --facet c");
    spec_file_write("map.csv", "K,alpha,speedup,c\n1,0.2,0.8,0.1\n1,0.2,0.7,0.3\n");
    refuses("map.csv --x K --y alpha --heat speedup",
            "map.csv: several rows have K = 1 and alpha = 0.2 and differ in c; choose one with "
            "--where, or --facet");
    draws("map.csv --x K --y alpha --heat speedup --facet c");
    refuses("map.csv --x K --heat speedup", "--x needs --y COLUMN");
    refuses("map.csv --y K --heat speedup", "--y and --heat need --x COLUMN");
    refuses("map.csv --x K --y alpha --heat speedup --by c", "--heat draws no series");
    refuses("map.csv --x K --y alpha --heat speedup --log x",
            "--heat and --log cannot be combined");
}

TEST(rows_of_one_place_are_told)
{
    spec_child c;
    spec_needs_program();
    spec_file_write("twice.csv", "K,speedup,c\n1,1.2,0.1\n1,1.1,0.3\n2,1.5,0.1\n2,1.4,0.3\n");
    spec_child_run(&c, "plot twice.csv --x K --y speedup -o once.svg");
    spec_child_says(
        &c, "plot", 0,
        "speclab plot: several rows have the same x, so no line joins them; they differ in c");
    spec_child_free(&c);
    spec_child_run(&c, "plot twice.csv --x K --y speedup --by c -o by.svg");
    assert_int_equal(c.code, 0);
    assert_string_equal(c.line, "");
    spec_child_free(&c);
    spec_file_write("same.csv", "K,speedup\n1,1.2\n1,1.2\n2,1.5\n");
    spec_child_run(&c, "plot same.csv --x K --y speedup -o same.svg");
    assert_string_equal(c.line,
                        "speclab plot: several rows have the same x, so no line joins them\n");
    spec_child_free(&c);
}

TEST(too_many_values_are_told)
{
    spec_needs_program();
    FILE *many = fopen("many.csv", "w");
    assert_non_null(many);
    fputs("x,y,s\n", many);
    for (int i = 0; i < 100; i++) fprintf(many, "%d,1,s%d\n", i, i);
    fclose(many);
    refuses("many.csv --x x --y y --by s",
            "--by s: many.csv has more than 64 values of it; choose some with --where");
    refuses("many.csv --x x --y y --facet s",
            "--facet s: many.csv has more than 25 values of it; choose some with --where");
    refuses("many.csv --x s --y y", "many.csv: column 's' has over 60 names, too many for an axis");
    draws("many.csv --x x --y y --by s --where s=s1,s2,s50");
}

/* ---- layout ---------------------------------------------------------------------------------- */

TEST(long_names_without_room_are_told)
{
    spec_needs_program();
    spec_file_write("long.csv", "name,ms\n"
                                "the first configuration with a very long name of sixty marks,1\n"
                                "the other configuration with a very long name of sixty marks,2\n");
    draws("long.csv --kind bars --size 16x12cm");
    refuses("long.csv --kind bars --size 8x6cm",
            "long.csv is not drawn: the figure has no room for its long names; choose shorter "
            "names or a larger --size; --size 1");
}

TEST(titles_sizes_fonts_and_legends_are_as_asked, SLOW)
{
    spec_needs_program();
    spec_program_works("sweep --alpha 0.5,0.8 --K 1:4 --c 0.1 --rounds 2000 -o sweep.csv");
    draws("sweep.csv --title Mine");
    shows("x.svg", "Mine");
    shows_not("x.svg", "Speed-up of");
    draws("sweep.csv --no-title");
    shows_not("x.svg", "Speed-up of");
    assert_int_equal(count("x.svg", "<svg \n viewBox=\"0 0 900 600\""),
                     1); /* the page grows with the figure */
    draws("sweep.csv --size 8x6cm");
    assert_int_equal(count("x.svg", "<svg \n width=\"302\" height=\"227\""), 1);
    draws("sweep.csv --size 3x2in");
    assert_int_equal(count("x.svg", "<svg \n width=\"288\" height=\"192\""), 1);
    draws("sweep.csv --size 500x400px --font Helvetica,12");
    assert_int_equal(count("x.svg", "<svg \n width=\"500\" height=\"400\""), 1);
    assert_true(count("x.svg", "font-family=\"Helvetica, sans-serif\" font-size=\"16.00\"") > 3);
    draws("sweep.csv --legend none");
    shows_not("x.svg", "simulated");
    draws("sweep.csv --legend bottom");
    shows("x.svg", "simulated");
    refuses("sweep.csv --size 3x2.5cm --legend right",
            "sweep.csv is not drawn: the figure has no room for its panels");
}

TEST(every_terminal_draws)
{
    static const char *const cases[][3] = {{"x.png", "", "\x89PNG"},
                                           {"x.pdf", "", "%PDF"},
                                           {"x.tex", "", "\\begin{tikzpicture}"},
                                           {"x.out", " --terminal pdf", "%PDF"},
                                           {"x.fig", " --terminal tikz", "\\begin{tikzpicture}"}};
    spec_needs_program();
    spec_program_works("sweep --alpha 0.5 --K 1:2 --c 0.1 --rounds 2000 -o sweep.csv");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char arguments[128];
        snprintf(arguments, sizeof arguments, "plot sweep.csv -o %s%s", cases[i][0], cases[i][1]);
        spec_program_works(arguments);
        char *bytes = spec_file_bytes(cases[i][0]);
        if (strncmp(bytes, cases[i][2], strlen(cases[i][2])) != 0)
            fail_msg("%s is not what it is called", cases[i][0]);
        free(bytes);
    }
    spec_program_works("plot sweep.csv --terminal png");
    assert_int_equal(access("sweep.png", R_OK), 0);
    spec_program_works("plot sweep.csv -o again.tex");
    spec_program_works("plot sweep.csv -o x.tex");
    spec_files_same("x.tex", "again.tex"); /* no date */
    refuses("sweep.csv --terminal tikz --font Times,8",
            "--font Times: LaTeX chooses the font of a tikz picture");
}

/* ---- text of the user is never a command ----------------------------------------------------- */

#define HOSTILE "a`touch${IFS}pwned`$(touch${IFS}pwned)@X\"b'c%s%n{d}_2^3\\n\\alpha<e>&amp;#~|"

TEST(texts_come_out_as_they_are)
{
    spec_needs_program();
    spec_program_works("sweep --alpha 0.5 --K 1:2 --c 0.1 --rounds 2000 -o sweep.csv");
    draws("sweep.csv --title " HOSTILE);
    shows("x.svg",
          "a`touch${IFS}pwned`$(touch${IFS}pwned)@X\"b'c%s%n{d}_2^3\\n\\alpha&lt;e>&amp;amp;#~|");
    spec_program_works("plot sweep.csv -o x.tex --title " HOSTILE);
    char *tex = spec_file_bytes("x.tex");
    assert_non_null(strstr(
        tex,
        "{a\\textasciigrave{}touch\\$\\{IFS\\}pwned\\textasciigrave{}\\$(touch\\$\\{IFS\\}pwned)@X"
        "\\char34{}b'c\\%s\\%n\\{d\\}\\_2\\textasciicircum{}3\\textbackslash{}n"
        "\\textbackslash{}alpha\\textless{}e\\textgreater{}\\&amp;\\#\\textasciitilde{}"
        "\\textbar{}};"));
    free(tex);
    assert_int_not_equal(access("pwned", F_OK), 0);
}

/* gnuplot writes ]]> as it is, and expands @NAME after a quote. */
TEST(a_name_in_a_picture_is_xml)
{
    spec_needs_program();
    spec_file_write("names.csv",
                    "a]]>b,rule\n1,]]><i/>\n2,\xef\xbf\xbe\xef\xbf\xbf&amp;\n3,'@SIZE\n");
    spec_program_works("plot names.csv --x rule --y a]]>b -o x.svg --title ]]>\xef\xbf\xbf'@SIZE");
    FREED char *svg = spec_file_bytes("x.svg");
    assert_null(strstr(svg, "]]>"));
    assert_null(strstr(svg, "\xef\xbf\xbe"));
    assert_null(strstr(svg, "\xef\xbf\xbf"));
    assert_null(strstr(svg, "<i/>"));
    shows("x.svg", "]]&gt;?'@SIZE");
    shows("x.svg", "]]&gt;&lt;i/>");
    shows("x.svg", "'@SIZE");
    if (system("python3 -c 0 2>/dev/null") != 0) {
        printf("skipped: there is no python3, whose parser reads the picture\n");
        skip();
    }
    assert_int_equal(system("python3 -c 'import xml.dom.minidom as x; x.parse(\"x.svg\")'"), 0);
}

/* After a quote within a text, gnuplot would read @said_devices as the program in that variable. */
TEST(a_text_of_a_result_is_no_macro)
{
    spec_needs_program();
    spec_file_write("macro.csv", "# figure: bench\n# devices: '; system(\"touch pwned\"); x = '\n"
                                 "# decoding: '@said_devices\n"
                                 "K,ahead,pass,target_pass_ratio,target_pass_ms\n"
                                 "1,0,1,1,1\n2,0,2,1.5,2\n");
    draws("macro.csv");
    assert_int_not_equal(access("pwned", F_OK), 0);
}

/* A pipe gets the name of the file, and a terminal a name that cannot control it. */
TEST(a_terminal_gets_no_control_character_of_a_name)
{
    spec_terminal terminal;
    spec_needs_program();
    spec_file_write("xy.csv", "x,y\n1,2\n2,3\n");
    spec_program_prints("plot xy.csv -o a\x1b[31m\xc2\x9b.svg", 0, "a\x1b[31m\xc2\x9b.svg\n");
    spec_terminal_run(&terminal, 200, NULL, "plot xy.csv -o a\x1b[31m\xc2\x9b.svg --force");
    assert_int_equal(terminal.code, 0);
    assert_non_null(strstr(terminal.screen, "a\\x1b[31m\\xc2\\x9b.svg"));
    assert_null(strstr(terminal.sent, "\x1b[31m"));
    assert_null(strstr(terminal.sent, "\xc2\x9b"));
    spec_terminal_free(&terminal);
    spec_terminal_run(&terminal, 200, NULL, "plot no\x1b[31m\xc2\x9b.csv");
    assert_int_equal(terminal.code, 2);
    assert_non_null(strstr(terminal.screen, "no?[31m?.csv"));
    spec_terminal_free(&terminal);
}

TEST(values_columns_and_file_names_are_no_commands, SLOW)
{
    static const char *const arguments[] = {"--x %s --y y", "--x y --y x --by %s",
                                            "--x y --y x --facet %s", "--x y --y %s",
                                            "--x %s --y x --heat y"};
    spec_needs_program();
    spec_file_write(
        "hostile.csv",
        "\"c`touch pwned`'\"\"$(touch pwned)%s\",x,y\n"
        "`touch pwned`,1,2\n\"'; system(\"\"touch pwned\"\") #%s%d\",2,3\n\xff\x01z,3,4\n"
        "\"\nEND\nsystem('touch pwned')\n\",3,5\n");
    for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++) {
        /* Blanks separate arguments here, and the column's name has some: copy it under another
         * name. */
        char line[256], name[] = "k";
        snprintf(line, sizeof line, arguments[i], name);
        char *bytes = spec_file_bytes("hostile.csv");
        char *with = malloc(strlen(bytes) + 8);
        assert_non_null(with);
        snprintf(with, strlen(bytes) + 8, "k%s", strchr(bytes, ','));
        spec_file_write("named.csv", with);
        char all[300];
        snprintf(all, sizeof all, "named.csv %s", line);
        draws(all);
        free(bytes);
        free(with);
    }
    /* A title from the provenance and a tree from a column: neither may reach a shell. */
    spec_file_write(
        "case.csv",
        "# figure: calibration\n# sampler: `touch pwned`$(touch pwned)'\n# runs: $(touch pwned)\n"
        "curve,at,share,n\n`touch pwned`,0.1,0.1,10\nrun p,0.1,0.1,10\n");
    draws("case.csv");
    shows("x.svg", "`touch pwned`$(touch pwned)'");
    spec_file_write("tree.csv",
                    "# figure: tree\nmethod,drafting,tree_nodes,emitted\n"
                    "sequoia,\"tree?children='; touch pwned; echo '2.1.0&siblings=iid\",3,1.5\n");
    draws("tree.csv");
    spec_file_write("$(touch${IFS}pwned);.csv", "x,y\n1,2\n");
    draws("$(touch${IFS}pwned);.csv --x x --y y");
    spec_program_fails("plot named.csv --x x --y y -o |touch${IFS}pwned.svg/x.svg", SPEC_EXIT_USAGE,
                       "speclab plot: |touch");
    assert_int_not_equal(access("pwned", F_OK), 0);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
