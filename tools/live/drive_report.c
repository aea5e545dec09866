/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/drive_report.h"

#include "base/clock.h"
#include "base/escape.h"
#include "base/memory_text.h"
#include "experiments/report/say.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const spec_drive_columns[] = {"concurrency",
                                          "category",
                                          "K",
                                          "passes",
                                          "requests",
                                          "tokens",
                                          "tokens_per_s",
                                          "tokens_per_s_low",
                                          "tokens_per_s_high",
                                          "tokens_gain",
                                          "tokens_gain_low",
                                          "tokens_gain_high",
                                          "tpot_ms",
                                          "tpot_ms_low",
                                          "tpot_ms_high",
                                          "speedup",
                                          "speedup_low",
                                          "speedup_high",
                                          "speedup_predicted",
                                          "speedup_perfect",
                                          "drafted",
                                          "accepted",
                                          "accepted_over_drafted",
                                          "alpha_tested",
                                          "alpha_tested_low",
                                          "alpha_tested_high",
                                          "tokens_per_round",
                                          "round_ms",
                                          "round_fitted_ms",
                                          "ttft_p50_ms",
                                          "ttft_p90_ms",
                                          "ttft_p99_ms",
                                          "tpot_p50_ms",
                                          "tpot_p90_ms",
                                          "tpot_p99_ms",
                                          "latency_p50_ms",
                                          "latency_p90_ms",
                                          "latency_p99_ms",
                                          "refused",
                                          "drift",
                                          "answer",
                                          NULL};

/* ---- the table ------------------------------------------------------------------------------- */

static void put_interval(spec_table *table, const char *name, const spec_block_interval *x,
                         double unit)
{
    spec_table_interval(table, name, unit * x->value, unit * x->low, unit * x->high);
}

static void put_quantiles(spec_table *table, const char *name, const spec_drive_quantiles *x)
{
    const double value[] = {x->p50, x->p90, x->p99};
    static const int percent[] = {50, 90, 99};
    char column[64];
    for (int i = 0; i < 3; i++) {
        snprintf(column, sizeof column, "%s_p%d_ms", name, percent[i]);
        spec_table_number(table, column, 1e3 * value[i]);
    }
}

static const spec_drive_level *level_of(const spec_drive_numbers *numbers, int concurrency)
{
    for (int i = 0; i < numbers->n_levels; i++)
        if (numbers->level[i].concurrency == concurrency) return &numbers->level[i];
    return NULL;
}

/* Returns the advice about the recommended length. */
static const char *answer_of(const spec_drive_level *level)
{
    if (!level->certain) return "measure";
    return level->choice->to_K == 0 ? "off" : "run";
}

static void put_row(spec_table *table, const spec_drive_row *row, const spec_drive_level *level)
{
    const bool all = *row->category == '\0';
    spec_table_integer(table, "concurrency", row->concurrency);
    if (!all) spec_table_text(table, "category", row->category);
    spec_table_integer(table, "K", row->K);
    spec_table_integer(table, "passes", row->passes);
    spec_table_integer(table, "requests", row->requests);
    spec_table_number(table, "tokens", row->tokens);
    put_interval(table, "tokens_per_s", &row->tokens_per_s, 1.0);
    put_interval(table, "tokens_gain", &row->tokens_gain, 1.0);
    put_interval(table, "tpot_ms", &row->tpot, 1e3);
    put_interval(table, "speedup", &row->speedup, 1.0);
    spec_table_number(table, "speedup_predicted", row->predicted);
    spec_table_number(table, "speedup_perfect", row->perfect);
    spec_table_number(table, "drafted", row->drafted);
    spec_table_number(table, "accepted", row->accepted);
    spec_table_number(table, "accepted_over_drafted", row->accepted / row->drafted);
    spec_table_number(table, "alpha_tested", row->alpha.value);
    spec_table_number(table, "alpha_tested_low", row->alpha.low);
    spec_table_number(table, "alpha_tested_high", row->alpha.high);
    spec_table_number(table, "tokens_per_round", row->tokens_per_round);
    spec_table_number(table, "round_ms", 1e3 * row->round);
    spec_table_number(table, "round_fitted_ms", 1e3 * row->fitted);
    put_quantiles(table, "ttft", &row->ttft);
    put_quantiles(table, "tpot", &row->token);
    put_quantiles(table, "latency", &row->latency);
    spec_table_integer(table, "refused", row->refused);
    spec_table_number(table, "drift", row->drift);
    if (all && level != NULL && level->choice->to_K == row->K)
        spec_table_text(table, "answer", answer_of(level));
}

