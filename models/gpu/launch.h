/* SPDX-License-Identifier: GPL-3.0-or-later */
/* launch: describes the pass that a launch belongs to: its stream, columns and batch.
 * The batch in GPU memory says how many columns there are and which are wanted. A column's result
 * depends neither on the bucket nor on the other columns. */
#ifndef SPECLAB_LAUNCH_H
#define SPECLAB_LAUNCH_H

#include "models/gpu/card.h"

typedef struct {
    spec_stream *stream;
    const pass_batch *batch;
    int bucket;  /* the number of columns that the launch must cover: 8, 16, 32 or 64 */
    bool wanted; /* norm and product: only the batch's n - first wanted columns */
    int longest; /* for attend: no column sees more positions than this; a power of two, so that few
                  * distinct launches are recorded */
} spec_launch;

#endif
