/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/advice_report.h"

#include "base/escape.h"
#include "base/text_width.h"
#include "speclab/no_memory.h"
#include "tools/advise/context_acceptance.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Where the text goes, and what it is about. */
typedef struct {
    FILE *out;
    int columns; /* 0: not wrapped */
    const spec_diagnosis_facts *facts;
} report;

__attribute__((format(printf, 3, 4))) static void paragraph(const report *r, int indent,
                                                            const char *format, ...)
{
    char text[3 * SPEC_SENTENCES];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    spec_text_wrap(text, r->columns > indent + 8 ? r->columns - indent : r->columns, indent,
                   r->out);
    fputc('\n', r->out);
}

/* ---- The setting ----------------------------------------------------------------------------- */

/* Writes a remark of n bytes. Each of its lines begins with '#', so that users can paste it with
 * the rest. */
static void write_remark(const report *r, const char *text, size_t n)
{
    spec_sentences remark;
    snprintf(remark, sizeof remark, "%.*s", (int)n, text);
    for (const char *rest = remark; *rest != '\0';) {
        int width;
        size_t line = r->columns > 16 ? spec_text_line(rest, r->columns - 6, &width) : strlen(rest);
        const size_t next = line;
        while (line > 0 && rest[line - 1] == ' ') line--;
        fputs("    # ", r->out);
        spec_escape_line(r->out, rest, line);
        fputc('\n', r->out);
        rest += next;
    }
}

/* Writes a setting: wraps remarks, but not lines to paste. */
static void write_setting(const report *r, const char *setting)
{
    for (const char *line = setting; *line != '\0';) {
        const size_t n = strcspn(line, "\n");
        if (n > 2 && strncmp(line, "# ", 2) == 0) {
            write_remark(r, line + 2, n - 2);
        } else {
            fputs("    ", r->out);
            spec_escape_line(r->out, line, n);
            fputc('\n', r->out);
        }
        line += n + (line[n] == '\n');
    }
}

/* Says how to measure plain decoding. If the files have no times, a plain log alone does not
 * help. */
static void measure_plain(const report *r)
{
    const spec_log_summary *read = r->facts->read;
    const char *plain = spec_engine_run_of(read).plain, *times = spec_engine_of(read)->times;
    if (read == NULL || (read->learned.gaps & SPEC_LOG_NO_TIMES) == 0)
        paragraph(r, 0, "Run %s, then add --plain FILE with its log.", plain);
    else if (times != NULL)
        paragraph(r, 0, "Run %s. The files read here have no times: for both runs give %s.", plain,
                  times);
    else
        paragraph(r, 0,
                  "Run %s. The files read here have no times: time both runs, and give "
                  "--round-over-plain.",
                  plain);
}

/* Writes the options that influence the answer, as the user gave them. */
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
static void write_next_command(const report *r)
{
    const spec_diagnosis_facts *facts = r->facts;
    int n[2] = {0, 0}, n_K = 0;
    paragraph(r, 0, "Run the same load with it, then add its log:");
    fputs("\n    speclab advise", r->out);
    for (int plain = 0; plain < 2; plain++) {
        for (int i = 0; i < facts->n_sources; i++) {
            const char *path = facts->source[i].path;
            const spec_source_part part = plain == 1 ? SPEC_SOURCE_PLAIN : SPEC_SOURCE_FILE;
            if (facts->source[i].part != part) continue;
            n[plain]++;
            fputs(plain == 1 ? " --plain " : " ", r->out);
            spec_escape_shell_file(r->out, strcmp(path, "-") == 0 ? "OLD" : path);
        }
        if (plain == 0) fputs(" NEW", r->out);
    }
    for (; n_K < n[0] && facts->n_K_given > 0; n_K++)
        fprintf(r->out, "%s%d", n_K == 0 ? " --current " : ",",
                facts->K_given[facts->n_K_given > 1 ? n_K : 0]);
    if (n_K > 0) fprintf(r->out, ",%d", spec_advice_report_K(facts->advice));
    write_options(r->out, facts);
    fputc('\n', r->out);
}

