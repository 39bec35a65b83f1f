#pragma once
/* The result of a failing function: a code, a message for people, and the place in the source. NULL
 * means success. Used by every folder. Threads: any; an error belongs to one thread at a time. */
#include "base/own.h"

typedef enum ErrorCode {
    ERROR_NONE = 0,
#define ERROR(name, number, http_status, exit_code, meaning) ERROR_##name = number,
#include "base/errors.def"
#undef ERROR
    ERROR_CODE_COUNT
} ErrorCode;

typedef struct ErrorInfo {
    const char *name; /* the name in errors.def, which --json and HTTP show */
    int http_status;
    int exit_code;
    const char *meaning;
} ErrorInfo;

typedef struct Error Error;

/* Makes an error. Without memory for one, returns a static OUT_OF_MEMORY error. */
MUST_CHECK Error *error_make(ErrorCode code, const char *file, int line, const char *format, ...)
    PRINTF_LIKE(4, 5);
/* Puts "context: " before the message. NULL stays NULL. Consumes the error. */
MUST_CHECK Error *error_wrap(Error *owned_error, const char *format, ...) PRINTF_LIKE(2, 3);
/* Returns the error of a kernel that stopped between two pieces of its work
 * (kernels/device/kernel_stop.h): a static object, which needs no memory and takes no context. */
Error *error_abandoned(void);
/* Changes the error's code. NULL stays NULL. */
MUST_CHECK Error *error_recode(Error *owned_error, ErrorCode code);
/* Copies an error; NULL gives NULL. */
Error *error_copy(const Error *error);
void error_free(Error *error);

/* Returns ERROR_NONE for NULL. */
ErrorCode error_code(const Error *error);
/* Returns "" for NULL; else one line without control characters, which lives as long as the error.
 */
const char *error_message(const Error *error);
/* Returns the place, such as "file.c:12", for logs only. */
const char *error_where(const Error *error);
const ErrorInfo *error_info(ErrorCode code);
/* Finds a code by the name that HTTP and --json show; ERROR_NONE when there is no such code. */
ErrorCode error_find_code(const char *name);

DEFINE_OWN(Error, error_free);

#define FAIL(CODE, ...) return error_make(ERROR_##CODE, __FILE__, __LINE__, __VA_ARGS__)
#define TRY(expression)                                                                            \
    do {                                                                                           \
        Error *try_error_ = (expression);                                                          \
        if (try_error_) return try_error_;                                                         \
    } while (0)
/* TRY with context put before the message. */
#define TRY_WRAP(expression, ...)                                                                  \
    do {                                                                                           \
        Error *try_error_ = (expression);                                                          \
        if (try_error_) return error_wrap(try_error_, __VA_ARGS__);                                \
    } while (0)
