/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/log_format.h"
#include "experiments/advice/readers/readers.h"

const spec_log_format *const spec_log_formats[] = {
    &spec_reader_vllm_log,
    &spec_reader_vllm_bench_table,
    &spec_reader_sglang_log,
    &spec_reader_llamacpp_log,
    &spec_reader_mlx_vlm_log,
    &spec_reader_ollama_log,
    &spec_reader_prometheus_vllm,
    &spec_reader_prometheus_sglang,
    &spec_reader_prometheus_llama,
    &spec_reader_prometheus_tgi,
    &spec_reader_vllm_response,
    &spec_reader_vllm_bench,
    &spec_reader_aiperf,
    &spec_reader_aiperf_summary,
    &spec_reader_speed_bench_report,
    &spec_reader_sglang_response,
    &spec_reader_sglang_server_info,
    &spec_reader_tensorrt_iterations,
    &spec_reader_tensorrt_response,
    &spec_reader_llamacpp_response,
    &spec_reader_mlx_vlm_response,
    &spec_reader_lmstudio_response,
    &spec_reader_mlc_metrics,
    &spec_reader_accepted_lengths,
    &spec_reader_specdec_bench,
    &spec_reader_specdec_bench_response,
    &spec_reader_openai_usage,
    NULL,
};
