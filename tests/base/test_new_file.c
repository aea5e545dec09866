#include "base/new_file.h"

#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void expect(const char *path, const char *text)
{
    char bytes[64] = "";
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_int_equal(fread(bytes, 1, sizeof bytes - 1, in), strlen(text));
    assert_string_equal(bytes, text);
    fclose(in);
}

static void what_has_the_name_stays_until_the_new_one_is_whole(void **state)
{
    (void)state;
    spec_new_file file;
    for (int round = 0; round < 2; round++) {
        assert_int_equal(spec_new_file_open(&file, "a", NULL), GSL_SUCCESS);
        fprintf(file.out, "round %d", round);
        assert_int_equal(fflush(file.out), 0);
        assert_int_equal(access(file.partial, F_OK), 0);
        if (round == 0) assert_int_equal(access("a", F_OK), -1);
        else expect("a", "round 0");
        assert_int_equal(spec_new_file_close(&file, NULL), GSL_SUCCESS);
        assert_int_equal(access(file.partial, F_OK), -1);
        spec_new_file_free(&file);
        expect("a", round == 0 ? "round 0" : "round 1");
    }
}

static void a_file_that_is_given_up_leaves_nothing(void **state)
{
    (void)state;
    spec_new_file file = {0};
    spec_new_file_free(&file);
    assert_int_equal(spec_new_file_open(&file, "b", NULL), GSL_SUCCESS);
    char *partial = strdup(file.partial);
    fputs("half", file.out);
    spec_new_file_free(&file);
    assert_int_equal(access(partial, F_OK), -1);
    assert_int_equal(access("b", F_OK), -1);
    assert_null(file.out);
    free(partial);
}

static void what_cannot_be_is_told(void **state)
{
    (void)state;
    spec_new_file file;
    spec_error error = {""};
    assert_int_equal(spec_new_file_open(&file, "/dev/null", &error), GSL_EINVAL);
    assert_string_equal(error.text, "/dev/null: is there, and is not a regular file");
    assert_int_equal(spec_new_file_open(&file, "none/a", &error), GSL_EFAILED);
    assert_string_equal(error.text, "none/a: No such file or directory");
    assert_true(file.out == NULL && file.path == NULL && file.partial == NULL);

    /* The name is taken by a folder in the meantime. */
    assert_int_equal(spec_new_file_open(&file, "c", &error), GSL_SUCCESS);
    char *partial = strdup(file.partial);
    assert_int_equal(mkdir("c", 0700), 0);
    assert_int_equal(spec_new_file_close(&file, &error), GSL_EFAILED);
    assert_string_equal(error.text, "c: Is a directory");
    spec_new_file_free(&file);
    assert_int_equal(access(partial, F_OK), -1);
    free(partial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_the_name_stays_until_the_new_one_is_whole),
        cmocka_unit_test(a_file_that_is_given_up_leaves_nothing),
        cmocka_unit_test(what_cannot_be_is_told),
    };
    return cmocka_run_group_tests(tests, spec_folder_enter, spec_folder_leave);
}
