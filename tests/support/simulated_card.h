/* SPDX-License-Identifier: GPL-3.0-or-later */
/* simulated_card: selects the simulated GPU for tests, or a real one with SPECLAB_CARD=1.
 * The simulator is built beside the tests: build/<config>/tests/simulator/libcuda.so. SIM_LIBRARY
 * names another library there (libcuda_watched.so). */
#ifndef SPECLAB_TESTS_SIMULATED_CARD_H
#define SPECLAB_TESTS_SIMULATED_CARD_H

#include "tests/simulator/simulated_traffic.h"

#include <stdbool.h>

/* Sets SPECLAB_LIBCUDA for this process and its children. Call it before the driver is first used,
 * preferably in the first line of main. */
void spec_simulated_card(void);

/* Returns whether tests run on a real GPU, which has no SIM_ variables. */
bool spec_card_is_real(void);

/* Returns the counts of the simulated GPU. */
simulated_traffic spec_simulated_traffic(void);

/* Returns the path of a library in build/<config>/tests/simulator. */
const char *spec_simulator_path(const char *name);

#endif
