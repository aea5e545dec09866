/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/log_format.h"

const spec_log_format *const spec_log_formats[] = {
    NULL,
};
