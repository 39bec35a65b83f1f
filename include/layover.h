#pragma once
/* clang-format off */
/* liblayover: loads models, runs them, stops them between any two instructions, and continues them
 * later or elsewhere. This is the public header for C and C++ programs; tools/library implements
 * it.
 *
 * Tensors cross this border as DLPack's managed tensors in host memory. Handles are opaque; the
 * caller who made a handle owns it. Threads: several threads may use a model at once; an execution
 * belongs to one thread at a time, except for layover_execution_request_suspend. Processes: a forked
 * process opens its models again; those of its parent are CONFLICT there.
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
/* Opens a model. A file that is no executable yet is compiled.
 *
 * name:   a file of any format that `layover register` takes (.onnx, .lvx, .lva, .relay, Relax
 *         executables …), told by its contents; or a model of the default home: "resnet",
 *         "resnet@3", "resnet@prod".
 * device: "cpu", "sim:0", "sim:0,memory=64MiB". */
LAYOVER_API LayoverError *layover_model_open(
    const char *name, const char *device, LayoverModel **out_model);
/* Gives another handle of the same model, which is closed by itself. */
LAYOVER_API LayoverModel *layover_model_retain(LayoverModel *model);
/* Closes a handle. Running executions keep the parts of the model that they need. */
LAYOVER_API void layover_model_close(LayoverModel *model);
/* Reads how many inputs and outputs a function has. The two functions below return their names,
 * which the model owns; a port without a name has the name "". */
LAYOVER_API LayoverError *layover_model_function(const LayoverModel *model, const char *function,
    uint32_t *out_input_count, uint32_t *out_output_count);
LAYOVER_API const char *layover_model_input_name(
    const LayoverModel *model, const char *function, uint32_t index);
LAYOVER_API const char *layover_model_output_name(
    const LayoverModel *model, const char *function, uint32_t index);

/* The name of a DLPack element type, such as "float32"; "" for one that Layover does not have. */
LAYOVER_API const char *layover_dtype_name(DLDataType dtype);
/* Finds an element type by its name. Errors: NOT_FOUND; UNSUPPORTED: "string". */
LAYOVER_API LayoverError *layover_dtype_find(const char *name, DLDataType *out_dtype);

/* What a function takes or gives at one place. The model owns what the members point to. */
typedef struct LayoverPort {
    const char *name;           /* "" if it has none */
    const char *dtype;          /* such as "float32" or "string"; "" for any type */
    int32_t rank;               /* -1: any shape; the members below are NULL then */
    const int64_t *dims;        /* `rank` of them; -1 is a dynamic dimension */
    const char *const *symbols; /* `rank` of them: names of dynamic dimensions, or NULL */
    int is_list;                /* not 0: a list of tensors of that type */
    int is_optional;            /* not 0: nil may be given */
} LayoverPort;
/* Describes one input or output of a function. Errors: NOT_FOUND the function; INVALID the index.
 */
LAYOVER_API LayoverError *layover_model_input(
    const LayoverModel *model, const char *function, uint32_t index, LayoverPort *out_port);
LAYOVER_API LayoverError *layover_model_output(
    const LayoverModel *model, const char *function, uint32_t index, LayoverPort *out_port);
/* Finds an output by its name. Errors: NOT_FOUND, naming the outputs. */
LAYOVER_API LayoverError *layover_model_find_output(
    const LayoverModel *model, const char *function, const char *name, uint32_t *out_index);

