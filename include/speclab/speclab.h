/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab: the library: experiments, closed forms, rounds, simulations, texts, rows and validation.
 *
 * Link with `pkg-config --cflags --libs speclab`; docs/library.md has complete programs. C99 or
 * C++; the header needs no other library.
 *
 * Conventions of all functions:
 *
 * - A function that can fail returns one of SPECLAB_OK .. SPECLAB_FORKED. On failure it zeroes its
 *   outputs (all of a struct except its size) and writes one line into opt_error, truncated to
 *   error_size bytes. On success the line is empty. opt_error may be NULL.
 * - `ret_` parameters are written and must not be NULL; `opt_` parameters may be NULL. A field of a
 *   struct that you do not need is 0 or NULL.
 * - The caller zeroes a struct and sets its `size` to sizeof. Later versions append fields, and
 *   still accept the sizes of this header. Any other size is SPECLAB_INPUT.
 * - Models, draft strategies, length policies and rules are written as on the command line, such
 *   as "zipf?V=100" and "lenience?l=0.3". `speclab list` names them.
 * - `opt_stop` points to a number that another thread or a signal handler may set to nonzero. The
 *   function then returns SPECLAB_STOPPED, usually within a fraction of a second.
 * - Results depend on the inputs alone: not on threads, processors or the environment.
 * - Several threads may use one `speclab` at once. Any other handle serves one thread at a time.
 * - The library prints nothing, reads no environment variables, and changes neither signal handlers
 *   nor GSL's error handler. It works in any locale.
 * - After a fork, the child must open its own `speclab`. Functions that compute with the parent's
 *   `speclab`, or with its simulations and texts, return SPECLAB_FORKED. The parent's results can
 *   still be read, and all its handles closed.
 *
 * Within 1.x, a later library runs programs built with an earlier header, as long as SPECLAB_ABI
 * and the soname are equal. The static library guarantees only source compatibility. */
#ifndef SPECLAB_SPECLAB_H
#define SPECLAB_SPECLAB_H

#include "speclab/sampler.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- declarations for bindings begin: plain C, without macros -------------------------------- */

/* The version of the binary interface: the number in the soname, libspeclab.so.1. */
enum { SPECLAB_ABI = 1 };

/* Returned by functions that can fail. */
enum {
    SPECLAB_OK = 0,
    SPECLAB_INPUT = 1,   /* an argument, a spec, a file or an experiment is wrong */
    SPECLAB_MEMORY = 2,  /* out of memory */
    SPECLAB_STOPPED = 3, /* *opt_stop was set */
    SPECLAB_FAILED = 4,  /* a callback, a model or a file failed */
    SPECLAB_FORKED = 5   /* the handle belongs to the parent process */
};

/* Return SPECLAB_ABI of the loaded library, and its version, such as "1.0.0 (8f78032)". */
int32_t speclab_abi(void);
const char *speclab_version(void);

/* ---- the library ----------------------------------------------------------------------------- */

/* The threads and settings that other functions share. Threads start with the first job. */
typedef struct speclab speclab;

typedef struct {
    uint32_t size;
    int32_t threads;   /* 1..1024; 0: one per processor that this process may use */
    const char *share; /* the folder of shared texts, such as /usr/share/speclab; NULL: none */
} speclab_options;

int32_t speclab_open(speclab **ret_lab, const speclab_options *opt_options, char *opt_error,
                     uint64_t error_size);

/* Ends the threads. Close the rounds, simulations and texts opened from this library first; tables
 * and validations may stay open. All functions that free a handle accept NULL. */
void speclab_close(speclab *opt_lab);

/* ---- experiments ----------------------------------------------------------------------------- */

/* The result of an experiment: rows of cells. */
typedef struct speclab_table speclab_table;

