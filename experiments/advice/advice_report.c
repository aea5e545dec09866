/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/advice_report.h"

#include "base/escape.h"
#include "base/text_width.h"
#include "experiments/advice/advice_text.h"
#include "experiments/advice/context_acceptance.h"
#include "speclab/no_memory.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <string.h>

static void paragraph(FILE *out, const char *text, int indent, int columns)
{
    spec_text_wrap(text, columns > indent + 8 ? columns - indent : columns, indent, out);
    fputc('\n', out);
}

/* Writes a remark of n bytes. Each of its lines begins with '#', so that users can paste it with
 * the rest. */
static void write_remark(FILE *out, const char *text, size_t n, int columns)
{
    spec_engine_text remark;
    snprintf(remark, sizeof remark, "%.*s", (int)n, text);
    for (const char *rest = remark; *rest != '\0';) {
        int width;
        size_t line = columns > 16 ? spec_text_line(rest, columns - 6, &width) : strlen(rest);
        const size_t next = line;
        while (line > 0 && rest[line - 1] == ' ') line--;
        fputs("    # ", out);
        spec_escape_line(out, rest, line);
        fputc('\n', out);
        rest += next;
    }
}

/* Writes a setting: wraps remarks, but not lines to paste. */
static void write_setting(FILE *out, const char *setting, int columns)
{
    for (const char *line = setting; *line != '\0';) {
        const size_t n = strcspn(line, "\n");
        if (n > 2 && strncmp(line, "# ", 2) == 0) {
            write_remark(out, line + 2, n - 2, columns);
        } else {
            fputs("    ", out);
            spec_escape_line(out, line, n);
            fputc('\n', out);
        }
        line += n + (line[n] == '\n');
    }
}

/* Says how to measure plain decoding. If the files have no times, a plain log alone does not
 * help. */
static void measure_plain(spec_diagnosis_text ret, const spec_diagnosis_facts *facts)
{
    const spec_engine *engine = spec_engine_of(facts->read);
    const bool times = facts->read == NULL || (facts->read->learned.gaps & SPEC_LOG_NO_TIMES) == 0;
    enum { SIZE = SPEC_DIAGNOSIS_TEXT };
    ret[0] = '\0';
    spec_advice_text_add(ret, SIZE, "Run %s", spec_engine_plain(facts->read));
    if (times)
        spec_advice_text_add(ret, SIZE, ", then add --plain FILE with its log.");
    else if (engine->times != NULL)
        spec_advice_text_add(ret, SIZE,
                             ". The files read here have no times: for both runs give %s.",
                             engine->times);
    else
        spec_advice_text_add(ret, SIZE,
                             ". The files read here have no times: time both runs, and give "
                             "--round-over-plain.");
}

/* Writes the options that change an answer, as the user gave them. */
static void write_options(FILE *out, const spec_diagnosis_facts *facts)
{
    static const spec_advice_question none = SPEC_ADVICE_QUESTION;
    const spec_advice_question *question =
        facts->opt_question != NULL ? facts->opt_question : &none;
    const char *join = " --K ";
    bool range = question->K_low >= 0;
    for (int K = question->K_low; K >= 0 && K <= question->K_high; K++)
        range = range && !question->without[K];
    if (range) fprintf(out, " --K %d:%d", question->K_low, question->K_high);
    for (int K = question->K_low; !range && K >= 0 && K <= question->K_high; K++) {
        if (question->without[K]) continue;
        fprintf(out, "%s%d", join, K);
        join = ",";
    }
    if (isfinite(question->plain_tokens_per_s))
        fprintf(out, " --plain-tokens-per-s %g", question->plain_tokens_per_s);
    if (isfinite(question->round_over_plain))
        fprintf(out, " --round-over-plain %g", question->round_over_plain);
    if (facts->opt_format == NULL) return;
    fputs(" --engine ", out);
    spec_escape_shell(out, facts->opt_format);
}

