/* SPDX-License-Identifier: GPL-3.0-or-later */
/* graph: a computation for training, built once and then run forward and backward many times.
 *     init; operations, each of which returns its result; allocate; then for each batch: forward,
 *     backward
 * A node is a matrix (rows, cols) without gaps; a row belongs to one position of a text. Results
 * and gradients have the same bits for every number of threads and every instruction set. The graph
 * owns its nodes and borrows parameters and tokens. */
#ifndef SPECLAB_GRAPH_H
#define SPECLAB_GRAPH_H

#include "base/thread_pool.h"
#include "models/train/elements.h"
#include "models/train/losses.h"
#include "models/train/parameters.h"
#include "models/train/sgemm.h"
#include "models/transformer/kernels/vector.h"

enum { SPEC_GRAPH_MAX = 8192, SPEC_GRAPH_INPUTS = 16 }; /* operations; inputs per operation */

typedef struct {
    int rows, cols;
    spec_real *value;
    spec_real *gradient; /* NULL if no trainable parameter is upstream */
    bool needs_gradient;
    /* during the backward pass: an operation after this one has already written the gradient */
    bool has_gradient;
} spec_graph_node;

/* A parameter of a trainable or a frozen set. */
typedef struct {
    const spec_parameters *set;
    int index;
} spec_graph_weight;

/* Rows of texts within longer texts: row (text, t) is row (text, t + shift) of the source. A zeroed
 * window means the source's own rows. */
typedef struct {
    int places, of_places; /* positions in a text, and in a text of the source */
    int shift;
} spec_graph_window;

/* Attention among the rows of each text of a batch. */
typedef struct {
    int texts, places; /* rows = texts * places */
    int heads, kv_heads, head_dim;
    bool pairs_adjacent;            /* rotary pairs: 2i with 2i + 1, or i with i + head_dim / 2 */
    const spec_real *cosine, *sine; /* (places + steps - 1, head_dim / 2) */
} spec_graph_attention_shape;

/* The target of a loss, in this graph or in another. */
typedef struct {
    spec_losses_kind kind;
    const int *opt_token;            /* for the cross-entropy */
    const spec_graph_node *opt_rows; /* logits of the target, for all other kinds */
    const spec_real *opt_share; /* (rows) the factor of each row's loss, 0 to ignore it; NULL: 1 /
                                   rows */
    spec_graph_window window;   /* of opt_token and opt_rows */
    double weight;              /* weight of this loss in the sum that is differentiated */
} spec_graph_target;

typedef struct spec_graph spec_graph;
typedef struct spec_graph_operation spec_graph_operation;

/* The functions of an operation; internal to models/train/graph*. */
typedef struct {
    void (*forward)(spec_graph *graph, spec_graph_operation *operation);
    void (*backward)(spec_graph *graph, spec_graph_operation *operation);
} spec_graph_kind;

struct spec_graph_operation {
    const spec_graph_kind *kind;
    spec_graph_node *in[SPEC_GRAPH_INPUTS], *out;
    spec_graph_weight weight, bias; /* set NULL: none */
    const int *token;
    int line;                      /* line of a table, if there are no tokens */
    const spec_graph_node *source; /* of an input */
    spec_graph_window window;      /* of token or source */
    double noise;                  /* of an input */
    double eps;                    /* of a norm */
    int steps;                     /* of attention */
    const bool *choice;            /* of choose: (texts) */
    int texts;
    bool is_off;                       /* neither the forward nor the backward pass runs it */
    bool step_adds[SPEC_GRAPH_INPUTS]; /* like `adds`, for each input of attention and choose */
    /* in the backward pass, the gradient already has content, so it is added to */
    bool adds;
    spec_graph_attention_shape attention;
    spec_graph_target target;
    size_t room; /* numbers that the forward pass keeps for the backward pass */
    spec_real *kept;
    double *row_loss;
};

/* One thread's workspace. */
typedef struct {
    spec_sgemm sgemm;
    spec_real *room;
    double *row; /* (3, largest number of columns of logits) */
} spec_graph_worker;

struct spec_graph {
    const spec_elements *elements;
    const spec_vector_kernels *kernels; /* exponentials in double */
    spec_thread_pool *opt_pool, *locked;
    int workers;
    spec_graph_worker *worker;
    spec_graph_node *node;
    spec_graph_operation *operation;
    int n;              /* operations, each with its node */
    int n_trained;      /* operations before _begin_evaluation; 0: all */
    uint64_t noise_key; /* of the noise on inputs; 0: none */
    size_t room;        /* size of a worker's `room`, in numbers */
    int row;            /* size of each of the three parts of a worker's `row`, in numbers */
};

int spec_graph_init(spec_graph *graph, spec_isa isa, spec_thread_pool *opt_pool, spec_error *error);
void spec_graph_free(spec_graph *graph); /* may be zeroed */

/* Returns rows of a table (V, cols): row r is line token[r] of the table or, with a window, the
 * line of that window's row. The tokens are read at each forward pass. */
spec_graph_node *spec_graph_embed(spec_graph *graph, spec_graph_weight table, const int *token,
                                  int rows, const spec_graph_window *opt_window);

/* Returns `rows` copies of a line of a table. */
spec_graph_node *spec_graph_repeat(spec_graph *graph, spec_graph_weight table, int line, int rows);

