/* SPDX-License-Identifier: GPL-3.0-or-later */
/* team_start: whether this program is one of several processes that share a run.
 * speclab is alone (team_alone.c); speclab-mpi uses mpi/team_mpi.c instead. */
#ifndef SPECLAB_TEAM_START_H
#define SPECLAB_TEAM_START_H

#include "experiments/team.h"

/* Must be called first in main. Returns NULL if this process is alone. From here on, members print
 * nothing. */
const spec_team *spec_team_start(int *argc, char ***argv);

#endif
