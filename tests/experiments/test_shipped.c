/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/settings.h"
#include "experiments/config.h"
#include "experiments/number_list.h"
#include "experiments/report/input_digest.h"
#include "experiments/report/report.h"
#include "sim/draft/drafter.h"
#include "tests/support/contexts.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <glob.h>
#include <math.h>
#include <string.h>

/* Every experiment of experiments/cfg/, loaded unchanged and with changed inputs. The working
 * folder is a temporary one. */

enum { SETS = 24, CANDIDATES = 3, LIMIT = 300000 };

static glob_t files;

static int set_up(void **state)
{
    char pattern[4200];
    if (spec_folder_enter(state) != 0) return -1;
    spec_test_context(1)->opt_share = spec_folder_before;
    snprintf(pattern, sizeof pattern, "%s/experiments/cfg/*.cfg", spec_folder_before);
    FILE *out = fopen("other.txt", "w");
    for (int i = 0; out != NULL && i < 300; i++)
        fprintf(out, "the cat sat on mat %d of %d and %x\n", i % 7, i % 3, i);
    return out == NULL || fclose(out) != 0 || glob(pattern, 0, NULL, &files) != 0;
}

static int tear_down(void **state)
{
    globfree(&files);
    return spec_folder_leave(state);
}

static spec_experiment load(size_t i, const char *const *opt_set)
{
    spec_experiment e;
    assert_works(spec_experiment_load(&e, files.gl_pathv[i], opt_set, &error));
    return e;
}

/* ---- as they are ----------------------------------------------------------------------------- */

TEST(every_finding_is_for_the_inputs_as_they_are)
{
    int stale = 0, n = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        OWNED(spec_experiment) e = load(i, NULL);
        const bool found = e.finding[0] != '\0';
        n++;
        if (found != (e.missing[0] == '\0'))
            fail_msg("%s: a finding is about inputs that are shipped", e.name);
        if (found && !spec_input_digest_agrees(&e, spec_folder_before)) {
            print_message("%s: read its finding again, then type 'make findings CONFIRM=%s'\n",
                          e.name, e.name);
            stale++;
        }
    }
    assert_true(n > 40);
    assert_int_equal(stale, 0);
}

/* Results of experiments must not depend on documents or sources of speclab. */
TEST(experiments_learn_from_their_own_texts_alone)
{
    static const char own[] = "experiments/text/";
    int n = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        spec_experiment e = load(i, NULL);
        for (int a = 0; a < e.grid.n_axes && e.missing[0] == '\0'; a++)
            for (int k = 0; k < e.grid.axis[a].n; k++) {
                if (strcmp(e.grid.axis[a].name, "prompt") == 0) continue;  /* tokens, as 0/1/0 */
                if (strcmp(e.grid.axis[a].name, "printed") == 0) continue; /* numbers, as 10/9 */
                if (strcmp(e.grid.axis[a].name, "other") == 0) continue;   /* as 3/2.29/1.65 */
                if (e.grid.axis[a].label) continue; /* printed, not read */
                spec_settings spec = {0};
                const char *value = spec_drafter_model_of(e.grid.axis[a].value[k]);
                if (spec_settings_init(&spec, value, NULL) != GSL_SUCCESS) continue;
                const bool bare = spec.path[0] == '\0' && strchr(spec.name, '/') != NULL;
                const bool path = strcmp(spec.name, "ngram") == 0 || strchr(spec.path, '/') != NULL;
                const char *file = bare ? spec.name : path ? spec.path : own;
                if (strncmp(file, own, sizeof own - 1) != 0) fail_msg("%s reads %s", e.name, value);
                n += file != own;
                spec_settings_free(&spec);
            }
        spec_experiment_free(&e);
    }
    assert_true(n > 100);
}

/* ---- with changed inputs --------------------------------------------------------------------- */

/* Overrides; the list owns them. */
typedef struct {
    char *set[SETS + 1];
    int n;
} overrides;

__attribute__((format(printf, 2, 3))) static void add(overrides *list, const char *format, ...)
{
    va_list args;
    assert_true(list->n < SETS);
    va_start(args, format);
    assert_true(vasprintf(&list->set[list->n++], format, args) >= 0);
    va_end(args);
    list->set[list->n] = NULL;
}

static void release(overrides *list)
{
    for (int i = 0; i < list->n; i++) free(list->set[i]);
    *list = (overrides){0};
}

