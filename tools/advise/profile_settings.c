/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/profile_settings.h"

#include "base/names.h"

#include <math.h>

/* Names and meanings as of 2026. For vLLM they are in vllm/config/speculative.py, for SGLang in
 * srt/environ.py and srt/speculative/spec_utils.py, for TensorRT-LLM in
 * _torch/speculative/interface.py, for Dynamo in lib/mocker/src/common/speculative.rs, and for
 * AIConfigurator in the guide of its command line. golden_al_distribution/README.md of InferenceX
 * also describes the option of ATOM. */

enum { MOCKER_K = 5 };

/* Writes rates with four digits; rounding keeps their order. */
static void write_rates(FILE *out, const spec_profile_number *rate, int K, const char *between)
{
    for (int i = 0; i < K; i++)
        fprintf(out, "%s%.4g", i > 0 ? between : "", isnan(rate[i].value) ? 0.0 : rate[i].value);
}

static double length_of(const spec_acceptance_profile *profile)
{
    return spec_acceptance_profile_length(profile, profile->K);
}

static void write_vllm(FILE *out, const spec_acceptance_profile *profile)
{
    fprintf(out,
            "    --speculative-config '{..., \"num_speculative_tokens\": %d, "
            "\"rejection_sample_method\": \"synthetic\", \"synthetic_acceptance_rates\": [",
            profile->K);
    write_rates(out, profile->unconditional, profile->K, ", ");
    fprintf(out,
            "]}'\n"
            "    # ... are the keys that you have, such as method and model\n"
            "\n"
            "The bonus token is not counted. The rates are unconditional: entry i is the share of "
            "all rounds whose first i draft tokens are accepted. Their sum, %.4g, is the mean "
            "length without the bonus token.\n"
            "\n"
            "In one number it is \"synthetic_acceptance_length\": %.4g, in which the bonus token "
            "counts. Each round then accepts this number less 1, rounded down or up: the same "
            "mean, and another distribution.\n",
            length_of(profile) - 1.0, length_of(profile));
}

static void write_sglang(FILE *out, const spec_acceptance_profile *profile)
{
    fprintf(out,
            "    SGLANG_SIMULATE_ACC_LEN=%.4g SGLANG_SIMULATE_ACC_METHOD=match-expected "
            "SGLANG_SIMULATE_ACC_TOKEN_MODE=real-draft-token\n"
            "    # in the environment of the server, whose options are\n"
            "    # --speculative-num-steps %d --speculative-eagle-topk 1\n"
            "\n"
            "The bonus token is counted: the length is between 1 and K + 1 = %d.\n"
            "\n"
            "All requests of a step then accept the same number of tokens: the length, rounded "
            "down or up. The method multinomial, the default of older versions, rounds a normal "
            "number, and its mean is not the length. Versions without the token mode ignore it.\n",
            length_of(profile), profile->K, profile->K + 1);
}

static void write_tensorrt(FILE *out, const spec_acceptance_profile *profile)
{
    fprintf(out,
            "    TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS=%.4g\n"
            "    # in the environment of the workers, with max_draft_len: %d\n"
            "\n"
            "The bonus token is not counted: the number is the mean length less 1.\n"
            "\n"
            "The fraction is the chance of one more token. Older versions accept only a whole "
            "number; if it has a fraction, they warn and ignore the setting.\n",
            length_of(profile) - 1.0, profile->K);
}

static void write_atom(FILE *out, const spec_acceptance_profile *profile)
{
    fprintf(out,
            "    --num-speculative-tokens %d --spec-decode-acceptance-length %.4g\n"
            "\n"
            "The bonus token is counted. --spec-decode-acceptance-rate %.4g is the same as a share "
            "of the draft tokens, (length - 1) / K, without it.\n",
            profile->K, length_of(profile), (length_of(profile) - 1.0) / profile->K);
}

