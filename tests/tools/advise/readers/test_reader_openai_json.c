/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/log_format.h"

#include "tests/support/read_record.h"
#include "tests/support/support.h"

static const spec_log_format *const format = &spec_reader_openai_usage;

#define USAGE(details)                                                                             \
    "{\"object\":\"chat.completion\",\"model\":\"m\",\"choices\":[{\"finish_reason\":\"stop\"}],"  \
    "\"usage\":{\"completion_tokens\":260,\"completion_tokens_details\":{\"reasoning_tokens\":"    \
    "0" details "}}}"

TEST(accepted_and_rejected_tokens_were_drafted)
{
    const read_record r = read_record_of(
        format, USAGE(",\"accepted_prediction_tokens\":171,\"rejected_prediction_tokens\":126"), 3);
    assert_int_equal(r.n, 1);
    assert_true(r.observation[0].kind == SPEC_OBSERVED_REQUEST && r.observation[0].label != 0);
    assert_counts(&r.observation[0], 3, (const double[]){NAN, NAN, 297, 171, NAN});
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_ROUNDS | SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES);
    const read_record none = read_record_of(
        format, USAGE(",\"accepted_prediction_tokens\":0,\"rejected_prediction_tokens\":9"), -1);
    assert_counts(&none.observation[0], -1, (const double[]){NAN, NAN, 9, 0, NAN});
}

/* Providers fill in 0 or null, and engines have their own counts besides these. */
TEST(usage_without_predictions_says_nothing)
{
    static const char *const texts[] = {
        USAGE(",\"accepted_prediction_tokens\":0,\"rejected_prediction_tokens\":0"),
        USAGE(",\"accepted_prediction_tokens\":null,\"rejected_prediction_tokens\":null"),
        USAGE(""),
        "{\"accepted_prediction_tokens\":1,\"rejected_prediction_tokens\":1,\"spec_verify_ct\":1}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(format->concerns(texts[i], strlen(texts[i])));
    /* Two choices in an array, one of which predicted. */
    const read_record r = read_record_of(
        format,
        "[" USAGE(",\"accepted_prediction_tokens\":0,\"rejected_prediction_tokens\":0") "," USAGE(
            ",\"accepted_prediction_tokens\":2,\"rejected_prediction_tokens\":1") "]",
        -1);
    assert_int_equal(r.n, 1);
}

TEST(one_count_alone_is_refused)
{
    read_record_fails(format, USAGE(",\"accepted_prediction_tokens\":3"),
                      "x:7: 'accepted_prediction_tokens' and 'rejected_prediction_tokens' are "
                      "expected together");
    read_record_fails(format,
                      USAGE(",\"accepted_prediction_tokens\":3.5,"
                            "\"rejected_prediction_tokens\":0"),
                      "x:7: 'accepted_prediction_tokens' is '3.5': expected a whole number, at "
                      "least 0 and below 2^53");
}
