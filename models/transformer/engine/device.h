/* device: where a model computes: cpu, gpu, gpu:N, auto.
 * A device is opened by name and closed by who opened it; opening one twice gives one backend. The cards are found when
 * they are asked for: a machine without any loses no time. */
#ifndef SPECLAB_DEVICE_H
#define SPECLAB_DEVICE_H

#include "models/transformer/engine/backend.h"

#define SPEC_DEVICE_USAGE "cpu, gpu, gpu:N, auto"

bool spec_device_is_name(const char *name);

/* cpu   the processor
 * gpu   the first NVIDIA card, gpu:N card N
 * auto  the first card if there is one to be used, else the processor
 * GSL_EINVAL for another name, and for a card that there is not: the line says which, and why (no driver, an old
 * driver, no card, a card of an unknown kind, built without nvcc). */
int spec_device_open(const spec_backend **ret_backend, const char *name, spec_error *error);
void spec_device_close(const spec_backend *backend); /* NULL is fine */

/* The device that the key `device` of a model's spec names, the processor where it has none. */
int spec_device_read(const spec_backend **ret_backend, const spec_settings *settings, spec_error *error);

/* Device `index` of this machine, the processor being 0, in words: "gpu:0  NVIDIA H200, 139 GiB". false where there
 * are no more: the last line then says why there is no card, where there is none, and is empty else. */
bool spec_device_describe(char *line, size_t size, int index);

#endif