typedef struct {
    uint32_t size;
    const char *name;       /* name in the experiment's provenance and errors; NULL: experiment */
    const char *const *set; /* overrides "KEY=VALUE", as in `speclab run --set`; NULL-terminated */
    const uint64_t *seed;   /* NULL: the seed in the text, or 42 */
    uint64_t limit;         /* maximum branches of an enumeration; 0: the default */
    const volatile int *opt_stop;
    /* points done, including part of the current one, of `total`; from any thread; may be NULL */
    void (*progress)(void *self, double done, uint64_t total);
    void *self;
} speclab_run_options;

/* Runs an experiment: `text` names a measure and a grid, as in docs/formats.md#experiment-files.
 * The table has the columns and rows of the CSV that `speclab run` writes for the same text. On
 * failure *ret_table holds the rows that were finished, or is NULL. The caller frees the table in
 * any case. */
int32_t speclab_run(speclab_table **ret_table, speclab *lab, const char *text,
                    const speclab_run_options *opt_options, char *opt_error, uint64_t error_size);

void speclab_table_free(speclab_table *opt_table);

int64_t speclab_table_rows(const speclab_table *table);
int32_t speclab_table_columns(const speclab_table *table);

/* Return the name of a column (NULL if there is no such column), and the column that has a name (-1
 * if none has). */
const char *speclab_table_name(const speclab_table *table, int32_t column);
int32_t speclab_table_find(const speclab_table *table, const char *name);

/* The contents of a cell. */
enum {
    SPECLAB_CELL_EMPTY = 0, /* also outside the table; CSV has an empty field, as it does for NaN */
    SPECLAB_CELL_NUMBER = 1,
    SPECLAB_CELL_INTEGER = 2,
    SPECLAB_CELL_TEXT = 3
};
int32_t speclab_table_kind(const speclab_table *table, int64_t row, int32_t column);

/* Returns a cell's number with all its digits, of which CSV shows ten; NaN if it is not a
 * number. */
double speclab_table_number(const speclab_table *table, int64_t row, int32_t column);

/* Returns an integer cell; 0 if it is not one. */
int64_t speclab_table_integer(const speclab_table *table, int64_t row, int32_t column);

/* Returns a text cell, valid as long as the table; NULL if it is not one. */
const char *speclab_table_text(const speclab_table *table, int64_t row, int32_t column);

/* Writes a whole column to ret_number (rows), as speclab_table_number returns the cells. */
void speclab_table_numbers(double *ret_number, const speclab_table *table, int32_t column);

/* Returns the provenance lines, without "# ": version, experiment, seed, compiler, text. */
const char *speclab_table_provenance(const speclab_table *table);

/* Counts the checks that hold in the rows, and those that fail. For example, a check fails if z is
 * more than 5 standard errors. */
void speclab_table_checks(uint64_t *ret_holds, uint64_t *ret_fails, const speclab_table *table);

/* Lists the names that other functions take, with their keys and defaults, in a table with the
 * columns kind, name, summary, reference (a key of docs/references.md) and claim. kind: "model",
 * "draft" (a strategy), "rule", "policy", "process", "lengths" or "measure"; NULL: all. The claim
 * of a rule is "lossless", "lossless at temperature 0", "lossy" or "wrong". The caller frees the
 * table. */
int32_t speclab_list(speclab_table **ret_table, speclab *lab, const char *opt_kind,
                     char *opt_error, uint64_t error_size);

/* ---- closed forms ---------------------------------------------------------------------------- */

/* These assume iid acceptance and measure time in target calls; docs/formulas/README.md has the
 * sources and proofs.
 *   alpha      acceptance rate, in [0,1]
 *   K          draft length, tokens, >= 0
 *   c          time of a draft call over that of a target call, >= 0
 * At the edge of the domain they return the limit, such as K + 1 tokens at alpha = 1; outside it
 * they return NaN. */

/* Tokens per round, (1 - alpha^(K+1)) / (1 - alpha) [Leviathan23] Eq. (1), and their variance. */
double speclab_emitted_mean(double alpha, double K);
double speclab_emitted_variance(double alpha, int32_t K);

