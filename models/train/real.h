/* SPDX-License-Identifier: GPL-3.0-or-later */
/* real: the number type of training: float, or double in a test of the gradients.
 * That test compiles the operations a second time, with SPEC_TRAIN_DOUBLE, so that central
 * differences are accurate enough to judge every derivative. */
#ifndef SPECLAB_REAL_H
#define SPECLAB_REAL_H

#ifdef SPEC_TRAIN_DOUBLE
typedef double spec_real;
#else
typedef float spec_real;
#endif

#endif
