/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab: the library: experiments, closed forms, rounds, simulations, texts, rows and validation.
 *
 * Link with `pkg-config --cflags --libs speclab`; docs/library.md has complete programs. C99 or
 * C++; the header needs no other library.
 *
 * Conventions of all functions:
 *
 * - A function that can fail returns one of SPECLAB_OK .. SPECLAB_FORKED. On failure it zeroes its
 *   outputs, structs but for their size, and writes one line, cut to error_size bytes, into
 *   opt_error. On success the line is empty. opt_error may be NULL.
 * - Parameters `ret_` are written, and must not be NULL; `opt_` may be NULL. An absent field of a
 *   struct is 0 or NULL.
 * - The caller zeroes a struct and sets its `size` to sizeof. Later versions append fields, and
 *   accept the sizes of this header too. Another size is SPECLAB_INPUT.
 * - Models, draft strategies, length policies and rules are the texts that the program takes, such
 *   as "zipf?V=100" and "lenience?l=0.3". `speclab list` names them.
 * - `opt_stop` points to a number that another thread or a signal handler may set to nonzero. The
 *   function then returns SPECLAB_STOPPED, usually within a fraction of a second.
 * - Results depend on the inputs alone: not on threads, processors or the environment.
 * - Several threads may use one `speclab` at once. Any other handle serves one thread at a time.
 * - The library prints nothing, reads no environment variable, changes no signal handler and no
 *   handler of GSL. It needs no "C" locale.
 * - After a fork, the child opens a `speclab` of its own. Functions that compute with one of the
 *   parent's, or with its simulations and texts, return SPECLAB_FORKED. Results of the parent can
 *   be read, and all its handles closed.
 *
 * Within 0.x a later library runs programs built with an earlier header, as long as SPECLAB_ABI
 * and the soname are equal. The static library promises its source interface alone. */
#ifndef SPECLAB_SPECLAB_H
#define SPECLAB_SPECLAB_H

#include "speclab/sampler.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- declarations for bindings begin: plain C, without macros -------------------------------- */

/* The version of the binary interface, the number of the soname libspeclab.so.0. */
enum { SPECLAB_ABI = 0 };

/* Returned by functions that can fail. */
enum {
    SPECLAB_OK = 0,
    SPECLAB_INPUT = 1,   /* an argument, a spec, a file or an experiment is wrong */
    SPECLAB_MEMORY = 2,  /* out of memory */
    SPECLAB_STOPPED = 3, /* *opt_stop was set */
    SPECLAB_FAILED = 4,  /* a callback, a model or a file failed */
    SPECLAB_FORKED = 5   /* the handle belongs to the parent process */
};

/* SPECLAB_ABI of the library that is loaded, and its version, such as "0.1.0 (8f78032)". */
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

/* Ends the threads. Rounds, simulations and texts of this library must be closed before; tables and
 * validations need not be. NULL is fine, here and in every function that frees a handle. */
void speclab_close(speclab *opt_lab);

/* ---- experiments ----------------------------------------------------------------------------- */

/* The result of an experiment: rows of cells. */
typedef struct speclab_table speclab_table;

typedef struct {
    uint32_t size;
    const char *name;       /* of the experiment, for its provenance and errors; NULL: experiment */
    const char *const *set; /* overrides "KEY=VALUE", as of `speclab run --set`; NULL-terminated */
    const uint64_t *seed;   /* NULL: that of the text, or 42 */
    uint64_t limit;         /* most branches of an enumeration; 0: the default */
    const volatile int *opt_stop;
    /* points done, with the share of the current one, of `total`; from any thread; or NULL */
    void (*progress)(void *self, double done, uint64_t total);
    void *self;
} speclab_run_options;

/* Runs an experiment, a text as in docs/formats.md#experiment-files: a measure and a grid. The
 * table has the columns and rows of the CSV that `speclab run` writes for the same text. After a
 * failure *ret_table has the rows that were finished before, or is NULL. The caller frees the table
 * in any case. */
