/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/diagnosis.h"

#include "tools/advise/engine_settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_series(spec_diagnosis_counts *counts, const spec_observed_series *series)
{
    const int K = series->K > series->depths ? series->K : series->depths;
    double rounds = 0.0, drafted = 0.0;
    for (size_t c = 0; c < series->n; c++) {
        const double *column = series->column + c * SPEC_SUM_COLUMNS;
        rounds += column[SPEC_SUM_DEPTH_ROUNDS];
        drafted += column[SPEC_SUM_DRAFTED];
        counts->rounds += column[SPEC_SUM_ROUNDS];
        counts->drafted += column[SPEC_SUM_DRAFTED];
        counts->accepted += column[SPEC_SUM_ACCEPTED];
        for (int j = 0; j < series->depths && j < SPEC_OBSERVED_DEPTHS; j++) {
            counts->tested[j] += column[j == 0 ? SPEC_SUM_DEPTH_ROUNDS : SPEC_SUM_PASSED + j - 1];
            counts->passed[j] += column[SPEC_SUM_PASSED + j];
        }
    }
    /* A draft that ends before depth j + 1 lacks at least K - j tokens. */
    for (int j = 0; j < series->depths && j < SPEC_OBSERVED_DEPTHS; j++)
        counts->short_of[j] += fmax(K * rounds - drafted, 0.0) / (K - j);
    if (series->depths > counts->depths) counts->depths = series->depths;
}

spec_diagnosis_counts spec_diagnosis_counts_of(const spec_diagnosis_facts *facts, int K)
{
    spec_diagnosis_counts counts = {0};
    for (size_t s = 0; s < facts->evidence->n; s++) {
        const spec_observed_series *series = &facts->evidence->series[s];
        if (series->K != 0 && (K < 0 || series->K == K)) add_series(&counts, series);
    }
    return counts;
}

static bool is_engine(const spec_diagnosis_facts *facts, const char *engine)
{
    return facts->read != NULL && facts->read->format != NULL &&
           strcmp(facts->read->format->engine, engine) == 0;
}

/* Says which command tests the engine's sampler. */
static void say_validate(spec_sentences text, const spec_diagnosis_facts *facts)
{
    const char *validate = spec_engine_of(facts->read)->validate;
    if (validate != NULL)
        spec_say(text, "%s (docs/conformance.md#adapters)", validate);
    else
        spec_say(text, "speclab validate, with an adapter of your own (docs/conformance.md)");
}

/* ---- Numbers that a correct engine does not print -------------------------------------------- */

/* With fewer tested tokens, it may be luck that none or all were accepted: by the rule of three,
 * 300 tokens leave 1 %. */
#define ENOUGH 300.0

/* If no more than this share of draft tokens is accepted, there are at most 1.08 tokens per round
 * up to K = 16. */
#define BLIND_AT_ANY_LENGTH 0.005

static bool broken_identity(spec_diagnosis_said *said, const spec_diagnosis_facts *facts)
{
    const spec_observed_sums *evidence = facts->evidence;
    if (evidence->contradictions == 0) return false;
    spec_say(said->evidence,
             "%llu of %llu observations contradict themselves; the first one, in line %llu: %s.",
             (unsigned long long)evidence->contradictions,
             (unsigned long long)(evidence->observations + evidence->idle),
             (unsigned long long)evidence->contradiction_line, evidence->contradiction);
    spec_say(said->next,
             "Tokens are dropped or counted twice. Report these lines to the engine's developers; "
             "the counts here are as printed.");
    return true;
}