/* Writes the heading, and names the ranges whose length might change with more windows. */
static void write_schedule_heading(const report *r)
{
    spec_sentences ranges = "";
    for (int i = 0; i < r->facts->advice->n_batches; i++) {
        const spec_advice_batch *batch = &r->facts->advice->batch[i];
        if (batch->decided) continue;
        spec_say(ranges, "%s %d", ranges[0] == '\0' ? "; more windows would decide for" : ",",
                 batch->from);
        if (batch->to > 0)
            spec_say(ranges, " to %d", batch->to);
        else
            spec_say(ranges, " or more");
    }
    paragraph(r, 0, "Or one length for each batch size%s:", ranges);
    fputc('\n', r->out);
}

void spec_advice_report_setting(spec_sentences ret, const spec_diagnosis_facts *facts)
{
    const spec_advice *advice = facts->advice;
    const int K = spec_advice_report_K(advice);
    ret[0] = '\0';
    /* do not ask for a measurement before the fault is mended */
    if (K >= 0 && (advice->verdict != SPEC_ADVICE_MEASURE || !spec_advice_report_wrong(facts)))
        spec_engine_setting(ret, facts->read, advice, K);
}

static void write_settings(const report *r)
{
    const spec_advice *advice = r->facts->advice;
    const char *title = spec_engine_of(r->facts->read)->title;
    const int K = spec_advice_report_K(advice);
    const bool measure = advice->verdict == SPEC_ADVICE_MEASURE;
    spec_sentences setting;
    spec_advice_report_setting(setting, r->facts);
    if (setting[0] == '\0') return;
    if (measure && K > 0)
        fprintf(r->out, "\nSetting of %s for the run of K = %d:\n\n", title, K);
    else
        fprintf(r->out, "\nSetting for %s:\n\n", title);
    write_setting(r, setting);
    if (measure) {
        fputc('\n', r->out);
        if (K == 0)
            measure_plain(r);
        else
            write_next_command(r);
    }
    if (!spec_engine_schedule(setting, r->facts->read, advice)) return;
    fputc('\n', r->out);
    write_schedule_heading(r);
    write_setting(r, setting);
}

/* ---- The table of lengths -------------------------------------------------------------------- */

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

static void put_ratio(spec_table *table, signs *seen, const char *column,
                      const spec_block_interval *x)
{
    const spec_said ratio = spec_say_ratio(x->value, x->low, x->high);
    seen->interval |= strchr(ratio.text, '[') != NULL;
    spec_table_text(table, column, isnan(x->value) ? "" : ratio.text);
}

static void add_length(spec_table *table, signs *seen, const spec_advice *advice,
                       const spec_advice_length *length, bool timed)
{
    const char *known_from = spec_advice_known_from(advice, length);
    const spec_block_interval tokens = {
        .value = length->tokens.value, .low = length->tokens.low, .high = length->tokens.high};
    char name[64];
    spec_table_integer(table, "K", length->K);
    if (length->K == 0)
        spec_table_text(table, "tokens/round", "1");
    else
        put_ratio(table, seen, "tokens/round", &tokens);
    if (timed) put_ratio(table, seen, "round/plain", &length->round_over_plain);
    if (timed) put_ratio(table, seen, "speed-up", &length->speedup);
    snprintf(name, sizeof name, "%s%s%s", known_from, length->K == advice->K ? ", now" : "",
             length->best ? ", best" : "");
    spec_table_text(table, "known from", name);
    spec_table_append(table);
    seen->run |= strcmp(known_from, "run") == 0;
    seen->shorter |= strcmp(known_from, "shorter") == 0;
    seen->longer |= strcmp(known_from, "longer") == 0;
}