/* The probability that exactly k of K draft tokens are accepted: alpha^k (1-alpha), or alpha^K. */
double speclab_accepted_probability(double alpha, int32_t K, int32_t k);

/* Return the speed-up over plain decoding [Leviathan23] Theorem 3.8, from alpha, or from a measured
 * mean of tokens per round. */
double speclab_speedup(double alpha, double K, double c);
double speclab_speedup_from_emitted(double emitted, double K, double c);

/* Return the smallest K that has the highest speed-up (inf if a longer draft always helps), and
 * that speed-up. */
double speclab_best_K(double alpha, double c);
double speclab_best_speedup(double alpha, double c);

/* Returns the alpha above which drafting K tokens at cost c pays, which is 0 at c = 0; NaN if no
 * alpha is high enough, or if K < 1. */
double speclab_break_even_alpha(int32_t K, double c);

/* Return by what factor speculation multiplies the arithmetic operations per token [Leviathan23]
 * Theorem 3.11, where ops_ratio is the draft's operations per token over the target's; and by what
 * factor it multiplies the reads of the target's weights. */
double speclab_ops_factor(double alpha, int32_t K, double ops_ratio);
double speclab_memory_factor(double alpha, int32_t K);

/* ---- pairs of models, and one round ---------------------------------------------------------- */

/* A target, its draft, and how they speculate. */
typedef struct {
    uint32_t size;
    int32_t K;            /* maximum draft tokens along a path, 0..256 */
    const char *target;   /* model, such as "zipf?V=100" */
    const char *draft;    /* model, such as "perturb?of=target&alpha=0.8"; NULL: none */
    const char *drafting; /* draft strategy; NULL: chain */
    const char *policy;   /* length policy; NULL: fixed */
    const char *rule;     /* verification rule; NULL: token */
} speclab_pair;

/* One round after a context, and every random decision made in it. Free it before its library is
 * closed. */
typedef struct speclab_round speclab_round;

typedef struct {
    uint32_t size;
    int32_t n_coins;
    const double *coin; /* (n_coins) the uniform numbers, in [0,1), to use first; further ones come
                           from `seed` */
    uint64_t seed;
    const int32_t *context; /* (n_context) tokens before the round */
    int64_t n_context;
} speclab_round_options;

int32_t speclab_round_run(speclab_round **ret_round, speclab *lab, const speclab_pair *pair,
                          const speclab_round_options *opt_options, char *opt_error,
                          uint64_t error_size);

void speclab_round_free(speclab_round *opt_round);

/* The outcome of a round. Its arrays are valid as long as the round. */
typedef struct {
    uint32_t size;
    int32_t vocab;
    int32_t n_decisions;
    int32_t coins_used;    /* how many of the given ones were used */
    int32_t n_nodes;       /* draft tokens; a chain or a tree */
    int32_t n_accepted;    /* accepted draft tokens along a path */
    int32_t n_emitted;     /* n_accepted + 1 */
    const int32_t *token;  /* (n_emitted) the tokens that the round adds to the text */
    const int32_t *node;   /* (n_accepted) the accepted nodes, root first */
    const int32_t *draft;  /* (n_nodes) draft tokens */
    const int32_t *parent; /* (n_nodes) -1: the root */
    const uint8_t *drawn;  /* (n_nodes) 1: drawn from the draft's row; 0: chosen without chance */
} speclab_outcome;

/* Fills in the struct, whose size must be set. Returns SPECLAB_INPUT for another size, or if round
 * is NULL. */
int32_t speclab_round_outcome(speclab_outcome *ret_outcome, const speclab_round *round);

/* Return the two rows (vocab) that decide whether a token is accepted: the target's at the root
 * (node -1) or after a node, and the draft's row from which a node was drawn. Return NULL for a
 * node that does not exist, and if there is no draft model. */