static bool blind_draft(spec_diagnosis_said *said, const spec_diagnosis_facts *facts)
{
    const spec_diagnosis_counts counts = spec_diagnosis_counts_of(facts, -1);
    const bool counted = counts.rounds > 0.0; /* if not, K is not known */
    if (counts.drafted < ENOUGH ||
        counts.accepted >= (counted ? 0.01 : BLIND_AT_ANY_LENGTH) * counts.drafted ||
        (counted && counts.accepted > 0.02 * counts.rounds))
        return false;
    spec_say(said->evidence, "%.0f of %.0f draft tokens were accepted (%.2f %%)", counts.accepted,
             counts.drafted, 100.0 * counts.accepted / counts.drafted);
    if (counted)
        spec_say(said->evidence, ", %.2f tokens per round", 1.0 + counts.accepted / counts.rounds);
    spec_say(said->evidence, ": the draft guesses as if it did not see the text.");
    spec_say(said->next,
             "Turn speculation off. Check that the draft belongs to this target, that their "
             "vocabularies agree, and which row of hidden states a head reads. Outside the engine: "
             "speclab bench --target gguf:TARGET --draft gguf:DRAFT");
    return true;
}

static bool all_accepted(spec_diagnosis_said *said, const spec_diagnosis_facts *facts)
{
    const spec_diagnosis_counts counts = spec_diagnosis_counts_of(facts, -1);
    if (counts.drafted < ENOUGH || counts.accepted < counts.drafted) return false;
    spec_say(said->evidence,
             "All %.0f draft tokens were accepted: the rejection rate is below %.2g %% at 95 %% "
             "confidence. A verifier that accepts every token, or synthetic acceptance, prints "
             "this; a text that repeats itself may.",
             counts.drafted, 300.0 / counts.drafted);
    spec_say(said->next, "If synthetic acceptance is off, test the sampler: ");
    say_validate(said->next, facts);
    return true;
}

/* Writes the commands to run after acceptance has changed. */
static void validate_next(spec_sentences next, const spec_diagnosis_facts *facts)
{
    spec_say(next,
             "With the same models and texts a lossless sampler has the same acceptance, so more "
             "is as suspicious as less. Test it: ");
    say_validate(next, facts);
}

static bool changed(spec_diagnosis_said *said, const spec_diagnosis_facts *facts)
{
    const spec_permutation *change = &facts->advice->change;
    if (!facts->advice->compared || !(change->p < 0.01)) return false;
    spec_say(said->evidence,
             "Acceptance was %.1f %% before the change and is %.1f %% after it (p = %.2g, by "
             "permutation of whole windows or requests).",
             100.0 * change->before, 100.0 * change->after, change->p);
    validate_next(said->next, facts);
    return true;
}

static bool drift(spec_diagnosis_said *said, const spec_diagnosis_facts *facts)
{
    const spec_acceptance_drift *found = &facts->advice->drift;
    if (!(found->p < 0.01)) return false;
    spec_say(
        said->evidence,
        "Acceptance changed within the log: %.1f %% in the first %llu windows or requests at K "
        "= %d, %.1f %% after them (p = %.2g, valid whenever the log is read).",
        100.0 * found->before, (unsigned long long)found->from, facts->advice->K,
        100.0 * found->after, found->p);
    validate_next(said->next, facts);
    spec_say(said->next, ". If the texts changed, use a separate log for each load.");
    return true;
}

/* ---- Drafts that are longer, shorter or more expensive than they should be ------------------- */

static bool short_drafts(spec_diagnosis_said *said, const spec_diagnosis_facts *facts)
{
    const spec_advice_length *now = spec_advice_length_of(facts->advice, facts->advice->K);
    if (now == NULL || now->K < 2 || !(now->rounds >= 20.0)) return false;
    const double drafted = now->drafted / now->rounds;
    if (!(drafted < 0.9 * now->K)) return false;
    spec_say(said->evidence,
             "K = %d, but a round drafts %.2f tokens on average, so a longer K has no effect where "
             "the draft ends by itself.",
             now->K, drafted);
    if (is_engine(facts, "llama.cpp"))
        spec_say(said->next,
                 "--spec-draft-p-min (--draft-p-min in older builds) ends drafts; run once with 0, "
                 "and give that log to advise.");
    else
        spec_say(said->next,
                 "Find what ends drafts early: a confidence threshold, a lookup without a match, a "
                 "grammar, adaptive lengths. Run once without it, and give that log to advise.");
    return true;
}

/* Finds a depth that is never accepted, although some of its tokens would be if they were accepted
 * as often as those of the depths before it. */
