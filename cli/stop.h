/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stop: how a signal ends the program: ctrl-C, SIGTERM, SIGHUP, or SIGPIPE for standard output.
 * The first signal sets spec_stop. Long computations read it; the verb then writes what is finished
 * and returns. If a verb has not returned after two seconds, it has not noticed the signal, for
 * example because it is in a system call; the process then ends at once, and removes its incomplete
 * files. So does a second ctrl-C or SIGTERM, unless it comes within .2 s of the first, as from
 * timeout(1). */
#ifndef SPECLAB_STOP_H
#define SPECLAB_STOP_H

/* The signal's number; 0: there was none. */
extern volatile int spec_stop;

/* Must be called first in main. If standard descriptors are closed, opens /dev/null for them in the
 * wrong direction, so that using them fails and no file opened later gets their numbers. Catches
 * the signals, except those that the caller ignores, as nohup does. */
void spec_stop_begin(void);

/* Call this if the verb is sure to notice a signal but may need more than two seconds to end. */
void spec_stop_awaited(void);

/* Call this when the verb has noticed the signal and needs time to save what is finished. */
void spec_stop_saving(void);

/* Turns a verb's exit code into the program's: 128 + the signal's number if the verb failed after a
 * signal. After SIGPIPE it does not return, because the signal kills the process, as it kills other
 * tools. */
int spec_stop_code(int code);

#endif
