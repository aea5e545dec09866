/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No silent assumptions: if changing a default moves an answer by more than a twentieth, the output
 * must name the option. Each option with a default is tried with another value. SPECLAB names the
 * program. */
#include "base/table.h"
#include "tests/cli/help_text.h"
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

static const double MOVES = 0.05;

#define AFFINE "affine:step=7.1ms,token=21us,kv=39ns"
#define H100 "--cost roofline:card=H100,parameters=8B"
#define PREDICT "predict --alpha 0.7 --K 5 --c 0.1"
#define AHEAD "predict --alpha 0.7 --K 5 --c 0.1 --guess 0.5"
#define SWEEP "sweep --alpha 0.7 --K 4 --rounds 2000"
#define DECODE                                                                                     \
    "sweep --target dirichlet?V=20&seed=1 --draft dirichlet?V=20&seed=2 --K 4 --rounds 2000"
#define PROVE "prove --rule token --drafting chain"
#define CASES "prove --cases 20 --rule lenience --drafting chain"
#define ACCEPT "accept --rule token --drafting iid"
#define PLAN "plan --nodes 16 --methods sequoia"
#define PAIR "--target dirichlet?V=8&seed=1 --draft dirichlet?V=8&seed=2"
#define SERVE "serve --rate 30 --requests 200 --K 3 --cost " AFFINE
#define BENCH "bench " PAIR " --tokens 64 --texts 8 --widths 1,2"
#define MODELS_CFG                                                                                 \
    "measure = \"decode\"; grid = { target = \"dirichlet?V=20&seed=1\"; "                          \
    "draft = \"dirichlet?V=20&seed=2\"; K = [4]; c = [0.1]; "
#define GENERATE "generate " PAIR " -n 40"

/* A base command, an option that it does not give, and another plausible value. The answer is a
 * column, or the whole standard output. An option in brackets is a setting of a spec. */
