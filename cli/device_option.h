/* SPDX-License-Identifier: GPL-3.0-or-later */
/* device_option: --device: the device on which transformers compute.
 * The device is written into every model spec that has the key `device` but does not set it. So
 * target and draft can use different devices. */
#ifndef SPECLAB_DEVICE_OPTION_H
#define SPECLAB_DEVICE_OPTION_H

#include <stdbool.h>

#define SPEC_DEVICE_OPTION_HELP                                                                    \
    "device of transformers: cpu, gpu, gpu:1, ... or auto, see 'speclab list devices' "            \
    "(default: cpu)"

/* Exits 2 if the argument of --device is not a device name. */
void spec_device_option_check(const char *device, const char *verb);

/* Returns whether models of this spec's kind can run on a device. */
bool spec_device_option_concerns(const char *spec);

/* Replaces the allocated spec by one with the device, unless it already sets a device or its kind
 * has none. Without opt_device, changes nothing. */
void spec_device_option_add(char **spec, const char *opt_device, const char *verb);

#endif
