/* A CUDA driver of long ago: of all that is asked for it has the first function alone. */
int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    (void)flags;
    return 0;
}
