/* The program as its users meet it: one child process for each question, with a time-out.
 * SPECLAB names the program; without it every test is skipped. Whatever goes wrong is one line on standard error that begins with the verb. */
#include "cli/verb.h"
#include "tests/support/support.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 24, OUT_SIZE = 1 << 18, TIMEOUT_MS = 30000, KILLED = 1000 };

static char program[PATH_MAX], source[PATH_MAX], folder[64];

/* One child and what it said. */
typedef struct {
    pid_t pid;
    int out, err;     /* read ends, or -1 */
    char *text;       /* (OUT_SIZE) standard output */
    size_t n;
    char line[4096];  /* standard error */
    size_t n_line;
    int code;         /* exit code, or KILLED + the signal */
} child;

#define needs_program()                                                                                                \
    do {                                                                                                               \
        if (program[0] == '\0') {                                                                                      \
            printf("skipped: %s: SPECLAB does not name the program\n", __func__);                                      \
            skip();                                                                                                    \
        }                                                                                                              \
    } while (0)

/* ---- running it ------------------------------------------------------------------------------------------------------------------ */

/* Arguments are separated by blanks; '' is an empty one. `stdout_path`: standard output goes there instead of into the pipe. */
static void start(child *c, const char *opt_environment, const char *opt_stdout_path, const char *arguments)
{
    int out[2], err[2];
    char *copy = strdup(arguments), *argv[MOST_ARGUMENTS + 2] = {program};
    int n = 1;
    for (char *rest = copy, *word; (word = strsep(&rest, " ")) != NULL && n <= MOST_ARGUMENTS;)
        if (*word != '\0') argv[n++] = strcmp(word, "''") == 0 ? word + 2 : word;
    *c = (child){.text = calloc(OUT_SIZE, 1)};
    assert_int_equal(pipe(out), 0);
    assert_int_equal(pipe(err), 0);
    c->pid = fork();
    assert_true(c->pid >= 0);
    if (c->pid == 0) {
        const char *name = opt_environment, *equals = name != NULL ? strchr(name, '=') : NULL;
        char variable[64];
        snprintf(variable, sizeof variable, "%.*s", equals != NULL ? (int)(equals - name) : 0, name != NULL ? name : "");
        if (equals != NULL) setenv(variable, equals + 1, 1);
        else if (name != NULL) unsetenv(name);
        int to = opt_stdout_path != NULL ? open(opt_stdout_path, O_WRONLY) : out[1];
        dup2(to, STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
        for (int fd = 3; fd < 64; fd++) close(fd);
        execv(program, argv);
        _exit(126);
    }
    close(out[1]);
    close(err[1]);
    c->out = out[0];
    c->err = err[0];
    free(copy);
}

static void take(int *fd, char *text, size_t *n, size_t size)
{
    char block[4096];
    const ssize_t got = read(*fd, block, sizeof block);
    if (got <= 0) {
        close(*fd);
        *fd = -1;
    }
    for (ssize_t i = 0; i < got && *n + 1 < size; i++) text[(*n)++] = block[i];
    text[*n] = '\0';
}

/* Read until the child ends, or until `opt_until` stands in its standard output. */
static void listen_to(child *c, const char *opt_until)
{
    for (int waited = 0; c->out >= 0 || c->err >= 0;) {
        struct pollfd fds[2] = {{.fd = c->out, .events = POLLIN}, {.fd = c->err, .events = POLLIN}};
        if (opt_until != NULL && strstr(c->text, opt_until) != NULL) return;
        if (poll(fds, 2, 100) == 0 && (waited += 100) > TIMEOUT_MS) {
            kill(c->pid, SIGKILL);
            fail_msg("no answer within %d s", TIMEOUT_MS / 1000);
        }
        if (fds[0].revents != 0) take(&c->out, c->text, &c->n, OUT_SIZE);
        if (fds[1].revents != 0) take(&c->err, c->line, &c->n_line, sizeof c->line);
    }
    if (opt_until != NULL) fail_msg("it ended without '%s': %s", opt_until, c->line);
    int state;
    while (waitpid(c->pid, &state, 0) < 0) assert_int_equal(errno, EINTR);
    c->code = WIFEXITED(state) ? WEXITSTATUS(state) : KILLED + WTERMSIG(state);
}

static void done_with(child *c)
{
    if (c->out >= 0) close(c->out);
    if (c->err >= 0) close(c->err);
    free(c->text);
}

static void run(child *c, const char *arguments)
{
    start(c, NULL, NULL, arguments);
    listen_to(c, NULL);
}

static void check_one_line(const child *c, const char *arguments, int code, const char *begin)
{
    const char *end = strchr(c->line, '\n');
    if (c->code != code) fail_msg("%s: exit code %d, not %d: %s", arguments, c->code, code, c->line);
    if (strncmp(c->line, begin, strlen(begin)) != 0) fail_msg("%s: '%s' does not begin '%s'", arguments, c->line, begin);
    if (end == NULL || end[1] != '\0') fail_msg("%s: not one line: '%s'", arguments, c->line);
}

/* It fails with that code, in one line that begins so, and nothing on standard output. */
static void fails(const char *arguments, int code, const char *begin)
{
    child c;
    run(&c, arguments);
    check_one_line(&c, arguments, code, begin);
    if (c.n > 0) fail_msg("%s: it failed, and yet wrote '%.80s'", arguments, c.text);
    done_with(&c);
}

static void works(const char *arguments)
{
    child c;
    run(&c, arguments);
    if (c.code != 0) fail_msg("%s: exit code %d: %s", arguments, c.code, c.line);
    done_with(&c);
}

/* ---- files ----------------------------------------------------------------------------------------------------------------------- */

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* The bytes of a file, up to OUT_SIZE, which the caller frees; an empty text where there is none. */
static char *bytes_of(const char *name)
{
    char *bytes = calloc(OUT_SIZE, 1);
    FILE *file = fopen(name, "r");
    if (file == NULL) return bytes;
    (void)!fread(bytes, 1, OUT_SIZE - 1, file);
    fclose(file);
    return bytes;
}

static void assert_same_bytes(const char *name, const char *other)
{
    char *a = bytes_of(name), *b = bytes_of(other);
    assert_true(a[0] != '\0');
    assert_string_equal(a, b);
    free(a);
    free(b);
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* Wait until the file has rows below its head. */
static void wait_for_rows(const char *name)
{
    for (int ms = 0; ms < TIMEOUT_MS; ms++, pause_ms(1)) {
        char *bytes = bytes_of(name), *head = strstr(bytes, "\nalpha,"), *row = head != NULL ? strchr(head + 1, '\n') : NULL;
        const bool there = row != NULL && strchr(row + 1, '\n') != NULL;
        free(bytes);
        if (there) return;
    }
    fail_msg("%s: no rows", name);
}

static int set_up(void **state)
{
    (void)state;
    const char *name = getenv("SPECLAB");
    if (name == NULL || realpath(name, program) == NULL) program[0] = '\0';
    if (getcwd(source, sizeof source) == NULL) return -1;
    strcpy(folder, "/tmp/speclab-cli-XXXXXX");
    if (mkdtemp(folder) == NULL || chdir(folder) != 0) return -1;
    signal(SIGPIPE, SIG_IGN);
    write_file("one.cfg", "measure = \"predict\"; grid = { alpha = 0.27; K = 3; };");
    write_file("long.cfg", "measure = \"acceptance\"; grid = { alpha = \"0.21:0.6:0.01\"; K = 5; }; rounds = 1000000;");
    write_file("empty", "");
    write_file("bad.cfg", "measure = \"predict\";\ngrid = { alpha = ; };\n");
    write_file("binary", "measure\001\002 = 3;");
    write_file("sums.txt", "0.5 0.6\n");
    write_file("text.txt", "the cat sat on the mat. the dog sat on the log. the cat saw the dog.\n");
    return mkdir("dir", 0777) | mkfifo("fifo", 0666) | symlink("loop", "loop");
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir(source) != 0 || system(command) != 0 ? -1 : 0;
}

/* ---- what can be typed wrongly --------------------------------------------------------------------------------------------------- */

static void a_wrong_option_is_one_line_that_names_the_nearest(void **state)
{
    (void)state;
    needs_program();
    fails("sweeep", 2, "speclab: there is no verb 'sweeep'; did you mean 'sweep'?");
    fails("xyzzy", 2, "speclab: there is no verb 'xyzzy'; 'speclab --help' lists them");
    fails("predict --alhpa 0.5", 2, "speclab predict: there is no option --alhpa; did you mean --alpha?");
    fails("predict --xyzzy", 2, "speclab predict: there is no option --xyzzy; 'speclab predict --help' lists them");
    fails("plot --outptu=x", 2, "speclab plot: there is no option --outptu; did you mean --output?");
    fails("predict -q", 2, "speclab predict: there is no option -q;");
    fails("predict -K 2 -lq", 2, "speclab predict: there is no option -q;");
    fails("predict --alpha", 2, "speclab predict: --alpha needs a value, LIST");
    fails("predict -K", 2, "speclab predict: -K needs a value, LIST");
    fails("predict --law=3", 2, "speclab predict: --law takes no value");
    fails("sweep --r 3", 2, "speclab sweep: --r may be several options");
    fails("predict stray", 2, "speclab predict: what is 'stray'?");
    fails("list rulse", 2, "speclab list: there is no list 'rulse'; did you mean 'rules'?");
    fails("run real_txt", 2, "speclab run: 'real_txt' is neither a file nor an experiment; did you mean 'real_text'?");
    fails("predict --format xml", 2, "speclab predict: --format: 'xml'");
    fails("predict --seed -1", 2, "speclab predict: --seed: '-1'");
    fails("predict --threads 0", 2, "speclab predict: --threads: '0'");
    fails("predict -o ''", 2, "speclab predict: --output: the file has no name");
}

static void a_number_out_of_its_domain_names_its_option(void **state)
{
    (void)state;
    needs_program();
    fails("predict --alpha 1.2", 2, "speclab predict: --alpha: 1.2 is not within [0, 1]");
    fails("sweep --alpha -0.27", 2, "speclab sweep: --alpha: -0.27 is not within [0, 1]");
    fails("predict --alpha nan", 2, "speclab predict: --alpha: 'nan' is not a number");
    fails("predict --K -1", 2, "speclab predict: --K: -1 is not within [0, 256]");
    fails("predict --K 257", 2, "speclab predict: --K: 257 is not within [0, 256]");
    fails("predict --K 1e9", 2, "speclab predict: --K: 1000000000 is not within [0, 256]");
    fails("predict --K 1.5", 2, "speclab predict: --K: '1.5' is not a whole number");
    fails("predict --c -1", 2, "speclab predict: --c: -1 is not within");
    fails("predict --ops-ratio -2", 2, "speclab predict: --ops-ratio: -2 is not within");
    fails("predict --alpha ''", 2, "speclab predict: --alpha: ''");
    fails("predict --alpha 0.5:0.1:0.1", 2, "speclab predict: --alpha: the range '0.5:0.1:0.1' is empty");
    fails("predict --alpha 0:1:0", 2, "speclab predict: --alpha: the step of '0:1:0' is zero");
    fails("predict --alpha 0:1:1e-9", 2, "speclab predict: --alpha: '0:1:1e-9' has over a million values");
    fails("predict --alpha 0:1:1e-5 --K 1:256:1", 2, "speclab predict: the grid has over 10 million points");
    fails("accept --contexts 0", 2, "speclab accept: --contexts: 0 is not within");
    fails("prove --tokens 0", 2, "speclab prove: --tokens: 0 is not within");
    fails("sweep --rounds 0", 2, "speclab sweep: --rounds: '0'");
    fails("sweep --standard-error nan", 2, "speclab sweep: --standard-error: 'nan'");
    fails("accept --contexts 1000000 --target zpif", 2, "speclab accept: --target: "); /* and not --contexts: 1e+06 */
}

static void a_wrong_model_rule_or_policy_names_its_option(void **state)
{
    (void)state;
    needs_program();
    fails("prove --rule tokn", 2, "speclab prove: --rule: ");
    fails("prove --drafting greddy", 2, "speclab prove: --drafting: ");
    fails("prove --policy fixd", 2, "speclab prove: --policy: ");
    fails("prove --target zpif", 2, "speclab prove: --target: ");
    fails("prove --draft dirichlet?W=3", 2, "speclab prove: --draft: ");
    fails("prove --alpha 1.1", 2, "speclab prove: --alpha: ");
    fails("sweep --process markof", 2, "speclab sweep: --process: ");
    fails("sweep --process markov?rho=2", 2, "speclab sweep: --process: ");
    fails("sweep --draft zipf?V=3", 2, "speclab sweep: --draft, --drafting, --policy and --rule need a --target");
    fails("prove --limit 10", 2, "speclab prove: more than 10 branches");
    fails("accept --target probs:0.5,0.6", 2, "speclab accept: --target: probs: the 2 numbers sum to 1.1");
    fails("accept --target probs:-0.5,1.5", 2, "speclab accept: --target: ");
    fails("accept --target probs:0.5,nan", 2, "speclab accept: --target: ");
    fails("accept --target probs:0.5,0.5", 2, "speclab accept: --draft: it has 3 tokens, the target 2: they must be the same");
}

static void the_nearest_name_is_told(void **state)
{
    static const char *const wrong[][2] = {
        {"prove --rule tokn", "'token'"},          {"prove --drafting greddy", "'greedy'"}, {"prove --policy fixd", "'fixed'"},
        {"sweep --process markof", "markov"},      {"prove --target zpif", "'zipf'"},       {"prove --target zipf?VV=3", "'V'"},
        {"run one.cfg --set alhpa=0.5", "'alpha'"}, {"plot one.csv -F sppedup", "'speedup'"},
    };
    (void)state;
    needs_program();
    works("run one.cfg -o one.csv");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        child c;
        run(&c, wrong[i][0]);
        check_one_line(&c, wrong[i][0], 2, "speclab ");
        if (strstr(c.line, "did you mean") == NULL || strstr(c.line, wrong[i][1]) == NULL)
            fail_msg("%s: '%s' does not suggest %s", wrong[i][0], c.line, wrong[i][1]);
        done_with(&c);
    }
}

/* ---- files that are none --------------------------------------------------------------------------------------------------------- */

static void a_bad_file_is_named_and_its_line_too(void **state)
{
    (void)state;
    needs_program();
    fails("run empty", 2, "speclab run: empty: ");
    fails("run binary", 2, "speclab run: binary:1: ");
    fails("run bad.cfg", 2, "speclab run: bad.cfg:2: ");
    fails("run dir", 2, "speclab run: dir: Is a directory");
    fails("run ./none.cfg", 2, "speclab run: ./none.cfg: No such file or directory");
    fails("run ./loop", 2, "speclab run: ./loop: Too many levels of symbolic links");
    fails("run /dev/zero", 2, "speclab run: /dev/zero: larger than");
    fails("run one.cfg --set alpha=3", 2, "speclab run: one.cfg: K=3;alpha=3: alpha: 3 is not within [0, 1]");
    fails("run one.cfg --set nope:alpha=0.5", 2, "speclab run: --set nope:alpha=0.5: no experiment here is named 'nope'");
    fails("run one.cfg --set alpha", 2, "speclab run: --set: 'alpha' is not KEY=VALUE");
    fails("run one.cfg one.cfg", 2, "speclab run: several experiments need --directory DIR");
    fails("run one.cfg one.cfg -d both", 2, "speclab run: two experiments are named 'one'");
    fails("run one.cfg -d empty", 2, "speclab run: --directory: empty: Not a directory");
    fails("run one.cfg --resume", 2, "speclab run: --resume needs the output");
    fails("run one.cfg --resume -o x.json", 2, "speclab run: --resume goes on with CSV alone");
    fails("accept --target probs:empty", 2, "speclab accept: --target: ");
    fails("accept --target probs:sums.txt", 2, "speclab accept: --target: ");
    fails("accept --target probs:dir", 2, "speclab accept: --target: ");
    fails("accept --target probs:fifo", 2, "speclab accept: --target: ");
    fails("accept --target ngram:empty", 2, "speclab accept: --target: empty: the text is empty");
    fails("accept --target ngram:dir", 2, "speclab accept: --target: dir: is a folder");
    fails("accept --target ngram:none*", 2, "speclab accept: --target: none*: no file matches");
    fails("accept --target ngram:text.txt?tokens=words --draft ngram:text.txt", 2, "speclab accept: --draft: it has 256 tokens");
    fails("plot empty -o x.svg", 2, "speclab plot: empty names no figure");
    fails("plot none.csv", 2, "speclab plot: none.csv: No such file or directory");
    fails("plot dir -o x.svg", 2, "speclab plot: dir: ");
}

static void an_unreadable_file_is_told(void **state)
{
    (void)state;
    needs_program();
    if (geteuid() == 0) {
        printf("skipped: %s: root reads every file\n", __func__);
        skip();
    }
    write_file("shut.cfg", "measure = \"predict\";");
    assert_int_equal(chmod("shut.cfg", 0), 0);
    fails("run shut.cfg", 2, "speclab run: shut.cfg: Permission denied");
    fails("accept --target ngram:shut.cfg", 2, "speclab accept: --target: shut.cfg: Permission denied");
}

/* ---- output that cannot be written ----------------------------------------------------------------------------------------------- */

static void a_full_disk_is_told(void **state)
{
    static const char *const verbs[] = {"sweep --rounds 1000", "predict", "predict --format json", "prove", "accept", "list", "run one.cfg"};
    (void)state;
    needs_program();
    if (access("/dev/full", W_OK) != 0) skip();
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        char arguments[128], begin[32];
        child c;
        snprintf(begin, sizeof begin, "speclab %.*s: ", (int)strcspn(verbs[i], " "), verbs[i]);
        snprintf(arguments, sizeof arguments, "%s -o /dev/full", verbs[i]);
        fails(arguments, 2, begin);
        start(&c, NULL, "/dev/full", verbs[i]);
        listen_to(&c, NULL);
        check_one_line(&c, verbs[i], 2, begin);
        if (strstr(c.line, "No space left on device") == NULL) fail_msg("%s: %s", verbs[i], c.line);
        done_with(&c);
    }
    child c;
    start(&c, NULL, "/dev/full", "predict --help");
    listen_to(&c, NULL);
    check_one_line(&c, "predict --help", 2, "speclab predict: standard output: No space left on device");
    done_with(&c);
}

