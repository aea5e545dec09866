/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How each verb ends: by a signal, a closed pipe, closed descriptors, a full disk, a folder that
 * cannot be written. SPECLAB names the program. */
#include "tests/cli/hf_model.h"
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/capability.h>

/* CPU_MOST: seconds of processor time from a signal to the end, on one thread. WALL_MOST: of the
 * clock, on a machine that has other work. */
#define CPU_MOST 2.0
#define WALL_MOST 20.0
enum { FILE_BYTES = 100 };

#define PAIR "--target zipf?V=20 --draft perturb?alpha=0.8"
#define TRAIN "train lm --data text.txt --window 48 --batch 2 --dim 16 --layers 1 --judge-texts 1 "
#define TUNE "tune --target random?dim=64&layers=4&heads=4&ffn=256&vocab=99&context=128&type=f32 "
#define TOKEN "validate rule:token --only two-2 --scopes V "

/* When a verb is at work: its file has rows; it has computed for a while; it waits in open() for
 * the other end of a pipe; it waits for gnuplot, which never ends here. */
typedef enum { GROWS, COMPUTES, OPENS, DRAWS } work;

/* The state after a signal that ends it. ROWS: the file has its finished rows; RESUMES: and
 * --resume goes on; TEXT: the file has what was printed so far; STATE: FILE.state has, and --resume
 * goes on; VERDICT: it ends by itself, with exit code 0; NOTHING: there is no file. */
typedef enum { NOTHING, ROWS, RESUMES, TEXT, STATE, VERDICT } keeps;

/* `run` goes on for more than 3 seconds (quantize: one), `small` ends within one. `file`: an option
 * and the file that both write. `prints`: so does `small` with the file on standard output. `same`:
 * its bytes are the same each time. */
static const struct {
    const char *run, *small, *file;
    work work;
    keeps keeps;
    bool prints, same;
} verbs[] = {
    {"predict --alpha 0.1:0.9:0.0001 --K 1:64", "predict --K 1:9", "-o f.csv", GROWS, RESUMES,
     false, true},
    {"sweep --alpha 0.1:0.9:0.001 --K 1:9 --rounds 3000000", "sweep --K 1:9 --rounds 500",
     "-o f.csv", GROWS, RESUMES, false, true},
    {"run long.cfg --rounds 30000000", "run one.cfg", "-o f.csv", GROWS, RESUMES, false, true},
    {"merge fifo", "merge part.csv", "-o f.csv", OPENS, NOTHING, false, true},
    {"plot r.csv", "plot r.csv", "-o f.svg", DRAWS, NOTHING, true, true},
    {"report --html r.csv", "report r.csv", "-o f.html", DRAWS, NOTHING, false, true},
    {"prove --alpha 0.35:0.99:0.0001 --rule token --drafting chain --K 2 --tokens 3",
     "prove --rule token,block", "-o f.csv", GROWS, RESUMES, false, true},
    {"accept --target zipf?V=30 --draft zipf?V=30&s=2 --rule token,kseq --n 2 --contexts 1:900:1",
     "accept", "-o f.csv", GROWS, RESUMES, false, true},
    {"step " PAIR " --rounds 10000 --K 60", "step " PAIR, "-o f.txt", COMPUTES, NOTHING, false,
     true},
    {"plan --target zipf?V=20\nzipf?V=21\nzipf?V=22 --draft perturb?alpha=0.8\nperturb?alpha=0.6 "
     "--nodes 8 --rounds 30000",
     "plan --accept 0.6,0.2", "-o f.csv", GROWS, RESUMES, false, true},
    {"generate " PAIR " -n 100000000", "generate " PAIR " -n 300", "-o f.txt", COMPUTES, TEXT,
     false, true},
    {"bench " PAIR " --texts 10000 -n 10000", "bench " PAIR " --texts 2 -n 8", "-o f.csv", COMPUTES,
     NOTHING, false, false},
    {"serve --alpha 0.6 --rate 1:20:0.01 --requests 50 --K 2",
     "serve --alpha 0.6 --rate 5 --requests 50 --K 2", "-o f.csv", GROWS, RESUMES, false, true},
    {"advise fifo", "advise server.log", "-o f.csv", OPENS, NOTHING, true, true},
    {TOKEN "--budget 1000G", TOKEN "--budget 100k", "-o f.json", COMPUTES, NOTHING, false, true},
    {TOKEN "--watch", TOKEN "--budget 100k", "-o f.txt", COMPUTES, VERDICT, false, true},
    {TOKEN "--calibrate 1000000 --budget 5k", TOKEN "--calibrate 3 --budget 5k", "-o f.csv",
     COMPUTES, NOTHING, false, true},
    {"validate --check-power 100000 --only two-2",
     "validate --check-power 2 --only two-2 --scopes V --budget 20k", "-o f.csv", COMPUTES, NOTHING,
     false, true},
    {"validate --self-test", "validate --self-test --only accept-all --budget 20k", "-o f.csv",
     COMPUTES, ROWS, false, true},
    {"validate rule:token --only plain-4 --budget 1000G",
     "validate rule:token --only plain-4 --budget 2k", "--write-trace f.jsonl", COMPUTES, NOTHING,
     false, true},
    {"rows " PAIR " -n 100000000", "rows " PAIR " -n 60", "-o f.rows", COMPUTES, NOTHING, true,
     true},
    {TRAIN "--steps 10000000", TRAIN "--steps 3", "-o f.gguf", COMPUTES, STATE, true, true},
    {TUNE "--trials 1000 --texts 20 --check 0", TUNE "--texts 1 --trials 3 --check 0", "-o f.csv",
     COMPUTES, ROWS, true, false},
    {"quantize big.gguf f.gguf --type q4_K_M", "quantize lm.gguf f.gguf", "", COMPUTES, NOTHING,
     true, true},
    {"widen big.gguf --by 16", "widen lm.gguf", "-o f.gguf", COMPUTES, NOTHING, true, true},
    {"import large", "import folder", "-o f.gguf", COMPUTES, NOTHING, true, true},
    {"list -o fifo", "list rules", "-o f.csv", OPENS, NOTHING, false, true},
};
enum { N_VERBS = sizeof verbs / sizeof *verbs, ARGUMENTS = 512 };