/* Writes the address of the server and, if we connected, its dialect and model. */
static void write_server(FILE *out, const spec_drive_result *result, const spec_drive_plan *plan)
{
    spec_escape_line(out, plan->url, strlen(plan->url));
    if (result->server.dialect == NULL) return;
    fprintf(out, " (%s, ", result->server.dialect->name);
    spec_escape_line(out, result->server.model, strlen(result->server.model));
    fputc(')', out);
}

/* Returns the provenance; NULL if out of memory. */
static char *provenance(const spec_drive_result *result, const spec_drive_plan *plan)
{
    const spec_transform *t = &plan->sampling.transform;
    spec_memory_text text;
    if (!spec_memory_text_open(&text)) return NULL;
    fputs("server: ", text.out);
    write_server(text.out, result, plan);
    if (plan->opt_launch != NULL) {
        fputs("\nlaunch: ", text.out);
        spec_escape_line(text.out, plan->opt_launch, strlen(plan->opt_launch));
    }
    fprintf(text.out,
            "\ntexts: %zu prompts, up to %d tokens, temperature %g, top-k %d, top-p %g, min-p %g, "
            "seed %llu\npasses: %d",
            json_array_size(result->prompts), plan->sampling.tokens, t->temperature, t->top_k,
            t->top_p, t->min_p, (unsigned long long)plan->seed, plan->passes);
    return spec_memory_text_take(&text, NULL);
}

/* Says how many blocks an interrupted run has; NULL if out of memory. */
static char *unfinished(const spec_drive_result *result, const spec_drive_plan *plan)
{
    char *line = NULL;
    const int blocks = plan->n_levels * (plan->n_K * plan->passes + plan->passes % 2);
    return asprintf(&line, "interrupted after %d of %d blocks", result->blocks.n, blocks) < 0
               ? NULL
               : line;
}

