/* SPDX-License-Identifier: GPL-3.0-or-later */
/* llamacpp_lines: lines that llama.cpp's programs printed, for the tests of their reader.
 * Headers only. */
#ifndef SPECLAB_TESTS_LLAMACPP_LINES_H
#define SPECLAB_TESTS_LLAMACPP_LINES_H

/* 67 rounds, of which 37 and 16 accept depths 1 and 2; each draft takes 11.02 ms. */
#define MTP                                                                                        \
    "statistics draft-mtp: #calls(b,g,a) = 1 67 67, #gen drafts = 67, #acc drafts = 37, #gen "     \
    "tokens = 134, #acc tokens = 53, #mean acc len = 1.79, #acc rate/pos = (0.552, 0.239), "       \
    "dur(b,g,a) = 0.004, 738.044, 0.354 ms\n"

/* The last lines of llama-speculative, and the times of one of its contexts. */
#define RUN                                                                                        \
    "encoded   14 tokens in    0.054 seconds, speed:  258.250 t/s\n"                               \
    "decoded  673 tokens in   12.132 seconds, speed:   55.473 t/s\n\n"                             \
    "n_draft   = 5\nn_predict = 673\nn_drafted = 730\nn_accept  = 526\naccept    = 72.055%\n"
#define CONTEXT                                                                                    \
    "llama_perf_context_print:        eval time =   27636.04 ms /   898 runs   (   30.78 ms per "  \
    "token,    32.49 tokens per second)\n"

#endif
