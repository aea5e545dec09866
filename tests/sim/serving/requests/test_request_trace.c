/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/requests/request_trace.h"

#include "sim/chance/rng.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

static int read_text(spec_request_trace *trace, const char *text, spec_error *error)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(file);
    const int status = spec_request_trace_read(trace, file, "x", error);
    fclose(file);
    return status;
}

static spec_request_trace trace_of(const char *text)
{
    spec_request_trace trace;
    spec_error error = {""};
    if (read_text(&trace, text, &error) != GSL_SUCCESS) fail_msg("%s: %s", text, error.text);
    return trace;
}

/* ---- formats --------------------------------------------------------------------------------- */

/* The first lines as the projects publish them (docs/formats.md has the sources), except for the
 * times: each file has a request with a prompt of 374 and an output of 44 tokens at 0 s, and one of
 * 396 and 109 tokens at 4.25 s. */
static const struct {
    const char *format, *text;
} formats[] = {
    {"plain", "arrival,prompt,output\n0,374,44\n4.25,396,109\n"},
    {"plain",
     "user, output , prompt, arrival\r\na,44,374,9.5\r\n\"b, \"\"c\"\"\",109,396, 13.75\r\n"},
    {"plain", "{\"arrival\": 2, \"prompt\": 374, \"output\": 44}\n"
              "{\"output\": 109.0, \"prompt\": 396, \"arrival\": 6.25}\n"},
    {"plain", "# mine\n\"arrival\",\"prompt\",\"output\"\n\n2023-11-16T18:15:46Z,374,44\n"
              "2023-11-16T19:15:50.25+01:00,\"396\",109"},
    {"azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
              "2023-11-16 18:15:50.9305900,396,109\n"},
    {"azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 23:59:58+00:00,374,44\n"
              "2024-05-11 00:00:02.250000+00:00,396,109\n"},
    {"burstgpt", "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                 "5,ChatGPT,374,44,418,Conversation log\n9.25,GPT-4,396,109,505,API log\n"},
    {"burstgpt",
     "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log "
     "Type\n19440110.0,1722ac82-0a46-4bf0-aa08-89794e7a2b3f,43,GPT-4,374,44,418,Conversation log\n"
     "19440114.25,,2,ChatGPT,396,109,505,API log\n"},
    {"mooncake", "{\"timestamp\": 27482, \"input_length\": 374, \"output_length\": 44, "
                 "\"hash_ids\": [46, 47, 2353]}\n{\"timestamp\": 31732, \"input_length\": 396, "
                 "\"output_length\": 109, \"hash_ids\": []}\n"},
    {"splitwise",
     "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n"
     "0,2,0,1,1,374,44\n1,2,0,5.25,1,396,109\n"},
    {"vidur", "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n4.25,396,109\n"},
    {"llmservingsim",
     "{\"request_id\": \"bench-0\", \"input_toks\": 374, \"output_toks\": 44, \"arrival_time\": "
     "1787267980.25}\n{\"request_id\": \"bench-1\", \"input_toks\": 396, \"output_toks\": 109, "
     "\"arrival_time\": 1787267984.5}\n"},
    {"llmservingsim",
     "{\"input_toks\": 374, \"output_toks\": 44, \"arrival_time_ns\": 46926808, \"input_tok_ids\": "
     "[5971, 2927,], \"x[1]\": 1, \"x[2]\": \"[1,2\\\"]\"}\n{\"input_toks\": 396, \"output_toks\": "
     "109, "
     "\"arrival_time_ns\": 4296926808}\n"},
};

TEST(every_format_is_recognised_by_its_columns)
{
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        OWNED(spec_request_trace) trace = trace_of(formats[f].text);
        assert_string_equal(trace.format, formats[f].format);
        assert_int_equal(trace.n, 2);
        assert_true(trace.prompt[0] == 374 && trace.output[0] == 44);
        assert_true(trace.prompt[1] == 396 && trace.output[1] == 109);
        assert_same(trace.arrival[0], 0.0);
        assert_within(trace.arrival[1], 4.25, 1e-12);
        assert_true(trace.failed == 0 && trace.first_token == NULL && trace.queued == NULL);
    }
}

TEST(requests_without_an_output_are_counted_and_left_out)
{
    OWNED(spec_request_trace) trace =
        trace_of("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                 "3,GPT-4,300,0,300,API log\n5,ChatGPT,472,18,490,API log\n"
                 "1,GPT-4,300,0,300,API log\n7,ChatGPT,1087,230,1317,API log\n");
    assert_int_equal(trace.n, 2);
    assert_int_equal(trace.failed, 2);
    assert_same(trace.arrival[0], 0.0);
    assert_same(trace.arrival[1], 2.0);
}

