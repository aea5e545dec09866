/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wrong options, wrong files and unwritable outputs: one line on standard error that begins with
 * the verb and names the option, or the file and its line; exit code 2. SPECLAB names the program.
 */
#include "base/cpu.h"
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- wrong options --------------------------------------------------------------------------- */

TEST(a_wrong_option_is_one_line_that_names_the_nearest)
{
    spec_needs_program();
    spec_program_fails("sweeep", 2, "speclab: there is no verb 'sweeep'; did you mean 'sweep'?");
    spec_program_fails("xyzzy", 2,
                       "speclab: there is no verb 'xyzzy'; 'speclab --help' lists them");
    spec_program_fails("predict --alhpa 0.5", 2,
                       "speclab predict: there is no option --alhpa; did you mean --alpha?");
    spec_program_fails(
        "predict --xyzzy", 2,
        "speclab predict: there is no option --xyzzy; 'speclab predict --help' lists them");
    spec_program_fails("plot --outptu=x", 2,
                       "speclab plot: there is no option --outptu; did you mean --output?");
    spec_program_fails("predict -q", 2, "speclab predict: there is no option -q;");
    spec_program_fails("predict -K 2 -lq", 2, "speclab predict: there is no option -q;");
    spec_program_fails("predict --alpha", 2, "speclab predict: --alpha needs a value, LIST");
    spec_program_fails("predict -K", 2, "speclab predict: -K needs a value, LIST");
    spec_program_fails("predict --law=3", 2, "speclab predict: --law takes no value");
    spec_program_fails("sweep --r 3", 2, "speclab sweep: --r may be several options");
    spec_program_fails("predict --guess 0.5 --law", 2,
                       "speclab predict: --guess cannot be combined with --law");
    spec_program_fails("predict --handed 1", 2, "speclab predict: --handed needs --guess");
    spec_program_fails("predict --guess 0.5 --handed 1.5", 2,
                       "speclab predict: --handed: 1.5 is not within [0, 1]");
    spec_program_fails("prove --ahead --n 2", 2,
                       "speclab prove: --ahead supports chains alone: leave out --n and --tree");
    spec_program_fails("prove --ahead --K 2 --tokens 3 --cases 2", 2,
                       "speclab prove: --tokens: 3 is too few: with K = 2 the first chain drafted "
                       "ahead is used at token 4");
    spec_program_fails("prove --ahead --drafting lookup --rule match", 2,
                       "speclab prove: what is drafted ahead is a chain of a draft model: draft "
                       "strategy chain or greedy");
    spec_program_fails(
        "prove --ahead --c 0.1", 2,
        "speclab prove: --ahead and --c exclude each other: the first round of a text");
    spec_program_fails("sweep --ahead --alpha 0.8", 2, "speclab sweep: --ahead needs a --target");
    spec_program_fails("sweep --ahead --target 'zipf?V=20' --policy heuristic", 2,
                       "speclab sweep: --ahead and --policy exclude each other:");
    spec_program_fails("predict stray", 2, "speclab predict: 'stray' is not an option");
    spec_program_fails("list rulse", 2,
                       "speclab list: there is no list 'rulse'; did you mean 'rules'?");
    spec_program_fails(
        "run real_txt", 2,
        "speclab run: 'real_txt' is neither a file nor an experiment; did you mean 'real_text'?");
    spec_program_fails("predict --format xml", 2, "speclab predict: --format: 'xml'");
    spec_program_fails("predict --seed -1", 2, "speclab predict: --seed: '-1'");
    spec_program_fails("predict --threads 0", 2, "speclab predict: --threads: '0'");
    spec_program_fails("predict -o ''", 2, "speclab predict: --output: the file has no name");
}

