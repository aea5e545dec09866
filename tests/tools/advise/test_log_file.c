/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/log_file.h"

#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/advise/log_format.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- Formats of the test ---------------------------------------------------------------------
 * A word, then a number of drafted tokens: "alpha 5" is an observation, "alpha wait 5" one when the
 * next line or the end comes, "alpha note" none. "alpha bad" has not the form, and "alpha never" is
 * of a source that cannot answer. */

typedef struct {
    int waiting;
} alpha_state;

static int give(const spec_log_record *record, double drafted, spec_error *error)
{
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_WINDOW, record->line);
    o.drafted = drafted;
    o.K = record->K;
    return record->observer->take(record->observer->self, &o, error);
}

static int alpha_end(void *state, spec_log_learned *learned, const spec_log_record *last,
                     spec_error *error)
{
    alpha_state *s = state;
    const int waiting = s->waiting;
    s->waiting = 0;
    learned->gaps = SPEC_LOG_NO_TIMES;
    return waiting > 0 ? give(last, waiting, error) : GSL_SUCCESS;
}

static int word_read(const char *word, void *state, spec_log_learned *learned,
                     const spec_log_record *record, spec_error *error)
{
    const char *at = spec_log_find(record->bytes, record->n, word) + strlen(word);
    int drafted;
    learned->generation = 1;
    if (strncmp(at, " bad", 4) == 0) return spec_log_bad(record, error, "the number is bad");
    if (strncmp(at, " never", 6) == 0) return spec_fail(error, GSL_EUNSUP, "no answer");
    if (strncmp(at, " note", 5) == 0) return GSL_SUCCESS;
    if (sscanf(at, " wait %d", &drafted) == 1) {
        ((alpha_state *)state)->waiting = drafted;
        return GSL_SUCCESS;
    }
    if (sscanf(at, " %d", &drafted) != 1) return spec_log_bad(record, error, "there is no number");
    return give(record, drafted, error);
}

static bool alpha_concerns(const char *bytes, size_t n)
{
    return spec_log_find(bytes, n, "alpha") != NULL;
}

static int alpha_read(void *state, spec_log_learned *learned, const spec_log_record *record,
                      spec_error *error)
{
    const int status = alpha_end(state, learned, record, error);
    return status != GSL_SUCCESS ? status : word_read("alpha", state, learned, record, error);
}

static bool beta_concerns(const char *bytes, size_t n)
{
    return spec_log_find(bytes, n, "beta") != NULL;
}

static int beta_read(void *state, spec_log_learned *learned, const spec_log_record *record,
                     spec_error *error)
{
    return word_read("beta", state, learned, record, error);
}

static bool delta_concerns(const char *bytes, size_t n)
{
    return spec_log_find(bytes, n, "delta") != NULL;
}

static int delta_read(void *state, spec_log_learned *learned, const spec_log_record *record,
                      spec_error *error)
{
    return word_read("delta", state, learned, record, error);
}

static const char *const generations[] = {"old", "new", NULL};
static const spec_log_format alpha = {.name = "alpha-log",
                                      .engine = "alpha",
                                      .generations = generations,
                                      .concerns = alpha_concerns,
                                      .needles = (const char *const[]){"alpha", NULL},
                                      .state_size = sizeof(alpha_state),
                                      .read = alpha_read,
                                      .end = alpha_end};
static const spec_log_format beta = {.name = "beta-log",
                                     .engine = "beta",
                                     .generations = generations,
                                     .concerns = beta_concerns,
                                     .state_size = sizeof(alpha_state),
                                     .read = beta_read};
static const spec_log_format delta = {.name = "alpha-metrics",
                                      .engine = "alpha",
                                      .generations = generations,
                                      .concerns = delta_concerns,
                                      .needles = (const char *const[]){"delta", NULL},
                                      .state_size = sizeof(alpha_state),
                                      .read = delta_read};
static const spec_log_format *const table[] = {&alpha, &beta, &delta, NULL};
static const spec_log_format *const with_needles[] = {&alpha, &delta, NULL};

enum { DAMAGES = 60 }; /* of each seed */

/* ---- Reading -------------------------------------------------------------------------------- */

static char seen[400]; /* "line:drafted line:drafted" */
static int fail_at;

