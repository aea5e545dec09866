/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab generate as its users run it. SPECLAB names the program. */
#include "base/cpu.h"
#include "base/utf8.h"
#include "tests/cli/generate_json.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Tokens are letters. min_p excludes the unknown character, which has three bytes. */
#define SMALL "ngram:text.txt?order=1&tokens=chars&min_p=0.03"
#define PAIR                                                                                       \
    "generate --target ngram:text.txt?order=5&tokens=chars&min_p=0.03 --draft "                    \
    "ngram:text.txt?order=2&tokens=chars&min_p=0.03 --prompt the "

static json_t *text_in(const json_t *root, size_t i)
{
    return json_array_get(json_object_get(root, "texts"), i);
}

/* ---- the text -------------------------------------------------------------------------------- */

TEST(a_pipe_gets_exactly_the_text)
{
    spec_needs_program();
    char *text = spec_program_text(PAIR "-n 47");
    assert_int_equal(strlen(text), 47);
    json_t *root = json_of(PAIR "-n 47 --format json");
    assert_string_equal(json_string_value(json_object_get(text_in(root, 0), "text")), text);
    json_decref(root);
    spec_program_works(PAIR "-n 47 -o out.txt");
    char *file = spec_file_bytes("out.txt");
    assert_string_equal(file, text);
    free(file);
    free(text);
    spec_program_works(PAIR "-n 7 -o out.json");
    file = spec_file_bytes("out.json");
    assert_true(file[0] == '{');
    free(file);
}

TEST(at_temperature_0_speculation_changes_nothing)
{
    spec_needs_program();
    static const char *const ways[] = {"",
                                       "--rule greedy",
                                       "--drafting greedy --K 9",
                                       "--drafting lookup",
                                       "--rule block --policy heuristic",
                                       "--K 0",
                                       "--rule traversal --drafting tree?n=2 --K 3",
                                       "--inner-draft " SMALL,
                                       "--inner-draft " SMALL
                                       " --drafting cascade?K=2&rounds=3&rule=block --K 7",
                                       "--baseline --seed 7 --threads 2"};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        char arguments[320];
        snprintf(arguments, sizeof arguments, PAIR "-n 200 --temperature 0 %s", ways[i]);
        spec_programs_agree(arguments, PAIR "-n 200 --temperature 0 --plain");
    }
}

/* The alphas of these models are .8 and .7 (tests/experiments/measures/test_measure_cascade.c). By
 * the recursion a round emits 3.436 tokens, with a standard deviation of 1.836. */
TEST(a_cascade_has_the_tokens_and_the_passes_of_the_recursion)
{
    spec_needs_program();
    json_t *root = json_of(
        "generate --target probs:0.42,0.18,0.28,0.12 --draft probs:0.3,0.3,0.2,0.2 --inner-draft "
        "probs:0.45,0.45,0.05,0.05 --drafting cascade?K=2&rounds=2 -n 4000 --format json");
    const double rounds = json_number_value(json_object_get(root, "rounds")),
                 emitted = json_number_value(json_object_get(root, "tokens_per_round"));
    assert_int_equal(number(root, "K"), 6);
    assert_within(emitted, 3.436099686, 5 * 1.836 / sqrt(rounds));
    assert_true(json_number_value(json_object_get(root, "draft_passes")) == 2 * rounds);
    assert_true(json_number_value(json_object_get(root, "inner_passes")) == 4 * rounds);
    assert_string_equal(json_string_value(json_object_get(root, "inner_draft")),
                        "probs:0.45,0.45,0.05,0.05");
    json_decref(root);
    spec_child c;
    spec_child_run(&c, PAIR "--inner-draft " SMALL " -n 20");
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(c.assumed, "--drafting cascade"));
    assert_non_null(strstr(c.line, "; passes: target "));
    spec_child_free(&c);
}