int spec_drive_report_table(spec_table *ret, const spec_drive_numbers *numbers,
                            const spec_drive_result *result, const spec_drive_plan *plan,
                            spec_error *error)
{
    int n = 0;
    while (spec_drive_columns[n] != NULL) n++;
    if (spec_table_init(ret, spec_drive_columns, n) != GSL_SUCCESS) return spec_no_memory(error);
    free(ret->provenance);
    ret->provenance = provenance(result, plan);
    if (ret->provenance == NULL) return spec_no_memory(error);
    if (result->stopped && (ret->unfinished = unfinished(result, plan)) == NULL)
        return spec_no_memory(error);
    for (int i = 0; i < numbers->n_rows; i++) {
        put_row(ret, &numbers->row[i], level_of(numbers, numbers->row[i].concurrency));
        if (spec_table_append(ret) != GSL_SUCCESS) return spec_no_memory(error);
    }
    return GSL_SUCCESS;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static const spec_drive_row *row_of(const spec_drive_numbers *numbers, int K, int concurrency)
{
    for (int i = 0; i < numbers->n_rows; i++) {
        const spec_drive_row *row = &numbers->row[i];
        if (*row->category == '\0' && row->K == K && row->concurrency == concurrency) return row;
    }
    return NULL;
}

/* Returns the length above 0 with the largest speed-up. */
static const spec_drive_row *fastest(const spec_drive_numbers *numbers, int concurrency)
{
    const spec_drive_row *best = NULL;
    for (int i = 0; i < numbers->n_rows; i++) {
        const spec_drive_row *row = &numbers->row[i];
        if (*row->category != '\0' || row->concurrency != concurrency || row->K == 0) continue;
        if (best == NULL || row->speedup.value > best->speedup.value) best = row;
    }
    return best;
}

/* Adds the advice for a concurrency. */
static void say_level(spec_sentences text, const spec_drive_numbers *numbers,
                      const spec_drive_level *level)
{
    const spec_advice *choice = level->choice;
    const spec_drive_row *best = fastest(numbers, level->concurrency),
                         *run = row_of(numbers, choice->to_K, level->concurrency);
    if (choice->verdict == SPEC_ADVICE_NOTHING || run == NULL) {
        spec_say(text, "nothing was drafted");
        return;
    }
    if (run->K == 0)
        spec_say(text, "turn speculation off: K = %d gives %s times its speed", best->K,
                 SPEC_SAY_RATIO(best->speedup));
    else
        spec_say(text, "run K = %d: %s times the speed without speculation", run->K,
                 SPEC_SAY_RATIO(run->speedup));
    if (!level->certain && isfinite(level->loss))
        spec_say(text, " (not certain: another length may be up to %.0f %% faster)",
                 ceil(100.0 * level->loss / (1.0 - level->loss)));
    else if (!level->certain)
        spec_say(text, " (not certain: one pass gives no interval; use --repeat 2 or more)");
}

/* Writes the answer in one sentence. */
static void say_answer(spec_sentences text, const spec_drive_numbers *numbers)
{
    for (int i = 0; i < numbers->n_levels; i++) {
        const int n = numbers->level[i].concurrency;
        spec_say(text, i == 0 ? "With %d request%s at a time " : "; with %d ", n,
                 n == 1 ? "" : "s");
        say_level(text, numbers, &numbers->level[i]);
    }
    spec_say(text, ".");
}

/* ---- the text -------------------------------------------------------------------------------- */

/* Rounds to the digits that a measurement over a network has. */
static double rounded(double x, int digits)
{
    char text[32];
    snprintf(text, sizeof text, "%.*g", digits, x);
    return isfinite(x) ? strtod(text, NULL) : x;
}

/* The same for ratios, with at most two decimals. */
static double ratio(double x)
{
    return x < 10.0 ? round(100.0 * x) / 100.0 : rounded(x, 3);
}

static int write_rows(FILE *out, const spec_drive_numbers *numbers, bool categories,
                      spec_error *error)
{
    static const char *const names[] = {"at once",  "category", "K",    "tokens/s",
                                        "speed-up", "low",      "high", "predicted",
                                        "perfect",  "accepted", "TTFT"};
    const char *column[11];
    spec_table table = {0};
    int n = 0, status = GSL_SUCCESS;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const bool of_all = strcmp(names[i], "tokens/s") == 0 || strcmp(names[i], "predicted") == 0;
        if (strcmp(names[i], "category") == 0 ? categories : !(categories && of_all))
            column[n++] = names[i];
    }
    SPEC_TRY(spec_table_init(&table, column, n));
    for (int i = 0; i < numbers->n_rows; i++) {
        const spec_drive_row *row = &numbers->row[i];
        if ((*row->category != '\0' || level_of(numbers, row->concurrency) == NULL) != categories)
            continue;
        spec_table_integer(&table, "at once", row->concurrency);
        if (categories) spec_table_text(&table, "category", row->category);
        spec_table_integer(&table, "K", row->K);
        if (!categories) spec_table_number(&table, "tokens/s", rounded(row->tokens_per_s.value, 4));
        spec_table_number(&table, "speed-up", ratio(row->speedup.value));
        if (row->K > 0) {
            spec_table_number(&table, "low", ratio(row->speedup.low));
            spec_table_number(&table, "high", ratio(row->speedup.high));
            if (!categories) spec_table_number(&table, "predicted", ratio(row->predicted));
            spec_table_number(&table, "perfect", ratio(row->perfect));
            spec_table_number(&table, "accepted", ratio(row->accepted / row->drafted));
        }
        spec_table_number(&table, "TTFT", rounded(1e3 * row->ttft.p50, 3));
        SPEC_TRY(spec_table_append(&table));
    }
    SPEC_TRY(spec_table_write(&table, SPEC_FORMAT_TABLE, out, error));
done:
    spec_table_free(&table);
    return status == GSL_ENOMEM ? spec_no_memory(error) : status;
}

static spec_said of_seconds(double x)
{
    spec_said said;
    snprintf(said.text, sizeof said.text, x < 1.0 ? "%.3g ms" : "%.3g s", x < 1.0 ? 1e3 * x : x);
    return said;
}

/* Writes which length to measure next, according to the advice over all lengths. */
static void write_next(FILE *out, const spec_drive_level *level)
{
    const int K = level->advice->decides_K;
    const spec_advice_length *next = spec_advice_length_of(level->advice, K);
    if (level->advice->verdict != SPEC_ADVICE_MEASURE || next == NULL) {
        fputs("no other length is likely to be faster\n", out);
        return;
    }
    const bool again = spec_advice_length_of(level->choice, K) != NULL;
    fprintf(out,
            again ? "measure K = %d longer: its speed-up, %s, is too uncertain\n"
                  : "measure K = %d: by estimate its speed-up is %s\n",
            K, SPEC_SAY_RATIO(next->speedup));
}