int32_t speclab_run(speclab_table **ret_table, speclab *lab, const char *text,
                    const speclab_run_options *opt_options, char *opt_error, uint64_t error_size);

void speclab_table_free(speclab_table *opt_table);

int64_t speclab_table_rows(const speclab_table *table);
int32_t speclab_table_columns(const speclab_table *table);

/* The name of a column, NULL outside the table; the column of a name, or -1. */
const char *speclab_table_name(const speclab_table *table, int32_t column);
int32_t speclab_table_find(const speclab_table *table, const char *name);

/* The contents of a cell. */
enum {
    SPECLAB_CELL_EMPTY = 0, /* also outside the table; CSV has an empty field, for NaN too */
    SPECLAB_CELL_NUMBER = 1,
    SPECLAB_CELL_INTEGER = 2,
    SPECLAB_CELL_TEXT = 3
};
int32_t speclab_table_kind(const speclab_table *table, int64_t row, int32_t column);

/* A cell as a number, as it was computed: CSV shows ten of its digits. NaN without a number. */
double speclab_table_number(const speclab_table *table, int64_t row, int32_t column);

/* An integer cell; 0 for others. */
int64_t speclab_table_integer(const speclab_table *table, int64_t row, int32_t column);

/* A text cell, valid as long as the table; NULL for others. */
const char *speclab_table_text(const speclab_table *table, int64_t row, int32_t column);

/* The numbers of a whole column, as of speclab_table_number: ret_number has (rows). */
void speclab_table_numbers(double *ret_number, const speclab_table *table, int32_t column);

/* The lines of provenance, without "# ": version, experiment, seed, compiler, text. */
const char *speclab_table_provenance(const speclab_table *table);

/* The rows whose checks hold and fail, such as a z beyond 5 standard errors. */
void speclab_table_checks(uint64_t *ret_holds, uint64_t *ret_fails, const speclab_table *table);

/* The names that other functions take, with their keys and defaults: a table with the columns kind,
 * name, summary, reference (a key of docs/references.md) and claim. kind: "model", "draft" (a
 * strategy), "rule", "policy", "process", "lengths" or "measure"; NULL: all. claim, of a rule:
 * "lossless", "lossless at temperature 0", "lossy" or "wrong". The caller frees the table. */
int32_t speclab_list(speclab_table **ret_table, speclab *lab, const char *opt_kind,
                     char *opt_error, uint64_t error_size);

/* ---- closed forms ---------------------------------------------------------------------------- */

/* Under iid acceptance, with times in target calls; docs/formulas.md has sources and proofs.
 *   alpha      acceptance rate, in [0,1]
 *   K          draft length, tokens, >= 0
 *   c          time of a draft call over that of a target call, >= 0
 * At a limit they return the limit, as K + 1 tokens at alpha = 1. NaN outside the domain. */

/* Tokens per round, (1 - alpha^(K+1)) / (1 - alpha) [Leviathan23] Eq. (1); their variance. */
double speclab_emitted_mean(double alpha, double K);
double speclab_emitted_variance(double alpha, int32_t K);

/* The chance that exactly k of K draft tokens are accepted: alpha^k (1-alpha), or alpha^K. */
double speclab_accepted_probability(double alpha, int32_t K, int32_t k);

/* The speed-up over plain decoding [Leviathan23] Theorem 3.8; the same from a measured mean of
 * tokens per round. */
double speclab_speedup(double alpha, double K, double c);
double speclab_speedup_from_emitted(double emitted, double K, double c);

/* The smallest K that is fastest, inf if every further token gains; the speed-up there. */
double speclab_best_K(double alpha, double c);
double speclab_best_speedup(double alpha, double c);

/* The alpha above which this K and c gain; NaN if none or every alpha does. */
double speclab_break_even_alpha(int32_t K, double c);