static const struct {
    const char *base, *option, *value, *opt_column;
} moving[] = {
    {"predict --K 5", "alpha", "0.6", "speedup"},
    {"predict --alpha 0.7", "K", "8", "speedup"},
    {"predict --alpha 0.7 --K 5", "c", "0.2", "speedup"},
    {PREDICT, "costs", "costs.csv", "speedup"},
    {AHEAD, "handed", "1", "speedup_ahead"},
    {"predict --alpha 0.9 --c 0.2 --inner-alpha 0.7", "inner-c", "0.1", "best_speedup"},
    {"sweep --target uniform?V=3 --draft zipf?V=3 --K 2 --rounds 2000 --inner-draft zipf?V=3",
     "inner-c", "0.1", "speedup"},
    {"prove --rule token --c 0.2 --inner-draft uniform?V=3", "inner-c", "0.1", "speedup"},
    {"sweep --K 4 --rounds 2000", "alpha", "0.6", "speedup"},
    {"sweep --alpha 0.7 --rounds 2000", "K", "2", "emitted"},
    {SWEEP, "c", "0.2", "speedup"},
    {"sweep --target zipf?V=20 --K 4 --rounds 2000", "draft", "zipf?V=20&s=3", "speedup"},
    {DECODE, "drafting", "greedy", "speedup"},
    {DECODE, "policy", "confidence?threshold=0.4", "speedup"},
    {DECODE, "rule", "lenience", "speedup"},
    {PROVE, "target", "dirichlet?V=3&concentration=0.3&seed=3", "mean_n_accepted"},
    {PROVE, "draft", "dirichlet?V=3&concentration=0.3&seed=4", "mean_n_accepted"},
    {PROVE, "K", "3", "mean_n_accepted"},
    {PROVE, "tokens", "1", "branches"},
    {CASES, "V", "5", "mean_n_accepted"},
    {CASES, "family", "zeros", "mean_n_accepted"},
    {"prove --rule match --n 2", "siblings", "greedy", "mean_n_accepted"},
    {ACCEPT, "target", "probs:0.8,0.1,0.1", "acceptance"},
    {ACCEPT, "draft", "probs:0.1,0.1,0.8", "acceptance"},
    {ACCEPT, "n", "2", "n"},
    {ACCEPT " " PAIR, "contexts", "50", "acceptance"},
    {PLAN, "accept", "0.5,0.2,0.1", "speedup"},
    {PLAN " --accept 0.7,0.1", "c", "0.2", "speedup"},
    {PLAN " --accept 0.7,0.1 --c 0.1", "costs", "costs.csv", "speedup"},
    {PLAN " " PAIR " --c 0.1", "siblings", "top", "emitted"},
    {PLAN " " PAIR " --c 0.1 --siblings without", "width", "1", "emitted"},
    {"serve --rate 30 --requests 200 --K 3", "cost", "affine:step=10ms,token=21us,kv=39ns",
     "latency_ms"},
    {"serve --rate 30 --requests 200 --K 3", "draft-cost", "round=6ms", "latency_ms"},
    {SERVE, "alpha", "0.6", "latency_ms"},
    {SERVE, "draft-cost", "round=2.1ms", "latency_ms"},
    {SERVE, "prompt", "256", "latency_ms"},
    {SERVE, "output", "128", "latency_ms"},
    {SERVE, "arrivals", "gamma?cv=3", "latency_ms"},
    {SERVE, "spread", "two?spread=0.2", "latency_ms"},
    {SERVE " --draft-cost round=2.1ms", "place", "halves", "latency_ms"},
    {SERVE " --draft-cost round=2.1ms,token=30us", "draft-cache", "fed", "latency_ms"},
    {SERVE, "batch", "16", "latency_ms"},
    {SERVE, "budget", "128", "latency_ms"},
    {SERVE, "chunk", "16", "latency_ms"},
    {SERVE, "blocks", "1200", "latency_ms"},
    {"serve --rate 30 --requests 200 --K 3 " H100, "kv_bytes=", "131072", "latency_ms"},
    {"serve --rate 30 --requests 200 --K 3 " H100, "bytes_per_weight=", "1", "latency_ms"},
    {"serve --rate 30 --requests 200 --K 3 " H100, "efficiency=", "0.3", "latency_ms"},
    {"serve --rate 30 --requests 200 --K 3 " H100, "compute=", "0.2", "latency_ms"},
    {"serve --rate 30 --requests 200 --K 3 " H100, "overhead=", "2ms", "latency_ms"},
    {"serve --rate 30 --requests 200 --K 3 " H100, "devices=", "2", "latency_ms"},
    {"run chain.cfg", "drafting", "greedy.cfg", "speedup"},
    {BENCH, "rule", "lenience", "tokens_per_round"},
    {BENCH, "drafting", "greedy", "tokens_per_round"},
    {BENCH, "policy", "confidence?threshold=0.7", "tokens_per_round"},
    {BENCH, "K", "1", "tokens_per_round"},
    {BENCH, "temperature", "0.3", "tokens_per_round"},
    {BENCH, "top-k", "2", "tokens_per_round"},
    {BENCH, "top-p", "0.5", "tokens_per_round"},
    {BENCH, "min-p", "0.5", "tokens_per_round"},
    {GENERATE, "rule", "lenience", NULL},
    {GENERATE, "drafting", "greedy", NULL},
    {GENERATE, "policy", "confidence?threshold=0.7", NULL},
    {GENERATE, "K", "1", NULL},
    {GENERATE, "temperature", "0.3", NULL},
    {GENERATE, "top-k", "2", NULL},
    {GENERATE, "top-p", "0.5", NULL},
    {GENERATE, "min-p", "0.5", NULL},
    {"step", "rule", "block", NULL},
    {"step", "drafting", "greedy", NULL},
    {"step", "policy", "confidence?threshold=0.4", NULL},
    {"step", "temperature", "0.5", NULL},
    {"step", "top-k", "2", NULL},
    {"step", "top-p", "0.5", NULL},
    {"step", "min-p", "0.9", NULL},
};

