/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first sentence of an advice. */
#include "experiments/advice/advice_report.h"
#include "experiments/advice/advice_text.h"

#include <math.h>
#include <string.h>

const char *spec_advice_verdict_name(spec_advice_verdict verdict)
{
    static const char *const name[] = {"keep", "change", "off", "measure", "nothing"};
    return name[verdict];
}

static const spec_diagnosis *first_wrong(const spec_diagnosis_facts *facts)
{
    spec_diagnosis_text evidence, next;
    for (const spec_diagnosis *const *d = spec_diagnoses; *d != NULL; d++)
        if ((*d)->wrong && (*d)->applies(evidence, next, facts)) return *d;
    return NULL;
}

bool spec_advice_report_wrong(const spec_diagnosis_facts *facts)
{
    return first_wrong(facts) != NULL;
}

/* Returns whether there are drafts, but no file gives their length. */
static bool lacks_K(const spec_diagnosis_facts *facts)
{
    const spec_diagnosis_counts counts = spec_diagnosis_counts_of(facts, -1);
    return counts.rounds > 0.0 || counts.drafted > 0.0 || counts.accepted > 0.0;
}

static const spec_advice_length *length_of(const spec_advice *advice, int K)
{
    for (int i = 0; i < advice->n; i++)
        if (advice->length[i].K == K) return &advice->length[i];
    return NULL;
}

/* Returns whether a length with drafts has a speed-up over plain decoding. */
static bool over_plain(const spec_advice *advice)
{
    for (int i = 0; i < advice->n; i++)
        if (advice->length[i].K > 0 && isfinite(advice->length[i].speedup)) return true;
    return false;
}

/* Returns whether such a length has a speed, relative to plain decoding or to the current
 * length. */
static bool timed(const spec_advice *advice)
{
    for (int i = 0; i < advice->n; i++)
        if (advice->length[i].best) return true;
    return over_plain(advice);
}

/* Returns whether plain decoding and the current length both have times, but not at the same
 * batch. */
static bool at_other_batches(const spec_advice *advice)
{
    const spec_advice_length *now = length_of(advice, advice->K);
    return isfinite(advice->plain_seconds) && !over_plain(advice) && now != NULL &&
           now->seconds > 0.0;
}

static const char *name_of(spec_advice_text text, int K)
{
    if (K == 0) return "plain decoding";
    snprintf(text, SPEC_ADVICE_TEXT, "K = %d", K);
    return text;
}

/* Adds why a run at `length` would decide. */
static void add_reason(spec_diagnosis_text ret, const spec_advice *advice,
                       const spec_advice_length *length)
{
    const spec_advice_length *to = length_of(advice, advice->to_K);
    spec_advice_text speedup, other, name;
    enum { SIZE = SPEC_DIAGNOSIS_TEXT };
    if (length == NULL || length->K == 0 || isnan(length->speedup)) {
        spec_advice_text_add(ret, SIZE, ": these numbers cannot tell.");
        return;
    }
    spec_advice_text_ratio(speedup, length->speedup, length->speedup_low, length->speedup_high);
    if (isnan(length->speedup_low))
        spec_advice_text_add(ret, SIZE,
                             ": its speed-up, %s, has no interval, which needs more than one "
                             "window or request.",
                             speedup);
    else if (to == NULL)
        spec_advice_text_add(ret, SIZE, ": by estimate its speed-up is %s.", speedup);
    else if (length == to)
        spec_advice_text_add(ret, SIZE, ": its speed-up, %s, is too uncertain to decide.", speedup);
    else
        spec_advice_text_add(
            ret, SIZE, ": by estimate its speed-up is %s, and that of %s %s.", speedup,
            name_of(name, to->K),
            spec_advice_text_ratio(other, to->speedup, to->speedup_low, to->speedup_high));
}