static bool is_set(const overrides *list, const char *name)
{
    for (int i = 0; i < list->n; i++)
        if (strncmp(list->set[i], name, strlen(name)) == 0 && list->set[i][strlen(name)] == '=')
            return true;
    return false;
}

/* Overrides that reduce the work and replace the text. They are changes themselves, and make the
 * other changes quick. */
static overrides quick(const spec_experiment *e)
{
    static const char *const little[][2] = {
        {"positions", "60"}, {"samples", "90"}, {"replica", "7"},   {"cases", "2"},
        {"contexts", "5"},   {"burn_in", "9"},  {"requests", "8"}, {"warm", "7"},
        {"paths", "6"},      {"listed", "30"},  {"longer", "40"}};
    overrides list = {0};
    const uint64_t rounds = e->rounds < 840 ? 2 : 70; /* some take long */
    if (e->measure->simulates) add(&list, "rounds=%d", (int)rounds);
    for (size_t i = 0; i < sizeof little / sizeof *little; i++) {
        bool known;
        spec_measure_default(e->measure, little[i][0], &known);
        if (known) add(&list, "%s=%s", little[i][0], little[i][1]);
    }
    if (strstr(e->text, "${TEXT}") != NULL) add(&list, "TEXT=other.txt");
    if (strstr(e->text, "${CODE}") != NULL) add(&list, "CODE=other.txt");
    if (list.n == 0) add(&list, "seed=43");
    return list;
}

static bool is_number_axis(const spec_axis *axis)
{
    double number;
    for (int i = 0; i < axis->n; i++)
        if (!spec_settings_parse_double(&number, axis->value[i])) return false;
    return axis->origin == NULL;
}

static bool has_value(const spec_axis *axis, const char *value)
{
    for (int i = 0; axis != NULL && i < axis->n; i++)
        if (strcmp(axis->value[i], value) == 0) return true;
    return false;
}

/* Returns other values for a numeric axis, to try in turn. For whole numbers: an unused one, the
 * lowest alone, or one beyond the range. For others: parts of the range. */
static int candidates(char value[CANDIDATES][SPEC_NUMBER_SIZE], const spec_axis *axis)
{
    double low = INFINITY, high = -INFINITY, number = 0.0;
    bool whole = true;
    int n = 0;
    for (int i = 0; i < axis->n; i++) {
        spec_settings_parse_double(&number, axis->value[i]);
        whole = whole && number == floor(number);
        low = fmin(low, number);
        high = fmax(high, number);
    }
    int unused = 1;
    for (char text[SPEC_NUMBER_SIZE]; has_value(axis, spec_number_list_text(unused, text));)
        unused++;
    const double first = unused < high ? unused : low;
    const double in_turn[CANDIDATES] = {whole ? first : 0.83 * low,
                                        whole ? high + 1.0 : 0.5 * (low + high), 0.37};
    for (int i = 0; i < CANDIDATES; i++) {
        char rounded[SPEC_NUMBER_SIZE];
        snprintf(rounded, sizeof rounded, "%.3g", in_turn[i]);
        spec_number_list_text(strtod(rounded, NULL), value[n]);
        if (!has_value(axis, value[n]) || (in_turn[i] < high && low < high)) n++;
    }
    return n;
}

/* ---- what a page may not hold ---------------------------------------------------------------- */

static bool is_word_character(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
}

/* Returns whether the text contains this word as a whole. A full stop may follow it. */
static bool has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
        const bool begins = at == text || !is_word_character(at[-1]);
        const bool ends =
            !is_word_character(at[n]) || (at[n] == '.' && !is_word_character(at[n + 1]));
        if (begins && ends) return true;
    }
    return false;
}

/* Returns whether this number is part of a formula or a theorem, and so holds for any grid. */
static bool is_constant_of_prose(const char *experiment, const char *text)
{
    static const char *const constants[][2] = {
        {"block", "K = 1"}, /* where both rules are the same for every pair */
        {"block_below_token",
         "8"}, /* n <= 8 emitted_var / d^2: two standard errors of a difference of two means */
    };
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (strcmp(experiment, constants[i][0]) == 0 && strcmp(text, constants[i][1]) == 0)
            return true;
    return strlen(text) == 1 && strchr("012", text[0]) != NULL;
}