static void an_output_that_cannot_be_opened_is_named(void **state)
{
    (void)state;
    needs_program();
    fails("predict -o /nonexistent/x.csv", 2, "speclab predict: /nonexistent/x.csv: No such file or directory");
    fails("predict -o dir", 2, "speclab predict: dir: Is a directory");
    fails("predict -f json -o dir", 2, "speclab predict: dir: Is a directory");
    fails("run one.cfg -d /nonexistent/x", 2, "speclab run: --directory: /nonexistent/x: No such file or directory");
    works("sweep --rounds 1000 -o figure.csv");
    fails("plot figure.csv -o /nonexistent/x.svg", 2, "speclab plot: /nonexistent/x.svg: No such file or directory");
    fails("plot figure.csv -o x.gif", 2, "speclab plot: -o x.gif: a figure ends in .svg, .png or .pdf");
}

static void a_closed_pipe_ends_the_run_in_one_line(void **state)
{
    child c;
    (void)state;
    needs_program();
    start(&c, NULL, NULL, "run long.cfg");
    listen_to(&c, "\nalpha,");
    close(c.out);
    c.out = -1;
    listen_to(&c, NULL);
    check_one_line(&c, "run long.cfg | head", 2, "speclab run: long.cfg: standard output: Broken pipe after ");
    done_with(&c);
}