static bool trained_depth(spec_diagnosis_said *said, const spec_diagnosis_facts *facts)
{
    const spec_diagnosis_counts counts = spec_diagnosis_counts_of(facts, -1);
    double passed = 0.0, tested = 0.0;
    int j = 0;
    while (j < counts.depths && counts.passed[j] > 0.0) {
        passed += counts.passed[j];
        tested += counts.tested[j];
        j++;
    }
    if (j == 0 || j == counts.depths) return false;
    /* Even at half their rate, one of these tokens would be accepted, except with
     * probability .001. */
    const double none = floor(counts.tested[j] - counts.short_of[j]);
    if (!(none * log1p(-0.5 * passed / tested) < log(0.001))) return false;
    spec_say(
        said->evidence,
        "Depth %d accepts %.0f of %.0f tokens, and depth %d none of %s%.0f: the draft was trained "
        "for %d token%s, or its state is lost there.",
        j, counts.passed[j - 1], counts.tested[j - 1], j + 1,
        none < counts.tested[j] ? "at least " : "", none, j, j == 1 ? "" : "s");
    spec_say(said->next, "Set K = %d: longer drafts cost time and give no tokens.", j);
    return true;
}

/* If a draft is right once, it is right nearly to the end in at least this share of cases. */
static const double TO_THE_END = 0.75;

/* Clusters differ if their rates at depth 1 vary this many times as much as by chance. */
static const double DIFFER = 4.0;

/* Returns whether clusters differ in their rate at depth 1, which happens with several kinds of
 * prompts. */
static bool prompts_differ(const spec_diagnosis_facts *facts, double rate)
{
    double chi2 = 0.0, n = 0.0;
    for (size_t s = 0; s < facts->evidence->n; s++) {
        const spec_observed_series *series = &facts->evidence->series[s];
        for (size_t c = 0; c < series->n && series->K != 0 && series->depths > 0; c++) {
            const double *column = series->column + c * SPEC_SUM_COLUMNS;
            const double rounds = column[SPEC_SUM_DEPTH_ROUNDS];
            const double over = column[SPEC_SUM_PASSED] - rounds * rate;
            if (!(rounds > 0.0)) continue;
            chi2 += over * over / (rounds * rate * (1.0 - rate));
            n++;
        }
    }
    return n > 1.0 && chi2 > DIFFER * (n - 1.0);
}

static bool lookup(spec_diagnosis_said *said, const spec_diagnosis_facts *facts)
{
    const spec_diagnosis_counts counts = spec_diagnosis_counts_of(facts, -1);
    double passed = 0.0, tested = 0.0;
    for (int j = 1; j < counts.depths; j++) {
        passed += counts.passed[j];
        tested += counts.tested[j];
    }
    if (!(counts.tested[0] > 0.0) || !(tested > 0.0)) return false;
    const double first = counts.passed[0] / counts.tested[0], rest = passed / tested;
    /* The first rate is less than half of the rest, by more than 3 standard errors (of independent
     * tests). */
    const double se = sqrt(first * (1.0 - first) / counts.tested[0] + rest * (1.0 - rest) / tested);
    if (!(first < 0.5 * rest) || !(rest - first > 3.0 * se)) return false;
    if (rest < TO_THE_END || prompts_differ(facts, first)) return false;
    spec_say(said->evidence,
             "Depth 1 accepts %.1f %%, and deeper tokens %.1f %% of those tested: most drafts are "
             "wrong from the start, and the others nearly right to the end, as with lookup.",
             100.0 * first, 100.0 * rest);
    spec_say(said->next,
             "Speculate only on a good match: require a longer match (in vLLM prompt_lookup_min, "
             "in llama.cpp --spec-ngram-mod-n-match or the -size-n of its other n-gram types), and "
             "a larger K.");
    return true;
}