const double *speclab_round_target_row(const speclab_round *round, int32_t node);
const double *speclab_round_draft_row(const speclab_round *round, int32_t node);

enum { SPECLAB_DECISION_ACCEPT = 0, SPECLAB_DECISION_PICK = 1 };
enum { SPECLAB_PHASE_DRAFT = 0, SPECLAB_PHASE_VERIFY = 1 };

/* The role of a decision; `node` and `after` of speclab_decision say where it is made. */
enum {
    SPECLAB_ROLE_OTHER = 0,      /* a step of the rule that has no name here */
    SPECLAB_ROLE_DRAFT = 1,      /* picks draft token `node`; -1: the policy took it back */
    SPECLAB_ROLE_SELECT = 2,     /* a step of choosing the sibling that is tested next */
    SPECLAB_ROLE_TEST = 3,       /* accepts draft token `node`; -1: one of several siblings */
    SPECLAB_ROLE_KEEP = 4,       /* keeps the draft tokens up to `node` together; -1: none */
    SPECLAB_ROLE_BLOCK = 5,      /* picks the block of a large residual, before the token in it */
    SPECLAB_ROLE_CORRECTION = 6, /* picks the token after a rejection */
    SPECLAB_ROLE_BONUS = 7,      /* picks the target's token after the last draft token */
    SPECLAB_ROLE_TARGET = 8      /* picks the target's own token, a draft token or not */
};

/* A random decision: to accept with probability min(1, num/den), or to pick an index with
 * probability weight / sum of weights. A large residual is picked in two steps, block and token. */
typedef struct {
    uint32_t size;
    int32_t kind;         /* SPECLAB_DECISION_* */
    int32_t phase;        /* SPECLAB_PHASE_* */
    int32_t answer;       /* accept: 1 or 0; pick: the index */
    double coin;          /* the uniform number that decided; NaN: certain, nothing was drawn */
    double num, den;      /* the ratio of an accept decision */
    const double *weight; /* (n_weights) weights of a pick; valid as long as the round */
    int32_t n_weights;
    int32_t role;  /* SPECLAB_ROLE_* */
    int32_t node;  /* the draft token that it is about, or -1 */
    int32_t after; /* it decides the token after this node; -1: the first token of the round */
} speclab_decision;

/* Reads decision number `index`. Returns SPECLAB_INPUT if it does not exist, or for another
 * size. */
int32_t speclab_round_decision(speclab_decision *ret_decision, const speclab_round *round,
                               int32_t index);

/* ---- exact laws ------------------------------------------------------------------------------ */

/* The exact distribution (law) of the first tokens that a pair emits, found by enumerating every
 * random decision, and the law that the rule promises: the target's, or its argmax. A law is an
 * array of vocab^tokens probabilities, whose index is the text read as a number: the tokens are its
 * digits, the first one most significant. A text that ends early is padded with the token that
 * ended it. */
typedef struct speclab_law speclab_law;

typedef struct {
    uint32_t size;
    int32_t tokens;  /* 1..64 */
    uint64_t limit;  /* maximum branches; 0: the default */
    const volatile int *opt_stop; /* must be valid as long as the law is open */
} speclab_law_options;

int32_t speclab_law_open(speclab_law **ret_law, speclab *lab, const speclab_pair *pair,
                         const speclab_law_options *options, char *opt_error, uint64_t error_size);

typedef struct {
    uint32_t size;
    int32_t vocab;
    int64_t n_texts; /* vocab^tokens, at most 1,000,000 */
    uint64_t branches;
    double tv;        /* total variation distance between the two laws */
    double max_error; /* their largest difference */
    double accepted;  /* mean n_accepted of the first round */
    const double *law, *promise; /* (n_texts) valid as long as the law */
} speclab_law_numbers;

/* Fills in the struct, whose size must be set. Returns SPECLAB_INPUT for another size, or if law is
 * NULL. */
int32_t speclab_law_read(speclab_law_numbers *ret_numbers, const speclab_law *law);