static void a_failure_before_the_first_row_leaves_no_file_and_an_old_one_alone(void **state)
{
    (void)state;
    needs_program();
    fails("predict --alpha 1.2 -o never.csv", 2, "speclab predict: --alpha: 1.2 ");
    assert_int_not_equal(access("never.csv", F_OK), 0);
    works("predict -o old.csv");
    works("predict -o same.csv");
    fails("predict --alpha 1.2 -o old.csv", 2, "speclab predict: --alpha: 1.2 ");
    assert_same_bytes("old.csv", "same.csv");
    works("predict --alpha 0.27 -o old.csv"); /* a run that gives rows takes its place, whole */
    works("predict --alpha 0.27 -o other.csv");
    assert_same_bytes("old.csv", "other.csv");
}

/* ---- no finished row is lost ----------------------------------------------------------------------------------------------------- */

static void check_whole_rows(const char *name, const char *uninterrupted)
{
    char *bytes = bytes_of(name), *all = bytes_of(uninterrupted);
    const size_t n = strlen(bytes);
    assert_true(n > 0 && bytes[n - 1] == '\n');
    assert_int_equal(strncmp(bytes, all, n), 0);
    free(bytes);
    free(all);
}

static void a_run_goes_on_after_kill_9_to_the_same_bytes(void **state)
{
    child c;
    (void)state;
    needs_program();
    works("run long.cfg -o whole.csv");
    start(&c, NULL, NULL, "run long.cfg -o cut.csv --threads 1");
    wait_for_rows("cut.csv");
    kill(c.pid, SIGKILL);
    listen_to(&c, NULL);
    assert_int_equal(c.code, KILLED + SIGKILL);
    done_with(&c);
    check_whole_rows("cut.csv", "whole.csv");
    FILE *file = fopen("cut.csv", "a"); /* and a row that was cut by the kill */
    assert_non_null(file);
    fputs("0.4,5,0.1,20000", file);
    fclose(file);
    works("run long.cfg -o cut.csv --resume");
    assert_same_bytes("cut.csv", "whole.csv");
    works("run long.cfg -o cut.csv --resume"); /* nothing is left to do */
    assert_same_bytes("cut.csv", "whole.csv");
    fails("run long.cfg -o cut.csv --resume --seed 7", 2, "speclab run: long.cfg: cut.csv:");
    assert_same_bytes("cut.csv", "whole.csv");
}

