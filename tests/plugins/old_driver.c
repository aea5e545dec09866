/* SPDX-License-Identifier: MIT */
/* An outdated CUDA driver that exports only the first function. */
int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    (void)flags;
    return 0;
}