/* Samples `texts` texts with the same decoding loop, and adds each to counts (n_texts). Batches
 * with the same seed and different numbers are independent. */
int32_t speclab_law_sample(uint64_t *counts, speclab_law *law, uint64_t seed, uint64_t batch,
                           uint64_t texts, char *opt_error, uint64_t error_size);

/* Returns the logarithm of an e-value that measures the evidence in counts (n_texts) against the
 * promise. If the promise holds, the e-value's expectation is at most 1, even if you stop sampling
 * when it is large [Grunwald24]. Returns inf if an impossible text was counted; NaN if out of
 * memory. */
double speclab_law_log_e(const speclab_law *law, const uint64_t *counts);

void speclab_law_close(speclab_law *opt_law);

/* ---- simulation ------------------------------------------------------------------------------ */

/* Monte Carlo rounds, in groups of 64 batches, so that a program can show progress and stop. Each
 * batch has its own random stream: results depend only on the seed and the number of rounds. */
typedef struct speclab_simulation speclab_simulation;

typedef struct {
    uint32_t size;
    uint64_t seed;
    uint64_t rounds;       /* stop after this number of rounds; 0: no such limit */
    double standard_error; /* stop when tokens per round have this standard error; 0: no limit */
    double c;              /* time of a draft call, in target calls */
    const volatile int *opt_stop; /* must be valid as long as the simulation is open */
} speclab_simulation_options;

/* Opens a simulation of rounds of the decoding loop over a pair of models. */
int32_t speclab_simulation_open(speclab_simulation **ret_simulation, speclab *lab,
                                const speclab_pair *pair, const speclab_simulation_options *options,
                                char *opt_error, uint64_t error_size);

/* Simulates only whether drafts are accepted, without tokens, which is over 100 times as fast. */
typedef struct {
    uint32_t size;
    int32_t K;           /* 0..256 */
    double alpha;        /* in [0,1] */
    const char *process; /* such as "decay?rate=0.9"; NULL: iid */
} speclab_acceptance;

int32_t speclab_simulation_open_acceptance(speclab_simulation **ret_simulation, speclab *lab,
                                           const speclab_acceptance *acceptance,
                                           const speclab_simulation_options *options,
                                           char *opt_error, uint64_t error_size);

/* Runs the next group; *ret_done is 1 after the last. A group that is stopped does not count. */
int32_t speclab_simulation_next(int32_t *ret_done, speclab_simulation *simulation, char *opt_error,
                                uint64_t error_size);

/* The two halves of _next, so that several processes can open the same simulation and share its
 * work. _group computes one of groups 0.._groups - 1, in any order, and returns it as a line of at
 * most SPECLAB_GROUP_SIZE bytes. _add adds the line of the next group. If the groups are added in
 * order, all estimates equal those of _next to the last bit. SPECLAB_INPUT for a wrong number or
 * text. */
enum { SPECLAB_GROUP_SIZE = 20000 };
uint64_t speclab_simulation_groups(const speclab_simulation *simulation);
int32_t speclab_simulation_group(char *ret_text, uint64_t text_size, speclab_simulation *simulation,
                                 uint64_t number, char *opt_error, uint64_t error_size);
int32_t speclab_simulation_add(int32_t *ret_done, speclab_simulation *simulation, const char *text,
                               char *opt_error, uint64_t error_size);

/* Estimates from all rounds so far, with standard errors; NaN if there are too few rounds. */
typedef struct {
    uint32_t size;
    int32_t done;
    uint64_t rounds;
    double emitted, emitted_se; /* tokens per round */
    double first, first_se;     /* acceptance rate of the first draft token */
    double speedup, speedup_se; /* tokens per target call of time, on the virtual clock */
} speclab_estimates;

/* Fills in the struct, whose size must be set. Returns SPECLAB_INPUT for another size, or if
 * simulation is NULL. */