TEST(a_file_without_times_has_lengths_alone)
{
    OWNED(spec_request_trace) trace =
        trace_of("num_prefill_tokens,num_decode_tokens,num_total_tokens,"
                 "pd_ratio\n3772,54,3826,69.85\n2015,156,2171,12.91\n");
    assert_null(trace.arrival);
    assert_int_equal(trace.n, 2);
    assert_int_equal(trace.prompt[1], 2015);
}

TEST(measured_times_are_arrays_of_their_own)
{
    OWNED(spec_request_trace) trace =
        trace_of("{\"input_toks\": 1, \"output_toks\": 2, \"arrival_time\": 5.5, \"queued_ts\": "
                 "7.5, \"scheduled_ts\": 8.5, \"first_token_ts\": 9.5, \"last_token_ts\": 11}\n");
    assert_same(trace.queued[0], 7.5);
    assert_same(trace.scheduled[0], 8.5);
    assert_same(trace.first_token[0], 9.5);
    assert_same(trace.last_token[0], 11.0);
    spec_request_trace_free(&trace);
    trace = trace_of("arrival,prompt,output,first_token_ts\n0,1,2,0.75\n");
    assert_same(trace.first_token[0], 0.75);
    assert_true(trace.queued == NULL && trace.last_token == NULL);
}

/* Writes random requests in CSV and in JSON and reads them back. There are enough for arrays to
 * grow. */
TEST(requests_come_back_as_they_were_written, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    enum { N = 5000 };
    spec_rng_state rng = spec_rng_stream_state(spec_test_seed(), 1);
    double arrival[N], time = 0.0;
    int prompt[N], output[N];
    for (int i = 0; i < N; i++) {
        time += i % 7 == 0 ? 0.0 : spec_rng_next_double(&rng);
        arrival[i] = i == 0 ? (time = 0.0) : time;
        prompt[i] = (int)(spec_rng_next(&rng) % 20000);
        output[i] = 1 + (int)(spec_rng_next(&rng) % 3000);
    }
    for (int json = 0; json < 2; json++) {
        FILE *file = fopen("trace", "w");
        assert_non_null(file);
        if (!json) fprintf(file, "arrival,prompt,output\n");
        for (int i = 0; i < N; i++)
            fprintf(file,
                    json ? "{\"arrival\": %.17g, \"prompt\": %d, \"output\": %d}\n"
                         : "%.17g,%d,%d\n",
                    arrival[i], prompt[i], output[i]);
        assert_int_equal(fclose(file), 0);
        OWNED(spec_request_trace) trace;
        assert_int_equal(spec_request_trace_load(&trace, "trace", NULL), GSL_SUCCESS);
        assert_int_equal(trace.n, N);
        for (int i = 0; i < N; i++)
            assert_true(trace.arrival[i] == arrival[i] && trace.prompt[i] == prompt[i] &&
                        trace.output[i] == output[i]);
    }
}

TEST(a_measured_run_of_an_engine_is_read)
{
    char path[4096];
    spec_test_data(path, sizeof path, "serving/RTX4090_Llama-3.1-8B.jsonl");
    OWNED(spec_request_trace) trace;
    assert_works(spec_request_trace_load(&trace, path, &error));
    assert_int_equal(trace.n, 300);
    assert_int_equal(trace.prompt[0], 2358);
    assert_same(trace.last_token[0], 27554.231018618);
    assert_within(trace.arrival[1], 0.2650914, 1e-6);
}

/* ---- errors ---------------------------------------------------------------------------------- */

#define HEAD "arrival,prompt,output\n"
#define SIM "{\"input_toks\": 5, \"output_toks\": 5, \"arrival_time\": 1"