static int note(void *self, const spec_observation *o, spec_error *error)
{
    const size_t used = strlen(seen);
    (void)self;
    if (o->drafted == fail_at) return spec_fail(error, GSL_EINVAL, "the observer fails");
    snprintf(seen + used, sizeof seen - used, "%s%llu:%g", used > 0 ? " " : "",
             (unsigned long long)o->line, o->drafted);
    return GSL_SUCCESS;
}

static int pass(void *self, const spec_observation *o, spec_error *ret_error)
{
    (void)self;
    (void)o;
    (void)ret_error;
    return GSL_SUCCESS;
}

static const spec_observer observer = {note, NULL};
static spec_log_options options;
static spec_log_summary summary;
static spec_error error;

static int begin(void **state)
{
    (void)state;
    options = (spec_log_options){.K = -1, .opt_table = table};
    fail_at = -1;
    return 0;
}

static void put(const char *text)
{
    spec_file_write("log", text);
}

static int read_text(const char *text)
{
    put(text);
    seen[0] = error.text[0] = '\0';
    return spec_log_file_read(&summary, "log", &options, &observer, &error);
}

static void reads(const char *text, const spec_log_format *format, const char *observations)
{
    if (read_text(text) != GSL_SUCCESS) fail_msg("%s", error.text);
    assert_ptr_equal(summary.format, format);
    assert_string_equal(seen, observations);
    assert_int_equal(summary.bytes, strlen(text));
}

static void fails(const char *text, int status, const char *line)
{
    assert_int_equal(read_text(text), status);
    assert_string_equal(error.text, line);
    assert_true(summary.format == NULL && summary.bytes == 0 && summary.observations == 0);
}

TEST(the_format_is_that_of_the_first_observation)
{
    reads("x\nalpha 5\ny\n\nalpha 6\n", &alpha, "2:5 5:6");
    assert_int_equal(summary.records, 2);
    assert_int_equal(summary.observations, 2);
    assert_int_equal(summary.learned.generation, 1);
    assert_int_equal(summary.learned.gaps, SPEC_LOG_NO_TIMES);
    assert_false(summary.cut);
    reads("beta 5\n", &beta, "1:5");
    reads("alpha 5 beta 6\n", &alpha, "1:5");                 /* the first format of the table */
    reads("alpha note\nbeta note\nalpha note\n", &alpha, ""); /* understood, without numbers */
    reads("x\nx\n", NULL, "");
    assert_int_equal(summary.learned.generation, -1);
    reads("", NULL, "");
    reads("beta note\nalpha 5\n", &alpha, "2:5"); /* another program's word */
    assert_int_equal(summary.records, 1);
    reads("{\"message\": \"alpha 5\"}\n{\n\"message\": \"alpha 6\"\n}\nalpha 7\n", &alpha,
          "1:5 2:6 5:7");
    reads("\x1b[1mal\x1b[0mpha 5\n", &alpha, "1:5");
}

TEST(formats_with_needles_alone_read_the_same)
{
    options.opt_table = with_needles;
    reads("x\nalpha 5\ny\n\nalpha 6\n", &alpha, "2:5 5:6");
    reads("beta 5\n", NULL, "");
    assert_string_equal(summary.nearest, "alpha-metrics ('delta'), alpha-log ('alpha')");
    reads("ALPh 5\n", NULL, "");
    assert_string_equal(summary.nearest, "alpha-log ('alpha'), alpha-metrics ('delta')");
    reads("DELt 5\n", NULL, "");
    assert_string_equal(summary.nearest, "alpha-metrics ('delta'), alpha-log ('alpha')");
    reads("delta 5\nx\n", &delta, "1:5");
    reads("delta 5\nx\nalpha 5\n", &delta, "1:5");
    assert_ptr_equal(summary.other, &alpha);
}

TEST(records_wait_until_the_file_ends)
{
    reads("alpha wait 5\nx\nalpha note\nx\n", &alpha, "3:5");
    reads("alpha wait 5\nx\n", &alpha, "2:5");
    assert_int_equal(summary.observations, 1);
    /* the lines held back do not belong to the file's format, and are counted */
    reads("x\nalpha wait 5\nbeta 6\n", &beta, "3:6");
    assert_ptr_equal(summary.other, &alpha);
    assert_int_equal(summary.other_line, 2);
    assert_int_equal(summary.observations, 1);
}