int32_t speclab_simulation_read(speclab_estimates *ret_estimates,
                                const speclab_simulation *simulation);

/* Counts the rounds so far that accepted k draft tokens, for k = 0..n-1. */
void speclab_simulation_accepted(uint64_t *ret_rounds, int32_t n,
                                 const speclab_simulation *simulation);

void speclab_simulation_close(speclab_simulation *opt_simulation);

/* ---- texts ----------------------------------------------------------------------------------- */

/* A text that speculation writes round by round. `speclab generate` writes the same text for the
 * same seed. */
typedef struct speclab_text speclab_text;

typedef struct {
    uint32_t size;
    uint64_t seed;
    uint64_t number;      /* which of the texts of this seed */
    uint64_t most;        /* maximum tokens; 0: no limit */
    const char *prompt;   /* a text for the target's tokenizer; NULL: `token` */
    const int32_t *token; /* (n_token) the prompt as tokens; NULL: none */
    int64_t n_token;
    const volatile int *opt_stop; /* must be valid as long as the text is open */
} speclab_text_options;

int32_t speclab_text_open(speclab_text **ret_text, speclab *lab, const speclab_pair *pair,
                          const speclab_text_options *opt_options, char *opt_error,
                          uint64_t error_size);

/* Where a token comes from: an accepted draft token, the correction after a rejection, the bonus
 * after a whole draft, or the target if nothing was drafted. */
enum {
    SPECLAB_FROM_DRAFT = 0,
    SPECLAB_FROM_CORRECTION = 1,
    SPECLAB_FROM_BONUS = 2,
    SPECLAB_FROM_TARGET = 3
};

/* Why a text ended: it has `most` tokens, the target ended it, or its window is full. */
enum {
    SPECLAB_TEXT_GOES_ON = 0,
    SPECLAB_TEXT_MOST = 1,
    SPECLAB_TEXT_END = 2,
    SPECLAB_TEXT_WINDOW = 3
};

/* The tokens of a round that belong to the text. Arrays are valid until the text's next call. */
typedef struct {
    uint32_t size;
    int32_t n;             /* tokens; 0 if the text had already ended */
    int32_t ending;        /* SPECLAB_TEXT_* */
    int32_t n_drafted;     /* draft tokens of the round */
    const int32_t *token;  /* (n) */
    const int32_t *origin; /* (n) SPECLAB_FROM_* */
    const int64_t *end;    /* (n) end of each token in bytes; all 0 without a vocabulary */
    const char *bytes;     /* the text of the tokens; may start or end within a UTF-8 character */
} speclab_text_part;

/* Runs one round; the size of *ret_part must be set. A text that has ended stays ended. */
int32_t speclab_text_round(speclab_text_part *ret_part, speclab_text *text, char *opt_error,
                           uint64_t error_size);

void speclab_text_close(speclab_text *opt_text);

/* ---- files of rows --------------------------------------------------------------------------- */

/* A file that records the rows at the positions of texts, and can then be opened as the model
 * "rows:FILE": docs/formats.md#rows. The file appears when it is finished. */
typedef struct speclab_rows speclab_rows;

typedef struct {
    uint32_t size;
    int32_t vocab;           /* 1..2^20 */
    int32_t sides;           /* the target and its drafts, 1..8 */
    const char *const *name; /* (sides) where the rows come from, as recorded in the file */
    double cutoff;           /* 0: rows are stored bit for bit; up to 0.01: smaller probabilities
                                are dropped, and the others stored as floats */
} speclab_rows_options;

int32_t speclab_rows_open(speclab_rows **ret_rows, speclab *lab, const char *path,
                          const speclab_rows_options *options, char *opt_error,
                          uint64_t error_size);

/* Begins a text of n >= 1 tokens; the rows along it follow. */
int32_t speclab_rows_text(speclab_rows *rows, const int32_t *token, int64_t n, char *opt_error,
                          uint64_t error_size);

