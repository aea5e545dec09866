/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text report. */
#include "base/text_width.h"
#include "tools/validate/validate_report.h"

#include "speclab/no_memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ROW_TOKENS, ROW_NODES: largest rows and drafts whose rows are printed. WIDTH: columns of a
 * sentence. BEST_SHOWN: fixtures listed for a test over all of them. */
enum { ROW_TOKENS = 10, ROW_NODES = 8, WIDTH = 100, BEST_SHOWN = 5 };

/* Formats 1234567 as 1,234,567. */
static const char *grouped(char buffer[SPEC_VALIDATE_NUMBER], uint64_t n)
{
    char digits[SPEC_VALIDATE_NUMBER];
    const int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    int used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) buffer[used++] = ',';
        buffer[used++] = digits[i];
    }
    buffer[used] = '\0';
    return buffer;
}

static const char *scopes_of(char buffer[SPEC_VALIDATE_NUMBER], uint32_t scopes)
{
    static const uint32_t each[] = {SPEC_SCOPE_VERIFY, SPEC_SCOPE_DRAFT, SPEC_SCOPE_STREAM};
    buffer[0] = '\0';
    for (int i = 0; i < 3; i++) {
        if (!(scopes & each[i])) continue;
        strcat(buffer, buffer[0] != '\0' ? ", " : "");
        strcat(buffer, spec_validate_report_scope(each[i]));
    }
    return buffer;
}

/* ---- what was found -------------------------------------------------------------------------- */

void spec_validate_report_verdict(const spec_validation *v, FILE *out)
{
    char name[SPEC_VALIDATE_NAME];
    spec_validate_report_clean(name, v->subject);
    fprintf(out, "%s: ", spec_validate_verdicts[v->verdict]);
    switch (v->verdict) {
    case SPEC_VERDICT_PASS:
        fprintf(out, "%s looks lossless%s", name,
                v->plan.dependent ? ", each request by itself" : "");
        if (v->plan.eps > 0.0) fprintf(out, ", to a TV of %g", v->plan.eps);
        fputs(".\n", out);
        break;
    case SPEC_VERDICT_FAIL: fprintf(out, "%s is not lossless.\n", name); break;
    case SPEC_VERDICT_LOSSY: fprintf(out, "%s is not lossless, as it declares.\n", name); break;
    case SPEC_VERDICT_DEPENDENT:
        fprintf(out, "%s: each request is right; requests depend on each other.\n", name);
        break;
    default: fprintf(out, "no conclusion about %s.\n", name);
    }
    spec_text_wrap(v->reason, WIDTH, 0, out);
    fputs(".\n", out);
    if (!v->each.asked) return;
    char each[sizeof v->each.reason + 160];
    snprintf(each, sizeof each, "Each request by itself: %s%s", v->each.reason,
             v->verdict == SPEC_VERDICT_DEPENDENT
                 ? ". Where requests depend on purpose, --dependent-requests tests just that"
                 : "");
    spec_text_wrap(each, WIDTH, 0, out);
    fputs(".\n", out);
}

