/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/length_choice.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

TEST(fixed_is_one_number_without_a_state)
{
    spec_length_choice *choice;
    void *run = &choice;
    const spec_step_batch batch = {.n = 3};
    assert_works(spec_length_choice_create(&choice, "fixed?K=5", NULL, &error));
    assert_int_equal(spec_length_begin(&run, choice, 8), GSL_SUCCESS);
    assert_null(run);
    assert_int_equal(spec_length_choose(choice, run, &batch, NULL), 5);
    assert_int_equal(spec_length_K_max(choice), 5);
    assert_false(spec_length_learns(choice));
    spec_length_end(run);
    spec_length_choice_free(choice);
}

TEST(unknown_choices_keys_and_values_are_refused)
{
    static const struct {
        const char *spec, *expected;
    } bad[] = {
        {"fixd?K=3", "no length choice is named 'fixd'; did you mean 'fixed'?"},
        {"fixed?k=3", "fixed has no key 'k'; did you mean 'K'?"},
        {"fixed?K=-1", "fixed: K=-1 is not a whole number between 0 and 256"},
        {"fixed:3", "fixed takes no ':3'; its keys follow a '?', as in fixed?K=3"},
        {"schedule", "schedule needs something after a ':', as in "
                     "schedule:[[1,32,5],[33,128,2]]?hysteresis=0"},
        {"schedule:[1,32,5]", "schedule:[1,32,5]: not valid from '1,32,5]' on; give [from,to,K] of "
                              "batch sizes, as in schedule:[[1,32,5],[33,128,2]]"},
        {"schedule:[[1,32,5]",
         "schedule:[[1,32,5]: not valid from '' on; give [from,to,K] of batch "
         "sizes, as in schedule:[[1,32,5],[33,128,2]]"},
        {"schedule:[[1,32,5]]x", "schedule:[[1,32,5]]x: not valid from 'x' on; give [from,to,K] of "
                                 "batch sizes, as in schedule:[[1,32,5],[33,128,2]]"},
        {"schedule:[[1,32,-5]]", "schedule:[[1,32,-5]]: not valid from '-5]]' on; give [from,to,K] "
                                 "of batch sizes, as in schedule:[[1,32,5],[33,128,2]]"},
        {"schedule:[[2,32,5]]", "schedule: the first range begins at 2; begin it at 1"},
        {"schedule:[[1,32,5],[32,64,2]]",
         "schedule: the range [32,64] does not follow 32: ranges ascend"},
        {"schedule:[[1,32,5],[40,33,2]]",
         "schedule: the range [40,33] does not follow 32: ranges ascend"},
        {"schedule:[[1,32,5]]?hysteresis=-1",
         "schedule: hysteresis=-1 is not a whole number between 0 and 1048576"},
        {"schedule:[[1,32,500]]", "schedule: K must be 0 to 256, got 500"},
        {"goodput?alpha=guess", "goodput: alpha=guess is not one of known or average"},
        {"goodput?K_max=257", "goodput: K_max=257 is not a whole number between 0 and 256"},
        {"goodput?rate=0", "goodput: rate=0 is not between 1e-06 and 1"},
        {"goodput?start=nan", "goodput: start=nan is not a finite number"},
        {"goodput?stop=first",
         "goodput has no key 'stop'; its keys are K_max,alpha,rate,start,probe"},
        {"goodput-each?stop=last", "goodput-each: stop=last is not one of best or first"},
        {"goodput-each?probe=-1",
         "goodput-each: probe=-1 is not a whole number between 0 and 1073741824"},
        {"heuristic?K=0", "heuristic: K=0 is not a whole number between 1 and 256"},
        {"heuristic?K=9&cap=8", "heuristic: K=9 is above cap=8"},
        {"bandit?explore=-1", "bandit: explore=-1 is not between 0 and 1000"},
        {"vllm-adaptive?K=65", "vllm-adaptive: K=65 is not a whole number between 1 and 64"},
        {"vllm-adaptive?lag=8", "vllm-adaptive: lag=8 is not a whole number between 0 and 7"},
        {"vllm-adaptive?confidence=1",
         "vllm-adaptive: confidence=1 is not one of known or estimated"},
        {"dspark?sharpness=-2", "dspark: sharpness=-2 is not between 0 and 100"},
        {"sglang?slots=2:1.3", "sglang: slots=2:1.3 at '2:1.3': give rising batch sizes from 1 on, "
                               "each with candidates, as in slots=1:1.3.5.7/8:0.1.3/32:0.1/64:0"},
        {"sglang?slots=1:1.3/1:2", "sglang: slots=1:1.3/1:2 at '1:2': give rising batch sizes from "
                                   "1 on, each with candidates, as in "
                                   "slots=1:1.3.5.7/8:0.1.3/32:0.1/64:0"},
        {"sglang?slots=1", "sglang: slots=1 at '1': give rising batch sizes from 1 on, each with "
                           "candidates, as in slots=1:1.3.5.7/8:0.1.3/32:0.1/64:0"},
        {"sglang?slots=1:3.1", "sglang: slots: candidates '3.1': give at most 16, rising"},
        {"sglang?slots=1:", "slots=: '' is not a number from 0 to 256; write several with "
                            "dots, as in 1.3.5"},
        {"sglang?slots=1:1.x",
         "slots=1.x: 'x' is not a number from 0 to 256; write several with dots, as in 1.3.5"},
        {"sglang?interval=0", "sglang: interval=0 is not a whole number between 1 and 1073741824"},
        {"trt?window=5", "trt: give both window= and threshold=, or neither"},
        {"trt?threshold=0.5", "trt: give both window= and threshold=, or neither"},
        {"trt?K=3&schedule=1:4", "trt: give either K= or schedule=, not both"},
        {"trt?schedule=2:4",
         "trt: schedule=2:4 at '': give rising batch sizes from 1 on, each with "
         "its K of 0 to 256, as in schedule=1:4/4:2/8:0"},
        {"trt?schedule=4:2/2:4&sizes=upto",
         "trt: schedule=4:2/2:4 at '': give rising batch sizes, each with its K of 0 to 256, as in "
         "schedule=1:4/4:2/8:0"},
        {"trt?schedule=1:4x", "trt: schedule=1:4x: 'x' is left over"},
        {"context?of=5@0/2.5@9", "context: of: 2.5 is not a whole number"},
        {"context?of=5@0/257@9", "context: of: '257' is not a number from 0 to 256"},
        {"context?of=5@0/3", "context: of: '3' has no context length; write it as in 3@4000"},
        {"context?K=5", "context has no key 'K'; its keys are of"},
        {"trt?sizes=to", "trt: sizes=to is not one of from or upto"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        spec_length_choice *choice = (spec_length_choice *)&choice;
        spec_error error = {""};
        assert_int_not_equal(spec_length_choice_create(&choice, bad[i].spec, NULL, &error), 0);
        assert_null(choice);
        if (strcmp(error.text, bad[i].expected) != 0)
            fail_msg("'%s', not '%s'", error.text, bad[i].expected);
    }
    spec_length_choice_free(NULL);
}