/* Adds the rows (sides), each (vocab), after the first `position` tokens of the text. Positions are
 * 0..n-1 and increase. Each row sums to 1 within 1e-12. */
int32_t speclab_rows_place(speclab_rows *rows, int64_t position, const double *const *row,
                           char *opt_error, uint64_t error_size);

/* Gives the file, which must have rows for at least one position, its name. An older file that
 * differs is kept as NAME.bak. */
int32_t speclab_rows_finish(speclab_rows *rows, char *opt_error, uint64_t error_size);

/* Frees the handle; a file that is not finished is removed. */
void speclab_rows_close(speclab_rows *opt_rows);

/* ---- validation ------------------------------------------------------------------------------ */

/* A batch of independent drafts to verify, or in scope DV to draw and verify. Arrays are row-major.
 * Draft i uses length[i] of the n_nodes positions; the others have token -1 and rows of 0. Row 0 of
 * a draft is the next-token distribution at its root, and row j+1 the one after node j. spec_step
 * in sampler.h describes the fields. */
typedef struct {
    uint32_t size;
    int32_t n, n_nodes, vocab;
    uint32_t scope;          /* SPEC_SCOPE_VERIFY or SPEC_SCOPE_DRAFT */
    uint32_t drawn;          /* one of SPEC_DRAWN_* */
    const int32_t *length;   /* (n) includes padding inside the draft, if the sampler accepts
                                padding */
    const int32_t *token;    /* (n, n_nodes); NULL in scope DV */
    const int32_t *parent;   /* (n_nodes) the same for all drafts, -1: the root; NULL: chains */
    const float *target;     /* (n, n_nodes+1, vocab) */
    const float *draft;      /* (n, n_nodes+1, vocab); NULL: the drafts are FIXED */
    const uint64_t *request; /* (n) */
    const uint64_t *seed;    /* (n) */
    const uint64_t *offset;  /* (n) */
    const float *coin;       /* (n, n_coins) or NULL */
    int32_t n_coins;
    spec_sampling sampling;

    int32_t *ret_token;     /* (n, n_nodes+1) emitted tokens; the rest may be anything */
    int32_t *ret_n_emitted; /* (n) 1..length+1 */
    int32_t *ret_draft;     /* (n, n_nodes) scope DV: the drafted tokens; NULL in scope V */
} speclab_batch;

/* A sampler in this process. Its functions return 0, or any other number on failure, which ends the
 * run. A crash ends the process, and a call that does not return cannot be interrupted; `speclab
 * validate`, in contrast, runs a sampler in its own process. */
typedef struct {
    uint32_t size;
    int32_t parallel;                /* 1: several threads may call it at once */
    const spec_sampler_about *about; /* what it declares, as a plug-in would */
    int32_t (*batch)(void *self, const speclab_batch *batch); /* scopes V and DV */
    /* scope S, as spec_sampler_generate */
    int32_t (*generate)(void *self, const spec_models *models, const int32_t *context,
                        int64_t n_context, int32_t K, spec_sampling sampling, uint64_t seed,
                        int32_t *ret_token, int64_t n_tokens);
    const char *(*error)(void *self); /* describes the last failure, or NULL; may be NULL */
    void *self;
} speclab_sampler;

typedef struct {
    uint32_t size;
    uint32_t scopes;         /* the sampler's scopes to test; 0: all */
    double false_alarm_rate; /* probability of a FAIL for a lossless sampler; 0: 1e-6 */
    double eps;              /* total variation that a PASS rules out; 0: .1 */
    double power;            /* probability of detecting eps; 0: 0.9 */
    uint64_t draws;          /* budget in tokens; 0: 20 million */
    double seconds;          /* budget in seconds instead; 0: none */
    const uint64_t *seed;    /* NULL: 42 */
    const char *const *only; /* names of fixtures and tests, NULL-terminated; NULL: all */
    int32_t no_hints;        /* 1: do not explain a FAIL by known mistakes or as DEPENDENT */
    const volatile int *opt_stop;
    void (*progress)(void *self, uint64_t draws, double log_e); /* may be NULL */
    void *self;
    int32_t dependent_requests; /* 1: requests of a call may depend on each other */
} speclab_validate_options;

