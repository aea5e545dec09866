/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/bench/timing_advice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TAKES_SIZE = 96 };

/* The smallest factor that is worth a suggestion. */
static const double notable = 1.05;

double spec_timing_advice_factor(const spec_timing_result *result,
                                 const spec_timing_result_row *row, spec_limit limit)
{
    const double during = row->during > 0.0 ? row->during : 0.0;
    switch (limit) {
    case SPEC_LIMIT_DRAFT: return row->round / (row->round - row->draft - during);
    case SPEC_LIMIT_VERIFY:
        return row->round / (row->round - fmax(0.0, row->verify - result->plain));
    case SPEC_LIMIT_ACCEPTANCE: return (row->K + 1) / row->tokens;
    default: return row->round / (row->round - row->rule - row->rest);
    }
}

/* ---- the verdict ----------------------------------------------------------------------------- */

spec_timing_verdict spec_timing_advice_verdict(const spec_timing_result *result,
                                               const spec_timing_result_row **ret_best)
{
    bool all_lose = true;
    *ret_best = NULL;
    for (int i = 0; i < result->n_rows; i++) {
        const spec_timing_result_row *row = &result->row[i];
        if (row->best) *ret_best = row;
        if (row->K > 0) all_lose = all_lose && row->high < 1.0;
    }
    if (*ret_best == NULL) return SPEC_TIMING_NOTHING;
    return (*ret_best)->low > 1.0 ? SPEC_TIMING_GAINS
           : all_lose             ? SPEC_TIMING_LOSES
                                  : SPEC_TIMING_OPEN;
}

static const char *ahead_of(const spec_timing_result_row *row)
{
    return row->ahead ? " drafted ahead" : "";
}

static void say_speed(const spec_timing_result_row *row, FILE *out)
{
    fprintf(out,
            "K = %d%s is %.3g times as fast as plain decoding (%.3g to %.3g, with 95 %% confidence "
            "for all K together)",
            row->K, ahead_of(row), row->speedup, row->low, row->high);
}

static void say_tied(const spec_timing_result *result, FILE *out)
{
    int n = 0;
    for (int i = 0; i < result->n_rows; i++) {
        const spec_timing_result_row *row = &result->row[i];
        if (!row->tied || row->best) continue;
        fprintf(out, "%s%d%s", n++ > 0 ? ", " : " K = ", row->K, ahead_of(row));
    }
    if (n > 0) fputs(" may be as fast, or faster.", out);
}

/* Names every K for which the question is open. It is not called if the best K is among them. */
static void say_what_is_open(const spec_timing_result *result, FILE *out)
{
    for (int i = 0; i < result->n_rows; i++) {
        const spec_timing_result_row *row = &result->row[i];
        if (row->K == 0 || row->high < 1.0) continue;
        if (isnan(row->high)) fprintf(out, " K = %d%s is withheld.", row->K, ahead_of(row));
        else
            fprintf(out, " K = %d%s lies between %.3g and %.3g.", row->K, ahead_of(row), row->low,
                    row->high);
    }
}

static bool drafts_anything(const spec_timing_result *result)
{
    for (int i = 0; i < result->n_rows; i++)
        if (result->row[i].K > 0) return true;
    return false;
}

static void say_verdict(const spec_timing_result *result, spec_timing_verdict verdict,
                        const spec_timing_result_row *best, FILE *out)
{
    switch (verdict) {
    case SPEC_TIMING_GAINS: fputs("Speculation gains here", out); break;
    case SPEC_TIMING_LOSES: fputs("Speculation loses here, with every K", out); break;
    case SPEC_TIMING_OPEN:
        fputs("This run does not show whether speculation gains here", out);
        break;
    case SPEC_TIMING_NOTHING:
        fputs(drafts_anything(result) ? "This run reports no speed-up; the warning says why.\n"
                     : "K = 0 drafts nothing: there is no speed-up to report.\n",
              out);
        return;
    }
    fputs(spec_timing_trusted(&result->trust) ? ": "
                                              : ", judging by times that are not "
                                                "reliable: ",
          out);
    say_speed(best, out);
    fputc('.', out);
    if (verdict == SPEC_TIMING_OPEN && best->high < 1.0) say_what_is_open(result, out);
    else say_tied(result, out);
    fputc('\n', out);
}

/* ---- predictions ----------------------------------------------------------------------------- */

static double by_theorem(const spec_timing_result_row *row)
{
    return row->predicted;
}

