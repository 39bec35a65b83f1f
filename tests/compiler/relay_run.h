#pragma once
/* Relay programs of tests, compiled and run on the cpu device. */
#include "base/error.h"

/* Runs main: "inputs -> outputs" as of onnx_model_expect, straight and with a snapshot behind every
 * instruction (behind every hundredth of long programs). */
void relay_expect(const char *program, const char *signature);
/* The program is refused with that code, saying so. */
#define relay_refused(CODE, message, program)                                                      \
    relay_check_refused(program, ERROR_##CODE, message, __FILE__, __LINE__)
void relay_check_refused(
    const char *program, ErrorCode code, const char *message, const char *file, int line);
/* It compiles, and its run fails saying so. */
void relay_expect_failure(const char *program, const char *inputs, const char *message);