TEST(every_mistake_has_its_line)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"\n", "x: is empty"},
        {"# nothing\n", "x: is empty"},
        {HEAD, "x: no request"},
        {HEAD "1,5,0\n", "x: no request with an output of 1 token or more"},
        {"a,b\n1,2\n",
         "x:1: has no column of a known trace; name them arrival,prompt,output or as in "
         "docs/formats.md#traces-of-requests. There are: a, b"},
        {"{\"id\": 3, \"x\": [1]}\n",
         "x:1: has no column of a known trace; name them arrival,prompt,output or as in "
         "docs/formats.md#traces-of-requests. There are: id, x"},
        {"TIMESTAMP,ContextTokens\n",
         "x:1: has no column 'GeneratedTokens'; a trace of this format (azure) has TIMESTAMP, "
         "ContextTokens and GeneratedTokens"},
        {"arrival,output\n",
         "x:1: has no column 'prompt'; a trace of this format (plain) has arrival, prompt and "
         "output"},
        {HEAD "1,5,5\n3,5,5\n2,5,5\n",
         "x:4: time goes back, from 2 s to 1 s after the first request: "
         "sort the file by arrival"},
        {HEAD "1,5,5\n0.5,5,5\n",
         "x:3: time goes back, from 0 s to -0.5 s after the first request: sort the file by "
         "arrival"},
        {HEAD "1,5,5\n1e99,5,5\n", "x:3: arrival is 1e+99 s after the first request; the limit is "
                                   "1e+10 s"},
        {HEAD "-1.8e308,5,5\n", "x:2: arrival is '-1.8e308': neither a number nor a date such as "
                                "2023-11-16 18:17:03.98"},
        {HEAD "1,-5,5\n", "x:2: prompt is -5: it must be a whole number from 0 to 16777216"},
        {HEAD "1,5,-5\n", "x:2: output is -5: it must be a whole number from 0 to 16777216"},
        {HEAD "1,5.5,5\n", "x:2: prompt is 5.5: it must be a whole number from 0 to 16777216"},
        {HEAD "1,5,1e12\n", "x:2: output is 1e+12: it must be a whole number from 0 to 16777216"},
        {HEAD "1,nan,5\n", "x:2: prompt is 'nan': not a finite number"},
        {HEAD "1,,5\n", "x:2: prompt is empty"},
        {HEAD "1,5\n", "x:2: has 2 columns, and the header has 3"},
        {HEAD "1,5,5,5\n", "x:2: has 4 columns, and the header has 3"},
        {HEAD "\"1,5,5\n", "x:2: has a quote that does not end on its line"},
        {HEAD "\"1\"2,5,5\n", "x:2: has text after a quoted field"},
        {HEAD "yesterday,5,5\n", "x:2: arrival is 'yesterday': neither a number nor a date such as "
                                 "2023-11-16 18:17:03.98"},
        {HEAD "1,5,5\n2023-11-16 18:17:03,5,5\n",
         "x:3: arrival is a date, but the first request's is a number"},
        {"arrival,arrival,prompt,output\n", "x:1: has two columns called 'arrival'"},
        {"[{\"arrival\": 1}]\n", "x:1: is a JSON array: write one JSON object per line"},
        {SIM "}\n7\n", "x:2: '[' or '{' expected near '7' at byte 1"},
        {SIM "}\n[]\n", "x:2: is not a JSON object"},
        {SIM "}\n" SIM "\n", "x:2: '}' expected near end of file at byte 53"},
        {SIM "}\n{\"input_toks\": 5, \"output_toks\": 5}\n", "x:2: has no 'arrival_time'"},
        {SIM "}\n{\"input_toks\": \"5\", \"output_toks\": 5, \"arrival_time\": 2}\n",
         "x:2: input_toks is not a number"},
        {SIM ", \"first_token_ts\": 2, \"last_token_ts\": 1}\n",
         "x:1: last_token_ts is before first_token_ts"},
        {SIM ", \"first_token_ts\": null}\n", "x:1: first_token_ts is not a number"},
        {"{\"session_id\": \"a\", \"input_toks\": 1, \"output_toks\": 1, \"arrival_time_ns\": 1, "
         "\"sub_requests\": []}\n",
         "x:1: is a session with sub_requests: write its requests as lines of their own"},
        {SIM ", \"arrival_time\": 1}\n", "x:1: duplicate object key near '\"arrival_time\"' at "
                                         "byte 69"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spec_request_trace trace;
        spec_error error = {""};
        assert_int_not_equal(read_text(&trace, cases[c].text, &error), GSL_SUCCESS);
        assert_string_equal(error.text, cases[c].error);
        assert_true(trace.n == 0 && trace.arrival == NULL && trace.prompt == NULL);
    }
}

TEST(too_many_columns_are_refused)
{
    char text[1000];
    memset(text, ',', 300);
    strcpy(text + 300, "\n");
    spec_request_trace trace;
    assert_fails(read_text(&trace, text, &error), GSL_EINVAL, "x:1: has more than 256 columns");
}

TEST(a_missing_file_is_named, .setup = spec_folder_enter, .teardown = spec_folder_leave)
{
    spec_request_trace trace;
    assert_fails(spec_request_trace_load(&trace, "none.csv", &error), GSL_EFAILED,
                 "none.csv: No such file or directory");
    assert_fails(spec_request_trace_load(&trace, "/dev/null", &error), GSL_EINVAL,
                 "/dev/null: is empty");
}