typedef enum LayoverState {
    LAYOVER_FINISHED = 0,
    LAYOVER_SUSPENDED = 1,
    LAYOVER_YIELDED = 2, /* layover_execution_run_to_yield: a yielded value can be taken */
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
/* What executions do with memory that they free. The same bits either way. */
typedef enum LayoverAllocator {
    LAYOVER_POOLED = 0, /* kept and used again: the default */
    LAYOVER_NAIVE = 1,  /* given back to the device at once */
} LayoverAllocator;
/* Chooses the allocators of executions that start later, for the host's memory and for that of the
 * model's device. Threads: before others use the model. */
LAYOVER_API void layover_model_set_allocators(
    LayoverModel *model, LayoverAllocator host, LayoverAllocator device);
/* Allows native code of the model's library, which is trusted code, in executions that start later
 * (layover_module_allow_native has the details). preload: NULL, or libraries that the code needs,
 * separated by ':'. Errors: CONFLICT it is allowed with other libraries. Threads: before others use
 * the model. */
LAYOVER_API LayoverError *layover_model_allow_native(LayoverModel *model, const char *preload);
/* Runs the execution until the function ends, the given number of instructions has run (0: no
 * limit), or a suspension is requested. */
LAYOVER_API LayoverError *layover_execution_run(
    LayoverExecution *execution, uint64_t instructions, LayoverState *out_state);
/* The name of the function that the execution was started with; "" where nothing was called yet.
 * The model owns it. */
LAYOVER_API const char *layover_execution_function(const LayoverExecution *execution);
/* Stops the execution at its next safepoint. Threads: any; signal handlers may call it, too. */
LAYOVER_API void layover_execution_request_suspend(LayoverExecution *execution);
/* Reads one output of a finished execution; a result that is no tuple is output 0. The caller calls
 * the tensor's deleter. */
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
    /* The kinds below are given to and taken from the functions of modules only (see there). */
    LAYOVER_STRING = 5,
    LAYOVER_SHAPE = 6,
    LAYOVER_DTYPE = 7,
    LAYOVER_TUPLE = 8,
    LAYOVER_FUNCTION = 9,
    LAYOVER_OBJECT = 10, /* state of a model, such as a cache */
    LAYOVER_TEXTS = 11,  /* a tensor whose elements are texts, which DLPack does not have */
} LayoverKind;

typedef struct LayoverShape {
    uint32_t rank;
    const int64_t *dims; /* any numbers, as in TVM; at most 255 */
} LayoverShape;
typedef struct LayoverText {
    const char *text; /* UTF-8, without a terminator */
    uint64_t size;    /* bytes */
} LayoverText;
typedef struct LayoverTexts {
    LayoverShape shape;
    const LayoverText *items; /* row-major */
} LayoverTexts;
typedef struct LayoverTuple LayoverTuple;
typedef struct LayoverFunction LayoverFunction;
typedef struct LayoverObject LayoverObject;

typedef struct LayoverValue {
    LayoverKind kind;
    union {
        int64_t integer; /* also 0 or 1 of a bool */
        double real;
        DLManagedTensor *tensor;
        const char *text; /* UTF-8 */
        const LayoverShape *shape;
        DLDataType dtype;
        const LayoverTuple *tuple;
        LayoverFunction *function;
        LayoverObject *object;
        const LayoverTexts *texts;
    };
} LayoverValue;

struct LayoverTuple {
    uint32_t count;
    LayoverValue *fields;
};

/* A host function. It borrows the arguments; it writes only to tensors that the model makes for it
 * (in a storage of alloc_storage). A constant of the model is a copy, and a call that has written
 * to it is INVALID, naming function and argument. The function gives a tensor in *out_result away
 * to the caller. It returns NULL, or the error's text, which lives until the next call. It must not
 * run a model. Text, texts, shape and tuple of a result must live until the next call, too. */
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

/* ---- Values, functions and modules, as users of TVM know them. ----
 *
 * Ownership of values. Layover takes the tensors among the values that it is given, also in tuples
 * and when the call fails, and calls their deleters when it no longer needs them; each tensor may
 * occur once. It copies everything else. Values that it gives to a caller are the caller's until
 * layover_value_release. A list of a model is given as a tuple. Tuples are at most 64 deep;
 * tensors below that depth are not taken.
 *
 * Threads. Any thread may call any function below, several at a time for one module or function; an
 * execution belongs to one thread at a time. */

/* Releases what a value holds, and makes it nil. */
LAYOVER_API void layover_value_release(LayoverValue *value);

/* Registers a function for the whole process: modules that lack a function of that name call this
 * one.
 *
 * arity:   -1 accepts any number of arguments.
 * release: NULL, or called with the context when nothing needs the function any longer.
 * replace: not 0: an earlier function of that name is replaced. Modules that use it keep it.
 * Errors:  CONFLICT the name is taken, or is one of the builtins. The context stays the caller's.
 */
LAYOVER_API LayoverError *layover_function_register(const char *name, int32_t arity,
    LayoverPackedFunction *function, void *context, void (*release)(void *context), int replace);