/* The factor on arithmetic operations per token [Leviathan23] Theorem 3.11. ops_ratio: operations
 * of the draft per token, over the target's. The factor on reads of the target's weights. */
double speclab_ops_factor(double alpha, int32_t K, double ops_ratio);
double speclab_memory_factor(double alpha, int32_t K);

/* ---- pairs of models, and one round ---------------------------------------------------------- */

/* A target, its draft, and how they speculate. */
typedef struct {
    uint32_t size;
    int32_t K;            /* most draft tokens along a path, 0..256 */
    const char *target;   /* model, such as "zipf?V=100" */
    const char *draft;    /* model, such as "perturb?of=target&alpha=0.8"; NULL: none */
    const char *drafting; /* draft strategy; NULL: chain */
    const char *policy;   /* length policy; NULL: fixed */
    const char *rule;     /* verification rule; NULL: token */
} speclab_pair;

/* One round after a context, with every random decision. It must be freed before its library. */
typedef struct speclab_round speclab_round;

typedef struct {
    uint32_t size;
    int32_t n_coins;
    const double *coin; /* (n_coins) the first uniform numbers, in [0,1); further ones come from
                           `seed` */
    uint64_t seed;
    const int32_t *context; /* (n_context) tokens before the round */
    int64_t n_context;
} speclab_round_options;

int32_t speclab_round_run(speclab_round **ret_round, speclab *lab, const speclab_pair *pair,
                          const speclab_round_options *opt_options, char *opt_error,
                          uint64_t error_size);

void speclab_round_free(speclab_round *opt_round);

/* The outcome. Its arrays are valid as long as the round. */
typedef struct {
    uint32_t size;
    int32_t vocab;
    int32_t n_decisions;
    int32_t coins_used;    /* of the given ones */
    int32_t n_nodes;       /* draft tokens; a chain or a tree */
    int32_t n_accepted;    /* accepted draft tokens along a path */
    int32_t n_emitted;     /* n_accepted + 1 */
    const int32_t *token;  /* (n_emitted) the tokens that the round adds to the text */
    const int32_t *node;   /* (n_accepted) accepted nodes, root first */
    const int32_t *draft;  /* (n_nodes) draft tokens */
    const int32_t *parent; /* (n_nodes) -1: the root */
    const uint8_t *drawn;  /* (n_nodes) 1: drawn from the draft's row; 0: chosen without chance */
} speclab_outcome;

/* Fills the struct, whose size is set. SPECLAB_INPUT for another size, or no round. */
int32_t speclab_round_outcome(speclab_outcome *ret_outcome, const speclab_round *round);

/* The probabilities (vocab) that a token is judged by: of the target at the root (node -1) or after
 * a node, and those that a node was drawn from. NULL for a node that does not exist, and for a
 * draft without a model. */
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
    SPECLAB_ROLE_BLOCK = 5,      /* picks the block of a large residual that the next pick is in */
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
    double num, den;      /* of an accept */
    const double *weight; /* (n_weights) of a pick; valid as long as the round */
    int32_t n_weights;
    int32_t role;  /* SPECLAB_ROLE_* */
    int32_t node;  /* the draft token that it is about, or -1 */
    int32_t after; /* it decides the token after this node; -1: the first token of the round */
} speclab_decision;

/* Decision number `index`; SPECLAB_INPUT for one that does not exist, or another size. */
int32_t speclab_round_decision(speclab_decision *ret_decision, const speclab_round *round,
                               int32_t index);

/* ---- exact laws ------------------------------------------------------------------------------ */

/* The law of the first tokens that a pair emits, by enumeration of every random decision, beside
 * the law that its rule promises: that of the target, or its argmax. A law is an array of
 * vocab^tokens probabilities. The index of a text has its tokens as digits; the first one is the
 * most significant. A text that ends early is padded with the token that ended it. */
typedef struct speclab_law speclab_law;

