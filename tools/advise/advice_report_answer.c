/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first sentence of an advice. */
#include "tools/advise/advice_report.h"

#include <math.h>
#include <string.h>

const char *spec_advice_verdict_name(spec_advice_verdict verdict)
{
    static const char *const name[] = {"keep", "change", "off", "measure", "nothing"};
    return name[verdict];
}

static const spec_diagnosis *first_wrong(const spec_diagnosis_facts *facts)
{
    spec_diagnosis_said said;
    for (const spec_diagnosis *d = spec_diagnoses; d->name != NULL && d->wrong; d++)
        if (spec_diagnosis_applies(&said, d, facts)) return d;
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

/* Returns whether lengths have speeds, relative to plain decoding or to the current length. */
static bool timed(const spec_advice *advice)
{
    for (int i = 0; i < advice->n; i++)
        if (advice->length[i].best) return true;
    return advice->over_plain;
}

/* Returns whether plain decoding and the current length both have times, but not at the same
 * batch. */
static bool at_other_batches(const spec_advice *advice)
{
    const spec_advice_length *now = spec_advice_length_of(advice, advice->K);
    return isfinite(advice->plain_seconds) && !advice->over_plain && now != NULL &&
           now->seconds > 0.0;
}

static spec_said name_of(int K)
{
    spec_said name = {"plain decoding"};
    if (K > 0) snprintf(name.text, sizeof name.text, "K = %d", K);
    return name;
}

/* Adds why a run at `length` would decide. */
static void add_reason(spec_sentences ret, const spec_advice *advice,
                       const spec_advice_length *length)
{
    const spec_advice_length *to = spec_advice_length_of(advice, advice->to_K);
    if (length == NULL || length->K == 0 || isnan(length->speedup.value)) {
        spec_say(ret, length != NULL && length->best ? ": by estimate it is the fastest."
                                                     : ": it may be the fastest.");
        return;
    }
    if (isnan(length->speedup.low))
        spec_say(ret,
                 ": its speed-up, %s, has no interval, which needs more than one window or "
                 "request.",
                 SPEC_SAY_RATIO(length->speedup));
    else if (to == NULL)
        spec_say(ret, ": by estimate its speed-up is %s.", SPEC_SAY_RATIO(length->speedup));
    else if (length == to)
        spec_say(ret, ": its speed-up, %s, is too uncertain to decide.",
                 SPEC_SAY_RATIO(length->speedup));
    else
        spec_say(ret, ": %sits speed-up is %s, and that of %s %s.",
                 length->speedup.value < to->speedup.value ? "it may be faster; by estimate "
                                                           : "by estimate ",
                 SPEC_SAY_RATIO(length->speedup), name_of(to->K).text, SPEC_SAY_RATIO(to->speedup));
}

/* Adds which length to run until more is known, and what it may lose. */
static void add_for_now(spec_sentences ret, const spec_advice *advice)
{
    if (isnan(advice->loss) || advice->n == 0) return;
    const int low = advice->length[0].K, high = advice->length[advice->n - 1].K;
    if (advice->to_K == advice->K)
        spec_say(ret, "Keep K = %d for now: it", advice->K);
    else if (advice->to_K == 0)
        spec_say(ret, "Turn speculation off for now: plain decoding");
    else
        spec_say(ret, "Take K = %d for now: it", advice->to_K);
    if (advice->to_K != advice->K)
        spec_say(ret, " has %s times the tokens/s of K = %d, and", SPEC_SAY_RATIO(advice->gain),
                 advice->K);
    spec_say(ret, " is at most %.0f %% slower than the fastest of K = %d to %d. ",
             ceil(100.0 * advice->loss), low, high);
}

/* Adds a bound that needs no run of plain decoding: a round takes at least as long as a plain
 * token. */
static void add_ceiling(spec_sentences ret, const spec_advice *advice)
{
    const spec_advice_length *now = spec_advice_length_of(advice, advice->K);
    if (now == NULL || !(now->tokens.value >= 1.0)) return;
    const double most = isfinite(now->tokens.high) ? now->tokens.high : now->tokens.value;
    spec_say(ret,
             "K = %d has at most %.2f times the tokens/s of plain decoding: a round "
             "emits %s tokens and takes at least as long as a plain token. ",
             advice->K, most, SPEC_SAY_RATIO(now->tokens));
}

/* Adds what the interval of a gain does not cover: a length that was not run may behave differently
 * on an unusual engine. A single window or request gives a number, but no interval. */
static void add_caution(spec_sentences ret, const spec_advice *advice)
{
    const spec_advice_length *to = spec_advice_length_of(advice, advice->to_K);
    if (to != NULL && to->K > 0 && to->source != SPEC_ADVICE_MEASURED && !isnan(advice->gain.low))
        spec_say(ret,
                 " K = %d was not run, so this takes the times of its rounds from likely "
                 "engines.",
                 advice->to_K);
    if (isnan(advice->gain.low))
        spec_say(ret, " It has no interval, which needs more than one window or request; a longer "
                      "run would confirm it.");
}

/* Adds the run that decides, and why. */
static void add_measurement(spec_sentences ret, const spec_diagnosis_facts *facts)
{
    const spec_advice *advice = facts->advice;
    const int K = advice->decides_K;
    const spec_advice_length *length = spec_advice_length_of(advice, K);
    if (K == 0 && isnan(advice->plain_seconds)) {
        add_ceiling(ret, advice);
        spec_say(ret,
                 "Measure plain decoding in %s: without its speed, these numbers do "
                 "not say which length is the fastest.",
                 spec_engine_of(facts->read)->title);
        return;
    }
    if (K == 0 && at_other_batches(advice)) {
        spec_say(ret,
                 "Measure plain decoding with as many running requests as K = %d has: it had %.1f "
                 "at a time, against %.1f.",
                 advice->K, advice->plain_running, advice->running);
        return;
    }
    if (!timed(advice)) {
        spec_say(ret,
                 "Measure the time of a round of K = %d, and give it as "
                 "--round-over-plain: these files do not have it.",
                 advice->K);
        return;
    }
    add_for_now(ret, advice);
    if (K == 0)
        spec_say(ret, "Measure plain decoding for longer");
    else
        spec_say(ret, "Run K = %d %s", K,
                 length != NULL && length->rounds > 0.0 ? "for longer" : "once");
    add_reason(ret, advice, length);
}

/* Adds on which assumption plain decoding is compared. Runs with different batches but the same
 * tokens/s are compared by the time per token of a request. */
static void add_load(spec_sentences ret, const spec_advice *advice)
{
    const bool plain = advice->over_plain && !advice->plain_given && advice->plain_seconds > 0.0;
    if (advice->equal_rate)
        spec_say(ret,
                 " This compares speeds per request at equal request rates: plain decoding "
                 "had %.1f requests at a time against %.1f, with the same total tokens/s.",
                 advice->plain_running, advice->running);
    else if (plain && isnan(advice->plain_running) != isnan(advice->running))
        spec_say(ret,
                 " This takes plain decoding to have had as many requests at a time as K = %d, "
                 "because only one of their files says how many.",
                 advice->K);
}

/* If only lengths with drafts are compared, says so. */
static void add_uncompared_plain(spec_sentences ret, const spec_advice *advice)
{
    if (advice->decides_K == 0 || advice->over_plain || !timed(advice)) return;
    spec_say(ret, " Plain decoding is not compared: %s.",
             isnan(advice->plain_seconds)
                 ? "its speed is not known"
                 : "its run may have had another number of running requests");
}

static void add_verdict(spec_sentences ret, const spec_diagnosis_facts *facts)
{
    const spec_advice *advice = facts->advice;
    const spec_advice_length *now = spec_advice_length_of(advice, advice->K);
    switch (advice->verdict) {
    case SPEC_ADVICE_KEEP:
        spec_say(ret, "Keep K = %d", advice->K);
        if (now != NULL && advice->K > 0 && !isnan(now->speedup.low))
            spec_say(ret, ": %s times the tokens/s of plain decoding, and",
                     SPEC_SAY_RATIO(now->speedup));
        else
            spec_say(ret, ":");
        spec_say(ret, advice->n == 1 && now != NULL ? " no other length is considered."
                                                    : " no other length is over 2 %% faster.");
        break;
    case SPEC_ADVICE_CHANGE:
        spec_say(ret, "Change K from %d to %d: %s times the tokens/s of now.", advice->K,
                 advice->to_K, SPEC_SAY_RATIO(advice->gain));
        add_caution(ret, advice);
        break;
    case SPEC_ADVICE_OFF:
        spec_say(ret, "Turn speculation off: plain decoding has %s times the tokens/s of K = %d.",
                 SPEC_SAY_RATIO(advice->gain), advice->K);
        add_caution(ret, advice);
        break;
    case SPEC_ADVICE_MEASURE: add_measurement(ret, facts); break;
    case SPEC_ADVICE_NOTHING:
        if (lacks_K(facts) && facts->n_K_given > 0)
            spec_say(
                ret,
                "The draft length of these rounds is not known: it changed between two counts of "
                "the engine, or --current contradicts the files.");
        else if (lacks_K(facts))
            spec_say(ret, "Give the draft length with --current K: these files do not have it, and "
                          "the advice depends on it.");
        else
            spec_say(
                ret,
                "These files contain no round of speculation, so there is nothing to advise. Give "
                "a log with drafts, and this one as --plain FILE.");
        break;
    }
}

/* Compares before and after, using everything that both have. If they differ, a separate diagnosis
 * says so. */
static void add_comparison(spec_sentences ret, const spec_advice *advice)
{
    const spec_permutation *change = &advice->change;
    if (!advice->compared) return;
    if (isnan(change->before) || isnan(change->after))
        spec_say(ret, "No comparison: the files before and after have no draft length in common. ");
    else if (change->p >= 0.01)
        spec_say(ret,
                 "No change of acceptance was found: %.1f %% before, %.1f %% after (p "
                 "= %.2g). ",
                 100.0 * change->before, 100.0 * change->after, change->p);
    else
        spec_say(ret, "Acceptance was %.1f %% before and is %.1f %% after. ",
                 100.0 * change->before, 100.0 * change->after);
}

/* Adds the lengths by batch. If these differ, one length for all batches is an average that fits
 * none of them. */
static void add_batches(spec_sentences ret, const spec_advice *advice)
{
    bool decided = false;
    for (int i = 0; i < advice->n_batches; i++) decided |= advice->batch[i].decided;
    if (advice->n_batches < 2 || !decided) return;
    spec_say(ret, "The length depends on the batch: ");
    for (int i = 0; i < advice->n_batches; i++) {
        const spec_advice_batch *batch = &advice->batch[i];
        spec_say(ret, "%s%s for %d", i > 0 ? ", " : "", name_of(batch->K).text, batch->from);
        if (batch->to > 0)
            spec_say(ret, " to %d requests", batch->to);
        else
            spec_say(ret, " or more");
        if (!batch->decided)
            spec_say(ret, " (by estimate)");
        else if (batch->K > 0 && isfinite(batch->speedup.value))
            spec_say(ret, " (%s times plain decoding)", SPEC_SAY_RATIO(batch->speedup));
    }
    spec_say(ret, ". With one length for all: ");
}

static void write_answer(spec_sentences ret, const spec_diagnosis_facts *facts)
{
    const spec_advice *advice = facts->advice;
    const spec_diagnosis *wrong = first_wrong(facts);
    ret[0] = '\0';
    if (wrong != NULL)
        spec_say(ret, "Something is wrong: %s (%s, below). ", wrong->summary, wrong->name);
    add_comparison(ret, advice);
    if (wrong != NULL) {
        if (advice->verdict == SPEC_ADVICE_MEASURE || advice->verdict == SPEC_ADVICE_NOTHING)
            return;
        spec_say(ret, "Taking the numbers as they are: ");
    }
    add_batches(ret, advice);
    add_verdict(ret, facts);
    add_load(ret, advice);
    add_uncompared_plain(ret, advice);
}

void spec_advice_report_answer(spec_sentences ret, const spec_diagnosis_facts *facts)
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