/* Removes a registered function. Modules that use it keep it. Errors: NOT_FOUND. */
LAYOVER_API LayoverError *layover_function_unregister(const char *name);
/* Finds a registered function. Errors: NOT_FOUND. */
LAYOVER_API LayoverError *layover_function_find(const char *name, LayoverFunction **out_function);
/* Gives the names of all registered functions, sorted: a tuple of strings. */
LAYOVER_API LayoverError *layover_function_list(LayoverValue *out_names);
LAYOVER_API void layover_function_release(LayoverFunction *function);
/* The function's name, which the function owns; "" for a closure. */
LAYOVER_API const char *layover_function_name(const LayoverFunction *function);
/* Calls a function and waits for its end. A function of a module runs as an execution of its own.
 *
 * Errors: those of the function; CONFLICT a host function calls a function of a module. */
LAYOVER_API LayoverError *layover_function_call(LayoverFunction *function,
    const LayoverValue *arguments, uint32_t argument_count, LayoverValue *out_result);

/* A model with the functions that its code may call: its own host functions, those of imported
 * modules, then the registered ones. They are looked up once, when the module's first function or
 * its model is asked for; the module does not change afterwards. */
typedef struct LayoverModule LayoverModule;
/* Loads a module. name, device: as layover_model_open; TVM's exported libraries (.so) are read as
 * data. */
LAYOVER_API LayoverError *layover_module_load(
    const char *name, const char *device, LayoverModule **out_module);
/* Makes a module without a model, which others import for its host functions. */
LAYOVER_API LayoverError *layover_module_create(LayoverModule **out_module);
/* Releases the handle. Functions, executions and importing modules keep what they need. */
LAYOVER_API void layover_module_release(LayoverModule *module);
/* Adds a host function to the module. Arguments: as layover_function_register. Errors: CONFLICT the
 * name is taken, or the module is in use. */
LAYOVER_API LayoverError *layover_module_add_function(LayoverModule *module, const char *name,
    int32_t arity, LayoverPackedFunction *function, void *context, void (*release)(void *context));
/* Imports a module: functions that `module` lacks are looked for there, in the order of the
 * imports. Bytecode of one module does not call bytecode of another: such a name is UNSUPPORTED.
 * Errors: CONFLICT a cycle, or the module is in use. */
LAYOVER_API LayoverError *layover_module_import(LayoverModule *module, LayoverModule *imported);
/* Allows native code of the model's library to run, which is trusted code. It runs in processes
 * `layover native-worker`: of the layover program that LAYOVER_WORKER names, else of that in PATH.
 *
 * preload: NULL, or libraries that the code needs, separated by ':'.
 * Errors:  CONFLICT the module is in use. */
LAYOVER_API LayoverError *layover_module_allow_native(LayoverModule *module, const char *preload);
/* Finds a function in the module, its imports, and among the registered functions. Errors:
 * NOT_FOUND the function, or one that the module's code calls; UNSUPPORTED. */
LAYOVER_API LayoverError *layover_module_get_function(
    LayoverModule *module, const char *name, LayoverFunction **out_function);
/* Gives the names of the module's own functions that can be called: a tuple of strings. */
LAYOVER_API LayoverError *layover_module_list_functions(
    LayoverModule *module, LayoverValue *out_names);
/* Gives the number of parameters of a function of the module; -1 for any number. */
LAYOVER_API LayoverError *layover_module_get_function_arity(
    LayoverModule *module, const char *function, int32_t *out_arity);
/* Gives a parameter's name, which the module owns; "" if it has none. Errors: INVALID the index. */
LAYOVER_API LayoverError *layover_module_get_function_param_name(
    LayoverModule *module, const char *function, uint32_t index, const char **out_name);
/* Give the text that TVM prints for a Relax executable, as a string. For other executables as_text
 * gives assembly (docs/isa.md), and the others are CONFLICT. */
LAYOVER_API LayoverError *layover_module_as_text(LayoverModule *module, LayoverValue *out_text);
LAYOVER_API LayoverError *layover_module_as_python(LayoverModule *module, LayoverValue *out_text);
LAYOVER_API LayoverError *layover_module_stats(LayoverModule *module, LayoverValue *out_text);
/* Gives the module's model, for executions that are suspended, moved and resumed. The module owns
 * it. Errors: as layover_module_get_function. */
LAYOVER_API LayoverError *layover_module_get_model(LayoverModule *module, LayoverModel **out_model);

/* Starts a function with values of any kind; else as layover_execution_start. */
LAYOVER_API LayoverError *layover_execution_start_values(LayoverModel *model, const char *function,
    const LayoverValue *arguments, uint32_t argument_count, LayoverExecution **out_execution);

/* The stateful interface: inputs are set one by one, a function is invoked, outputs are read.
 * Inputs and saved calls are part of the execution and of its checkpoints. */