typedef struct {
    uint32_t size;
    int32_t tokens;  /* 1..64 */
    uint64_t limit;  /* most branches; 0: the default */
    const volatile int *opt_stop; /* as long as the law is open */
} speclab_law_options;

int32_t speclab_law_open(speclab_law **ret_law, speclab *lab, const speclab_pair *pair,
                         const speclab_law_options *options, char *opt_error, uint64_t error_size);

typedef struct {
    uint32_t size;
    int32_t vocab;
    int64_t n_texts; /* vocab^tokens, at most 1,000,000 */
    uint64_t branches;
    double tv;        /* total variation distance of the two laws */
    double max_error; /* their largest difference */
    double accepted;  /* mean n_accepted of the first round */
    const double *law, *promise; /* (n_texts) valid as long as the law */
} speclab_law_numbers;

/* Fills the struct, whose size is set; SPECLAB_INPUT for another size, or no law. */
int32_t speclab_law_read(speclab_law_numbers *ret_numbers, const speclab_law *law);

/* Samples `texts` texts by the same decoding loop, and adds one per text to counts (n_texts).
 * Batches of one seed with different numbers are independent. */
int32_t speclab_law_sample(uint64_t *counts, speclab_law *law, uint64_t seed, uint64_t batch,
                           uint64_t texts, char *opt_error, uint64_t error_size);

/* The logarithm of an e-value against the promise from counts (n_texts): under the promise its
 * expectation is at most 1, also where sampling stops when it is large [Grunwald24]. Counts of an
 * impossible text give inf. NaN without memory. */
double speclab_law_log_e(const speclab_law *law, const uint64_t *counts);

void speclab_law_close(speclab_law *opt_law);

/* ---- simulation ------------------------------------------------------------------------------ */

/* Monte Carlo rounds, in groups of 64 batches, so that a program can show and stop them. Each batch
 * has a random stream of its own: results depend on seed and number of rounds alone. */
typedef struct speclab_simulation speclab_simulation;

typedef struct {
    uint32_t size;
    uint64_t seed;
    uint64_t rounds;       /* stop after this number of rounds; 0: no such limit */
    double standard_error; /* of the tokens per round: stop when it is reached; 0: no such limit */
    double c;              /* time of a draft call, in target calls */
    const volatile int *opt_stop; /* as long as the simulation is open */
} speclab_simulation_options;

/* Rounds of the decoding loop over a pair of models. */
int32_t speclab_simulation_open(speclab_simulation **ret_simulation, speclab *lab,
                                const speclab_pair *pair, const speclab_simulation_options *options,
                                char *opt_error, uint64_t error_size);

/* Rounds of acceptance alone, without tokens, over 100 times as fast. */
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

/* Runs the next group; *ret_done is 1 after the last. A stopped group counts for nothing. */
int32_t speclab_simulation_next(int32_t *ret_done, speclab_simulation *simulation, char *opt_error,
                                uint64_t error_size);

/* The two halves of _next, by which several processes share a simulation that each has opened.
 * _group computes group 0.._groups - 1, in any order, as a line of text of at most
 * SPECLAB_GROUP_SIZE bytes. _add counts that of the next group: added in order, all estimates equal
 * those of _next to the last bit. SPECLAB_INPUT for another number, or another text. */
enum { SPECLAB_GROUP_SIZE = 20000 };
uint64_t speclab_simulation_groups(const speclab_simulation *simulation);
int32_t speclab_simulation_group(char *ret_text, uint64_t text_size, speclab_simulation *simulation,
                                 uint64_t number, char *opt_error, uint64_t error_size);
int32_t speclab_simulation_add(int32_t *ret_done, speclab_simulation *simulation, const char *text,
                               char *opt_error, uint64_t error_size);

/* Estimates from all rounds so far, with their standard errors; NaN if there are too few rounds. */
typedef struct {
    uint32_t size;
    int32_t done;
    uint64_t rounds;
    double emitted, emitted_se; /* tokens per round */
    double first, first_se;     /* acceptance rate of the first draft token */
    double speedup, speedup_se; /* tokens per target call of time, on the virtual clock */
} speclab_estimates;