/* Explains the signs that the table uses. */
static void write_legend(const report *r, const signs *seen, bool left_out)
{
    const bool open = seen->shorter || seen->longer;
    const struct {
        bool seen;
        const char *meaning;
    } legend[] = {
        {seen->interval && !open, "[low, high]: 95 % interval"},
        {seen->interval && open,
         "[low, high]: 95 % interval, which also covers what these data do not determine"},
        {seen->run, "run: this K was run"},
        {seen->shorter, "shorter: computed from the rounds of a longer K"},
        {seen->longer, "longer: extrapolated, since no K this long was run"}};
    spec_sentences text = "";
    for (size_t i = 0; i < sizeof legend / sizeof legend[0]; i++)
        if (legend[i].seen) spec_say(text, "%s%s", text[0] != '\0' ? "; " : "", legend[i].meaning);
    if (text[0] != '\0') spec_say(text, ".");
    if (left_out) spec_say(text, "%s-f csv has all lengths.", text[0] != '\0' ? " " : "");
    if (text[0] == '\0') return;
    fputc('\n', r->out);
    paragraph(r, 0, "%s", text);
}

static int write_lengths(const report *r, spec_error *error)
{
    static const char *const columns[] = {"K", "tokens/round", "round/plain", "speed-up",
                                          "known from"},
                             *const untimed[] = {"K", "tokens/round", "known from"};
    const spec_advice *advice = r->facts->advice;
    spec_table table = {0};
    signs seen = {0};
    int status = GSL_SUCCESS;
    bool left_out = false, timed = false;
    for (int i = 0; i < advice->n; i++)
        timed |= advice->length[i].K > 0 && !isnan(advice->length[i].speedup.value);
    if (spec_table_init(&table, timed ? columns : untimed, timed ? 5 : 3) != GSL_SUCCESS)
        SPEC_TRY(spec_no_memory(error));
    for (int i = 0; i < advice->n; i++) {
        const spec_advice_length *length = &advice->length[i];
        if (is_shown(advice, length))
            add_length(&table, &seen, advice, length, timed);
        else
            left_out = true;
    }
    fputc('\n', r->out);
    if (r->columns >= 20)
        SPEC_TRY(spec_table_write_fitting(&table, &(spec_table_screen){.columns = r->columns},
                                          r->out, error));
    else
        SPEC_TRY(spec_table_write(&table, SPEC_FORMAT_TABLE, r->out, error));
    write_legend(r, &seen, left_out);
done:
    spec_table_free(&table);
    return status;
}

/* ---- The evidence ---------------------------------------------------------------------------- */

/* The quantile 0.99 of chi-square with one degree of freedom. */
static const double ONE_IN_100 = 6.635;