static bool any_has_value(const spec_grid *grid, const char *value)
{
    for (int a = 0; a < grid->n_axes; a++)
        if (has_value(&grid->axis[a], value)) return true;
    return false;
}

/* Title, question and theory must not name values of the shipped grid that the changed grid
 * lacks. We search for "K = 3", and also for the value alone unless another axis has it. For a
 * dropped axis we only search for the first form. */
static void check_prose(const spec_experiment *was, const spec_experiment *is)
{
    const char *const prose[] = {is->title, is->question, is->theory};
    for (int a = 0; a < was->grid.n_axes; a++) {
        const spec_axis *axis = &was->grid.axis[a], *now = spec_grid_axis(&is->grid, axis->name);
        for (int i = 0; i < axis->n; i++) {
            char given[200];
            if (has_value(now, axis->value[i]) || axis->value[i][0] == '\0') continue;
            snprintf(given, sizeof given, "%.80s = %.80s", axis->name, axis->value[i]);
            const char *const texts[] = {given, axis->value[i]};
            for (int k = 0; k < 6; k++) {
                const char *text = texts[k / 3];
                if ((text != given && (now == NULL || any_has_value(&is->grid, text))) ||
                    is_constant_of_prose(was->name, text))
                    continue;
                if (has_word(prose[k % 3], text))
                    fail_msg("%s says '%s': %s", was->name, text, prose[k % 3]);
            }
        }
    }
}

/* Returns the page of a result. */
static char *page_of(const spec_experiment *e, const spec_result *result)
{
    FREED char *page = NULL;
    size_t n;
    FILE *out = open_memstream(&page, &n);
    const spec_report_options options = {.opt_share = spec_folder_before};
    assert_works(spec_report_write(out, &e, &result, 1, &options, &error));
    fclose(out);
    char *copy = strdup(page);
    return copy;
}

/* Runs an experiment with overrides and checks its page. Returns false if it cannot run with
 * them. */
static bool check_page(size_t i, const spec_experiment *was, const overrides *list,
                       const char *const *gone)
{
    OWNED(spec_experiment) is = {0};
    OWNED(spec_result) result = {0};
    spec_error error = {""};
    spec_run_options options = {.opt_context = spec_test_context(1), .limit = LIMIT};
    bool good = spec_experiment_load(&is, files.gl_pathv[i], (const char *const *)list->set,
                                     &error) == GSL_SUCCESS;
    /* every fourth point, if there are at least four */
    if (good && spec_grid_size(&is.grid) >= 4) options.shard = (spec_shard){1, 4};
    if (good) good = spec_experiment_run(&result, &is, &options, &error) == GSL_SUCCESS;
    if (good) {
        char *page = page_of(&is, &result), first[41];
        snprintf(first, sizeof first, "%.40s", was->finding);
        if (strstr(page, "**Finding.**") != NULL ||
            (first[0] != '\0' && strstr(page, first) != NULL))
            fail_msg("%s prints its finding with other inputs", was->name);
        if (strstr(strstr(page, "**Command.** "), "`: ") != NULL)
            fail_msg("%s prints the time of other inputs", was->name);
        check_prose(was, &is);
        for (; *gone != NULL; gone++)
            if (strstr(page, *gone) != NULL)
                fail_msg("%s still names %s:\n%s", was->name, *gone, page);
        free(page);
    }
    return good;
}

static const char *const gone_texts[] = {"prose.txt", "code.txt", NULL};

/* Returns whether this is an axis of numbers that `list` does not change. */
static bool can_change(const spec_experiment *e, int axis, const overrides *list)
{
    return is_number_axis(&e->grid.axis[axis]) && !is_set(list, e->grid.axis[axis].name);
}

/* Runs each experiment with another text, little work and one changed number, the first one that
 * works. */
TEST(pages_of_changed_inputs_have_no_finding, SLOW)
{
    int changed = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        OWNED(spec_experiment) e = load(i, NULL);
        overrides list = quick(&e);
        bool good = e.missing[0] != '\0';
        for (int a = 0; a < e.grid.n_axes && !good; a++) {
            char value[CANDIDATES][SPEC_NUMBER_SIZE];
            const int n = can_change(&e, a, &list) ? candidates(value, &e.grid.axis[a]) : 0;
            for (int k = 0; k < n && !good; k++) {
                overrides one = quick(&e);
                add(&one, "%s=%s", e.grid.axis[a].name, value[k]);
                good = check_page(i, &e, &one, gone_texts);
                changed += good;
                release(&one);
            }
        }
        if (!good && !(good = check_page(i, &e, &list, gone_texts)))
            fail_msg("%s cannot be run", e.name);
        release(&list);
    }
    print_message("%d experiments with another number\n", changed);
    assert_true(changed > 38);
}