TEST(shared_noise_has_one_text_with_and_without_speculation)
{
    spec_needs_program();
    for (int i = 0; i < 2; i++) {
        char with[256], without[256], other[256];
        const char *name = i == 0 ? "gumbel" : "minhash";
        snprintf(with, sizeof with, PAIR "-n 200 --rule %s?seed=7 --drafting %s?seed=7", name,
                 name);
        snprintf(without, sizeof without, PAIR "-n 200 --rule %s?seed=7 --plain --seed 9", name);
        snprintf(other, sizeof other, PAIR "-n 200 --rule %s?seed=8 --plain", name);
        spec_programs_agree(with, without);
        char *a = spec_program_text(without), *b = spec_program_text(other);
        assert_string_not_equal(a, b);
        free(a);
        free(b);
    }
}

TEST(a_seed_gives_one_text_for_any_number_of_threads)
{
    spec_needs_program();
    spec_programs_agree(PAIR "-n 200 --threads 1 --seed 3", PAIR "-n 200 --threads 3 --seed 3");
    char *a = spec_program_text(PAIR "-n 200 --seed 3"),
         *b = spec_program_text(PAIR "-n 200 --seed 4");
    assert_string_not_equal(a, b);
    free(a);
    free(b);
}

/* A sampled text of a transformer of 8-bit weights, drafted by its first layer, in trees. */
TEST(a_seed_gives_one_text_for_any_instruction_set, SLOW)
{
    spec_needs_program();
    char *first = NULL;
    for (spec_isa isa = SPEC_ISA_PORTABLE; isa < SPEC_ISA_END; isa++) {
        char set[40];
        snprintf(set, sizeof set, "SPECLAB_ISA=%s", spec_cpu_isa_name(isa));
        const char *arguments =
            "generate --target random?dim=64&layers=2&heads=4&ffn=128&vocab=500&context=150 "
            "--draft layers?of=target&exit=1 --drafting tree?n=2&siblings=without --rule rrsw "
            "--K 3 --temperature 0.05 --top-p 0.9 -n 120";
        spec_child c;
        spec_child_start(&c, set, NULL, arguments);
        spec_child_listen(&c, NULL);
        assert_int_equal(c.code, 0);
        if (first == NULL) first = strdup(c.text);
        assert_string_equal(c.text, first);
        spec_child_free(&c);
    }
    assert_true(strlen(first) > 2 * 120);
    free(first);
}

TEST(several_texts_stand_apart_and_the_first_is_the_one)
{
    spec_needs_program();
    char *one = spec_program_text(PAIR "-n 30"), *three = spec_program_text(PAIR "-n 30 --texts 3");
    assert_int_equal(strlen(three), 3 * 30 + 2 * strlen("\n----\n"));
    assert_memory_equal(one, three, 30);
    assert_memory_equal(three + 30, "\n----\n", 6);
    assert_memory_not_equal(three, three + 36, 30);
    free(one);
    free(three);
}

TEST(a_model_without_words_has_numbers)
{
    spec_needs_program();
    char *text = spec_program_text("generate --target probs:0,0,1 --prompt 2 -n 4");
    assert_string_equal(text, "2 2 2 2");
    free(text);
}

TEST(sampling_options_reach_both_models)
{
    spec_needs_program();
    spec_programs_agree(
        "generate --target ngram:text.txt?order=5 --draft ngram:text.txt?order=2 --prompt the -n "
        "99 "
        "--temperature 0.7 --top-k 5 --top-p 0.9 --min-p 0.01",
        "generate --target ngram:text.txt?order=5&temperature=0.7&top_k=5&top_p=0.9&min_p=0.01 "
        "--draft "
        "ngram:text.txt?order=2&temperature=0.7&top_k=5&top_p=0.9&min_p=0.01 --prompt the -n 99");
    spec_programs_agree("generate --target zipf --top-k 1 --min-p 0.5 -n 3",
                        "generate --target probs:1,0 --top-p 0 -n 3");
    /* A perturbed draft is made from the target's rows after the temperature, so its alpha is as
     * requested. */
    json_t *root = json_of(
        "generate --target zipf?V=9 --draft perturb?of=target&alpha=0.6 --temperature 3 -n 4000 "
        "--format json");
    assert_float_equal(json_number_value(json_object_get(root, "alpha_tested")), 0.6, 0.06);
    json_decref(root);
}

