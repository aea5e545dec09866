/* mapping: a regular file, mapped into memory to be read.
 * Its pages come in as they are touched, and are shared by all who map it. A file that somebody cuts short while it is
 * mapped ends the process (SIGBUS). The mapping owns its bytes. */
#ifndef SPECLAB_MAPPING_H
#define SPECLAB_MAPPING_H

#include "speclab/status.h"

#include <stddef.h>

typedef struct {
    const unsigned char *bytes; /* NULL: nothing is mapped */
    size_t length;              /* >= 1 */
} spec_mapping;

/* Never waits: folders, pipes and devices are refused, and so are empty files. GSL_EFAILED for what cannot be opened,
 * GSL_EINVAL for what is no regular file; one line that begins with the path. */
int spec_mapping_init(spec_mapping *mapping, const char *path, spec_error *error);
void spec_mapping_free(spec_mapping *mapping); /* a zeroed one is fine */

#endif
