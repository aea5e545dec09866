/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "speclab/speclab.h"
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <string.h>

static speclab *lab;

static int set_up(void **state)
{
    const int code = spec_program_set_up(state);
    spec_file_write("text.txt", "the cat sat on the mat and the dog sat on the log. a cat and a "
                                "dog sat by the door, and the mat was on the log by the door.\n");
    return code != 0 ? code : speclab_open(&lab, NULL, NULL, 0);
}

static int tear_down(void **state)
{
    speclab_close(lab);
    return spec_program_tear_down(state);
}

static const speclab_pair pair = {.size = sizeof pair,
                                  .K = 3,
                                  .target = "ngram:text.txt?order=4&tokens=bytes",
                                  .draft = "ngram:text.txt?order=2&tokens=bytes"};

static speclab_text *open_text(const speclab_text_options *options)
{
    char error[512];
    speclab_text *text;
    if (speclab_text_open(&text, lab, &pair, options, error, sizeof error) != SPECLAB_OK)
        fail_msg("%s", error);
    return text;
}

static speclab_text_part next(speclab_text *text)
{
    char error[512];
    speclab_text_part part = {.size = sizeof part};
    if (speclab_text_round(&part, text, error, sizeof error) != SPECLAB_OK) fail_msg("%s", error);
    return part;
}

/* The bytes of a whole text; returns its tokens. */
static int64_t whole(char *bytes, speclab_text *text)
{
    int64_t n = 0, used = 0;
    speclab_text_part part;
    do {
        part = next(text);
        n += part.n;
        if (part.n == 0) continue;
        memcpy(bytes + used, part.bytes, (size_t)part.end[part.n - 1]);
        used += part.end[part.n - 1];
    } while (part.ending == SPECLAB_TEXT_GOES_ON);
    assert_int_equal(part.ending, SPECLAB_TEXT_MOST);
    bytes[used] = '\0';
    part = next(text);
    assert_int_equal(part.n, 0);
    assert_int_equal(part.n_drafted, 0);
    assert_int_equal(part.ending, SPECLAB_TEXT_MOST);
    return n;
}

TEST(the_text_is_that_of_the_program)
{
    spec_needs_program();
    char bytes[512];
    OWNED(spec_child) child;
    const speclab_text_options o = {.size = sizeof o, .seed = 7, .most = 90, .prompt = "the"};
    speclab_text *text = open_text(&o);
    assert_int_equal(whole(bytes, text), 90);
    spec_child_run(&child, "generate --target ngram:text.txt?order=4&tokens=bytes --draft "
                           "ngram:text.txt?order=2&tokens=bytes -K 3 --seed 7 -n 90 -p the");
    assert_memory_equal(child.text, bytes, 90);
    speclab_text_close(text);
    const speclab_text_options letter = {.size = sizeof letter, .most = 90, .prompt = "t"};
    text = open_text(&letter);
    assert_int_equal(whole(bytes, text), 90);
    speclab_text_close(text);
}

TEST(rounds_say_where_tokens_come_from)
{
    const speclab_text_options o = {.size = sizeof o, .seed = 3, .most = 200};
    speclab_text *text = open_text(&o);
    int seen[4] = {0};
    for (;;) {
        const speclab_text_part part = next(text);
        for (int i = 0; i < part.n; i++) {
            seen[part.origin[i]]++;
            assert_int_equal((unsigned char)part.bytes[i], part.token[i]);
            assert_int_equal(part.end[i], i + 1);
        }
        if (part.ending != SPECLAB_TEXT_GOES_ON) break;
        const int32_t last = part.origin[part.n - 1];
        assert_int_equal(part.n_drafted, 3);
        for (int i = 0; i + 1 < part.n; i++) assert_int_equal(part.origin[i], SPECLAB_FROM_DRAFT);
        assert_int_equal(last, part.n == 4 ? SPECLAB_FROM_BONUS : SPECLAB_FROM_CORRECTION);
    }
    assert_true(seen[SPECLAB_FROM_DRAFT] > 20 && seen[SPECLAB_FROM_CORRECTION] > 10 &&
                seen[SPECLAB_FROM_BONUS] > 1 && seen[SPECLAB_FROM_TARGET] == 0);
    speclab_text_close(text);
}

