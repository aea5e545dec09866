/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_kinds.h"

#define LINE(name) &spec_model_##name,
const spec_model_kind *const spec_model_kinds[] = {SPEC_MODELS(LINE) NULL};