/* Writes the command that also reads a new run. It is a line to paste, so it is not wrapped. */
static void write_next_command(FILE *out, const spec_diagnosis_facts *facts, int columns)
{
    int n[2] = {0, 0}, n_K = 0;
    paragraph(out, "Run the same load with it, then add its log:", 0, columns);
    fputs("\n    speclab advise", out);
    for (int plain = 0; plain < 2; plain++) {
        for (int i = 0; i < facts->n_sources; i++) {
            const char *path = facts->source[i].path;
            const spec_source_part part = plain == 1 ? SPEC_SOURCE_PLAIN : SPEC_SOURCE_FILE;
            if (facts->source[i].part != part) continue;
            n[plain]++;
            fputs(plain == 1 ? " --plain " : " ", out);
            spec_escape_shell_file(out, strcmp(path, "-") == 0 ? "OLD" : path);
        }
        if (plain == 0) fputs(" NEW", out);
    }
    for (; n_K < n[0] && facts->n_K_given > 0; n_K++)
        fprintf(out, "%s%d", n_K == 0 ? " --current " : ",",
                facts->K_given[facts->n_K_given > 1 ? n_K : 0]);
    if (n_K > 0) fprintf(out, ",%d", spec_advice_report_K(facts->advice));
    write_options(out, facts);
    fputc('\n', out);
}

/* Writes the heading, and names the ranges whose length might change with more windows. */
static void write_schedule_heading(FILE *out, const spec_advice *advice, int columns)
{
    spec_diagnosis_text text = "Or one length for each batch size";
    enum { SIZE = SPEC_DIAGNOSIS_TEXT };
    const char *join = "; more windows would decide for";
    for (int i = 0; i < advice->n_batches; i++) {
        const spec_advice_batch *batch = &advice->batch[i];
        if (batch->decided) continue;
        if (batch->to > 0)
            spec_advice_text_add(text, SIZE, "%s %d to %d", join, batch->from, batch->to);
        else
            spec_advice_text_add(text, SIZE, "%s %d or more", join, batch->from);
        join = ",";
    }
    spec_advice_text_add(text, SIZE, ":");
    paragraph(out, text, 0, columns);
    fputc('\n', out);
}

void spec_advice_report_setting(spec_engine_text ret, const spec_diagnosis_facts *facts)
{
    const spec_advice *advice = facts->advice;
    const int K = spec_advice_report_K(advice);
    ret[0] = '\0';
    /* do not ask for a measurement before the fault is mended */
    if (K >= 0 && (advice->verdict != SPEC_ADVICE_MEASURE || !spec_advice_report_wrong(facts)))
        spec_engine_setting(ret, facts->read, advice, K);
}

static bool is_given(const spec_diagnosis_facts *facts, int K)
{
    for (int i = 0; i < facts->n_K_given; i++)
        if (facts->K_given[i] == K) return true;
    return false;
}

static void write_settings(FILE *out, const spec_diagnosis_facts *facts, int columns)
{
    const spec_engine *engine = spec_engine_of(facts->read);
    const spec_advice *advice = facts->advice;
    const int K = spec_advice_report_K(advice);
    spec_engine_text setting;
    spec_advice_report_setting(setting, facts);
    if (setting[0] == '\0') return;
    if (advice->verdict == SPEC_ADVICE_MEASURE && K > 0)
        fprintf(out, "\nSetting of %s for the run of K = %d:\n\n", engine->title, K);
    else
        fprintf(out, "\nSetting for %s:\n\n", engine->title);
    write_setting(out, setting, columns);
    if (advice->verdict == SPEC_ADVICE_MEASURE && K == 0) {
        spec_diagnosis_text text;
        measure_plain(text, facts);
        fputc('\n', out);
        paragraph(out, text, 0, columns);
    } else if (advice->verdict == SPEC_ADVICE_MEASURE) {
        fputc('\n', out);
        write_next_command(out, facts, columns);
    }
    if (!spec_engine_schedule(setting, facts->read, advice)) return;
    fputs("\n", out);
    write_schedule_heading(out, advice, columns);
    write_setting(out, setting, columns);
}