/* Each rule and strategy on two transformers of five layers. */
TEST(real_models_say_the_same_with_and_without_speculation, SLOW)
{
    spec_needs_program();
    char folder[PATH_MAX], plain[3 * PATH_MAX], with[3 * PATH_MAX];
    spec_test_data(folder, sizeof folder, "babyllama");
    static const char *const ways[] = {
        "",
        "--rule block-greedy --policy heuristic",
        "--drafting greedy --rule greedy",
        "--drafting dynamic --rule match --K 6",
        "--drafting tree?widths=3.2.1&siblings=without --rule rrsw --K 3",
        "--drafting lookup --threads 1",
        "--K 60"};
    static const char *const prompts[] = {"", "--prompt Lily"};
    for (int p = 0; p < 2; p++) {
        snprintf(plain, sizeof plain, "generate --target %s/target.bin %s --temperature 0 --plain",
                 folder, prompts[p]);
        char *text = spec_program_text(plain);
        assert_true(strlen(text) > 200);
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
            snprintf(with, sizeof with,
                     "generate --target %s/target.bin --draft %s/draft.bin %s --temperature 0 %s",
                     folder, folder, prompts[p], ways[i]);
            char *other = spec_program_text(with);
            if (strcmp(text, other) != 0) fail_msg("%s: '%s', not '%s'", with, other, text);
            free(other);
        }
        free(text);
    }
}

/* ---- statistics ------------------------------------------------------------------------------ */

TEST(the_numbers_add_up)
{
    spec_needs_program();
    json_t *root = json_of(PAIR "-n 300 --texts 2 --K 3 --baseline --format json"), *token;
    long long seen[4] = {0}, drafts = 0, at_k = 0;
    static const char *const names[] = {"draft", "correction", "bonus", "target"};
    for (size_t t = 0; t < 2; t++) {
        json_t *text = text_in(root, t);
        size_t i;
        char together[3 * 300 + 1] = "";
        assert_string_equal(json_string_value(json_object_get(text, "ended")), "length");
        json_array_foreach(json_object_get(text, "tokens"), i, token) {
            for (int o = 0; o < 4; o++)
                seen[o] +=
                    strcmp(json_string_value(json_object_get(token, "origin")), names[o]) == 0;
            strcat(together, json_string_value(json_object_get(token, "text")));
        }
        assert_string_equal(together, json_string_value(json_object_get(text, "text")));
    }
    assert_int_equal(seen[0] + seen[1] + seen[2] + seen[3], 600);
    assert_int_equal(number(root, "tokens"), 600);
    assert_int_equal(number(root, "emitted"),
                     number(root, "rounds") + number(root, "total_n_accepted"));
    assert_int_equal(number(root, "drafted"), 3 * number(root, "rounds"));
    assert_int_equal(seen[3], 0);
    for (int k = 0; k <= 3; k++)
        drafts +=
            k * json_integer_value(json_array_get(json_object_get(root, "n_accepted"), (size_t)k));
    at_k = json_integer_value(json_array_get(json_object_get(root, "n_accepted"), 3));
    assert_int_equal(drafts, number(root, "total_n_accepted"));
    assert_true(seen[0] <= drafts &&
                seen[0] >= drafts - 2 * 3); /* each text is cut at its last round */
    assert_true(seen[2] <= at_k && seen[2] >= at_k - 2);
    assert_true(json_number_value(json_object_get(root, "plain_seconds")) > 0.0);
    assert_int_equal(number(root, "prompt_tokens"), 6);
    json_decref(root);
}

