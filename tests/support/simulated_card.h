/* simulated_card: tests of the GPU backend run on the simulated card unless SPECLAB_CARD=1 says that a real one is to be
 * used. The simulator is built beside the tests: build/<config>/tests/simulator/libcuda.so; SIM_LIBRARY names another
 * there (libcuda_watched.so). */
#ifndef SPECLAB_TESTS_SIMULATED_CARD_H
#define SPECLAB_TESTS_SIMULATED_CARD_H

#include <stdbool.h>

/* To be called before the driver is first asked for, best as the first line of main: sets SPECLAB_LIBCUDA for this
 * process and its children. */
void spec_simulated_card(void);

/* Whether tests run on a real card, which has no SIM_ variables. */
bool spec_card_is_real(void);

/* The path of a library that lies in build/<config>/tests/simulator. */
const char *spec_simulator_path(const char *name);

#endif
