/* least: two small things that are asked of whole numbers everywhere.
 * For hot loops too, so they are inline; nothing overflows where the arguments are sizes that were checked. Owns
 * nothing. */
#ifndef SPECLAB_LEAST_H
#define SPECLAB_LEAST_H

static inline int spec_least(int a, int b)
{
    return a < b ? a : b;
}

/* The fewest pieces of `size` that hold n >= 0. */
static inline int spec_least_pieces(int n, int size)
{
    return (n + size - 1) / size;
}

#endif
