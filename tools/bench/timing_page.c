/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/bench/timing_page.h"

#include "base/escape.h"
#include "tools/bench/timing_advice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_TEXTS = 6 };

/* ---- circumstances --------------------------------------------------------------------------- */

/* Writes provenance lines with certain keys. A foreign file may contain control characters. */
static void write_circumstances(const spec_timing_result *result, FILE *out)
{
    static const char *const keys[] = {
        "target:", "draft:", "decoding:", "devices:", "roofline of ", "texts:", "machine:"};
    for (const char *line = result->table->provenance; *line != '\0';) {
        const size_t n = strcspn(line, "\n");
        bool wanted = false;
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
            wanted = wanted || strncmp(line, keys[i], strlen(keys[i])) == 0;
        if (wanted) spec_escape_line(out, line, n);
        if (wanted) fputc('\n', out);
        line += n + (line[n] == '\n');
    }
}

static void write_load(const spec_timing_trust *trust, FILE *out)
{
    if (trust->processors == 0) return;
    fprintf(out, "load: %d thread%s on %d processors", trust->threads,
            trust->threads > 1 ? "s" : "", trust->processors);
    if (trust->others >= 0.0) fprintf(out, ", other programs took %.1f of them", trust->others);
    if (trust->lost >= 0.0) fprintf(out, ", time lost to them %.0f %%", 100.0 * trust->lost);
    if (trust->lost > 0.0 && trust->processor_clock)
        fputs(", which processor time leaves out", out);
    if (trust->spread >= 0.0) fprintf(out, "; plain tokens vary by %.1f %%", 100.0 * trust->spread);
    if (trust->speed_spread >= 0.0)
        fprintf(out, ", the processor's speed by %.1f %%", 100.0 * trust->speed_spread);
    fputc('\n', out);
}

