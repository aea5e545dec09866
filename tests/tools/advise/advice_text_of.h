/* SPDX-License-Identifier: GPL-3.0-or-later */
/* advice_text_of: writes the text of an advice and checks its words, for the tests of the report.
 * Headers only. */
#ifndef SPECLAB_TESTS_ADVICE_TEXT_OF_H
#define SPECLAB_TESTS_ADVICE_TEXT_OF_H

#include "tests/support/support.h"
#include "tests/tools/advise/advice_facts.h"

/* llama.cpp with an MTP head, K = 3, 51 rounds; a round takes 2.163 plain tokens. */
static const double mtp3[3] = {46, 37, 25};

/* If this is inlined, gcc 12 takes the text for a pointer to its own local variable, and warns. */
static __attribute__((noinline, unused)) char *text_of(const advice_facts *f, int columns)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    assert_works(spec_advice_report_write(out, &f->facts, columns, &error));
    fclose(out);
    return text;
}

static inline void assert_says(const advice_facts *f, const char *words)
{
    FREED char *text = text_of(f, 0);
    if (strstr(text, words) == NULL) fail_msg("no '%s' in:\n%s", words, text);
}

static inline void assert_silent(const advice_facts *f, const char *words)
{
    FREED char *text = text_of(f, 0);
    if (strstr(text, words) != NULL) fail_msg("'%s' in:\n%s", words, text);
}

static inline void assert_answers(const advice_facts *f, const char *sentence)
{
    spec_sentences answer;
    FREED char *text = text_of(f, 0);
    spec_advice_report_answer(answer, &f->facts);
    assert_string_equal(answer, sentence);
    assert_int_equal(strncmp(text, answer, strlen(answer)), 0); /* first */
}

static inline void known_times(advice_facts *f)
{
    spec_advice_length *now = &f->advice.length[3];
    f->advice.plain_seconds = 0.018;
    f->advice.over_plain = true;
    f->advice.break_even = 0.388;
    now->round_over_plain = (spec_block_interval){2.163, NAN, 2.163, 2.163};
    now->speedup.value = 1.441;
    now->speedup.low = 1.402;
    now->speedup.high = 1.481;
    now->best = true;
    f->advice.length[2].round_over_plain = (spec_block_interval){1.9, NAN, 1.775, 2.163};
    f->advice.length[2].speedup.value = 1.35;
    f->advice.length[2].speedup.low = 1.216;
    f->advice.length[2].speedup.high = 1.480;
    f->advice.length[0].speedup.value = f->advice.length[0].speedup.low =
        f->advice.length[0].speedup.high = 1.0;
}

#endif