typedef struct speclab_validation speclab_validation;

/* PASS: every total variation that the report states would have been detected with this power.
 * LOSSY: differs from the target, as the sampler declares. INCONCLUSIVE: not enough evidence.
 * DEPENDENT: each request alone is right, but requests of a call depend on each other. */
enum {
    SPECLAB_PASS = 0,
    SPECLAB_FAIL = 1,
    SPECLAB_LOSSY = 2,
    SPECLAB_INCONCLUSIVE = 3,
    SPECLAB_DEPENDENT = 4
};

/* Tests whether a sampler is lossless: docs/conformance.md. With a budget in draws, the report is
 * the same for any number of threads. Returns SPECLAB_FAILED, without a verdict, if the sampler
 * fails. *opt_stop is read between batches. */
int32_t speclab_validate(speclab_validation **ret_validation, speclab *lab,
                         const speclab_sampler *sampler,
                         const speclab_validate_options *opt_options, char *opt_error,
                         uint64_t error_size);

void speclab_validation_free(speclab_validation *opt_validation);

int32_t speclab_validation_verdict(const speclab_validation *validation);

/* Return the reason in one line, and the report that `speclab validate --format json` writes,
 * without its commands. Both are valid as long as the validation. */
const char *speclab_validation_reason(const speclab_validation *validation);
const char *speclab_validation_json(const speclab_validation *validation);

/* ---- advice ---------------------------------------------------------------------------------- */

/* Finds from an engine's logs the draft length that it should use, as `speclab advise` does:
 * docs/advise.md. */
typedef struct speclab_advice speclab_advice;

typedef struct {
    uint32_t size;
    int32_t current;           /* draft length in the files, 1..64; 0: the files state it */
    const char *const *plain;  /* files of runs without speculation, NULL-terminated; NULL: none */
    double plain_tokens_per_s; /* speed of one request without speculation; 0: not given */
    double round_over_plain;   /* time of a round over that of a plain token; 0: not given */
    const int32_t *K;          /* (2) least and largest length to consider, 0..64; NULL: from 0 to
                                  twice the longest that was run */
    const char *before; /* a file from before a change, if `file` is from after it; or NULL */
    const char *engine; /* the engine that wrote the files, or their format; NULL: detect it */
    const volatile int *opt_stop; /* read between records */
} speclab_advise_options;

/* Reads the files (NULL-terminated) in order and pools their evidence; "-" is standard input.
 * Returns SPECLAB_INPUT if a file has no known format or cannot answer the question, SPECLAB_FAILED
 * if one cannot be read. */
int32_t speclab_advise(speclab_advice **ret_advice, speclab *lab, const char *const *file,
                       const speclab_advise_options *opt_options, char *opt_error,
                       uint64_t error_size);

void speclab_advice_free(speclab_advice *opt_advice);

/* Return the text that the program prints, 80 columns wide; a JSON object; and the table, with the
 * program's columns and rows. The object has `answer`, a sentence or two; `verdict`, one of keep,
 * change, off, measure and nothing; `to_K`, the length to run; `decides_K`, the length whose run
 * would decide (0: plain decoding); `setting`, the lines to paste, or ""; and `diagnoses`, each
 * with its `name`, whether something is `wrong`, its `evidence` and what to do `next`. A missing K
 * is null. All are valid as long as the advice. */
const char *speclab_advice_text(const speclab_advice *advice);
const char *speclab_advice_json(const speclab_advice *advice);
const speclab_table *speclab_advice_table(const speclab_advice *advice);

/* ---- declarations for bindings end ----------------------------------------------------------- */

#ifdef __cplusplus
}
#endif

#endif
