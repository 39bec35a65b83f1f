#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ERROR_MESSAGE_MAX = 1024 };

struct Error {
    ErrorCode code;
    /* the error is a static object; a plugin has its own static errors, apart from its host's */
    bool fixed;
    char where[48];
    char message[ERROR_MESSAGE_MAX];
};

static Error out_of_memory = {ERROR_OUT_OF_MEMORY, true, "", "out of memory"};
static Error abandoned = {ERROR_ABANDONED, true, "", "abandoned"};

static const ErrorInfo infos[ERROR_CODE_COUNT] = {
    [ERROR_NONE] = {"NONE", 200, 0, "it worked"},
#define ERROR(name, number, http_status, exit_code, meaning)                                       \
    [number] = {#name, http_status, exit_code, meaning},
#include "base/errors.def"
#undef ERROR
};

/* Replaces control characters: messages quote names from untrusted files, and a terminal would obey
 * them. */
static void neutralize(char *message) {
    for (unsigned char *c = (unsigned char *)message; *c; c++) {
        if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) /* U+0080 … U+009F control, too */
            c[0] = c[1] = '?';
        if (*c < 0x20 || *c == 0x7f) *c = '?';
    }
}

Error *error_make(ErrorCode code, const char *file, int line, const char *format, ...) {
    Error *error = malloc(sizeof *error);
    if (!error) return &out_of_memory;
    error->code = code;
    error->fixed = false;
    const char *slash = strrchr(file, '/');
    (void)snprintf(error->where, sizeof error->where, "%s:%d", slash ? slash + 1 : file, line);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    neutralize(error->message);
    return error;
}

Error *error_wrap(Error *owned_error, const char *format, ...) {
    if (!owned_error || owned_error->fixed) return owned_error;
    char message[ERROR_MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof message) return owned_error;
    (void)snprintf(message + length, sizeof message - (size_t)length, ": %s", owned_error->message);
    neutralize(message);
    memcpy(owned_error->message, message, sizeof message);
    return owned_error;
}

Error *error_recode(Error *owned_error, ErrorCode code) {
    if (owned_error && !owned_error->fixed) owned_error->code = code;
    return owned_error;
}

Error *error_copy(const Error *error) {
    if (!error) return NULL;
    if (error->fixed) return error->code == ERROR_ABANDONED ? &abandoned : &out_of_memory;
    Error *copy = malloc(sizeof *copy);
    if (!copy) return &out_of_memory;
    *copy = *error;
    return copy;
}

Error *error_abandoned(void) { return &abandoned; }

void error_free(Error *error) {
    if (error && !error->fixed) free(error);
}

ErrorCode error_code(const Error *error) { return error ? error->code : ERROR_NONE; }
const char *error_message(const Error *error) { return error ? error->message : ""; }
const char *error_where(const Error *error) { return error ? error->where : ""; }

const ErrorInfo *error_info(ErrorCode code) {
    bool known = (int)code >= 0 && code < ERROR_CODE_COUNT && infos[code].name;
    return &infos[known ? code : ERROR_INTERNAL];
}

ErrorCode error_find_code(const char *name) {
    for (ErrorCode code = 1; code < ERROR_CODE_COUNT; code++)
        if (infos[code].name && strcmp(infos[code].name, name) == 0) return code;
    return ERROR_NONE;
}
