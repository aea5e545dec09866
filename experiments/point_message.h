/* SPDX-License-Identifier: GPL-3.0-or-later */
/* point_message: the rows of one finished point, or its failure, as bytes for another process.
 * Sender and receiver run the same program, so numbers are in its byte order. */
#ifndef SPECLAB_POINT_MESSAGE_H
#define SPECLAB_POINT_MESSAGE_H

#include "base/table.h"

/* Packs the rows of `work` if status is GSL_SUCCESS, else the error line. The caller frees the
 * bytes; NULL if memory runs out. */
char *spec_point_message_pack(size_t *ret_size, int status, const spec_table *work,
                              const spec_error *error);

/* Appends the rows to `work`, which has the sender's columns, or returns the sender's failure.
 * Returns GSL_EFAILED for bytes that _pack did not make. */
int spec_point_message_unpack(spec_table *work, const char *bytes, size_t size, spec_error *error);

#endif
