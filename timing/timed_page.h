/* timed_page: a measurement as a page to be read: speed-ups, the best K, where the time goes, what passes take. */
#ifndef SPECLAB_TIMED_PAGE_H
#define SPECLAB_TIMED_PAGE_H

#include "timing/timed_prediction.h"

#include <stdio.h>

int spec_timed_page_write(const spec_timed *timed, const spec_timed_prediction *prediction, FILE *out,
                          spec_error *error);

#endif