/* ---- what the commands read ------------------------------------------------------------------ */

static void write_inputs(void)
{
    char text[4000] = "";
    for (int i = 0; i < 80; i++)
        snprintf(text + strlen(text), 40, "the %d dog sees %d cats\n", i * i % 7, i % 5);
    spec_file_write("text.txt", text);
    spec_file_write("server.log",
                    "INFO 05-01 14:24:50 [metrics.py:101] SpecDecoding metrics: Mean acceptance "
                    "length: 2.59, Accepted throughput: 159.00 tokens/s, Drafted throughput: "
                    "300.00 tokens/s, Accepted: 1590 tokens, Drafted: 3000 tokens, Per-position "
                    "acceptance rate: 0.800, 0.500, 0.290, Avg Draft acceptance rate: 53.0%\n");
    spec_program_works("predict --shard 1/1 -o part.csv");
    spec_program_works("sweep --K 1:3 --rounds 500 -o r.csv");
    spec_program_works(TRAIN "--steps 1 -o lm.gguf");
    assert_int_equal(mkdir("folder", 0777), 0);
    write_hf_model("folder");
    assert_int_equal(system("mkdir -p readonly fake && chmod 555 readonly && "
                            "printf '#!/bin/sh\nexec sleep 1000\n' >fake/gnuplot && "
                            "chmod 755 fake/gnuplot"),
                     0);
}

/* A model of 5 GB in a Hugging Face folder, whose weights are zeros that take no space. */
static void write_large_folder(void)
{
    static const char *const name[] = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                       "self_attn.o_proj", "mlp.gate_proj",    "mlp.up_proj",
                                       "mlp.down_proj"};
    enum { D = 2048, F = 8192, V = 32000, N = 36 };
    char *header = NULL;
    size_t n = 0;
    unsigned long long at = 0;
    FILE *out = open_memstream(&header, &n);
    assert_non_null(out);