/* Fills the struct, whose size is set; SPECLAB_INPUT for another size, or no simulation. */
int32_t speclab_simulation_read(speclab_estimates *ret_estimates,
                                const speclab_simulation *simulation);

/* The rounds so far that accepted k draft tokens, for k = 0..n-1. */
void speclab_simulation_accepted(uint64_t *ret_rounds, int32_t n,
                                 const speclab_simulation *simulation);

void speclab_simulation_close(speclab_simulation *opt_simulation);

/* ---- texts ----------------------------------------------------------------------------------- */

/* A text that speculation writes, round by round: that of `speclab generate` for the same seed. */
typedef struct speclab_text speclab_text;

typedef struct {
    uint32_t size;
    uint64_t seed;
    uint64_t number;      /* of the text among those of a seed */
    uint64_t most;        /* most tokens; 0: no limit */
    const char *prompt;   /* a text for the target's tokenizer; NULL: `token` */
    const int32_t *token; /* (n_token) the prompt as tokens; NULL: none */
    int64_t n_token;
    const volatile int *opt_stop; /* as long as the text is open */
} speclab_text_options;

int32_t speclab_text_open(speclab_text **ret_text, speclab *lab, const speclab_pair *pair,
                          const speclab_text_options *opt_options, char *opt_error,
                          uint64_t error_size);

/* The origin of a token: an accepted draft token, the correction after a rejection, the bonus after
 * a whole draft, or the target if nothing was drafted. */
enum {
    SPECLAB_FROM_DRAFT = 0,
    SPECLAB_FROM_CORRECTION = 1,
    SPECLAB_FROM_BONUS = 2,
    SPECLAB_FROM_TARGET = 3
};

/* Why a text has ended: `most` tokens, the target's end of text, or its window is full. */
enum {
    SPECLAB_TEXT_GOES_ON = 0,
    SPECLAB_TEXT_MOST = 1,
    SPECLAB_TEXT_END = 2,
    SPECLAB_TEXT_WINDOW = 3
};

/* The tokens of a round, cut to the text. Its arrays are valid until the next call for the text. */
typedef struct {
    uint32_t size;
    int32_t n;             /* tokens; 0 if the text had ended before */
    int32_t ending;        /* SPECLAB_TEXT_* */
    int32_t n_drafted;     /* draft tokens of the round */
    const int32_t *token;  /* (n) */
    const int32_t *origin; /* (n) SPECLAB_FROM_* */
    const int64_t *end;    /* (n) end of each token in bytes; all 0 without a vocabulary */
    const char *bytes;     /* the text of the tokens, perhaps in the middle of a UTF-8 character */
} speclab_text_part;

/* One round; the size of *ret_part is set. A text that has ended stays ended. */
int32_t speclab_text_round(speclab_text_part *ret_part, speclab_text *text, char *opt_error,
                           uint64_t error_size);

void speclab_text_close(speclab_text *opt_text);

/* ---- files of rows --------------------------------------------------------------------------- */

/* A file of recorded rows along texts, place after place, which "rows:FILE" then names as a model:
 * docs/formats.md#rows. It appears when it is finished. */
typedef struct speclab_rows speclab_rows;

typedef struct {
    uint32_t size;
    int32_t vocab;           /* 1..2^20 */
    int32_t sides;           /* the target and its drafts, 1..8 */
    const char *const *name; /* (sides) where the rows come from, as the file will tell */
    double cutoff;           /* 0: rows are stored bit for bit; up to 0.01: smaller probabilities
                                are left out, and the others are floats */
} speclab_rows_options;

int32_t speclab_rows_open(speclab_rows **ret_rows, speclab *lab, const char *path,
                          const speclab_rows_options *options, char *opt_error,
                          uint64_t error_size);

