/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lab_table: the table that library functions return; api_run.c reads and frees it.
 * Headers only. */
#ifndef SPECLAB_LAB_TABLE_H
#define SPECLAB_LAB_TABLE_H

#include "experiments/experiment.h"

struct speclab_table {
    spec_result result;
};

#endif