static void ctrl_c_keeps_the_finished_rows_and_says_130(void **state)
{
    child c;
    (void)state;
    needs_program();
    works("run long.cfg -o whole.csv");
    start(&c, NULL, NULL, "run long.cfg -o stopped.csv --threads 1");
    wait_for_rows("stopped.csv");
    kill(c.pid, SIGINT);
    listen_to(&c, NULL);
    check_one_line(&c, "ctrl-C", SPEC_EXIT_INTERRUPTED, "speclab run: long.cfg: interrupted after ");
    done_with(&c);
    check_whole_rows("stopped.csv", "whole.csv");
    works("run long.cfg -o stopped.csv --resume");
    assert_same_bytes("stopped.csv", "whole.csv");

    start(&c, NULL, NULL, "run long.cfg --threads 1");
    listen_to(&c, "\n0.21,");
    kill(c.pid, SIGINT);
    listen_to(&c, NULL);
    check_one_line(&c, "ctrl-C to standard output", SPEC_EXIT_INTERRUPTED, "speclab run: long.cfg: interrupted after ");
    assert_true(c.text[c.n - 1] == '\n');
    char *whole = bytes_of("whole.csv");
    assert_int_equal(strncmp(c.text, whole, c.n), 0);
    free(whole);
    done_with(&c);
}