TEST(records_of_a_second_format_are_passed_over_and_counted)
{
    reads("alpha 5\nx\nbeta 6\nbeta 7\ndelta 8\n", &alpha, "1:5");
    assert_ptr_equal(summary.other, &beta);
    assert_int_equal(summary.other_line, 3);
    assert_int_equal(summary.other_records, 2);
    reads("x\ndelta 5\nx\nalpha 6\n", &delta, "2:5");
    assert_ptr_equal(summary.other, &alpha);
    assert_int_equal(summary.other_line, 4);
    reads("alpha 5\nx\n", &alpha, "1:5");
    assert_null(summary.other);
    options.opt_format = "alpha-log";
    reads("alpha 5\nx\nbeta 6\ndelta 5\n", &alpha, "1:5");
    options.opt_format = "alpha";
    reads("alpha 5\nx\nbeta 6\n", &alpha, "1:5");
    reads("delta 5\nx\nbeta 6\n", &delta, "1:5");
    options.opt_format = "beta";
    reads("delta 5\nx\nbeta 6\n", &beta, "3:6");
}

TEST(unknown_names_are_refused_with_the_known_ones)
{
    options.opt_format = "alpha-lgo";
    fails("alpha 5\n", GSL_EINVAL,
          "no engine or format of logs is named 'alpha-lgo'; did you mean 'alpha-log'?");
    options.opt_format = "beat";
    fails("alpha 5\n", GSL_EINVAL,
          "no engine or format of logs is named 'beat'; did you mean 'beta'?");
    options.opt_format = "x";
    fails("alpha 5\n", GSL_EINVAL,
          "no engine or format of logs is named 'x'; 'speclab list logs' lists them");
}

static int keep_time(void *self, const spec_observation *o, spec_error *unused)
{
    double *time = self;
    (void)unused;
    time[(int)o->emitted / 10 - 1] = o->time;
    return GSL_SUCCESS;
}

/* Metrics of any engine: the time stamp counts for the records below it. */
TEST(comments_give_times_to_the_records_below)
{
    double time[2] = {0.0, 0.0};
    const spec_observer keep = {keep_time, time};
    options.opt_table = NULL;
    put("# time 1732690000\nvllm:generation_tokens_total 10\n"
        "# time 1732690007.5\nvllm:generation_tokens_total 20\n");
    assert_int_equal(spec_log_file_read(&summary, "log", &options, &keep, &error), GSL_SUCCESS);
    assert_same(time[0], 1732690000);
    assert_same(time[1], 1732690007.5);
    fails("# time 12:30\nsglang:generation_tokens_total 10\n", GSL_EINVAL,
          "log:2: the comment '# time' above this line has no seconds since 1970; write one with: "
          "echo \"# time $(date +%s)\"");
}

TEST(errors_name_file_and_line)
{
    fails("x\nalpha bad\n", GSL_EINVAL, "log:2: the number is bad");
    fails("x\nalpha\n", GSL_EINVAL, "log:2: there is no number");
    fails("alpha never\n", GSL_EUNSUP, "no answer");
    fail_at = 7;
    fails("alpha 5\nalpha 7\n", GSL_EINVAL, "log:2: the observer fails");
    fails("alpha 5\nalpha 7", GSL_EINVAL, "log:2: the observer fails");
    fails("alpha wait 7\n", GSL_EINVAL, "log:1: the observer fails");
    assert_int_equal(spec_log_file_read(&summary, "none", &options, &observer, &error),
                     GSL_EFAILED);
    assert_string_equal(error.text, "none: No such file or directory");
    assert_int_equal(spec_log_file_read(&summary, "/", &options, &observer, &error), GSL_EFAILED);
    assert_string_equal(error.text, "/: Is a directory");
}

TEST(a_log_that_is_being_written_may_be_cut)
{
    reads("alpha 5\nalpha 6", &alpha, "1:5 2:6");
    assert_false(summary.cut);
    reads("alpha 5\nalpha bad", &alpha, "1:5");
    assert_true(summary.cut);
    assert_string_equal(error.text, "");
    reads("alpha wait 5\nalp", &alpha, "2:5");
    assert_false(summary.cut);
    fails("alpha 5\nalpha bad\n", GSL_EINVAL,
          "log:2: the number is bad (1 of 2 records cannot be read)");
    fails("alpha 5\nalpha never", GSL_EUNSUP, "no answer");
}

