/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/dflash/dflash_model.h"
#include "models/dflash/dflash_session.h"
#include "models/model_kinds.h"

const spec_model_kind spec_model_dflash = {
    .name = "dflash",
    .usage = "dflash:PATH?block=0&confidence=0",
    .summary = "a block draft of llama.cpp: DFlash, DSpark (confidence= ends drafts) or DFlash2",
    .reference = "DFlash26",
    .needs_target = true,
    .reads_target = true,
    .rows_by_round = true,
    .applies_temperature = true,
    .open = spec_dflash_model_open,
    .close = spec_dflash_model_close,
    .load = spec_dflash_model_load,
    .row = spec_dflash_session_row,
    .score = spec_dflash_session_score,
    .session_init = spec_dflash_session_init,
    .session_free = spec_dflash_session_free,
    .session_share = spec_dflash_session_share,
    .declines = spec_dflash_session_declines,
};
