/* SPDX-License-Identifier: GPL-3.0-or-later */
/* llama: a stand-in for llama.cpp's llama.h, with the names that the adapter uses.
 * For tests on machines without llama.cpp. */
#ifndef LLAMA_STAND_IN_H
#define LLAMA_STAND_IN_H

#include <cstdint>

struct llama_model;
struct llama_vocab;
struct llama_context;
typedef int32_t llama_token;
enum { LLAMA_TOKEN_NULL = -1 };

extern "C" {
void llama_synchronize(llama_context *context);
const llama_model *llama_get_model(const llama_context *context);
const llama_vocab *llama_model_get_vocab(const llama_model *model);
int32_t llama_vocab_n_tokens(const llama_vocab *vocab);
float *llama_get_logits_ith(llama_context *context, int32_t i);
}

#endif