#define PUT(begin, i, of, rows, cols)                                                              \
    fprintf(out, "%s'" begin "%s.weight':{'dtype':'F16','shape':[%d,%d],'data_offsets':[%llu,",    \
            at > 0 ? "," : "{", i, of, rows, cols, at),                                            \
        at += 2ull * (rows) * (cols), fprintf(out, "%llu]}", at)
    PUT("model.%.0d", 0, "embed_tokens", V, D);
    PUT("%.0d", 0, "lm_head", V, D);
    for (int i = 0; i < N; i++)
        for (int m = 0; m < 7; m++)
            PUT("model.layers.%d.", i, name[m], m == 4 || m == 5 ? F : D, m == 6 ? F : D);
#undef PUT
    for (int i = 0; i <= 2 * N; i++, at += 2 * D) {
        char norm[64] = "model.norm";
        if (i < 2 * N)
            snprintf(norm, sizeof norm, "model.layers.%d.%s", i / 2,
                     i % 2 == 0 ? "input_layernorm" : "post_attention_layernorm");
        fprintf(out, ",'%s.weight':{'dtype':'F16','shape':[%d],'data_offsets':[%llu,%llu]}", norm,
                D, at, at + 2 * D);
    }
    assert_int_equal(fputc('}', out), '}');
    assert_int_equal(fclose(out), 0);
    assert_int_equal(mkdir("large", 0777), 0);
    spec_hf_folder_write_header("large/model.safetensors", header, 0);
    assert_int_equal(
        truncate("large/model.safetensors", spec_file_size("large/model.safetensors") + (off_t)at),
        0);
    free(header);
    spec_hf_folder_text("large/config.json",
                        "{'model_type':'llama','hidden_size':2048,'intermediate_size':8192,"
                        "'num_attention_heads':16,'vocab_size':32000,"
                        "'max_position_embeddings':32,'num_hidden_layers':36}");
}

static void write_large_models(void)
{
    if (access("big.gguf", F_OK) == 0) return;
    write_large_folder();
    spec_program_works("train lm --data text.txt --window 48 --batch 1 --dim 512 --heads 8 "
                       "--layers 6 --judge-texts 1 --steps 1 -o big.gguf");
}

static int set_up(void **state)
{
    const int status = spec_program_set_up(state);
    if (status == 0 && spec_program[0] != '\0') write_inputs();
    return status;
}

/* Every line of the table is tried, whatever an earlier one did. */
static int complaints;
#define complain(...) (print_error(__VA_ARGS__), print_error("\n"), (void)complaints++)

static void no_complaints(void)
{
    const int n = complaints;
    complaints = 0;
    assert_int_equal(n, 0);
}

/* ---- running them ---------------------------------------------------------------------------- */

static const char *name_of(size_t i)
{
    static char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(verbs[i].run, " "), verbs[i].run);
    return name;
}

/* The name of the file that the verb writes; "" if it has none. */
static const char *file_of(size_t i)
{
    const char *space = strchr(verbs[i].file, ' ');
    return space != NULL ? space + 1 : strcmp(name_of(i), "quantize") == 0 ? "f.gguf" : "";
}

/* Removes the files that commands write, whose names begin with "f."; fails for a name with
 * `opt_never` in it. Returns how many there were. */
static int remove_files(const char *about, const char *opt_never)
{
    DIR *folder = opendir(".");
    int n = 0;
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, "f.", 2) != 0) continue;
        if (opt_never != NULL && strstr(entry->d_name, opt_never) != NULL)
            complain("%s: left %s", about, entry->d_name);
        assert_int_equal(unlink(entry->d_name), 0);
        n++;
    }
    closedir(folder);
    return n;
}

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static bool is_at_work(const spec_child *c, size_t i)
{
    switch (verbs[i].work) {
    case GROWS: return spec_file_size(file_of(i)) > 0;
    case COMPUTES: return spec_child_seconds(c->pid) > 0.25;
    case OPENS: return spec_child_is_in(c->pid, SYS_openat);
    case DRAWS: return spec_child_is_in(c->pid, SYS_wait4);
    }
    return false;
}