static void write_statement(const spec_validation *v, FILE *out)
{
    char name[SPEC_VALIDATE_NAME], own[sizeof v->about.name + 1], scopes[SPEC_VALIDATE_NUMBER];
    char rounds[SPEC_VALIDATE_NUMBER], draws[SPEC_VALIDATE_NUMBER], e[SPEC_VALIDATE_NUMBER],
        at[SPEC_VALIDATE_NUMBER];
    int run = 0, fit = 0, left_out = 0;
    for (int i = 0; i < v->n_results; i++) {
        fit += v->result[i].skipped == NULL;
        run += v->result[i].skipped == NULL && v->result[i].draws > 0;
        left_out += v->result[i].late && v->result[i].draws == 0;
    }
    snprintf(own, sizeof own, "%.*s", (int)sizeof v->about.name, v->about.name);
    if (v->trace) {
        fprintf(out, "\n  engine       \"%s\"\n", spec_validate_report_clean(name, own));
        fprintf(
            out,
            "  tested       %s tokens in %s texts, against the distributions recorded for them; "
            "seed %llu\n",
            grouped(draws, v->draws), grouped(rounds, v->rounds), (unsigned long long)v->plan.seed);
    } else {
        fprintf(out, "\n  sampler      \"%s\"; scopes %s\n", spec_validate_report_clean(name, own),
                scopes_of(scopes, v->about.scopes));
        fprintf(
            out,
            "  tested       %d of %d fixtures in their scopes%s; %s rounds, %s tokens; seed %llu\n",
            run, fit,
            v->stopped             ? ", when it was stopped"
            : run + left_out < fit ? ", which was enough"
                                   : "",
            grouped(rounds, v->rounds), grouped(draws, v->draws), (unsigned long long)v->plan.seed);
    }
    if (v->plan.dependent)
        fprintf(out, "  counted      one request of each call, which has at most %d\n",
                SPEC_VALIDATE_CALL);
    if (v->alone)
        fputs("  instances    two of them gave the same answers to different seeds, so only one "
              "was used\n",
              out);
    if (v->plan.seconds > 0.0) fprintf(out, "  time         %.1f s\n", v->seconds);
    if (v->fresh)
        fprintf(out,
                "  evidence     e = %s; p = %.2g on fresh data for what was suspicious; a FAIL "
                "from %.2g down\n",
                spec_validate_report_e(e, v->log_e), v->p, 0.5 * v->plan.false_alarm_rate);
    fprintf(out, "  %-12s e = %s, where %s is a FAIL; p = %.2g over all tests\n",
            v->fresh ? "first look" : "evidence",
            spec_validate_report_e(e, v->fresh ? v->first_log_e : v->log_e),
            spec_validate_report_e(at, -log(0.5 * v->plan.false_alarm_rate)),
            v->fresh ? v->first_p : v->p);
    if (v->together != NULL && v->verdict != SPEC_VERDICT_PASS)
        fprintf(out, "               most of it from the test '%s' over all fixtures together\n",
                v->together);
    fprintf(out,
            "  false alarm  a lossless sampler gets FAIL with a probability of at most %g, over "
            "all tests together\n",
            v->plan.false_alarm_rate);
    if (v->verdict != SPEC_VERDICT_PASS && v->verdict != SPEC_VERDICT_INCONCLUSIVE) return;
    if (!v->trace) {
        spec_validate_report_power(v, out);
        spec_validate_report_pairs(v, out);
    } else if (!isnan(v->result[0].detectable[SPEC_PLACE_TEXT].tv))
        fprintf(out,
                "  power        a TV of %.2g in the tokens' quantiles in these distributions is "
                "found with a chance of %g\n",
                v->result[0].detectable[SPEC_PLACE_TEXT].tv, v->plan.power);
}

static const char *best_test(const spec_validate_result *result)
{
    const spec_finding *best = NULL;
    if (result->hard != SPEC_HARD_NONE) return "hard";
    for (int k = 0; k < result->n_findings; k++)
        if (best == NULL || result->finding[k].log_e > best->log_e) best = &result->finding[k];
    return best != NULL ? best->name : "";
}

/* The columns after the fixture's name. If a terminal is too narrow, those with the largest number
 * in `first_out` are left out first; 0: never. */