static bool slow_rounds(spec_diagnosis_said *said, const spec_diagnosis_facts *facts)
{
    const spec_advice *advice = facts->advice;
    const spec_advice_length *now = spec_advice_length_of(advice, advice->K);
    if (now == NULL || now->K < 1 || !(now->speedup.high < 1.0) || !(advice->alpha.value > 0.4))
        return false;
    spec_say(
        said->evidence,
        "Acceptance is fine (%.0f %%), but a round takes the time of %s plain tokens and emits "
        "%s: at this batch the target has no idle arithmetic for draft tokens, or the draft "
        "is slow.",
        100.0 * advice->alpha.value, SPEC_SAY_RATIO(now->round_over_plain),
        SPEC_SAY_RATIO(now->tokens));
    spec_say(said->next,
             "Turn it off above a batch size. The break-even batch of your card: speclab serve "
             "--alpha %.2f --K 0,%d --slots 1,4,16,64,256 --cost roofline:card=H100,parameters=8B",
             advice->alpha.value, now->K);
    return true;
}

/* A round verifies at least what a plain pass computes, so it cannot be shorter. */
static bool impossible_rounds(spec_diagnosis_said *said, const spec_diagnosis_facts *facts)
{
    const spec_advice *advice = facts->advice;
    const spec_advice_length *now = spec_advice_length_of(advice, advice->K);
    if (now == NULL || now->K < 1 || !(now->round_over_plain.high < 1.0)) return false;
    spec_say(said->evidence,
             "A round of K = %d takes the time of %s plain tokens. It cannot take less than one, "
             "so the two were not measured in the same conditions, and the speed-ups are too high.",
             now->K, SPEC_SAY_RATIO(now->round_over_plain));
    spec_say(said->next,
             "Measure plain decoding again on the same machine, with the same model, requests at a "
             "time and context lengths.");
    return true;
}

/* ---- Numbers that are right, but easily taken for something else ----------------------------- */

/* Returns the smallest K that reaches this share of the tokens per round at the current length, or
 * -1. */
static int shorter(const spec_diagnosis_facts *facts, double share)
{
    const spec_advice_length *now = spec_advice_length_of(facts->advice, facts->advice->K);
    if (now == NULL) return -1;
    for (int i = 0; i < facts->advice->n; i++) {
        const spec_advice_length *length = &facts->advice->length[i];
        if (length->K > 0 && length->K < now->K &&
            length->tokens.value >= share * now->tokens.value)
            return length->K;
    }
    return -1;
}

static bool accepted_over_drafted(spec_diagnosis_said *said, const spec_diagnosis_facts *facts)
{
    const spec_advice *advice = facts->advice;
    const spec_advice_length *now = spec_advice_length_of(advice, advice->K);
    /* Both numbers come from the same runs: at the current length, if it is known. */
    const bool known = now != NULL && now->drafted > 0.0 && !isnan(now->alpha.value);
    const spec_cluster_ratio *tested = known ? &now->alpha : &advice->alpha;
    const double ratio = known ? now->accepted / now->drafted : advice->accepted_over_drafted;
    if (!(tested->value - ratio > 0.05)) return false;
    spec_say(said->evidence,
             "Accepted over drafted tokens, %s, is not the acceptance rate, because drafts after a "
             "rejection are not tested. Of the tested tokens %s were accepted%s.",
             spec_say_share(ratio, NAN, NAN).text, spec_say_share_of(tested).text,
             spec_diagnosis_counts_of(facts, known ? advice->K : -1).depths == 0
                 ? ", if it is the same at all depths"
                 : "");
    const int K = shorter(facts, 0.95);
    if (K > 0)
        spec_say(said->next,
                 "Compare engines and drafts by the second number. K = %d keeps %.0f %% of the "
                 "tokens per round with %.0f %% of the drafts.",
                 K,
                 100.0 * spec_advice_length_of(advice, K)->tokens.value /
                     spec_advice_length_of(advice, advice->K)->tokens.value,
                 100.0 * K / advice->K);
    else
        spec_say(said->next, "Compare engines and drafts by the second number.");
    return true;
}

