/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evidence of more than one engine, run or length. */
#include "experiments/advice/advice_text.h"
#include "experiments/advice/diagnosis.h"

#include <stdio.h>

static bool restarts(spec_diagnosis_text ret_evidence, spec_diagnosis_text ret_next,
                     const spec_diagnosis_facts *facts)
{
    if (facts->counters == NULL || facts->counters->resets == 0) return false;
    const unsigned long long n = facts->counters->resets;
    snprintf(ret_evidence, SPEC_DIAGNOSIS_TEXT,
             "Counters fell %llu time%s: an engine restarted and counts from 0. Scrapes out of "
             "order look the same, and then rounds are counted twice.",
             n, n == 1 ? "" : "s");
    snprintf(ret_next, SPEC_DIAGNOSIS_TEXT,
             "Give scrapes from the oldest to the newest. If the settings changed at the restart, "
             "run advise separately on the files of each run.");
    return true;
}

const spec_diagnosis spec_diagnosis_restarts = {"restarts", "a counter falls: an engine restarted",
                                                false, restarts};

/* Finds a file that also has records of another engine or kind. */
static bool has_other_format(spec_diagnosis_text ret_evidence, spec_diagnosis_text ret_next,
                             const spec_diagnosis_facts *facts)
{
    for (int i = 0; i < facts->n_sources; i++) {
        const spec_log_summary *read = &facts->source[i].summary;
        if (read->other == NULL) continue;
        snprintf(
            ret_evidence, SPEC_DIAGNOSIS_TEXT,
            "%.150s has records of %s and of %s. The numbers here leave out those of %s (%llu, "
            "from line %llu on).",
            facts->source[i].path, read->format->name, read->other->name, read->other->name,
            (unsigned long long)read->other_records, (unsigned long long)read->other_line);
        snprintf(ret_next, SPEC_DIAGNOSIS_TEXT,
                 "Put each engine in its own file, or choose one with --engine %s.",
                 read->other->name);
        return true;
    }
    return false;
}

static bool many_sources(spec_diagnosis_text ret_evidence, spec_diagnosis_text ret_next,
                         const spec_diagnosis_facts *facts)
{
    if (has_other_format(ret_evidence, ret_next, facts)) return true;
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
    snprintf(
        ret_evidence, SPEC_DIAGNOSIS_TEXT,
        "%llu engines, processes, models or ways to draft are in these files; the numbers here "
        "are of all of them together.",
        (unsigned long long)n);
    snprintf(ret_next, SPEC_DIAGNOSIS_TEXT,
             "If they have different models or loads, put each in its own file.");
    return true;
}

const spec_diagnosis spec_diagnosis_many_sources = {
    "many-sources", "several engines, processes, models or ways to draft are in the files", false,
    many_sources};

static bool mixed_lengths(spec_diagnosis_text ret_evidence, spec_diagnosis_text ret_next,
                          const spec_diagnosis_facts *facts)
{
    char list[SPEC_DIAGNOSIS_TEXT / 2] = "";
    int n = 0;
    for (int K = 1; K < SPEC_ADVICE_K; K++) {
        bool ran = false;
        for (size_t s = 0; s < facts->evidence->n; s++)
            if (facts->evidence->series[s].K == K) ran = true;
        if (!ran) continue;
        spec_advice_text_add(list, sizeof list, "%s%d", n > 0 ? ", " : "", K);
        n++;
    }
    if (n < 2) return false;
    snprintf(ret_evidence, SPEC_DIAGNOSIS_TEXT,
             "Draft lengths K = %s are in these files. Each has its own row; acceptance by depth "
             "is of all of them.",
             list);
    snprintf(ret_next, SPEC_DIAGNOSIS_TEXT,
             "The comparison is fair only if all had the same load; otherwise run advise on each "
             "separately.");
    return true;
}

const spec_diagnosis spec_diagnosis_mixed_lengths = {
    "mixed-lengths", "several draft lengths are in the files", false, mixed_lengths};
