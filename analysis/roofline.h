/* roofline: what hardware allows: arithmetic intensity, and the time of one pass of n tokens.
 * FLOP and bytes are counted per pass; time is the larger of compute and memory time. docs/formulas.md#roofline. */
#ifndef SPECLAB_ROOFLINE_H
#define SPECLAB_ROOFLINE_H

typedef struct {
    const char *name, *source;
    double flops;     /* dense peak, FLOP/s, 16-bit */
    double bandwidth; /* bytes/s */
} spec_hardware;
extern const spec_hardware spec_hardware_known[]; /* ends with a NULL name: A100, H100, H200 */
const spec_hardware *spec_hardware_find(const char *name);

typedef struct {
    double parameters;      /* of the model */
    double bytes_per_weight;
    double layers, width;   /* for attention; 0 leaves attention out */
    double kv_bytes;        /* of the cache, per token of context */
} spec_transformer_shape;

double spec_pass_flops(const spec_transformer_shape *shape, double n_tokens, double context);
double spec_pass_bytes(const spec_transformer_shape *shape, double n_tokens, double context);
double spec_arithmetic_intensity(const spec_transformer_shape *shape, double n_tokens, double context); /* FLOP/byte */
double spec_pass_time(const spec_hardware *hardware, const spec_transformer_shape *shape, double n_tokens, double context); /* s */
double spec_utilization(const spec_hardware *hardware, double intensity);       /* min(1, intensity * bandwidth / flops) */
double spec_ridge_tokens(const spec_hardware *hardware, double bytes_per_weight); /* tokens a pass at which compute takes over */

#endif