enum { SCOPE, DRAWS, ACCEPTED, EVALUE, PVALUE, FIRST, LATER, CORRECTION, BONUS, BEST, COLUMNS };
static const struct {
    const char *title;
    int width; /* negative: left-aligned */
    int first_out;
    spec_place place;
} columns_of[COLUMNS] = {
    [SCOPE] = {"scope", -5, 0, 0},
    [DRAWS] = {"draws", 10, 2, 0},
    [ACCEPTED] = {"n_acc.", 8, 4, 0},
    [EVALUE] = {"e", 9, 0, 0},
    [PVALUE] = {"p", 7, 3, 0},
    [FIRST] = {"first", 6, 1, SPEC_PLACE_FIRST},
    [LATER] = {"later", 6, 5, SPEC_PLACE_LATER},
    [CORRECTION] = {"corr.", 6, 6, SPEC_PLACE_CORRECTION},
    [BONUS] = {"bonus", 6, 7, SPEC_PLACE_BONUS},
    [BEST] = {"best test", -9, 0, 0},
};

typedef char cells[COLUMNS][SPEC_VALIDATE_NUMBER];

/* The detectable TV of a text goes under `first`. */
static void fill_cells(cells ret, const spec_validate_result *r)
{
    const bool text = r->scope == SPEC_SCOPE_STREAM;
    char e[SPEC_VALIDATE_NUMBER];
    snprintf(ret[SCOPE], sizeof ret[SCOPE], "%s", spec_validate_report_scope(r->scope));
    (void)grouped(ret[DRAWS], r->draws);
    snprintf(ret[ACCEPTED], sizeof *ret, isnan(r->accepted) ? "-" : "%.3f", r->accepted);
    snprintf(ret[EVALUE], sizeof *ret, "%s", spec_validate_report_e(e, r->log_e));
    snprintf(ret[PVALUE], sizeof *ret, "%.2g", r->p);
    for (int k = FIRST; k <= BONUS; k++) {
        const double tv =
            r->detectable[k == FIRST && text ? SPEC_PLACE_TEXT : columns_of[k].place].tv;
        snprintf(ret[k], sizeof *ret, tv < 1e-3 ? "<0.001" : tv < 1.0 ? "%.2g" : "-", tv);
    }
    snprintf(ret[BEST], sizeof *ret, "%s%s", best_test(r), r->failed ? "  FAIL" : "");
}

/* Lists the late fixtures with their vocabularies, since large rows take more time. */
static void write_late(const spec_validation *v, int widest, FILE *out)
{
    char most[SPEC_VALIDATE_NUMBER], vocab[SPEC_VALIDATE_NUMBER];
    bool any = false;
    for (int i = 0; i < v->n_results; i++) {
        const spec_validate_result *r = &v->result[i];
        if (!r->late) continue;
        if (!any)
            fprintf(out,
                    "\n  left out after a call that took longer than --timeout, %g s; the largest "
                    "vocabulary has %s tokens\n",
                    v->plan.limits.timeout,
                    grouped(most, (uint64_t)spec_validate_largest_vocab(v)));
        any = true;
        fprintf(out, "  %-*s  %-5s  %s tokens\n", widest, r->kind->name,
                spec_validate_report_scope(r->scope), grouped(vocab, (uint64_t)r->vocab));
    }
}

static bool same_reason(const spec_validate_result *a, const spec_validate_result *b)
{
    return a->skipped != NULL && b->skipped != NULL && a->scope == b->scope &&
           strcmp(a->skipped, b->skipped) == 0;
}

/* Lists the fixtures that were not run, by scope and reason. */
static void write_skipped(const spec_validation *v, FILE *out)
{
    enum { INDENT = 4, LINE = 78 };
    fputs("\n  not run\n", out);
    for (int i = 0; i < v->n_results; i++) {
        const spec_validate_result *r = &v->result[i];
        bool is_first = r->skipped != NULL;
        for (int k = 0; k < i; k++) is_first = is_first && !same_reason(&v->result[k], r);
        if (!is_first) continue;
        fprintf(out, "  %s (scope %s):", r->skipped, spec_validate_report_scope(r->scope));
        const char *comma = "";
        for (int k = i, at = LINE; k < v->n_results; k++) {
            const char *name = v->result[k].kind->name;
            if (!same_reason(&v->result[k], r)) continue;
            if (at + 2 + (int)strlen(name) < LINE) at += fprintf(out, "%s %s", comma, name);
            else at = fprintf(out, "%s\n%*s%s", comma, INDENT, "", name);
            comma = ",";
        }
        fputc('\n', out);
    }
}