static bool per_position(spec_diagnosis_said *said, const spec_diagnosis_facts *facts)
{
    const spec_diagnosis_counts counts = spec_diagnosis_counts_of(facts, facts->advice->K);
    const int last = counts.depths - 1;
    if (last < 1 || counts.tested[0] <= 0.0 || counts.tested[last] <= 0.0) return false;
    const double m = counts.passed[last] / counts.tested[0];
    const double conditional = counts.passed[last] / counts.tested[last];
    double sum = 0.0;
    if (!(conditional - m > 0.1)) return false;
    for (int j = 0; j <= last; j++) sum += counts.passed[j] / counts.tested[0];
    spec_say(said->evidence,
             "Rates by depth are shares of all rounds: their sum, %.2f, is the mean length less 1. "
             "Depth %d: %.3f of all rounds, %s%.3f of those that reach it.",
             sum, last + 1, m, counts.short_of[last] > 0.0 ? "at least " : "", conditional);
    spec_say(said->next, "Judge a depth by the second number (conditional in -f csv).");
    return true;
}

/* Until November 2025 the rate included the bonus token, and was divided by num_draft_tokens. */
static bool sglang_rate(spec_diagnosis_said *said, const spec_diagnosis_facts *facts)
{
    const double rate = facts->evidence->printed_rate, length = facts->evidence->printed_length;
    if (!is_engine(facts, "sglang") || !(rate >= 0.0) || !(length >= 1.0)) return false;
    const bool old = (facts->read->learned.gaps & SPEC_LOG_OLD_MEANING) != 0;
    const bool tree = (facts->read->learned.gaps & SPEC_LOG_TREE) != 0;
    if (old)
        spec_say(said->evidence,
                 "The accept rate of this SGLang, %.2f, is accept len %.2f, bonus token included, "
                 "over num_draft_tokens. A length of 1.00, where nothing is accepted, prints a "
                 "rate above 0.",
                 rate, length);
    else
        spec_say(said->evidence,
                 "The accept rate of this SGLang, %.2f, is accepted draft tokens over rounds times "
                 "%s: (accept len %.2f - 1) over %s. Until November 2025 the bonus token "
                 "counted, too.",
                 rate, tree ? "the nodes of a tree" : "num_steps", length,
                 tree ? "num_draft_tokens - 1" : "K");
    spec_say(said->next, "Compare servers from before and after that date only by accept len.");
    return true;
}

static bool vllm_v0(spec_diagnosis_said *said, const spec_diagnosis_facts *facts)
{
    if (!is_engine(facts, "vllm") || (facts->read->learned.gaps & SPEC_LOG_OLD_MEANING) == 0)
        return false;
    const double printed = facts->evidence->printed_rate;
    spec_say(said->evidence,
             "vLLM V0 also counts tokens that would be accepted after a rejection, so its accepted "
             "tokens are not those of the output.");
    if (printed > 0.0 && isfinite(facts->advice->alpha.value))
        spec_say(said->evidence,
                 " It prints %.3f; from the emitted tokens the acceptance rate is %.3f.", printed,
                 facts->advice->alpha.value);
    spec_say(said->next, "Use emitted tokens, as this advice does, or vLLM V1.");
    return true;
}

/* ---- Evidence of more than one engine, run or length ----------------------------------------- */

static bool restarts(spec_diagnosis_said *said, const spec_diagnosis_facts *facts)
{
    if (facts->counters == NULL || facts->counters->resets == 0) return false;
    const unsigned long long n = facts->counters->resets;
    spec_say(said->evidence,
             "Counters fell %llu time%s: an engine restarted and counts from 0. Scrapes out of "
             "order look the same, and then rounds are counted twice.",
             n, n == 1 ? "" : "s");
    spec_say(said->next,
             "Give scrapes from the oldest to the newest. If the settings changed at the restart, "
             "run advise separately on the files of each run.");
    return true;
}

/* Finds a file that also has records of another engine or kind. */
static bool has_other_format(spec_diagnosis_said *said, const spec_diagnosis_facts *facts)
{
    for (int i = 0; i < facts->n_sources; i++) {
        const spec_log_summary *read = &facts->source[i].summary;
        if (read->other == NULL) continue;
        spec_say(
            said->evidence,
            "%.150s has records of %s and of %s. The numbers here leave out those of %s (%llu, "
            "from line %llu on).",
            facts->source[i].path, read->format->name, read->other->name, read->other->name,
            (unsigned long long)read->other_records, (unsigned long long)read->other_line);
        spec_say(said->next, "Put each engine in its own file, or choose one with --engine %s.",
                 read->other->name);
        return true;
    }
    return false;
}

