/* SPDX-License-Identifier: GPL-3.0-or-later */
/* readers: the formats that `advise` reads, one source file each.
 * Their table is in experiments/advice/log_formats_table.c. */
#ifndef SPECLAB_READERS_H
#define SPECLAB_READERS_H

#include "experiments/advice/log_format.h"

extern const spec_log_format spec_reader_vllm_log;
extern const spec_log_format spec_reader_prometheus_vllm;
extern const spec_log_format spec_reader_prometheus_sglang;
extern const spec_log_format spec_reader_prometheus_llama;
extern const spec_log_format spec_reader_prometheus_tgi;

#endif
