/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers that are right, but easily taken for something else. */
#include "experiments/advice/advice_text.h"
#include "experiments/advice/diagnosis.h"

#include <math.h>
#include <stdio.h>

/* Returns the smallest K that reaches this share of the tokens per round at the current length, or
 * -1. */
static int shorter(const spec_diagnosis_facts *facts, double share)
{
    const spec_advice_length *now = spec_diagnosis_length(facts, facts->advice->K);
    if (now == NULL) return -1;
    for (int i = 0; i < facts->advice->n; i++) {
        const spec_advice_length *length = &facts->advice->length[i];
        if (length->K > 0 && length->K < now->K &&
            length->tokens.value >= share * now->tokens.value)
            return length->K;
    }
    return -1;
}

static bool accepted_over_drafted(spec_diagnosis_text ret_evidence, spec_diagnosis_text ret_next,
                                  const spec_diagnosis_facts *facts)
{
    const spec_advice *advice = facts->advice;
    const spec_advice_length *now = spec_diagnosis_length(facts, advice->K);
    spec_advice_text printed, alpha;
    /* Both numbers come from the same runs: at the current length, if it is known. */
    const bool known = now != NULL && now->drafted > 0.0 && !isnan(now->alpha.value);
    const spec_cluster_ratio *tested = known ? &now->alpha : &advice->alpha;
    const double ratio = known ? now->accepted / now->drafted : advice->accepted_over_drafted;
    if (!(tested->value - ratio > 0.05)) return false;
    snprintf(ret_evidence, SPEC_DIAGNOSIS_TEXT,
             "Accepted over drafted tokens, %s, is not the acceptance rate, because drafts after a "
             "rejection are not tested. Of the tested tokens %s were accepted%s.",
             spec_advice_text_share(printed, ratio, NAN, NAN), spec_advice_text_of(alpha, tested),
             spec_diagnosis_counts_of(facts, known ? advice->K : -1).depths == 0
                 ? ", if it is the same at all depths"
                 : "");
    const int K = shorter(facts, 0.95);
    if (K > 0)
        snprintf(ret_next, SPEC_DIAGNOSIS_TEXT,
                 "Compare engines and drafts by the second number. K = %d keeps %.0f %% of the "
                 "tokens per round with %.0f %% of the drafts.",
                 K,
                 100.0 * spec_diagnosis_length(facts, K)->tokens.value /
                     spec_diagnosis_length(facts, advice->K)->tokens.value,
                 100.0 * K / advice->K);
    else
        snprintf(ret_next, SPEC_DIAGNOSIS_TEXT, "Compare engines and drafts by the second number.");
    return true;
}

const spec_diagnosis spec_diagnosis_accepted_over_drafted = {
    "accepted-over-drafted",
    "accepted over drafted tokens is lower than the acceptance rate, the more so the longer K is",
    false, accepted_over_drafted};

/* Finds out what the printed shares by depth mean. If they sum to the length minus 1, they are
 * shares of all rounds; if their products do, they are conditional. */
static bool per_position(spec_diagnosis_text ret_evidence, spec_diagnosis_text ret_next,
                         const spec_diagnosis_facts *facts)
{
    const spec_diagnosis_counts counts = spec_diagnosis_counts_of(facts, facts->advice->K);
    const int last = counts.depths - 1;
    if (last < 1 || counts.tested[0] <= 0.0 || counts.tested[last] <= 0.0) return false;
    const double m = counts.passed[last] / counts.tested[0];
    const double conditional = counts.passed[last] / counts.tested[last];
    if (!(conditional - m > 0.1)) return false;
    double sum = 0.0, products = 0.0, product = 1.0;
    for (int j = 0; j <= last; j++) {
        sum += counts.passed[j] / counts.tested[0];
        product *= counts.passed[j] / counts.tested[0];
        products += product;
    }
    const double length = counts.rounds > 0.0 ? counts.accepted / counts.rounds : sum;
    const bool as_products =
        fabs(products - length) < 0.02 * length && fabs(sum - length) > 0.02 * length;
    if (as_products)
        snprintf(ret_evidence, SPEC_DIAGNOSIS_TEXT,
                 "The rates by depth are shares of the rounds that reach a depth: the sum of their "
                 "products, %.2f, is the mean length less 1 (%.2f), and their own sum, %.2f, is "
                 "not.",
                 products, length, sum);
    else
        snprintf(
            ret_evidence, SPEC_DIAGNOSIS_TEXT,
            "Rates by depth are shares of all rounds: their sum, %.2f, is the mean length less 1. "
            "Depth %d: %.3f of all rounds, %s%.3f of those that reach it.",
            sum, last + 1, m, counts.short_of[last] > 0.0 ? "at least " : "", conditional);
    snprintf(ret_next, SPEC_DIAGNOSIS_TEXT, "%s",
             as_products ? "Report this output to speclab's developers: it reads such rates as "
                           "shares of all rounds."
                         : "Judge a depth by the second number (conditional in -f csv).");
    return true;
}

