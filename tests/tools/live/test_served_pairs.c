/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares samples of two servers: of engines that return tokens, and of those that only have
 * OpenAI's interface. */
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/tools/live/served_plan.h"

/* ---- two samples ----------------------------------------------------------------------------- */

static spec_served_result compared(const char *fault, int texts, int top_k)
{
    OWNED(server) other = start("right", "vllm"), text = start(fault, "vllm");
    spec_served_plan plan = plan_of(&text, &other);
    spec_served_result result;
    plan.texts = texts;
    plan.two_samples = true;
    plan.rate = 1e-4;
    plan.sampling.transform.top_k = top_k;
    assert_works(spec_served(&result, &plan, &error));
    return result;
}

TEST(two_samples_tell_a_wrong_server_without_scores, SERVER | STATISTICS,
     .setup = spec_folder_enter, .teardown = spec_folder_leave)
{
    static const struct {
        const char *fault;
        int texts, top_k;
        spec_served_verdict verdict;
    } servers[] = {{"right", 60, 0, SPEC_SERVED_UNDECIDED},
                   {"right", 3000, 2, SPEC_SERVED_RIGHT},
                   {"argmax", 60, 0, SPEC_SERVED_SAMPLER},
                   {"no_filters", 200, 3, SPEC_SERVED_SAMPLER}};
    for (int i = 0; i < 4; i++) {
        const spec_served_result r = compared(servers[i].fault, servers[i].texts, servers[i].top_k);
        assert_int_equal(spec_served_verdict_of(&r), servers[i].verdict);
        assert_true(r.noise.places == 0 && r.samples.groups > 10);
    }
}

TEST(two_samples_of_engines_with_other_filters_are_refused, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    OWNED(server) llama = start("right", "llamacpp"), vllm = start("right", "vllm");
    spec_served_plan plan = plan_of(&llama, &vllm);
    spec_served_result result;
    plan.texts = 4;
    plan.two_samples = true;
    assert_works(spec_served(&result, &plan, &error));
    plan.sampling.transform.min_p = 0.1;
    assert_fails_with(spec_served(&result, &plan, &error), GSL_EINVAL,
                      "llama-server and vLLM apply filters in different orders");
}

/* ---- OpenAI's interface alone ---------------------------------------------------------------- */

/* Compares texts of a server that has only OpenAI's interface, with chats and texts as prompts. */
static spec_served_result in_words(const char *fault, const char *opt_model, int texts)
{
    OWNED(server) other = start("right", "openai"), text = start(fault, "openai");
    spec_served_plan plan = plan_of(&text, &other);
    spec_served_result result;
    spec_file_write("prompts.jsonl",
                    "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}], \"tools\": []}\n"
                    "{\"prompt\": \"Once upon a time\"}\n");
    plan.texts = texts;
    plan.two_samples = true;
    plan.rate = 1e-4;
    plan.opt_text_model = opt_model;
    assert_works(spec_served(&result, &plan, &error));
    assert_string_equal(result.text.dialect->name, "OpenAI");
    return result;
}

TEST(words_tell_a_wrong_server_that_has_no_tokens, STATISTICS, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    const spec_served_result right = in_words("right", NULL, 60),
                             named = in_words("right", "table", 60),
                             argmax = in_words("argmax", NULL, 60),
                             chair = in_words("right", "chair", 60);
    assert_int_equal(spec_served_verdict_of(&right), SPEC_SERVED_UNDECIDED);
    assert_int_equal(spec_served_verdict_of(&argmax), SPEC_SERVED_SAMPLER);
    assert_int_equal(spec_served_verdict_of(&chair), SPEC_SERVED_SAMPLER);
    assert_true(right.samples.groups > 10 && right.samples.statistic == named.samples.statistic);
}

/* A word is a token of this server, so both interfaces find the same groups. */
TEST(words_and_tokens_give_the_same_statistic, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    OWNED(server)
    a = start("right", "openai"), b = start("hot", "openai"), c = start("right", "vllm"),
    d = start("hot", "vllm");
    spec_served_result words, tokens;
    for (int i = 0; i < 2; i++) {
        spec_served_plan plan = i == 0 ? plan_of(&a, &b) : plan_of(&c, &d);
        plan.texts = 40;
        plan.two_samples = true;
        assert_works(spec_served(i == 0 ? &words : &tokens, &plan, &error));
    }
    assert_int_equal(words.samples.groups, tokens.samples.groups);
    assert_near(words.samples.statistic, tokens.samples.statistic, 1e-12);
}

TEST(what_openais_interface_lacks_is_refused, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    OWNED(server)
    openai = start("right", "openai"), vllm = start("right", "vllm"),
    empty = start("no_ids", "openai");
    spec_served_plan plan = plan_of(&openai, &vllm), reverse = plan_of(&vllm, &openai);
    spec_served_result result;
    assert_fails_with(spec_served(&result, &plan, &error), GSL_EINVAL,
                      "it is not a llama-server, vLLM or SGLang, and only these return token ids");
    assert_fails_with(spec_served(&result, &reverse, &error), GSL_EINVAL, openai.url);
    plan.two_samples = reverse.two_samples = true;
    plan.texts = reverse.texts = 4;
    assert_works(spec_served(&result, &plan, &error));
    assert_string_equal(result.score.dialect->name, "OpenAI");
    plan.sampling.transform.top_k = 3;
    assert_fails_with(spec_served(&result, &plan, &error), GSL_EINVAL, "neither top-k nor min-p");
    reverse.opt_text_model = "sofa";
    assert_fails_with(spec_served(&result, &reverse, &error), GSL_EINVAL,
                      "it has no model 'sofa', but table, chair");
    plan = plan_of(&empty, &openai);
    plan.two_samples = true;
    assert_fails_with(spec_served(&result, &plan, &error), GSL_EINVAL,
                      "no valid \"text\" or \"message\"");
}
