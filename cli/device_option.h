/* device_option: --device, which says where transformers compute. It is written into the specs of models that have the
 * key `device` and no device of their own, so that one side of a pair may lie elsewhere. */
#ifndef SPECLAB_DEVICE_OPTION_H
#define SPECLAB_DEVICE_OPTION_H

#include <stdbool.h>

#define SPEC_DEVICE_OPTION_HELP                                                                                        \
    "where transformers compute: cpu, gpu, gpu:1, ... or auto, see 'speclab list devices' (default: cpu)"

/* Exits 2 where the argument of --device is no device's name. */
void spec_device_option_check(const char *device, const char *verb);

/* Whether models of this spec's kind can be put on a device. */
bool spec_device_option_concerns(const char *spec);

/* Add the device to the spec, which is allocated and replaced, where that says something. opt_device NULL: as it is. */
void spec_device_option_add(char **spec, const char *opt_device, const char *verb);

#endif
