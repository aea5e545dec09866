/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/pair/pair_report.h"

#include "base/escape.h"
#include "base/memory_text.h"
#include "experiments/report/say.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const columns[] = {"draft",
                                      "category",
                                      "K",
                                      "texts",
                                      "positions",
                                      "alpha_mean",
                                      "alpha_mean_low",
                                      "alpha_mean_high",
                                      "argmax_agreement",
                                      "argmax_agreement_low",
                                      "argmax_agreement_high",
                                      "conditional",
                                      "conditional_low",
                                      "conditional_high",
                                      "tokens_per_round",
                                      "tokens_per_round_low",
                                      "tokens_per_round_high",
                                      "c",
                                      "c_low",
                                      "c_high",
                                      "speedup",
                                      "speedup_low",
                                      "speedup_high",
                                      "best"};

/* ---- the table ------------------------------------------------------------------------------- */

#define PUT(table, name, x) spec_table_interval(table, name, (x).value, (x).low, (x).high)

static void put_row(spec_table *table, const spec_pair_numbers *numbers, const spec_pair_row *row,
                    const spec_pair_words *words)
{
    spec_table_text(table, "draft", words->name[row->draft]);
    if (row->category >= 0)
        spec_table_text(table, "category", numbers->run->plan.category[row->category]);
    spec_table_integer(table, "K", row->K);
    spec_table_integer(table, "texts", row->texts);
    spec_table_number(table, "positions", row->positions);
    PUT(table, "alpha_mean", row->alpha);
    PUT(table, "argmax_agreement", row->agreement);
    PUT(table, "conditional", row->conditional);
    PUT(table, "tokens_per_round", row->tokens_per_round);
    PUT(table, "c", numbers->c[row->draft]);
    PUT(table, "speedup", row->speedup);
    if (row->best)
        spec_table_text(table, "best", "best");
    else if (row->alike)
        spec_table_text(table, "best", "alike");
}

/* Returns the provenance; NULL if out of memory. */
static char *provenance(const spec_pair_numbers *numbers, const spec_pair_words *words)
{
    spec_memory_text text;
    if (!spec_memory_text_open(&text)) return NULL;
    fputs("target: ", text.out);
    spec_escape_line(text.out, words->target, strlen(words->target));
    for (int d = 0; d < numbers->run->plan.n_drafts; d++) {
        fputs("\ndraft: ", text.out);
        spec_escape_line(text.out, words->draft[d], strlen(words->draft[d]));
    }
    fprintf(text.out, "\ntexts: %s\ntimes: %s\nseed: %llu", words->texts, words->times,
            (unsigned long long)numbers->run->plan.seed);
    return spec_memory_text_take(&text, NULL);
}

