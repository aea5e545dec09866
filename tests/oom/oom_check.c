/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lets allocations of the program fail, each alone or with all later ones, and checks the outcome:
 * one for each chain of callers that no earlier command has. Commands whose bytes are compared
 * come first, then those with other messages or outputs in each run.
 * Right outcomes are the usual output, byte for byte, with the usual exit status, or one line on
 * standard error and exit code 2. Or run each command once under valgrind, which must find no
 * fault.
 *   oom_check [-q] SPECLAB FAILING_ALLOC.so [COMMAND...]    -q: every eighth of them
 *   oom_check SPECLAB valgrind [COMMAND...]
 * COMMAND is a prefix of one of the commands below. Works in a temporary folder, with one process
 * per processor. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    ARGUMENTS = 40,
    SAID = 1 << 16,
    SECONDS = 30,
    VALGRIND_SECONDS = 600,
    VALGRIND_STATUS = 99,
    SHOWN = 10,
    PATHS = 1 << 16
};
#define PATHS_FILE "../paths"

/* Which output differs from run to run: none; standard error; standard output and files, too. */
typedef enum { SAME, SAME_OUTPUT, SAME_STATUS } expectation;

typedef struct {
    const char *text;
    const char *opt_file; /* output file */
    expectation expected;
} command;

