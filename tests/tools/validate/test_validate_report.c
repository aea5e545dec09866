/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/chance/rng.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/tools/validate/validation.h"
#include "tools/validate/calibrate.h"
#include "tools/validate/validate_report.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_math.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

typedef int writer(const spec_validation *validation, FILE *out, spec_error *error);

static const char *const plain[] = {"plain-4", NULL};
static const char hostile[] =
    "rule:x\" <&'>]]>\x01\x1b[2J\xff\xc0\xaf\xed\xa0\x80\xc3\xa9\xef\xbf\xbf\x7f";
static const char cleaned[] = "rule:x\" <&'>]]>??[2J??????\xc3\xa9??";

/* Returns the output of a writer; the caller frees it. */
static char *written(writer *write, const spec_validation *v)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_works(write(v, out, &error));
    fclose(out);
    return text;
}

/* ---- combinations --------------------------------------------------------------------------- */

/* A sampler that accepts nearly all siblings is hardly tested on what follows their rejection. */
TEST(pairs_of_trees_need_corrections)
{
    static const char *const tree[] = {"k5-v17-without-tree-temperature", NULL};
    const spec_validate_plan plan = plan_of(200000, 1, tree);
    OWNED(spec_validation) v;
    run(&v, "mutant:right", &plan);
    spec_detectable *corrections = &v.result[0].detectable[SPEC_PLACE_CORRECTION];
    assert_true(corrections->own > v.result[0].rounds / 5);
    assert_true(spec_validate_report_count(&v, SPEC_SCOPE_VERIFY, NULL, 0).covered > 20);
    corrections->own = v.result[0].rounds / 11;
    assert_int_equal(spec_validate_report_count(&v, SPEC_SCOPE_VERIFY, NULL, 0).covered, 0);
}

/* A PASS counts the pairs that it would have tested if the calls had been answered in time. */
TEST(pairs_of_late_fixtures_are_counted)
{
    static const char *const two[] = {"k5-v17-without-tree-temperature", "k17-v5-several", NULL};
    const spec_validate_plan plan = plan_of(400000, 1, two);
    OWNED(spec_validation) v;
    char example[128];
    run(&v, "mutant:right", &plan);
    const int both = spec_validate_report_count(&v, SPEC_SCOPE_VERIFY, NULL, 0).covered;
    assert_int_equal(spec_validate_report_late_pairs(&v, example, sizeof example), 0);
    assert_string_equal(example, "");
    v.result[0].late = true;
    const int one = spec_validate_report_count(&v, SPEC_SCOPE_VERIFY, NULL, 0).covered;
    assert_int_equal(spec_validate_report_late_pairs(&v, example, sizeof example), both - one);
    assert_true(both - one > 10);
    assert_non_null(strstr(example, " with "));
}

/* ---- names from outside ---------------------------------------------------------------------- */

TEST(names_from_outside_are_cleaned)
{
    static const char *const pairs[][2] = {
        {"plain", "plain"},
        {hostile, cleaned},
        {"\xe2\x82", "??"},                       /* truncated */
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"}, /* beyond the basic multilingual plane */
        {"\xf4\x90\x80\x80", "????"},             /* beyond U+10FFFF */
        {"\xc2\x85\xc2\xa0", "?\xc2\xa0"}, /* a C1 control is removed, a no-break space is kept */
        {"a\nb\tc", "a?b?c"},
    };
    char buffer[SPEC_VALIDATE_NAME], longest[3 * SPEC_VALIDATE_NAME];
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_string_equal(spec_validate_report_clean(buffer, pairs[i][0]), pairs[i][1]);
    for (size_t i = 0; i + 1 < sizeof longest; i++) longest[i] = "\xc3\xa9"[i % 2];
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(strlen(spec_validate_report_clean(buffer, longest)), SPEC_VALIDATE_NAME - 1);
    assert_int_equal(buffer[SPEC_VALIDATE_NAME - 2], '?'); /* half a character */
    assert_int_equal((unsigned char)buffer[SPEC_VALIDATE_NAME - 3], 0xa9);
}

