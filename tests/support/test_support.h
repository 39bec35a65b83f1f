#pragma once
/* What every test needs: cmocka, checks of Errors, repeatable random data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "tests/support/test_sanitizers.h"
#include "tests/support/test_random.h"

/* Each file's group: int test_chunk(void), called by test_main.c. The build says whose groups. */
#ifdef TEST_GROUPS
#define GROUP(name) int test_##name(void);
#include TEST_GROUPS
#undef GROUP
#endif

/* Fails the test with the message when there is an error. */
#define assert_ok(expression) test_assert_ok((expression), #expression, __FILE__, __LINE__)
/* Fails the test unless there is an error of that code; frees it. */
#define assert_fails(CODE, expression)                                                             \
    test_assert_fails((expression), ERROR_##CODE, NULL, #expression, __FILE__, __LINE__)
/* The same, and the message must contain text. */
#define assert_fails_saying(CODE, text, expression)                                                \
    test_assert_fails((expression), ERROR_##CODE, (text), #expression, __FILE__, __LINE__)

void test_assert_ok(Error *owned_error, const char *what, const char *file, int line);
void test_assert_fails(Error *owned_error, ErrorCode code, const char *text, const char *what,
    const char *file, int line);

/* A fresh folder for the test's files; test_folder_remove removes it with all that is in it. */
void test_folder_create(char out_path[64]);
void test_folder_remove(const char *path);
