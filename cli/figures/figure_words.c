/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/figures/figure_words.h"

#include "base/memory_text.h"
#include "sim/verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns, their names in legends if different, and the titles of their axes. */
static const struct {
    const char *column, *symbol, *axis;
} words[] = {
    {"K", NULL, "draft length K (tokens)"},
    {"alpha", "α", "acceptance rate α"},
    {"alpha_mean", "mean overlap", "mean overlap α"},
    {"alpha_tested", "accepted/tested", "accepted / tested tokens"},
    {"alpha_tested_pooled", "accepted/tested, all K", "accepted / tested tokens, all K"},
    {"alpha_mle", "accepted/tested", "accepted / tested tokens"},
    {"accepted_over_drafted", "accepted/drafted", "accepted / drafted tokens"},
    {"other_K", NULL, "another draft length"},
    {"alpha_held", NULL, "share of intervals that contain the true α"},
    {"emitted_over_K1", "emitted/(K+1)", "emitted tokens / (K + 1)"},
    {"c", NULL, "draft cost c (target calls)"},
    {"c_token", NULL, "draft cost per token (target calls)"},
    {"rho", "ρ", "correlation ρ"},
    {"beta", "β", "overlap β at a position"},
    {"T", NULL, "temperature T"},
    {"draft_T", "draft T", "temperature of the draft"},
    {"V", NULL, "vocabulary V (tokens)"},
    {"n", NULL, "drafts per position n (tokens)"},
    {"draft_order", "draft order", "order of the draft model (tokens)"},
    {"text", "text of", "text"},
    {"rounds", NULL, "rounds"},
    {"tokens", NULL, "length of the text (tokens)"},
    {"budget", NULL, "budget of the tree (draft tokens)"},
    {"tree_nodes", "nodes", "draft tokens in the tree"},
    {"tree_depth", "depth", "depth of the tree (tokens)"},
    {"emitted", NULL, "tokens per round"},
    {"emitted_iid", "iid formula", "tokens per round, iid formula"},
    {"emitted_var", NULL, "variance of the tokens per round (tokens squared)"},
    {"n_accepted", "accepted", "accepted draft tokens per round"},
    {"mean_n_accepted", "accepted", "accepted draft tokens, first round"},
    {"simulated", NULL, "tokens per round, simulated"},
    {"tokens_per_round", "measured", "tokens per round, measured"},
    {"speedup", "speed-up", "speed-up over plain decoding"},
    {"speedup_iid", "iid formula", "speed-up, iid formula"},
    {"speedup_ahead", "drafted ahead", "speed-up, drafted ahead"},
    {"speedup_free", "free draft", "speed-up of a free draft"},
    {"loss_fixed", "loss", "loss of speed-up against the best fixed length"},
    {"loss_oracle", "loss", "loss of speed-up against an oracle"},
    {"best_speedup", "best speed-up", "largest speed-up"},
    {"best_K", "best K", "best draft length (tokens)"},
    {"ops_factor", NULL, "arithmetic, relative to plain decoding"},
    {"break_even_alpha", NULL, "break-even acceptance rate"},
    {"break_even_c", NULL, "break-even draft cost (target calls)"},
    {"implied_c", NULL, "implied draft cost (target calls)"},
    {"gain", NULL, "gain from drafting ahead"},
    {"hit", NULL, "rounds whose chain was drafted ahead"},
    {"hit_iid", "iid formula", "rounds whose chain was drafted ahead, iid formula"},
    {"guess", NULL, "bonus tokens guessed"},
    {"probability", NULL, "probability"},
    {"tail", NULL, "chance that at least this many are accepted"},
    {"tail_most", "bound", "upper bound on the chance that at least this many are accepted"},
    {"offset", NULL, "offset in the round (tokens)"},
    {"match", NULL, "chance that two samples coincide"},
    {"target_entropy", NULL, "entropy of the target (nats)"},
    {"draft_entropy", NULL, "entropy of the draft (nats)"},
    {"argmax_agreement", NULL, "positions with the same most probable token"},
    {"greedy_accepted", "accepted", "share of positions, accepted"},
    {"certified", NULL, "share of positions, certified"},
    {"certified_margin", NULL, "share of positions, certified by margins"},
    {"share", NULL, "share of positions"},
    {"slots", NULL, "requests in a batch"},
    {"blocks", NULL, "blocks of the KV cache"},
    {"capacity", NULL, "capacity (requests/s)"},
    {"capacity_most", NULL, "capacity (requests/s), upper bound"},
    {"below", NULL, "share of positions at or below"},
    {"acceptance", NULL, "acceptance at one position"},
    {"optimal", NULL, "largest possible acceptance"},
    {"ratio", NULL, "acceptance / optimum"},
    {"tv", NULL, "total variation"},
    {"worst_tv", NULL, "largest total variation"},
    {"p", NULL, "p-value"},
    {"branches", NULL, "decision paths"},
    {"pass", NULL, "tokens in a pass"},
    {"n_tokens", NULL, "tokens in a pass"},
    {"round_ms", NULL, "time of a round (ms)"},
    {"time_ms", NULL, "time of a pass (ms)"},
    {"target_pass_ms", "target", "time of a target pass (ms)"},
    {"draft_pass_ms", "draft", "time of a draft pass (ms)"},
    {"tokens_per_s", NULL, "tokens per second"},
    {"flops", NULL, "arithmetic of a pass (FLOP)"},
    {"bytes", NULL, "memory traffic of a pass (bytes)"},
    {"intensity", NULL, "arithmetic intensity (FLOP/byte)"},
    {"utilization", NULL, "share of the peak arithmetic"},
};
enum { N_WORDS = (int)(sizeof words / sizeof words[0]) };

