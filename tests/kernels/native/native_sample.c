/* A library as TVM's compiler makes them: functions with TVM's C interface, and variables that the
 * loader points at functions of the runtime (native_runtime_sample.c). */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/native/native_abi.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void (*__TVMFFIErrorSetRaisedFromCStr)(const char *kind, const char *message);
EXPORTED void *(*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int);
EXPORTED int (*__TVMBackendFreeWorkspace)(int, int, void *);
EXPORTED int (*__TVMBackendParallelLaunch)(AbiTask *task, void *context, int task_count);

#define FUNCTION(name)                                                                             \
    EXPORTED AbiFunction __tvm_ffi_##name;                                                         \
    int __tvm_ffi_##name(void *self, const AbiAny *arguments, int32_t count, AbiAny *result)
#define UNUSED (void)self, (void)arguments, (void)count, (void)result

static float *floats(const AbiAny *argument) { return ((const DLTensor *)argument->pointer)->data; }
static int64_t length(const AbiAny *argument) {
    return ((const DLTensor *)argument->pointer)->shape[0];
}

static int64_t elements(const AbiAny *argument) {
    const DLTensor *tensor = argument->pointer;
    int64_t count = 1;
    for (int i = 0; i < tensor->ndim; i++) count *= tensor->shape[i];
    return count;
}

/* c = a + b */
FUNCTION(add) {
    UNUSED;
    for (int64_t i = 0; i < elements(&arguments[0]); i++)
        floats(&arguments[2])[i] = floats(&arguments[0])[i] + floats(&arguments[1])[i];
    return 0;
}

/* b = 3 a - 1; b may be a */
FUNCTION(scale) {
    UNUSED;
    for (int64_t i = 0; i < elements(&arguments[0]); i++)
        floats(&arguments[1])[i] = 3 * floats(&arguments[0])[i] - 1;
    return 0;
}

/* b = a / 2, c = b + its number of dimensions */
FUNCTION(both) {
    UNUSED;
    const DLTensor *tensor = arguments[0].pointer;
    for (int64_t i = 0; i < elements(&arguments[0]); i++) {
        floats(&arguments[1])[i] = floats(&arguments[0])[i] / 2;
        floats(&arguments[2])[i] = floats(&arguments[1])[i] + (float)tensor->ndim;
    }
    return 0;
}

/* Gives its only argument back. */
FUNCTION(same) {
    UNUSED;
    *result = arguments[0];
    return 0;
}

/* Gives a new string or shape: an object that the caller releases. */
FUNCTION(name) {
    UNUSED;
    static const char text[] = "a longer text";
    AbiStringObject *object = calloc(1, sizeof *object);
    if (!object) return -1;
    object->head.type = ABI_STRING;
    object->bytes = (AbiBytes){text, sizeof text - 1};
    *result = (AbiAny){.type = ABI_STRING, .object = &object->head};
    return 0;
}

/* Gives a new shape: the given one, backwards, and 250 zeros behind it if a second argument is
 * given. */
FUNCTION(turn) {
    UNUSED;
    enum { MORE = 250 };
    typedef struct Turned {
        AbiShapeObject object;
        int64_t dims[2 * MORE];
    } Turned;
    const AbiDims *given = &((const AbiShapeObject *)arguments[0].object)->dims;
    Turned *made = calloc(1, sizeof *made);
    if (!made) return -1;
    made->object.head.type = ABI_SHAPE;
    for (size_t i = 0; i < given->size; i++) made->dims[i] = given->data[given->size - 1 - i];
    made->object.dims = (AbiDims){made->dims, given->size + (count > 1 ? MORE : 0)};
    *result = (AbiAny){.type = ABI_SHAPE, .object = &made->object.head};
    return 0;
}

/* Gives a new tensor: the given int, counted upwards, three times. */
FUNCTION(count) {
    UNUSED;
    typedef struct Counted {
        AbiTensorObject object;
        int64_t dims[1];
        int32_t items[3];
    } Counted;
    Counted *made = calloc(1, sizeof *made);
    if (!made) return -1;
    made->object.head.type = ABI_TENSOR;
    made->dims[0] = 3;
    for (int i = 0; i < 3; i++) made->items[i] = (int32_t)arguments[0].integer + i;
    made->object.tensor = (DLTensor){.data = made->items,
        .device = {kDLCPU, 0},
        .ndim = 1,
        .dtype = {kDLInt, 32, 1},
        .shape = made->dims};
    *result = (AbiAny){.type = ABI_TENSOR, .object = &made->object.head};
    return 0;
}