/* For example, lines of two processes joined into one. */
TEST(one_record_in_a_hundred_may_be_unreadable)
{
    enum { NOTES = 197, SIZE = 20 * NOTES };
    char notes[SIZE] = "", text[SIZE + 100];
    for (int i = 0; i < NOTES; i++) strcat(notes, "alpha note\n");
    snprintf(text, sizeof text, "alpha\nalpha 5\n%salpha bad\n", notes);
    reads(text, &alpha, "2:5");
    assert_int_equal(summary.records, 200);
    assert_int_equal(summary.unreadable, 2);
    assert_string_equal(summary.fault.text, "log:1: there is no number");
    assert_string_equal(error.text, "");
    snprintf(text, sizeof text, "alpha\n%salpha bad\n", notes);
    fails(text, GSL_EINVAL, "log:1: there is no number (2 of 199 records cannot be read)");
    snprintf(text, sizeof text, "alpha\n%salpha bad", notes); /* being written */
    reads(text, &alpha, "");
    assert_int_equal(summary.unreadable, 1);
    assert_true(summary.cut);
    snprintf(text, sizeof text, "alpha 5\n%salpha 7\n", notes);
    fail_at = 7;
    fails(text, GSL_EINVAL, "log:199: the observer fails");
    fail_at = 0;
}

static int read_bytes(const char *bytes, size_t n)
{
    FILE *file = fopen("log", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    seen[0] = error.text[0] = '\0';
    return spec_log_file_read(&summary, "log", &options, &observer, &error);
}

/* One line of a hundred may have NUL bytes, whatever else is in it. */
TEST(damaged_lines_are_left_out_and_named)
{
    char text[2000] = "alpha 5\nalpha 6Xjunk\n";
    const size_t damaged = strlen("alpha 5\nalpha 6");
    for (int i = 0; i < 98; i++) strcat(text, "alpha note\n");
    const size_t n = strlen(text);
    text[damaged] = '\0';
    assert_int_equal(read_bytes(text, n), GSL_SUCCESS);
    assert_string_equal(seen, "1:5");
    assert_int_equal(summary.unreadable, 1);
    assert_string_equal(summary.fault.text,
                        "log:2: byte 16 of the file is NUL: the line is damaged");
    assert_int_equal(read_bytes(text, 90), GSL_EINVAL);
    assert_string_equal(error.text, "log:2: byte 16 of the file is NUL: the line is damaged (1 of "
                                    "9 lines)");
    text[3] = '\0';
    assert_int_equal(read_bytes(text, n), GSL_EINVAL);
    assert_string_equal(error.text, "log:1: byte 4 of the file is NUL: the line is damaged, and "
                                    "others: it is not a text file");
}

/* As gzip compresses it. */
TEST(a_compressed_log_is_read)
{
    assert_int_equal(system("printf 'alpha 5\\nalpha 6\\n' | gzip > log"), 0);
    seen[0] = '\0';
    assert_int_equal(spec_log_file_read(&summary, "log", &options, &observer, &error), GSL_SUCCESS);
    assert_string_equal(seen, "1:5 2:6");
}

TEST(reading_stops_where_asked)
{
    static const volatile int stop = 1;
    options.opt_stop = &stop;
    fails("alpha 5\n", GSL_EFAILED, "log: stopped");
}

TEST(standard_input_and_pipes_are_read)
{
    static const char text[] = "x\nalpha bad\n";
    int ends[2];
    const int before = dup(STDIN_FILENO);
    for (int times = 0; times < 2; times++) {
        char path[32];
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], text, sizeof text - 1), sizeof text - 1);
        close(ends[1]);
        snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
        if (times == 0) assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
        assert_int_equal(
            spec_log_file_read(&summary, times == 0 ? "-" : path, &options, &observer, &error),
            GSL_EINVAL);
        char expected[100];
        snprintf(expected, sizeof expected, "%s:2: the number is bad",
                 times == 0 ? "standard input" : path);
        assert_string_equal(error.text, expected);
        assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0); /* standard input is not closed */
        close(ends[0]);
    }
    assert_int_equal(dup2(before, STDIN_FILENO), STDIN_FILENO);
    close(before);
}