static void a_second_ctrl_c_kills(void **state)
{
    child c;
    (void)state;
    needs_program();
    start(&c, NULL, NULL, "accept --target ngram:/dev/zero"); /* learning does not look at the first */
    pause_ms(100);
    kill(c.pid, SIGINT);
    pause_ms(50);
    assert_int_equal(waitpid(c.pid, NULL, WNOHANG), 0);
    kill(c.pid, SIGINT);
    listen_to(&c, NULL);
    assert_int_equal(c.code, KILLED + SIGINT);
    done_with(&c);
}

static void ctrl_c_ends_the_wait_for_a_pipe_that_nobody_writes(void **state)
{
    child c;
    (void)state;
    needs_program();
    start(&c, NULL, NULL, "accept --target ngram:fifo");
    pause_ms(100);
    kill(c.pid, SIGINT);
    listen_to(&c, NULL);
    check_one_line(&c, "ngram:fifo", SPEC_EXIT_INTERRUPTED, "speclab accept: ");
    done_with(&c);
}

/* ---- what it gives --------------------------------------------------------------------------------------------------------------- */

static void the_bytes_are_the_same_for_one_thread_and_three(void **state)
{
    static const char *const work[] = {"sweep --alpha 0.27,0.8 --K 2,5 --rounds 700000",
                                       "sweep --process markov?rho=0.5&spread=0.2 --alpha 0.6 --K 3 --rounds 100000",
                                       "sweep --target markov?V=4&order=1 --alpha 0.7 --K 3 --rounds 20000",
                                       "accept --target ngram:text.txt?order=3 --draft ngram:text.txt?order=2 --contexts 300"};
    (void)state;
    needs_program();
    for (size_t i = 0; i < sizeof work / sizeof work[0]; i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "%s --threads 1 -o one_thread.csv", work[i]);
        works(arguments);
        snprintf(arguments, sizeof arguments, "%s --threads 3 -o three_threads.csv", work[i]);
        works(arguments);
        assert_same_bytes("one_thread.csv", "three_threads.csv");
    }
}