static bool is_in_table(const spec_validate_result *r)
{
    return r->skipped == NULL && r->draws + r->rounds > 0;
}

/* Chooses the columns whose rows fit a terminal of `columns`; 0: all. */
static void choose_columns(bool shown[COLUMNS], const spec_validation *v, int widest, int columns)
{
    int width[COLUMNS], all = 2 + widest;
    for (int k = 0; k < COLUMNS; k++) {
        width[k] = 2 + abs(columns_of[k].width);
        for (int i = 0; i < v->n_results; i++) {
            cells row;
            if (!is_in_table(&v->result[i])) continue;
            fill_cells(row, &v->result[i]);
            if (2 + (int)strlen(row[k]) > width[k]) width[k] = 2 + (int)strlen(row[k]);
        }
        shown[k] = true;
        all += width[k];
    }
    for (int out = COLUMNS; columns > 0 && out > 0; out--)
        for (int k = 0; k < COLUMNS; k++) {
            if (columns_of[k].first_out != out || all <= columns) continue;
            shown[k] = false;
            all -= width[k];
        }
}

/* The last column is not padded. */
static void write_row(const bool shown[COLUMNS], int widest, const char *name, cells row, FILE *out)
{
    fprintf(out, "  %-*s", widest, name);
    for (int k = 0; k < BEST; k++)
        if (shown[k]) fprintf(out, "  %*s", columns_of[k].width, row[k]);
    fprintf(out, "  %s\n", row[BEST]);
}

static void write_heading(const bool shown[COLUMNS], int widest, FILE *out)
{
    static const char over[] = "detectable TV";
    cells titles;
    int before = 2 + widest, places = 0;
    for (int k = 0; k < COLUMNS; k++) {
        snprintf(titles[k], sizeof *titles, "%s", columns_of[k].title);
        if (shown[k] && k < FIRST) before += 2 + abs(columns_of[k].width);
        places += shown[k] && k >= FIRST && k <= BONUS;
    }
    fputc('\n', out);
    if (places > 0) fprintf(out, "%*s\n", before + (places > 1 ? (int)sizeof over - 1 : 8), over);
    write_row(shown, widest, "fixture", titles, out);
}

static void write_results(const spec_validation *v, int columns, FILE *out)
{
    int widest = (int)strlen("fixture"), left_out = 0;
    bool any = false, shown[COLUMNS];
    for (int i = 0; i < v->n_results; i++)
        if ((is_in_table(&v->result[i]) || v->result[i].late) &&
            (int)strlen(v->result[i].kind->name) > widest)
            widest = (int)strlen(v->result[i].kind->name);
    choose_columns(shown, v, widest, columns);
    write_heading(shown, widest, out);
    for (int i = 0; i < v->n_results; i++) {
        const spec_validate_result *r = &v->result[i];
        cells row;
        any = any || r->skipped != NULL;
        if (!is_in_table(r)) continue;
        fill_cells(row, r);
        write_row(shown, widest, r->kind->name, row, out);
    }
    for (int k = 0; k < COLUMNS; k++)
        if (!shown[k])
            fprintf(out, "%s %s", left_out++ == 0 ? "  not shown, --all does:" : ",",
                    columns_of[k].title);
    if (left_out > 0) fputc('\n', out);
    write_late(v, widest, out);
    if (any) write_skipped(v, out);
}

/* ---- the reproducer -------------------------------------------------------------------------- */

