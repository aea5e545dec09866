/* images: the kernels as nvcc compiled them, one fat binary a theme, inside this program.
 * Built without nvcc there is a placeholder instead, which no card takes. */
#ifndef SPECLAB_IMAGES_H
#define SPECLAB_IMAGES_H

#include "models/gpu/kernels.h"

#include <stdbool.h>

const void *spec_image(spec_kernel_theme theme);
bool spec_images_are_there(void);
int spec_images_version(void); /* of the nvcc that made them, 13000 being 13.0; 0 without */

#endif