/* Suffixes of columns that hold another value for the column without the suffix. */
static const char *const endings[][2] = {
    {"_theory", ", theory"},
    {"_iid", ", iid formula"},
    {"_predicted", ", predicted"},
    {"_costed", ", from the costs of passes"},
    {"_z", ", difference from theory (standard errors)"},
    {"_se", ", standard error"},
};
enum { N_ENDINGS = (int)(sizeof endings / sizeof endings[0]), N_FORMULAS = 4 };

static int find(const char *column, size_t length)
{
    for (int i = 0; i < N_WORDS; i++)
        if (strlen(words[i].column) == length && strncmp(words[i].column, column, length) == 0)
            return i;
    return -1;
}

/* Returns the index of the column's suffix and the length of the part before it; -1: none. */
static int find_ending(size_t *ret_length, const char *column)
{
    const size_t length = strlen(column);
    for (int e = 0; e < N_ENDINGS; e++) {
        const size_t n = strlen(endings[e][0]);
        *ret_length = length - n;
        if (length > n && strcmp(column + length - n, endings[e][0]) == 0) return e;
    }
    return -1;
}

/* Writes "latency (ms)" for latency_ms, if the column has no title. */
static void write_unit(char *buffer, size_t size, const char *column)
{
    static const char *const units[] = {"ns", "us", "ms", "s",      "bytes",   "kb", "mb", "gb",
                                        "KB", "MB", "GB", "tokens", "percent", "W",  "J"};
    const char *unit = strrchr(column, '_');
    const size_t length = unit != NULL ? (size_t)(unit - column) : 0;
    for (size_t i = 0; length > 0 && i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(unit + 1, units[i]) != 0) continue;
        snprintf(buffer, size, "%.*s (%s)", (int)length, column, units[i]);
        return;
    }
    snprintf(buffer, size, "%s", column);
}

const char *spec_figure_words_axis(char *buffer, size_t size, const char *column)
{
    int i = find(column, strlen(column)), ending = -1;
    size_t length;
    if (i < 0 && (ending = find_ending(&length, column)) >= 0) i = find(column, length);
    if (i < 0)
        write_unit(buffer, size, column);
    else
        snprintf(buffer, size, "%s%s", words[i].axis, ending < 0 ? "" : endings[ending][1]);
    return buffer;
}

const char *spec_figure_words_symbol(char *buffer, size_t size, const char *column)
{
    int i = find(column, strlen(column)), ending = -1;
    size_t length = strlen(column);
    if (i < 0 && (ending = find_ending(&length, column)) >= 0) i = find(column, length);
    if (i < 0) snprintf(buffer, size, "%s", column);
    else if (words[i].symbol != NULL) snprintf(buffer, size, "%s", words[i].symbol);
    else snprintf(buffer, size, "%.*s", (int)length, column);
    if (i >= 0 && ending >= 0 && strlen(buffer) < size)
        snprintf(buffer + strlen(buffer), size - strlen(buffer), "%s", endings[ending][1]);
    return buffer;
}

bool spec_figure_words_formula(const char *column)
{
    size_t length;
    const int ending = find_ending(&length, column);
    return ending >= 0 && ending < N_FORMULAS;
}

/* Returns the words that a legend adds to the name of a rule that is not lossless. */
static const char *claim_mark(const char *column, const char *value)
{
    static const char *const marks[] = {[SPEC_LOSSLESS] = "",
                                        [SPEC_LOSSLESS_ARGMAX] = " (T = 0 only)",
                                        [SPEC_LOSSY] = " (lossy)",
                                        [SPEC_WRONG] = " (wrong)"};
    spec_rule rule;
    spec_error ignored;
    if ((strcmp(column, "rule") != 0 && strcmp(column, "family") != 0) ||
        spec_rule_init(&rule, value, &ignored) != GSL_SUCCESS)
        return "";
    const char *mark = marks[rule.claim];
    spec_rule_free(&rule);
    return mark;
}

char *spec_figure_words_value(const char *column, const char *value, bool is_number)
{
    spec_memory_text text;
    if (!spec_memory_text_open(&text)) return NULL;
    FILE *out = text.out;
    char symbol[160];
    const char *question = strchr(value, '?'), *mark = claim_mark(column, value);
    spec_figure_words_symbol(symbol, sizeof symbol, column);
    const bool is_spec = question != NULL && question > value && strchr(question, '=') != NULL;
    if (is_number) fprintf(out, "%s = ", symbol);
    else if (strcmp(column, "text") == 0) {
        const char *slash = strrchr(value, '/'); /* a file is named without its folder */
        fprintf(out, "%s ", symbol);
        if (slash != NULL && !is_spec) value = slash + 1;
    }
    for (const char *c = value; *c != '\0'; c++) {
        const bool inside = is_spec && c >= question;
        if (inside && (c == question || *c == '&')) fputs(", ", out);
        else if (inside && *c == '=') fputs(" = ", out);
        else fputc(*c, out);
    }
    fputs(mark, out);
    return spec_memory_text_take(&text, NULL);
}

bool spec_figure_words_ratio(const char *column)
{
    static const char speedup[] = "speedup";
    size_t length;
    if (find_ending(&length, column) >= N_FORMULAS) return false;
    return strncmp(column, speedup, sizeof speedup - 1) == 0 || strcmp(column, "gain") == 0 ||
           strcmp(column, "ratio") == 0;
}