/* Makes an execution in which nothing was called yet. */
LAYOVER_API LayoverError *layover_execution_create(
    LayoverModel *model, LayoverExecution **out_execution);
/* Sets an input of a function by the parameter's index. It stays set. */
LAYOVER_API LayoverError *layover_execution_set_input(LayoverExecution *execution,
    const char *function, uint32_t parameter, const LayoverValue *value);
/* Finds a parameter by its name. Errors: NOT_FOUND. */
LAYOVER_API LayoverError *layover_execution_find_input(
    LayoverExecution *execution, const char *function, const char *name, uint32_t *out_parameter);
/* Sets the inputs that a file of named tensors has: TVM's list of params (save_param_dict) or
 * MXNet's .params. Names that no input has are skipped, as TVM skips them.
 *
 * out_set: how many inputs were set.
 * Errors:  CORRUPT, UNSUPPORTED the bytes; INVALID a tensor that does not fit, naming it. */
LAYOVER_API LayoverError *layover_execution_load_params(LayoverExecution *execution,
    const char *function, const void *bytes, size_t size, uint32_t *out_set);
/* Calls a function with the inputs that are set; layover_execution_run then runs it. Errors:
 * CONFLICT a call is under way; INVALID an input is not set. */
LAYOVER_API LayoverError *layover_execution_invoke_stateful(
    LayoverExecution *execution, const char *function);
/* Keeps a function with its arguments under a name, or calls it. */
LAYOVER_API LayoverError *layover_execution_save_function(LayoverExecution *execution,
    const char *name, const char *function, const LayoverValue *arguments, uint32_t argument_count);
LAYOVER_API LayoverError *layover_execution_invoke_saved(
    LayoverExecution *execution, const char *name);
/* Reads the result of a finished execution, or a field: path has field indices from the outermost
 * tuple inwards. Errors: CONFLICT it is not finished; INVALID there is no such field. */
LAYOVER_API LayoverError *layover_execution_get_output(LayoverExecution *execution,
    const uint32_t *path, uint32_t path_count, LayoverValue *out_value);

/* ---- Where an execution stands, and what it yields. ---- */

/* A function that was called and has not returned. */
typedef struct LayoverFrame {
    const char *function;
    uint32_t pc;             /* the instruction that runs next, or the call that waits */
    const char *instruction; /* as assembly; "" but for the innermost 256 frames */
} LayoverFrame;
/* A register whose value is still needed. */
typedef struct LayoverRegister {
    uint32_t frame; /* 0: the oldest */
    uint32_t index;
    const char *kind;    /* "tensor", "int", "list" … */
    const char *dtype;   /* of a tensor, else "" */
    int32_t rank;        /* of a tensor or a shape, else -1 */
    const int64_t *dims; /* `rank` of them */
    uint64_t bytes;      /* of a tensor or a storage; of a tuple or a list: of those in it */
} LayoverRegister;
/* Holds everything that it points to. */
typedef struct LayoverInspection {
    uint32_t frame_count; /* 0: the execution ended, or nothing was called */
    const LayoverFrame *frames;
    uint32_t register_count;
    const LayoverRegister *registers; /* by frame, then index */
    uint64_t instructions;            /* that have run since the start, over all resumes */
    uint64_t kernel_calls;
    uint64_t yields; /* values yielded so far */
} LayoverInspection;
/* Describes where an execution stands. Threads: as layover_execution_run. */
LAYOVER_API LayoverError *layover_execution_inspect(
    LayoverExecution *execution, LayoverInspection **out_inspection);
LAYOVER_API void layover_inspection_free(LayoverInspection *inspection);

/* Runs like layover_execution_run, and also stops where a yielded value waits to be taken. */
LAYOVER_API LayoverError *layover_execution_run_to_yield(
    LayoverExecution *execution, uint64_t instructions, LayoverState *out_state);
/* Takes the oldest value that was yielded and not taken yet. At most 1024 wait: then a run of
 * layover_execution_run is EXHAUSTED, and goes on when some were taken. *out_found 0: none. */
LAYOVER_API LayoverError *layover_execution_take_yield(
    LayoverExecution *execution, LayoverValue *out_value, int *out_found);

/* ---- Watching an execution: each call, its time, the time of a whole function. ---- */

/* A call of an operator or of a packed function; or, under the names vm.builtin.make_closure and
 * vm.builtin.invoke_closure, the making and the call of a closure of bytecode, whose own calls come
 * between its two. */
