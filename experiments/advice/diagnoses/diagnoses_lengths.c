/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drafts that are longer, shorter or more expensive than they should be. */
#include "experiments/advice/advice_text.h"
#include "experiments/advice/diagnosis.h"

#include <math.h>
#include <stdio.h>

static bool short_drafts(spec_diagnosis_text ret_evidence, spec_diagnosis_text ret_next,
                         const spec_diagnosis_facts *facts)
{
    const spec_advice_length *now = spec_diagnosis_length(facts, facts->advice->K);
    if (now == NULL || now->K < 2 || !(now->rounds >= 20.0)) return false;
    const double drafted = now->drafted / now->rounds;
    if (!(drafted < 0.9 * now->K)) return false;
    snprintf(ret_evidence, SPEC_DIAGNOSIS_TEXT,
             "K = %d, but a round drafts %.2f tokens on average, so a longer K has no effect where "
             "the draft ends by itself.",
             now->K, drafted);
    if (spec_diagnosis_engine(facts, "llama.cpp"))
        snprintf(ret_next, SPEC_DIAGNOSIS_TEXT,
                 "--spec-draft-p-min (--draft-p-min in older builds) ends drafts; run once with 0, "
                 "and give that log to advise.");
    else
        snprintf(ret_next, SPEC_DIAGNOSIS_TEXT,
                 "Find what ends drafts early: a confidence threshold, a lookup without a match, a "
                 "grammar, adaptive lengths. Run once without it, and give that log to advise.");
    return true;
}

const spec_diagnosis spec_diagnosis_short_drafts = {
    "short-drafts", "drafts end before K, so K has little effect", false, short_drafts};

/* Finds a depth that is never accepted, although at the rate of the depths before it some of its
 * tokens would be. */
static bool trained_depth(spec_diagnosis_text ret_evidence, spec_diagnosis_text ret_next,
                          const spec_diagnosis_facts *facts)
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
    /* Even at half the previous rate, one of these tokens would be accepted, except with
     * probability .001. */
    const double none = floor(counts.tested[j] - counts.short_of[j]);
    if (!(none * log1p(-0.5 * passed / tested) < log(0.001))) return false;
    snprintf(
        ret_evidence, SPEC_DIAGNOSIS_TEXT,
        "Depth %d accepts %.0f of %.0f tokens, and depth %d none of %s%.0f: the draft was trained "
        "for %d token%s, or its state is lost there.",
        j, counts.passed[j - 1], counts.tested[j - 1], j + 1,
        none < counts.tested[j] ? "at least " : "", none, j, j == 1 ? "" : "s");
    snprintf(ret_next, SPEC_DIAGNOSIS_TEXT,
             "Set K = %d: longer drafts cost time and give no "
             "tokens.",
             j);
    return true;
}

const spec_diagnosis spec_diagnosis_trained_depth = {
    "trained-depth",
    "no token is accepted beyond some depth, up to which the draft was "
    "trained",
    false, trained_depth};

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

static bool lookup(spec_diagnosis_text ret_evidence, spec_diagnosis_text ret_next,
                   const spec_diagnosis_facts *facts)
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
    snprintf(ret_evidence, SPEC_DIAGNOSIS_TEXT,
             "Depth 1 accepts %.1f %%, and deeper tokens %.1f %% of those tested: most drafts are "
             "wrong from the start, and the others nearly right to the end, as with lookup.",
             100.0 * first, 100.0 * rest);
    snprintf(ret_next, SPEC_DIAGNOSIS_TEXT,
             "Speculate only on a good match: require a longer match (in vLLM prompt_lookup_min, "
             "in llama.cpp --draft-min), and a larger K.");
    return true;
}

const spec_diagnosis spec_diagnosis_lookup = {
    "lookup", "drafts are wrong from the start or right to the end, as with lookup", false, lookup};

static bool slow_rounds(spec_diagnosis_text ret_evidence, spec_diagnosis_text ret_next,
                        const spec_diagnosis_facts *facts)
{
    const spec_advice *advice = facts->advice;
    const spec_advice_length *now = spec_diagnosis_length(facts, advice->K);
    spec_advice_text time, tokens;
    if (now == NULL || now->K < 1 || !(now->speedup_high < 1.0) || !(advice->alpha.value > 0.4))
        return false;
    snprintf(
        ret_evidence, SPEC_DIAGNOSIS_TEXT,
        "Acceptance is fine (%.0f %%), but a round takes the time of %s plain tokens and emits "
        "%s: at this batch the target has no idle arithmetic for draft tokens, or the draft "
        "is slow.",
        100.0 * advice->alpha.value,
        spec_advice_text_ratio(time, now->round_over_plain.value, now->round_over_plain.low,
                               now->round_over_plain.high),
        spec_advice_text_ratio(tokens, now->tokens.value, now->tokens.low, now->tokens.high));
    snprintf(ret_next, SPEC_DIAGNOSIS_TEXT,
             "Turn it off above a batch size. The break-even batch of your card: speclab serve "
             "--alpha %.2f --K 0,%d --slots 1,4,16,64,256 --cost roofline:card=H100,parameters=8B",
             advice->alpha.value, now->K);
    return true;
}

const spec_diagnosis spec_diagnosis_slow_rounds = {
    "slow-rounds", "acceptance is fine, and a round takes longer than its tokens are worth", false,
    slow_rounds};
