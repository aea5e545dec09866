/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SGLang's tree verification kernel as released, compiled for the CPU with one thread per block.
 *
 *     c++ -O2 -shared -fPIC -I CLONE/include -I CLONE/tests/verdicts/one_thread
 *         -I WHEEL/sglang/kernels/jit/include sglang_tree.cpp -o sglang_tree.so
 *     speclab validate ./sglang_tree.so --options '1 0.8'       threshold_single threshold_acc
 *
 * Joined here: one_thread/ in place of CUDA, CUB and FlashInfer, and its caller's work, the coins
 * and the links of the tree. */
#include <sgl_kernel/speculative/sampling.cuh>

#include <cstdio>
#include <cstring>
#include <random>
#include <speclab/sampler.h>
#include <vector>

namespace sglang {
namespace speculative_sampling {
__attribute__((aligned(16))) uint8_t smem_sampling[256];
}
} // namespace sglang

static float threshold_single = 1.0f, threshold_acc = 1.0f;

extern "C" {
uint32_t spec_sampler_abi(void) { return SPEC_SAMPLER_ABI; }

int spec_sampler_describe(spec_sampler_about *about)
{
    std::strcpy(about->name, "SGLang TreeSpeculativeSamplingTargetOnly");
    about->scopes = SPEC_SCOPE_VERIFY;
    about->chains = SPEC_DRAWN_FIXED | SPEC_DRAWN_IID;
    about->trees = SPEC_DRAWN_FIXED;
    return 0;
}

int spec_sampler_open(void **, const char *options)
{
    return options && std::sscanf(options, "%f %f", &threshold_single, &threshold_acc) != 2;
}
void spec_sampler_close(void *) {}

static void verify(spec_step &step)
{
    const uint32_t size = (uint32_t)step.n_nodes + 1, vocab = (uint32_t)step.vocab;
    std::vector<int64_t> token(size), index(size);
    std::vector<int64_t> child(size, -1), sibling(size, -1), last(size, -1);
    std::vector<float> coins(size), target(step.target, step.target + size * vocab);
    std::vector<float> draft(size * vocab);
    std::vector<int32_t> predict(size), accepted(size, -1);
    std::mt19937_64 random(step.seed ^ step.offset * 0x9e3779b97f4a7c15u);
    std::uniform_real_distribution<float> uniform;
    int32_t n_accepted = 0;
    float last_coin = uniform(random);
    for (uint32_t node = 0; node < size; node++) {
        coins[node] = uniform(random);
        index[node] = node;
        if (node == 0) continue;
        const int64_t parent = (step.parent ? step.parent[node - 1] : (int32_t)node - 2) + 1;
        token[node] = step.token[node - 1];
        (last[parent] < 0 ? child[parent] : sibling[last[parent]]) = node;
        last[parent] = node;
    }
    sglang::speculative_sampling::TreeSpeculativeSamplingTargetOnly<
        1, cub::BLOCK_SCAN, cub::BLOCK_REDUCE, 1, true, float, int32_t, int64_t>(
        predict.data(), accepted.data(), &n_accepted, token.data(), index.data(), child.data(),
        sibling.data(), coins.data(), &last_coin, target.data(), draft.data(), 1, size, size, vocab,
        threshold_single, threshold_acc);
    for (int32_t i = 0; i <= n_accepted; i++) step.ret_token[i] = predict[accepted[i]];
    *step.ret_n_accepted = n_accepted;
    *step.ret_n_emitted = n_accepted + 1;
}

int spec_sampler_step(void *, spec_step *steps, int32_t n_steps)
{
    for (int32_t i = 0; i < n_steps; i++) verify(steps[i]);
    return 0;
}
}
