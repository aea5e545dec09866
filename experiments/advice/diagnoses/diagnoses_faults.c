/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers that a correct engine does not print. */
#include "experiments/advice/advice_text.h"
#include "experiments/advice/diagnosis.h"

#include <math.h>
#include <stdio.h>

/* With fewer tested tokens, it may be luck that none or all were accepted: by the rule of three,
 * 300 tokens leave 1 %. */
#define ENOUGH 300.0

/* If no more than this share of draft tokens is accepted, there are at most 1.08 tokens per round
 * up to K = 16. */
#define BLIND_AT_ANY_LENGTH 0.005

static bool broken_identity(spec_diagnosis_text ret_evidence, spec_diagnosis_text ret_next,
                            const spec_diagnosis_facts *facts)
{
    const spec_observed_sums *evidence = facts->evidence;
    if (evidence->contradictions == 0) return false;
    snprintf(ret_evidence, SPEC_DIAGNOSIS_TEXT,
             "%llu of %llu observations contradict themselves; the first one, in line %llu: %s.",
             (unsigned long long)evidence->contradictions,
             (unsigned long long)(evidence->observations + evidence->idle),
             (unsigned long long)evidence->contradiction_line, evidence->contradiction);
    snprintf(ret_next, SPEC_DIAGNOSIS_TEXT,
             "Tokens are dropped or counted twice. Report these lines to the engine's developers; "
             "the counts here are as printed.");
    return true;
}

const spec_diagnosis spec_diagnosis_broken_identity = {
    "broken-identity", "counts break an identity: tokens are dropped or counted twice", true,
    broken_identity};

static bool blind_draft(spec_diagnosis_text ret_evidence, spec_diagnosis_text ret_next,
                        const spec_diagnosis_facts *facts)
{
    const spec_diagnosis_counts counts = spec_diagnosis_counts_of(facts, -1);
    const bool counted = counts.rounds > 0.0; /* else K is not known */
    if (counts.drafted < ENOUGH ||
        counts.accepted >= (counted ? 0.01 : BLIND_AT_ANY_LENGTH) * counts.drafted ||
        (counted && counts.accepted > 0.02 * counts.rounds))
        return false;
    snprintf(ret_evidence, SPEC_DIAGNOSIS_TEXT, "%.0f of %.0f draft tokens were accepted (%.2f %%)",
             counts.accepted, counts.drafted, 100.0 * counts.accepted / counts.drafted);
    if (counted)
        spec_advice_text_add(ret_evidence, SPEC_DIAGNOSIS_TEXT, ", %.2f tokens per round",
                             1.0 + counts.accepted / counts.rounds);
    spec_advice_text_add(ret_evidence, SPEC_DIAGNOSIS_TEXT,
                         ": the draft guesses as if it did not see the text.");
    snprintf(ret_next, SPEC_DIAGNOSIS_TEXT,
             "Turn speculation off. Check that the draft belongs to this target, that their "
             "vocabularies agree, and which row of hidden states a head reads. Outside the engine: "
             "speclab bench --target gguf:TARGET --draft gguf:DRAFT");
    return true;
}

const spec_diagnosis spec_diagnosis_blind_draft = {
    "blind-draft", "acceptance near 0: the draft does not get the right input", true, blind_draft};

static bool all_accepted(spec_diagnosis_text ret_evidence, spec_diagnosis_text ret_next,
                         const spec_diagnosis_facts *facts)
{
    const spec_diagnosis_counts counts = spec_diagnosis_counts_of(facts, -1);
    spec_diagnosis_text validate;
    if (counts.drafted < ENOUGH || counts.accepted < counts.drafted) return false;
    snprintf(ret_evidence, SPEC_DIAGNOSIS_TEXT,
             "All %.0f draft tokens were accepted: the rejection rate is below %.2g %% at 95 %% "
             "confidence. A verifier that accepts every token, or synthetic acceptance, prints "
             "this; a text that repeats itself may.",
             counts.drafted, 300.0 / counts.drafted);
    snprintf(ret_next, SPEC_DIAGNOSIS_TEXT, "If synthetic acceptance is off, test the sampler: %s",
             spec_diagnosis_validate(validate, facts));
    return true;
}

const spec_diagnosis spec_diagnosis_all_accepted = {
    "all-accepted", "no draft token is rejected: the verifier may not verify", true, all_accepted};

/* Writes the commands to run after acceptance has changed. */
static void validate_next(spec_diagnosis_text ret_next, const spec_diagnosis_facts *facts)
{
    spec_diagnosis_text validate;
    snprintf(ret_next, SPEC_DIAGNOSIS_TEXT,
             "With the same models and texts a lossless sampler has the same acceptance, so more "
             "is as suspicious as less. Test it: %s",
             spec_diagnosis_validate(validate, facts));
}

static bool changed(spec_diagnosis_text ret_evidence, spec_diagnosis_text ret_next,
                    const spec_diagnosis_facts *facts)
{
    const spec_permutation *change = &facts->advice->change;
    if (!facts->advice->compared || !(change->p < 0.01)) return false;
    snprintf(ret_evidence, SPEC_DIAGNOSIS_TEXT,
             "Acceptance was %.1f %% before the change and is %.1f %% after it (p = %.2g, by "
             "permutation of whole windows or requests).",
             100.0 * change->before, 100.0 * change->after, change->p);
    validate_next(ret_next, facts);
    return true;
}

const spec_diagnosis spec_diagnosis_changed = {
    "changed", "acceptance differs between --before and --after", true, changed};

static bool drift(spec_diagnosis_text ret_evidence, spec_diagnosis_text ret_next,
                  const spec_diagnosis_facts *facts)
{
    const spec_acceptance_drift *found = &facts->advice->drift;
    if (!(found->p < 0.01)) return false;
    snprintf(
        ret_evidence, SPEC_DIAGNOSIS_TEXT,
        "Acceptance changed within the log: %.1f %% in the first %llu windows or requests at K "
        "= %d, %.1f %% after them (p = %.2g, valid whenever the log is read).",
        100.0 * found->before, (unsigned long long)found->from, facts->advice->K,
        100.0 * found->after, found->p);
    validate_next(ret_next, facts);
    spec_advice_text_add(ret_next, SPEC_DIAGNOSIS_TEXT, "%s",
                         ". If the texts changed, use a separate log for each load.");
    return true;
}

const spec_diagnosis spec_diagnosis_drift = {
    "drift", "acceptance changes within a log: other texts, or another sampler", false, drift};