typedef struct LayoverCall {
    const char *name;
    const char *function; /* the function whose code calls */
    uint32_t pc;
    int is_before;      /* not 0: the call comes next; 0: it has ended */
    const char *kernel; /* after an operator: what computed it; else "" */
    uint32_t argument_count;
    LayoverValue *arguments; /* nil for what is absent, packed, or a tensor that is not written */
    uint32_t result_count;   /* 0 before */
    LayoverValue *results;
} LayoverCall;
/* A function that is called before and after each call. The values are released after it; a value
 * that it keeps it replaces by nil, and releases it later. Tensors may have the execution's own
 * bytes: they are read only, and as long as the instrument runs.
 *
 * inout_skip: set it to 1 before a call to leave the call out: its result is nil then, and tensors
 *             that it would write stay unwritten.
 * Returns NULL, or the text of an error, which fails the execution and lives until the next call.
 * It must not run a model. */
typedef const char *LayoverInstrument(void *context, LayoverCall *call, int *inout_skip);
/* Sets the instrument of an execution, between two runs; NULL removes it. It is no part of
 * checkpoints. The context outlives the execution. Errors: CONFLICT a profile is recorded. */
LAYOVER_API LayoverError *layover_execution_set_instrument(
    LayoverExecution *execution, LayoverInstrument *instrument, void *context);

/* A call as a profile has it. */
typedef struct LayoverProfileRow {
    const char *name;
    const char *kernel; /* what computed an operator; "" for a packed function */
    const char *shapes; /* of the arguments: "float32[2, 3], int64[]"; at most 16 of them */
    uint64_t start_ns;  /* since the profile's begin */
    uint64_t ns;        /* with the wait for the device */
} LayoverProfileRow;
/* Holds everything that it points to. */
typedef struct LayoverProfile {
    uint32_t row_count;
    const LayoverProfileRow *rows; /* by their end; without closures, whose calls have rows */
    uint64_t ns;                   /* from the profile's begin to its end */
    const char *device;            /* such as "cpu" */
} LayoverProfile;
/* Records each call from now on, at most 1,048,576: a run with more is EXHAUSTED. Errors: CONFLICT
 * the execution has an instrument, or a profile is recorded. */
LAYOVER_API LayoverError *layover_execution_start_profile(LayoverExecution *execution);
/* Ends the recording. The caller frees the profile. Errors: CONFLICT nothing is recorded. */
LAYOVER_API LayoverError *layover_execution_take_profile(
    LayoverExecution *execution, LayoverProfile **out_profile);
LAYOVER_API void layover_profile_free(LayoverProfile *profile);

/* How a function is timed: `repeat` times the mean of `number` runs. */
typedef struct LayoverTimeOptions {
    uint32_t repeat;        /* 0: 5; at most 10,000 */
    uint64_t number;        /* 0: as many as min_repeat_ms needs, and 100 ms if that is 0, too */
    uint32_t min_repeat_ms; /* number is doubled until a repeat takes so long */
} LayoverTimeOptions;
typedef struct LayoverTiming {
    uint32_t repeat;
    uint64_t number;
    double min_s, mean_s, median_s, max_s; /* of one run, over the repeats */
} LayoverTiming;
/* Times a function; each run is an execution of its own. Runs that come first and do not count warm
 * it up.
 *
 * options: NULL: all 0.
 * out_seconds: NULL, or room for `repeat` numbers: the time of a run in each repeat.
 * Errors: INVALID; those of the function; CONFLICT a host function runs on this thread. */
LAYOVER_API LayoverError *layover_model_time_evaluator(LayoverModel *model, const char *function,
    const LayoverValue *arguments, uint32_t argument_count, const LayoverTimeOptions *options,
    LayoverTiming *out_timing, double *out_seconds);

/* ---- Checkpoints in memory. ---- */

/* Writes a checkpoint's bytes, those of layover_execution_checkpoint. The caller frees them with
 * layover_bytes_free. */
LAYOVER_API LayoverError *layover_execution_checkpoint_bytes(
    LayoverExecution *execution, void **out_bytes, size_t *out_size);
LAYOVER_API void layover_bytes_free(void *bytes);
/* Continues from a checkpoint's bytes, which are borrowed during the call. what: names them in
 * errors. */
LAYOVER_API LayoverError *layover_execution_resume_bytes(LayoverModel *model, const void *bytes,
    size_t size, const char *what, LayoverExecution **out_execution);