TEST(a_number_out_of_its_domain_names_its_option)
{
    spec_needs_program();
    spec_program_fails("predict --alpha 1.2", 2,
                       "speclab predict: --alpha: 1.2 is not within [0, 1]");
    spec_program_fails("sweep --alpha -0.27", 2,
                       "speclab sweep: --alpha: -0.27 is not within [0, 1]");
    spec_program_fails("predict --alpha nan", 2, "speclab predict: --alpha: 'nan' is not a number");
    spec_program_fails("predict --K -1", 2, "speclab predict: --K: -1 is not within [0, 256]");
    spec_program_fails("predict --K 257", 2, "speclab predict: --K: 257 is not within [0, 256]");
    spec_program_fails("predict --K 1e9", 2,
                       "speclab predict: --K: 1000000000 is not within [0, 256]");
    spec_program_fails("predict --K 1.5", 2, "speclab predict: --K: '1.5' is not a whole number");
    spec_program_fails("predict --c -1", 2, "speclab predict: --c: -1 is not within");
    spec_program_fails("predict --ops-ratio -2", 2,
                       "speclab predict: --ops-ratio: -2 is not within");
    spec_program_fails("predict --alpha ''", 2, "speclab predict: --alpha: ''");
    spec_program_fails("predict --alpha 0.5:0.1:0.1", 2,
                       "speclab predict: --alpha: the range '0.5:0.1:0.1' is empty");
    spec_program_fails("predict --alpha 0:1:0", 2,
                       "speclab predict: --alpha: the step of '0:1:0' is zero");
    spec_program_fails("predict --alpha 0:1:1e-9", 2,
                       "speclab predict: --alpha: '0:1:1e-9' has over a million values");
    spec_program_fails("predict --alpha 0:1:1e-5 --K 1:256:1", 2,
                       "speclab predict: the grid has over 10 million points");
    spec_program_fails("accept --contexts 0", 2, "speclab accept: --contexts: 0 is not within");
    spec_program_fails("prove --tokens 0", 2, "speclab prove: --tokens: 0 is not within");
    spec_program_fails("sweep --rounds 0", 2, "speclab sweep: --rounds: '0'");
    spec_program_fails("sweep --standard-error nan", 2, "speclab sweep: --standard-error: 'nan'");
    spec_program_fails("accept --contexts 1000000 --target zpif", 2,
                       "speclab accept: --target: "); /* and not --contexts: 1e+06 */
}

/* Also if earlier values of the grid are right, whose rows would come first. A former file
 * remains. */
TEST(a_wrong_value_is_refused_before_anything_is_written)
{
    static const char *const commands[] = {
        "predict --alpha 0.27,2.7",
        "predict --K 3,300",
        "predict --c 0.1,-1",
        "predict --law --alpha 0.27,2.7",
        "predict --guess 0.27,2.7",
        "sweep --alpha 0.27,2.7 --rounds 9",
        "sweep --K 3,300 --rounds 9",
        "sweep --target zipf?V=4 --alpha 0.27 --K 3,300 --rounds 9",
        "sweep --ahead --target zipf?V=4 --alpha 0.27 --K 3,300 --rounds 9",
        "sweep --target zipf?V=4 --alpha 0.27 --rule token,tokne --rounds 9",
        "prove --K 1,300",
        "prove --rule token,tokne",
        "prove --tokens 2,0",
        "prove --cases 3,0",
        "accept --n 1,0",
        "accept --rule token,tokne",
        "run one.cfg --set alpha=0.27,2.7",
        "run one.cfg --set K=3,300",
    };
    spec_needs_program();
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        char into[256];
        spec_program_fails(commands[i], 2, "speclab ");
        spec_file_write("former.csv", "what was there\n");
        snprintf(into, sizeof into, "%s -o former.csv", commands[i]);
        spec_program_fails(into, 2, "speclab ");
        char *bytes = spec_file_bytes("former.csv");
        assert_string_equal(bytes, "what was there\n");
        free(bytes);
    }
    spec_program_fails("predict --alpha 0,8", 2,
                       "speclab predict: --alpha: 8 is not within [0, 1]; '0,8' is a list of two "
                       "numbers, the number is 0.8");
    spec_program_fails("sweep --rounds 9 --alpha 0.5 --K 3,300", 2,
                       "speclab sweep: --K: 300 is not within [0, 256]\n");
}

TEST(a_wrong_model_rule_or_policy_names_its_option)
{
    spec_needs_program();
    spec_program_fails("prove --rule tokn", 2, "speclab prove: --rule: ");
    spec_program_fails("prove --drafting greddy", 2, "speclab prove: --drafting: ");
    spec_program_fails("prove --policy fixd", 2, "speclab prove: --policy: ");
    spec_program_fails("prove --target zpif", 2, "speclab prove: --target: ");
    spec_program_fails("prove --draft dirichlet?W=3", 2, "speclab prove: --draft: ");
    spec_program_fails("prove --alpha 1.1", 2, "speclab prove: --alpha: ");
    spec_program_fails("sweep --process markof", 2, "speclab sweep: --process: ");
    spec_program_fails("sweep --process markov?rho=2", 2, "speclab sweep: --process: ");
    spec_program_fails("sweep --draft zipf?V=3", 2,
                       "speclab sweep: --draft, --drafting, --policy and --rule need a --target");
    spec_program_fails("accept --target probs:0.5,0.6", 2,
                       "speclab accept: --target: probs: the 2 numbers sum to 1.1");
    spec_program_fails("accept --target probs:-0.5,1.5", 2, "speclab accept: --target: ");
    spec_program_fails("accept --target probs:0.5,nan", 2, "speclab accept: --target: ");
    spec_program_fails(
        "accept --target probs:0.5,0.5", 2,
        "speclab accept: --draft: the draft has 3 tokens and the target 2: they must share one");
}