static void write_level(FILE *out, const spec_drive_numbers *numbers, const spec_drive_level *level)
{
    const spec_drive_row *plain = row_of(numbers, 0, level->concurrency);
    fprintf(out, "\n%d at once:\n", level->concurrency);
    if (isfinite(level->a))
        fprintf(out,
                "  round       %.3g ms + %.3g ms K by the line through K >= 1; plain %.3g ms\n",
                1e3 * level->a, 1e3 * level->b, 1e3 * plain->tpot.value);
    else
        fprintf(out, "  round       plain %.3g ms; a prediction needs two lengths above 0\n",
                1e3 * plain->tpot.value);
    if (level->advice->alpha.value >= 0.0)
        fprintf(out, "  alpha       %s accepted of the draft tokens that were tested\n",
                spec_say_share_of(&level->advice->alpha).text);
    fprintf(out, "  latency     plain %s in the median", of_seconds(plain->latency.p50).text);
    for (int i = 0; i < numbers->n_rows; i++) {
        const spec_drive_row *row = &numbers->row[i];
        if (*row->category != '\0' || row->concurrency != level->concurrency || row->K == 0)
            continue;
        fprintf(out, ", K = %d %s", row->K, of_seconds(row->latency.p50).text);
    }
    if (isfinite(plain->drift))
        fprintf(out,
                "\n  drift       the last K = 0 took %.1f %% of the time per token of the first%s",
                100.0 * (1.0 + plain->drift),
                fabs(plain->drift) > 0.1 ? ": the machine was not quiet" : "");
    fputs("\n  next        ", out);
    write_next(out, level);
}

/* Returns how many passes have all their blocks. */
static int finished(const spec_drive_result *result, const spec_drive_plan *plan)
{
    int passes = 0, blocks;
    for (;; passes++) {
        blocks = 0;
        for (int i = 0; i < plan->n_K * plan->n_levels; i++)
            blocks += spec_drive_blocks_find(&result->blocks, plan->K[i % plan->n_K],
                                             plan->level[i / plan->n_K], passes) != NULL;
        if (blocks < plan->n_K * plan->n_levels) return passes;
    }
}

static int refused(const spec_drive_numbers *numbers)
{
    int n = 0;
    for (int i = 0; i < numbers->n_rows; i++)
        if (*numbers->row[i].category == '\0') n += numbers->row[i].refused;
    return n;
}

static void write_circumstances(FILE *out, const spec_drive_numbers *numbers,
                                const spec_drive_result *result, const spec_drive_plan *plan)
{
    char duration[SPEC_CLOCK_TEXT];
    fputs("\n  server      ", out);
    write_server(out, result, plan);
    const int passes = finished(result, plan);
    fprintf(out, "\n  measured    %d pass%s in %s; up to %d tokens at temperature %g\n", passes,
            passes == 1 ? "" : "es", spec_clock_text(duration, result->seconds),
            plan->sampling.tokens, plan->sampling.transform.temperature);
    const int slots = result->server.slots, most = plan->level[plan->n_levels - 1];
    if (slots > 0 && slots < most)
        fprintf(out,
                "  slots       the server has %d for %d requests at a time: some wait for others; "
                "start it with --parallel %d\n",
                slots, most, most);
    if (refused(numbers) > 0)
        fprintf(out,
                "  refused     the server refused or lost %d requests, which were sent again: its "
                "speeds include the pauses\n",
                refused(numbers));
    fputs("  intervals   95 %, Student's over passes; speed-ups are of the time per token after "
          "the first, with these prompts\n",
          out);
    if (result->stopped) fputs("  interrupted what is finished counts\n", out);
}

int spec_drive_report(FILE *out, const spec_drive_numbers *numbers, const spec_drive_result *result,
                      const spec_drive_plan *plan, spec_error *error)
{
    spec_sentences answer = "";
    if (numbers->n_levels == 0) {
        fputs("Nothing to report yet: only K = 0 was measured.\n", out);
        return GSL_SUCCESS;
    }
    say_answer(answer, numbers);
    fprintf(out, "%s\n\n", answer);
    SPEC_PASS(write_rows(out, numbers, false, error));
    for (int i = 0; i < numbers->n_levels; i++) write_level(out, numbers, &numbers->level[i]);
    if (numbers->n_categories > 0) {
        fputc('\n', out);
        SPEC_PASS(write_rows(out, numbers, true, error));
    }
    write_circumstances(out, numbers, result, plan);
    return GSL_SUCCESS;
}