/* Begins a text of n >= 1 tokens; its places follow. */
int32_t speclab_rows_text(speclab_rows *rows, const int32_t *token, int64_t n, char *opt_error,
                          uint64_t error_size);

/* Adds the rows (sides), each (vocab), after the first `position` tokens of the text, 0..n-1,
 * rising. Each sums to 1 within 1e-12. */
int32_t speclab_rows_place(speclab_rows *rows, int64_t position, const double *const *row,
                           char *opt_error, uint64_t error_size);

/* Gives the file, which has a place at least, its name. An older file that differs is kept as
 * NAME.bak. */
int32_t speclab_rows_finish(speclab_rows *rows, char *opt_error, uint64_t error_size);

/* Frees the handle; a file that is not finished is removed. */
void speclab_rows_close(speclab_rows *opt_rows);

/* ---- validation ------------------------------------------------------------------------------ */

/* A batch of independent drafts to verify, or in scope DV to draw and verify. Arrays are row-major.
 * Draft i has length[i] of n_nodes places; the other places have token -1 and rows of 0. Row 0 of a
 * draft is the next-token distribution at its root, and row j+1 the one after node j. spec_step in
 * sampler.h describes the fields. */
typedef struct {
    uint32_t size;
    int32_t n, n_nodes, vocab;
    uint32_t scope;          /* SPEC_SCOPE_VERIFY or SPEC_SCOPE_DRAFT */
    uint32_t drawn;          /* one of SPEC_DRAWN_* */
    const int32_t *length;   /* (n) with padding inside the draft, if the sampler accepts that */
    const int32_t *token;    /* (n, n_nodes); NULL in scope DV */
    const int32_t *parent;   /* (n_nodes) of all drafts, -1: the root; NULL: chains */
    const float *target;     /* (n, n_nodes+1, vocab) */
    const float *draft;      /* (n, n_nodes+1, vocab); NULL: the drafts are FIXED */
    const uint64_t *request; /* (n) */
    const uint64_t *seed;    /* (n) */
    const uint64_t *offset;  /* (n) */
    const float *coin;       /* (n, n_coins) or NULL */
    int32_t n_coins;
    spec_sampling sampling;

    int32_t *ret_token;     /* (n, n_nodes+1) emitted tokens; places after them may hold anything */
    int32_t *ret_n_emitted; /* (n) 1..length+1 */
    int32_t *ret_draft;     /* (n, n_nodes) scope DV: the drafted tokens; NULL in scope V */
} speclab_batch;

/* A sampler of this process. Its functions return 0, or another number on failure, which ends the
 * run. A crash ends the process, and a call that does not return cannot be ended: `speclab
 * validate` runs a sampler in a process of its own. */
typedef struct {
    uint32_t size;
    int32_t parallel;                /* 1: several threads may call it at once */
    const spec_sampler_about *about; /* its declaration, as of a plug-in */
    int32_t (*batch)(void *self, const speclab_batch *batch); /* scopes V and DV */
    /* scope S, as spec_sampler_generate */
    int32_t (*generate)(void *self, const spec_models *models, const int32_t *context,
                        int64_t n_context, int32_t K, spec_sampling sampling, uint64_t seed,
                        int32_t *ret_token, int64_t n_tokens);
    const char *(*error)(void *self); /* one line about the last failure, or NULL; or NULL */
    void *self;
} speclab_sampler;

typedef struct {
    uint32_t size;
    uint32_t scopes;         /* to test, of those of the sampler; 0: all */
    double false_alarm_rate; /* chance of a FAIL for a lossless sampler; 0: 1e-6 */
    double eps;              /* total variation that a PASS rules out; 0: .1 */
    double power;            /* 0: 0.9 */
    uint64_t draws;          /* budget in tokens; 0: 20 million */
    double seconds;          /* budget in seconds instead; 0: none */
    const uint64_t *seed;    /* NULL: 42 */
    const char *const *only; /* names of fixtures and tests, NULL-terminated; NULL: all */
    int32_t no_hints;        /* 1: do not explain a FAIL: by known mistakes, or as DEPENDENT */
    const volatile int *opt_stop;
    void (*progress)(void *self, uint64_t draws, double log_e); /* or NULL */
    void *self;
    int32_t dependent_requests; /* 1: requests of a call may depend on each other */
} speclab_validate_options;

