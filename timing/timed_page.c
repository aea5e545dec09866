#include "timing/timed_page.h"

#include "timing/timed_report.h"

#include <math.h>
#include <stdlib.h>

enum { LIST_SIZE = 2048, FEW_TEXTS = 6 };

static const char *way_of(const spec_timed_speed *speed)
{
    return speed->way->ahead ? " drafted ahead" : "";
}

/* ---- sentences --------------------------------------------------------------------------------------------------- */

/* "2, 3 and 5": the K that are not told apart from the best. */
static int list_alike(char list[LIST_SIZE], const spec_timed_prediction *p)
{
    int n = 0, left = 0;
    size_t used = 0;
    list[0] = '\0';
    for (int i = 0; i < p->n_speeds; i++) left += i != p->best && p->speed[i].alike;
    for (int i = 0; i < p->n_speeds; i++) {
        if (i == p->best || !p->speed[i].alike) continue;
        used += (size_t)snprintf(list + used, LIST_SIZE - used, "%s%d%s", n == 0 ? "" : n == left - 1 ? " and " : ", ",
                                 p->speed[i].way->K, p->speed[i].way->ahead ? " ahead" : "");
        n++;
    }
    return n;
}

/* What somebody predicts to be best, and what the measurement says of it. */
static void say_predicted(const spec_timed_prediction *p, const char *who, int i, double value, FILE *out)
{
    fprintf(out, "%s %d%s, %.3g times%s.\n", who, p->speed[i].way->K, way_of(&p->speed[i]), value,
            i == p->best         ? ": the same K"
            : p->speed[i].alike  ? ": not told apart from it"
                                 : ": by measurement that is slower");
}