TEST(drafting_ahead_is_told)
{
    spec_needs_program();
    json_t *root = json_of(PAIR "-n 600 --K 2 --ahead --baseline --format json");
    const long long hits = number(root, "hits"), right = number(root, "guesses_right");
    assert_true(json_is_true(json_object_get(root, "ahead")));
    assert_string_equal(json_string_value(json_object_get(root, "verify")), "host");
    assert_true(hits > 10 &&
                (hits == right || hits == right - 1)); /* the last round's guess may be unused */
    assert_true(right <= number(root, "guesses_tested"));
    assert_int_equal(number(root, "guesses_tested"),
                     json_integer_value(json_array_get(json_object_get(root, "n_accepted"), 2)));
    json_decref(root);
    spec_programs_agree(PAIR "-n 60 --temperature 0 --ahead", PAIR "-n 60 --temperature 0 --plain");
}

TEST(the_closing_line_says_which_alpha)
{
    spec_needs_program();
    spec_child c;
    static const struct {
        const char *arguments, *says[4];
    } way[] = {
        {PAIR "-n 50 --plain", {"50 tokens at ", "tokens/s, plain decoding; prompt: 3 tokens in "}},
        {PAIR "-n 50 --K 2 --ahead",
         {"50 tokens at ", "; alpha_tested 0.", " of the rounds found "}},
        {PAIR "-n 50 --K 0", {"50 tokens at ", " 1.00 a round; no draft token was tested"}},
    };
    for (size_t i = 0; i < sizeof way / sizeof way[0]; i++) {
        spec_child_run(&c, way[i].arguments);
        spec_child_says(&c, way[i].arguments, 0, "50 tokens at ");
        for (int k = 0; k < 4 && way[i].says[k] != NULL; k++)
            if (strstr(c.line, way[i].says[k]) == NULL)
                fail_msg("'%s' lacks '%s'", c.line, way[i].says[k]);
        spec_child_free(&c);
    }
}

/* The speed-up may be withheld on a busy machine; then a second line says why. */
TEST(the_closing_line_compares_with_plain_decoding)
{
    spec_needs_program();
    spec_child c;
    spec_child_run(&c, PAIR "-n 400 --baseline");
    assert_int_equal(c.code, 0);
    const char *end = strchr(c.line, '\n');
    assert_non_null(end);
    assert_true(strncmp(c.line, "400 tokens at ", 14) == 0 &&
                strstr(c.line, "; alpha_tested ") != NULL);
    const char *reported = strstr(c.line, " times plain decoding, "),
               *withheld = strstr(c.line, "; speed-up withheld");
    assert_true((reported != NULL && reported < end) != (withheld != NULL && withheld < end));
    assert_non_null(strstr(c.line, " tokens/s on the same text)"));
    if (end[1] != '\0') {
        assert_int_equal(strncmp(end + 1, "speclab generate: warning: ", 27), 0);
        assert_null(strchr(strchr(end + 1, '\n') + 1, '\n'));
    } else {
        assert_null(withheld);
    }
    spec_child_free(&c);
}

TEST(an_interrupt_ends_the_text_and_closes_it)
{
    spec_needs_program();
    spec_child c;
    spec_child_start(&c, NULL, NULL, "generate --target probs:0,1 --prompt 1 -n 1000000000");
    spec_child_listen(&c, "1 1 1 1");
    kill(c.pid, SIGINT);
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "interrupted", 130, "");
    assert_non_null(strstr(c.line, "; interrupted\n"));
    spec_child_free(&c);
}

TEST(what_cannot_be_written_is_told)
{
    spec_needs_program();
    spec_child c;
    spec_child_start(&c, NULL, "/dev/full", PAIR "-n 1000000000");
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "/dev/full", 2,
                    "speclab generate: standard output: No space left on device");
    spec_child_free(&c);
    spec_child_start(&c, NULL, NULL, PAIR "-n 1000000000");
    spec_child_listen(&c, "t");
    close(c.out);
    c.out = -1;
    spec_child_listen(&c, NULL);
    assert_int_equal(c.code, SPEC_CHILD_KILLED + SIGPIPE);
    assert_string_equal(c.line, "");
    spec_child_free(&c);
}

/* ---- hostile vocabularies -------------------------------------------------------------------- */

