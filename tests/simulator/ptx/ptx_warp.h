/* ptx_warp: what the 32 lanes of a warp do together: shuffles, votes and products of matrices, each as [PTX] defines
 * it. Written without a look at warp_exchange, which has the same for kernels that gcc compiled. */
#ifndef SPECLAB_PTX_WARP_H
#define SPECLAB_PTX_WARP_H

#include "tests/simulator/ptx/ptx_code.h"

/* shfl, vote_any, mma_bf16, mma_s8; false: the mask of lanes that it names is not all 32. */
bool ptx_warp(const ptx_instruction *i, char *const base[2]);

#endif
