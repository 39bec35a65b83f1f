/* A runtime as TVM's libtvm_ffi.so and libtvm_runtime.so are one, as far as native workers use it:
 * it raises errors, counts objects, has global functions, and makes a machine of a library. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/native/native_abi.h"

#define EXPORTED __attribute__((visibility("default")))

enum { REGISTERS = 8, TYPE_MODULE = 73, TYPE_ODD = 130 };

EXPORTED void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);
EXPORTED void TVMFFIErrorMoveFromRaised(void **out);
EXPORTED int TVMFFIObjectDecRef(void *object);
EXPORTED int TVMFFIFunctionGetGlobal(const AbiBytes *name, void **out);
EXPORTED int TVMFFIFunctionCall(
    void *function, const AbiAny *arguments, int32_t count, AbiAny *out_result);
EXPORTED int TVMFFITensorFromDLPack(
    DLManagedTensor *from, int32_t alignment, int32_t compact, void **out);
EXPORTED const AbiTypeInfo *TVMFFIGetTypeInfo(int32_t type);

/* ---- errors ---- */

typedef struct Raised {
    AbiErrorObject error;
    char kind[64], message[256];
} Raised;
static Raised *raised;

static void *make(size_t size, int32_t type) {
    AbiObject *object = calloc(1, size);
    if (!object) abort();
    *object = (AbiObject){.counts = 1, .type = type};
    return object;
}

void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) {
    raised = make(sizeof *raised, 67);
    (void)snprintf(raised->kind, sizeof raised->kind, "%s", kind);
    (void)snprintf(raised->message, sizeof raised->message, "%s", message);
    raised->error.kind = (AbiBytes){raised->kind, strlen(raised->kind)};
    raised->error.message = (AbiBytes){raised->message, strlen(raised->message)};
}

void TVMFFIErrorMoveFromRaised(void **out) {
    *out = raised;
    raised = NULL;
}

/* ---- objects ---- */

/* An object that a library made with calloc has a count of 0 and one holder. */
int TVMFFIObjectDecRef(void *object) {
    AbiObject *head = object;
    if (head->counts > 1) return (int)(--head->counts & 0);
    if (head->deleter)
        head->deleter(object, 3);
    else
        free(object);
    return 0;
}

static void release(const AbiAny *any) {
    if (any->type >= ABI_OBJECT) (void)TVMFFIObjectDecRef(any->object);
}

static AbiAny hold(AbiAny any) {
    if (any.type >= ABI_OBJECT) any.object->counts++;
    return any;
}

typedef struct TensorObject {
    AbiTensorObject base;
    DLManagedTensor *from;
} TensorObject;

static void free_tensor(void *self, int flags) {
    TensorObject *tensor = self;
    (void)flags;
    tensor->from->deleter(tensor->from);
    free(tensor);
}

int TVMFFITensorFromDLPack(DLManagedTensor *from, int32_t alignment, int32_t compact, void **out) {
    (void)alignment, (void)compact;
    TensorObject *tensor = make(sizeof *tensor, ABI_TENSOR);
    tensor->base.head.deleter = free_tensor;
    tensor->base.tensor = from->dl_tensor;
    tensor->from = from;
    *out = tensor;
    return 0;
}

static void free_array(void *self, int flags) {
    AbiArrayObject *array = self;
    (void)flags;
    for (int64_t i = 0; i < array->count; i++) release(&array->items[i]);
    free(array);
}

static int make_array(void *self, const AbiAny *arguments, int32_t count, AbiAny *result) {
    AbiArrayObject *array = make(sizeof *array + (size_t)count * sizeof(AbiAny), ABI_ARRAY);
    AbiAny *items = (AbiAny *)(array + 1);
    (void)self;
    for (int32_t i = 0; i < count; i++) items[i] = hold(arguments[i]);
    array->head.deleter = free_array;
    array->items = items;
    array->count = count;
    *result = (AbiAny){.type = ABI_ARRAY, .object = &array->head};
    return 0;
}

const AbiTypeInfo *TVMFFIGetTypeInfo(int32_t type) {
    static const AbiTypeInfo odd = {TYPE_ODD, 1, {"sample.Odd", 10}};
    return type == TYPE_ODD ? &odd : NULL;
}

