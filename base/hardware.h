/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hardware: peak arithmetic, bandwidth and memory of accelerators, from their data sheets.
 * Peaks are dense 16-bit matrix products that accumulate in 32 bits; kernels reach less. */
#ifndef SPECLAB_HARDWARE_H
#define SPECLAB_HARDWARE_H

/* A machine; the caller may fill in another one (name and source are not read). */
typedef struct {
    const char *name, *source;
    double flops;     /* dense peak, FLOP/s, 16-bit */
    double bandwidth; /* bytes/s */
    double memory;    /* bytes */
} spec_hardware;
extern const spec_hardware spec_hardware_known[]; /* ends with a NULL name */

/* The known machine of that name, without regard to case, blanks, '-' and '_'; NULL if unknown. */
const spec_hardware *spec_hardware_find(const char *name);

/* The names of the known machines, as candidates for spec_names_nearest: NULL-terminated. */
enum { SPEC_HARDWARE_MAX = 16 };
void spec_hardware_names(const char *ret_names[SPEC_HARDWARE_MAX]);

#endif
