/* SPDX-License-Identifier: GPL-3.0-or-later */
/* readers: the formats of log_formats_table.c, each defined in the file of its engine.
 * A record has at most one format. Headers only. */
#ifndef SPECLAB_READERS_H
#define SPECLAB_READERS_H

#include "experiments/advice/log_format.h"

extern const spec_log_format spec_reader_vllm_log;
extern const spec_log_format spec_reader_vllm_bench_table;
extern const spec_log_format spec_reader_prometheus_vllm;
extern const spec_log_format spec_reader_prometheus_sglang;
extern const spec_log_format spec_reader_prometheus_llama;
extern const spec_log_format spec_reader_prometheus_tgi;
/* JSON */
extern const spec_log_format spec_reader_vllm_response;
extern const spec_log_format spec_reader_vllm_bench;
extern const spec_log_format spec_reader_aiperf;
extern const spec_log_format spec_reader_aiperf_summary;
extern const spec_log_format spec_reader_speed_bench_report;
extern const spec_log_format spec_reader_specdec_bench;
extern const spec_log_format spec_reader_specdec_bench_response;
extern const spec_log_format spec_reader_openai_usage;
extern const spec_log_format spec_reader_sglang_response;
extern const spec_log_format spec_reader_sglang_server_info;
extern const spec_log_format spec_reader_tensorrt_iterations;
extern const spec_log_format spec_reader_tensorrt_response;
extern const spec_log_format spec_reader_llamacpp_response;
extern const spec_log_format spec_reader_mlx_vlm_response;
extern const spec_log_format spec_reader_lmstudio_response;
extern const spec_log_format spec_reader_mlc_metrics;
extern const spec_log_format spec_reader_accepted_lengths;
extern const spec_log_format spec_reader_llamacpp_log;
extern const spec_log_format spec_reader_mlx_vlm_log;
extern const spec_log_format spec_reader_ollama_log;
extern const spec_log_format spec_reader_sglang_log;

#endif