static void the_exit_code_tells_what_holds(void **state)
{
    child c;
    (void)state;
    needs_program();
    works("prove --rule token,resample-target --K 1 --tokens 2"); /* a mistake that is marked fails nothing */
    works("run one.cfg");
    /* A chi-square of 15 samples is far from its law: the test of uniformity sees it, whatever the sampler. */
    write_file("fails.cfg", "measure = \"uniformity\"; grid = { target = \"probs:0.5,0.3,0.2\"; draft = \"probs:0.2,0.5,0.3\"; K = 2; "
                            "tokens = 1; samples = 15; replicas = 300; };");
    run(&c, "run fails.cfg --threads 1");
    check_one_line(&c, "run fails.cfg --threads 1", SPEC_EXIT_FAILS, "speclab run: fails.cfg: 1 of 1 checks failed");
    assert_non_null(strstr(c.text, "NOT LOSSLESS"));
    done_with(&c);
    run(&c, "run fails.cfg one.cfg -d both --threads 1");
    assert_int_equal(c.code, SPEC_EXIT_FAILS);
    assert_non_null(strstr(c.text, "fails "));
    assert_non_null(strstr(c.text, "one "));
    assert_int_equal(access("both/report.md", R_OK), 0);
    done_with(&c);
}

static void help_is_printed_and_fits_eighty_columns(void **state)
{
    static const char *const verbs[] = {"", "predict ", "sweep ", "run ", "plot ", "prove ", "accept ", "list "};
    (void)state;
    needs_program();
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        char arguments[32];
        child c;
        snprintf(arguments, sizeof arguments, "%s--help", verbs[i]);
        run(&c, arguments);
        assert_int_equal(c.code, 0);
        assert_int_equal(strncmp(c.text, "Usage: speclab", 14), 0);
        for (char *line = c.text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            if (end - line > 80) fail_msg("%s: over 80 columns: %.*s", arguments, (int)(end - line), line);
        }
        done_with(&c);
        snprintf(arguments, sizeof arguments, "%s--version", verbs[i]);
        run(&c, arguments);
        assert_int_equal(c.code, 0);
        assert_int_equal(strncmp(c.text, "speclab ", 8), 0);
        done_with(&c);
    }
}

