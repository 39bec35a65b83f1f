#pragma once
/* What a failing function returns: a code, a message for people, and where it was made. NULL means
 * it worked. */
#include "base/own.h"

typedef enum ErrorCode {
    ERROR_NONE = 0,
#define ERROR(name, number, http_status, exit_code, meaning) ERROR_##name = number,
#include "base/errors.def"
#undef ERROR
    ERROR_CODE_COUNT
} ErrorCode;

typedef struct ErrorInfo {
    const char *name; /* as in errors.def; what --json and HTTP show */
    int http_status;
    int exit_code;
    const char *meaning;
} ErrorInfo;

typedef struct Error Error;

/* Makes an error. When there is no memory for one, answers a static OUT_OF_MEMORY error. */
MUST_CHECK Error *error_make(ErrorCode code, const char *file, int line, const char *format, ...)
    PRINTF_LIKE(4, 5);
/* Puts "context: " before the message. NULL stays NULL. Consumes the error. */
MUST_CHECK Error *error_wrap(Error *owned_error, const char *format, ...) PRINTF_LIKE(2, 3);
/* Says that a kernel stopped between two pieces of its work (kernels/device/kernel_stop.h). A
 * static object: whoever gives it neither needs memory nor adds context. */
Error *error_abandoned(void);
/* The same error under another code. NULL stays NULL. */
MUST_CHECK Error *error_recode(Error *owned_error, ErrorCode code);
/* Another one that says the same; NULL of NULL. */
Error *error_copy(const Error *error);
void error_free(Error *error);

/* ERROR_NONE for NULL. */
ErrorCode error_code(const Error *error);
/* "" for NULL; one line, without control characters. Lives as long as the error. */
const char *error_message(const Error *error);
/* "file.c:12", for logs only. */
const char *error_where(const Error *error);
const ErrorInfo *error_info(ErrorCode code);
/* By its name, as HTTP and --json show it; ERROR_NONE when there is no such code. */
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