TEST(a_plan_says_what_it_lacks)
{
    spec_needs_program();
    spec_file_write("heads.csv", "first,second\n0.6,0.2\n0.5,0.6\n");
    spec_file_write("costs.csv", "nodes,time\n8,1.1\n");
    spec_program_fails("plan --accept 0.5,0.6", 2,
                       "speclab plan: --accept: the chances sum to 1.1");
    spec_program_fails("plan --accept 0.5,x", 2,
                       "speclab plan: --accept: 'x' is not a chance in [0, 1]");
    spec_program_fails("plan --nodes 1025", 2,
                       "speclab plan: --nodes: '1025' is not a whole number of 0 to 1024");
    spec_program_fails("plan --depth 0", 2, "speclab plan: --depth: 0 is not within [1, 64]");
    spec_program_fails("plan --c -1", 2, "speclab plan: --c: -1 is not within");
    spec_program_fails("plan --methods sequia", 2,
                       "speclab plan: --methods: no method is named 'sequia'; did you mean");
    spec_program_fails("plan --methods dynamic", 2,
                       "speclab plan: --methods: dynamic needs a target");
    spec_program_fails("plan --methods medusa --accept 0.1,0.3", 2,
                       "speclab plan: --methods: level 1: rank 2");
    spec_program_fails("plan --siblings hub", 2,
                       "speclab plan: --siblings: 'hub' is not without, iid or top");
    spec_program_fails("plan --target zipf?V=4", 2,
                       "speclab plan: --target and --draft go together");
    spec_program_fails("plan --rounds 9", 2,
                       "speclab plan: --rounds, --positions and --width need a --target");
    spec_program_fails("plan --accept 0.5 --accuracies heads.csv", 2,
                       "speclab plan: --accept, --accuracies and --target");
    spec_program_fails("plan --accuracies heads.csv", 2,
                       "speclab plan: --accuracies: heads.csv: row 2: the chances sum");
    spec_program_fails("plan --accuracies none.csv", 2,
                       "speclab plan: --accuracies: none.csv: No such file");
    spec_program_fails("plan --costs costs.csv --nodes 9", 2,
                       "speclab plan: --costs: costs.csv: it ends at 8 nodes");
    spec_program_fails("plan --costs none.csv", 2, "speclab plan: --costs: none.csv: No such file");
    spec_program_fails("predict --costs heads.csv", 2,
                       "speclab predict: --costs: heads.csv: neither a result of bench nor");
    spec_program_fails("predict --costs costs.csv -K 9", 2,
                       "speclab predict: --K: a pass of 10 tokens is beyond those of");
    spec_program_fails("predict --costs costs.csv --law", 2,
                       "speclab predict: --costs cannot be combined with --law");
    spec_program_fails("predict --costs costs.csv --guess 0.5", 2,
                       "speclab predict: --costs cannot be combined with --law");
    spec_program_fails("sweep --positions 9", 2, "speclab sweep: --positions needs a --target");
    spec_program_fails("sweep --target zipf?V=4 --positions 0", 2,
                       "speclab sweep: --positions: 0 is not within");
    spec_program_fails("plan --target zipf?V=4 --draft zipf?V=4 --rule kseq", 2,
                       "speclab plan: --rule: ");
    spec_program_fails("plan --target zipf?V=4 --draft zipf?V=4 --rule rrs --siblings top", 2,
                       "speclab plan: --rule: ");
    spec_program_fails("plan --figure tree.svg", 2,
                       "speclab plan: --figure is drawn from the result");
    spec_program_fails("plan -o plan.csv --figure tree.svg -f table", 2,
                       "speclab plan: --figure is drawn from a CSV file: leave --format out");
    spec_program_fails("plan -o plan.csv --figure tree.gif", 2,
                       "speclab plan: --figure tree.gif: a figure ends in");
    spec_program_works("plan --costs costs.csv --nodes 2:8:2 --accept 0.6,0.2");
    spec_program_works(
        "plan --verify costs.csv --nodes 2:8:2 --accept 0.6,0.2"); /* the earlier name of --costs */
}

