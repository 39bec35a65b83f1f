#pragma once
/* clang-format off */
/* liblayover: loads models, runs them, stops them between any two instructions, and continues them
 * later or elsewhere. This is the public header for C and C++ programs; tools/library implements
 * it.
 *
 * Tensors cross this border as DLPack's managed tensors in host memory. Handles are opaque; the
 * caller who made a handle owns it. Threads: several threads may use a model at once; an execution
 * belongs to one thread at a time, except for layover_execution_request_suspend.
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

/* The version of the library that is linked, such as "0.1.0". */
LAYOVER_API const char *layover_version(void);

/* A function that returns NULL succeeded. The caller frees every error with layover_error_free. */
typedef struct LayoverError LayoverError;
LAYOVER_API const char *layover_error_message(const LayoverError *error);
/* The error's code, such as "CORRUPT" or "INVALID". The command line and HTTP use the same names.
 */
LAYOVER_API const char *layover_error_code(const LayoverError *error);
LAYOVER_API void layover_error_free(LayoverError *error);

/* A model whose constants are in a device's memory. */
typedef struct LayoverModel LayoverModel;
/* Opens a model.
 *
 * path:   an executable file (.lvx).
 * device: "cpu", "sim:0", "sim:0,memory=64MiB". */
LAYOVER_API LayoverError *layover_model_open(
    const char *path, const char *device, LayoverModel **out_model);
/* Closes the handle. Running executions keep the parts of the model that they need. */
LAYOVER_API void layover_model_close(LayoverModel *model);
/* Reads how many inputs and outputs a function has. The two functions below return their names,
 * which the model owns; a port without a name has the name "". */
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
/* Starts a function. The inputs stand in the function's order. The execution takes the tensors,
 * also when the call fails, and calls their deleters when it no longer needs them. NULL leaves an
 * optional input out. A model whose file has values for some inputs (initializers) has a second
 * function, "main_given", where these are optional inputs. */
LAYOVER_API LayoverError *layover_execution_start(LayoverModel *model, const char *function,
    DLManagedTensor **owned_inputs, uint32_t input_count, LayoverExecution **out_execution);
LAYOVER_API void layover_execution_free(LayoverExecution *execution);
/* Sets how many threads a kernel may use; the default is 1. The number never changes the bits. */
LAYOVER_API void layover_model_set_threads(LayoverModel *model, uint32_t threads);
/* Runs the execution until the function ends, the given number of instructions has run (0: no
 * limit), or a suspension is requested. */
LAYOVER_API LayoverError *layover_execution_run(
    LayoverExecution *execution, uint64_t instructions, LayoverState *out_state);
/* Stops the execution at its next safepoint. Threads: any; signal handlers may call it, too. */
LAYOVER_API void layover_execution_request_suspend(LayoverExecution *execution);
/* Reads one output of a finished execution. The caller calls the tensor's deleter. */
LAYOVER_API LayoverError *layover_execution_output(
    LayoverExecution *execution, uint32_t index, DLManagedTensor **out_tensor);
/* Writes a checkpoint file (.lvc) atomically and durably. */
LAYOVER_API LayoverError *layover_execution_checkpoint(
    LayoverExecution *execution, const char *path);
/* Continues from a checkpoint file. The model may be on another device than the execution was. */
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

/* A host function. It borrows the arguments, and gives a tensor in *out_result away to the caller.
 * It returns NULL, or the error's text, which lives until the next call. It must not call Layover.
 */
typedef const char *LayoverPackedFunction(void *context, const LayoverValue *arguments,
    uint32_t argument_count, LayoverValue *out_result);

enum { LAYOVER_PACKED_ABI = 1 };

/* The functions that Layover hands to a library of packed functions. */
typedef struct LayoverPackedApi {
    uint32_t abi_version; /* LAYOVER_PACKED_ABI */
    void *registry;
    /* Adds a function; arity -1 accepts any number of arguments. release may be NULL; else it is
     * called with the context when the registry is released. Returns NULL, or a text that says what
     * is wrong. */
    const char *(*add)(void *registry, const char *name, int32_t arity,
        LayoverPackedFunction *function, void *context, void (*release)(void *context));
} LayoverPackedApi;

/* A library for `layover run --packed LIB.so` exports this function as layover_packed_library. It
 * returns NULL, or a text that says what is wrong. */
typedef const char *LayoverPackedLibrary(const LayoverPackedApi *api);

/* Registers a packed function. Only executions of the model that start later can call the function.
 */
LAYOVER_API LayoverError *layover_model_add_packed(LayoverModel *model, const char *name,
    int32_t arity, LayoverPackedFunction *function, void *context, void (*release)(void *context));

#ifdef __cplusplus
}
#endif