/* ---- functions ---- */

typedef struct FunctionObject {
    AbiObject head;
    AbiFunction *code;
    void *self;
} FunctionObject;

static AbiAny make_function(AbiFunction *code, void *self) {
    FunctionObject *function = make(sizeof *function, ABI_FUNCTION);
    function->code = code;
    function->self = self;
    return (AbiAny){.type = ABI_FUNCTION, .object = &function->head};
}

int TVMFFIFunctionCall(void *function, const AbiAny *arguments, int32_t count, AbiAny *out_result) {
    const FunctionObject *object = function;
    return object->code(object->self, arguments, count, out_result);
}

/* ---- modules and the machine ---- */

typedef struct Module {
    AbiObject head;
    void *library;
} Module;

static AbiAny make_module(void *library) {
    Module *module = make(sizeof *module, TYPE_MODULE);
    module->library = library;
    return (AbiAny){.type = TYPE_MODULE, .object = &module->head};
}

/* As TVM's: sets the library's pointers to functions of its own. */
static int load_library(void *self, const AbiAny *arguments, int32_t count, AbiAny *result) {
    void *library = dlopen(arguments[0].text, RTLD_NOW | RTLD_NOLOAD);
    (void)self, (void)count;
    if (!library) {
        TVMFFIErrorSetRaisedFromCStr("RuntimeError", "the library is not loaded yet");
        return -1;
    }
    void **parallel = dlsym(library, "__TVMBackendParallelLaunch");
    AbiFunction **array = dlsym(library, "sample_make_array");
    if (parallel) *parallel = NULL;
    if (array) *array = make_array;
    *result = make_module(library);
    return 0;
}

/* Runs a function of the library on new registers; its result is behind the arguments. */
static int run(void *self, const AbiAny *arguments, int32_t count, AbiAny *result) {
    AbiFunction *code;
    AbiAny registers[REGISTERS] = {0}, nothing = {0};
    memcpy(&code, &self, sizeof self);
    for (int32_t i = 0; i < count; i++) registers[i] = hold(arguments[i]);
    const AbiAny machine[] = {{.type = 4, .pointer = registers}, {.type = 4, .pointer = registers},
        {.type = 4}, {.type = 4}};
    int failed = code(NULL, machine, 4, &nothing);
    if (!failed) *result = hold(registers[count]);
    for (int32_t i = 0; i < REGISTERS; i++) release(&registers[i]);
    return failed;
}

static int load_executable(void *self, const AbiAny *arguments, int32_t count, AbiAny *result) {
    (void)arguments, (void)count;
    *result = make_module(self);
    return 0;
}

static int initialize(void *self, const AbiAny *arguments, int32_t count, AbiAny *result) {
    (void)self, (void)result;
    if (count == 3 && arguments[0].integer == 1 && arguments[2].integer == 1) return 0;
    TVMFFIErrorSetRaisedFromCStr("ValueError", "another device");
    return -1;
}

static int get_function(void *self, const AbiAny *arguments, int32_t count, AbiAny *result) {
    char symbol[128];
    void *library = ((const Module *)arguments[0].object)->library;
    const char *name = arguments[1].text;
    (void)self, (void)count;
    (void)snprintf(symbol, sizeof symbol, "__tvm_ffi___vmtir__%s", name);
    void *code = dlsym(library, symbol);
    if (strcmp(name, "vm_load_executable") == 0)
        *result = make_function(load_executable, library);
    else if (strcmp(name, "vm_initialization") == 0)
        *result = make_function(initialize, NULL);
    else if (code)
        *result = make_function(run, code);
    return 0;
}

int TVMFFIFunctionGetGlobal(const AbiBytes *name, void **out) {
    static const struct {
        const char *name;
        AbiFunction *code;
    } globals[] = {
        {"ffi.Module.load_from_file.so", load_library},
        {"ffi.ModuleGetFunction", get_function},
        {"ffi.Array", make_array},
    };
    *out = NULL;
    for (size_t i = 0; i < sizeof globals / sizeof globals[0]; i++)
        if (strlen(globals[i].name) == name->size &&
            memcmp(globals[i].name, name->data, name->size) == 0)
            *out = make_function(globals[i].code, NULL).object;
    return 0;
}
