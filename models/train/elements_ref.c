/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/train/elements_loops.h"

const spec_elements spec_elements_ref = ELEMENTS;