/* Adds which length to run until more is known, and what it may lose. */
static void add_for_now(spec_diagnosis_text ret, const spec_advice *advice)
{
    enum { SIZE = SPEC_DIAGNOSIS_TEXT };
    spec_advice_text gain;
    if (isnan(advice->loss) || advice->n == 0) return;
    const int low = advice->length[0].K, high = advice->length[advice->n - 1].K;
    if (advice->to_K == advice->K)
        spec_advice_text_add(ret, SIZE, "Keep K = %d for now: it", advice->K);
    else if (advice->to_K == 0)
        spec_advice_text_add(ret, SIZE, "Turn speculation off for now: plain decoding");
    else
        spec_advice_text_add(ret, SIZE, "Take K = %d for now: it", advice->to_K);
    if (advice->to_K != advice->K)
        spec_advice_text_add(
            ret, SIZE, " has %s times the tokens/s of K = %d, and",
            spec_advice_text_ratio(gain, advice->gain, advice->gain_low, advice->gain_high),
            advice->K);
    spec_advice_text_add(ret, SIZE, " is at most %.0f %% slower than the fastest of K = %d to %d. ",
                         ceil(100.0 * advice->loss), low, high);
}

/* Adds a bound that needs no run of plain decoding: a round takes at least as long as a plain
 * token. */
static void add_ceiling(spec_diagnosis_text ret, const spec_advice *advice)
{
    const spec_advice_length *now = length_of(advice, advice->K);
    spec_advice_text tokens;
    if (now == NULL || !(now->tokens.value >= 1.0)) return;
    const double most = isfinite(now->tokens.high) ? now->tokens.high : now->tokens.value;
    spec_advice_text_ratio(tokens, now->tokens.value, now->tokens.low, now->tokens.high);
    spec_advice_text_add(ret, SPEC_DIAGNOSIS_TEXT,
                         "K = %d has at most %.2f times the tokens/s of plain decoding: a round "
                         "emits %s tokens and takes at least as long as a plain token. ",
                         advice->K, most, tokens);
}

/* Adds that a single window or request gives a number, but no interval. */
static void add_caution(spec_diagnosis_text ret, const spec_advice *advice)
{
    if (isnan(advice->gain_low))
        spec_advice_text_add(ret, SPEC_DIAGNOSIS_TEXT,
                             " It has no interval, which needs more than one window or request; a "
                             "longer run would confirm it.");
}

/* Adds the run that decides, and why. */
static void add_measurement(spec_diagnosis_text ret, const spec_diagnosis_facts *facts)
{
    const spec_advice *advice = facts->advice;
    const int K = advice->decides_K;
    const spec_advice_length *length = length_of(advice, K);
    enum { SIZE = SPEC_DIAGNOSIS_TEXT };
    if (K == 0 && isnan(advice->plain_seconds)) {
        add_ceiling(ret, advice);
        spec_advice_text_add(ret, SIZE,
                             "Measure plain decoding in %s: without its speed, these numbers do "
                             "not say which length is the fastest.",
                             spec_engine_of(facts->read)->title);
        return;
    }
    if (K == 0 && at_other_batches(advice)) {
        spec_advice_text_add(ret, SIZE,
                             "Measure plain decoding with as many running requests as K = %d has",
                             advice->K);
        if (advice->plain_running > 0.0 && advice->running > 0.0)
            spec_advice_text_add(ret, SIZE, ": its run has %.1f at a time against %.1f.",
                                 advice->plain_running, advice->running);
        else
            spec_advice_text_add(ret, SIZE, ": these files do not say how many its run had.");
        return;
    }
    if (!timed(advice)) {
        spec_advice_text_add(ret, SIZE,
                             "Measure the time of a round of K = %d, and give it as "
                             "--round-over-plain: these files do not have it.",
                             advice->K);
        return;
    }
    add_for_now(ret, advice);
    if (K == 0)
        spec_advice_text_add(ret, SIZE, "Measure plain decoding for longer");
    else
        spec_advice_text_add(ret, SIZE, "Run K = %d %s", K,
                             length != NULL && length->rounds > 0.0 ? "for longer" : "once");
    add_reason(ret, advice, length);
}