/* Options whose defaults are not facts about a model, a machine or a load. */
static const struct {
    const char *verbs, *options, *reason;
} others[] = {
    {"", "format seed threads output figure force all resume", "the same numbers"},
    {"sweep", "rounds positions standard-error", "Monte Carlo error, which the result states"},
    {"plan", "positions rounds", "Monte Carlo error"},
    {"run", "limit", "a limit of work"},
    {"prove", "limit", "a limit of work"},
    {"serve", "requests warm", "Monte Carlo error, which the result states"},
    {"bench", "texts seconds turn widths tokens context clock prompts",
     "the size of a measurement, in its head"},
    {"sweep serve", "process", "iid is the formulas' first assumption, and its alpha is printed"},
    {"predict sweep prove", "c-token", "drafts with a part that runs token by token alone"},
    {"predict", "ops-ratio", "another column"},
    {"predict", "inner-rounds inner-K", "the best are in the table"},
    {"predict", "direct-alpha", "only for the comparison with pairs, whose column names it"},
    {"prove accept", "rule drafting policy", "every choice is a row"},
    {"prove", "c tree n", "not asked"},
    {"plan", "methods nodes depth rule",
     "every method and budget is a row; deep enough; by the siblings"},
    {"serve", "K lengths speed rounds-correlation", "rows of the table; asked for a trace alone"},
    {"serve", "block memory kv-bytes slo", "need --blocks, or are not asked"},
    {"generate", "prompt tokens texts color verify", "the text itself"},
    {"step", "K rounds context top names verify draft", "what is shown"},
    {"tune", "data texts tokens method trials", "said; a search takes long"},
    {"train", "loss layers dim K steps rate batch window", "said; a training takes long"},
    {"tune", "runs top check", "the size of the table"},
    {"train",
     "target draft heads kv-heads ffn taps ttt own-texts judge-texts save-every bar "
     "dropout exit-scale rotate",
     "the recipe of a model, which the model's file holds"},
    {"validate",
     "env only scopes trace budget eps false-alarm-rate memory power holds "
     "write-trace timeout temperature",
     "the report names budget, alarm rate, power and what was tested"},
    {"rows", "cutoff device every length positions prompt split",
     "the head of the file names them"},
    {"advise", "K engine", "the report names them"},
    {"quantize widen import", "type by taps", "the table names them"},
    {"bench step generate", "draft verify device", "named in the head"},
    {"bench", "loss positions rate", "of --online, which its result names"},
};

static int n_faults;

/* Print a fault; the test goes on, and fails at its end. */
__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    n_faults++;
}

typedef struct {
    double mean;        /* of the column; NaN without one */
    char text[1 << 16]; /* standard output */
    char said[1024];    /* the line "assumed: ..." */
    bool has_column;    /* the option is a column */
} answer;

static void ask(answer *ret, const char *arguments, const char *option, const char *opt_column)
{
    spec_child c;
    spec_table table;
    spec_error error;
    char column[64];
    spec_child_run(&c, arguments);
    if (c.code != 0 && c.code != 1 && c.code != 3)
        fail_msg("speclab %s: %d, %s", arguments, c.code, c.line);
    *ret = (answer){.mean = NAN};
    snprintf(ret->text, sizeof ret->text, "%s", c.text);
    snprintf(ret->said, sizeof ret->said, "%s", c.assumed);
    if (opt_column != NULL) {
        double sum = 0.0;
        int n = 0;
        spec_file_write("answer.csv", c.text);
        if (spec_table_read_csv(&table, "answer.csv", NULL, &error) != GSL_SUCCESS)
            fail_msg("speclab %s: %s", arguments, error.text);
        const int at = spec_table_column(&table, opt_column);
        if (at < 0) fail_msg("speclab %s: no column %s", arguments, opt_column);
        for (size_t r = 0; r < table.n_rows; r++) {
            const double value = spec_cell_number(spec_table_cell(&table, r, at));
            if (isnan(value)) continue;
            sum += value;
            n++;
        }
        ret->mean = sum / n;
        snprintf(column, sizeof column, "%s", option);
        for (char *at_dash = column; (at_dash = strchr(at_dash, '-')) != NULL;) *at_dash = '_';
        ret->has_column = spec_table_column(&table, column) >= 0;
        spec_table_free(&table);
    }
    spec_child_free(&c);
}

