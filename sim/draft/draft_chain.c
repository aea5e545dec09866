/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chain: each token drawn from the draft model's row [Leviathan23] [Chen23]. */
#include "sim/draft/drafter.h"

const spec_drafter_kind spec_draft_chain = {
    .name = "chain",
    .usage = "chain",
    .summary = "tokens sampled one after another from the draft model",
    .reference = "Leviathan23",
    .needs_model = true,
    .ends_where_declined = true,
    .draft = spec_drafter_extend,
};
