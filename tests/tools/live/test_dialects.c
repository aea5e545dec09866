/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests and answers of each dialect. The answers of vLLM and SGLang were written by hand from
 * their public API documents; no server was recorded. That of llama-server is as its source makes
 * it, and tests/tools/live/llama_server.py asks a real one. */
#include "tests/support/near.h"
#include "tools/live/dialects.h"

#include "base/json_memory.h"

#include <math.h>

static const spec_dialect *dialect_of(const char *name)
{
    const spec_dialect *d = spec_dialects;
    while (strcmp(d->name, name) != 0) d++;
    return d;
}

static json_t *parsed(const char *text)
{
    json_error_t why;
    json_t *root = spec_json_load(text, strlen(text), JSON_REJECT_DUPLICATES, &why);
    assert_non_null(root);
    return root;
}

/* ---- what a server is ------------------------------------------------------------------------ */

TEST(the_owner_of_the_models_tells_the_dialect)
{
    static const struct {
        const char *answer, *name, *model;
        int vocab;
    } known[] = {
        {"{\"object\": \"list\", \"data\": [{\"id\": \"m.gguf\", \"object\": \"model\", "
         "\"owned_by\": \"llamacpp\", \"meta\": {\"vocab_type\": 1, \"n_vocab\": 512, "
         "\"n_ctx_train\": 512}}]}",
         "llama-server", "m.gguf", 512},
        {"{\"object\": \"list\", \"data\": [{\"id\": \"Qwen/Qwen3-8B\", \"object\": \"model\", "
         "\"created\": 1, \"owned_by\": \"vllm\", \"root\": \"Qwen/Qwen3-8B\", \"parent\": null, "
         "\"max_model_len\": 40960}]}",
         "vLLM", "Qwen/Qwen3-8B", 0},
        {"{\"object\": \"list\", \"data\": [{\"id\": \"m\", \"object\": \"model\", \"owned_by\": "
         "\"sglang\", \"root\": \"m\", \"max_model_len\": 4096}]}",
         "SGLang", "m", 0},
        {"{\"data\": [{\"id\": \"small\", \"owned_by\": \"huggingface\"}]}", "OpenAI", "small", 0},
        {"{\"data\": [{\"id\": \"fast\"}, {\"id\": \"slow\"}]}", "OpenAI", "fast", 0},
    };
    for (int i = 0; i < 5; i++) {
        spec_live_server server = {.url = "http://x"};
        json_t *answer = parsed(known[i].answer);
        assert_works(spec_live_read_models(&server, answer, NULL, &error));
        assert_string_equal(server.dialect->name, known[i].name);
        assert_string_equal(server.model, known[i].model);
        assert_int_equal(server.vocab, known[i].vocab);
        json_decref(answer);
    }
}