static void write_scalars(const spec_timing_result *result, FILE *out)
{
    fprintf(out, "plain: %.4g ms per token, %.4g tokens/s\n", result->plain, 1e3 / result->plain);
    if (result->has_draft && result->c_low >= 0.0) {
        if (result->c >= 0.0) fprintf(out, "c: %.3g, ", result->c);
        else fputs("c: withheld, ", out);
        fprintf(out, "%.3g to %.3g with 95 %% confidence: passes of one token, draft over target\n",
                result->c_low, result->c_high);
    }
    if (result->alpha >= 0.0)
        fprintf(out, "alpha_tested_pooled: %.3g, accepted over tested tokens, all K together\n",
                result->alpha);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Rounds a time to the digits that are meaningful on a shared machine. */
static double rounded(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.4g", x);
    return isfinite(x) ? strtod(text, NULL) : x;
}

typedef struct {
    const char *name, *from; /* the column on the page, and in the table */
} shown_column;

enum { ROWS_ORDINARY, ROWS_AHEAD };

static double number_at(const spec_table *all, size_t row, const char *column)
{
    return spec_cell_number(spec_table_cell(all, row, spec_table_column(all, column)));
}

static void copy_row(spec_table *part, const spec_table *all, size_t row, const shown_column *shown,
                     int n)
{
    for (int c = 0; c < n; c++) {
        const spec_cell *cell = spec_table_cell(all, row, spec_table_column(all, shown[c].from));
        if (cell->kind == SPEC_CELL_TEXT) spec_table_text(part, shown[c].name, cell->text);
        else if (cell->kind == SPEC_CELL_INTEGER)
            spec_table_integer(part, shown[c].name, cell->integer);
        else spec_table_number(part, shown[c].name, rounded(spec_cell_number(cell)));
    }
}

/* Writes some columns of the rows with a K, either those that draft ahead or the others. */
static int write_part(const spec_table *all, int ahead, const shown_column *shown, int n, FILE *out,
                      spec_error *error)
{
    const char *names[16];
    spec_table part = {0};
    int status = GSL_SUCCESS;
    for (int c = 0; c < n; c++) names[c] = shown[c].name;
    SPEC_TRY(spec_table_init(&part, names, n));
    for (size_t r = 0; r < all->n_rows; r++) {
        if (number_at(all, r, "ahead") != ahead) continue;
        copy_row(&part, all, r, shown, n);
        SPEC_TRY(spec_table_append(&part));
    }
    SPEC_TRY(spec_table_write(&part, SPEC_FORMAT_TABLE, out, error));
done:
    spec_table_free(&part);
    return status;
}

static const shown_column speeds[] = {
    {"K", "K"}, {"tokens per round", "tokens_per_round"},
    {"predicted", "tokens_per_round_predicted"}, {"by depth", "tokens_per_round_by_depth"},
    {"speed-up", "speedup"}, {"low", "speedup_low"}, {"high", "speedup_high"},
    {"Theorem 3.8", "speedup_predicted"}, {"with costs", "speedup_costed"}, {"", "best"}};
static const shown_column aheads[] = {{"K", "K"},
                                      {"speed-up", "speedup"},
                                      {"low", "speedup_low"},
                                      {"high", "speedup_high"},
                                      {"predicted", "speedup_predicted"},
                                      {"with costs", "speedup_costed"},
                                      {"over beforehand", "gain"},
                                      {"low ", "gain_low"},
                                      {"high ", "gain_high"},
                                      {"predicted ", "gain_predicted"},
                                      {"with costs ", "gain_costed"},
                                      {"", "best"}};
static const shown_column chains[] = {{"K", "K"},
                                      {"chain there", "hit"},
                                      {"low", "hit_low"},
                                      {"high", "hit_high"},
                                      {"predicted", "hit_predicted"},
                                      {"ahead ms", "ahead_ms"},
                                      {"by passes", "ahead_ms_costed"},
                                      {"verify", "verify_ms"},
                                      {"by passes ", "verify_ms_costed"},
                                      {"handed", "handed"}};
static const shown_column rounds[] = {{"K", "K"},
                                      {"round ms", "round_ms"},
                                      {"draft", "draft_ms"},
                                      {"by passes", "draft_ms_costed"},
                                      {"verify", "verify_ms"},
                                      {"by passes ", "verify_ms_costed"},
                                      {"rule", "rule_ms"},
                                      {"rest", "rest_ms"},
                                      {"x tokens", "gap_tokens"},
                                      {"x draft", "gap_draft"},
                                      {"x verify", "gap_verify"},
                                      {"x rule", "gap_rule"},
                                      {"x rest", "gap_rest"}};

enum {
    OF_ALL = 3,
    OF_DEVICE = 2,
    OF_EXPERTS = 2,
    OF_MODEL = OF_ALL + OF_DEVICE + OF_EXPERTS,
    COLUMNS_MOST = 1 + 2 * OF_MODEL
};

/* Adds the columns of one model: its times if it was timed, the limit of its device if that is
 * known, and its experts if it has any. */
static int add_columns(shown_column *shown, int n, const shown_column *own, const spec_table *all,
                       size_t row)
{
    const bool timed = !isnan(number_at(all, row, own[0].from));
    const bool limited = !isnan(number_at(all, row, own[OF_ALL].from));
    const bool mixed = !isnan(number_at(all, row, own[OF_ALL + OF_DEVICE].from));
    const int wanted = !timed ? 0 : !limited ? OF_ALL : mixed ? OF_MODEL : OF_ALL + OF_DEVICE;
    for (int i = 0; i < wanted; i++) shown[n++] = own[i];
    return n;
}

static bool has_withheld(const spec_table *part, const shown_column *shown, int n)
{
    for (int c = 0; c < n; c++)
        for (size_t r = 0; strncmp(shown[c].name, "over one", 8) == 0 && r < part->n_rows; r++)
            if (isnan(spec_cell_number(spec_table_cell(part, r, c)))) return true;
    return false;
}

static int write_passes(const spec_timing_result *result, FILE *out, spec_error *error)
{
    static const shown_column of_target[OF_MODEL] = {{"target ms", "target_pass_ms"},
                                                     {"over one", "target_pass_ratio"},
                                                     {"se", "target_pass_ratio_se"},
                                                     {"limit ms", "target_pass_limit_ms"},
                                                     {"of reading", "target_pass_read_share"},
                                                     {"experts", "target_pass_experts"},
                                                     {"expected", "target_pass_experts_expected"}};
    static const shown_column of_draft[OF_MODEL] = {{"draft ms", "draft_pass_ms"},
                                                    {"over one ", "draft_pass_ratio"},
                                                    {"se ", "draft_pass_ratio_se"},
                                                    {"limit ms ", "draft_pass_limit_ms"},
                                                    {"of reading ", "draft_pass_read_share"},
                                                    {"experts ", "draft_pass_experts"},
                                                    {"expected ", "draft_pass_experts_expected"}};
    const spec_table *all = result->table;
    shown_column shown[COLUMNS_MOST] = {{"pass", "pass"}};
    const char *name[COLUMNS_MOST];
    spec_table part = {0};
    int status = GSL_SUCCESS, n = 1;
    n = add_columns(shown, n, of_target, all, result->pass_row[0]);
    n = add_columns(shown, n, of_draft, all, result->pass_row[0]);
    bool has_experts = false;
    for (int c = 0; c < n; c++) {
        name[c] = shown[c].name;
        has_experts = has_experts || strncmp(name[c], "experts", 7) == 0;
    }
    SPEC_TRY(spec_table_init(&part, name, n));
    for (int i = 0; i < result->n_passes; i++) {
        copy_row(&part, all, result->pass_row[i], shown, n);
        SPEC_TRY(spec_table_append(&part));
    }
    SPEC_TRY(spec_table_write(&part, SPEC_FORMAT_TABLE, out, error));
    if (has_withheld(&part, shown, n))
        fputs("over one: the time of a pass divided by the time of a pass over one token. It is "
              "left empty where noise hides it.\n",
              out);
    if (has_experts)
        fputs("experts: those of each layer that a pass read; expected: if tokens chose "
              "independently, any set with the same chance.\n",
              out);
    if (n > 1 + OF_ALL && strcmp(shown[1 + OF_ALL].from, "target_pass_limit_ms") == 0)
        fputs("limit: the shortest time that the device's roofline allows; of reading: the rate at "
              "which the pass reads weights, as a share of the memory's bandwidth, which exceeds 1 "
              "if a cache holds them.\n",
              out);
done:
    spec_table_free(&part);
    return status;
}

static int write_ahead(const spec_timing_result *result, FILE *out, spec_error *error)
{
    const spec_table *all = result->table;
    int status = GSL_SUCCESS, first = 0;
    while (first < result->n_rows && !result->row[first].ahead) first++;
    if (first == result->n_rows) return GSL_SUCCESS;
    const double guess = number_at(all, result->row[first].row, "guess");
    fputs("\nThe next chain drafted while this one is verified:\n", out);
    SPEC_TRY(
        write_part(all, ROWS_AHEAD, aheads, (int)(sizeof aheads / sizeof aheads[0]), out, error));
    fputs("\nThe share of rounds whose chain was ready:\n", out);
    SPEC_TRY(
        write_part(all, ROWS_AHEAD, chains, (int)(sizeof chains / sizeof chains[0]), out, error));
    if (guess >= 0.0)
        fprintf(out, "guess: %.3g of the bonus tokens were the draft's most probable one\n", guess);
done:
    return status;
}

int spec_timing_page_write(const spec_timing_result *result, FILE *out, spec_error *error)
{
    const spec_table *all = result->table;
    int status = GSL_SUCCESS;
    write_circumstances(result, out);
    write_load(&result->trust, out);
    write_scalars(result, out);
    fputs("\n", out);
    SPEC_TRY(write_part(all, ROWS_ORDINARY, speeds, (int)(sizeof speeds / sizeof speeds[0]), out,
                        error));
    SPEC_TRY(write_ahead(result, out, error));
    if (result->texts < FEW_TEXTS)
        fprintf(out,
                "Intervals from only %d texts cover the truth less often than 95 "
                "%%.\n",
                result->texts);
    fputs("\n", out);
    SPEC_TRY(spec_timing_advice_write(result, out, error));
    fputs(
        "\nWhere a round's time goes, and (x) the factors by which it departs from Theorem 3.8:\n",
        out);
    SPEC_TRY(write_part(all, ROWS_ORDINARY, rounds, (int)(sizeof rounds / sizeof rounds[0]), out,
                        error));
    fputs("\nTime of a pass, by its number of tokens:\n", out);
    SPEC_TRY(write_passes(result, out, error));
done:
    return status;
}
