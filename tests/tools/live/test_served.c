/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests the whole verb against faulty_server.py, whose model is a table: it names each of the
 * server's mistakes, and none for a right server. */
#include "tests/support/child.h"
#include "tests/support/near.h"
#include "tests/tools/live/served_plan.h"

#include <math.h>

static const char *verdict(const spec_served_result *r)
{
    return spec_served_verdict_names[r->judgement.verdict];
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* What the server does wrong, with which parameters, and the name that the verdict gives it. */
static const struct {
    const char *fault, *name;
    double temperature, min_p;
    int top_k;
    double top_p;
} cases[] = {
    {"right", "no difference", 1.0, 0.0, 0, 1.0},
    {"right", "no difference", 1.0, 0.1, 0, 1.0},
    {"right", "no difference", 0.7, 0.0, 0, 1.0},
    {"right", "no difference", 0.7, 0.05, 10, 1.0},
    {"right", "no difference", 1.0, 0.0, 0, 0.8},
    {"right", "no difference", 1.0, 0.1, 8, 0.85},
    {"mixed", "wrong state", 1.0, 0.0, 0, 1.0},
    {"mixed", "wrong state", 1.0, 0.1, 0, 1.0},
    {"rollback", "wrong state", 1.0, 0.0, 0, 1.0},
    {"rollback", "wrong state", 0.7, 0.0, 10, 1.0},
    {"argmax", "wrong sampler", 1.0, 0.0, 0, 1.0},
    {"hot", "wrong sampler", 1.0, 0.0, 0, 1.0},
    {"hot", "wrong sampler", 0.7, 0.0, 0, 1.0},
    {"same_seed", "wrong sampler", 1.0, 0.0, 0, 1.0},
    {"no_filters", "wrong filter", 1.0, 0.1, 0, 1.0},
    {"no_filters", "wrong filter", 1.0, 0.0, 5, 1.0},
    {"no_filters", "wrong filter", 1.0, 0.0, 0, 0.8},
    {"top_k", "wrong filter", 1.0, 0.0, 0, 1.0},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Returns whether the verdict on case i has the right name. */
static bool is_named(int i, const char *owner)
{
    OWNED(server) score = start("right", owner), text = start(cases[i].fault, owner);
    spec_served_plan plan = plan_of(&text, &score);
    spec_served_result result;
    plan.sampling.transform = (spec_transform){.temperature = cases[i].temperature,
                                               .top_k = cases[i].top_k,
                                               .top_p = cases[i].top_p,
                                               .min_p = cases[i].min_p};
    assert_works(spec_served(&result, &plan, &error));
    if (strcmp(verdict(&result), cases[i].name) == 0) return true;
    print_error("%s, case %d by %s: %s: %s\n", cases[i].fault, i, owner, verdict(&result),
                result.judgement.reason);
    return false;
}

TEST(each_mistake_gets_its_name_within_the_default_budget, SERVER | STATISTICS,
     .setup = spec_folder_enter, .teardown = spec_folder_leave)
{
    int named = 0;
    for (int i = 0; i < CASES; i++) named += is_named(i, "vllm");
    assert_int_equal(named, CASES);
}

TEST(the_other_dialects_find_the_same, SERVER | STATISTICS, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    for (int i = 5; i < CASES; i += 6) assert_true(is_named(i, "llamacpp"));
    for (int i = 3; i < CASES; i += 4) assert_true(is_named(i, "sglang"));
}

/* A small run in each dialect, which is enough for coarse mistakes. */
TEST(coarse_mistakes_show_in_few_texts, STATISTICS, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    static const char *const owner[] = {"llamacpp", "vllm", "sglang"};
    static const struct {
        const char *fault;
        spec_served_verdict verdict;
    } fault[] = {{"mixed", SPEC_SERVED_STATE},
                 {"argmax", SPEC_SERVED_SAMPLER},
                 {"right", SPEC_SERVED_UNDECIDED}};
    for (int i = 0; i < 3; i++) {
        OWNED(server) score = start("right", owner[i]), text = start(fault[i].fault, owner[i]);
        spec_served_plan plan = plan_of(&text, &score);
        spec_served_result result;
        plan.texts = 16;
        plan.sampling.tokens = 24;
        assert_works(spec_served(&result, &plan, &error));
        assert_int_equal(result.judgement.verdict, fault[i].verdict);
        assert_int_equal(result.judgement.texts, 16);
        const spec_served_judgement *j = &result.judgement;
        assert_int_equal(j->n_suspects > 0, fault[i].verdict == SPEC_SERVED_STATE);
        assert_true(j->wrong_texts < 16 && j->n_suspects <= j->wrong_texts);
    }
}

/* Expected: 200e-6 false alarms. */
TEST(a_right_server_is_not_accused, SERVER | STATISTICS, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    OWNED(server) score = start("right", "vllm"), text = start("right", "vllm");
    spec_served_plan plan = plan_of(&text, &score);
    spec_served_result result;
    double most = -INFINITY;
    plan.texts = (int)spec_test_samples(20);
    plan.sampling.tokens = 32;
    for (int seed = 0; seed < 200; seed++) {
        plan.seed = spec_test_seed() + (uint64_t)seed;
        plan.sampling.transform.min_p = seed % 2 == 0 ? 0.0 : 0.1;
        assert_works(spec_served(&result, &plan, &error));
        assert_true(result.judgement.verdict == SPEC_SERVED_RIGHT ||
                    result.judgement.verdict == SPEC_SERVED_UNDECIDED);
        most = fmax(most, fmax(result.judgement.trace_log_e, result.judgement.state_log_e));
    }
    printf("largest log e of 200 right servers: %.2f, where %.2f is a verdict\n", most,
           result.judgement.needed);
}

/* The scorer's noise of 1 % is measured, and the threshold rises by it. */
TEST(noise_is_measured_and_accuses_nobody, STATISTICS, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    OWNED(server) score = start("noisy", "vllm"), text = start("right", "vllm");
    spec_served_plan plan = plan_of(&text, &score);
    spec_served_result result;
    plan.texts = 20;
    plan.sampling.tokens = 32;
    assert_works(spec_served(&result, &plan, &error));
    assert_true(result.noise.worst > 0.005 && result.noise.worst < 0.03);
    assert_true(result.judgement.needed > log(3e6) + 0.1);
    assert_true(result.judgement.verdict == SPEC_SERVED_RIGHT ||
                result.judgement.verdict == SPEC_SERVED_UNDECIDED);
}

/* ---- greedy ---------------------------------------------------------------------------------- */

static spec_served_result greedy(const char *fault, const char *scorer)
{
    OWNED(server) score = start(scorer, "vllm"), text = start(fault, "vllm");
    spec_served_plan plan = plan_of(&text, &score);
    spec_served_result result;
    plan.texts = 20;
    plan.sampling.transform.temperature = 0.0;
    assert_works(spec_served(&result, &plan, &error));
    return result;
}

TEST(greedy_texts_of_a_right_server_have_no_wrong_token, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    const spec_served_result right = greedy("right", "right");
    assert_int_equal(right.served.texts, 20);
    assert_int_equal(right.served.wrong, 0);
}

TEST(a_wrong_greedy_token_is_found_with_its_margin, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    const spec_served_result wrong = greedy("greedy_wrong", "right");
    assert_true(wrong.served.wrong > 0 && wrong.served.lost_texts == 0);
    assert_true(wrong.served.margin > 0.0 && wrong.served.token != wrong.served.best);
    assert_int_equal(spec_served_verdict_of(&wrong), SPEC_SERVED_TOKEN);
}

TEST(a_greedy_text_that_lost_its_state_is_wrong_from_there_on, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    const spec_served_result lost = greedy("rollback", "right");
    assert_true(lost.served.wrong_texts > 0);
    assert_int_equal(spec_served_verdict_of(&lost), SPEC_SERVED_STATE);
}

/* The server's texts are wrong, but its scores are right. */
TEST(a_scorer_whose_own_texts_are_as_wrong_leaves_it_undecided, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    const spec_served_result both = greedy("rollback", "rollback");
    assert_true(both.served.wrong_texts > 0 && both.control.wrong_texts > 0);
    assert_int_equal(spec_served_verdict_of(&both), SPEC_SERVED_UNDECIDED);
}

/* ---- files ----------------------------------------------------------------------------------- */

static size_t size_of(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    const size_t n = (size_t)ftell(file);
    fclose(file);
    return n;
}

TEST(a_capture_resumes_and_validate_reads_it, STATISTICS, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    OWNED(server) score = start("right", "vllm"), text = start("rollback", "vllm");
    spec_served_plan plan = plan_of(&text, &score);
    spec_served_result whole, resumed;
    spec_validation validation;
    const spec_validate_plan validate = SPEC_VALIDATE_PLAN_DEFAULT;
    plan.texts = 20;
    plan.lanes = 1; /* texts in order, so that the files can be compared */
    plan.opt_capture = "whole.jsonl";
    assert_works(spec_served(&whole, &plan, &error));
    /* a capture that is cut in the middle of a line */
    assert_int_equal(system("head -c 100000 whole.jsonl >cut.jsonl"), 0);
    plan.opt_capture = "cut.jsonl";
    assert_fails_with(spec_served(&resumed, &plan, &error), GSL_EINVAL, "--resume continues it");
    plan.resume = true;
    assert_works(spec_served(&resumed, &plan, &error));
    assert_int_equal(system("cmp -s whole.jsonl cut.jsonl"), 0);
    assert_int_equal(size_of("whole.jsonl"), size_of("cut.jsonl"));
    assert_int_equal(resumed.judgement.texts, 20);
    assert_true(resumed.judgement.state_log_e == whole.judgement.state_log_e);
    assert_works(spec_trace_validate(&validation, "cut.jsonl", &validate, &error));
    assert_int_equal(validation.draws, resumed.judgement.tokens);
    spec_validation_free(&validation);
    plan.seed++;
    assert_fails_with(spec_served(&resumed, &plan, &error), GSL_EINVAL, "other servers, prompts");
}

/* ---- equal seeds ----------------------------------------------------------------------------- */

static spec_served_result equal(const char *fault, const char *scorer, int texts)
{
    OWNED(server) score = start(scorer, "llamacpp"), text = start(fault, "llamacpp");
    spec_served_plan plan = plan_of(&text, &score);
    spec_served_result result;
    plan.texts = texts;
    plan.equal_seeds = true;
    assert_works(spec_served(&result, &plan, &error));
    return result;
}

TEST(texts_of_equal_seeds_are_equal_at_a_right_server, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    const spec_served_result right = equal("right", "right", 60);
    assert_int_equal(spec_served_verdict_of(&right), SPEC_SERVED_RIGHT);
    assert_true(right.served.texts == 60 && right.served.different == 0 &&
                right.control.texts == 0 && right.served.tokens > 3500);
    assert_near(right.detectable, log(10.0) / (double)right.served.tokens, 1e-9);
}

/* Both servers draw from rows that are off by 1 %, differently in each request. */
TEST(rounding_makes_ties_of_equal_seeds_and_accuses_nobody, STATISTICS, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    const spec_served_result noisy = equal("noisy", "noisy", 60);
    assert_true(noisy.served.different > 20 && noisy.control.different > 20);
    assert_int_equal(noisy.served.wrong, 0);
    assert_int_equal(spec_served_verdict_of(&noisy), SPEC_SERVED_RIGHT);
    assert_true(noisy.detectable > 0.01 && noisy.detectable < 0.1);
}

/* The size of rounding errors is measured in a few texts. If they were three times as large in
 * other texts, a right server would be accused, which must not happen in 60 runs. */
TEST(rounding_accuses_nobody_for_many_seeds, SERVER | STATISTICS, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    OWNED(server) score = start("noisy", "llamacpp"), text = start("noisy", "llamacpp");
    spec_served_plan plan = plan_of(&text, &score);
    spec_served_result result;
    double most = 0.0;
    plan.texts = 20;
    plan.equal_seeds = true;
    for (int seed = 0; seed < 60; seed++) {
        plan.seed = spec_test_seed() + (uint64_t)seed;
        assert_works(spec_served(&result, &plan, &error));
        assert_int_not_equal(spec_served_verdict_of(&result), SPEC_SERVED_STATE);
        most = fmax(most, result.served.largest / result.tie);
    }
    printf("of 60 servers that round, the largest difference is %.2f of a tie\n", most);
}

TEST(a_wrong_state_writes_another_text_for_the_same_seed, STATISTICS, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    static const char *const faults[] = {"rollback", "mixed", "one_more"};
    for (int i = 0; i < 3; i++) {
        const spec_served_result wrong = equal(faults[i], "right", 40);
        assert_int_equal(spec_served_verdict_of(&wrong), SPEC_SERVED_STATE);
        assert_true(wrong.control.texts == 40 && wrong.control.different == 0);
    }
    const spec_served_result noisy = equal("rollback", "noisy", 40);
    assert_int_equal(spec_served_verdict_of(&noisy), SPEC_SERVED_STATE);
}

/* The plain server's own texts also differ when it draws them again. */
TEST(a_plain_server_that_does_not_repeat_its_texts_clears_the_other, STATISTICS,
     .setup = spec_folder_enter, .teardown = spec_folder_leave)
{
    const spec_served_result both = equal("unseeded", "unseeded", 20);
    assert_true(both.served.wrong > 0 && both.control.wrong > 0);
    assert_int_equal(spec_served_verdict_of(&both), SPEC_SERVED_UNDECIDED);
}

TEST(other_engines_do_not_promise_equal_texts, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    OWNED(server) llama = start("right", "llamacpp"), vllm = start("right", "vllm");
    spec_served_plan plan = plan_of(&llama, &vllm);
    spec_served_result result;
    plan.equal_seeds = true;
    assert_fails_with(
        spec_served(&result, &plan, &error), GSL_EINVAL,
        "--equal-seeds needs llama-server: with speculation, vLLM draws another text");
}

/* ---- penalties ------------------------------------------------------------------------------- */

TEST(penalties_are_judged_by_each_engines_rule, SERVER | STATISTICS, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    static const struct {
        const char *fault, *owner;
        int top_k;
        spec_served_verdict verdict;
    } servers[] = {{"right", "llamacpp", 0, SPEC_SERVED_RIGHT},
                   {"right", "vllm", 0, SPEC_SERVED_RIGHT},
                   {"right", "vllm", 10, SPEC_SERVED_RIGHT},
                   {"no_penalties", "vllm", 0, SPEC_SERVED_SAMPLER},
                   {"no_penalties", "llamacpp", 0, SPEC_SERVED_SAMPLER},
                   {"no_penalties", "sglang", 10, SPEC_SERVED_FILTER}};
    for (int i = 0; i < 6; i++) {
        OWNED(server)
        score = start("right", servers[i].owner), text = start(servers[i].fault, servers[i].owner);
        spec_served_plan plan = plan_of(&text, &score);
        spec_served_result result;
        plan.texts = 100;
        plan.sampling.transform.top_k = servers[i].top_k;
        plan.sampling.presence = 0.7;
        plan.sampling.frequency = 0.2;
        assert_works(spec_served(&result, &plan, &error));
        assert_int_equal(result.judgement.verdict, servers[i].verdict);
        assert_true(result.judgement.tokens > 3000);
    }
}

TEST(greedy_texts_with_penalties_are_judged, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    static const char *const faults[] = {"right", "no_penalties"};
    for (int i = 0; i < 2; i++) {
        OWNED(server) score = start("right", "vllm"), text = start(faults[i], "vllm");
        spec_served_plan plan = plan_of(&text, &score);
        spec_served_result result;
        plan.texts = 9;
        plan.sampling.transform.temperature = 0.0;
        plan.sampling.presence = 1.0;
        assert_works(spec_served(&result, &plan, &error));
        assert_int_equal(result.served.wrong > 0, i == 1);
        assert_int_equal(result.control.wrong, 0);
    }
}

/* ---- chats ----------------------------------------------------------------------------------- */

static const char chats[] =
    "{\"messages\": [{\"role\": \"system\", \"content\": \"be brief\"}, "
    "{\"role\": \"user\", \"content\": \"why is the sky blue?\"}], \"tools\": []}\n"
    "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}\n",
                  chats_as_texts[] =
                      "{\"prompt\": \"[system] be brief [user] why is the sky blue? [bot]\"}\n"
                      "{\"prompt\": \"[user] hi [bot]\"}\n";

/* A chat gives the same tokens as the text that the template makes of it. */
TEST(a_chat_is_the_text_of_the_servers_template, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    static const char *const owner[] = {"llamacpp", "vllm", "sglang"};
    for (int i = 0; i < 3; i++) {
        OWNED(server) both = start("right", owner[i]);
        spec_served_plan plan = plan_of(&both, &both);
        spec_served_result result;
        plan.texts = 4;
        plan.sampling.tokens = 8;
        plan.lanes = 1;
        plan.force = true;
        spec_file_write("prompts.jsonl", chats);
        plan.opt_capture = "chats.jsonl";
        assert_works(spec_served(&result, &plan, &error));
        spec_file_write("prompts.jsonl", chats_as_texts);
        plan.opt_capture = "texts.jsonl";
        assert_works(spec_served(&result, &plan, &error));
        assert_int_equal(system("cmp -s chats.jsonl texts.jsonl"), 0);
    }
}

TEST(a_server_that_makes_no_prompt_of_a_chat_gets_one_line, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    static const struct {
        const char *fault, *owner, *line;
        int status;
    } wrong[] = {
        {"no_template", "vllm",
         "/tokenize: the server answers with status 400: there is no chat template", GSL_EFAILED},
        {"no_template", "llamacpp", "/apply-template: the server answers with status 400",
         GSL_EFAILED},
        {"no_prompt", "llamacpp", "/apply-template: the answer has no valid \"prompt\"",
         GSL_EINVAL},
    };
    for (int i = 0; i < 3; i++) {
        OWNED(server) both = start(wrong[i].fault, wrong[i].owner);
        spec_served_plan plan = plan_of(&both, &both);
        spec_served_result result;
        spec_file_write("prompts.jsonl", chats);
        assert_fails_with(spec_served(&result, &plan, &error), wrong[i].status, wrong[i].line);
    }
}

/* ---- servers that fail ----------------------------------------------------------------------- */

TEST(a_server_that_fails_gets_one_line, .setup = spec_folder_enter, .teardown = spec_folder_leave)
{
    static const struct {
        const char *fault, *line;
        bool scores; /* the fault is in its scores, in llama-server's dialect */
    } wrong[] = {
        {"cut_utf8", "not valid JSON: unable to decode byte 0xc3", false},
        {"truncated", "the answer is truncated", false},
        {"not_json", "not valid JSON", false},
        {"huge", "longer than 64 MiB", false},
        {"deep", "maximum parsing depth", false},
        {"hang", "no answer within 0.5 s", false},
        {"always_busy", "busy; it stayed busy", false},
        {"lost", "Empty reply", false},
        {"error", "status 400: the prompt is too long", false},
        {"no_ids", "no valid \"token_ids\"", false},
        {"too_long", "where 8 were asked for", false},
        {"ids", "no valid \"token_ids\"", false},
        {"nonsense", "not an inference server", false},
        {"duplicate", "a token occurs twice in it", true},
        {"above_one", "its probabilities sum to more than 1", true},
    };
    OWNED(server) right = start("right", "vllm");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        OWNED(server) faulty = start(wrong[i].fault, wrong[i].scores ? "llamacpp" : "vllm");
        spec_served_plan plan =
            wrong[i].scores ? plan_of(&right, &faulty) : plan_of(&faulty, &right);
        spec_served_result result;
        plan.texts = 2;
        plan.sampling.tokens = 8;
        plan.how.timeout = strcmp(wrong[i].fault, "hang") == 0 ? 0.5 : 20.0;
        plan.how.pause = 0.01;
        const int status = strstr("cut_utf8 not_json huge deep no_ids too_long ids nonsense "
                                  "duplicate above_one",
                                  wrong[i].fault) != NULL
                               ? GSL_EINVAL
                               : GSL_EFAILED;
        assert_fails_with(spec_served(&result, &plan, &error), status, wrong[i].line);
    }
}

TEST(a_server_that_is_busy_now_and_then_is_asked_again, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    OWNED(server) score = start("right", "vllm"), text = start("busy", "vllm");
    spec_served_plan plan = plan_of(&text, &score);
    spec_served_result result;
    plan.texts = 9;
    plan.sampling.tokens = 8;
    plan.how.pause = 0.01;
    assert_works(spec_served(&result, &plan, &error));
    assert_int_equal(result.judgement.texts, 9);
}

TEST(a_server_that_is_not_there_gets_one_line, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    server nobody = {.url = "http://127.0.0.1:9"};
    spec_served_plan plan = plan_of(&nobody, &nobody);
    spec_served_result result;
    assert_fails_with(spec_served(&result, &plan, &error), GSL_EFAILED,
                      "http://127.0.0.1:9/v1/models: ");
    plan.text_url = "ftp://somewhere";
    assert_fails(spec_served(&result, &plan, &error), GSL_EINVAL,
                 "'ftp://somewhere' is not an address such as http://localhost:8000");
}
