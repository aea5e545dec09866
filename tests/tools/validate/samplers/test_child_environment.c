/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/support.h"
#include "tools/validate/samplers/child_environment.h"

#include <stdbool.h>
#include <unistd.h>

/* Returns whether a child gets the variable, if it is the whole environment. */
static bool is_passed(const char *variable)
{
    char *only[] = {(char *)(uintptr_t)variable, NULL}, **before = environ, names[64];
    environ = only;
    char **passed = spec_child_environment(NULL);
    const size_t withheld = spec_child_environment_withheld(names, sizeof names, NULL);
    environ = before;
    assert_non_null(passed);
    const bool is = passed[0] != NULL;
    assert_int_equal(withheld, !is);
    free(passed);
    return is;
}

TEST(names_that_look_like_secrets_stay_behind)
{
    static const char *const secret[] = {
        "OPENAI_API_KEY=x",
        "HF_TOKEN=x",
        "AWS_SECRET_ACCESS_KEY=x",
        "PGPASSWORD=x",
        "db_password=x",
        "GPG_PASSPHRASE=x",
        "MYSQL_PASSWD=x",
        "OPENAI_APIKEY=x",
        "AWS_CREDENTIALS=x",
        "NPM_AUTHTOKEN=x",
        "TOKEN=x",
        "SSH_KEYS=x",
        "ALL_TOKENS=abc",
        "Api_Key2=x",
        "KEY=",
        "A_TOKEN1_B=x",
        "CLIENT_SECRET=x",
        "MY_SECRETS=x",
        "TOKENS=8192,x",
        "HF_TOKEN=8192",
        "MYSQL_PWD=x",
        "MY_PASS=x",
        "SMTP_PASS_2=x",
        "DATABASE_URL=postgres://me:secret@host:5432/db",
        "http_proxy=http://me:secret@proxy",
        "TWO=http://a/ redis://:secret@host",
    };
    static const char *const open[] = {
        "TOKENIZERS_PARALLELISM=false",
        "KEYBOARD=us",
        "VLLM_MAX_TOKENS=8192",
        "VLLM_ATTENTION_BACKEND=XYZ",
        "HIP_VISIBLE_DEVICES=0",
        "SGLANG_DETOKENIZE=1",
        "MONKEY=1",
        "LD_PRELOAD=x.so",
        "VALUE_ONLY=SECRET_TOKEN=KEY",
        "MAX_TOKENS_PER_EXPERT=1",
        "XKEYSYMDB=x",
        "odd",
        "PWD=/home/me",
        "OLDPWD=/home/me",
        "COMPASS=x",
        "BYPASS_CACHE=1",
        "http_proxy=http://proxy:3128",
        "URL=http://host:80/a@b",
        "GIT_URL=ssh://git@host:22/x",
        "MAIL=me:you@host",
    };
    for (size_t i = 0; i < sizeof secret / sizeof *secret; i++)
        if (is_passed(secret[i])) fail_msg("%s is passed", secret[i]);
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (!is_passed(open[i])) fail_msg("%s is not passed", open[i]);
}

TEST(names_are_counted_beyond_those_that_fit)
{
    char *many[] = {(char[]){"A_KEY=1"}, (char[]){"PLAIN=1"}, (char[]){"B_KEY=1"},
                    (char[]){"C_KEY=1"}, NULL},
         **before = environ, names[13];
    static const char *const more[] = {"B_KEY", NULL};
    environ = many;
    const size_t all = spec_child_environment_withheld(names, sizeof names, NULL);
    assert_string_equal(names, "A_KEY, B_KEY");
    assert_int_equal(all, 3);
    const size_t fewer = spec_child_environment_withheld(names, sizeof names, more);
    environ = before;
    assert_string_equal(names, "A_KEY, C_KEY");
    assert_int_equal(fewer, 2);
}
