/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/accept_rows.h"

#include "analysis/rules/multi_draft.h"
#include "base/memory_text.h"
#include "base/names.h"
#include "experiments/grid.h"
#include "experiments/measures/measures.h"
#include "sim/draft/drafter.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- ways to draft --------------------------------------------------------------------------- */

static const struct {
    const char *name;
    spec_siblings siblings; /* siblings for n >= 2 */
    int most;
    bool one_is_chosen;
} ways[] = {
    {"chain", SPEC_SIBLINGS_IID, 1, false},
    {"iid", SPEC_SIBLINGS_IID, SPEC_DRAFTS_MAX, false},
    {"without", SPEC_SIBLINGS_WITHOUT, SPEC_DRAFTS_MAX, false},
    {"top", SPEC_SIBLINGS_TOP, SPEC_DRAFTS_MAX, true},
    {"hub", SPEC_SIBLINGS_HUB, 2, false},
    {"greedy", SPEC_SIBLINGS_GREEDY, SPEC_DRAFTS_MAX, true},
    {"tail", SPEC_SIBLINGS_TAIL, SPEC_DRAFTS_MAX, true},
    {"lookup", SPEC_SIBLINGS_TOP, 1, true},
};
enum { N_WAYS = (int)(sizeof ways / sizeof ways[0]), LOOKUP = N_WAYS - 1 };
static const char by_default[] = "chain,iid,without,top,hub,greedy,tail";

static const char *way_name(int i)
{
    return i < N_WAYS ? ways[i].name : NULL;
}

/* Returns the drafting method of that name, also for "lookup?max=2"; -1 if there is none. */
static int find_way(const char *drafting, spec_error *error)
{
    spec_drafter drafter;
    if (strncmp(drafting, "lookup?", 7) != 0)
        return spec_names_find(way_name, drafting, "way to draft", error);
    if (spec_drafter_init(&drafter, drafting, NULL, error) != GSL_SUCCESS) return -1;
    spec_drafter_free(&drafter);
    return LOOKUP;
}

const char *spec_accept_row_strategy(char buffer[SPEC_ACCEPT_STRATEGY_SIZE],
                                     const spec_accept_row *row)
{
    if (row->lookup) return row->drafting;
    if (row->n == 1) return row->siblings == SPEC_SIBLINGS_TOP ? "greedy" : "chain";
    snprintf(buffer, SPEC_ACCEPT_STRATEGY_SIZE, "tree?n=%d&siblings=%s", row->n,
             spec_siblings_names[row->siblings]);
    return buffer;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Splits a copy of `list` at its commas. The caller frees the copy and *ret_name, even on
 * failure. */
static int split(char **ret_copy, const char ***ret_name, int *ret_n, const char *list,
                 spec_error *error)
{
    int n = 1;
    for (const char *c = list; *c != '\0'; c++) n += *c == ',';
    *ret_n = 0;
    *ret_copy = strdup(list);
    *ret_name = calloc((size_t)n, sizeof **ret_name);
    if (*ret_copy == NULL || *ret_name == NULL) return spec_no_memory(error);
    for (char *rest = *ret_copy, *word; (word = strsep(&rest, ",")) != NULL;) {
        if (*word == '\0') return spec_fail(error, GSL_EINVAL, "'%.80s' has an empty name", list);
        (*ret_name)[(*ret_n)++] = word;
    }
    return GSL_SUCCESS;
}

/* Returns every rule as "token,block,...". The caller frees it; NULL: out of memory. */
static char *all_rules(void)
{
    spec_memory_text list;
    if (!spec_memory_text_open(&list)) return NULL;
    for (int i = 0; spec_rules[i] != NULL; i++)
        fprintf(list.out, "%s%s", i > 0 ? "," : "", spec_rules[i]->name);
    return spec_memory_text_take(&list, NULL);
}

static int read_numbers(int **ret_number, int *ret_n, const char *list, spec_error *error)
{
    spec_grid grid = {0};
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_grid_add_numbers(&grid, "n", list, error)); /* its error begins with "n: " */
    const spec_axis *axis = &grid.axis[0];
    if ((*ret_number = calloc((size_t)axis->n, sizeof **ret_number)) == NULL)
        SPEC_TRY(spec_no_memory(error));
    for (int i = 0; i < axis->n; i++) {
        int *number = &(*ret_number)[i];
        if (spec_settings_parse_int(number, axis->value[i]) && *number >= 1 &&
            *number <= SPEC_DRAFTS_MAX)
            continue;
        status = spec_fail(error, GSL_EINVAL, "n: '%.40s' is not a whole number from 1 to %d",
                           axis->value[i], SPEC_DRAFTS_MAX);
        goto done;
    }
    *ret_n = axis->n;
done:
    spec_grid_free(&grid);
    return status;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Returns the kinds in a set, such as "iid, hub". */
static const char *kinds(char *buffer, size_t size, unsigned siblings)
{
    size_t used = 0;
    for (int i = 0; i < SPEC_SIBLINGS_KINDS && used < size; i++)
        if (siblings & SPEC_SIBLINGS_BIT(i))
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     spec_siblings_names[i]);
    return buffer;
}