static bool many_sources(spec_diagnosis_said *said, const spec_diagnosis_facts *facts)
{
    if (has_other_format(said, facts)) return true;
    uint64_t label[SPEC_SUM_SERIES];
    size_t n = 0;
    for (size_t s = 0; s < facts->evidence->n && n < SPEC_SUM_SERIES; s++) {
        size_t i = 0;
        const uint64_t of = facts->evidence->series[s].label;
        if (facts->evidence->series[s].K == 0 || of == 0) continue;
        while (i < n && label[i] != of) i++;
        if (i == n) label[n++] = of;
    }
    if (n < 2) return false;
    spec_say(
        said->evidence,
        "%llu engines, processes, models or ways to draft are in these files; the numbers here "
        "are of all of them together.",
        (unsigned long long)n);
    spec_say(said->next, "If they have different models or loads, put each in its own file.");
    return true;
}

static bool mixed_lengths(spec_diagnosis_said *said, const spec_diagnosis_facts *facts)
{
    int n = 0;
    for (int K = 1; K < SPEC_ADVICE_K; K++) {
        bool ran = false;
        for (size_t s = 0; s < facts->evidence->n; s++)
            if (facts->evidence->series[s].K == K) ran = true;
        if (!ran) continue;
        spec_say(said->evidence, "%s%d", n++ > 0 ? ", " : "Draft lengths K = ", K);
    }
    if (n < 2) return false;
    spec_say(said->evidence,
             " are in these files. Each has its own row; acceptance by depth is of all of them.");
    spec_say(said->next,
             "The comparison is fair only if all had the same load; otherwise run advise on each "
             "separately.");
    return true;
}

/* ---- The table ------------------------------------------------------------------------------- */

const spec_diagnosis spec_diagnoses[] = {
    {"broken-identity", "counts break an identity: tokens are dropped or counted twice", true,
     broken_identity},
    {"blind-draft", "acceptance near 0: the draft does not get the right input", true, blind_draft},
    {"all-accepted", "no draft token is rejected: the verifier may not verify", true, all_accepted},
    {"changed", "acceptance differs between --before and --after", true, changed},
    {"drift", "acceptance changes within a log: other texts, or another sampler", false, drift},
    {"slow-rounds", "acceptance is fine, but a round takes longer than its tokens are worth", false,
     slow_rounds},
    {"impossible-rounds", "a round takes less time than a plain token", false, impossible_rounds},
    {"short-drafts", "drafts end before K, so K has little effect", false, short_drafts},
    {"trained-depth",
     "no token is accepted beyond some depth: the draft may be trained only up "
     "to there",
     false, trained_depth},
    {"lookup", "drafts are wrong from the start or right to the end, as with lookup", false,
     lookup},
    {"accepted-over-drafted",
     "accepted / drafted tokens is lower than the acceptance rate, and falls further below it as K "
     "grows",
     false, accepted_over_drafted},
    {"per-position", "rates by depth are shares of all rounds, not of those that reach the depth",
     false, per_position},
    {"sglang-rate", "SGLang's accept rate has two meanings, before and after November 2025", false,
     sglang_rate},
    {"vllm-v0", "vLLM V0 counts accepted tokens after a rejection", false, vllm_v0},
    {"restarts", "a counter falls: an engine restarted", false, restarts},
    {"many-sources", "several engines, processes, models or ways to draft are in the files", false,
     many_sources},
    {"mixed-lengths", "several draft lengths are in the files", false, mixed_lengths},
    {0},
};

bool spec_diagnosis_applies(spec_diagnosis_said *ret, const spec_diagnosis *diagnosis,
                            const spec_diagnosis_facts *facts)
{
    ret->evidence[0] = ret->next[0] = '\0';
    return diagnosis->applies(ret, facts);
}