static void say_best(const spec_timed_prediction *p, int n_texts, FILE *out)
{
    char list[LIST_SIZE];
    if (p->best < 0 || p->n_speeds < 2) return;
    const spec_block_interval *best = &p->speed[p->best].speedup;
    const int n = list_alike(list, p);
    fprintf(out, "\nThe best K is %d%s: %.3g times the speed of plain decoding, %.3g to %.3g with 95 %% confidence",
            p->speed[p->best].way->K, way_of(&p->speed[p->best]), best->value, best->low, best->high);
    if (n > 0) fprintf(out, "; %s %s not told apart from it", list, n > 1 ? "are" : "is");
    fprintf(out, ".%s\n", best->low > 1.0 ? "" : " Speculation has not been shown to gain here.");
    if (n_texts < FEW_TEXTS) fprintf(out, "Intervals from %d texts hold less often than they say.\n", n_texts);
    if (p->best_theorem >= 0)
        say_predicted(p, "Theorem 3.8 says", p->best_theorem, p->speed[p->best_theorem].speedup_theorem, out);
    if (p->best_costed >= 0)
        say_predicted(p, "With what passes cost it is", p->best_costed, p->speed[p->best_costed].speedup_costed, out);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* To as many digits as a time of a shared machine is worth. */
static double rounded(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.4g", x);
    return isfinite(x) ? strtod(text, NULL) : x;
}

typedef struct {
    const char *name, *from; /* the page's column, and the table's */
} shown_column;

enum { ROWS_ALL = -1, ROWS_ORDINARY, ROWS_AHEAD };

/* Some columns of the rows that have a K: of those, or those that draft ahead, or all. */
static int write_part(const spec_table *all, int which, const shown_column *shown, int n, FILE *out, spec_error *error)
{
    const char *names[16];
    spec_table part = {0};
    int status = GSL_SUCCESS;
    for (int c = 0; c < n; c++) names[c] = shown[c].name;
    SPEC_TRY(spec_table_init(&part, names, n));
    for (size_t r = 0; r < all->n_rows; r++) {
        const double ahead = spec_cell_number(spec_table_cell(all, r, spec_table_column(all, "ahead")));
        if (isnan(ahead) || (which != ROWS_ALL && which != (int)ahead)) continue;
        for (int c = 0; c < n; c++) {
            const spec_cell *cell = spec_table_cell(all, r, spec_table_column(all, shown[c].from));
            if (cell->kind == SPEC_CELL_TEXT) spec_table_text(&part, names[c], cell->text);
            else if (cell->kind == SPEC_CELL_INTEGER) spec_table_integer(&part, names[c], cell->integer);
            else spec_table_number(&part, names[c], rounded(spec_cell_number(cell)));
        }
        SPEC_TRY(spec_table_append(&part));
    }
    SPEC_TRY(spec_table_write(&part, SPEC_FORMAT_TABLE, out, error));
done:
    spec_table_free(&part);
    return status;
}

static const shown_column speeds[] = {
    {"K", "K"}, {"tokens a round", "tokens_per_round"}, {"predicted", "tokens_per_round_predicted"},
    {"by depth", "tokens_per_round_by_depth"}, {"speed-up", "speedup"}, {"low", "speedup_low"},
    {"high", "speedup_high"}, {"Theorem 3.8", "speedup_predicted"}, {"with costs", "speedup_costed"}, {"", "best"}};
static const shown_column aheads[] = {
    {"K", "K"}, {"speed-up", "speedup"}, {"low", "speedup_low"}, {"high", "speedup_high"},
    {"predicted", "speedup_predicted"}, {"with costs", "speedup_costed"}, {"over beforehand", "gain"},
    {"low ", "gain_low"}, {"high ", "gain_high"}, {"predicted ", "gain_predicted"}, {"with costs ", "gain_costed"},
    {"", "best"}};
static const shown_column chains[] = {
    {"K", "K"}, {"chain there", "hit"}, {"low", "hit_low"}, {"high", "hit_high"}, {"predicted", "hit_predicted"},
    {"ahead ms", "ahead_ms"}, {"by passes", "ahead_ms_costed"}, {"verify", "verify_ms"},
    {"by passes ", "verify_ms_costed"}, {"handed", "handed"}};
static const shown_column rounds[] = {
    {"K", "K"}, {"round ms", "round_ms"}, {"draft", "draft_ms"}, {"by passes", "draft_ms_costed"},
    {"verify", "verify_ms"}, {"by passes ", "verify_ms_costed"}, {"rule", "rule_ms"}, {"rest", "rest_ms"},
    {"x tokens", "gap_tokens"}, {"x draft", "gap_draft"}, {"x verify", "gap_verify"}, {"x rule", "gap_rule"},
    {"x rest", "gap_rest"}};

enum { OF_ALL = 3, OF_DEVICE = 2, COLUMNS_MOST = 1 + 2 * (OF_ALL + OF_DEVICE) };

/* Those of one model: its own columns, and its device's where there is a limit. */
static int add_names(const char **name, int n, const char *const *names, double seconds, double limit)
{
    const int wanted = !(seconds > 0.0) ? 0 : limit > 0.0 ? OF_ALL + OF_DEVICE : OF_ALL;
    for (int i = 0; i < wanted; i++) name[n++] = names[i];
    return n;
}

static int write_passes(const spec_timed *timed, const spec_timed_prediction *p, FILE *out, spec_error *error)
{
    static const char *const target[] = {"target ms", "over one", "se", "limit ms", "of reading"};
    static const char *const draft[] = {"draft ms", "over one ", "se ", "limit ms ", "of reading "};
    const char *name[COLUMNS_MOST] = {"pass"};
    spec_table part = {0};
    int status = GSL_SUCCESS;
    const int n_target = add_names(name, 1, target, p->pass[0].target, p->pass[0].target_limit);
    SPEC_TRY(spec_table_init(&part, name, add_names(name, n_target, draft, p->pass[0].draft, p->pass[0].draft_limit)));
    for (int i = 0; i < p->n_passes; i++) {
        const spec_timed_pass *pass = &p->pass[i];
        const double of_target[] = {1e3 * pass->target, pass->target_ratio.value, pass->target_ratio.se,
                                    1e3 * pass->target_limit, spec_timed_limit_share(&timed->target_limit, pass->target)};
        const double of_draft[] = {1e3 * pass->draft, pass->draft_ratio.value, pass->draft_ratio.se,
                                   1e3 * pass->draft_limit, spec_timed_limit_share(&timed->draft_limit, pass->draft)};
        spec_table_integer(&part, "pass", pass->width);
        for (int c = 1; c < part.n_columns; c++)
            spec_table_number(&part, name[c], rounded(c < n_target ? of_target[c - 1] : of_draft[c - n_target]));
        SPEC_TRY(spec_table_append(&part));
    }
    SPEC_TRY(spec_table_write(&part, SPEC_FORMAT_TABLE, out, error));
done:
    spec_table_free(&part);
    return status;
}

static int write_ahead(const spec_timed *timed, const spec_timed_prediction *p, const spec_table *all, FILE *out,
                       spec_error *error)
{
    if (timed->n_ways == timed->plan.n_K + 1) return GSL_SUCCESS;
    fputs("\nThe next chain drafted while this one is verified:\n", out);
    int status = GSL_SUCCESS;
    SPEC_TRY(write_part(all, ROWS_AHEAD, aheads, (int)(sizeof aheads / sizeof aheads[0]), out, error));
    fputs("\nThe rounds that found it there:\n", out);
    SPEC_TRY(write_part(all, ROWS_AHEAD, chains, (int)(sizeof chains / sizeof chains[0]), out, error));
    if (p->guess >= 0.0) fprintf(out, "guess: %.3g of the bonus tokens were the draft's most probable one\n", p->guess);
done:
    return status;
}

int spec_timed_page_write(const spec_timed *timed, const spec_timed_prediction *p, FILE *out, spec_error *error)
{
    spec_table all = {0};
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_timed_report_table(&all, timed, p, "", error));
    spec_timed_report_circumstances(timed, out);
    fprintf(out, "plain: %.4g ms a token, %.4g tokens/s\n", 1e3 * p->plain.value, 1.0 / p->plain.value);
    if (timed->plan.decoder.opt_draft != NULL)
        fprintf(out, "c: %.3g (se %.2g), passes of one token, draft over target\n", p->c.value, p->c.se);
    if (p->alpha >= 0.0) fprintf(out, "alpha: %.3g, accepted over tested tokens, all K together\n", p->alpha);
    fputs("\n", out);
    SPEC_TRY(write_part(&all, ROWS_ORDINARY, speeds, (int)(sizeof speeds / sizeof speeds[0]), out, error));
    SPEC_TRY(write_ahead(timed, p, &all, out, error));
    say_best(p, timed->n_blocks, out);
    fputs("\nWhere a round's time goes, and (x) by which factors it is not as Theorem 3.8 has it:\n", out);
    SPEC_TRY(write_part(&all, ROWS_ORDINARY, rounds, (int)(sizeof rounds / sizeof rounds[0]), out, error));
    fputs("\nWhat a pass of so many tokens takes:\n", out);
    SPEC_TRY(write_passes(timed, p, out, error));
    if (p->pass[0].target_limit > 0.0 || p->pass[0].draft_limit > 0.0)
        fputs("limit: the least that the device's roofline allows; of reading: the weights over the time, as a share of "
              "what memory gives, above 1 where a cache holds them.\n", out);
done:
    spec_table_free(&all);
    return status;
}