/* (opt_base +) x w^T (+ bias): x (rows, cols), w (n, cols), bias (1, n). */
spec_graph_node *spec_graph_product(spec_graph *graph, spec_graph_node *opt_base,
                                    spec_graph_node *x, spec_graph_weight w,
                                    const spec_graph_weight *opt_bias);

/* RMSNorm of each row with a gain (1, cols). */
spec_graph_node *spec_graph_norm(spec_graph *graph, spec_graph_node *x, spec_graph_weight gain,
                                 double eps);

/* Returns rows of a node of this graph or another, as constants. While the graph has a noise_key, a
 * random number in [-noise, noise] is added to each element. */
spec_graph_node *spec_graph_input(spec_graph *graph, const spec_graph_node *source, int texts,
                                  const spec_graph_window *window, double noise);

/* Returns the columns of x[0], x[1] and so on, side by side; n <= SPEC_GRAPH_INPUTS. */
spec_graph_node *spec_graph_join(spec_graph *graph, spec_graph_node *const *x, int n);

/* (opt_base +) silu(x). */
spec_graph_node *spec_graph_silu(spec_graph *graph, spec_graph_node *opt_base, spec_graph_node *x);

/* Returns each text's rows from x if choice[text], else from base. choice (texts) is read in both
 * passes. */
spec_graph_node *spec_graph_choose(spec_graph *graph, spec_graph_node *base, spec_graph_node *x,
                                   const bool *choice, int texts);

/* Attention with rotary positions, in the last of `steps` passes over the same places; 1 step is
 * causal attention. At step s = steps - 1, place t has position t + s. It sees the keys of step 0
 * up to its own place, and the keys of steps 1..s only at its own place [LiY25].
 *
 *   qkv  [steps]: queries, keys and values of each place, ((heads + 2 kv_heads) head_dim). Only
 *        attention may read them, since the rotation replaces them; the result of each step is used
 *   returns (heads head_dim) columns */
spec_graph_node *spec_graph_attention(spec_graph *graph, spec_graph_node *const *qkv, int steps,
                                      const spec_graph_attention_shape *shape);

/* Returns silu(a) b for the two halves of each row. */
spec_graph_node *spec_graph_gate(spec_graph *graph, spec_graph_node *ab);

/* Adds the loss of each row of logits; operation->row_loss (rows) holds these losses. The backward
 * pass differentiates its sum, times the shares and the weight. */
spec_graph_operation *spec_graph_loss(spec_graph *graph, spec_graph_node *logits,
                                      const spec_graph_target *target);

/* Does the same for plain numbers instead of logits: the loss of a row is the mean over columns of
 * d^2/2 if |d| < 1, else |d| - 1/2, with d = x - target. The kind is not used. */
spec_graph_operation *spec_graph_smooth_l1(spec_graph *graph, spec_graph_node *x,
                                           const spec_graph_target *target);

/* Marks the operations from here on as used only in evaluation. */
void spec_graph_begin_evaluation(spec_graph *graph);

/* Allocates all buffers; those of gradients only if `for_training`. */
int spec_graph_allocate(spec_graph *graph, bool for_training, spec_error *error);

/* Turns operations first..end-1, counted in the order in which they were added, off or on again.
 * Operations that are off run in neither pass. */
void spec_graph_switch(spec_graph *graph, int first, int end, bool is_on);

/* Compute all nodes, all except the losses, or only the nodes that training needs. _backward then
 * adds the gradients of the sum of all losses to the gradients of the parameters. */
void spec_graph_forward(spec_graph *graph);
void spec_graph_evaluate(spec_graph *graph);
void spec_graph_forward_trained(spec_graph *graph);
void spec_graph_backward(spec_graph *graph);

/* Returns the sum of the rows' losses times their shares and the weight, after _forward; in nats.
 * Returns 0 if the loss is off. */
double spec_graph_loss_value(const spec_graph_operation *loss);

/* ---- for operations (models/train/graph_*.c) ------------------------------------------------- */

/* One item of an operation's work, on any thread. */
typedef void spec_graph_work(spec_graph *graph, spec_graph_operation *operation, int item,
                             spec_graph_worker *worker);
void spec_graph_share(spec_graph *graph, spec_graph_operation *operation, spec_graph_work *work,
                      int items);

/* Return how many items `rows` rows are divided into, in whole tiles; and how many rows an item
 * has, with the first one in *ret_first. */
int spec_graph_items(const spec_graph *graph, int rows);
int spec_graph_item_rows(int *ret_first, const spec_graph *graph, int rows, int item);

static inline spec_real *spec_graph_row(spec_real *value, int row, int cols)
{
    return value + (size_t)row * (size_t)cols;
}

/* Returns the source's row for row `row` of a window. */
int spec_graph_window_row(const spec_graph_window *window, int row);

/* Returns whether the gradient of an input has been written, so that this operation adds to it. */
bool spec_graph_adds(spec_graph_node *node);

/* For operations that add in[0] to their result: computes rows of the gradient of in[0]. It is the
 * gradient of the result itself, and is added if operation->adds is set. */
spec_graph_work spec_graph_base_back;

/* Appends an operation with its node; at most SPEC_GRAPH_MAX. */
spec_graph_operation *spec_graph_append(spec_graph *graph, const spec_graph_kind *kind, int rows,
                                        int cols);

#endif