/* Chooses about 14 rows at most: short lengths, those that were run, and the neighbours of the
 * answer. */
static bool is_shown(const spec_advice *advice, const spec_advice_length *length)
{
    const int to = spec_advice_report_K(advice), now = advice->K;
    return advice->n <= 12 || length->K <= 6 || length->rounds > 0.0 || length->best ||
           (to >= 0 && length->K >= to - 1 && length->K <= to + 1) ||
           (now >= 0 && length->K >= now - 1 && length->K <= now + 1);
}

/* The signs that the table of lengths uses, so that the legend can explain them. */
typedef struct {
    bool interval, run, shorter, longer;
} signs;

static void put_ratio(spec_table *table, signs *seen, const char *column, double value, double low,
                      double high)
{
    spec_advice_text text = "";
    if (!isnan(value)) spec_advice_text_ratio(text, value, low, high);
    seen->interval |= strchr(text, '[') != NULL;
    spec_table_text(table, column, text);
}

static void add_length(spec_table *table, signs *seen, const spec_advice *advice,
                       const spec_advice_length *length, bool timed)
{
    const char *known_from = spec_advice_known_from(advice, length);
    char name[64];
    spec_table_integer(table, "K", length->K);
    if (length->K == 0)
        spec_table_text(table, "tokens/round", "1");
    else
        put_ratio(table, seen, "tokens/round", length->tokens.value, length->tokens.low,
                  length->tokens.high);
    if (timed) {
        put_ratio(table, seen, "round/plain", length->round_over_plain.value,
                  length->round_over_plain.low, length->round_over_plain.high);
        put_ratio(table, seen, "speed-up", length->speedup, length->speedup_low,
                  length->speedup_high);
    }
    snprintf(name, sizeof name, "%s%s%s", known_from, length->K == advice->K ? ", now" : "",
             length->best ? ", best" : "");
    spec_table_text(table, "known from", name);
    spec_table_append(table);
    seen->run |= strcmp(known_from, "run") == 0;
    seen->shorter |= strcmp(known_from, "shorter") == 0;
    seen->longer |= strcmp(known_from, "longer") == 0;
}

/* Explains the signs that the table uses. */
static void write_legend(FILE *out, const signs *seen, bool left_out, int columns)
{
    const struct {
        bool seen;
        const char *meaning;
    } legend[] = {
        {seen->interval && !(seen->shorter || seen->longer), "[low, high]: 95 % interval"},
        {seen->interval && (seen->shorter || seen->longer),
         "[low, high]: 95 % interval, which also covers what these data do not determine"},
        {seen->run, "run: this K was run"},
        {seen->shorter, "shorter: computed from the rounds of a longer K"},
        {seen->longer, "longer: extrapolated, since no K as long was run"}};
    enum { SIZE = SPEC_DIAGNOSIS_TEXT };
    spec_diagnosis_text text = "";
    for (size_t i = 0; i < sizeof legend / sizeof legend[0]; i++)
        if (legend[i].seen)
            spec_advice_text_add(text, SIZE, "%s%s", text[0] != '\0' ? "; " : "",
                                 legend[i].meaning);
    if (text[0] != '\0') spec_advice_text_add(text, SIZE, ".");
    if (left_out)
        spec_advice_text_add(text, SIZE, "%s-f csv has all lengths.", text[0] != '\0' ? " " : "");
    if (text[0] == '\0') return;
    fputc('\n', out);
    paragraph(out, text, 0, columns);
}

