/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stop: how a signal ends the program: ctrl-C, SIGTERM, SIGHUP, or SIGPIPE for standard output.
 * The first one sets spec_stop. Long computations read it; the verb writes what is finished and
 * returns. A verb that has not returned after two seconds does not see the signal, for example
 * because it is in a system call. The process then ends at once, without its incomplete files. It
 * does the same on a second ctrl-C or SIGTERM, unless that comes within .2 s, as from
 * timeout(1). */
#ifndef SPECLAB_STOP_H
#define SPECLAB_STOP_H

/* The signal's number; 0: there was none. */
extern volatile int spec_stop;

/* Must be called first in main. Opens /dev/null for standard descriptors that are closed, in the
 * wrong direction: using them fails, and no file opened later gets their numbers. Catches the
 * signals, except those that the caller ignores, as nohup does. */
void spec_stop_begin(void);

/* Says, before any signal, that the verb is sure to see it and may need more than two seconds to
 * end. */
void spec_stop_awaited(void);

/* Says that the verb has seen the signal and needs time to save what is finished. */
void spec_stop_saving(void);

/* Returns the program's exit code for a verb's: 128 + the signal's number if the verb failed after
 * a signal. After SIGPIPE it does not return: that signal kills the process, as it does other
 * tools. */
int spec_stop_code(int code);

#endif