TEST(a_model_may_be_chosen_by_name)
{
    spec_live_server server = {.url = "http://x"};
    json_t *answer = parsed("{\"data\": [{\"id\": \"fast\"}, {\"id\": \"slow\", \"owned_by\": "
                            "\"vllm\"}]}");
    assert_works(spec_live_read_models(&server, answer, "slow", &error));
    assert_string_equal(server.model, "slow");
    assert_string_equal(server.dialect->name, "vLLM");
    assert_fails_with(spec_live_read_models(&server, answer, "slo", &error), GSL_EINVAL,
                      "it has no model 'slo', but fast, slow");
    json_object_set_new(json_array_get(json_object_get(answer, "data"), 0), "id", json_null());
    assert_works(spec_live_read_models(&server, answer, "slow", &error));
    json_decref(answer);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Reads a text of OpenAI's interface, and compares its words. */
static void check_words(const char *text, int n, const char *const *word)
{
    json_t *answer = json_pack("{s:[{s:s}]}", "choices", "text", text), *one;
    spec_live_tokens got, expected;
    assert_works(spec_openai_dialect.read_text(&got, answer, &error));
    assert_int_equal(got.n, n);
    for (int i = 0; i < n; i++) {
        one = json_pack("{s:[{s:{s:s}}]}", "choices", "message", "content", word[i]);
        assert_works(spec_openai_dialect.read_text(&expected, one, &error));
        assert_int_equal(expected.n, 1);
        assert_int_equal(got.token[i], expected.token[0]);
        for (int k = 0; k < i; k++)
            assert_int_equal(got.token[i] == got.token[k], strcmp(word[i], word[k]) == 0);
        spec_live_tokens_free(&expected);
        json_decref(one);
    }
    spec_live_tokens_free(&got);
    json_decref(answer);
}

TEST(a_text_without_tokens_is_a_list_of_words)
{
    check_words("", 0, NULL);
    check_words("Hi there, you  2\n", 6,
                (const char *[]){"Hi", " there", ",", " you", "  2", "\n"});
    check_words("a你好 你!", 5, (const char *[]){"a", "你", "好", " 你", "!"});
    check_words("a b c d e f g h i j", 8,
                (const char *[]){"a", " b", " c", " d", " e", " f", " g", " h"});
}

TEST(a_chats_reasoning_comes_before_its_answer)
{
    static const char answer[] = "{\"choices\": [{\"message\": {\"content\": \"b\", "
                                 "\"reasoning_content\": \"a\"}}]}",
                      silent[] = "{\"choices\": [{\"message\": {\"content\": null}}]}";
    json_t *spoken = parsed(answer), *empty = parsed(silent),
           *same = parsed("{\"choices\": [{\"text\": \"a,b\"}]}");
    spec_live_tokens got, parts, none;
    assert_works(spec_openai_dialect.read_text(&got, spoken, &error));
    assert_works(spec_openai_dialect.read_text(&parts, same, &error));
    assert_works(spec_openai_dialect.read_text(&none, empty, &error));
    assert_int_equal(got.n, 2);
    assert_int_equal(got.token[0], parts.token[0]);
    assert_int_equal(got.token[1], parts.token[2]);
    assert_int_equal(none.n, 0);
    spec_live_tokens_free(&got);
    spec_live_tokens_free(&parts);
    spec_live_tokens_free(&none);
    json_decref(spoken);
    json_decref(empty);
    json_decref(same);
}

TEST(a_prompt_is_sent_to_openais_interface_as_it_is)
{
    const spec_live_server server = {
        .url = "http://x", .model = "m", .dialect = &spec_openai_dialect};
    const spec_live_sampling sampling = {
        .tokens = 8, .transform = {.temperature = 0.5, .top_p = 0.9}, .presence = 1.0};
    static const struct {
        const char *line, *url, *body;
    } prompts[] = {
        {"{\"prompt\": \"a\\nb\", \"category\": \"x\"}", "http://x/v1/completions",
         "{\"prompt\": \"a\\nb\", \"model\": \"m\", \"max_tokens\": 8, \"temperature\": 0.5, "
         "\"top_p\": 0.9, \"presence_penalty\": 1.0, \"frequency_penalty\": 0.0, \"seed\": 7}"},
        {"{\"messages\": [{\"role\": \"user\", \"content\": \"é\"}]}",
         "http://x/v1/chat/completions",
         "{\"messages\": [{\"role\": \"user\", \"content\": \"é\"}], \"model\": \"m\", "
         "\"max_tokens\": 8, \"temperature\": 0.5, \"top_p\": 0.9, \"presence_penalty\": 1.0, "
         "\"frequency_penalty\": 0.0, \"seed\": 7}"}};
    for (int i = 0; i < 2; i++) {
        json_t *line = parsed(prompts[i].line), *body = parsed(prompts[i].body);
        spec_http_request request = {.body = NULL};
        spec_live_tokens prompt;
        assert_works(spec_openai_prompt(&prompt, line, &error));
        spec_openai_dialect.ask_text(&request, &server, &prompt, &sampling, 7);
        assert_string_equal(request.url, prompts[i].url);
        assert_true(json_equal(request.body, body));
        spec_live_tokens_free(&prompt);
        json_decref(request.body);
        json_decref(line);
        json_decref(body);
    }
}

/* ---- texts and scores ------------------------------------------------------------------------ */

static const char llama_text[] = "{\"tokens\": [403, 407, 2], \"stop_type\": \"eos\"}";
static const char vllm_text[] =
    "{\"id\": \"cmpl-1\", \"object\": \"text_completion\", \"created\": 1, \"model\": \"m\", "
    "\"choices\": [{\"index\": 0, \"text\": \" a b\", \"logprobs\": null, \"finish_reason\": "
    "\"length\", \"stop_reason\": null, \"token_ids\": [403, 407, 2], \"prompt_token_ids\": [1], "
    "\"prompt_logprobs\": null}], \"usage\": {\"prompt_tokens\": 1, \"completion_tokens\": 3}}";
static const char sglang_text[] =
    "{\"text\": \" a b\", \"output_ids\": [403, 407, 2], \"meta_info\": {\"id\": \"1\", "
    "\"finish_reason\": {\"type\": \"length\", \"length\": 3}, \"prompt_tokens\": 1, "
    "\"completion_tokens\": 3, \"input_token_logprobs\": [[null, 1, null]], "
    "\"output_token_logprobs\": [[-0.5, 403, null], [-1.5, 407, null], [-0.1, 2, null]]}}";

TEST(each_dialect_reads_the_ids_of_a_text)
{
    static const char *const text[] = {llama_text, vllm_text, sglang_text};
    static const int32_t expected[] = {403, 407, 2};
    for (int i = 0; i < 3; i++) {
        spec_live_tokens tokens;
        json_t *answer = parsed(text[i]);
        assert_works(spec_dialects[i].read_text(&tokens, answer, &error));
        assert_int_equal(tokens.n, 3);
        assert_memory_equal(tokens.token, expected, sizeof expected);
        spec_live_tokens_free(&tokens);
        json_decref(answer);
    }
}

/* The scores of the last two tokens, with two candidates each. */
static const char vllm_scores[] =
    "{\"choices\": [{\"index\": 0, \"text\": \"x\", \"prompt_logprobs\": [null, "
    "{\"5\": {\"logprob\": -0.1, \"rank\": 1, \"decoded_token\": \"a\"}}, "
    /* the prompt's token has rank 37, and is listed along with the two most probable ones */
    "{\"9\": {\"logprob\": -7.5, \"rank\": 37, \"decoded_token\": \"b\"}, "
    "\"4\": {\"logprob\": -0.25, \"rank\": 1, \"decoded_token\": \"c\"}, "
    "\"6\": {\"logprob\": -2.0, \"rank\": 2, \"decoded_token\": \"d\"}}, "
    "{\"6\": {\"logprob\": -1.0, \"rank\": 2, \"decoded_token\": \"d\"}, "
    "\"4\": {\"logprob\": -0.75, \"rank\": 1, \"decoded_token\": \"c\"}}]}]}";
static const char sglang_scores[] =
    "{\"text\": \"x\", \"meta_info\": {\"input_token_logprobs\": [[null, 5, null], [-7.5, 9, null],"
    " [-1.0, 6, null]], \"input_top_logprobs\": [null, [[-0.25, 4, null], [-2.0, 6, null]], "
    "[[-0.75, 4, null], [-1.0, 6, null]]]}}";

TEST(each_dialect_reads_the_most_probable_tokens_in_order)
{
    static const char *const name[] = {"vLLM", "SGLang"}, *const text[] = {vllm_scores,
                                                                           sglang_scores};
    for (int i = 0; i < 2; i++) {
        static spec_live_place place[2];
        json_t *answer = parsed(text[i]);
        assert_works(dialect_of(name[i])->read_scores(place, 2, 2, answer, &error));
        assert_int_equal(place[0].n, 2);
        assert_int_equal(place[0].top[0].id, 4);
        assert_int_equal(place[0].top[1].id, 6);
        assert_same(place[0].top[0].log, -0.25);
        assert_same(place[1].top[1].log, -1.0);
        assert_status(dialect_of(name[i])->read_scores(place, 5, 2, answer, &error), GSL_EINVAL);
        json_decref(answer);
    }
}

TEST(llama_server_scores_the_token_after_a_prefix)
{
    static spec_live_place place;
    json_t *answer =
        parsed("{\"completion_probabilities\": [{\"id\": 6, \"token\": \" d\", \"bytes\": [32, "
               "100], \"logprob\": -1.0, \"top_logprobs\": [{\"id\": 4, \"token\": \" c\", "
               "\"bytes\": [32, 99], \"logprob\": -0.75}, {\"id\": 6, \"token\": \" d\", "
               "\"bytes\": [32, 100], \"logprob\": -1.0}]}]}");
    assert_works(dialect_of("llama-server")->read_scores(&place, 1, 2, answer, &error));
    assert_int_equal(place.n, 2);
    assert_int_equal(place.top[0].id, 4);
    json_decref(answer);
}

TEST(hostile_scores_are_refused)
{
    static const char *const list[] = {
        "[]",
        "[{\"id\": 1}]",
        "[{\"id\": -1, \"logprob\": -1}]",
        "[{\"id\": 1, \"logprob\": 2}]",
        "[{\"id\": 1, \"logprob\": \"x\"}]",
        "[{\"id\": 1.5, \"logprob\": -1}]",
        "[{\"id\": 99999999999, \"logprob\": -1}]",
        "null",
        "7",
        "[[]]",
        "[{\"id\": 1, \"logprob\": -1}, {\"id\": 1, \"logprob\": -2}]",
        "[{\"id\": 1, \"logprob\": -0.1}, {\"id\": 2, \"logprob\": -0.1}]",
        "[{\"id\": 1, \"logprob\": -3}, {\"id\": 2, \"logprob\": -3}, {\"id\": 3, \"logprob\": "
        "-3}]",
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        static spec_live_place place;
        char text[512];
        snprintf(text, sizeof text, "{\"completion_probabilities\": [{\"top_logprobs\": %s}]}",
                 list[i]);
        json_t *answer = parsed(text);
        assert_status(dialect_of("llama-server")->read_scores(&place, 1, 2, answer, &error),
                      GSL_EINVAL);
        json_decref(answer);
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

/* If these keys were missing, a server's defaults would change the law. */
TEST(a_request_for_a_text_states_all_that_decides_its_law)
{
    static const char *const keys[3][6] = {
        {"temperature", "top_k", "top_p", "min_p", "samplers", "seed"},
        {"temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed"},
        {"temperature", "top_k", "top_p", "min_p", "sampling_seed", "ignore_eos"}};
    int32_t ids[] = {1, 5};
    const spec_live_tokens prompt = {ids, 2};
    const spec_live_sampling sampling = {.tokens = 7, .transform = SPEC_TRANSFORM_NONE};
    for (int i = 0; i < 3; i++) {
        const spec_live_server server = {
            .url = "http://x", .opt_key = "k", .dialect = &spec_dialects[i], .model = "m"};
        spec_http_request request = {.body = NULL};
        spec_dialects[i].ask_text(&request, &server, &prompt, &sampling, 99);
        const json_t *inner = json_object_get(request.body, "sampling_params");
        for (int k = 0; k < 6; k++)
            assert_non_null(json_object_get(inner != NULL ? inner : request.body, keys[i][k]));
        assert_string_equal(request.opt_key, "k");
        json_decref(request.body);
    }
}

/* Each number must be sent under the server's own name for it; -1 or 0 means no top-k. */
TEST(the_sampling_of_each_dialect_is_whole)
{
    static const char *const expected[][2] = {
        {"{\"min_p\":0.125,\"n_predict\":7,\"samplers\":[\"top_k\",\"top_p\",\"min_p\","
         "\"temperature\"],"
         "\"seed\":99,\"temperature\":0.5,\"top_k\":20,\"top_p\":0.75}",
         "{\"min_p\":0.0,\"n_predict\":7,\"samplers\":[\"top_k\",\"top_p\",\"min_p\","
         "\"temperature\"],"
         "\"seed\":99,\"temperature\":1.0,\"top_k\":0,\"top_p\":1.0}"},
        {"{\"frequency_penalty\":0.0,\"max_tokens\":7,\"min_p\":0.125,\"presence_penalty\":0.0,"
         "\"repetition_penalty\":1.0,\"seed\":99,\"temperature\":0.5,\"top_k\":20,\"top_p\":0.75}",
         "{\"frequency_penalty\":0.0,\"max_tokens\":7,\"min_p\":0.0,\"presence_penalty\":0.0,"
         "\"repetition_penalty\":1.0,\"seed\":99,\"temperature\":1.0,\"top_k\":-1,\"top_p\":1.0}"},
        {"{\"frequency_penalty\":0.0,\"max_new_tokens\":7,\"min_p\":0.125,\"presence_penalty\":0.0,"
         "\"repetition_penalty\":1.0,\"sampling_seed\":99,\"temperature\":0.5,\"top_k\":20,"
         "\"top_p\":0.75}",
         "{\"frequency_penalty\":0.0,\"max_new_tokens\":7,\"min_p\":0.0,\"presence_penalty\":0.0,"
         "\"repetition_penalty\":1.0,\"sampling_seed\":99,\"temperature\":1.0,\"top_k\":-1,"
         "\"top_p\":1.0}"}};
    const spec_live_sampling sampling[] = {
        {.tokens = 7,
         .transform = {.temperature = 0.5, .top_k = 20, .top_p = 0.75, .min_p = 0.125}},
        {.tokens = 7, .transform = SPEC_TRANSFORM_NONE}};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) {
            json_t *keys = spec_dialects[i].sampling(&sampling[k], 99);
            char *text = json_dumps(keys, JSON_COMPACT | JSON_SORT_KEYS);
            assert_string_equal(text, expected[i][k]);
            free(text);
            json_decref(keys);
        }
}

TEST(penalties_are_sent_under_each_servers_names)
{
    static const char *const expected[] = {
        "{\"frequency_penalty\":0.25,\"min_p\":0.0,\"n_predict\":7,\"presence_penalty\":1.5,"
        "\"repeat_last_n\":64,\"repeat_penalty\":1.0,\"samplers\":[\"penalties\",\"top_k\","
        "\"top_p\",\"min_p\",\"temperature\"],\"seed\":99,\"temperature\":1.0,\"top_k\":0,"
        "\"top_p\":1.0}",
        "{\"frequency_penalty\":0.25,\"max_tokens\":7,\"min_p\":0.0,\"presence_penalty\":1.5,"
        "\"repetition_penalty\":1.0,\"seed\":99,\"temperature\":1.0,\"top_k\":-1,\"top_p\":1.0}",
        "{\"frequency_penalty\":0.25,\"max_new_tokens\":7,\"min_p\":0.0,\"presence_penalty\":1.5,"
        "\"repetition_penalty\":1.0,\"sampling_seed\":99,\"temperature\":1.0,\"top_k\":-1,"
        "\"top_p\":1.0}"};
    const spec_live_sampling sampling = {
        .tokens = 7, .transform = SPEC_TRANSFORM_NONE, .presence = 1.5, .frequency = 0.25};
    for (int i = 0; i < 3; i++) {
        json_t *keys = spec_dialects[i].sampling(&sampling, 99);
        char *text = json_dumps(keys, JSON_COMPACT | JSON_SORT_KEYS);
        assert_string_equal(text, expected[i]);
        assert_int_equal(spec_dialects[i].penalty_last, i == 0 ? 64 : 0);
        free(text);
        json_decref(keys);
    }
}

/* If a request names a slot, llama-server gives wrong texts to other requests that run at the same
 * time. */
TEST(llama_server_is_asked_for_the_next_token_in_no_slot_of_its_own)
{
    int32_t ids[] = {1, 5, 7};
    const spec_live_tokens tokens = {ids, 3};
    const spec_live_server server = {.url = "http://x", .slots = 4, .model = "m"};
    spec_http_request request = {.body = NULL};
    dialect_of("llama-server")->ask_scores(&request, &server, &tokens, 0, 20);
    assert_null(json_object_get(request.body, "id_slot"));
    assert_int_equal(json_integer_value(json_object_get(request.body, "n_predict")), 1);
    assert_int_equal(json_array_size(json_object_get(request.body, "prompt")), 3);
    json_decref(request.body);
}

/* The template's inputs are passed on, but nothing else from the line. */
TEST(a_chat_is_passed_on_with_all_that_decides_its_text)
{
    static const char *const path[] = {"/apply-template", "/tokenize", "/tokenize"};
    json_t *chat = parsed("{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], "
                          "\"category\": \"a\", \"tools\": [{\"type\": \"function\"}], "
                          "\"chat_template_kwargs\": {\"enable_thinking\": false}}");
    for (int i = 0; i < 3; i++) {
        const spec_live_server server = {.url = "http://x", .opt_key = "k", .model = "m"};
        spec_http_request request = {.body = NULL};
        json_t *expected = json_deep_copy(chat);
        spec_dialects[i].ask_chat(&request, &server, chat);
        json_object_del(expected, "category");
        if (i > 0) json_object_set_new(expected, "model", json_string("m"));
        assert_true(json_equal(request.body, expected));
        assert_string_equal(request.url + strlen("http://x"), path[i]);
        assert_string_equal(request.opt_key, "k");
        json_decref(request.body);
        json_decref(expected);
    }
    json_decref(chat);
}

TEST(vllm_and_sglang_answer_a_chat_with_tokens)
{
    json_t *answer = parsed("{\"tokens\": [1, 403, 407], \"count\": 3, \"max_model_len\": 4096}"),
           *list = parsed("{\"tokens\": [[1, 403]], \"count\": [2], \"max_model_len\": -1}");
    for (int i = 1; i < 3; i++) {
        spec_live_tokens tokens;
        assert_works(spec_dialects[i].read_chat(&tokens, answer, &error));
        assert_true(tokens.n == 3 && tokens.token[1] == 403);
        spec_live_tokens_free(&tokens);
        assert_status(spec_dialects[i].read_chat(&tokens, list, &error), GSL_EINVAL);
    }
    json_decref(answer);
    json_decref(list);
}

/* The caller frees them, even if reading failed. */
TEST(an_answer_without_tokens_leaves_none)
{
    static const char *const name[] = {"llama-server", "vLLM", "SGLang"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        int32_t other = 7;
        json_t *answer = parsed("{\"meta_info\": {}}");
        spec_live_tokens tokens = {&other, 1};
        assert_status(dialect_of(name[i])->read_tokens(&tokens, answer, &error), GSL_EINVAL);
        assert_true(tokens.token == NULL && tokens.n == 0);
        tokens = (spec_live_tokens){&other, 1};
        assert_status(dialect_of(name[i])->read_text(&tokens, answer, &error), GSL_EINVAL);
        assert_true(tokens.token == NULL && tokens.n == 0);
        json_decref(answer);
    }
}