TEST(the_nearest_name_is_told)
{
    static const char *const wrong[][2] = {
        {"prove --rule tokn", "'token'"},           {"prove --drafting greddy", "'greedy'"},
        {"prove --policy fixd", "'fixed'"},         {"sweep --process markof", "markov"},
        {"prove --target zpif", "'zipf'"},          {"prove --target zipf?VV=3", "'V'"},
        {"run one.cfg --set alhpa=0.5", "'alpha'"}, {"plot one.csv -F sppedup", "'speedup'"},
    };
    spec_needs_program();
    spec_program_works("run one.cfg -o one.csv");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        spec_child c;
        spec_child_run(&c, wrong[i][0]);
        spec_child_says(&c, wrong[i][0], 2, "speclab ");
        if (strstr(c.line, "did you mean") == NULL || strstr(c.line, wrong[i][1]) == NULL)
            fail_msg("%s: '%s' does not suggest %s", wrong[i][0], c.line, wrong[i][1]);
        spec_child_free(&c);
    }
}

/* ---- invalid files --------------------------------------------------------------------------- */

TEST(a_bad_file_is_named_and_its_line_too)
{
    spec_needs_program();
    spec_program_fails("run empty", 2, "speclab run: empty: ");
    spec_program_fails("run binary", 2, "speclab run: binary:1: ");
    spec_program_fails("run bad.cfg", 2, "speclab run: bad.cfg:2: ");
    spec_program_fails("run dir", 2, "speclab run: dir: Is a directory");
    spec_program_fails("run ./none.cfg", 2, "speclab run: ./none.cfg: No such file or directory");
    spec_program_fails("run ./loop", 2, "speclab run: ./loop: Too many levels of symbolic links");
    spec_program_fails("run /dev/zero", 2, "speclab run: /dev/zero: is a device, not a file");
    spec_program_fails("run one.cfg --set alpha=3", 2,
                       "speclab run: one.cfg: K=3;alpha=3: alpha: 3 is not within [0, 1]");
    spec_program_fails("run one.cfg --set nope:alpha=0.5", 2,
                       "speclab run: --set nope:alpha=0.5: no experiment here is named 'nope'");
    spec_program_fails("run one.cfg --set alpha", 2,
                       "speclab run: --set: 'alpha' is not KEY=VALUE");
    spec_program_fails("run one.cfg one.cfg", 2,
                       "speclab run: several experiments need --directory DIR");
    spec_program_fails("run one.cfg one.cfg -d both", 2,
                       "speclab run: two experiments are named 'one'");
    spec_program_fails("run one.cfg -d empty", 2,
                       "speclab run: --directory: empty: Not a directory");
    spec_program_fails("run one.cfg --resume", 2, "speclab run: --resume needs the output");
    spec_program_fails("run one.cfg --resume -o x.json", 2,
                       "speclab run: --resume continues CSV files alone; leave --format out");
    spec_program_fails("accept --target probs:empty", 2, "speclab accept: --target: ");
    spec_program_fails("accept --target probs:sums.txt", 2, "speclab accept: --target: ");
    spec_program_fails("accept --target probs:dir", 2, "speclab accept: --target: ");
    spec_program_fails("accept --target probs:fifo", 2, "speclab accept: --target: ");
    spec_program_fails("accept --target ngram:empty", 2,
                       "speclab accept: --target: empty: the text is empty");
    spec_program_fails("accept --target ngram:dir", 2,
                       "speclab accept: --target: dir: is a folder");
    spec_program_fails("accept --target ngram:none*", 2,
                       "speclab accept: --target: none*: no file matches");
    spec_program_fails("accept --target ngram:text.txt?tokens=words --draft ngram:text.txt", 2,
                       "speclab accept: --draft: the draft has 256 tokens");
    spec_program_fails("plot empty -o x.svg", 2, "speclab plot: empty:1: no line of column names");
    spec_program_fails("plot none.csv", 2, "speclab plot: none.csv: No such file or directory");
    spec_program_fails("plot dir -o x.svg", 2, "speclab plot: dir: ");
}