static void write_found(const spec_validation *v, FILE *out)
{
    const spec_reproducer *c = &v->reproducer;
    const spec_finding *f = &c->finding;
    char e[SPEC_VALIDATE_NUMBER];
    fprintf(out, "Reproducer: fixture %s, scope %s, state %d (variant %d, position %d)\n",
            c->kind->name, spec_validate_report_scope(c->scope), c->state, c->state / c->levels,
            c->state % c->levels);
    if (c->round.hard != SPEC_HARD_NONE) {
        fprintf(out, "  %s\n", spec_hard_reasons[c->round.hard]);
    } else {
        fprintf(out, "  found by the test '%s': e = %s, p = %.2g, n = %.0f", f->name,
                spec_validate_report_e(e, f->log_e), f->p, f->n);
        if (!isnan(f->seen))
            fprintf(out, "; seen %.5g of the time, expected %.5g", f->seen, f->expected);
        fputc('\n', out);
        if (!v->of_state)
            fputs("  no single state shows it: the tokens below may look right\n", out);
    }
}

static void write_tokens(const spec_reproducer *c, FILE *out)
{
    char n[SPEC_VALIDATE_NUMBER];
    if (c->n == 0) return;
    fprintf(out, "\n  What came after this state, %s tokens%s:\n\n", grouped(n, c->n),
            c->n_shown < c->vocab ? "; those furthest from the expected values" : "");
    fputs("     token     target      draft       seen  off by\n", out);
    for (int k = 0; k < c->n_shown; k++) {
        const double spread = sqrt(c->expected[k] * (1.0 - c->expected[k]) / (double)c->n);
        const double off = (c->seen[k] - c->expected[k]) / spread;
        fprintf(out, "  %8d  %9.5f  %9.5f  %9.5f", c->token[k], c->target[k], c->draft[k],
                c->seen[k]);
        if (spread > 0.0) fprintf(out, "  %+.1f standard deviations\n", off);
        else fputs(c->seen[k] == c->expected[k] ? "  0\n" : "  may not be\n", out);
    }
}

static void write_cell(uint64_t seen, double expected, FILE *out)
{
    char cell[64];
    if (isnan(expected)) snprintf(cell, sizeof cell, "%llu", (unsigned long long)seen);
    else snprintf(cell, sizeof cell, "%llu (%.0f)", (unsigned long long)seen, expected);
    fprintf(out, "  %18s", cell);
}

static void write_split(const spec_reproducer *c, FILE *out)
{
    char n[SPEC_VALIDATE_NUMBER];
    if (c->n_drafted + c->n_bonus == 0) return;
    const bool rule = !isnan(c->token_rule[0][0]);
    fprintf(out, "\n  Where they came from, in %s repeated rounds", grouped(n, c->again));
    fputs(rule ? ", and in brackets what the token rule gives.\n"
                 "  Another lossless rule may split them differently, with the same sum:\n"
                 "\n"
               : ":\n\n",
          out);
    fprintf(out, "     token  %18s", "drafted");
    for (int j = 0; j < SPEC_CAME_KINDS; j++) fprintf(out, "  %18s", spec_came_names[j]);
    fputc('\n', out);
    for (int k = 0; k < c->n_shown; k++) {
        fprintf(out, "  %8d", c->token[k]);
        write_cell(c->drafted[k], c->draft_expected[k], out);
        for (int j = 0; j < SPEC_CAME_KINDS; j++)
            write_cell(c->came[j][k], c->token_rule[j][k], out);
        fputc('\n', out);
    }
}

static void write_ids(const char *name, const int32_t *id, int n, FILE *out)
{
    fprintf(out, "    %-10s", name);
    for (int i = 0; i < n; i++) fprintf(out, " %d", id[i]);
    fputs(n == 0 ? " none\n" : "\n", out);
}

static void write_rows(const spec_reproducer *c, const char *name, const float *row, FILE *out)
{
    for (int r = 0; r <= c->round.n_nodes; r++) {
        fprintf(out, "    %-10s", r == 0 ? name : "");
        for (int x = 0; x < c->vocab; x++)
            fprintf(out, " %.6g", (double)row[(size_t)r * (size_t)c->vocab + (size_t)x]);
        if (r == 0) fputs("   after the root\n", out);
        else fprintf(out, "   after node %d\n", r - 1);
    }
}

