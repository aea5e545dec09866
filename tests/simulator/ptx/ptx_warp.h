/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ptx_warp: PTX shuffles, votes and matrix products of a warp, as [PTX] defines them.
 * Written independently of warp_exchange, which does the same for kernels that gcc compiled. */
#ifndef SPECLAB_PTX_WARP_H
#define SPECLAB_PTX_WARP_H

#include "tests/simulator/ptx/ptx_code.h"

/* Executes shfl, vote_any, mma_bf16 or mma_s8; returns false if its lane mask is not all 32. */
bool ptx_warp(const ptx_instruction *i, char *const base[2]);

#endif
