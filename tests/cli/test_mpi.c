/* SPDX-License-Identifier: GPL-3.0-or-later */
/* speclab-mpi, which is SPECLAB with "-mpi" appended, under mpirun with more ranks than
 * processors. */
#include "tests/support/child.h"
#include "tests/support/support.h"

#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SWEEP "sweep --alpha 0.5:0.9:0.1 --K 1:4"
#define HEAVY "sweep --alpha 0.5,0.7 --K 3 --rounds 1000000000" /* two points of 60 groups */

#define needs_mpi()                                                                                \
    do {                                                                                           \
        spec_needs_program();                                                                      \
        char built[PATH_MAX + 8];                                                                  \
        snprintf(built, sizeof built, "%s-mpi", spec_program);                                     \
        if (access(built, X_OK) != 0 || system("mpirun --version >version.txt 2>&1") != 0) {       \
            printf("skipped: %s: MPI is not installed (Debian: libopenmpi-dev)\n", __func__);      \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

static void command(char *line, size_t size, int ranks, const char *arguments)
{
    snprintf(line, size,
             "exec env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
             "ASAN_OPTIONS=detect_leaks=0 mpirun --oversubscribe -n %d '%s-mpi' %s --threads 1 "
             ">mpi.txt 2>&1",
             ranks, spec_program, arguments);
}

static int run(int ranks, const char *arguments)
{
    char line[PATH_MAX + 512];
    command(line, sizeof line, ranks, arguments);
    const int status = system(line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(any_number_of_ranks_writes_the_same_bytes, SLOW)
{
    static const int ranks[] = {1, 2, 3, 5};
    static const char *const runs[] = {SWEEP " --rounds 20000 -o ",
                                       "run long.cfg --rounds 2000 -o ",
                                       "accept --rule token --n 1:3 -o ",
                                       HEAVY " -o ",
                                       HEAVY " --batches 2/3 -o ",
                                       "prove --rule token,block --cases 200 -o "};
    needs_mpi();
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        char line[256];
        snprintf(line, sizeof line, "%swhole.csv --force", runs[r]);
        spec_program_works(line);
        snprintf(line, sizeof line, "%sranks.csv --force", runs[r]);
        for (size_t i = r > 0; i < sizeof ranks / sizeof *ranks; i++) { /* not a single rank */
            unlink("ranks.csv");
            if (run(ranks[i], line) != 0) fail_msg("%s: %s", line, spec_file_bytes("mpi.txt"));
            spec_files_same("ranks.csv", "whole.csv");
        }
    }
}

TEST(shards_and_ranks_go_together, SLOW)
{
    needs_mpi();
    spec_program_works(SWEEP " --rounds 20000 -o whole.csv --force");
    assert_int_equal(run(3, SWEEP " --rounds 20000 --shard 1/2 -o half1.csv"), 0);
    assert_int_equal(run(2, SWEEP " --rounds 20000 --shard 2/2 -o half2.csv"), 0);
    spec_program_works("merge half1.csv half2.csv -o halves.csv");
    spec_files_same("halves.csv", "whole.csv");
    spec_program_works(HEAVY " -o whole.csv --force"); /* ranks share the groups of a shard, too */
    assert_int_equal(run(3, HEAVY " --shard 1/2 -o half1.csv --force"), 0);
    assert_int_equal(run(4, HEAVY " --shard 2/2 -o half2.csv --force"), 0);
    spec_program_works("merge half1.csv half2.csv -o halves.csv --force");
    spec_files_same("halves.csv", "whole.csv");
}

/* Returns the child of mpirun, a rank, with the lowest or the highest process id; 0: none. */
static pid_t process_of(pid_t mpirun, bool lowest)
{
    pid_t found = 0;
    DIR *all = opendir("/proc");
    for (const struct dirent *entry; all != NULL && (entry = readdir(all)) != NULL;) {
        char path[PATH_MAX], text[256] = "";
        const pid_t process = (pid_t)strtol(entry->d_name, NULL, 10);
        snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
        FILE *in = process > 0 ? fopen(path, "r") : NULL;
        if (in == NULL) continue;
        const char *end = fgets(text, sizeof text, in) != NULL ? strrchr(text, ')') : NULL;
        fclose(in);
        if (end == NULL || strlen(end) < 4 || strtol(end + 4, NULL, 10) != mpirun) continue;
        if (found == 0 || (process < found) == lowest) found = process;
    }
    if (all != NULL) closedir(all);
    return found;
}

/* Kills rank 0, and in another run another rank, when the file has grown. The rows in the file
 * stay, and the run resumes with other numbers of ranks. */
static void check_kills(const char *arguments)
{
    enum { KILLS = 3 };
    char line[PATH_MAX + 512], *before = strdup("");
    int kills = 0;
    off_t largest = 0;
    snprintf(line, sizeof line, "%s -o whole.csv --force", arguments);
    spec_program_works(line);
    unlink("killed.csv");
    for (int round = 0, done = 0; round < 30 && !done; round++) {
        char resumed[256];
        snprintf(resumed, sizeof resumed, "%s --resume -o killed.csv", arguments);
        command(line, sizeof line, 2 + round % 3, resumed);
        const pid_t mpirun = fork();
        assert_true(mpirun >= 0);
        if (mpirun == 0) {
            execl("/bin/sh", "sh", "-c", line, (char *)NULL);
            _exit(127);
        }
        if (round < KILLS) {
            spec_await(spec_file_size("killed.csv") > largest || spec_child_ended(mpirun));
            const pid_t rank = process_of(mpirun, round % 2 == 0);
            if (rank > 0 && kill(rank, SIGKILL) == 0) kills++;
        }
        int status;
        assert_int_equal(waitpid(mpirun, &status, 0), mpirun);
        done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        largest = spec_file_size("killed.csv");
        char *after = access("killed.csv", F_OK) == 0 ? spec_file_bytes("killed.csv") : strdup("");
        char *mark = strstr(before, "\n# interrupted after "); /* --resume removes this line */
        char *last = mark != NULL ? mark : strrchr(before, '\n'); /* whole rows */
        if (last != NULL) assert_int_equal(strncmp(before, after, (size_t)(last - before)), 0);
        free(before);
        before = after;
    }
    free(before);
    assert_true(kills > 1);
    spec_files_same("killed.csv", "whole.csv");
}

/* Ranks share points, the groups of a few points, and groups that are kept one by one. */
TEST(a_killed_rank_loses_no_row, SLOW)
{
    needs_mpi();
    check_kills(SWEEP " --rounds 60000000");
    check_kills("sweep --alpha 0.5:0.8:0.1 --K 3 --rounds 400000000");
    check_kills("sweep --alpha 0.5,0.7 --K 3 --rounds 600000000 --batches 1/1");
}

TEST(a_failure_is_said_once_and_ends_all_ranks, SLOW)
{
    static const struct {
        const char *arguments, *text;
    } wrong[] = {
        {"sweep --alpha 2", "speclab sweep: --alpha: 2 is not within [0, 1]"},
        {"prove --rule token,gumbel?seed=3", "speclab prove: rule 'gumbel?seed=3' emits the one"},
        {"sweep --rounds 10 -o none/x.csv", "speclab sweep: none/x.csv: No such file"},
        {"sweep --rounds 10 --resume", "speclab sweep: --resume needs -o FILE"},
        {"list", "speclab list: it has no grid"},
        {"run one.cfg -d out", "speclab run: --directory needs speclab"},
        {"bogus", "speclab: there is no verb 'bogus'"},
        {"sweep --sums x.csv", "speclab sweep: --sums needs speclab"},
        {"run few.cfg", "speclab run: few.cfg: K=5;cases=300;rule=token;tokens=6: more than"},
        {"prove --rule token --cases 300 --K 5 --tokens 6 --limit 1000",
         "speclab prove: more than 1000 branches"},
    };
    needs_mpi();
    spec_file_write("few.cfg", "measure = \"prove_cases\"; grid = { rule = \"token\"; K = 5; "
                               "tokens = 6; cases = 300; };");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(run(3, wrong[i].arguments), 2);
        char *bytes = spec_file_bytes("mpi.txt"), *at = strstr(bytes, wrong[i].text);
        if (at == NULL) fail_msg("no '%s' in '%s'", wrong[i].text, bytes);
        assert_null(strstr(at + 1, wrong[i].text));
        free(bytes);
    }
}

TEST(a_point_that_is_too_large_is_a_row_of_any_rank)
{
    needs_mpi();
#define LARGE "prove --rule token,match --drafting chain --K 1,4 --limit 1000 -o "
    spec_program_ends(LARGE "whole.csv --force", 3, "");
    assert_int_equal(run(3, LARGE "ranks.csv --force"), 3);
    spec_files_same("whole.csv", "ranks.csv");
    char *bytes = spec_file_bytes("mpi.txt");
    assert_non_null(strstr(bytes, "2 of 4 rows are too large: token (row 2) and match (row 4)"));
    free(bytes);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