static void write_round(const spec_reproducer *c, FILE *out)
{
    const spec_exhibit *round = &c->round;
    const char *const drawn = c->drawn == SPEC_DRAWN_FIXED     ? "fixed, draft NULL"
                              : c->drawn == SPEC_DRAWN_WITHOUT ? "without replacement"
                                                               : "iid";
    if (round->n_emitted == 0) return;
    if (c->scope == SPEC_SCOPE_STREAM) {
        fprintf(out,
                "\n  A text that shows it: seed %llu, started in state %d. Its token %llu, counted "
                "from 0, came after\n"
                "  the state above; it is the last of these:\n",
                (unsigned long long)round->seed, round->state, (unsigned long long)round->index);
        write_ids("emitted", round->emitted, round->n_emitted, out);
        return;
    }
    fprintf(out,
            "\n  A round that shows it, number %llu: seed %llu, offset %llu, request %llu; drafts "
            "drawn %s\n",
            (unsigned long long)round->index, (unsigned long long)round->seed,
            (unsigned long long)round->offset, (unsigned long long)round->request, drawn);
    write_ids("drafted", round->token, round->n_nodes, out);
    bool chain = true;
    for (int i = 0; i < round->n_nodes; i++) chain = chain && c->parent[i] == i - 1;
    if (!chain) write_ids("parent", c->parent, round->n_nodes, out);
    write_ids("emitted", round->emitted, spec_validate_report_emitted(c), out);
    fprintf(out, "    n_emitted  %d\n    n_accepted %d\n", round->n_emitted, round->n_accepted);
    const spec_sampling s = c->sampling;
    if (memcmp(&s, &SPEC_SAMPLING_NONE, sizeof s) != 0)
        fprintf(out, "    sampling   temperature %g, top_k %d, top_p %g, min_p %g\n",
                (double)s.temperature, s.top_k, (double)s.top_p, (double)s.min_p);
    if (c->target_row == NULL || c->vocab > ROW_TOKENS || round->n_nodes > ROW_NODES) {
        fputs("    rows       too wide for this page: see the JSON report\n", out);
        return;
    }
    write_rows(c, "target", c->target_row, out);
    if (c->drawn != SPEC_DRAWN_FIXED) write_rows(c, "draft", c->draft_row, out);
}

/* Mentions the order of filters if it can change a row, because the declaration may be wrong. */
static void write_order(const spec_validation *v, FILE *out)
{
    const spec_transform parameters = spec_fixture_parameters(&v->reproducer.sampling);
    const char *declared = v->about.filters[0] != '\0' ? v->about.filters : spec_filter_orders[0];
    if (!spec_filter_order_matters(&parameters)) return;
    fprintf(out, "\n  The order of filters is taken as %s, %s.\n", declared,
            v->about.filters[0] != '\0' ? "which is declared" : "since none is declared");
    if (v->order != NULL)
        fprintf(out,
                "  With the order %s the sampler passes this fixture:\n"
                "  if that is the intended order, declare it as 'filters'.\n",
                v->order);
    else if (v->about.filters[0] == '\0')
        fputs("  A sampler that applies them in another order must declare it as 'filters'.\n",
              out);
}

/* Returns false if out of memory, like all functions that write a command. */
static bool write_command(const spec_validation *v, const spec_validate_result *opt_result,
                          FILE *out)
{
    char *command = spec_validate_report_command(v, opt_result);
    if (command == NULL) return false;
    fprintf(out, "\n  To run this again:\n    %s\n", command);
    free(command);
    return true;
}