static void a_result_tells_its_compiler_and_no_rounds_where_there_are_none(void **state)
{
    child c;
    (void)state;
    needs_program();
    run(&c, "predict");
    assert_true(strstr(c.text, "# compiler: gcc ") != NULL || strstr(c.text, "# compiler: clang ") != NULL);
    assert_null(strstr(c.text, "# rounds:"));
    assert_non_null(strstr(c.text, "\n# | speclab predict --alpha 0.8 --K 5 --c 0.1\n"));
    done_with(&c);
    run(&c, "prove --alpha 0.6 --drafting chain --rule token"); /* what is told can be typed again */
    assert_non_null(strstr(c.text, "\n# | speclab prove --rule token"));
    assert_non_null(strstr(c.text, " --drafting chain --alpha 0.6 --K 2 --tokens 3\n"));
    done_with(&c);
}

/* ---- where it runs --------------------------------------------------------------------------------------------------------------- */

static void its_own_experiments_run_from_any_folder(void **state)
{
    child c;
    (void)state;
    needs_program();
    run(&c, "list experiments -f csv");
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(c.text, "experiment,real_text,"));
    done_with(&c);
    start(&c, NULL, NULL, "run real_text --rounds 100 --set K=2 --set draft_order=1");
    listen_to(&c, "\ndocs/*.md,");
    assert_null(strstr(c.text, source)); /* no path of this machine in a result */
    kill(c.pid, SIGTERM);
    listen_to(&c, NULL);
    done_with(&c);
}

static void a_wrong_share_folder_is_told(void **state)
{
    child c;
    (void)state;
    needs_program();
    start(&c, "SPECLAB_SHARE=/nonexistent", NULL, "run real_text");
    listen_to(&c, NULL);
    check_one_line(&c, "run real_text", 2, "speclab run: 'real_text' is no file, and there is no folder of experiments: SPECLAB_SHARE");
    done_with(&c);
    start(&c, "SPECLAB_SHARE=/nonexistent", NULL, "list experiments");
    listen_to(&c, NULL);
    check_one_line(&c, "list experiments", 2, "speclab list: there is no folder of experiments: SPECLAB_SHARE");
    done_with(&c);
    start(&c, "SPECLAB_SHARE=/nonexistent", NULL, "plot figure.csv -F speedup");
    listen_to(&c, NULL);
    check_one_line(&c, "plot", 2, "speclab plot: ");
    done_with(&c);
    start(&c, "SPECLAB_SHARE=/nonexistent", NULL, "run one.cfg"); /* a file of one's own needs none */
    listen_to(&c, NULL);
    assert_int_equal(c.code, 0);
    done_with(&c);
}