TEST(e_values_print_beyond_what_a_double_holds)
{
    char buffer[SPEC_VALIDATE_NUMBER];
    assert_string_equal(spec_validate_report_e(buffer, 0.0), "1");
    assert_string_equal(spec_validate_report_e(buffer, log(0.27)), "0.27");
    assert_string_equal(spec_validate_report_e(buffer, log(2384.0)), "2.38e+03");
    assert_string_equal(spec_validate_report_e(buffer, 5000.0), "3.0e+2171");
    assert_string_equal(spec_validate_report_e(buffer, -5000.0), "3.4e-2172");
    assert_string_equal(spec_validate_report_e(buffer, INFINITY), "inf");
    assert_string_equal(spec_validate_report_e(buffer, -INFINITY), "0");
    assert_string_equal(spec_validate_report_e(buffer, NAN), "-");
}

/* A validation with hostile names. */
static void run_hostile(spec_validation *v, const char *subject, uint64_t draws)
{
    const spec_validate_plan plan = plan_of(draws, 1, plain);
    run(v, subject, &plan);
    v->subject = hostile;
    v->plan.limits.opt_options = "it's <b>\x02";
    memset(v->about.name, '<', sizeof v->about.name); /* not terminated */
}

/* Returns the words of the command, as sh splits them. */
static void assert_shell_reads(const char *command, const char *const *words)
{
    char *script;
    if (asprintf(&script, "printf '%%s\\0' %s", command) < 0) fail();
    FILE *in = popen(script, "r");
    char word[4096];
    assert_non_null(in);
    for (; *words != NULL; words++) {
        size_t n = 0;
        for (int c; (c = fgetc(in)) > 0 && n + 1 < sizeof word;) word[n++] = (char)c;
        word[n] = '\0';
        assert_string_equal(word, *words);
    }
    assert_int_equal(fgetc(in), EOF);
    assert_int_equal(pclose(in), 0);
    free(script);
}

TEST(json_parses_whatever_the_names)
{
    OWNED(spec_validation) v;
    json_error_t where;
    run_hostile(&v, "rule:resample-target", 100000);
    v.needed[v.n_needed++] = "top-k";
    strcpy(v.needed_why, "no \"variant\" was asked");
    FREED char *text = written(spec_validate_report_json, &v);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    if (root == NULL) fail_msg("line %d: %s", where.line, where.text);
    json_t *reproducer = json_object_get(root, "reproducer"),
           *round = json_object_get(reproducer, "round");
    assert_string_equal(json_string_value(json_object_get(root, "verdict")), "FAIL");
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(root, "sampler"), "spec")), cleaned);
    assert_int_equal(json_string_length(json_object_get(json_object_get(root, "sampler"), "name")),
                     64);
    assert_int_equal(json_array_size(json_object_get(root, "results")), v.n_results);
    assert_int_equal(json_array_size(json_object_get(round, "target")),
                     v.reproducer.round.n_nodes + 1);
    assert_shell_reads(json_string_value(json_object_get(reproducer, "command")),
                       (const char *const[]){"speclab", "validate", hostile, "--only", "plain-4",
                                             "--scopes", "V", "--seed", "42", "--budget", "50000",
                                             "--options", "it's <b>\x02", NULL});
    assert_null(strstr(text, "seconds"));
    assert_string_equal(json_string_value(json_array_get(json_object_get(root, "needed"), 0)),
                        "top-k");
    assert_string_equal(json_string_value(json_object_get(root, "needed_why")), v.needed_why);
    json_decref(root);
}

/* Checks the XML with xmllint if it is installed, otherwise by the names it contains. */
TEST(xml_is_well_formed_whatever_the_names)
{
    static const char *const subjects[] = {"rule:resample-target", "rule:token", "rule:token"};
    static const uint64_t draws[] = {100000, 100000, 100};
    static const char *const counts[] = {" failures=\"1\" errors=\"0\"",
                                         " failures=\"0\" errors=\"0\"",
                                         " failures=\"0\" errors=\"1\""};
    const bool lint = system("xmllint --version >/dev/null 2>&1") == 0;
    for (int i = 0; i < 3; i++) {
        char path[] = "/tmp/speclab-junit-XXXXXX", command[128];
        OWNED(spec_validation) v;
        run_hostile(&v, subjects[i], draws[i]);
        FREED char *text = written(spec_validate_report_junit, &v);
        assert_non_null(strstr(text, "rule:x&quot; &lt;&amp;&#39;&gt;]]&gt;"));
        assert_non_null(strstr(text, counts[i]));
        for (const char *c = text; *c != '\0'; c++)
            assert_true(*c == '\n' || (unsigned char)*c >= 0x20);
        const int fd = mkstemp(path);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        close(fd);
        snprintf(command, sizeof command, "xmllint --noout %s", path);
        if (lint) assert_int_equal(system(command), 0);
        unlink(path);
    }
    if (!lint) printf("skipped: xmllint is not there\n");
}