static int write_lengths(FILE *out, const spec_advice *advice, int columns, spec_error *error)
{
    static const char *const columns_timed[] = {"K", "tokens/round", "round/plain", "speed-up",
                                                "known from"},
                             *const columns_untimed[] = {"K", "tokens/round", "known from"};
    spec_table table = {0};
    signs seen = {0};
    int status = GSL_SUCCESS;
    bool left_out = false, timed = false;
    for (int i = 0; i < advice->n; i++)
        timed |= advice->length[i].K > 0 && !isnan(advice->length[i].speedup);
    if (spec_table_init(&table, timed ? columns_timed : columns_untimed, timed ? 5 : 3) !=
        GSL_SUCCESS)
        SPEC_TRY(spec_no_memory(error));
    for (int i = 0; i < advice->n; i++) {
        const spec_advice_length *length = &advice->length[i];
        if (is_shown(advice, length))
            add_length(&table, &seen, advice, length, timed);
        else
            left_out = true;
    }
    fputc('\n', out);
    if (columns >= 20)
        SPEC_TRY(
            spec_table_write_fitting(&table, &(spec_table_screen){.columns = columns}, out, error));
    else
        SPEC_TRY(spec_table_write(&table, SPEC_FORMAT_TABLE, out, error));
    write_legend(out, &seen, left_out, columns);
done:
    spec_table_free(&table);
    return status;
}

/* The quantile 0.99 of chi-square with one degree of freedom. */
static const double ONE_IN_100 = 6.635;

static void write_acceptance(FILE *out, const spec_diagnosis_facts *facts, int columns)
{
    const spec_advice *advice = facts->advice;
    enum { SIZE = 2 * SPEC_DIAGNOSIS_TEXT };
    char text[SIZE] = "";
    spec_advice_text share;
    const spec_advice_length *now = spec_diagnosis_length(facts, advice->K);
    if (isnan(advice->alpha.value)) return;
    spec_advice_text_add(text, SIZE, "Acceptance: %s of the tested draft tokens%s",
                         spec_advice_text_of(share, &advice->alpha),
                         advice->K > 1 && spec_diagnosis_counts_of(facts, -1).depths == 0
                             ? " if it is the same at all depths"
                             : "");
    const bool interval = isfinite(advice->alpha.low) && !spec_advice_text_vague(&advice->alpha);
    if (interval && advice->alpha.design_effect > 1.5)
        spec_advice_text_add(
            text, SIZE, " (the interval is %.*f times as wide as that of independent tokens)",
            advice->alpha.design_effect < 100.0 ? 1 : 0, sqrt(advice->alpha.design_effect));
    else if (!interval)
        spec_advice_text_add(text, SIZE,
                             isfinite(advice->alpha.low)
                                 ? ", without an interval, because a few windows or requests have "
                                   "most of the rounds"
                                 : ", without an interval, which needs more than one window or "
                                   "request");
    spec_advice_text_add(text, SIZE, ".");
    if (advice->mixture_z > 3.0 && isfinite(advice->mixture_z))
        spec_advice_text_add(text, SIZE,
                             " Rounds differ in acceptance, so tokens after accepted ones are "
                             "accepted more often.");
    else if (advice->mixture_z < -3.0 && isfinite(advice->mixture_z))
        spec_advice_text_add(text, SIZE, " Acceptance falls with depth.");
    if (isfinite(advice->mixture.a) && advice->mixture.likelihood_ratio > ONE_IN_100)
        spec_advice_text_add(text, SIZE, " It varies over rounds as Beta(%.2g, %.2g).",
                             advice->mixture.a, advice->mixture.b);
    if (advice->break_even > 1.0 && advice->K > 0)
        spec_advice_text_add(text, SIZE,
                             " At this load K = %d does not pay even if all drafts are accepted.",
                             advice->K);
    else if (isfinite(advice->break_even) && advice->K > 0)
        spec_advice_text_add(
            text, SIZE,
            " At this load K = %d pays if accepted over drafted is above %.3f; it is %.3f.",
            advice->K, advice->break_even, advice->accepted_over_drafted);
    if (now != NULL && advice->K > 0 && now->round_over_plain.value > 0.0)
        spec_advice_text_add(text, SIZE,
                             " A perfect draft would have %.2f times the tokens/s of plain "
                             "decoding with these rounds.",
                             (advice->K + 1.0) / now->round_over_plain.value);
    fputc('\n', out);
    paragraph(out, text, 0, columns);
    const bool counted =
        facts->read == NULL || (facts->read->learned.gaps & SPEC_LOG_NO_ROUNDS) == 0;
    if (counted && advice->undrafted > 0.01) {
        snprintf(text, SIZE,
                 "%.0f %% of the steps of a request had no draft; tokens/round counts each as a "
                 "round of one token.",
                 100.0 * advice->undrafted);
        paragraph(out, text, 0, columns);
    }
    if (advice->longest_share > 0.2 &&
        fabs(advice->without_longest.value - advice->alpha.value) > 0.02) {
        snprintf(text, SIZE,
                 "The longest 1 %% of the requests have %.0f %% of the rounds; without them "
                 "acceptance is %s.",
                 100.0 * advice->longest_share,
                 spec_advice_text_of(share, &advice->without_longest));
        paragraph(out, text, 0, columns);
    }
}