TEST(a_prompt_of_tokens_is_that_of_its_text)
{
    char by_text[512], by_token[512], other[512];
    const int32_t token[] = {'a', ' ', 'd'};
    speclab_text_options o = {.size = sizeof o, .seed = 5, .most = 60, .prompt = "a d"};
    speclab_text *text = open_text(&o);
    whole(by_text, text);
    speclab_text_close(text);
    o.number = 1;
    text = open_text(&o);
    whole(other, text);
    speclab_text_close(text);
    o = (speclab_text_options){
        .size = sizeof o, .seed = 5, .most = 60, .token = token, .n_token = 3};
    text = open_text(&o);
    whole(by_token, text);
    speclab_text_close(text);
    assert_string_equal(by_token, by_text);
    assert_true(strcmp(other, by_text) != 0);
}

TEST(a_stopped_text_goes_on_later)
{
    char error[512], bytes[512], unstopped[512];
    volatile int stop = 0;
    const speclab_text_options o = {.size = sizeof o, .seed = 9, .most = 50, .opt_stop = &stop};
    speclab_text *text = open_text(&o);
    whole(unstopped, text);
    speclab_text_close(text);
    text = open_text(&o);
    speclab_text_part part = {.size = sizeof part};
    stop = 1;
    assert_int_equal(speclab_text_round(&part, text, error, sizeof error), SPECLAB_STOPPED);
    assert_string_equal(error, "interrupted");
    assert_int_equal(part.n, 0);
    stop = 0;
    whole(bytes, text);
    assert_string_equal(bytes, unstopped);
    speclab_text_close(text);
}

static void refused(const speclab_pair *p, const speclab_text_options *o, const char *line)
{
    char error[512];
    speclab_text *text = (speclab_text *)&error;
    assert_int_equal(speclab_text_open(&text, lab, p, o, error, sizeof error), SPECLAB_INPUT);
    assert_null(text);
    if (strstr(error, line) == NULL) fail_msg("'%s' does not contain '%s'", error, line);
}

TEST(wrong_inputs_are_refused)
{
    const int32_t token[] = {-1};
    speclab_text_options o = {.size = sizeof o, .token = token, .n_token = 1};
    speclab_pair p = pair;
    refused(&pair, &o, "token 1 of the prompt is -1");
    o.prompt = "a";
    refused(&pair, &o, "prompt and token are both given");
    o = (speclab_text_options){.size = sizeof o, .n_token = 2};
    refused(&pair, &o, "n_token must be at least 0, and 0 if token is NULL, got 2");
    o.n_token = -2;
    refused(&pair, &o, "n_token must be at least 0, and 0 if token is NULL, got -2");
    o = (speclab_text_options){.size = 3};
    refused(&pair, &o, "the size of speclab_text_options is 3");
    refused(NULL, NULL, "pair is NULL");
    p.target = "zipf?V=30";
    p.draft = "zipf?V=30";
    o = (speclab_text_options){.size = sizeof o, .prompt = "a"};
    refused(&p, &o, "the target has no tokenizer");
    speclab_text_part part = {.size = sizeof part, .n = 7};
    assert_int_equal(speclab_text_round(&part, NULL, NULL, 0), SPECLAB_INPUT);
    assert_int_equal(part.n, 0);
    part.size--;
    speclab_text *text = open_text(NULL);
    assert_int_equal(speclab_text_round(&part, text, NULL, 0), SPECLAB_INPUT);
    assert_int_equal(speclab_text_round(NULL, text, NULL, 0), SPECLAB_INPUT);
    speclab_text_close(text);
    speclab_text_close(NULL);
}

TEST(a_model_without_texts_gives_tokens_alone)
{
    speclab_pair p = pair;
    speclab_text *text;
    p.target = p.draft = "zipf?V=30";
    assert_int_equal(speclab_text_open(&text, lab, &p, NULL, NULL, 0), SPECLAB_OK);
    const speclab_text_part part = next(text);
    assert_int_equal(part.n, 4); /* equal models: nothing is rejected */
    assert_int_equal(part.end[3], 0);
    assert_string_equal(part.bytes, "");
    speclab_text_close(text);
}

SUITE(.setup = set_up, .teardown = tear_down);