typedef struct speclab_validation speclab_validation;

/* PASS: every total variation that the report states would have been detected with the power.
 * LOSSY: differs from the target, as the sampler declares. INCONCLUSIVE: not enough evidence.
 * DEPENDENT: each request is right, and requests of a call depend on each other. */
enum {
    SPECLAB_PASS = 0,
    SPECLAB_FAIL = 1,
    SPECLAB_LOSSY = 2,
    SPECLAB_INCONCLUSIVE = 3,
    SPECLAB_DEPENDENT = 4
};

/* Tests whether a sampler is lossless: docs/conformance.md. A budget in draws gives the same report
 * for any number of threads. SPECLAB_FAILED, without a verdict, if the sampler fails. *opt_stop is
 * read between batches. */
int32_t speclab_validate(speclab_validation **ret_validation, speclab *lab,
                         const speclab_sampler *sampler,
                         const speclab_validate_options *opt_options, char *opt_error,
                         uint64_t error_size);

void speclab_validation_free(speclab_validation *opt_validation);

int32_t speclab_validation_verdict(const speclab_validation *validation);

/* The reason in one line; the report that `speclab validate --format json` writes, without its
 * commands. Both are valid as long as the validation. */
const char *speclab_validation_reason(const speclab_validation *validation);
const char *speclab_validation_json(const speclab_validation *validation);

/* ---- advice ---------------------------------------------------------------------------------- */

/* The draft length that an engine should run, from its logs: the answer of `speclab advise`,
 * docs/advise.md. */
typedef struct speclab_advice speclab_advice;

typedef struct {
    uint32_t size;
    int32_t current;           /* draft length of the files, 1..64; 0: they say it */
    const char *const *plain;  /* files of runs without speculation, NULL-terminated; NULL: none */
    double plain_tokens_per_s; /* its speed, of one request; 0: not given */
    double round_over_plain;   /* time of a round over that of a plain token; 0: not given */
    const int32_t *K;          /* (2) least and largest length to consider, 0..64; NULL: from 0 to
                                  twice the longest that was run */
    const char *before; /* a file from before a change, where `file` is from after it; or NULL */
    const char *engine; /* reads the files as this engine's, or in this format; NULL: by content */
    const volatile int *opt_stop; /* read between records */
} speclab_advise_options;

/* Reads the files, NULL-terminated, as one set of evidence, in order; "-" is standard input.
 * SPECLAB_INPUT for a file of no known format and for one that cannot answer; SPECLAB_FAILED for
 * one that cannot be read. */
int32_t speclab_advise(speclab_advice **ret_advice, speclab *lab, const char *const *file,
                       const speclab_advise_options *opt_options, char *opt_error,
                       uint64_t error_size);

void speclab_advice_free(speclab_advice *opt_advice);

/* The text that the program prints, 80 columns wide. A JSON object: `answer`, a sentence or two;
 * `verdict`, one of keep, change, off, measure and nothing; `to_K`, the length to run; `decides_K`,
 * the length whose run would decide (0: plain decoding); `setting`, the lines to paste, or "";
 * `diagnoses`, each with its `name`, whether something is `wrong`, its `evidence` and what to do
 * `next`. An absent K is null. The table, with the columns and rows of the program's. All are valid
 * as long as the advice. */
const char *speclab_advice_text(const speclab_advice *advice);
const char *speclab_advice_json(const speclab_advice *advice);
const speclab_table *speclab_advice_table(const speclab_advice *advice);

/* ---- declarations for bindings end ----------------------------------------------------------- */

#ifdef __cplusplus
}
#endif

#endif