TEST(a_default_that_moves_an_answer_is_printed, SLOW)
{
    spec_needs_program();
    n_faults = 0;
    spec_file_write("costs.csv", "nodes,time\n1,1\n4,1.2\n8,1.6\n16,2.5\n32,4\n64,7\n");
    spec_file_write("chain.cfg", MODELS_CFG "}; rounds = 2000;");
    spec_file_write("greedy.cfg", MODELS_CFG "drafting = \"greedy\"; }; rounds = 2000;");
    for (size_t i = 0; i < sizeof moving / sizeof *moving; i++) {
        const char *base = moving[i].base, *option = moving[i].option, *value = moving[i].value,
                   *column = moving[i].opt_column;
        char other[512], typed[80];
        answer before, after;
        const bool run = strncmp(base, "run ", 4) == 0, setting = strchr(option, '=') != NULL;
        if (run)
            snprintf(other, sizeof other, "run %s", value);
        else
            snprintf(other, sizeof other, setting ? "%s,%s%s" : "%s --%s %s", base, option, value);
        snprintf(typed, sizeof typed, run ? "%s = " : setting ? "%s" : "--%s ", option);
        ask(&before, base, option, column);
        ask(&after, other, option, column);
        const bool moves =
            column != NULL ? !(fabs(after.mean / before.mean - 1.0) <= MOVES) /* NaN: no latency */
                           : strcmp(after.text, before.text) != 0;
        if (!moves)
            note("speclab %s: %s %s does not move %s, %g to %g", base, option, value, column,
                 before.mean, after.mean);
        /* These two verbs report the value in a column instead. */
        const bool shown = before.has_column && (base[0] == 'a' || base[0] == 'b');
        if (strstr(before.said, typed) == NULL && !shown)
            note("speclab %s: assumes --%s in silence: %s", base, option, before.said);
        if (strstr(after.said, typed) != NULL)
            note("speclab %s: what is given is called assumed: %s", other, after.said);
    }
    assert_int_equal(n_faults, 0);
}

TEST(three_models_assume_no_K)
{
    spec_child c;
    spec_needs_program();
    spec_child_run(&c, "predict --alpha 0.9 --inner-alpha 0.7");
    assert_non_null(strstr(c.assumed, "--inner-c "));
    assert_null(strstr(c.assumed, "--K "));
    spec_child_free(&c);
}

static bool is_considered(const char *verb, const char *option)
{
    for (size_t i = 0; i < sizeof moving / sizeof *moving; i++)
        if (strncmp(moving[i].base, verb, strlen(verb)) == 0 &&
            strcmp(moving[i].option, option) == 0)
            return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if ((others[i].verbs[0] == '\0' || is_among(others[i].verbs, verb)) &&
            is_among(others[i].options, option))
            return true;
    return false;
}