const spec_diagnosis spec_diagnosis_per_position = {
    "per-position", "rates by depth are shares of all rounds, not of those that reach the depth",
    false, per_position};

/* Until November 2025 the rate included the bonus token, and was divided by num_draft_tokens. */
static bool sglang_rate(spec_diagnosis_text ret_evidence, spec_diagnosis_text ret_next,
                        const spec_diagnosis_facts *facts)
{
    const double rate = facts->evidence->printed_rate, length = facts->evidence->printed_length;
    if (!spec_diagnosis_engine(facts, "sglang") || !(rate >= 0.0) || !(length >= 1.0)) return false;
    const bool old = (facts->read->learned.gaps & SPEC_LOG_OLD_MEANING) != 0;
    const bool tree = (facts->read->learned.gaps & SPEC_LOG_TREE) != 0;
    if (old)
        snprintf(ret_evidence, SPEC_DIAGNOSIS_TEXT,
                 "The accept rate of this SGLang, %.2f, is accept len %.2f, bonus token included, "
                 "over num_draft_tokens. A length of 1.00, where nothing is accepted, prints a "
                 "rate above 0.",
                 rate, length);
    else
        snprintf(ret_evidence, SPEC_DIAGNOSIS_TEXT,
                 "The accept rate of this SGLang, %.2f, is accepted draft tokens over rounds times "
                 "%s: (accept len %.2f - 1) over %s. Until November 2025 the bonus token "
                 "counted, too.",
                 rate, tree ? "the nodes of a tree" : "num_steps", length,
                 tree ? "num_draft_tokens - 1" : "K");
    snprintf(ret_next, SPEC_DIAGNOSIS_TEXT,
             "Compare servers from before and after that date only by accept len.");
    return true;
}

const spec_diagnosis spec_diagnosis_sglang_rate = {
    "sglang-rate", "SGLang's accept rate has two meanings, before and after November 2025", false,
    sglang_rate};

static bool vllm_v0(spec_diagnosis_text ret_evidence, spec_diagnosis_text ret_next,
                    const spec_diagnosis_facts *facts)
{
    if (!spec_diagnosis_engine(facts, "vllm") ||
        (facts->read->learned.gaps & SPEC_LOG_OLD_MEANING) == 0)
        return false;
    const double printed = facts->evidence->printed_rate;
    snprintf(ret_evidence, SPEC_DIAGNOSIS_TEXT,
             "vLLM V0 also counts tokens that would be accepted after a rejection, so its accepted "
             "tokens are not those of the output.");
    if (printed > 0.0 && isfinite(facts->advice->alpha.value))
        spec_advice_text_add(
            ret_evidence, SPEC_DIAGNOSIS_TEXT,
            " It prints %.3f; from the emitted tokens the acceptance rate is %.3f.", printed,
            facts->advice->alpha.value);
    snprintf(ret_next, SPEC_DIAGNOSIS_TEXT, "Use emitted tokens, as this advice does, or vLLM V1.");
    return true;
}

const spec_diagnosis spec_diagnosis_vllm_v0 = {
    "vllm-v0", "vLLM V0 counts accepted tokens after a rejection", false, vllm_v0};