static void write_acceptance(const report *r)
{
    const spec_advice *advice = r->facts->advice;
    const spec_log_summary *read = r->facts->read;
    const spec_advice_length *now = spec_advice_length_of(advice, advice->K);
    const spec_cluster_ratio *alpha = &advice->alpha;
    const bool one_rate = advice->K > 1 && spec_diagnosis_counts_of(r->facts, -1).depths == 0;
    const bool interval = isfinite(alpha->low) && !spec_say_is_vague(alpha);
    const bool counted = read == NULL || (read->learned.gaps & SPEC_LOG_NO_ROUNDS) == 0;
    spec_sentences text = "";
    if (isnan(alpha->value)) return;
    spec_say(text, "Acceptance: %s of the tested draft tokens%s", spec_say_share_of(alpha).text,
             one_rate ? " if it is the same at all depths" : "");
    if (!interval)
        spec_say(text, ", without an interval, %s",
                 isfinite(alpha->low) ? "because a few windows or requests have most of the rounds"
                                      : "which needs more than one window or request");
    else if (alpha->design_effect > 1.5)
        spec_say(text, " (the interval is %.*f times as wide as that of independent tokens)",
                 alpha->design_effect < 100.0 ? 1 : 0, sqrt(alpha->design_effect));
    spec_say(text, ".");
    if (advice->mixture_z > 3.0 && isfinite(advice->mixture_z))
        spec_say(text, " Rounds differ in acceptance, so tokens after accepted ones are accepted "
                       "more often.");
    else if (advice->mixture_z < -3.0 && isfinite(advice->mixture_z))
        spec_say(text, " Acceptance falls with depth.");
    if (isfinite(advice->mixture.a) && advice->mixture.likelihood_ratio > ONE_IN_100)
        spec_say(text, " It varies over rounds as Beta(%.2g, %.2g).", advice->mixture.a,
                 advice->mixture.b);
    if (advice->break_even > 1.0 && advice->K > 0)
        spec_say(text, " At this load K = %d does not pay even if all drafts are accepted.",
                 advice->K);
    else if (isfinite(advice->break_even) && advice->K > 0)
        spec_say(text,
                 " At this load K = %d pays if accepted over drafted is above %.3f; it is %.3f.",
                 advice->K, advice->break_even, advice->accepted_over_drafted);
    if (now != NULL && advice->K > 0 && now->round_over_plain.value > 0.0)
        spec_say(text,
                 " A perfect draft would have %.2f times the tokens/s of plain decoding with these "
                 "rounds.",
                 (advice->K + 1.0) / now->round_over_plain.value);
    fputc('\n', r->out);
    paragraph(r, 0, "%s", text);
    if (counted && advice->undrafted > 0.01)
        paragraph(r, 0,
                  "%.0f %% of the steps of a request had no draft; tokens/round counts each as a "
                  "round of one token.",
                  100.0 * advice->undrafted);
    if (advice->longest_share > 0.2 && fabs(advice->without_longest.value - alpha->value) > 0.02)
        paragraph(r, 0,
                  "The longest 1 %% of the requests have %.0f %% of the rounds; without them "
                  "acceptance is %s.",
                  100.0 * advice->longest_share, spec_say_share_of(&advice->without_longest).text);
}

/* Writes acceptance by context, if requests show that it differs, as serve takes it. */
static void write_context(const report *r)
{
    spec_sentences text = "";
    spec_context_steps steps;
    spec_context_acceptance(&steps, r->facts->evidence->context);
    if (steps.n == 0) return;
    for (int i = 0; i < steps.n; i++)
        spec_say(text, "%s%.3f@%d", i > 0 ? "/" : "", steps.value[i], steps.from[i]);
    paragraph(r, 0, "Acceptance differs by context. In serve: --process context?of=%s", text);
}

static void write_diagnoses(const report *r)
{
    spec_diagnosis_said said;
    for (const spec_diagnosis *d = spec_diagnoses; d->name != NULL; d++) {
        if (!spec_diagnosis_applies(&said, d, r->facts)) continue;
        fputc('\n', r->out);
        paragraph(r, 2, "%s (%s): %s", d->wrong ? "Wrong" : "Note", d->name, said.evidence);
        paragraph(r, 2, "  Next: %s", said.next);
    }
}

/* Returns whether more than one file has drafts. */
static bool are_compared(const spec_diagnosis_facts *facts)
{
    int n = 0;
    for (int i = 0; i < facts->n_sources; i++) n += facts->source[i].summary.K_most > 0;
    return n > 1;
}

static void write_source(const report *r, const spec_diagnosis_source *source)
{
    const spec_log_summary *read = &source->summary;
    const unsigned long long observations = read->observations, records = read->records,
                             unreadable = read->unreadable;
    const char *const *names = read->format->generations;
    const int g = read->learned.generation;
    spec_sentences text = "";
    spec_say(text, "Read %.300s: %s",
             strcmp(source->path, "-") == 0 ? "standard input" : source->path,
             read->format->summary);
    if (g >= 0 && names != NULL && names[g] != NULL) spec_say(text, ", %s", names[g]);
    spec_say(text, "; %llu measurement%s in %llu record%s", observations,
             observations == 1 ? "" : "s", records, records == 1 ? "" : "s");
    if (read->K_most > 0 && are_compared(r->facts)) {
        spec_say(text, "; K = %d", read->K_least);
        if (read->K_most > read->K_least) spec_say(text, " to %d", read->K_most);
    }
    if (unreadable > 0)
        spec_say(text, "; %llu record%s left out, the first at %s", unreadable,
                 unreadable == 1 ? " is" : "s are", read->fault.text);
    if (read->cut) spec_say(text, "; the last line is not complete and is left out");
    if (read->learned.note[0] != '\0') spec_say(text, "; %s", read->learned.note);
    paragraph(r, 2, "%s.", text);
}

