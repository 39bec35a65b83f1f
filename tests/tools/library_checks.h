#pragma once
/* Checks of the public library's errors, for tests that include nothing else of the project. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "include/layover.h"

static inline void check(LayoverError *error, const char *what, int line) {
    if (!error) return;
    print_error(
        "%d: %s: %s %s\n", line, what, layover_error_code(error), layover_error_message(error));
    layover_error_free(error);
    fail();
}
#define ok(expression) check((expression), #expression, __LINE__)

static inline void check_fails(
    LayoverError *error, const char *code, const char *message, int line) {
    if (!error) {
        print_error("%d: no error\n", line);
        fail();
    }
    if (strcmp(layover_error_code(error), code) != 0 ||
        !strstr(layover_error_message(error), message)) {
        print_error("%d: %s %s\n", line, layover_error_code(error), layover_error_message(error));
        fail();
    }
    layover_error_free(error);
}
#define fails(code, message, expression) check_fails((expression), code, message, __LINE__)