/* Escapes, C1 controls, a change of direction, over-long forms, incomplete characters. */
static const char hostile[] =
    "\033[2J\033]0;owned\007 \xc2\x9b"
    "31m \xe2\x80\xae \xc0\xaf \xed\xa0\x80 \xf0\x9f\x98\x80\xf0\x9f \r\b\x7f "
    "caf\xc3\xa9 \xe4\xbd\xa0\n\t";

TEST(a_terminal_sees_no_control_character)
{
    spec_needs_program();
    char text[8 * sizeof hostile] = "";
    for (int i = 0; i < 8; i++) strcat(text, hostile);
    spec_file_write("hostile.txt", text);
    static const char *const sizes[] = {"bytes", "chars"};
    for (int i = 0; i < 2; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments,
                 "generate --target ngram:hostile.txt?order=2&tokens=%s -n 4000 --color always",
                 sizes[i]);
        spec_child c;
        spec_child_run(&c, arguments);
        assert_int_equal(c.code, 0);
        const unsigned char *at = (unsigned char *)c.text, *end = at + c.n;
        int escapes = 0, characters = 0;
        while (at < end) {
            uint32_t code;
            if (*at == '\033') { /* a complete colour sequence of speclab */
                const size_t n = strspn((const char *)at + 2, "0123456789;");
                assert_true(at[1] == '[' && at[2 + n] == 'm' && n <= 2);
                at += n + 3;
                continue;
            }
            const size_t n = spec_utf8_decode(&code, at, (size_t)(end - at));
            assert_true(code != SPEC_UTF8_INVALID &&
                        (code >= 0x20 || code == '\n' || code == '\t'));
            assert_true(code != 0x7f && !(code >= 0x80 && code < 0xa0) && code != 0x202e);
            escapes += strncmp((const char *)at, "\\x1b", 4) == 0;
            characters += code == 0x4f60 || code == 0x1f600;
            at += n;
        }
        assert_true(escapes > 20 && characters > 20);
        spec_child_free(&c);
    }
    char *bytes = spec_program_text("generate --target ngram:hostile.txt?order=2 -n 4000");
    assert_non_null(strstr(bytes, "\033[2J")); /* a pipe gets them unchanged */
    free(bytes);
    json_t *root = json_of(
        "generate --target ngram:hostile.txt?order=2 -n 2000 --format json"); /* valid UTF-8 */
    json_decref(root);
}

TEST(colours_are_asked_for_or_not_there)
{
    spec_needs_program();
    char *plain = spec_program_text(PAIR "-n 99"),
         *never = spec_program_text(PAIR "-n 99 --color never");
    assert_null(strchr(plain, '\033'));
    assert_string_equal(plain, never);
    spec_child c;
    spec_child_run(&c, PAIR "-n 99 --color always");
    assert_non_null(strstr(c.text, "\033[32m"));
    assert_non_null(strstr(c.text, "\033[31m"));
    assert_int_equal(c.text[c.n - 1], '\n');
    assert_int_equal(
        strncmp(c.line, "green: accepted draft tokens, red: corrections, cyan: bonus tokens;", 67),
        0);
    char *out = c.text; /* remove the colours */
    size_t n = 0;
    for (size_t i = 0; i < c.n; i++) {
        if (out[i] == '\033') i += strcspn(out + i, "m");
        else out[n++] = out[i];
    }
    assert_int_equal(n, 99 + 1);
    assert_memory_equal(out, plain, 99);
    spec_child_free(&c);
    free(plain);
    free(never);
}

TEST(a_long_prompt_is_read_whole)
{
    spec_needs_program();
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE + 1);
    for (int i = 0; i < SIZE; i++) text[i] = "ab\xff\n"[i % 4]; /* not UTF-8 */
    text[SIZE] = '\0';
    spec_file_write("long.txt", text);
    free(text);
    char *out = spec_program_text("generate --target ngram:text.txt --prompt-file long.txt -n 8");
    assert_int_equal(strlen(out), 8);
    free(out);
    out = spec_program_text("generate --target ngram:text.txt --prompt-file empty -n 8");
    assert_int_equal(strlen(out), 8);
    free(out);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