/* ---- contents -------------------------------------------------------------------------------- */

TEST(all_reports_are_the_same_for_any_number_of_threads)
{
    static const char *const subjects[] = {"rule:resample-target", "rule:token", "rule:greedy",
                                           "rule:lenience"};
    static const char *const only[] = {"plain-4",       "two-2",   "text-1-4",
                                       "low-entropy-8", "blind-3", NULL};
    static writer *const writers[] = {spec_validate_report_text, spec_validate_report_json,
                                      spec_validate_report_junit};
    for (int s = 0; s < 4; s++) {
        char *first[3];
        for (int threads = 1; threads <= 3; threads++) {
            const spec_validate_plan plan = plan_of(30000, threads, only);
            spec_validation v;
            run(&v, subjects[s], &plan);
            for (int w = 0; w < 3; w++) {
                char *text = written(writers[w], &v);
                if (threads == 1) {
                    first[w] = text;
                    continue;
                }
                assert_string_equal(text, first[w]);
                free(text);
            }
            spec_validation_free(&v);
        }
        for (int w = 0; w < 3; w++) free(first[w]);
    }
}

TEST(the_text_report_has_verdict_rates_and_command)
{
    const spec_validate_plan plan = plan_of(100000, 1, plain);
    OWNED(spec_validation) v;
    run(&v, "rule:resample-target", &plan);
    FREED char *text = written(spec_validate_report_text, &v);
    assert_int_equal(strncmp(text, "FAIL: rule:resample-target is not lossless.\n", 44), 0);
    assert_non_null(strstr(text, "gets FAIL with a probability of at most 1e-06"));
    assert_null(strstr(text, "  power  ")); /* nothing about power, because the mistake was found */
    assert_non_null(strstr(text, "\n     token             drafted      accepted_draft"
                                 "          correction               bonus\n"));
    assert_non_null(
        strstr(text, "rule:resample-target --only plain-4 --scopes V --seed 42 --budget 50000\n"));
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        assert_true(strlen(line) <= 120);
}

/* Rows of the table fit the terminal, and use most of it: a wider one shows more columns. */
TEST(rows_fit_the_terminal)
{
    const spec_validate_plan plan = plan_of(100000, 1, plain);
    OWNED(spec_validation) v;
    size_t last = 0;
    run(&v, "rule:resample-target", &plan);
    for (int columns = 60; columns <= 110; columns++) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        assert_works(spec_validate_report_page(&v, columns, out, &error));
        fclose(out);
        const char *row = strstr(text, "\n  plain-4 ");
        assert_non_null(row);
        const size_t width = strcspn(row + 1, "\n");
        assert_true(width <= (size_t)columns && width >= last);
        last = width;
        free(text);
    }
    assert_true(last > 80);
}

static char *written_table(const spec_validation *v)
{
    char *text = NULL;
    size_t size = 0;
    spec_table table;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(spec_validate_report_table(&table, v, NULL), GSL_SUCCESS);
    assert_int_equal(spec_table_write(&table, SPEC_FORMAT_CSV, out, NULL), GSL_SUCCESS);
    spec_table_free(&table);
    fclose(out);
    return text;
}

/* Samplers with a guarantee at all places, at some and at none, and one that never accepts: every
 * format gives the numbers, or words or null if there is none. */