/* Starts a long run, and waits until it is at work. */
static void start_run(spec_child *c, size_t i, const char *more)
{
    char arguments[ARGUMENTS];
    snprintf(arguments, sizeof arguments, "%s %s%s%s", verbs[i].run,
             strstr(verbs[i].run, " -o ") != NULL ? "" : verbs[i].file,
             verbs[i].work == GROWS || verbs[i].work == COMPUTES ? " --threads 1" : "", more);
    if (verbs[i].keeps == STATE) strcat(arguments, " --save-every 1000");
    spec_child_start(c, "PATH=fake:/usr/bin:/bin", NULL, arguments);
    spec_await(spec_child_ended(c->pid) || is_at_work(c, i));
    if (!spec_child_ended(c->pid)) return;
    spec_child_listen(c, NULL);
    fail_msg("%s: it ended before the signal, %d: %s", arguments, c->code, c->line);
}

/* Sends the signal and returns when the child has ended, in time. */
static void signal_run(spec_child *c, size_t i, int number)
{
    const double begun = now(), used = spec_child_seconds(c->pid), before = spec_children_seconds();
    assert_int_equal(kill(c->pid, number), 0);
    spec_child_listen(c, NULL);
    const double wall = now() - begun, cpu = spec_children_seconds() - before - used;
    if (cpu > CPU_MOST || wall > WALL_MOST)
        complain("%s: %.1f s and %.1f s of processor time after the signal", verbs[i].run, wall,
                 cpu);
    printf("    %-9s signal %2d: %5.2f s, %5.2f s of processor time; %d: %.*s\n", name_of(i),
           number, wall, cpu, c->code, (int)strcspn(c->line, "\n"), c->line);
}

/* Of a file without its last line, if that begins with '#'. */
static size_t size_of_rows(const char *bytes)
{
    size_t n = strlen(bytes);
    if (n == 0) return 0;
    assert_true(bytes[n - 1] == '\n');
    size_t begin = n - 1;
    while (begin > 0 && bytes[begin - 1] != '\n') begin--;
    return bytes[begin] == '#' ? begin : n;
}

/* A second run goes on, and keeps the bytes of the first. */
static void check_resumes(size_t i, const char *bytes)
{
    spec_child c;
    const size_t kept = size_of_rows(bytes);
    char arguments[ARGUMENTS];
    snprintf(arguments, sizeof arguments, "%s %s --threads 1 --resume", verbs[i].run,
             verbs[i].file);
    spec_child_start(&c, NULL, NULL, arguments);
    spec_await(spec_child_ended(c.pid) || spec_file_size(file_of(i)) > (off_t)strlen(bytes));
    kill(c.pid, SIGTERM);
    spec_child_listen(&c, NULL);
    char *more = spec_file_bytes(file_of(i));
    if ((c.code != 143 && c.code != 0) || strncmp(more, bytes, kept) != 0)
        complain("%s: %d: %s", arguments, c.code, c.line);
    free(more);
    spec_child_free(&c);
}

static void check_kept(size_t i, const spec_child *c)
{
    char *bytes = spec_file_bytes(file_of(i));
    switch (verbs[i].keeps) {
    case NOTHING:
    case VERDICT: break;
    case TEXT: assert_true(strlen(bytes) > 1000); break;
    case ROWS: assert_true(bytes[0] != '\0' && bytes[strlen(bytes) - 1] == '\n'); break;
    case RESUMES:
        if (strstr(bytes, "\n# interrupted after ") == NULL)
            complain("%s: the file does not say where it was interrupted: %s", verbs[i].run,
                     c->line);
        check_resumes(i, bytes);
        break;
    case STATE: {
        spec_child again;
        long first = 0, then = 0;
        assert_int_equal(
            sscanf(strstr(c->line, "interrupted after "), "interrupted after %ld", &first), 1);
        start_run(&again, i, " --resume");
        kill(again.pid, SIGTERM);
        spec_child_listen(&again, NULL);
        assert_int_equal(
            sscanf(strstr(again.line, "interrupted after "), "interrupted after %ld", &then), 1);
        assert_true(first > 0 && then > first);
        spec_child_free(&again);
    }
    }
    free(bytes);
}

