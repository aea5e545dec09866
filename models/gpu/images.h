/* SPDX-License-Identifier: GPL-3.0-or-later */
/* images: the kernels as nvcc compiled them, one fat binary per theme, linked into the program.
 * A build without nvcc has a placeholder instead, which no GPU accepts. */
#ifndef SPECLAB_IMAGES_H
#define SPECLAB_IMAGES_H

#include "models/gpu/kernels.h"

#include <stdbool.h>

const void *spec_image(spec_kernel_theme theme);
bool spec_images_are_there(void);
int spec_images_version(void); /* version of nvcc: 13000 is 13.0; 0 without nvcc */

#endif