/* Doubles the cells of an int64 tensor through memory for intermediate results. */
FUNCTION(double_cells) {
    UNUSED;
    const DLTensor *tensor = arguments[0].pointer;
    size_t bytes = (size_t)tensor->shape[0] * sizeof(int64_t);
    int64_t *between = __TVMBackendAllocWorkspace(1, 0, bytes, 0, 64), *cells = tensor->data;
    if (!between || (uintptr_t)between % 64 != 0) return -1;
    memcpy(between, cells, bytes);
    for (int64_t i = 0; i < tensor->shape[0]; i++) cells[i] = 2 * between[i];
    return __TVMBackendFreeWorkspace(1, 0, between);
}

static int fill_part(int task, AbiGroup *group, void *context) {
    const DLTensor *tensor = context;
    int64_t part = tensor->shape[0] / group->task_count;
    for (int64_t i = task * part; i < (task + 1) * part; i++) ((float *)tensor->data)[i] = 7;
    return 0;
}

/* Fills a tensor by a parallel loop. */
FUNCTION(fill) {
    UNUSED;
    return __TVMBackendParallelLaunch(fill_part, arguments[0].pointer, 0);
}

FUNCTION(refuse) {
    UNUSED;
    __TVMFFIErrorSetRaisedFromCStr("ValueError", "the argument is not liked");
    return -1;
}

FUNCTION(refuse_silently) {
    UNUSED;
    return -7;
}

/* Gives a function, which is not passed on. */
FUNCTION(give_function) {
    UNUSED;
    *result = (AbiAny){.type = 68};
    result->object = calloc(1, sizeof(AbiObject));
    return 0;
}

FUNCTION(write_behind) {
    UNUSED;
    floats(&arguments[0])[length(&arguments[0])] = 1;
    return 0;
}

FUNCTION(write_before) {
    UNUSED;
    floats(&arguments[0])[-1] = 1;
    return 0;
}

FUNCTION(write) {
    UNUSED;
    floats(&arguments[0])[0] += 1;
    return 0;
}

FUNCTION(crash) {
    UNUSED;
    (void)raise(SIGKILL);
    return 0;
}

FUNCTION(leave) {
    UNUSED;
    _exit(3);
}

FUNCTION(never_return) {
    UNUSED;
    for (;;) (void)pause();
}

/* ---- functions of a machine: they get it, its registers, constants and functions ---- */

EXPORTED AbiFunction *sample_make_array; /* the runtime's */

static AbiAny *registers(const AbiAny *arguments) { return arguments[1].pointer; }

/* result = (r0, (r1, 7)) */
FUNCTION(__vmtir__nest) {
    UNUSED;
    AbiAny *r = registers(arguments), inner = {0};
    const AbiAny pair[] = {r[1], {.type = ABI_INT, .integer = 7}};
    if (sample_make_array(NULL, pair, 2, &inner)) return -1;
    const AbiAny outer[] = {r[0], inner};
    int failed = sample_make_array(NULL, outer, 2, &r[2]);
    inner.object->counts--; /* the outer tuple has it */
    return failed;
}

/* r0 is doubled in place, by a parallel loop of its own; no result. */
static int double_all(int task, AbiGroup *group, void *context) {
    const DLTensor *tensor = context;
    for (int64_t i = task; i < tensor->shape[0]; i += group->task_count)
        ((float *)tensor->data)[i] *= 2;
    return 0;
}

FUNCTION(__vmtir__double_first) {
    UNUSED;
    AbiTensorObject *object = (AbiTensorObject *)registers(arguments)[0].object;
    return __TVMBackendParallelLaunch(double_all, &object->tensor, 0);
}

/* Keeps r0 for ever. */
FUNCTION(__vmtir__keep) {
    UNUSED;
    registers(arguments)[0].object->counts++;
    return 0;
}