/* Writes acceptance by context, if requests show that it differs, as serve takes it. */
static void write_context(FILE *out, const spec_diagnosis_facts *facts, int columns)
{
    enum { SIZE = SPEC_DIAGNOSIS_TEXT };
    spec_diagnosis_text text = "Acceptance differs by context. In serve: --process context?of=";
    spec_context_steps steps;
    spec_context_acceptance(&steps, facts->evidence->context);
    if (steps.n == 0) return;
    for (int i = 0; i < steps.n; i++)
        spec_advice_text_add(text, SIZE, "%s%.3f@%d", i > 0 ? "/" : "", steps.value[i],
                             steps.from[i]);
    paragraph(out, text, 0, columns);
}

static void write_sources(FILE *out, const spec_diagnosis_facts *facts, int columns)
{
    enum { SIZE = 4 * SPEC_DIAGNOSIS_TEXT };
    char text[SIZE];
    fputc('\n', out);
    for (int i = 0; i < facts->n_sources; i++) {
        const spec_log_summary *read = &facts->source[i].summary;
        snprintf(text, SIZE, "Read %.300s: ",
                 strcmp(facts->source[i].path, "-") == 0 ? "standard input"
                                                         : facts->source[i].path);
        const char *const *names = read->format->generations;
        const int g = read->learned.generation;
        spec_advice_text_add(text, SIZE, "%s", read->format->summary);
        if (g >= 0 && names != NULL && names[g] != NULL)
            spec_advice_text_add(text, SIZE, ", %s", names[g]);
        spec_advice_text_add(text, SIZE, "; %llu measurement%s in %llu record%s",
                             (unsigned long long)read->observations,
                             read->observations == 1 ? "" : "s", (unsigned long long)read->records,
                             read->records == 1 ? "" : "s");
        if (read->unreadable > 0)
            spec_advice_text_add(text, SIZE, "; %llu record%s left out, the first at %s",
                                 (unsigned long long)read->unreadable,
                                 read->unreadable == 1 ? " is" : "s are", read->fault.text);
        if (read->cut)
            spec_advice_text_add(text, SIZE, "; the last line is not complete and is left out");
        if (read->learned.note[0] != '\0')
            spec_advice_text_add(text, SIZE, "; %s", read->learned.note);
        spec_advice_text_add(text, SIZE, ".");
        paragraph(out, text, 2, columns);
    }
    text[0] = '\0';
    if (facts->evidence->idle > 0)
        spec_advice_text_add(text, SIZE, "%llu idle window%s left out. ",
                             (unsigned long long)facts->evidence->idle,
                             facts->evidence->idle == 1 ? " is" : "s are");
    if (facts->evidence->inexact > 0 && facts->advice->verdict != SPEC_ADVICE_NOTHING)
        spec_advice_text_add(text, SIZE,
                             "In %llu of %llu measurements the number of rounds is rounded or not "
                             "printed; the likeliest one is used. ",
                             (unsigned long long)facts->evidence->inexact,
                             (unsigned long long)facts->evidence->observations);
    if (facts->counters != NULL && facts->counters->repeated > 0)
        spec_advice_text_add(text, SIZE, "%llu scrape%s the one before.",
                             (unsigned long long)facts->counters->repeated,
                             facts->counters->repeated == 1 ? " repeats" : "s repeat");
    if (text[0] != '\0') paragraph(out, text, 0, columns);
}