/* ---- Homes: models that are stored under names, without a daemon. ----
 *
 * A handle names a home and locks nothing: each function below opens the home and closes it, as a
 * command of the command line does. A reference is "resnet" (the newest version), "resnet@3" or
 * "resnet@prod". An answer is a JSON text, a value of the kind LAYOVER_STRING: the object that
 * `layover --json` prints for the verb, or an array of the objects that the verb prints.
 *
 * Errors:  each function: REFUSED another process, such as a daemon, has the home; CORRUPT, IO.
 * Threads: any; calls of one process wait for each other. */

typedef struct LayoverHome LayoverHome;
/* Makes a handle.
 *
 * path:   the home's folder; NULL: $LAYOVER_HOME, else $XDG_DATA_HOME/layover, else
 *         $HOME/.local/share/layover. A missing home is made when it is first used.
 * tenant: whose models these are; NULL: those of the tenant "default".
 * Errors: INVALID the path is empty; NOT_FOUND none of the variables is set. */
LAYOVER_API LayoverError *layover_home_open(
    const char *path, const char *tenant, LayoverHome **out_home);
LAYOVER_API void layover_home_close(LayoverHome *home);
/* The home's folder, which the handle owns. */
LAYOVER_API const char *layover_home_path(const LayoverHome *home);

/* What a registration may say. All members may be 0 or NULL. */
typedef struct LayoverRegistration {
    const char *const *aliases; /* names that the version gets, too */
    uint32_t alias_count;
    const char *format;    /* "onnx", "relay", "nnvm", "lva", "lvx", "relax"; NULL: by the file */
    const char *precision; /* "fp32", "bf16" or "int8" */
    const char *params;    /* the file of the weights of a graph of NNVM */
    const char *library;   /* the library of a graph of TVM's graph executor */
    int follow_links;      /* not 0: external data may be wherever links lead to */
    int no_prepare;        /* not 0: the weights are packed for this machine by the first run */
} LayoverRegistration;
/* Stores a model's file, or an executable (.lvx), as the newest version of a name. */
LAYOVER_API LayoverError *layover_home_register(LayoverHome *home, const char *name,
    const char *file, const LayoverRegistration *registration, LayoverValue *out_json);
/* Lists all versions of all models, as an array. */
LAYOVER_API LayoverError *layover_home_models(LayoverHome *home, LayoverValue *out_json);
/* Describes a version with its functions. Errors: NOT_FOUND. */
LAYOVER_API LayoverError *layover_home_show(
    LayoverHome *home, const char *reference, LayoverValue *out_json);
/* Makes an alias name a version. Errors: INVALID a name; NOT_FOUND the version. */
LAYOVER_API LayoverError *layover_home_alias(LayoverHome *home, const char *name, const char *alias,
    int64_t version, LayoverValue *out_json);
/* Removes a model ("resnet") or one version of it; layover_home_gc gives the space back. */
LAYOVER_API LayoverError *layover_home_remove(
    LayoverHome *home, const char *reference, LayoverValue *out_json);
/* Writes a version to a file: an executable, or, if the path ends in ".bin", the Relax executable
 * that it was made from. Errors: CONFLICT it was made from none. */
LAYOVER_API LayoverError *layover_home_export(
    LayoverHome *home, const char *reference, const char *path, LayoverValue *out_json);
/* Prints a version as assembly (docs/isa.md), with the constants' data if with_data is not 0. The
 * answer is that text itself. */
LAYOVER_API LayoverError *layover_home_disasm(
    LayoverHome *home, const char *reference, int with_data, LayoverValue *out_text);
/* Checks everything that the home stores. Faults that were found are in the answer.
 *
 * repair:      not 0: sets settings of tenants that make no sense to their defaults, and counts
 *              anew what tenants have stored.
 * repair_from: NULL, or an exported file that still has what is missing or damaged here. */
LAYOVER_API LayoverError *layover_home_fsck(
    LayoverHome *home, int repair, const char *repair_from, LayoverValue *out_json);
/* Deletes what nothing refers to. */
LAYOVER_API LayoverError *layover_home_gc(LayoverHome *home, LayoverValue *out_json);
/* Opens a model of the home, as layover_model_open does. */
LAYOVER_API LayoverError *layover_home_open_model(
    LayoverHome *home, const char *reference, const char *device, LayoverModel **out_model);

#ifdef __cplusplus
}
#endif