TEST(what_has_no_end_is_refused_before_it_is_read)
{
    static const char *const readers[][2] = {
        {"accept --target ngram:%s", "speclab accept: --target: "},
        {"accept --target ngram:%s?tokens=words", "speclab accept: --target: "},
        {"accept --target probs:%s", "speclab accept: --target: "},
        {"accept --target rows:%s", "speclab accept: --target: "},
        {"generate --target gguf:%s", "speclab generate: --target: "},
        {"generate --target llama2c:%s", "speclab generate: --target: "},
        {"generate --target zipf?V=3 --plain --prompt-file %s",
         "speclab generate: --prompt-file: "},
        {"bench --target ngram:text.txt --prompts %s", "speclab bench: "},
        {"plan --accuracies %s", "speclab plan: --accuracies: "},
        {"plan --costs %s", "speclab plan: --costs: "},
        {"bench --from %s", "speclab bench: "},
        {"rows --target ngram:text.txt --text %s -o x.rows", "speclab rows: "},
        {"rows %s", "speclab rows: "},
        {"run %s", "speclab run: "},
        {"run one.cfg -o %s --resume", "speclab run: one.cfg: "},
        {"validate --trace %s", "speclab validate: "},
        {"plot %s -o x.svg", "speclab plot: "},
    };
    spec_needs_program();
    spec_file_write("endless", "");
    assert_int_equal(truncate("endless", (off_t)1 << 40), 0);
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        for (int device = 0; device < 2; device++) {
            char arguments[128];
            const double before = spec_children_seconds();
            snprintf(arguments, sizeof arguments, readers[i][0], device ? "/dev/zero" : "endless");
            spec_program_fails(arguments, 2, readers[i][1]);
            const double took = spec_children_seconds() - before; /* to read them takes minutes */
            if (took > 5.0) fail_msg("%s: %g s of processor time", arguments, took);
        }
    }
    assert_int_equal(unlink("endless"), 0);
}

TEST(an_unknown_instruction_set_is_told)
{
    spec_child c;
    spec_error error = {{0}};
    char line[400];
    spec_needs_program();
    assert_int_equal(spec_cpu_limit("avx3", &error), GSL_EINVAL); /* lists the machine's sets */
    snprintf(line, sizeof line, "speclab: SPECLAB_ISA=%s", error.text);
    spec_child_start(&c, "SPECLAB_ISA=avx3", NULL, "predict");
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "predict", 2, line);
    spec_child_free(&c);
}

TEST(an_unreadable_file_is_told)
{
    spec_needs_program();
    if (geteuid() == 0) {
        printf("skipped: %s: root reads every file\n", __func__);
        skip();
    }
    spec_file_write("shut.cfg", "measure = \"predict\";");
    assert_int_equal(chmod("shut.cfg", 0), 0);
    spec_program_fails("run shut.cfg", 2, "speclab run: shut.cfg: Permission denied");
    spec_program_fails("accept --target ngram:shut.cfg", 2,
                       "speclab accept: --target: shut.cfg: Permission denied");
}

/* ---- output that cannot be written ----------------------------------------------------------- */