/* Inputs are one folder up. */
static const command commands[] = {
    {"predict --alpha 0.5,0.8 --K 1:4", NULL, SAME},
    {"predict --guess 0.8 --format json -o out.json", "out.json", SAME},
    {"predict --distribution --format markdown", NULL, SAME},
    {"sweep --alpha 0.5,0.7 --K 2 --rounds 1000 -o out.csv", "out.csv", SAME},
    {"sweep --target zipf?V=9 --draft zipf?V=9&s=2 --K 2 --rounds 200 --format table", NULL, SAME},
    {"run ../one.cfg ../two.cfg -d .", "one.csv", SAME},
    {"run ../two.cfg -o cut.csv --resume", NULL, SAME_STATUS},
    {"prove --K 2 --tokens 2", NULL, SAME},
    {"prove --policy confidence-drop --rule token --drafting chain --K 2 --tokens 2 --cases 5",
     NULL, SAME},
    {"prove --rule rrs,kseq --n 2 --cases 2 --family every", NULL, SAME},
    {"accept --target zipf?V=9 --draft zipf?V=9&s=2 --n 1:2", NULL, SAME},
    {"plan --accept 0.6,0.2 --nodes 1,4,8", NULL, SAME},
    {"plan --accuracies ../heads.csv --costs ../costs.csv --nodes 8 --format json", NULL, SAME},
    {"plan --target zipf?V=9 --draft zipf?V=9&s=2 --nodes 4 --positions 100 --rounds 100", NULL,
     SAME},
    {"generate --target ngram:../text.txt?tokens=words --draft "
     "ngram:../text.txt?tokens=words&order=2 -p the -n 8",
     NULL, SAME_OUTPUT},
    {"generate --target random?dim=32&layers=1&heads=2&ffn=32&vocab=64&context=64 --plain -p 1 -n "
     "8 --format json "
     "-o out.json",
     "out.json", SAME_STATUS},
    {"generate --target gguf:../model.gguf --K 2 -n 4 -o out.txt", "out.txt", SAME_OUTPUT},
    {"bench --target zipf?V=9 --draft zipf?V=9&s=2 --K 1:2 --texts 2 -n 8 --widths 1:2", NULL,
     SAME_STATUS},
    {"bench --target random?dim=32&layers=1&heads=2&ffn=32&vocab=64&context=99 --draft "
     "layers?exit=1 --K 2 --texts 2 "
     "-n 8 --widths 1:2 -o out.csv",
     "out.csv", SAME_STATUS},
    {"bench --from ../bench.csv", NULL, SAME},
    {"plan --accept 0.6,0.2 --costs ../costs.csv", NULL, SAME},
    {"validate rule:token --only plain-4,two-2 --budget 2k --threads 2", NULL, SAME},
    {"validate rule:resample-target --only plain-4,two-2 --budget 20k --report out.json --junit "
     "out.xml",
     "out.json", SAME},
    {"validate --trace ../trace.jsonl --format json", NULL, SAME},
    {"validate rule:token --rows ../pair.rows --only rows-low --budget 2k --format csv", NULL,
     SAME},
    {"validate --list", NULL, SAME},
    {"validate --exec ../token_client --only two-2 --budget 2k", NULL, SAME_STATUS},
    {"rows --target zipf?V=9 --draft zipf?V=9&s=2 -n 20 -o out.rows", "out.rows", SAME},
    {"rows --target ngram:../text.txt --text ../text.txt -o out.rows", "out.rows", SAME},
    {"rows ../pair.rows", NULL, SAME},
    {"quantize ../model.gguf out.gguf --type q4_0", "out.gguf", SAME},
    {"tune --target random?dim=16&layers=2&heads=2&ffn=32&vocab=20&context=64&type=f32 --texts 2 "
     "--trials 9 --tokens 40 --check 0",
     NULL, SAME},
    {"widen ../model.gguf -o out.gguf", "out.gguf", SAME},
    {"import ../hf -o out.gguf", "out.gguf", SAME},
    {"merge ../part1.csv ../part2.csv -o out.csv", "out.csv", SAME},
    {"advise ../vllm.log --plain-tokens-per-s 150", NULL, SAME},
    {"advise ../vllm.jsonl -f csv", NULL, SAME},
    {"advise ../vllm.jsonl --profile out.json", "out.json", SAME},
    {"profile ../seen.json", NULL, SAME},
    {"profile ../seen.json --for dynamo", NULL, SAME},
    {"predict --process profile:../seen.json", NULL, SAME},
    {"advise ../1.prom ../2.prom --round-over-plain 1.4 -o out.csv", "out.csv", SAME},
    {"list", NULL, SAME},
    {"list experiments --format json", NULL, SAME},
    {"list figures", NULL, SAME},
    {"run speedup_table --digest", NULL, SAME},
    {"run copy_drafts --digest", NULL, SAME},
    {"run copy_drafts --set target=ngram:../text.txt?order=3 --set TEXT=../text.txt --set "
     "CODE=../text.txt --rounds 4",
     NULL, SAME},
    {"predict --distribution --format latex", NULL, SAME},
    {"predict --format vertical", NULL, SAME},
    {"step --target zipf?V=9 --draft zipf?V=9&s=2 --K 2", NULL, SAME},
    {"serve --rate 2 --K 0,1 --requests 20 --warm 5 --output 9", NULL, SAME},
    {"report ../figure.csv -o out.md", "out.md", SAME},
    {"train lm --data ../text.txt --dim 16 --layers 1 --steps 2 --batch 2 --window 40 "
     "--judge-texts 2 -o out.gguf",
     "out.gguf", SAME},
    {"train layerskip --target gguf:../small.gguf --data ../text.txt --K 2 --steps 2 --batch 2 "
     "--window 40 --judge-texts 2 --own-texts 2 -o out.gguf",
     "out.gguf", SAME_OUTPUT},
    {"train eagle3 --target gguf:../small.gguf --data own --K 2 --steps 2 --batch 2 --window 40 "
     "--judge-texts 2 --own-texts 2 -o out.gguf",
     "out.gguf", SAME_OUTPUT},
    {"plot ../figure.csv -o out.svg", NULL, SAME_STATUS},
    {"plot ../figure.csv --x K --y speedup --by alpha --where c=0.1 -o own.svg", "own.svg", SAME},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static char program[PATH_MAX], library[PATH_MAX], folder[] = "/tmp/speclab-oom-XXXXXX";
static bool is_valgrind;

/* ---- one run --------------------------------------------------------------------------------- */

typedef struct {
    int status; /* as from waitpid; -1: killed after a time-out */
    char out[SAID], err[SAID], file[SAID];
    size_t n_out, n_err, n_file;
} outcome;

static void read_fully(const char *path, char *bytes, size_t *n)
{
    FILE *in = fopen(path, "rb");
    *n = in != NULL ? fread(bytes, 1, SAID - 1, in) : 0;
    bytes[*n] = '\0';
    if (in != NULL) fclose(in);
}

static void remove_all(void)
{
    DIR *here = opendir(".");
    for (struct dirent *entry; here != NULL && (entry = readdir(here)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlink(entry->d_name);
    if (here != NULL) closedir(here);
}

static void start(const command *c, long at, bool on, const char *opt_paths)
{
    static char text[1024], number[24];
    char *argv[ARGUMENTS + 6] = {"valgrind", "-q", "--error-exitcode=99", "--leak-check=full",
                                 program};
    int n = 5;
    snprintf(text, sizeof text, "%s", c->text);
    for (char *rest = text, *word; (word = strsep(&rest, " ")) != NULL && n <= ARGUMENTS + 4;)
        argv[n++] = word;
    snprintf(number, sizeof number, "%ld", at);
    if (!is_valgrind) setenv("LD_PRELOAD", library, 1);
    setenv("OOM_PROGRAM", strrchr(program, '/') + 1, 1);
    setenv("OOM_AT", number, 1);
    if (on) setenv("OOM_ON", "1", 1);
    if (opt_paths != NULL) setenv("OOM_PATHS", opt_paths, 1);
    const int out = open("stdout", O_WRONLY | O_CREAT | O_TRUNC, 0600),
              err = open("stderr", O_WRONLY | O_CREAT, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setpgid(0, 0);
    if (is_valgrind)
        execvp(argv[0], argv);
    else
        execv(program, argv + 4);
    _exit(126);
}

/* Removes the line that reports the number of threads, since it may run with fewer. */
static void drop_note(outcome *o)
{
    char *note = strstr(o->err, "the system allows only "), *begin = note;
    if (note == NULL) return;
    while (begin > o->err && begin[-1] != '\n') begin--;
    char *end = strchrnul(note, '\n');
    if (*end != '\0') end++;
    memmove(begin, end, strlen(end) + 1);
    o->n_err = strlen(o->err);
}

/* Runs a command in the current folder; collects standard output, standard error and its output
 * file. */
static void run(outcome *o, const command *c, long at, bool on, const char *opt_paths)
{
    remove_all();
    if (strstr(c->text, "--resume") != NULL &&
        system("cp ../cut_before.csv cut.csv 2>/dev/null") != 0)
        o->status = -1;
    sigset_t child, before;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);
    const pid_t pid = fork();
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        start(c, at, on, opt_paths);
    }
    setpgid(pid, pid);
    const struct timespec most = {.tv_sec = is_valgrind ? VALGRIND_SECONDS : SECONDS};
    const bool ended = sigtimedwait(&child, NULL, &most) == SIGCHLD;
    kill(-pid, SIGKILL);
    waitpid(pid, &o->status, 0);
    if (!ended) o->status = -1;
    sigprocmask(SIG_SETMASK, &before, NULL);
    read_fully("stdout", o->out, &o->n_out);
    read_fully("stderr", o->err, &o->n_err);
    o->n_file = 0;
    if (c->opt_file != NULL) read_fully(c->opt_file, o->file, &o->n_file);
    if (WIFEXITED(o->status) && WEXITSTATUS(o->status) != 2) drop_note(o);
}

/* -- expectations -- */

static bool same(const char *a, size_t n, const char *b, size_t m)
{
    return n == m && memcmp(a, b, n) == 0;
}

static bool left_partial(void)
{
    bool left = false;
    DIR *here = opendir(".");
    for (struct dirent *entry; here != NULL && (entry = readdir(here)) != NULL;)
        left = left || strstr(entry->d_name, ".partial") != NULL;
    if (here != NULL) closedir(here);
    return left;
}

/* Returns its messages after the ones that the reference also prints first, such as warnings. */
static const char *own_words(const outcome *o, const outcome *reference)
{
    size_t same = 0;
    for (size_t i = 0; i < o->n_err && i < reference->n_err && o->err[i] == reference->err[i]; i++)
        if (o->err[i] == '\n') same = i + 1;
    return o->err + same;
}

/* Returns NULL if the outcome is as expected, otherwise what is wrong. */
static const char *fault(const outcome *o, const outcome *reference, const command *c)
{
    if (o->status == -1) return "it did not end";
    if (WIFSIGNALED(o->status)) return "it crashed";
    if (left_partial()) return "it left a partial file";
    if (WEXITSTATUS(o->status) == 2) {
        const char *said = own_words(o, reference), *end = strchr(said, '\n');
        if (*said == '\0') return "it failed without a message";
        if (end == NULL || end[1] != '\0') return "it printed more than one line";
        if (strstr(said, "memory") == NULL) return "it gives another reason";
        if (c->expected != SAME_STATUS && o->n_file > 0 &&
            (o->n_file > reference->n_file || memcmp(o->file, reference->file, o->n_file) != 0))
            return "it failed and wrote a different file";
        return NULL;
    }
    if (o->status != reference->status) return "another exit status";
    if (c->expected == SAME_STATUS) return NULL;
    if (!same(o->out, o->n_out, reference->out, reference->n_out)) return "another output";
    if (!same(o->file, o->n_file, reference->file, reference->n_file)) return "another file";
    if (c->expected == SAME && !same(o->err, o->n_err, reference->err, reference->n_err))
        return "another message";
    return NULL;
}

/* ---- all runs -------------------------------------------------------------------------------- */

/* Does every `workers`th run of a command; returns the number of failed runs, out of *ret_runs. */
static int work(const command *c, const outcome *reference, const long *allocation, long n,
                long step, int worker, int workers, int *ret_runs)
{
    static outcome o;
    int bad = 0;
    *ret_runs = 0;
    for (long i = 0; i < 2 * n; i++) {
        if (i / 2 % step != 0 || i / 2 / step % workers != worker) continue;
        run(&o, c, allocation[i / 2], i % 2 == 1, NULL);
        ++*ret_runs;
        const char *what = fault(&o, reference, c);
        if (what == NULL) continue;
        if (bad++ < SHOWN)
            printf("    allocation %ld%s: %s: status %#x: %.*s%s\n", allocation[i / 2],
                   i % 2 == 1 ? " and on" : "", what, (unsigned)o.status, (int)strcspn(o.err, "\n"),
                   o.err, bad == SHOWN ? " ..." : "");
        fflush(stdout);
    }
    return bad;
}

/* Reads the numbers in the file of paths from byte *at on, and moves it to the end. */
static long read_paths(long allocation[PATHS], long *at)
{
    long n = 0;
    char line[64];
    FILE *in = fopen(PATHS_FILE, "r");
    if (in == NULL || fseek(in, *at, SEEK_SET) != 0) return -1;
    while (n < PATHS && fgets(line, sizeof line, in) != NULL) allocation[n++] = atol(line);
    *at = ftell(in);
    fclose(in);
    return n;
}

static int check(const command *c, long step, int workers, int *ret_runs)
{
    static outcome reference;
    static long allocation[PATHS], passed;
    int bad = 0, state;
    run(&reference, c, 0, false, PATHS_FILE);
    if (reference.status == -1 || WIFSIGNALED(reference.status) ||
        WEXITSTATUS(reference.status) == 2 || WEXITSTATUS(reference.status) == 126) {
        printf("%s: cannot be run: %s\n", c->text, reference.err);
        return 1;
    }
    const long n = read_paths(allocation, &passed);
    printf("%s: %ld new allocations, status %d\n", c->text, n, WEXITSTATUS(reference.status));
    fflush(stdout);
    int pipe_fd[2];
    if (n < 0 || pipe(pipe_fd) != 0) return 1;
    for (int w = 0; w < workers; w++) {
        if (fork() != 0) continue;
        char own[32];
        int done[2];
        snprintf(own, sizeof own, "../worker%d", w);
        mkdir(own, 0700);
        done[0] =
            chdir(own) == 0 ? work(c, &reference, allocation, n, step, w, workers, &done[1]) : 1;
        _exit(write(pipe_fd[1], done, sizeof done) == (ssize_t)sizeof done ? 0 : 1);
    }
    close(pipe_fd[1]);
    for (int done[2]; read(pipe_fd[0], done, sizeof done) == (ssize_t)sizeof done;) {
        bad += done[0];
        *ret_runs += done[1];
    }
    close(pipe_fd[0]);
    while (wait(&state) > 0)
        if (!WIFEXITED(state) || WEXITSTATUS(state) != 0) bad++;
    return bad;
}

/* Returns whether valgrind finds a fault in a command. */
static bool is_faulty(const command *c)
{
    static outcome o;
    run(&o, c, 0, false, NULL);
    const bool good = o.status != -1 && WIFEXITED(o.status) && WEXITSTATUS(o.status) < 126 &&
                      WEXITSTATUS(o.status) != VALGRIND_STATUS;
    printf("%s: %s\n%s", c->text, good ? "no fault" : "FAULTS", good ? "" : o.err);
    fflush(stdout);
    return !good;
}

static bool make_inputs(const char *tree)
{
    char line[4 * PATH_MAX];
    snprintf(line, sizeof line, "'%s/tests/oom/inputs.sh' '%s' '%s'", tree, program, tree);
    return system(line) == 0;
}

int main(int argc, char **argv)
{
    char tree[PATH_MAX];
    int arg = 1, bad = 0, runs = 0, tried = 0;
    const bool quick = argc > 1 && strcmp(argv[1], "-q") == 0;
    if (quick) arg++;
    is_valgrind = argc > arg + 1 && strcmp(argv[arg + 1], "valgrind") == 0;
    if (argc < arg + 2 || realpath(argv[arg], program) == NULL ||
        (!is_valgrind && realpath(argv[arg + 1], library) == NULL) ||
        getcwd(tree, sizeof tree) == NULL || mkdtemp(folder) == NULL || chdir(folder) != 0) {
        fprintf(stderr, "usage: oom_check [-q] SPECLAB FAILING_ALLOC.so|valgrind [COMMAND...]\n");
        return 2;
    }
    if (!make_inputs(tree) || mkdir("first", 0700) != 0 || chdir("first") != 0) {
        fprintf(stderr, "oom_check: cannot make its inputs\n");
        return 2;
    }
    if (personality(ADDR_NO_RANDOMIZE) == -1)
        printf("oom: addresses are random here: each command repeats chains of the others\n");
    for (int k = 0; k < 3 * COMMANDS; k++) {
        const command *c = &commands[k % COMMANDS];
        bool wanted = argc == arg + 2;
        for (int a = arg + 2; a < argc; a++)
            wanted = wanted || strncmp(c->text, argv[a], strlen(argv[a])) == 0;
        if (!wanted || c->expected != (expectation)(k / COMMANDS)) continue;
        bad += is_valgrind ? is_faulty(c)
                           : check(c, quick ? 8 : 1, (int)sysconf(_SC_NPROCESSORS_ONLN), &runs);
        tried++;
    }
    char line[sizeof folder + 16];
    snprintf(line, sizeof line, "rm -rf '%s'", folder);
    if (chdir("/") != 0 || system(line) != 0) bad++;
    if (is_valgrind)
        printf("valgrind: %d commands, %d with faults\n", tried, bad);
    else
        printf("oom: %d commands, %d runs without an allocation each, %d failed\n", tried, runs,
               bad);
    return bad > 0 || tried == 0;
}
