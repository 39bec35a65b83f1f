#pragma once
/* clang-format off */
/* liblayover: load models, run them, stop them between any two instructions, and go on later or
 * elsewhere.
 *
 * Tensors cross this border as DLPack's managed tensors in host memory. Handles are opaque and
 * owned by who made them. Threads: a model may be used by many at once; an execution by one at a
 * time (but for layover_execution_request_suspend).
 *
 *   LayoverModel *model; LayoverExecution *execution; LayoverState state;
 *   DLManagedTensor *inputs[1] = {...}, *output;
 *   LayoverError *error = layover_model_open("resnet.lvx", "cpu", &model);
 *   if (!error) error = layover_execution_start(model, "main", inputs, 1, &execution);
 *   if (!error) error = layover_execution_run(execution, 0, &state);
 *   if (!error) error = layover_execution_output(execution, 0, &output);
 */
/* clang-format on */
#include <stddef.h>
#include <stdint.h>

#include <dlpack/dlpack.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LAYOVER_API __attribute__((visibility("default")))
#define LAYOVER_VERSION "0.1.0"

/* "0.1.0" */
LAYOVER_API const char *layover_version(void);

/* NULL means it worked. Free every other one. */
typedef struct LayoverError LayoverError;
LAYOVER_API const char *layover_error_message(const LayoverError *error);
/* "CORRUPT", "INVALID" ...: the names that the command line and HTTP use. */
LAYOVER_API const char *layover_error_code(const LayoverError *error);
LAYOVER_API void layover_error_free(LayoverError *error);

/* A model resident on a device. */
typedef struct LayoverModel LayoverModel;
/* path: an executable (.lvx). device: "cpu", "sim:0", "sim:0,memory=64MiB". */
LAYOVER_API LayoverError *layover_model_open(
    const char *path, const char *device, LayoverModel **out_model);
/* Executions keep what they need of it. */
LAYOVER_API void layover_model_close(LayoverModel *model);
/* Counts of a function's inputs and outputs; their names, borrowed from the model ("" where they
 * have none). */
LAYOVER_API LayoverError *layover_model_function(const LayoverModel *model, const char *function,
    uint32_t *out_input_count, uint32_t *out_output_count);
LAYOVER_API const char *layover_model_input_name(
    const LayoverModel *model, const char *function, uint32_t index);
LAYOVER_API const char *layover_model_output_name(
    const LayoverModel *model, const char *function, uint32_t index);

typedef enum LayoverState {
    LAYOVER_FINISHED = 0,
    LAYOVER_SUSPENDED = 1,
} LayoverState;

typedef struct LayoverExecution LayoverExecution;
/* Starts a function on inputs in its order. The tensors are consumed (their deleters called when no
 * longer needed), also on failure. */
LAYOVER_API LayoverError *layover_execution_start(LayoverModel *model, const char *function,
    DLManagedTensor **owned_inputs, uint32_t input_count, LayoverExecution **out_execution);
LAYOVER_API void layover_execution_free(LayoverExecution *execution);
/* Threads that a kernel may use, 1 unless set; never changes the bits. */
LAYOVER_API void layover_model_set_threads(LayoverModel *model, uint32_t threads);
/* Runs to the end, or until so many instructions are done (0: no limit) or a suspension is
 * requested. */
LAYOVER_API LayoverError *layover_execution_run(
    LayoverExecution *execution, uint64_t instructions, LayoverState *out_state);
/* Any thread, and signal handlers: stops the execution at its next safepoint. */
LAYOVER_API void layover_execution_request_suspend(LayoverExecution *execution);
/* Output index of a finished execution; call its deleter when done. */
LAYOVER_API LayoverError *layover_execution_output(
    LayoverExecution *execution, uint32_t index, DLManagedTensor **out_tensor);
/* Writes a checkpoint (.lvc), atomically and durably. */
LAYOVER_API LayoverError *layover_execution_checkpoint(
    LayoverExecution *execution, const char *path);
/* Goes on from a checkpoint, on whatever device the model is. */
LAYOVER_API LayoverError *layover_execution_resume(
    LayoverModel *model, const char *path, LayoverExecution **out_execution);

/* ---- Packed functions: host functions that bytecode calls by name. ---- */

typedef enum LayoverKind {
    LAYOVER_NIL = 0,
    LAYOVER_BOOL = 1,
    LAYOVER_INT = 2,
    LAYOVER_FLOAT = 3,
    LAYOVER_TENSOR = 4,
} LayoverKind;

typedef struct LayoverValue {
    LayoverKind kind;
    union {
        int64_t integer; /* also 0 or 1 of a bool */
        double real;
        DLManagedTensor *tensor;
    };
} LayoverValue;

/* Arguments are borrowed; a tensor in *out_result is given away. Answers NULL, or what went wrong:
 * a text that lives until the next call. It must not call back into Layover. */
typedef const char *LayoverPackedFunction(void *context, const LayoverValue *arguments,
    uint32_t argument_count, LayoverValue *out_result);

enum { LAYOVER_PACKED_ABI = 1 };

/* What a library of packed functions is given. */
typedef struct LayoverPackedApi {
    uint32_t abi_version; /* LAYOVER_PACKED_ABI */
    void *registry;
    /* arity -1: any number. release, where given, is called with the context at the end. Answers
     * NULL, or what is wrong. */
    const char *(*add)(void *registry, const char *name, int32_t arity,
        LayoverPackedFunction *function, void *context, void (*release)(void *context));
} LayoverPackedApi;

/* A library for `layover run --packed LIB.so` exports this under the name layover_packed_library.
 * Answers NULL, or what is wrong. */
typedef const char *LayoverPackedLibrary(const LayoverPackedApi *api);

/* Registers a packed function for the executions of a model that start later. */
LAYOVER_API LayoverError *layover_model_add_packed(LayoverModel *model, const char *name,
    int32_t arity, LayoverPackedFunction *function, void *context, void (*release)(void *context));

#ifdef __cplusplus
}
#endif