static void write_aiconfigurator(FILE *out, const spec_acceptance_profile *profile)
{
    fprintf(out,
            "    --nextn %d --nextn-accepted %.4g\n"
            "\n"
            "The bonus token is not counted: the number is the mean length less 1, and a step "
            "yields 1 more. In older configurations nextn_accept_rates are conditional rates, as "
            "for Dynamo.\n",
            profile->K, length_of(profile) - 1.0);
}

static void write_dynamo(FILE *out, const spec_acceptance_profile *profile)
{
    const int K = profile->K < MOCKER_K ? profile->K : MOCKER_K;
    fprintf(out, "    --aic-nextn %d --aic-nextn-accept-rates ", K);
    write_rates(out, profile->conditional, K, ",");
    fprintf(out,
            "\n"
            "    # --ais-nextn and --ais-nextn-accept-rates in newer versions\n"
            "\n"
            "The rates are conditional: entry i is the share of the rounds that accept draft token "
            "i among those that accepted all before it. The bonus token is not one of them; the "
            "mocker adds it to every round.\n"
            "\n"
            "Missing rates are 0, and without the second option they are 0.85,0.3,0,0,0.\n");
    if (profile->K > MOCKER_K)
        fprintf(out,
                "\nThe mocker drafts at most %d tokens: the mean length becomes %.4g instead of "
                "%.4g.\n",
                MOCKER_K, spec_acceptance_profile_length(profile, MOCKER_K), length_of(profile));
}

static void write_inferencex(FILE *out, const spec_acceptance_profile *profile)
{
    fprintf(out,
            "    %d: %.2f\n"
            "    # a line of golden_al_distribution/MODEL.yaml, below the model and\n"
            "    # thinking_on or thinking_off\n"
            "\n"
            "The bonus token is counted: AL = 1 + accepted draft tokens / rounds.\n"
            "\n"
            "A submission must take the committed AL of its model, so this one is to compare with "
            "it, or to propose a curve. Its servers get AL from vLLM's synthetic_acceptance_length "
            "and SGLANG_SIMULATE_ACC_LEN as it is, and from TensorRT-LLM's "
            "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS as AL - 1 = %.2f.\n",
            profile->K, length_of(profile), length_of(profile) - 1.0);
}

const spec_profile_tool spec_profile_tools[] = {
    {"vllm", "vLLM", "unconditional rates, without the bonus token", write_vllm},
    {"sglang", "SGLang", "mean length with the bonus token", write_sglang},
    {"tensorrt-llm", "TensorRT-LLM", "mean length without the bonus token", write_tensorrt},
    {"atom", "ATOM", "mean length with the bonus token", write_atom},
    {"aiconfigurator", "AIConfigurator", "mean length without the bonus token",
     write_aiconfigurator},
    {"dynamo", "Dynamo's mocker", "conditional rates, without the bonus token", write_dynamo},
    {"inferencex", "InferenceX", "mean length with the bonus token", write_inferencex},
    {NULL, NULL, NULL, NULL},
};

static const char *name_of(int i)
{
    return spec_profile_tools[i].name;
}

int spec_profile_tool_find(const char *name, spec_error *error)
{
    return spec_names_find(name_of, name, "tool", error);
}

void spec_profile_tool_write(FILE *out, const spec_profile_tool *tool,
                             const spec_acceptance_profile *profile)
{
    fprintf(out, "Setting for %s, with K = %d:\n\n", tool->title, profile->K);
    tool->write(out, profile);
    if (profile->one_rate)
        fprintf(out, "\n"
                     "The engine printed only the mean length, so the rates by depth assume that "
                     "all depths have the same conditional rate.\n");
    if (profile->passes > 1.01 * profile->rounds)
        fprintf(out,
                "\n%.0f %% of the passes had no draft. The setting is for those that had one, and "
                "no tool leaves drafts out.\n",
                100.0 * (1.0 - profile->rounds / profile->passes));
}