static void no_gnuplot_and_no_home_are_told_or_not_needed(void **state)
{
    child c;
    (void)state;
    needs_program();
    works("sweep --rounds 1000 -o figure.csv");
    start(&c, "PATH=/nonexistent", NULL, "plot figure.csv");
    listen_to(&c, NULL);
    check_one_line(&c, "plot figure.csv", 2, "speclab plot: gnuplot is not there");
    assert_int_not_equal(access("figure.svg", F_OK), 0);
    done_with(&c);
    start(&c, "HOME", NULL, "run one.cfg");
    listen_to(&c, NULL);
    assert_int_equal(c.code, 0);
    done_with(&c);
}

static void bash_completes_verbs_options_and_names(void **state)
{
    static const char *const cases[][3] = {
        {"speclab pre", "1", "predict"},           {"speclab predict --alp", "2", "--alpha"},
        {"speclab prove --rule gre", "3", "greedy"}, {"speclab prove --target zi", "3", "zipf"},
        {"speclab run real_te", "2", "real_text"}, {"speclab sweep --format mark", "3", "markdown"},
        {"speclab list pol", "2", "policies"},     {"speclab plot --fig", "2", "--figure"},
    };
    (void)state;
    needs_program();
    char script[PATH_MAX + 32];
    snprintf(script, sizeof script, "%s/cli/completion.bash", source);
    if (access(script, R_OK) != 0 || system("command -v bash >/dev/null 2>&1") != 0) {
        printf("skipped: %s: no bash, or not run from the source tree\n", __func__);
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char command[3 * PATH_MAX], answer[1024] = "";
        snprintf(command, sizeof command,
                 "bash -c 'compopt() { :; }; source \"%s\"; COMP_WORDS=(%s); COMP_WORDS[0]=\"%s\"; COMP_CWORD=%s; _speclab; "
                 "echo \" ${COMPREPLY[*]} \"'", script, cases[i][0], program, cases[i][1]);
        FILE *in = popen(command, "r");
        assert_non_null(in);
        (void)!fgets(answer, sizeof answer, in);
        pclose(in);
        char wanted[64];
        snprintf(wanted, sizeof wanted, " %s ", cases[i][2]);
        if (strstr(answer, wanted) == NULL) fail_msg("%s: '%s' lacks %s", cases[i][0], answer, cases[i][2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_option_is_one_line_that_names_the_nearest),
        cmocka_unit_test(a_number_out_of_its_domain_names_its_option),
        cmocka_unit_test(a_wrong_model_rule_or_policy_names_its_option),
        cmocka_unit_test(the_nearest_name_is_told),
        cmocka_unit_test(a_bad_file_is_named_and_its_line_too),
        cmocka_unit_test(an_unreadable_file_is_told),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(an_output_that_cannot_be_opened_is_named),
        cmocka_unit_test(a_closed_pipe_ends_the_run_in_one_line),
        cmocka_unit_test(a_failure_before_the_first_row_leaves_no_file_and_an_old_one_alone),
        cmocka_unit_test(a_run_goes_on_after_kill_9_to_the_same_bytes),
        cmocka_unit_test(ctrl_c_keeps_the_finished_rows_and_says_130),
        cmocka_unit_test(a_second_ctrl_c_kills),
        cmocka_unit_test(ctrl_c_ends_the_wait_for_a_pipe_that_nobody_writes),
        cmocka_unit_test(the_bytes_are_the_same_for_one_thread_and_three),
        cmocka_unit_test(the_exit_code_tells_what_holds),
        cmocka_unit_test(help_is_printed_and_fits_eighty_columns),
        cmocka_unit_test(a_result_tells_its_compiler_and_no_rounds_where_there_are_none),
        cmocka_unit_test(its_own_experiments_run_from_any_folder),
        cmocka_unit_test(a_wrong_share_folder_is_told),
        cmocka_unit_test(no_gnuplot_and_no_home_are_told_or_not_needed),
        cmocka_unit_test(bash_completes_verbs_options_and_names),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
