#pragma once
/* Models of tests imported, compiled and run on the cpu device. */
#include "compiler/ir/ir.h"
#include "kernels/tensor/tensor.h"
#include "tests/compiler/onnx_fixtures.h"
#include "vm/execution/execution.h"

/* Import alone; all of its Errors. */
MUST_CHECK Error *onnx_model_import(OnnxModel *owned_model, IrModule **out);
/* Import or a pass refuses it with that code, saying so in one line. */
#define onnx_model_refused(CODE, message, owned_model)                                             \
    onnx_model_check_refused(owned_model, ERROR_##CODE, message, __FILE__, __LINE__)
void onnx_model_check_refused(
    OnnxModel *owned_model, ErrorCode code, const char *message, const char *file, int line);
/* Runs main: "inputs -> outputs", values separated by ';': tensors, "none" (an optional without a
 * value), "list" and its items with '|' between them. Outputs are compared with six digits.
 */
void onnx_model_expect(OnnxModel *owned_model, const char *signature);
/* It compiles, and its run fails saying so. */
void onnx_model_expect_failure(OnnxModel *owned_model, const char *inputs, const char *message);

Tensor *onnx_tensor_from_text(const char *tensor);

enum { ONNX_ARGUMENTS_MAX = 16 };
/* Reads the values of a signature's left side; returns their number. */
uint32_t onnx_arguments_read(const char *text, size_t size, Value *out_values);
/* Prints a result as a signature's right side has it. */
void onnx_result_print(const Value *result, TextBuilder *out);

/* Runs main of a resident executable and prints its result. */
typedef Error *RunAndPrint(
    Residency *residency, const Value *values, uint32_t count, TextBuilder *out);
/* Makes the executable resident on cpu, reads a signature's inputs, runs, and compares the outputs.
 * For front ends of all languages. */
void executable_expect(Executable *owned_executable, RunAndPrint *run, const char *signature);
/* The run fails, saying so. */
void executable_expect_failure(
    Executable *owned_executable, RunAndPrint *run, const char *inputs, const char *message);