static bool write_case(const spec_validation *v, FILE *out)
{
    const spec_reproducer *c = &v->reproducer;
    bool whole = true;
    write_found(v, out);
    write_tokens(c, out);
    write_split(c, out);
    write_round(c, out);
    for (int i = 0; i < v->n_results; i++)
        if (v->result[i].kind == c->kind && v->result[i].scope == c->scope)
            whole = write_command(v, &v->result[i], out) && whole;
    write_order(v, out);
    return whole;
}

/* Returns the next best fixture of this test after `most`; NULL after the last. */
static const spec_finding *next_best(const spec_validation *v, double most, int *ret_result)
{
    const spec_finding *best = NULL;
    for (int i = 0; i < v->n_results; i++)
        for (int k = 0; k < v->result[i].n_findings && v->result[i].scope == v->together_scope;
             k++) {
            const spec_finding *f = &v->result[i].finding[k];
            if (strcmp(f->name, v->together) != 0 || !(f->log_e < most)) continue;
            if (best != NULL && f->log_e <= best->log_e) continue;
            best = f;
            *ret_result = i;
        }
    return best;
}

/* Reports a failure of all fixtures together, which no single state explains. */
static bool write_together(const spec_validation *v, FILE *out)
{
    double most = INFINITY;
    int i = 0;
    fprintf(out, "The test '%s' over all fixtures of scope %s; where it shows most:\n", v->together,
            spec_validate_report_scope(v->together_scope));
    for (int shown = 0; shown < BEST_SHOWN; shown++) {
        char e[SPEC_VALIDATE_NUMBER];
        const spec_finding *f = next_best(v, most, &i);
        if (f == NULL) break;
        fprintf(out, "  %-16s  e = %s, p = %.2g, n = %.0f", v->result[i].kind->name,
                spec_validate_report_e(e, f->log_e), f->p, f->n);
        if (!isnan(f->seen)) fprintf(out, "; seen %.5g, expected %.5g", f->seen, f->expected);
        fputc('\n', out);
        most = f->log_e;
    }
    return write_command(v, NULL, out);
}

bool spec_validate_report_reproducer(const spec_validation *v, FILE *out)
{
    bool whole = true;
    if (v->reproducer.kind != NULL) whole = write_case(v, out);
    else if (spec_validate_report_is_together(v)) whole = write_together(v, out);
    if (v->n_needed > 0) {
        fputs("\n  It disappears without any one of these:", out);
        for (int i = 0; i < v->n_needed; i++) fprintf(out, "%s %s", i > 0 ? ";" : "", v->needed[i]);
        fputc('\n', out);
    } else if (v->needed_why[0] != '\0') {
        fprintf(out, "\n  %s.\n", v->needed_why);
    }
    if (v->n_hints == 0) return whole;
    fputs("\n  Known mistakes whose distributions are closest to what was seen; a hint, not a "
          "finding:\n",
          out);
    for (int i = 0; i < v->n_hints; i++)
        fprintf(out, "    %s%s%s%s  (%.3g per draw behind the best)\n", v->hint[i].name,
                v->hint[i].where[0] != '\0' ? " (" : "", v->hint[i].where,
                v->hint[i].where[0] != '\0' ? ")" : "", 0.0 - v->hint[i].log_likelihood);
    return whole;
}

int spec_validate_report_text(const spec_validation *validation, FILE *out, spec_error *error)
{
    return spec_validate_report_page(validation, 0, out, error);
}

int spec_validate_report_page(const spec_validation *validation, int columns, FILE *out,
                              spec_error *error)
{
    errno = 0;
    spec_validate_report_verdict(validation, out);
    write_statement(validation, out);
    write_results(validation, columns, out);
    if (validation->reproducer.kind != NULL || spec_validate_report_is_together(validation))
        fputc('\n', out);
    if (!spec_validate_report_reproducer(validation, out)) return spec_no_memory(error);
    if (fflush(out) == 0 && !ferror(out)) return GSL_SUCCESS;
    return spec_fail(error, GSL_EFAILED, "%s", strerror(errno));
}
