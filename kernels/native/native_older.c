#include "kernels/native/native_older.h"

#include <stdio.h>
#include <string.h>

#include "base/allocator.h"

enum { MESSAGE_MAX = 4000 };

static char last_error[MESSAGE_MAX];

void native_older_set_error(const char *text) {
    (void)snprintf(last_error, sizeof last_error, "%s", text ? text : "");
}

int native_older_call_found(void *function, OlderValue *values, int *types, int count,
    OlderValue *out_result, int *out_type) {
    OlderFunction *found = NULL;
    memcpy(&found, &function, sizeof found); /* ISO C has no conversion of an object's address */
    return found(values, types, count, out_result, out_type, NULL);
}

typedef struct Arguments {
    OlderValue *values;
    int *types;
    DLTensor *tensors; /* with the older form of bool */
} Arguments;

static void arguments_deinit(Arguments *arguments) {
    memory_free(arguments->values);
    memory_free(arguments->types);
    memory_free(arguments->tensors);
}

static DLDataType older_dtype(DLDataType dtype) {
    return dtype.code == DLPACK_BOOL ? (DLDataType){kDLUInt, 1, dtype.lanes} : dtype;
}

static Error *set_argument(Arguments *arguments, uint32_t i, const AbiAny *given) {
    OlderValue *value = &arguments->values[i];
    OlderType type = OLDER_NULL;
    switch (given->type) {
    case ABI_NONE:
        break;
    case ABI_INT:
    case ABI_BOOL:
        type = OLDER_INT;
        value->integer = given->integer;
        break;
    case ABI_FLOAT:
        type = OLDER_FLOAT;
        value->real = given->real;
        break;
    case ABI_DTYPE:
        type = OLDER_DTYPE;
        value->dtype = older_dtype(given->dtype);
        break;
    case ABI_TENSOR_VIEW:
        type = OLDER_TENSOR;
        arguments->tensors[i] = *(const DLTensor *)given->pointer;
        arguments->tensors[i].dtype = older_dtype(arguments->tensors[i].dtype);
        value->pointer = &arguments->tensors[i];
        break;
    case ABI_TEXT:
        type = OLDER_TEXT;
        value->text = given->text;
        break;
    default:
        FAIL(UNSUPPORTED,
            "argument %u is a shape, which functions of a library of TVM before 0.21 do not take",
            i);
    }
    arguments->types[i] = (int)type;
    return NULL;
}

static Error *set_arguments(Arguments *arguments, const AbiAny *given, uint32_t count) {
    void *memory;
    const uint32_t room = count ? count : 1;
    TRY(memory_alloc(room, sizeof(OlderValue), &memory));
    arguments->values = memory;
    TRY(memory_alloc(room, sizeof(int), &memory));
    arguments->types = memory;
    TRY(memory_alloc(room, sizeof(DLTensor), &memory));
    arguments->tensors = memory;
    for (uint32_t i = 0; i < count; i++) TRY(set_argument(arguments, i, &given[i]));
    return NULL;
}

static Error *take_result(const OlderValue *value, int type, AbiAny *out) {
    *out = (AbiAny){.type = ABI_NONE};
    switch (type) {
    case OLDER_NULL:
        return NULL;
    case OLDER_INT:
        *out = (AbiAny){.type = ABI_INT, .integer = value->integer};
        return NULL;
    case OLDER_FLOAT:
        *out = (AbiAny){.type = ABI_FLOAT, .real = value->real};
        return NULL;
    case OLDER_DTYPE:
        *out = (AbiAny){.type = ABI_DTYPE, .dtype = value->dtype};
        return NULL;
    default:
        FAIL(UNSUPPORTED, "gave a value of type %d, which is not passed on", type);
    }
}

static Error *call(OlderFunction *function, Arguments *arguments, uint32_t count, AbiAny *out) {
    OlderValue result = {0};
    int type = OLDER_NULL;
    last_error[0] = '\0';
    const int code =
        function(arguments->values, arguments->types, (int)count, &result, &type, NULL);
    if (code == 0) return take_result(&result, type, out);
    if (last_error[0] == '\0') FAIL(FAILED, "returned the error number %d", code);
    FAIL(FAILED, "%s", last_error);
}

Error *native_older_call(
    OlderFunction *function, const AbiAny *arguments, uint32_t count, AbiAny *out_result) {
    Arguments made = {0};
    Error *error = set_arguments(&made, arguments, count);
    if (!error) error = call(function, &made, count, out_result);
    arguments_deinit(&made);
    return error;
}
