/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions that llama.cpp's sampling code calls in the rest of llama.cpp: clocks, logging, no
 * samples made on a device. All others abort, in a file that packages.py writes. */
#include <common.h>
#include <llama-impl.h>
#include <llama.h>

time_meas::time_meas(int64_t &total, bool) : t_start_us(0), t_acc(total) {}
time_meas::~time_meas() {}
common_time_meas::common_time_meas(int64_t &total, bool) : t_start_us(0), t_acc(total) {}
common_time_meas::~common_time_meas() {}
int common_log_get_verbosity_thold() { return -1; }

extern "C" {
int64_t ggml_time_us(void) { return 0; }
llama_sampler_chain_params llama_sampler_chain_default_params(void) { return {true}; }
uint32_t llama_get_sampled_logits_count_ith(llama_context *, int32_t) { return 0; }
uint32_t llama_get_sampled_probs_count_ith(llama_context *, int32_t) { return 0; }
}