TEST(every_report_tells_the_power_of_each_place)
{
    static const struct {
        const char *only[3];
        uint64_t draws;
        const char *says[3]; /* lines of the text report */
    } cases[] = {
        {{"heavy-draft-4", NULL},
         300000,
         {"after one state is found with a chance of 0.9\n", " 1 of 1 fixtures\n",
          "    bonus tokens"}},
        {{"plain-4", "zipf-16", NULL},
         100000,
         {"or only from a TV of 0.1 on\n", "    corrections      plain-4 V", " 0 of 2 fixtures\n"}},
        {{"disjoint-8", NULL},
         100000,
         {"that the sampler never emits, or", "    later positions  disjoint-8 V\n",
          "    bonus tokens     disjoint-8 V\n"}},
        {{"vocab-151936", NULL},
         100,
         {"too few draws to find a TV of 0.1: on vocab-151936 (V) no TV is guaranteed",
          "    first token             -        -  0 of 1 fixtures\n",
          "or only from a TV of 0.1 on\n    first token      vocab-151936 V\n"}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spec_validate_plan plan = plan_of(cases[c].draws, 2, cases[c].only);
        OWNED(spec_validation) v;
        json_error_t where;
        plan.scopes = SPEC_SCOPE_VERIFY;
        run(&v, "rule:token", &plan);
        char *forms[] = {written(spec_validate_report_text, &v),
                         written(spec_validate_report_json, &v),
                         written(spec_validate_report_junit, &v), written_table(&v)};
        for (int k = 0; k < 3; k++)
            if (strstr(forms[0], cases[c].says[k]) == NULL)
                fail_msg("'%s' is not in:\n%s", cases[c].says[k], forms[0]);
        json_t *root = json_loads(forms[1], 0, &where), *power = json_object_get(root, "power");
        for (spec_place place = 0; place < SPEC_PLACES; place++) {
            const spec_validate_power *p = &v.power[place];
            json_t *here = json_object_get(power, spec_place_names[place]);
            char property[64];
            assert_int_equal(here != NULL, p->reached > 0);
            assert_int_equal(json_is_number(json_object_get(here, "worst_tv")), p->covered > 0);
            snprintf(property, sizeof property, "\"detectable_%s\" value=\"",
                     spec_place_names[place]);
            assert_int_equal(strstr(forms[2], property) != NULL, p->covered > 0);
            for (int i = 0; i < v.n_results; i++) {
                const spec_detectable *d = &v.result[i].detectable[place];
                json_t *all = json_object_get(
                    json_array_get(json_object_get(root, "results"), (size_t)i), "detectable");
                json_t *one = json_object_get(all, spec_place_names[place]);
                assert_int_equal(one != NULL, d->own > 0);
                assert_int_equal(json_is_number(json_object_get(one, "tv")), d->tv < 1.0);
                if (d->tv < 1.0)
                    assert_near(json_real_value(json_object_get(one, "tv")), d->tv, 1e-11);
            }
        }
        json_decref(root);
        for (int k = 0; k < 4; k++) {
            const bool number = strstr(forms[k], "nan") != NULL || strstr(forms[k], "NaN") != NULL;
            if (number) fail_msg("what is no number is told as one:\n%s", forms[k]);
            free(forms[k]);
        }
    }
}

/* The command is never cut off, and has all options that limit the sampler. */
TEST(the_command_has_all_settings_of_the_sampler)
{
    static const char *const env[] = {"MY_TOKEN", "MY_KEY=secret", "OTHER=a b", NULL};
    const spec_validate_plan plan = plan_of(100000, 1, plain);
    char subject[3000], options[2000];
    OWNED(spec_validation) v;
    run(&v, "rule:resample-target", &plan);
    memset(subject, 'x', sizeof subject);
    memset(options, '\'', sizeof options);
    subject[0] = '-';
    subject[sizeof subject - 1] = options[sizeof options - 1] = '\0';
    v.subject = subject;
    v.plan.limits.opt_options = options;
    v.plan.limits.opt_env = env;
    v.plan.limits.timeout = 0.1;
    v.plan.limits.memory = 1u << 20;
    FREED char *text = written(spec_validate_report_json, &v);
    json_t *root = json_loads(text, 0, NULL);
    char file[sizeof subject + 2];
    snprintf(file, sizeof file, "./%s", subject);
    assert_shell_reads(
        json_string_value(json_object_get(json_object_get(root, "reproducer"), "command")),
        (const char *const[]){"speclab",  "validate",  file,        "--only",
                              "plain-4",  "--scopes",  "V",         "--seed",
                              "42",       "--budget",  "50000",     "--options",
                              options,    "--env",     "MY_TOKEN",  "--env",
                              "MY_KEY", /* without its value */
                              "--env",    "OTHER=a b", "--timeout", "0.10000000000000001",
                              "--memory", "1048576",   NULL});
    json_decref(root);
}

/* The command asks for the same rounds, and gives the same reproducer, count by count. */
TEST(the_command_finds_the_same_case_again)
{
    static const char *const both[] = {"heavy-draft-4", "plain-4", NULL}, *one[2] = {NULL};
    spec_validation first, again;
    spec_validate_plan plan = plan_of(300000, 2, both);
    run(&first, "rule:resample-target", &plan);
    for (int i = 0; i < first.n_results; i++)
        if (first.result[i].kind == first.reproducer.kind &&
            first.result[i].scope == first.reproducer.scope)
            plan.draws = first.result[i].budget;
    one[0] = first.reproducer.kind->name;
    plan.opt_only = one;
    plan.scopes = first.reproducer.scope;
    run(&again, "rule:resample-target", &plan);
    assert_int_equal(again.verdict, SPEC_VERDICT_FAIL);
    assert_int_equal(again.reproducer.state, first.reproducer.state);
    assert_int_equal(again.reproducer.n, first.reproducer.n);
    assert_int_equal(again.reproducer.round.seed, first.reproducer.round.seed);
    assert_memory_equal(again.reproducer.came, first.reproducer.came, sizeof first.reproducer.came);
    spec_validation_free(&first);
    spec_validation_free(&again);
}

TEST(the_table_has_a_row_for_each_test)
{
    const spec_validate_plan plan = plan_of(20000, 1, plain);
    OWNED(spec_validation) v;
    OWNED(spec_table) table;
    size_t rows = 0;
    run(&v, "rule:token", &plan);
    assert_int_equal(spec_validate_report_table(&table, &v, NULL), GSL_SUCCESS);
    for (int i = 0; i < v.n_results; i++) rows += (size_t)v.result[i].n_findings;
    assert_int_equal(table.n_rows, rows);
}

/* ---- the reproducer -------------------------------------------------------------------------- */

TEST(hard_failures_show_the_token_that_may_not_be)
{
    static const char *const only[] = {"disjoint-8", NULL};
    const spec_validate_plan plan = plan_of(50000, 2, only);
    OWNED(spec_validation) v;
    bool shown = false;
    run(&v, "mutant:accept-all", &plan);
    assert_int_equal(v.verdict, SPEC_VERDICT_FAIL);
    assert_int_equal(v.reproducer.round.hard, SPEC_HARD_IMPOSSIBLE);
    for (int k = 0; k < v.reproducer.round.n_emitted; k++)
        for (int j = 0; j < v.reproducer.n_shown; j++)
            shown = shown || (v.reproducer.token[j] == v.reproducer.round.emitted[k] &&
                              v.reproducer.target[j] == 0.0);
    assert_true(shown);
}

/* Returns the p-value of chi-square of the split against the token rule, over the cells with an
 * expected count of at least 10. `ret_odd`: corrections where none are expected. */
static double split_p(const char *subject, const char *fixture, uint64_t *ret_odd)
{
    CLOSED(spec_fixture) f;
    spec_evidence *evidence;
    spec_subject s;
    spec_reproducer c;
    const spec_fixture_kind *kind;
    double sum = 0.0, df = 0.0;
    assert_works(spec_fixture_find(&kind, fixture, &error));
    assert_works(spec_fixture_open(&f, kind, &error));
    assert_works(spec_evidence_init(&evidence, &f, SPEC_SCOPE_VERIFY, &error));
    assert_works(spec_subject_open(&s, subject, &SPEC_SUBJECT_LIMITS_DEFAULT, &error));
    const spec_finding none = {.name = "counts"};
    const spec_reproducer_case found = {.fixture = &f,
                                        .evidence = evidence,
                                        .finding = &none,
                                        .n_findings = 1,
                                        .scope = SPEC_SCOPE_VERIFY,
                                        .seed = spec_test_seed(),
                                        .batches = 8,
                                        .rounds = 4096};
    assert_works(spec_reproducer_find(&c, &found, &s, &error));
    assert_int_equal(c.again, 8 * 4096);
    *ret_odd = 0;
    for (int k = 0; k < c.n_shown; k++) {
        double expected = 0.0;
        for (int j = 0; j < SPEC_CAME_KINDS; j++) {
            expected += c.token_rule[j][k];
            if (c.token_rule[j][k] == 0.0 && j == SPEC_CAME_CORRECTION) *ret_odd += c.came[j][k];
            if (!(c.token_rule[j][k] >= 10.0)) continue;
            sum += gsl_pow_2((double)c.came[j][k] - c.token_rule[j][k]) / c.token_rule[j][k];
            df++;
        }
        assert_near(expected, (double)(c.n_drafted + c.n_bonus) * c.target[k], 1e-9);
    }
    assert_true(df >= 3.0);
    spec_reproducer_free(&c);
    spec_subject_close(&s);
    spec_evidence_free(evidence);
    return gsl_cdf_chisq_Q(sum, df);
}

/* At least 10,000 rounds reach the state. Drawing corrections from the target itself is off by 14
 * standard deviations on plain-4. */
TEST(the_token_rule_has_its_expected_split, STATISTICS)
{
    static const char *const fixtures[] = {"plain-4", "heavy-draft-4", "fixed-4", "shorter-4"};
    uint64_t odd;
    for (int i = 0; i < 4; i++) {
        assert_true(split_p("rule:token", fixtures[i], &odd) > SPEC_TEST_P);
        assert_int_equal(odd, 0);
    }
    assert_true(split_p("rule:resample-target", "plain-4", &odd) < 1e-20);
    assert_true(odd > 1000);
}

/* ---- calibration ----------------------------------------------------------------------------- */

TEST(calibration_is_the_same_for_any_number_of_threads)
{
    spec_calibration first, again;
    for (int threads = 1; threads <= 3; threads++) {
        const spec_validate_plan plan = plan_of(20000, threads, plain);
        spec_calibration *c = threads == 1 ? &first : &again;
        assert_int_equal(spec_calibrate(c, "rule:token", 12, &plan, NULL), GSL_SUCCESS);
        assert_int_equal(c->failed, 0);
        assert_true(c->log_e[0] < c->log_e[11]); /* each run has its own seed */
        for (int k = 0; k < c->n_tests; k++)
            for (size_t i = 1; i < c->test[k].n; i++)
                assert_true(c->test[k].p[i - 1] <= c->test[k].p[i]);
        if (threads == 1) continue;
        assert_memory_equal(first.p, again.p, 12 * sizeof *first.p);
        assert_memory_equal(first.log_e, again.log_e, 12 * sizeof *first.log_e);
        assert_int_equal(first.n_tests, again.n_tests);
        for (int k = 0; k < first.n_tests; k++)
            assert_memory_equal(first.test[k].p, again.test[k].p,
                                first.test[k].n * sizeof *first.test[k].p);
        spec_calibration_free(&again);
    }
    spec_calibration_free(&first);
}

TEST(a_wrong_sampler_fails_every_run_of_a_calibration)
{
    const spec_validate_plan plan = plan_of(50000, 2, plain);
    OWNED(spec_calibration) c;
    assert_int_equal(spec_calibrate(&c, "rule:resample-target", 7, &plan, NULL), GSL_SUCCESS);
    assert_int_equal(c.failed, 7);
    assert_same(spec_calibration_e_share(&c, 1e-6), 1.0);
    assert_same(spec_calibration_p_share(c.p, 7, 1e-6), 1.0);
}

TEST(shares_count_what_is_at_most_or_at_least)
{
    double p[] = {0.01, 0.27, 0.27, 0.9}, log_e[] = {-3.0, 0.0, log(10.0), log(100.0)};
    const spec_calibration c = {.n = 4, .p = p, .log_e = log_e};
    assert_same(spec_calibration_p_share(p, 4, 0.009), 0.0);
    assert_same(spec_calibration_p_share(p, 4, 0.27), 0.75);
    assert_same(spec_calibration_p_share(p, 4, 1.0), 1.0);
    assert_same(spec_calibration_e_share(&c, 1.0), 0.75);
    assert_same(spec_calibration_e_share(&c, 0.05), 0.25);
    assert_same(spec_calibration_e_share(&c, 0.001), 0.0);
}

TEST(errors_of_a_calibration_are_those_of_its_first_run)
{
    const spec_validate_plan plan = plan_of(50000, 2, plain);
    spec_calibration c;
    assert_fails_with(spec_calibrate(&c, "rule:tokne", 5, &plan, &error), GSL_EINVAL,
                      "did you mean 'token'?");
    assert_null(c.p);
}