/* Writes which numbers are missing from the output, and which output of the engine has them. */
static void write_gaps(FILE *out, const spec_diagnosis_facts *facts, int columns)
{
    enum { SIZE = 2 * SPEC_DIAGNOSIS_TEXT };
    char text[SIZE] = "";
    if (facts->read == NULL || facts->read->format == NULL) return;
    const spec_engine *engine = spec_engine_of(facts->read);
    const unsigned set = facts->read->learned.gaps;
    const bool rounded = (set & SPEC_LOG_ROUNDED) != 0, depths = (set & SPEC_LOG_NO_DEPTHS) != 0;
    const struct {
        bool lacks;
        const char *what, *opt_where;
    } gaps[] = {{rounded || depths,
                 rounded && depths ? "exact counts and acceptance by depth"
                 : rounded         ? "exact counts"
                                   : "acceptance by depth",
                 engine->depths},
                {(set & SPEC_LOG_NO_TIMES) != 0, "times", engine->times}};
    for (size_t i = 0; i < sizeof gaps / sizeof gaps[0]; i++) {
        if (!gaps[i].lacks) continue;
        spec_advice_text_add(text, SIZE, "%s%s",
                             text[0] == '\0' ? "This output does not contain: " : "; ",
                             gaps[i].what);
        if (gaps[i].opt_where != NULL)
            spec_advice_text_add(text, SIZE, " (see %s)", gaps[i].opt_where);
    }
    if (text[0] == '\0') return;
    spec_advice_text_add(text, SIZE, ".");
    paragraph(out, text, 0, columns);
}

static void write_diagnoses(FILE *out, const spec_diagnosis_facts *facts, int columns)
{
    spec_diagnosis_text evidence, next;
    char text[2 * SPEC_DIAGNOSIS_TEXT + 64];
    for (const spec_diagnosis *const *d = spec_diagnoses; *d != NULL; d++) {
        if (!(*d)->applies(evidence, next, facts)) continue;
        snprintf(text, sizeof text, "%s (%s): %s", (*d)->wrong ? "Wrong" : "Note", (*d)->name,
                 evidence);
        fputc('\n', out);
        paragraph(out, text, 2, columns);
        snprintf(text, sizeof text, "  Next: %s", next);
        paragraph(out, text, 2, columns);
    }
}

int spec_advice_report_write(FILE *out, const spec_diagnosis_facts *facts, int columns,
                             spec_error *error)
{
    spec_diagnosis_text answer;
    int status = GSL_SUCCESS;
    spec_advice_report_answer(answer, facts);
    paragraph(out, answer, 0, columns);
    if (facts->advice->verdict != SPEC_ADVICE_NOTHING) {
        write_settings(out, facts, columns);
        SPEC_TRY(write_lengths(out, facts->advice, columns, error));
        if (facts->opt_question != NULL && isfinite(facts->opt_question->round_over_plain)) {
            spec_diagnosis_text text;
            snprintf(text, sizeof text,
                     "--round-over-plain is taken to be for K = %d, which has the most rounds.",
                     facts->advice->K);
            paragraph(out, text, 0, columns);
        }
        write_acceptance(out, facts, columns);
        write_context(out, facts, columns);
    }
    if (facts->n_K_given > 0 && facts->advice->K > 0 && !is_given(facts, facts->advice->K)) {
        fputc('\n', out);
        paragraph(out, "--current is ignored, because these files contain their draft lengths.", 0,
                  columns);
    }
    write_diagnoses(out, facts, columns);
    write_sources(out, facts, columns);
    write_gaps(out, facts, columns);
done:
    return status;
}
