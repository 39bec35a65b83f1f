#pragma once
/* The part of tvm-ffi's stable C interface that compiled kernels speak: how a function of a library
 * made by TVM takes its arguments and gives its result. Included by this folder's files of the
 * worker process only. Pure: layouts and numbers.
 *
 * Source: tvm/ffi/c_api.h of apache-tvm-ffi 0.1 (sections TVMFFITypeIndex, TVMFFIObject, TVMFFIAny,
 * TVMFFIByteArray, TVMFFISeqCell, TVMFFIErrorCell, TVMFFITypeInfo, TVMFFISafeCallType) and
 * tvm/runtime/c_backend_api.h. */
#include <stddef.h>
#include <stdint.h>

#include <dlpack/dlpack.h>

typedef enum AbiType { /* numbers of the interface */
    ABI_NONE = 0,
    ABI_INT = 1,
    ABI_BOOL = 2,
    ABI_FLOAT = 3,
    ABI_DTYPE = 5,
    ABI_TENSOR_VIEW = 7, /* a DLTensor that the caller keeps */
    ABI_TEXT = 8,        /* a C string that the caller keeps; only as an argument */
    ABI_SMALL_TEXT = 11, /* up to 7 bytes inside the value */
    ABI_OBJECT = 64,     /* this number and greater ones: a counted object */
    ABI_STRING = 65,
    ABI_FUNCTION = 68,
    ABI_SHAPE = 69,
    ABI_TENSOR = 70,
    ABI_ARRAY = 71,
} AbiType;

/* The head of every object. */
typedef struct AbiObject {
    uint64_t counts;
    int32_t type;
    uint32_t padding;
    void (*deleter)(void *self, int flags);
} AbiObject;

typedef struct AbiAny {
    int32_t type;
    uint32_t small_size; /* of a small text; 0 for other types */
    union {
        int64_t integer;
        double real;
        void *pointer;
        const char *text;
        AbiObject *object;
        DLDataType dtype;
        char small[8];
    };
} AbiAny;

typedef struct AbiBytes {
    const char *data;
    size_t size;
} AbiBytes;

typedef struct AbiDims {
    const int64_t *data;
    size_t size;
} AbiDims;

typedef struct AbiStringObject {
    AbiObject head;
    AbiBytes bytes;
} AbiStringObject;

typedef struct AbiShapeObject {
    AbiObject head;
    AbiDims dims;
} AbiShapeObject;

typedef struct AbiTensorObject {
    AbiObject head;
    DLTensor tensor;
} AbiTensorObject;

typedef struct AbiArrayObject {
    AbiObject head;
    const AbiAny *items;
    int64_t count; /* other members follow */
} AbiArrayObject;

typedef struct AbiErrorObject {
    AbiObject head;
    AbiBytes kind, message; /* other members follow */
} AbiErrorObject;

/* What the runtime knows about a type. */
typedef struct AbiTypeInfo {
    int32_t type, depth;
    AbiBytes name; /* other members follow */
} AbiTypeInfo;

/* The type of every exported function. Returns 0, or another number after an error was raised.
 * *result is ABI_NONE before the call. */
typedef int AbiFunction(void *self, const AbiAny *arguments, int32_t count, AbiAny *result);

/* A part of a parallel loop, and its group. */
typedef struct AbiGroup {
    void *sync;
    int32_t task_count;
} AbiGroup;
typedef int AbiTask(int task, AbiGroup *group, void *context);