/* The program's own table is refused, whatever is in it. */
TEST(the_table_of_the_program_is_sound)
{
    options.opt_table = NULL;
    reads("nothing of any engine\n", NULL, "");
    for (int i = 0; spec_log_formats[i] != NULL; i++) {
        const spec_log_format *f = spec_log_formats[i];
        assert_true(f->name[0] != '\0' && f->engine[0] != '\0' && f->summary[0] != '\0');
        assert_non_null(f->generations);
        if (f->needles == NULL) fail_msg("%s has no needles: all files are read slowly", f->name);
        for (int k = 0; k < i; k++) assert_string_not_equal(f->name, spec_log_formats[k]->name);
        options.opt_format = f->engine;
        reads("nothing of any engine\n", NULL, "");
    }
}

/* Each format's reader is reached by one of the fuzzer's seed files; TGI's refuses all. */
TEST(every_format_has_a_seed)
{
    const spec_log_options by_content = {.K = 3};
    const spec_observer any = {pass, NULL};
    static const struct {
        const char *text;
        const spec_log_format *format;
    } refused[] = {{"TGI", &spec_reader_prometheus_tgi},
                   {"avg_spec_accept_length", &spec_reader_sglang_server_info},
                   {"SPEED-Bench report", &spec_reader_speed_bench_report}};
    char folder[PATH_MAX + 32], path[PATH_MAX + 300];
    bool reached[64] = {false};
    struct dirent *entry;
    snprintf(folder, sizeof folder, "%s/tests/fuzz/seeds/advice", spec_folder_before);
    DIR *seeds = opendir(folder);
    assert_non_null(seeds);
    while ((entry = readdir(seeds)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        const int status = spec_log_file_read(&summary, path, &by_content, &any, &error);
        const spec_log_format *format = summary.format;
        if (status == GSL_EUNSUP) { /* some files cannot answer, and their errors name the format */
            for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
                if (strstr(error.text, refused[i].text) != NULL) format = refused[i].format;
            if (format == NULL) fail_msg("%s: %s", entry->d_name, error.text);
        } else if (status != GSL_SUCCESS || summary.observations == 0) {
            fail_msg("%s: %s", entry->d_name, error.text);
        }
        for (int i = 0; spec_log_formats[i] != NULL; i++)
            reached[i] |= spec_log_formats[i] == format;
    }
    closedir(seeds);
    for (int i = 0; spec_log_formats[i] != NULL; i++)
        if (!reached[i]) fail_msg("tests/fuzz/seeds/advice: no %s", spec_log_formats[i]->name);
}

/* Lines of every format with bytes changed, lines cut, repeated and mixed: read or refused, with
 * one line that names the file. The sanitizers see what it touches. */
TEST(damaged_files_of_every_format_are_read_or_refused)
{
    static const spec_log_options by_content = {.K = 3};
    static const char changes[] = " 0123456789.,-:=()[]{}'\"%\n\0nan";
    const spec_observer any = {pass, NULL};
    uint64_t random = spec_test_seed();
    char folder[PATH_MAX + 32], path[PATH_MAX + 300];
    struct dirent *entry;
    snprintf(folder, sizeof folder, "%s/tests/fuzz/seeds/advice", spec_folder_before);
    DIR *seeds = opendir(folder);
    assert_non_null(seeds);
    while ((entry = readdir(seeds)) != NULL) {
        static char text[1 << 17], damaged[1 << 17];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        const size_t n = fread(text, 1, sizeof text, file);
        fclose(file);
        for (int i = 0; i < DAMAGES; i++) {
            const int fd = memfd_create("log", 0);
            size_t kept = n;
            memcpy(damaged, text, n);
            for (int k = 0; k < 6; k++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                const size_t at = (random >> 20) % n, other = (random >> 40) % n;
                const size_t most = n - (at > other ? at : other);
                if ((random >> 60) % 4 == 0)
                    memmove(damaged + at, damaged + other, most < 40 ? most : 40);
                else if ((random >> 58) == 1)
                    kept = at + 1;
                else
                    damaged[at] = changes[(random >> 8) % (sizeof changes - 1)];
            }
            assert_int_equal(write(fd, damaged, kept), kept);
            snprintf(path, sizeof path, "/dev/fd/%d", fd);
            error.text[0] = '\0';
            const int status = spec_log_file_read(&summary, path, &by_content, &any, &error);
            if (status != GSL_SUCCESS) assert_int_equal(strncmp(error.text, "/dev/fd/", 8), 0);
            assert_null(strchr(error.text, '\n'));
            close(fd);
        }
    }
    closedir(seeds);
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave, .before_each = begin);