int spec_pair_report_table(spec_table *ret, const spec_pair_numbers *numbers,
                           const spec_pair_words *words, spec_error *error)
{
    if (spec_table_init(ret, columns, sizeof columns / sizeof *columns) != GSL_SUCCESS)
        return spec_no_memory(error);
    free(ret->provenance);
    if ((ret->provenance = provenance(numbers, words)) == NULL) return spec_no_memory(error);
    for (int i = 0; i < numbers->n_rows; i++) {
        put_row(ret, numbers, &numbers->row[i], words);
        if (spec_table_append(ret) != GSL_SUCCESS) return spec_no_memory(error);
    }
    return GSL_SUCCESS;
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* Adds the lengths of a draft that may be as fast as the best: "K = 3, 5 to 7". */
static bool say_lengths(spec_sentences text, const spec_pair_row *row, int n,
                        const spec_pair_row *best, const char *before)
{
    bool said = false;
    for (int k = 0; k < n; k++) {
        int last = k;
        if (!row[k].alike || &row[k] == best) continue;
        while (last + 1 < n && row[last + 1].alike && &row[last + 1] != best) last++;
        spec_say(text, "%s%d", said ? ", " : before, row[k].K);
        if (last > k) spec_say(text, " to %d", row[last].K);
        said = true;
        k = last;
    }
    return said;
}

/* Adds the rows that may be as fast, those of the same draft first. */
static void say_alike(spec_sentences text, const spec_pair_numbers *numbers,
                      const spec_pair_row *best, const spec_pair_words *words)
{
    const spec_pair_run *run = numbers->run;
    const spec_pair_row *own = best - (best->K - 1), *row = numbers->row;
    const char *const first = " As fast, within the intervals: K = ";
    if (isnan(best->speedup.low)) {
        spec_say(text, " One text gives no interval.");
        return;
    }
    bool said = say_lengths(text, own, run->K[best->draft], best, first);
    for (int d = 0; d < run->plan.n_drafts; row += run->K[d++]) {
        if (d == best->draft || !say_lengths(text, row, run->K[d], best, said ? "; K = " : first))
            continue;
        spec_say(text, " of %s", words->name[d]);
        said = true;
    }
    if (said) spec_say(text, ".");
}

/* Writes the answer in a sentence or two. */
static void say_answer(spec_sentences text, const spec_pair_numbers *numbers,
                       const spec_pair_words *words)
{
    const spec_pair_row *best = spec_pair_numbers_best(numbers, -1, -1);
    if (best == NULL) {
        spec_say(text,
                 "No speed-up is known to within a factor of two: the machine is too "
                 "busy, or the texts are too few or too short. Give the times with --c, or use "
                 "--clock processor --threads 1.");
        return;
    }
    const char *name = words->name[best->draft];
    if (best->speedup.value <= 1.0)
        spec_say(text, "Do not speculate: the best, %s with K = %d, has %s times the speed.", name,
                 best->K, SPEC_SAY_RATIO(best->speedup));
    else
        spec_say(text, "Run %s with K = %d: expect %s times the speed without speculation%s.", name,
                 best->K, SPEC_SAY_RATIO(best->speedup),
                 best->speedup.low < 1.0 ? ", which is not certain to gain" : "");
    say_alike(text, numbers, best, words);
    if (best->speedup.value > 1.0 && best->K == numbers->run->plan.K && best->K < SPEC_PAIR_K)
        spec_say(text, " No longer draft was tried: a larger --K may be faster still.");
}

/* ---- the text -------------------------------------------------------------------------------- */

/* Rounds to three decimals. */
static double rounded(double x)
{
    return round(1e3 * x) / 1e3;
}

/* Returns the best row of a draft in a category, or its first one if no speed-up is known. */
static const spec_pair_row *row_of(const spec_pair_numbers *numbers, int category, int draft)
{
    const spec_pair_row *row = spec_pair_numbers_best(numbers, category, draft);
    for (int i = 0; row == NULL; i++)
        if (numbers->row[i].category == category && numbers->row[i].draft == draft)
            row = &numbers->row[i];
    return row;
}

/* Writes a row per category and draft, with the best K of each. */
static int write_drafts(FILE *out, const spec_pair_numbers *numbers, const spec_pair_words *words,
                        spec_error *error)
{
    static const char *const all[] = {"category",     "draft",    "alpha", "low",
                                      "high",         "agree",    "c",     "best K",
                                      "tokens/round", "speed-up", "from",  "to"};
    const spec_pair_plan *plan = &numbers->run->plan;
    const int skip = plan->n_categories == 0, n = (int)(sizeof all / sizeof *all);
    spec_table table = {0};
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_table_init(&table, all + skip, n - skip));
    for (int category = -1; category < plan->n_categories; category++)
        for (int d = 0; d < plan->n_drafts; d++) {
            const spec_pair_row *row = row_of(numbers, category, d);
            if (!skip)
                spec_table_text(&table, "category",
                                category < 0 ? "all" : plan->category[category]);
            spec_table_text(&table, "draft", words->name[d]);
            spec_table_number(&table, "alpha", rounded(row->alpha.value));
            spec_table_number(&table, "low", rounded(row->alpha.low));
            spec_table_number(&table, "high", rounded(row->alpha.high));
            spec_table_number(&table, "agree", rounded(row->agreement.value));
            spec_table_number(&table, "c", rounded(numbers->c[d].value));
            if (!isnan(row->speedup.value)) {
                spec_table_integer(&table, "best K", row->K);
                spec_table_number(&table, "tokens/round", rounded(row->tokens_per_round.value));
                spec_table_number(&table, "speed-up", rounded(row->speedup.value));
                spec_table_number(&table, "from", rounded(row->speedup.low));
                spec_table_number(&table, "to", rounded(row->speedup.high));
            }
            SPEC_TRY(spec_table_append(&table));
        }
    SPEC_TRY(spec_table_write(&table, SPEC_FORMAT_TABLE, out, error));
done:
    spec_table_free(&table);
    return status == GSL_ENOMEM ? spec_no_memory(error) : status;
}

/* Writes a row per K, and a column per draft, of one of the numbers of a row. */
static int write_lengths(FILE *out, const spec_pair_numbers *numbers, const spec_pair_words *words,
                         double (*number)(const spec_pair_row *row), spec_error *error)
{
    const spec_pair_plan *plan = &numbers->run->plan;
    const char *column[1 + SPEC_PAIR_DRAFTS] = {"K"};
    spec_table table = {0};
    int status = GSL_SUCCESS;
    for (int d = 0; d < plan->n_drafts; d++) column[1 + d] = words->name[d];
    SPEC_TRY(spec_table_init(&table, column, 1 + plan->n_drafts));
    for (int K = 1; K <= plan->K; K++) {
        spec_table_integer(&table, "K", K);
        for (int i = 0; i < numbers->n_rows; i++) {
            const spec_pair_row *row = &numbers->row[i];
            if (row->category < 0 && row->K == K)
                spec_table_number(&table, words->name[row->draft], rounded(number(row)));
        }
        SPEC_TRY(spec_table_append(&table));
    }
    SPEC_TRY(spec_table_write(&table, SPEC_FORMAT_TABLE, out, error));
done:
    spec_table_free(&table);
    return status == GSL_ENOMEM ? spec_no_memory(error) : status;
}

static double tokens_of(const spec_pair_row *row)
{
    return row->tokens_per_round.value;
}

static double conditional_of(const spec_pair_row *row)
{
    return row->conditional.value;
}

static double speedup_of(const spec_pair_row *row)
{
    return row->speedup.value;
}

int spec_pair_report(FILE *out, const spec_pair_numbers *numbers, const spec_pair_words *words,
                     spec_error *error)
{
    spec_sentences answer = "";
    say_answer(answer, numbers, words);
    fprintf(out, "%s\n\n", answer);
    SPEC_PASS(write_drafts(out, numbers, words, error));
    fputs("\nspeed-up with drafts of K tokens:\n", out);
    SPEC_PASS(write_lengths(out, numbers, words, speedup_of, error));
    fputs("\ntokens per round:\n", out);
    SPEC_PASS(write_lengths(out, numbers, words, tokens_of, error));
    fputs("\nacceptance of draft token K, given that those before it were accepted:\n", out);
    SPEC_PASS(write_lengths(out, numbers, words, conditional_of, error));
    fprintf(out,
            "\n  texts       %s\n  times       %s\n  intervals   95 %%, over texts; the speed-ups "
            "over all texts hold together, for every draft and K\n",
            words->texts, words->times);
    return GSL_SUCCESS;
}
