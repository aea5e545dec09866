/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The settings for tools, read back as each tool reads them, give the profile's tokens per
 * round. */
#include "tools/advise/profile_settings.h"

#include "base/memory_text.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

static spec_acceptance_profile profile_of(const double *rate, int K)
{
    spec_acceptance_profile profile = {.K = K, .rounds = 1000.0, .passes = 1000.0};
    for (int i = 0; i < K; i++) {
        const double before = i > 0 ? rate[i - 1] : 1.0;
        profile.unconditional[i] = (spec_profile_number){rate[i], NAN, NAN};
        profile.conditional[i] =
            (spec_profile_number){before > 0.0 ? rate[i] / before : NAN, NAN, NAN};
    }
    profile.length.value = spec_acceptance_profile_length(&profile, K);
    return profile;
}

static char *text_of(const char *tool, const spec_acceptance_profile *profile)
{
    spec_memory_text made;
    assert_true(spec_memory_text_open(&made));
    const int t = spec_profile_tool_find(tool, NULL);
    assert_true(t >= 0);
    spec_profile_tool_write(made.out, &spec_profile_tools[t], profile);
    return spec_memory_text_take(&made, NULL);
}

/* Returns the numbers after a text, with these characters between them. */
static int numbers(double *ret, const char *text, const char *after, const char *between)
{
    const char *at = strstr(text, after);
    int n = 0;
    if (at == NULL) fail_msg("no '%s' in %s", after, text);
    for (at += strlen(after);; at += strlen(between)) {
        char *end;
        ret[n++] = strtod(at, &end);
        assert_true(end > at);
        at = end;
        if (strncmp(at, between, strlen(between)) != 0 || n == SPEC_PROFILE_K) return n;
    }
}

/* Returns the mean tokens of a round in the tool, including its bonus token, from the lines to
 * paste. */
static double length_in(const char *tool, const spec_acceptance_profile *profile)
{
    FREED char *text = text_of(tool, profile);
    double x[SPEC_PROFILE_K] = {0}, length = 1.0, reached = 1.0;
    if (strcmp(tool, "vllm") == 0) { /* entry i: the first i are all accepted */
        assert_int_equal(numbers(x, text, "\"num_speculative_tokens\": ", "|"), 1);
        const int n = numbers(x, text, "\"synthetic_acceptance_rates\": [", ", ");
        assert_int_equal(n, profile->K);
        for (int i = 0; i < n; i++) {
            assert_true(x[i] <= (i > 0 ? x[i - 1] : 1.0)); /* vLLM refuses others */
            length += x[i];
        }
        numbers(x, text, "\"synthetic_acceptance_length\": ", "|");
        assert_within(x[0], length, 1e-3);
    } else if (strcmp(tool, "dynamo") == 0) { /* stops at the first rejection */
        numbers(x, text, "--aic-nextn ", "|");
        const int n = (int)x[0];
        assert_int_equal(numbers(x, text, "--aic-nextn-accept-rates ", ","), n);
        for (int i = 0; i < n; i++) length += reached *= x[i];
    } else if (strcmp(tool, "sglang") == 0) {
        numbers(&length, text, "SGLANG_SIMULATE_ACC_LEN=", "|");
    } else if (strcmp(tool, "tensorrt-llm") == 0) { /* draft tokens alone */
        numbers(x, text, "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS=", "|");
        length += x[0];
    } else if (strcmp(tool, "atom") == 0) {
        numbers(&length, text, "--spec-decode-acceptance-length ", "|");
        numbers(x, text, "--spec-decode-acceptance-rate ", "|");
        assert_within(1.0 + profile->K * x[0], length, 1e-3 * profile->K);
    } else if (strcmp(tool, "aiconfigurator") == 0) { /* a step emits one token more */
        numbers(x, text, "--nextn-accepted ", "|");
        length += x[0];
    } else { /* inferencex: two digits */
        char line[32];
        snprintf(line, sizeof line, "    %d: ", profile->K);
        numbers(&length, text, line, "|");
    }
    return length;
}

TEST(each_tool_makes_rounds_of_the_profiles_length)
{
    static const double rate[][5] = {{0.8005, 0.5008, 0.2897, 0.17, 0.0913},
                                     {0.27, 0.0, 0.0, 0.0, 0.0},
                                     {1.0, 1.0, 1.0, 1.0, 1.0},
                                     {0.33333333, 0.33333333, 0.33333332, 0.2, 0.1}};
    for (const spec_profile_tool *tool = spec_profile_tools; tool->name != NULL; tool++)
        for (size_t r = 0; r < sizeof rate / sizeof *rate; r++)
            for (int K = 1; K <= 5; K++) {
                const spec_acceptance_profile profile = profile_of(rate[r], K);
                const double length = length_in(tool->name, &profile);
                if (fabs(length - profile.length.value) >
                    (strcmp(tool->name, "inferencex") == 0 ? 5e-3 : 1e-3))
                    fail_msg("%s: %g, not %g", tool->name, length, profile.length.value);
            }
}

/* The text says whether the bonus token counts, and the summary agrees. */
TEST(each_tool_says_whether_the_bonus_token_counts)
{
    static const struct {
        const char *name;
        bool counts;
    } row[] = {{"vllm", false},     {"sglang", true},          {"tensorrt-llm", false},
               {"atom", true},      {"aiconfigurator", false}, {"dynamo", false},
               {"inferencex", true}};
    const double rate[] = {0.8, 0.5};
    const spec_acceptance_profile profile = profile_of(rate, 2);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        FREED char *text = text_of(row[i].name, &profile);
        const spec_profile_tool *tool = &spec_profile_tools[i];
        assert_string_equal(tool->name, row[i].name);
        assert_true((strstr(text, "bonus token is counted") != NULL) == row[i].counts);
        assert_true((strstr(tool->summary, "with the bonus") != NULL) == row[i].counts);
        assert_non_null(strstr(text, "bonus token"));
    }
    assert_null(spec_profile_tools[sizeof row / sizeof *row].name);
}

/* The mocker drafts at most five tokens, and says what that costs: 1 + .9 + ... + .9^5 of 8. */
TEST(a_longer_draft_than_a_tool_takes_is_cut_with_a_word)
{
    double rate[8];
    for (int i = 0; i < 8; i++) rate[i] = pow(0.9, i + 1);
    const spec_acceptance_profile profile = profile_of(rate, 8);
    FREED char *text = text_of("dynamo", &profile);
    assert_non_null(strstr(text, "--aic-nextn 5 "));
    assert_non_null(strstr(text, "becomes 4.686 instead of 6.126"));
    assert_within(length_in("dynamo", &profile), (1.0 - pow(0.9, 6)) / 0.1, 1e-3);
}

TEST(doubts_of_a_profile_are_said)
{
    const double rate[] = {0.8, 0.5};
    spec_acceptance_profile profile = profile_of(rate, 2);
    profile.passes = 1250.0;
    profile.one_rate = true;
    FREED char *text = text_of("vllm", &profile);
    assert_non_null(strstr(text, "20 % of the passes had no draft"));
    assert_non_null(strstr(text, "the same conditional rate"));
    assert_int_equal(spec_profile_tool_find("vlm", NULL), -1);
}