TEST(a_full_disk_is_told)
{
#define PAIR                                                                                       \
    "--target random?dim=32&layers=2&heads=1&ffn=32&vocab=32&context=200 --draft layers?exit=1 "
#define SAMPLER "validate rule:token --only plain-4 --budget 2k"
    static const char *const verbs[] = {"sweep --rounds 1000",
                                        "predict",
                                        "predict --format json",
                                        "prove --K 1",
                                        "accept",
                                        "list",
                                        "run one.cfg",
                                        "plan --accept 0.5",
                                        "serve --rate 5 --requests 20",
                                        "step --rounds 300",
                                        "step --format json",
                                        "generate " PAIR "-n 8",
                                        "generate --format json " PAIR "-n 8",
                                        "bench --K 1 --texts 2 " PAIR "-n 8",
                                        "merge part.csv",
                                        "report r.csv",
                                        "report --html r.csv",
                                        "advise server.log",
                                        SAMPLER,
                                        SAMPLER " --format json",
                                        SAMPLER " --format csv",
                                        "validate --list"},
                             *const options[] = {
                                 SAMPLER " --report", SAMPLER " --junit",
                                 "validate rule:token --only plain-4 --budget 2k --write-trace"};
    spec_needs_program();
    if (access("/dev/full", W_OK) != 0) skip();
    spec_program_works("predict --shard 1/1 -o part.csv");
    spec_program_works("predict -o r.csv");
    spec_file_write(
        "server.log",
        "INFO 05-01 14:24:50 [metrics.py:101] SpecDecoding metrics: Mean acceptance length: 2.59, "
        "Accepted throughput: 159.00 tokens/s, Drafted throughput: 300.00 tokens/s, "
        "Accepted: 1590 tokens, Drafted: 3000 tokens, Per-position acceptance rate: "
        "0.800, 0.500, 0.290, Avg Draft acceptance rate: 53.0%\n");
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        char arguments[256], begin[32];
        spec_child c;
        snprintf(begin, sizeof begin, "speclab %.*s: ", (int)strcspn(verbs[i], " "), verbs[i]);
        snprintf(arguments, sizeof arguments, "%s -o /dev/full", verbs[i]);
        spec_child_run(&c, arguments);
        assert_int_equal(c.code, 2);
        if (strstr(c.line, "/dev/full: ") == NULL || strstr(c.line, "No space left") == NULL)
            fail_msg("%s: %s", arguments, c.line);
        spec_child_free(&c);
        spec_child_start(&c, NULL, "/dev/full", verbs[i]);
        spec_child_listen(&c, NULL);
        assert_int_equal(c.code, 2);
        if (strstr(c.line, begin) == NULL || strstr(c.line, "standard output: ") == NULL ||
            strstr(c.line, "No space left on device") == NULL)
            fail_msg("%s: %s", verbs[i], c.line);
        spec_child_free(&c);
    }
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        char arguments[256];
        spec_child c;
        snprintf(arguments, sizeof arguments, "%s /dev/full", options[i]);
        spec_child_run(&c, arguments);
        assert_int_equal(c.code, 2);
        if (strstr(c.line, "/dev/full: ") == NULL || strstr(c.line, "No space left") == NULL)
            fail_msg("%s: %s", arguments, c.line);
        spec_child_free(&c);
    }
    spec_child c;
    spec_child_start(&c, NULL, "/dev/full", "predict --help");
    spec_child_listen(&c, NULL);
    spec_child_says(&c, "predict --help", 2,
                    "speclab predict: standard output: No space left on device");
    spec_child_free(&c);
}

TEST(an_output_that_cannot_be_opened_is_named)
{
    spec_needs_program();
    spec_program_fails("predict -o /nonexistent/x.csv", 2,
                       "speclab predict: /nonexistent/x.csv: No such file or directory");
    spec_program_fails("predict -o dir", 2, "speclab predict: dir: Is a directory");
    spec_program_fails("predict -f json -o dir", 2, "speclab predict: dir: Is a directory");
    spec_program_fails("run one.cfg -d /nonexistent/x", 2,
                       "speclab run: --directory: /nonexistent/x: No such file or directory");
    spec_program_works("sweep --rounds 1000 -o figure.csv");
    spec_program_fails("plot figure.csv -o /nonexistent/x.svg", 2,
                       "speclab plot: /nonexistent/x.svg: No such file or directory");
    spec_program_fails(
        "plot figure.csv -F bench -o x.svg", 2,
        "speclab plot: figure.csv has no column 'pass', which the figure 'bench' needs");
    assert_int_not_equal(access("x.svg", F_OK), 0);
    spec_program_fails("plot figure.csv -o x.gif", 2,
                       "speclab plot: -o x.gif: a figure ends in .svg, .png, .pdf or .tex");
}

TEST(a_closed_pipe_ends_the_run_as_other_tools_end)
{
    spec_child c;
    spec_needs_program();
    spec_child_start(&c, NULL, NULL, "run long.cfg --rounds 100000000"); /* takes seconds */
    spec_child_listen(&c, "\nalpha,");
    close(c.out);
    c.out = -1;
    spec_child_listen(&c, NULL);
    assert_int_equal(c.code, SPEC_CHILD_KILLED + SIGPIPE);
    assert_string_equal(c.line, "");
    spec_child_free(&c);
}

TEST(a_failure_before_the_first_row_leaves_no_file_and_an_old_one_alone)
{
    spec_needs_program();
    spec_program_fails("predict --alpha 1.2 -o never.csv", 2, "speclab predict: --alpha: 1.2 ");
    assert_int_not_equal(access("never.csv", F_OK), 0);
    spec_program_works("predict --K 1:9:1 -o old.csv");
    spec_program_works("predict --K 1:9:1 -o same.csv");
    spec_program_fails("predict --alpha 1.2 -o old.csv", 2, "speclab predict: --alpha: 1.2 ");
    spec_files_same("old.csv", "same.csv");
    spec_program_works(
        "predict --alpha 0.27 -o old.csv"); /* a run with rows replaces the file */
    spec_program_works("predict --alpha 0.27 -o other.csv");
    spec_files_same("old.csv", "other.csv");
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