static void write_sources(const report *r)
{
    const spec_diagnosis_facts *facts = r->facts;
    const spec_observed_sums *evidence = facts->evidence;
    const unsigned long long idle = evidence->idle, inexact = evidence->inexact,
                             all = evidence->observations,
                             repeated = facts->counters != NULL ? facts->counters->repeated : 0;
    spec_sentences text = "";
    fputc('\n', r->out);
    for (int i = 0; i < facts->n_sources; i++) write_source(r, &facts->source[i]);
    if (idle > 0)
        spec_say(text, "%llu idle window%s left out. ", idle, idle == 1 ? " is" : "s are");
    if (inexact > 0 && facts->advice->verdict != SPEC_ADVICE_NOTHING)
        spec_say(text,
                 "In %llu of %llu measurements the number of rounds is rounded or not printed; the "
                 "likeliest one is used. ",
                 inexact, all);
    if (repeated > 0)
        spec_say(text, "%llu scrape%s the one before.", repeated,
                 repeated == 1 ? " repeats" : "s repeat");
    if (text[0] != '\0') paragraph(r, 0, "%s", text);
}

/* Writes which numbers are missing from the output, and which output of the engine has them. */
static void write_gaps(const report *r)
{
    const spec_log_summary *read = r->facts->read;
    if (read == NULL || read->format == NULL) return;
    const spec_engine *engine = spec_engine_of(read);
    const bool rounded = (read->learned.gaps & SPEC_LOG_ROUNDED) != 0,
               depths = (read->learned.gaps & SPEC_LOG_NO_DEPTHS) != 0,
               times = (read->learned.gaps & SPEC_LOG_NO_TIMES) != 0;
    spec_sentences text = "";
    if (rounded || depths)
        spec_say(text, "%s%s%s", rounded ? "exact counts" : "", rounded && depths ? " and " : "",
                 depths ? "acceptance by depth" : "");
    if ((rounded || depths) && engine->depths != NULL) spec_say(text, " (see %s)", engine->depths);
    if (times) spec_say(text, "%stimes", rounded || depths ? "; " : "");
    if (times && engine->times != NULL) spec_say(text, " (see %s)", engine->times);
    if (text[0] != '\0') paragraph(r, 0, "This output does not contain: %s.", text);
}

static bool is_given(const spec_diagnosis_facts *facts, int K)
{
    for (int i = 0; i < facts->n_K_given; i++)
        if (facts->K_given[i] == K) return true;
    return false;
}

int spec_advice_report_write(FILE *out, const spec_diagnosis_facts *facts, int columns,
                             spec_error *error)
{
    const report r = {out, columns, facts};
    const int K = facts->advice->K;
    spec_sentences answer;
    spec_advice_report_answer(answer, facts);
    paragraph(&r, 0, "%s", answer);
    if (facts->advice->verdict != SPEC_ADVICE_NOTHING) {
        write_settings(&r);
        SPEC_PASS(write_lengths(&r, error));
        if (facts->opt_question != NULL && isfinite(facts->opt_question->round_over_plain))
            paragraph(&r, 0,
                      "--round-over-plain is taken to be for K = %d, which has the most rounds.",
                      K);
        write_acceptance(&r);
        write_context(&r);
    }
    if (facts->n_K_given > 0 && K > 0 && !is_given(facts, K)) {
        fputc('\n', out);
        paragraph(&r, 0, "--current is ignored, because these files contain their draft lengths.");
    }
    write_diagnoses(&r);
    write_sources(&r);
    write_gaps(&r);
    return GSL_SUCCESS;
}
