/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/log_format.h"
#include "experiments/advice/readers/readers.h"

const spec_log_format *const spec_log_formats[] = {
    &spec_reader_vllm_log,         &spec_reader_prometheus_vllm, &spec_reader_prometheus_sglang,
    &spec_reader_prometheus_llama, &spec_reader_prometheus_tgi,  NULL,
};
