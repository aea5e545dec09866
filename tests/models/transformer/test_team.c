#include "models/transformer/team.h"

#include "tests/support/support.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNKS = 1000 };

typedef struct {
    atomic_int times[CHUNKS];
    int plain[CHUNKS]; /* written by whoever does the chunk, read by the caller */
} marks;

static void mark(void *job, int chunk)
{
    marks *m = job;
    atomic_fetch_add(&m->times[chunk], 1);
    m->plain[chunk] += chunk + 1;
}

static void expect(marks *m, int n, int times)
{
    for (int i = 0; i < CHUNKS; i++) {
        assert_int_equal(m->times[i], i < n ? times : 0);
        assert_int_equal(m->plain[i], i < n ? times * (i + 1) : 0);
    }
}

static void every_chunk_is_done_once(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 5};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        omp_set_num_threads(sizes[s]);
        spec_team_hold();
        for (int n = 0; n <= CHUNKS; n = n * 3 + 1) {
            marks m = {0};
            for (int job = 0; job < 20; job++) {
                const bool taken = spec_team_take();
                assert_int_equal(taken, sizes[s] > 1);
                for (int again = 0; again < 5; again++) spec_team_run(mark, &m, n, taken);
                if (taken) spec_team_give_back();
            }
            expect(&m, n, 100);
        }
        spec_team_release();
    }
}

static void who_finds_it_taken_works_alone(void **state)
{
    (void)state;
    omp_set_num_threads(2);
    spec_team_hold();
    assert_true(spec_team_take());
    assert_false(spec_team_take());
    marks m = {0};
    spec_team_run(mark, &m, CHUNKS, false);
    expect(&m, CHUNKS, 1);
    spec_team_give_back();
    assert_true(spec_team_take());
    spec_team_give_back();
    spec_team_release();
}

static void a_child_of_a_fork_works_on(void **state)
{
    (void)state;
    omp_set_num_threads(3);
    spec_team_hold();
    marks m = {0};
    bool taken = spec_team_take();
    spec_team_run(mark, &m, CHUNKS, taken);
    spec_team_give_back();
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 3; i++) {
            taken = spec_team_take();
            spec_team_run(mark, &m, CHUNKS, taken);
            if (taken) spec_team_give_back();
        }
        bool right = taken;
        for (int i = 0; i < CHUNKS; i++) right = right && m.times[i] == 4 && m.plain[i] == 4 * (i + 1);
        spec_team_release();
        _exit(right ? 0 : 1);
    }
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code) && WEXITSTATUS(code) == 0);
    spec_team_release();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chunk_is_done_once),
        cmocka_unit_test(who_finds_it_taken_works_alone),
        cmocka_unit_test(a_child_of_a_fork_works_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
