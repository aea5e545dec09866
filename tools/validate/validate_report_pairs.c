/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Says which combinations of two values were tested: a section of the text report. */
#include "tools/validate/validate_report.h"

#include <string.h>

/* SHOWN: pairs that are named. WIDTH: columns; INDENT: of continuation lines. */
enum { SHOWN = 4, WIDTH = 100, INDENT = 6 };

/* With siblings, only corrections have a law that depends on them, so a tenth of the rounds must
 * end in one. */
static bool judges_siblings(const spec_validate_result *result)
{
    const bool is_tree = result->kind->open == spec_recipe_open &&
                         ((const spec_recipe *)result->kind)->opt_parent != NULL;
    return !is_tree || 10 * result->detectable[SPEC_PLACE_CORRECTION].own >=
                           result->detectable[SPEC_PLACE_FIRST].own;
}

/* A fixture counts if it ran to the end with enough tokens. In a small vocabulary this means that a
 * TV as large as the limit would have been found in a round's first token, or in a text. */
static bool counts(const spec_validation *v, const spec_validate_result *result)
{
    const spec_place place =
        result->scope == SPEC_SCOPE_STREAM ? SPEC_PLACE_TEXT : SPEC_PLACE_FIRST;
    if (result->skipped != NULL || result->late || result->draws == 0) return false;
    if (!judges_siblings(result)) return false;
    return result->vocab > SPEC_VALIDATE_VOCAB ||
           result->detectable[place].tv <= spec_validate_limit(&v->plan);
}

static spec_design_count count_pairs(const spec_validation *v, uint32_t scope, bool as_if_answered,
                                     spec_design_pair *opt_missed, int n_missed)
{
    spec_design_seen seen = {0};
    for (int i = 0; i < v->n_results; i++)
        if (v->result[i].scope == scope &&
            (counts(v, &v->result[i]) || (as_if_answered && v->result[i].late)))
            spec_design_see(&seen, &v->about, scope, v->result[i].kind);
    return spec_design_covered(&seen, &v->about, scope, opt_missed, n_missed);
}

spec_design_count spec_validate_report_count(const spec_validation *v, uint32_t scope,
                                             spec_design_pair *opt_missed, int n_missed)
{
    return count_pairs(v, scope, false, opt_missed, n_missed);
}

static const char *name_of(const spec_design_pair *pair, int k)
{
    return spec_design_dimensions[pair->dimension[k]].value[pair->value[k]].name;
}

int spec_validate_report_late_pairs(const spec_validation *v, char example[], size_t size)
{
    enum { MOST = 512 };
    int n = 0;
    example[0] = '\0';
    for (uint32_t scope = SPEC_SCOPE_VERIFY; scope <= SPEC_SCOPE_STREAM; scope <<= 1) {
        spec_design_pair missed[MOST], anyway[MOST];
        const spec_design_count is = count_pairs(v, scope, false, missed, MOST),
                                otherwise = count_pairs(v, scope, true, anyway, MOST);
        int k = 0;
        if (is.covered == otherwise.covered) continue;
        n += otherwise.covered - is.covered;
        while (k < otherwise.all - otherwise.covered && k < MOST - 1 &&
               memcmp(&missed[k], &anyway[k], sizeof *missed) == 0)
            k++;
        if (example[0] == '\0')
            snprintf(example, size, "%s with %s", name_of(&missed[k], 0), name_of(&missed[k], 1));
    }
    return n;
}

/* A list that begins with a title and wraps. */
typedef struct {
    FILE *out;
    const char *title;
    int n, column;
} list;

static void write_item(list *l, const char *a, const char *opt_b)
{
    char text[200];
    snprintf(text, sizeof text, opt_b != NULL ? "%s with %s" : "%s", a, opt_b);
    const int width = (int)strlen(text) + 2;
    if (l->n == 0)
        l->column = fprintf(l->out, "    %s", l->title);
    else
        fputc(';', l->out);
    if (l->n > 0 && l->column + width > WIDTH) l->column = fprintf(l->out, "\n%*s", INDENT, "") - 1;
    fprintf(l->out, " %s", text);
    l->column += width;
    l->n++;
}

/* Lists the values whose abilities the sampler does not declare. */
static void write_undeclared(const spec_validation *v, FILE *out)
{
    list l = {.out = out, .title = "not declared:"};
    for (int d = 0; d < SPEC_DESIGN_DIMENSIONS; d++)
        for (int x = 0; x < SPEC_DESIGN_VALUES; x++) {
            const spec_design_value *value = &spec_design_dimensions[d].value[x];
            bool suits = false, exists = false;
            for (uint32_t scope = SPEC_SCOPE_VERIFY; scope <= SPEC_SCOPE_STREAM; scope <<= 1) {
                if (!(v->about.scopes & spec_design_dimensions[d].scopes & scope)) continue;
                exists = true;
                suits = suits || spec_design_suits(&v->about, scope, d, x);
            }
            if (value->name != NULL && exists && !suits) write_item(&l, value->name, NULL);
        }
    if (l.n > 0) fputc('\n', out);
}

void spec_validate_report_pairs(const spec_validation *v, FILE *out)
{
    if (v->plan.opt_only != NULL) return; /* the user chose them */
    fputs("  combinations of two conditions, such as 'top-k' with 'drafts of 2 tokens'\n", out);
    for (uint32_t scope = SPEC_SCOPE_VERIFY; scope <= SPEC_SCOPE_STREAM; scope <<= 1) {
        spec_design_pair missed[SHOWN];
        list l = {.out = out, .title = "  left out:"};
        if (!(v->about.scopes & scope) || (v->plan.scopes != 0 && !(v->plan.scopes & scope)))
            continue;
        const spec_design_count count = spec_validate_report_count(v, scope, missed, SHOWN);
        const int n = count.all - count.covered;
        fprintf(out, "    %-13s %d of %d tested\n", spec_validate_report_scope(scope),
                count.covered, count.all);
        for (int k = 0; k < n && k < SHOWN; k++)
            write_item(&l, name_of(&missed[k], 0), name_of(&missed[k], 1));
        if (n > SHOWN) fprintf(out, "; and %d more", n - SHOWN);
        if (n > 0) fputc('\n', out);
    }
    write_undeclared(v, out);
}
