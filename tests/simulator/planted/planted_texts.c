/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/ptx/ptx_texts.h"

#define PTX_FOLDER "build/gpu/tests/simulator/planted/"

PTX_TAKE_IN(planted)
const ptx_text ptx_texts[] = {PTX_ROWS(planted){NULL, NULL, 0}};