TEST(another_value_of_any_number_leaves_nothing_stale)
{
    int changed = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        OWNED(spec_experiment) e = load(i, NULL);
        const overrides none = {0};
        for (int a = 0; a < e.grid.n_axes; a++) {
            char value[CANDIDATES][SPEC_NUMBER_SIZE];
            const int n = can_change(&e, a, &none) ? candidates(value, &e.grid.axis[a]) : 0;
            for (int k = 0; k < n; k++) {
                overrides one = {0};
                add(&one, "%s=%s", e.grid.axis[a].name, value[k]);
                spec_experiment is = load(i, (const char *const *)one.set);
                check_prose(&e, &is);
                if (spec_input_digest_agrees(&is, spec_folder_before))
                    fail_msg("%s: %s is not in its digest", e.name, one.set[0]);
                spec_experiment_free(&is);
                release(&one);
                changed++;
            }
        }
    }
    print_message("%d changed numbers\n", changed);
    assert_true(changed > 150);
}

/* Returns whether the experiment takes both models. */
static bool takes_pair(const spec_experiment *e)
{
    return spec_grid_axis(&e->grid, "target") != NULL && spec_grid_axis(&e->grid, "draft") != NULL;
}

TEST(given_models_leave_nothing_of_those_of_the_file, SLOW)
{
    int pairs = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        OWNED(spec_experiment) e = load(i, NULL);
        if (takes_pair(&e)) {
            const spec_axis *target = spec_grid_axis(&e.grid, "target"),
                            *draft = spec_grid_axis(&e.grid, "draft");
            const char *const gone[] = {"prose.txt",
                                        "code.txt",
                                        "pair.rows",
                                        target->value[0],
                                        strcmp(draft->value[0], "chain") == 0 ? "prose.txt"
                                                                              : draft->value[0],
                                        NULL};
            overrides list = quick(&e);
            for (int k = 0; k < list.n; k++)
                if (strstr(list.set[k], "other.txt") != NULL) snprintf(list.set[k], 7, "seed=7");
            const bool text = e.measure->simulates; /* others may enumerate: few tokens */
            add(&list, "target=%s", text ? "ngram:other.txt?order=3" : "markov?V=2&order=1&seed=8");
            add(&list, "draft=%s", text ? "ngram:other.txt?order=2" : "markov?V=2&order=1&seed=9");
            spec_experiment is = load(i, (const char *const *)list.set);
            const bool lacks_texts = is.missing[0] != '\0';
            spec_experiment_free(&is);
            if (!lacks_texts && !check_page(i, &e, &list, gone))
                fail_msg("%s cannot be run with given models", e.name);
            release(&list);
            pairs += !lacks_texts;
        }
    }
    print_message("%d experiments with given models\n", pairs);
    assert_true(pairs >= 22);
}

/* Without this test, the tests above would pass if no finding were ever printed. */
TEST(a_shipped_experiment_prints_its_finding)
{
    static const char *const quickest[] = {"published_claims", "roofline", "block_below_token"};
    int n = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        spec_experiment e = load(i, NULL);
        for (size_t k = 0; k < sizeof quickest / sizeof *quickest; k++) {
            spec_result result;
            const spec_run_options options = {.opt_context = spec_test_context(1)};
            if (strcmp(e.name, quickest[k]) != 0) continue;
            assert_works(spec_experiment_run(&result, &e, &options, &error));
            char *page = page_of(&e, &result), first[41];
            snprintf(first, sizeof first, "%.40s", e.finding);
            if (strstr(page, "**Finding.**") == NULL || strstr(page, first) == NULL)
                fail_msg("%s: none", e.name);
            assert_non_null(strstr(page, e.time));
            free(page);
            spec_result_free(&result);
            n++;
        }
        spec_experiment_free(&e);
    }
    assert_int_equal(n, sizeof quickest / sizeof *quickest);
}

SUITE(.setup = set_up, .teardown = tear_down);
