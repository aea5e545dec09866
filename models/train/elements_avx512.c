/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/train/elements.h"

#if defined(__AVX512F__)
#include "models/train/elements_loops.h"

const spec_elements spec_elements_avx512 = ELEMENTS;
#endif
