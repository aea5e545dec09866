/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/gpu/images.h"

#ifdef SPEC_IMAGES

/* The Makefile passes the folder, and makes the files before it compiles this one. An image is
 * 64-byte aligned and followed by zeros, so that reads past its end stay inside. */
#define TAKE_IN(theme)                                                                             \
    __asm__(".pushsection .rodata\n"                                                               \
            ".balign 64\n"                                                                         \
            ".global spec_image_" #theme "\n"                                                      \
            ".hidden spec_image_" #theme "\n"                                                      \
            "spec_image_" #theme ":\n"                                                             \
            ".incbin \"" SPEC_IMAGES "kernels_" #theme ".fatbin\"\n"                               \
            ".quad 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const unsigned char spec_image_##theme[];
SPEC_KERNEL_THEMES(TAKE_IN)

#define PLACE(theme) spec_image_##theme,
static const unsigned char *const image[] = {SPEC_KERNEL_THEMES(PLACE)};

const void *spec_image(spec_kernel_theme theme) { return image[theme]; }
bool spec_images_are_there(void) { return true; }
int spec_images_version(void) { return SPEC_IMAGES_VERSION; }

#else

static const char placeholder[64] = "speclab: built without nvcc";

const void *spec_image(spec_kernel_theme theme)
{
    (void)theme;
    return placeholder;
}
bool spec_images_are_there(void) { return false; }
int spec_images_version(void) { return 0; }

#endif