static double by_costs(const spec_timing_result_row *row)
{
    return row->costed;
}

static void say_predicted(const spec_timing_result *result, const char *who,
                          double (*value)(const spec_timing_result_row *), FILE *out)
{
    const spec_timing_result_row *most = NULL;
    for (int i = 0; i < result->n_rows; i++)
        if (value(&result->row[i]) > (most != NULL ? value(most) : 0.0)) most = &result->row[i];
    if (most == NULL) return;
    if (most->K == 0) {
        fprintf(out, "%s no K gains: plain decoding would be the fastest.\n", who);
        return;
    }
    fprintf(out, "%s K = %d%s would be the fastest, %.3g times%s.\n", who, most->K, ahead_of(most),
            value(most),
            most->best              ? ": the best one measured"
            : most->tied           ? ": by measurement it may be"
            : !isnan(most->speedup) ? ": by measurement another is faster"
                                    : "");
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void takes(char text[TAKES_SIZE], const spec_timing_result *result,
                  const spec_timing_result_row *row, spec_limit limit)
{
    const double plain = result->plain, during = row->during > 0.0 ? row->during : 0.0;
    switch (limit) {
    case SPEC_LIMIT_DRAFT:
        snprintf(text, TAKES_SIZE, "%.3g plain tokens", (row->draft + during) / plain);
        return;
    case SPEC_LIMIT_VERIFY:
        snprintf(text, TAKES_SIZE, "%.3g plain tokens", row->verify / plain);
        return;
    case SPEC_LIMIT_ACCEPTANCE:
        snprintf(text, TAKES_SIZE, "emits %.3g of %d tokens", row->tokens, row->K + 1);
        return;
    default:
        snprintf(text, TAKES_SIZE, "%.3g plain tokens", (row->rule + row->rest) / plain);
        return;
    }
}

/* Sorts in order of decreasing factor. */
static void sort_limits(spec_limit order[SPEC_LIMITS], const double factor[SPEC_LIMITS])
{
    for (int i = 0; i < SPEC_LIMITS; i++) {
        int at = i;
        for (; at > 0 && factor[order[at - 1]] < factor[i]; at--) order[at] = order[at - 1];
        order[at] = (spec_limit)i;
    }
}

static int write_limits(const spec_timing_result *result, const spec_timing_result_row *best,
                        const spec_limit order[SPEC_LIMITS], const double factor[SPEC_LIMITS],
                        FILE *out, spec_error *error)
{
    static const char *const names[] = {"drafting", "verification", "acceptance",
                                        "rule and bookkeeping"};
    static const char *const head[] = {"limit", "a round", "factor", "speed-up without it"};
    spec_table table = {0};
    char text[TAKES_SIZE];
    int status = GSL_SUCCESS;
    fprintf(out,
            "\nWhat limits K = %d%s, and its speed-up without one limit, all else as measured:\n",
            best->K, ahead_of(best));
    SPEC_TRY(spec_table_init(&table, head, 4));
    for (int i = 0; i < SPEC_LIMITS; i++) {
        takes(text, result, best, order[i]);
        spec_table_text(&table, head[0], names[order[i]]);
        spec_table_text(&table, head[1], text);
        snprintf(text, sizeof text, "%.3g", factor[order[i]]);
        spec_table_number(&table, head[2], atof(text));
        snprintf(text, sizeof text, "%.3g", factor[order[i]] * best->speedup);
        spec_table_number(&table, head[3], atof(text));
        SPEC_TRY(spec_table_append(&table));
    }
    SPEC_TRY(spec_table_write(&table, SPEC_FORMAT_TABLE, out, error));
done:
    spec_table_free(&table);
    return status;
}

/* ---- what to try ----------------------------------------------------------------------------- */

/* Returns whether the token rule judges one chain per round. */
static bool is_token_chain(const spec_timing_result *result)
{
    char decoding[64];
    const char *line = spec_table_provenance(result->table, "decoding", decoding, sizeof decoding);
    return line != NULL && strncmp(line, "rule token, drafting chain,", 27) == 0;
}

/* Returns whether the target is a mixture of experts. */
static bool has_experts(const spec_timing_result *result)
{
    const int column = spec_table_column(result->table, "target_pass_experts");
    const spec_cell *cell = spec_table_cell(result->table, result->pass_row[0], column);
    return spec_cell_number(cell) > 0.0;
}

static void try_limit(const spec_timing_result *result, spec_limit limit, FILE *out)
{
    const spec_timing_trust *trust = &result->trust;
    const int idle = trust->processor_clock || trust->waits_on_card ? 0 : spec_timing_idle(trust);
    switch (limit) {
    case SPEC_LIMIT_DRAFT:
        if (result->c >= 0.0 && result->has_draft)
            fprintf(out, "- a draft that costs less than c = %.3g", result->c);
        else fputs("- drafts that cost less", out);
        fputs(result->has_draft
                  ? ": fewer layers or fewer bits, or --drafting lookup, which calls no model\n"
                  : "\n",
              out);
        return;
    case SPEC_LIMIT_VERIFY:
        if (has_experts(result))
            fputs("- drafts of fewer tokens, or of trees with fewer nodes: each token of a pass "
                  "reads experts of its own\n",
                  out);
        if (idle > trust->threads)
            fprintf(out, "- --threads %d: the models computed with %d thread%s on %d processors\n",
                    idle, trust->threads, trust->threads > 1 ? "s" : "", trust->processors);
        else if (!trust->waits_on_card && !has_experts(result))
            fputs("- a device on which wide passes cost little, such as --device gpu\n", out);
        else if (!has_experts(result))
            fputs("- drafts of fewer tokens, or a shorter context\n", out);
        return;
    case SPEC_LIMIT_ACCEPTANCE:
        fputs("- a draft nearer to the target: more layers, or trained on the same texts\n", out);
        if (is_token_chain(result))
            fputs("- --rule block, which accepts at least as much as the rule token\n", out);
        return;
    default:
        fputs("- larger models, for which the rule and the bookkeeping matter less\n", out);
        return;
    }
}

static void try_K(int low, int high, const char *why, FILE *out)
{
    fprintf(out, "- --K %d", low);
    if (high > low) fprintf(out, ":%d", high);
    fprintf(out, ": the best K is the %s one measured\n", why);
}

/* Suggests lengths that were not measured, if the best one is at either end of those that were. */
static void try_lengths(const spec_timing_result *result, const spec_timing_result_row *best,
                        FILE *out)
{
    int least = best->K, most = best->K;
    for (int i = 0; i < result->n_rows; i++) {
        const int K = result->row[i].K;
        if (K > 0 && K < least) least = K;
        if (K > most) most = K;
    }
    if (best->K == least && least > 1)
        try_K(1, least - 1, "smallest", out);
    if (best->K == most && best->low > 1.0 && most < SPEC_K_MAX)
        try_K(most + 1, 2 * most < SPEC_K_MAX ? 2 * most : SPEC_K_MAX, "largest", out);
}

/* Suggests what to try after a run without a reported speed-up. */
static void try_again(const spec_timing_result *result, FILE *out)
{
    fputs("\nWhat to try:\n", out);
    if (!drafts_anything(result)) fputs("- --K 1:5: lengths that draft\n", out);
    else fprintf(out, "- --texts %d, on a machine that does nothing else\n", 4 * result->texts);
}

int spec_timing_advice_write(const spec_timing_result *result, FILE *out, spec_error *error)
{
    const spec_timing_result_row *best;
    const spec_timing_verdict verdict = spec_timing_advice_verdict(result, &best);
    double factor[SPEC_LIMITS];
    spec_limit order[SPEC_LIMITS];
    say_verdict(result, verdict, best, out);
    if (verdict == SPEC_TIMING_NOTHING) {
        try_again(result, out);
        return GSL_SUCCESS;
    }
    say_predicted(result, "By Theorem 3.8", by_theorem, out);
    say_predicted(result, "By what passes cost", by_costs, out);
    for (int i = 0; i < SPEC_LIMITS; i++)
        factor[i] = spec_timing_advice_factor(result, best, (spec_limit)i);
    sort_limits(order, factor);
    const int status = write_limits(result, best, order, factor, out, error);
    if (status != GSL_SUCCESS) return status;
    if (factor[order[0]] * best->speedup < 1.0)
        fputs("Without any single one of these limits speculation would still lose.\n", out);
    fputs("\nWhat to try:\n", out);
    if (verdict == SPEC_TIMING_OPEN)
        fprintf(out, "- --texts %d: four times as many make intervals about half as wide\n",
                4 * result->texts);
    try_lengths(result, best, out);
    for (int i = 0; i < 2; i++)
        if (factor[order[i]] >= notable) try_limit(result, order[i], out);
    return GSL_SUCCESS;
}