/* ---- signals --------------------------------------------------------------------------------- */

TEST(the_table_has_every_verb)
{
    spec_needs_program();
    char *help = spec_program_text("--help");
    int n = 0;
    for (const char *line = help; (line = strstr(line, "\n  ")) != NULL; line += 3) {
        bool known = line[3] == '$' || line[3] == ' ';
        for (size_t i = 0; i < N_VERBS && !known; i++) {
            const size_t length = strlen(name_of(i));
            known = strncmp(line + 3, name_of(i), length) == 0 && line[3 + length] == ' ';
            n += known;
        }
        if (!known) complain("%.12s is not in the table", line + 3);
    }
    assert_int_equal(n, 22);
    free(help);
    no_complaints();
}

static void check_signal(int number)
{
    spec_needs_program();
    write_large_models();
    for (size_t i = 0; i < N_VERBS; i++) {
        spec_child c;
        start_run(&c, i, "");
        signal_run(&c, i, number);
        const int code = verbs[i].keeps == VERDICT ? 0 : 128 + number;
        if (c.code != code) complain("%s: exit code %d: %s", verbs[i].run, c.code, c.line);
        if (code != 0 && (c.n_line == 0 || c.line[c.n_line - 1] != '\n'))
            complain("%s: no line: '%s'", verbs[i].run, c.line);
        check_kept(i, &c);
        spec_child_free(&c);
        const int files = remove_files(verbs[i].run, ".partial");
        if ((files == 0) != (verbs[i].keeps == NOTHING))
            complain("%s: %d files are left", verbs[i].run, files);
    }
    no_complaints();
}

TEST(ctrl_c_ends_every_verb_and_keeps_what_is_finished, SLOW)
{
    check_signal(SIGINT);
}

TEST(sigterm_ends_every_verb_and_keeps_what_is_finished, SLOW)
{
    check_signal(SIGTERM);
}

TEST(sighup_ends_every_verb_and_keeps_what_is_finished, SLOW)
{
    check_signal(SIGHUP);
}

/* As nohup and a shell's background jobs want it. */
static void ignore_hangup(void)
{
    signal(SIGHUP, SIG_IGN);
}

TEST(a_signal_that_the_caller_ignores_is_ignored)
{
    spec_child c;
    spec_needs_program();
    spec_child_before = ignore_hangup;
    start_run(&c, 0, "");
    spec_child_before = NULL;
    assert_false(spec_child_catches(c.pid, SIGHUP));
    kill(c.pid, SIGHUP);
    kill(c.pid, SIGTERM);
    spec_child_listen(&c, NULL);
    assert_int_equal(c.code, 143);
    spec_child_free(&c);
    remove_files("predict", ".partial");
}

/* ---- standard output ------------------------------------------------------------------------- */

/* `small`, with its file or without. */
static void small_of(char arguments[ARGUMENTS], size_t i, bool with_file)
{
    snprintf(arguments, ARGUMENTS, "%s %s", verbs[i].small, with_file ? verbs[i].file : "");
}

/* Must `small` have a file? Then its table goes to standard output. */
static bool needs_file(size_t i)
{
    return strstr(file_of(i), ".gguf") != NULL || strstr(file_of(i), ".rows") != NULL ||
           strstr(file_of(i), ".svg") != NULL || strncmp(verbs[i].file, "--", 2) == 0;
}

/* `small`, so that it writes to standard output. */
static void print_of(char arguments[ARGUMENTS], size_t i)
{
    small_of(arguments, i, needs_file(i));
    if (strncmp(verbs[i].file, "--", 2) == 0)
        snprintf(arguments, ARGUMENTS, "%s --write-trace -", verbs[i].small);
}

