/* The claim of the project: what is emitted has the law that the rule promises, exactly, whatever the draft, the strategy and the policy.
 * Every case is an enumeration of all branches of the decoding loop against a product of the target's rows. */
#include "sim/output_law.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <string.h>

static const char *const rules[] = {"token", "match", "greedy"};
static const char *const draftings[] = {"chain", "greedy", "lookup?max=2", "lookup?max=2&min=2&full=1"};
static const char *const policies[] = {"fixed",
                                       "heuristic?cap=3",
                                       "confidence?threshold=0.45",
                                       "cumulative?threshold=0.6",
                                       "peak?threshold=0.55",
                                       "oracle"};
enum { N_RULES = 3, N_DRAFTINGS = 4, N_POLICIES = 6, LIMIT = 10000000 };

typedef struct {
    uint64_t laws, branches;
    double worst;
} survey;

static spec_output_law law_of(const spec_model *target, const spec_model *draft, const char *rule, const char *drafting,
                              const char *policy, int K, int n_tokens, const int *prompt, size_t n_prompt)
{
    const spec_decoder_config config = {.target = target, .opt_draft = draft, .drafting = drafting, .policy = policy,
                                        .rule = rule, .K = K, .costs = SPEC_COSTS_DEFAULT};
    spec_error error = {""};
    spec_output_law law;
    if (spec_output_law_init(&law, &config, prompt, n_prompt, n_tokens, LIMIT, &error) != GSL_SUCCESS)
        fail_msg("%s", error.text);
    return law;
}

static void check_lossless(survey *ret_survey, const spec_model *target, const spec_model *draft, const char *rule,
                           const char *drafting, const char *policy, int K, int n_tokens, const char *family)
{
    const int prompt[] = {0, target->vocab - 1, 0};
    const size_t n_prompt = drafting[0] == 'l' ? 3 : 0; /* prompt lookup needs something to look up */
    spec_output_law law = law_of(target, draft, rule, drafting, policy, K, n_tokens, prompt, n_prompt);
    if (!(law.tv < 1e-12) || !(fabs(law.total - 1.0) < 1e-12))
        fail_msg("%s %s %s K=%d m=%d V=%d %s: tv %g total %.17g", rule, drafting, policy, K, n_tokens, target->vocab, family,
                 law.tv, law.total);
    ret_survey->laws++;
    ret_survey->branches += law.branches;
    if (law.tv > ret_survey->worst) ret_survey->worst = law.tv;
    spec_output_law_free(&law);
}

/* One random pair for each rule x strategy x policy x K x tokens in each family: 864 pairs a family. */
static void every_rule_strategy_and_policy_is_lossless(void **state)
{
    (void)state;
    uint64_t noise = spec_test_seed();
    const uint64_t times = spec_test_samples(1);
    for (int family = 0; family < PAIR_FAMILIES; family++) {
        survey seen = {0};
        int turn = 0;
        for (uint64_t again = 0; again < times; again++)
            for (int c = 0; c < N_RULES * N_DRAFTINGS * N_POLICIES * 4 * 3; c++) {
                const int K = c % 4, n_tokens = 1 + c / 4 % 3;
                const char *rule = rules[c / 12 % N_RULES];
                const char *drafting = draftings[c / 12 / N_RULES % N_DRAFTINGS];
                const char *policy = policies[c / 12 / N_RULES / N_DRAFTINGS];
                const int V = 1 + turn++ % (K + n_tokens <= 4 ? 4 : 3);
                table_model target, draft;
                table_model_init(&target, V);
                table_model_init(&draft, V);
                table_pair_randomize(&target, &draft, (pair_family)family, &noise);
                check_lossless(&seen, &target.head, &draft.head, rule, drafting, policy, K, n_tokens,
                               pair_family_names[family]);
                table_model_free(&target);
                table_model_free(&draft);
            }
        print_message("%-8s %6llu laws %9llu branches, worst tv %.1e\n", pair_family_names[family],
                      (unsigned long long)seen.laws, (unsigned long long)seen.branches, seen.worst);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_strategy_and_policy_is_lossless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