/* The help of an option ends with its default in parentheses. */
TEST(every_option_with_a_default_is_considered)
{
    static const char *const verbs[] = {"predict",  "sweep", "run",    "prove",    "accept",
                                        "plan",     "serve", "bench",  "step",     "generate",
                                        "advise",   "tune",  "train",  "validate", "rows",
                                        "quantize", "widen", "import", NULL};
    spec_needs_program();
    n_faults = 0;
    for (int v = 0; verbs[v] != NULL; v++) {
        char arguments[64], option[64] = "", last = '\0';
        spec_child c;
        snprintf(arguments, sizeof arguments, "%s --help", verbs[v]);
        spec_child_run(&c, arguments);
        for (const char *line = c.text; *line != '\0'; line = strchr(line, '\n') + 1) {
            const char *dashes = strstr(line, "--");
            const bool begins = line[0] == ' ' && dashes != NULL && dashes - line <= 6;
            if ((begins || line[0] != ' ') && option[0] != '\0') {
                if (last == ')' && !is_considered(verbs[v], option))
                    note("%s --%s: has a default; does it move the answer?", verbs[v], option);
                option[0] = '\0';
            }
            if (begins)
                snprintf(option, sizeof option, "%.*s", (int)strcspn(dashes + 2, "=[ \n"),
                         dashes + 2);
            const size_t width = strcspn(line, "\n");
            if (width > 0) last = line[width - 1];
        }
        spec_child_free(&c);
    }
    assert_int_equal(n_faults, 0);
}

/* The siblings are chosen to suit the rule, or the rule to suit the siblings. */
TEST(plan_completes_siblings_and_rule)
{
    static const struct {
        const char *given, *siblings, *rule;
    } cases[] = {{"--rule rrs", "iid", "rrs"},
                 {"--rule naive-tree", "iid", "naive-tree"},
                 {"--rule rrsw", "without", "rrsw"},
                 {"--rule match", "top", "match"},
                 {"", "without", "rrsw"},
                 {"--siblings iid", "iid", "rrs"},
                 {"--siblings without", "without", "rrsw"},
                 {"--siblings top", "top", "match"}};
    spec_needs_program();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[200], expected[80];
        snprintf(command, sizeof command,
                 "plan --target zipf?V=8 --draft perturb?of=target&alpha=0.7 --nodes 2 "
                 "--methods chain --force -o plan.csv %s",
                 cases[i].given);
        snprintf(expected, sizeof expected, "--siblings %s --rule %s ", cases[i].siblings,
                 cases[i].rule);
        spec_program_works(command);
        FREED char *result = spec_file_bytes("plan.csv");
        if (strstr(result, expected) == NULL) fail_msg("%s: not %s", command, expected);
    }
}

TEST(training_and_tuning_say_what_they_assume, SLOW)
{
    spec_needs_program();
    spec_child c;
    char *text = calloc(1, 20001);
    for (int i = 0; i < 2000; i++) memcpy(text + 10 * i, "once upon ", 10);
    spec_file_write("long.txt", text);
    free(text);
    static const struct {
        const char *arguments, *assumed;
    } runs[] = {
        {"lm --steps 2 --layers 2 --dim 32 --window 64", "--loss ce, --rate 0.003, --batch 8"},
        {"lm --minutes 1e-5 --heads 2",
         "--loss ce, --layers 2, --dim 128, --rate 0.003, --batch 8, --window 256"},
        {"distill --target m.gguf --steps 2",
         "--loss jsd, --layers 2, --dim 16, --K 5, --rate 0.003, --batch 8, --window 64"},
        {"distill --target m.gguf --steps 2 --draft m.gguf -K 3",
         "--loss jsd, --rate 0.001, --batch 8, --window 64"},
        {"medusa --target m.gguf --steps 2 --rate 0.01 --batch 2",
         "--loss fkl, --K 5, --window 64"},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char arguments[256], assumed[256];
        snprintf(arguments, sizeof arguments, "train %s --data long.txt --judge-texts 2 -o %s",
                 runs[i].arguments, i == 0 ? "m.gguf" : "other.gguf --force");
        snprintf(assumed, sizeof assumed, "speclab train: assumed: %s", runs[i].assumed);
        spec_child_run(&c, arguments);
        if (c.code != 0) fail_msg("%d: %s", c.code, c.line);
        assert_string_equal(c.assumed, assumed);
        spec_child_free(&c);
    }
    spec_child_run(&c, "tune --target m.gguf --texts 1 --trials 2");
    assert_string_equal(c.assumed,
                        "speclab tune: assumed: --data own, --method bayes, --tokens 63");
    spec_child_free(&c);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