/* `speclab ... | true`, and, for rows that come one after another, `| head -1`. */
TEST(a_reader_that_leaves_ends_every_verb_as_it_ends_other_tools, SLOW)
{
    spec_needs_program();
    for (size_t i = 0; i < N_VERBS; i++) {
        spec_child c;
        char arguments[ARGUMENTS];
        print_of(arguments, i);
        spec_child_start(&c, NULL, NULL, arguments);
        close(c.out);
        c.out = -1;
        spec_child_listen(&c, NULL);
        if (c.code != SPEC_CHILD_KILLED + SIGPIPE || strstr(c.line, "standard output") != NULL)
            complain("%s | true: %d: %s", arguments, c.code, c.line);
        spec_child_free(&c);
        remove_files(arguments, ".partial");
        if (verbs[i].work != GROWS) continue;
        spec_child_start(&c, NULL, NULL, verbs[i].run);
        spec_child_listen(&c, "\n");
        close(c.out);
        c.out = -1;
        spec_child_listen(&c, NULL);
        if (c.code != SPEC_CHILD_KILLED + SIGPIPE || c.n_line > 0)
            complain("%s | head -1: %d: %s", verbs[i].run, c.code, c.line);
        spec_child_free(&c);
    }
    no_complaints();
}

/* `-o -` and the like are standard output, or are refused: no file has that name. */
TEST(a_minus_is_standard_output, SLOW)
{
    spec_needs_program();
    for (size_t i = 0; i < N_VERBS; i++) {
        char arguments[ARGUMENTS];
        const char *option = verbs[i].file;
        spec_child c;
        snprintf(arguments, sizeof arguments, "%s %.*s-",
                 option[0] == '\0' ? "quantize lm.gguf" : verbs[i].small,
                 (int)(strlen(option) - (option[0] == '\0' ? 0 : strlen(file_of(i)))), option);
        spec_child_run(&c, arguments);
        const bool refused = c.code == 2 && c.n == 0 && c.n_line > 0;
        if (needs_file(i) && option[0] == '-' && option[1] == 'o' ? !refused
            : option[0] == '\0'                                   ? !refused
                                : (c.code != 0 && c.code != 3) || c.n == 0)
            complain("%s: %d: %s", arguments, c.code, c.line);
        if (access("-", F_OK) == 0) complain("%s: there is a file '-'", arguments);
        unlink("-");
        spec_child_free(&c);
    }
    spec_program_works(TOKEN "--budget 100k -o f.txt --report -");
    spec_program_works(TOKEN "--budget 100k -o f.txt --junit -");
    spec_program_fails(TOKEN "--budget 100k --report -", 2,
                       "speclab validate: two reports cannot both go to standard output");
    assert_int_not_equal(access("-", F_OK), 0);
    remove_files("--report -", ".partial");
    no_complaints();
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static int closed_fd;

static void close_one(void)
{
    close(closed_fd);
}

/* Runs `small` with the descriptor closed; -1: none. */
static char *run_closed(spec_child *c, const char *arguments, int fd, size_t i)
{
    closed_fd = fd;
    spec_child_before = fd >= 0 ? close_one : NULL;
    spec_child_run(c, arguments);
    spec_child_before = NULL;
    return spec_file_bytes(file_of(i));
}

/* The file is the same as with all of them open, and no message is in it. */
TEST(no_message_goes_into_a_file_where_descriptors_are_closed, SLOW)
{
    spec_needs_program();
    for (size_t i = 0; i < N_VERBS; i++) {
        char arguments[ARGUMENTS], message[64];
        spec_child open, c;
        small_of(arguments, i, true);
        char *bytes = run_closed(&open, arguments, -1, i);
        if (bytes[0] == '\0') complain("%s: wrote nothing: %s", arguments, open.line);
        remove_files(arguments, ".partial");
        for (int fd = 0; fd < 3; fd++) {
            char *now_bytes = run_closed(&c, arguments, fd, i);
            const int code = fd == STDOUT_FILENO && verbs[i].prints ? 2 : open.code;
            if (c.code != code)
                complain("%s, %d closed: exit code %d: %s", arguments, fd, c.code, c.line);
            snprintf(message, sizeof message, "speclab %s: ", name_of(i));
            if (verbs[i].same ? strcmp(now_bytes, bytes) != 0
                              : now_bytes[0] == '\0' || strstr(now_bytes, message) != NULL)
                complain("%s, %d closed: another file: %.2000s", arguments, fd, now_bytes);
            free(now_bytes);
            spec_child_free(&c);
            remove_files(arguments, ".partial");
        }
        free(bytes);
        spec_child_free(&open);
    }
    no_complaints();
}

TEST(closed_standard_output_is_an_error, SLOW)
{
    spec_needs_program();
    for (size_t i = 0; i < N_VERBS; i++) {
        char arguments[ARGUMENTS];
        spec_child c;
        print_of(arguments, i);
        free(run_closed(&c, arguments, STDOUT_FILENO, i));
        if (c.code != 2 || strstr(c.line, "standard output: ") == NULL ||
            strstr(c.line, "Bad file descriptor") == NULL)
            complain("%s >&-: %d: %s", arguments, c.code, c.line);
        spec_child_free(&c);
        remove_files(arguments, ".partial");
    }
    no_complaints();
}

/* ---- files that cannot be written ------------------------------------------------------------ */

static void limit_files(void)
{
    const struct rlimit limit = {FILE_BYTES, FILE_BYTES};
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void fill_file(size_t i)
{
    char arguments[ARGUMENTS], begin[80];
    spec_child c;
    small_of(arguments, i, true);
    snprintf(begin, sizeof begin, ": %s: ", file_of(i));
    spec_child_before = limit_files;
    spec_child_run(&c, arguments);
    spec_child_before = NULL;
    if (c.code != 2 || strstr(c.line, begin) == NULL || strstr(c.line, ": File too large") == NULL)
        complain("%s: %d: %s", arguments, c.code, c.line);
    if (remove_files(arguments, NULL) > 0) complain("%s: a file is left", arguments);
    spec_child_free(&c);
}

static void fill_standard_output(size_t i)
{
    char arguments[ARGUMENTS];
    spec_child c;
    print_of(arguments, i);
    spec_child_start(&c, NULL, "/dev/full", arguments);
    spec_child_listen(&c, NULL);
    if (c.code != 2 || strstr(c.line, "standard output: ") == NULL ||
        strstr(c.line, "No space left on device") == NULL)
        complain("%s >/dev/full: %d: %s", arguments, c.code, c.line);
    spec_child_free(&c);
    remove_files(arguments, ".partial");
}

TEST(a_full_disk_is_an_error_that_names_the_file_and_leaves_none, SLOW)
{
    spec_needs_program();
    for (size_t i = 0; i < N_VERBS; i++) {
        /* gnuplot has a file in memory, which is limited, too: test_plot_faults.c fills a disk */
        if (strcmp(name_of(i), "plot") != 0) fill_file(i);
        fill_standard_output(i);
    }
    no_complaints();
}

/* Root may write into every folder: the program is not given that right. */
static void drop_override(void)
{
    prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE);
}

TEST(a_folder_that_cannot_be_written_is_told_before_any_work, SLOW)
{
    spec_needs_program();
    write_large_models();
    for (size_t i = 0; i < N_VERBS; i++) {
        char arguments[ARGUMENTS], begin[80];
        spec_child c;
        const bool quantize = strcmp(name_of(i), "quantize") == 0;
        const char *option = quantize ? "" : verbs[i].file;
        if (verbs[i].work == OPENS) continue; /* it waits for its input first */
        snprintf(arguments, sizeof arguments, "%s %.*sreadonly/%s",
                 quantize ? "quantize big.gguf" : verbs[i].run,
                 (int)(strlen(option) - (quantize ? 0 : strlen(file_of(i)))), option, file_of(i));
        snprintf(begin, sizeof begin, "readonly/%s: Permission denied", file_of(i));
        const double before = spec_children_seconds();
        spec_child_before = drop_override;
        spec_child_start(&c, NULL, NULL, arguments);
        spec_child_listen(&c, NULL);
        spec_child_before = NULL;
        const double used = spec_children_seconds() - before;
        if (c.code != 2 || strstr(c.line, begin) == NULL || used > CPU_MOST)
            complain("%s: %d, %.1f s: %s", arguments, c.code, used, c.line);
        spec_child_free(&c);
    }
    no_complaints();
}

SUITE(.setup = set_up, .teardown = spec_program_tear_down);