/* Adds that runs with different batches but the same tokens/s are compared by the time per token of
 * a request. */
static void add_equal_rate(spec_diagnosis_text ret, const spec_advice *advice)
{
    if (!advice->equal_rate) return;
    spec_advice_text_add(ret, SPEC_DIAGNOSIS_TEXT,
                         " This compares speeds per request at equal request rates: plain decoding "
                         "had %.1f requests at a time against %.1f, with the same total tokens/s.",
                         advice->plain_running, advice->running);
}

/* Adds that only lengths with drafts are compared, if that is so. */
static void add_uncompared_plain(spec_diagnosis_text ret, const spec_advice *advice)
{
    if (advice->decides_K == 0 || over_plain(advice) || !timed(advice)) return;
    spec_advice_text_add(ret, SPEC_DIAGNOSIS_TEXT, " Plain decoding is not compared: %s.",
                         isnan(advice->plain_seconds)
                             ? "its speed is not known"
                             : "its run may have had another number of running requests");
}

static void add_verdict(spec_diagnosis_text ret, const spec_diagnosis_facts *facts)
{
    const spec_advice *advice = facts->advice;
    const spec_advice_length *now = length_of(advice, advice->K);
    spec_advice_text gain, speedup;
    spec_advice_text_ratio(gain, advice->gain, advice->gain_low, advice->gain_high);
    if (now != NULL)
        spec_advice_text_ratio(speedup, now->speedup, now->speedup_low, now->speedup_high);
    switch (advice->verdict) {
    case SPEC_ADVICE_KEEP:
        spec_advice_text_add(ret, SPEC_DIAGNOSIS_TEXT, "Keep K = %d", advice->K);
        if (now != NULL && advice->K > 0 && !isnan(now->speedup_low))
            spec_advice_text_add(ret, SPEC_DIAGNOSIS_TEXT,
                                 ": %s times the tokens/s of plain decoding, and", speedup);
        else
            spec_advice_text_add(ret, SPEC_DIAGNOSIS_TEXT, ":");
        spec_advice_text_add(ret, SPEC_DIAGNOSIS_TEXT,
                             advice->n == 1 && now != NULL
                                 ? " no other length is considered."
                                 : " no other length is over 2 %% faster.");
        break;
    case SPEC_ADVICE_CHANGE:
        spec_advice_text_add(ret, SPEC_DIAGNOSIS_TEXT,
                             "Change K from %d to %d: %s times the tokens/s of now.", advice->K,
                             advice->to_K, gain);
        add_caution(ret, advice);
        break;
    case SPEC_ADVICE_OFF:
        spec_advice_text_add(
            ret, SPEC_DIAGNOSIS_TEXT,
            "Turn speculation off: plain decoding has %s times the tokens/s of K = %d.", gain,
            advice->K);
        add_caution(ret, advice);
        break;
    case SPEC_ADVICE_MEASURE: add_measurement(ret, facts); break;
    case SPEC_ADVICE_NOTHING:
        if (lacks_K(facts) && facts->n_K_given > 0)
            spec_advice_text_add(
                ret, SPEC_DIAGNOSIS_TEXT,
                "The draft length of these rounds is not known: it changed between two counts of "
                "the engine, or --current contradicts the files.");
        else if (lacks_K(facts))
            spec_advice_text_add(
                ret, SPEC_DIAGNOSIS_TEXT,
                "Give the draft length with --current K: these files do not have it, and "
                "the advice depends on it.");
        else
            spec_advice_text_add(
                ret, SPEC_DIAGNOSIS_TEXT,
                "These files contain no round of speculation, so there is nothing to advise. Give "
                "a log with drafts, and this one as --plain FILE.");
        break;
    }
}

/* Compares before and after, using everything that both have. If they differ, a separate diagnosis
 * says so. */