static int refuse(const spec_rule *rule, const char *drafting, spec_error *error)
{
    char list[80] = "";
    if (rule->siblings == 0)
        return spec_fail(error, GSL_EINVAL,
                         "rule: '%s' supports only one draft per position, n = "
                         "1",
                         rule->name);
    return spec_fail(error, GSL_EINVAL, "rule: '%s' does not support %s siblings, only %s",
                     rule->name, drafting, kinds(list, sizeof list, rule->siblings));
}

/* The lists that rows are made from; `given` means that the user gave a list. */
typedef struct {
    const char **rule, **drafting;
    int *number;
    int n_rules, n_draftings, n_numbers;
    bool rules_given, draftings_given;
} request;

/* Adds the rows of one rule and one drafting method. */
static int fill_way(spec_accept_rows *rows, const request *of, spec_accept_row row,
                    const char *drafting, spec_error *error)
{
    const int way = find_way(drafting, error);
    if (way < 0) return spec_point_blame(GSL_EINVAL, "drafting", error);
    for (int i = 0; i < of->n_numbers; i++) {
        const int n = of->number[i];
        const bool holds = n == 1 || (row.rule.siblings & SPEC_SIBLINGS_BIT(ways[way].siblings));
        if (n > ways[way].most || (!of->draftings_given && n == 1 && ways[way].most > 1)) continue;
        if (!holds && of->rules_given && of->draftings_given)
            return refuse(&row.rule, drafting, error);
        if (!holds) continue;
        row.drafting = drafting;
        row.n = n;
        row.siblings = n > 1                     ? ways[way].siblings
                       : ways[way].one_is_chosen ? SPEC_SIBLINGS_TOP
                                                 : SPEC_SIBLINGS_IID;
        row.lookup = way == LOOKUP;
        rows->row[rows->n_rows++] = row;
    }
    return GSL_SUCCESS;
}

/* Lists the rows, ordered by rule, then drafting method, then n. */
static int fill(spec_accept_rows *rows, const request *of, spec_error *error)
{
    for (int r = 0; r < of->n_rules; r++) {
        spec_accept_row row = {.spec = of->rule[r]};
        const size_t before = rows->n_rows;
        int status = spec_point_blame(spec_rule_init(&row.rule, row.spec, error), "rule", error);
        for (int d = 0; d < of->n_draftings && status == GSL_SUCCESS; d++)
            status = fill_way(rows, of, row, of->drafting[d], error);
        if (status != GSL_SUCCESS) return status;
        if (of->rules_given && rows->n_rows == before) return refuse(&row.rule, "these", error);
    }
    return GSL_SUCCESS;
}

int spec_accept_rows_init(spec_accept_rows *rows, const char *rules, const char *draftings,
                          const char *n, spec_error *error)
{
    request of = {.rules_given = rules[0] != '\0', .draftings_given = draftings[0] != '\0'};
    int status = GSL_SUCCESS;
    char *all = all_rules();
    *rows = (spec_accept_rows){0};
    if (all == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_point_blame(
        split(&rows->rules, &of.rule, &of.n_rules, of.rules_given ? rules : all, error), "rule",
        error));
    SPEC_TRY(spec_point_blame(split(&rows->draftings, &of.drafting, &of.n_draftings,
                                    of.draftings_given ? draftings : by_default, error),
                              "drafting", error));
    SPEC_TRY(read_numbers(&of.number, &of.n_numbers, n, error));
    const size_t most = (size_t)of.n_rules * (size_t)of.n_draftings * (size_t)of.n_numbers;
    if ((rows->row = calloc(most, sizeof *rows->row)) == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(fill(rows, &of, error));
    if (rows->n_rows == 0)
        status = spec_fail(error, GSL_EINVAL,
                           "n: no drafting of '%.80s' has '%.40s' drafts per position", draftings,
                           n);
done:
    free(all);
    free(of.rule);
    free(of.drafting);
    free(of.number);
    if (status != GSL_SUCCESS) spec_accept_rows_free(rows);
    return status;
}

void spec_accept_rows_free(spec_accept_rows *rows)
{
    free(rows->row);
    free(rows->rules);
    free(rows->draftings);
    *rows = (spec_accept_rows){0};
}