static void add_comparison(spec_diagnosis_text ret, const spec_advice *advice)
{
    const spec_permutation *change = &advice->change;
    if (!advice->compared) return;
    if (isnan(change->before) || isnan(change->after))
        spec_advice_text_add(ret, SPEC_DIAGNOSIS_TEXT,
                             "No comparison: the files before and after have no draft length in "
                             "common. ");
    else if (change->p >= 0.01)
        spec_advice_text_add(ret, SPEC_DIAGNOSIS_TEXT,
                             "No change of acceptance was found: %.1f %% before, %.1f %% after (p "
                             "= %.2g). ",
                             100.0 * change->before, 100.0 * change->after, change->p);
    else
        spec_advice_text_add(ret, SPEC_DIAGNOSIS_TEXT,
                             "Acceptance was %.1f %% before and is %.1f %% after. ",
                             100.0 * change->before, 100.0 * change->after);
}

/* Adds the lengths by batch. If these differ, one length for all batches is an average that fits
 * none of them. */
static void add_batches(spec_diagnosis_text ret, const spec_advice *advice)
{
    enum { SIZE = SPEC_DIAGNOSIS_TEXT };
    spec_advice_text name, speedup;
    bool decided = false;
    for (int i = 0; i < advice->n_batches; i++) decided |= advice->batch[i].decided;
    if (advice->n_batches < 2 || !decided) return;
    spec_advice_text_add(ret, SIZE, "The length depends on the batch: ");
    for (int i = 0; i < advice->n_batches; i++) {
        const spec_advice_batch *batch = &advice->batch[i];
        spec_advice_text_add(ret, SIZE, "%s%s for %d", i > 0 ? ", " : "", name_of(name, batch->K),
                             batch->from);
        if (batch->to > 0)
            spec_advice_text_add(ret, SIZE, " to %d requests", batch->to);
        else
            spec_advice_text_add(ret, SIZE, " or more");
        if (!batch->decided)
            spec_advice_text_add(ret, SIZE, " (by estimate)");
        else if (batch->K > 0 && isfinite(batch->speedup))
            spec_advice_text_add(ret, SIZE, " (%s times plain decoding)",
                                 spec_advice_text_ratio(speedup, batch->speedup, batch->speedup_low,
                                                        batch->speedup_high));
    }
    spec_advice_text_add(ret, SIZE, ". With one length for all: ");
}

static void write_answer(spec_diagnosis_text ret, const spec_diagnosis_facts *facts)
{
    const spec_advice *advice = facts->advice;
    const spec_diagnosis *wrong = first_wrong(facts);
    ret[0] = '\0';
    if (wrong != NULL)
        spec_advice_text_add(ret, SPEC_DIAGNOSIS_TEXT, "Something is wrong: %s (%s, below). ",
                             wrong->summary, wrong->name);
    add_comparison(ret, advice);
    if (wrong != NULL) {
        if (advice->verdict == SPEC_ADVICE_MEASURE || advice->verdict == SPEC_ADVICE_NOTHING)
            return;
        spec_advice_text_add(ret, SPEC_DIAGNOSIS_TEXT, "Taking the numbers as they are: ");
    }
    add_batches(ret, advice);
    add_verdict(ret, facts);
    add_equal_rate(ret, advice);
    add_uncompared_plain(ret, advice);
}

void spec_advice_report_answer(spec_diagnosis_text ret, const spec_diagnosis_facts *facts)
{
    write_answer(ret, facts);
    for (char *pair; (pair = strstr(ret, "  ")) != NULL;) memmove(pair, pair + 1, strlen(pair));
    for (size_t n = strlen(ret); n > 0 && ret[n - 1] == ' '; n--) ret[n - 1] = '\0';
}

int spec_advice_report_K(const spec_advice *advice)
{
    switch (advice->verdict) {
    case SPEC_ADVICE_KEEP: return advice->K;
    case SPEC_ADVICE_OFF: return 0;
    case SPEC_ADVICE_MEASURE:
        return advice->decides_K == 0 && isfinite(advice->plain_seconds) && !timed(advice) &&
                       !at_other_batches(advice)
                   ? -1
                   : advice->decides_K;
    case SPEC_ADVICE_NOTHING: return -1;
    default: return advice->to_K;
    }
}
