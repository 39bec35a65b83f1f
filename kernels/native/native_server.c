#include "kernels/native/native_server.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/spin.h"
#include "base/thread.h"
#include "kernels/native/native_loader.h"
#include "kernels/native/native_memory.h"
#include "kernels/native/native_value.h"
#include "kernels/process/process_memory.h"
#include "kernels/process/process_server.h"

typedef struct NativeServer {
    NativeRings *rings;
    uint8_t *data;
    Ring commands, answers;
    atomic_bool gone; /* the parent has closed the socket */
    NativeLoaded *loaded;
    AbiAny given; /* the tensor that the last call gave and that is not fetched yet */
} NativeServer;

/* ---- the beginning ---- */

static Error *open_memory(NativeServer *server) {
    const struct rlimit none = {0};
    TRY(process_server_check_start(F_SEAL_SHRINK,
        "native-worker: layover itself starts it, for models with native functions"));
    (void)setrlimit(RLIMIT_CORE, &none);
    TRY(native_map(PROCESS_MEMORY, &server->rings, &server->data));
    server->commands = ring_make_reader(&server->rings->commands, &server->gone, spin_limit_ns());
    server->answers = ring_make_writer(&server->rings->answers, &server->gone, spin_limit_ns());
    return NULL;
}

/* Waits for the end of the parent's side, upon which the process is killed: also in the middle of a
 * function that never returns. */
static void *watch_parent(void *argument) {
    char byte;
    ssize_t size;
    (void)argument;
    do size = recv(PROCESS_SOCKET, &byte, sizeof byte, 0);
    while (size > 0 || (size < 0 && errno == EINTR));
    (void)kill(getpid(), SIGKILL);
    return NULL;
}

/* ---- answers ---- */

/* Waits only for a parent that has ended: then watch_parent ends the process. */
static Error *send_bytes(NativeServer *server, NativeAnswer kind, const ByteWriter *bytes) {
    void *room;
    TRY(byte_writer_check(bytes));
    if (bytes->size > RING_PAYLOAD_MAX) FAIL(EXHAUSTED, "an answer of %zu bytes", bytes->size);
    if (ring_begin(&server->answers, (uint32_t)bytes->size, &room) != RING_READY)
        FAIL(CORRUPT, "the parent's cursor makes no sense");
    if (bytes->size) memcpy(room, bytes->data, bytes->size);
    ring_end(&server->answers, kind, (uint32_t)bytes->size);
    return NULL;
}

static Error *send_error(NativeServer *server, Error *owned_error) {
    ByteWriter OWN_BYTES(bytes) = {0};
    byte_write_u32(&bytes, error_code(owned_error));
    byte_write_text(&bytes, error_message(owned_error));
    error_free(owned_error);
    return send_bytes(server, NATIVE_ANSWER_ERROR, &bytes);
}

static Error *send_value(NativeServer *server, const NativeValue *value) {
    ByteWriter OWN_BYTES(bytes) = {0};
    native_value_write(&bytes, value);
    return send_bytes(server, NATIVE_ANSWER_DONE, &bytes);
}

static Error *send_room(NativeServer *server, uint64_t size) {
    ByteWriter OWN_BYTES(bytes) = {0};
    byte_write_u64(&bytes, size);
    return send_bytes(server, NATIVE_ANSWER_ROOM, &bytes);
}

/* ---- arguments ---- */

/* The objects that arguments of one call refer to. */
typedef struct Arguments {
    AbiAny *items;
    DLTensor *tensors;
    Shape *shapes;
    AbiShapeObject *shape_objects;
    uint32_t count;
} Arguments;

static void arguments_deinit(Arguments *arguments) {
    memory_free(arguments->items);
    memory_free(arguments->tensors);
    memory_free(arguments->shapes);
    memory_free(arguments->shape_objects);
}

static Error *arguments_create(uint32_t count, Arguments *out) {
    void *memory;
    const uint32_t room = count ? count : 1;
    TRY(memory_alloc(room, sizeof(AbiAny), &memory));
    out->items = memory;
    TRY(memory_alloc(room, sizeof(DLTensor), &memory));
    out->tensors = memory;
    TRY(memory_alloc(room, sizeof(Shape), &memory));
    out->shapes = memory;
    TRY(memory_alloc(room, sizeof(AbiShapeObject), &memory));
    out->shape_objects = memory;
    out->count = count;
    return NULL;
}

static DLDataType dtype_of(DType dtype) {
    DLDataType out = {.lanes = 1};
    (void)dtype_to_dlpack(dtype, &out.code, &out.bits);
    return out;
}

static Error *set_tensor(
    NativeServer *server, Arguments *arguments, uint32_t i, const NativeTensor *tensor) {
    uint64_t bytes = native_tensor_bytes(tensor);
    if (tensor->place > NATIVE_DATA_MAX || bytes > NATIVE_DATA_MAX - tensor->place)
        FAIL(CORRUPT, "argument %u lies outside the shared memory", i);
    arguments->shapes[i] = tensor->shape;
    arguments->tensors[i] = (DLTensor){.data = server->data + tensor->place,
        .device = {kDLCPU, 0},
        .ndim = (int32_t)tensor->shape.rank,
        .dtype = dtype_of(tensor->dtype),
        .shape = arguments->shapes[i].dims};
    arguments->items[i] = (AbiAny){.type = ABI_TENSOR_VIEW, .pointer = &arguments->tensors[i]};
    return NULL;
}

/* The object lives as long as the call; its counts never reach zero. */
static void set_shape(Arguments *arguments, uint32_t i, const Shape *shape) {
    const uint64_t held = (UINT64_C(1) << 32) + (1 << 20);
    arguments->shapes[i] = *shape;
    arguments->shape_objects[i] = (AbiShapeObject){.head = {.counts = held, .type = ABI_SHAPE},
        .dims = {arguments->shapes[i].dims, shape->rank}};
    arguments->items[i] = (AbiAny){.type = ABI_SHAPE, .object = &arguments->shape_objects[i].head};
}

static Error *set_argument(
    NativeServer *server, Arguments *arguments, uint32_t i, const NativeValue *value) {
    AbiAny *item = &arguments->items[i];
    switch (value->kind) {
    case NATIVE_NIL:
    case NATIVE_KIND_COUNT:
        *item = (AbiAny){.type = ABI_NONE};
        return NULL;
    case NATIVE_INT:
        *item = (AbiAny){.type = ABI_INT, .integer = value->integer};
        return NULL;
    case NATIVE_BOOL:
        *item = (AbiAny){.type = ABI_BOOL, .integer = value->integer};
        return NULL;
    case NATIVE_FLOAT:
        *item = (AbiAny){.type = ABI_FLOAT, .real = value->real};
        return NULL;
    case NATIVE_DTYPE:
        *item = (AbiAny){.type = ABI_DTYPE, .dtype = dtype_of(value->dtype)};
        return NULL;
    case NATIVE_STRING:
        *item = (AbiAny){.type = ABI_TEXT, .text = value->string.data};
        return NULL;
    case NATIVE_SHAPE:
        set_shape(arguments, i, &value->shape);
        return NULL;
    case NATIVE_TENSOR:
        return set_tensor(server, arguments, i, &value->tensor);
    }
    return NULL;
}

/* ---- results ---- */

static Error *take_shape(const int64_t *dims, size_t rank, Shape *out) {
    int64_t count;
    if (rank > SHAPE_RANK_MAX) FAIL(UNSUPPORTED, "gave a shape of %zu dimensions", rank);
    *out = shape_make((uint32_t)rank, dims);
    return shape_count(out, &count);
}

static bool is_compact(const DLTensor *tensor) {
    int64_t step = 1;
    if (!tensor->strides) return true;
    for (int32_t i = tensor->ndim - 1; i >= 0; i--) {
        if (tensor->shape[i] != 1 && tensor->strides[i] != step) return false;
        step *= tensor->shape[i];
    }
    return true;
}

static Error *take_tensor(const DLTensor *tensor, NativeValue *out) {
    *out = (NativeValue){.kind = NATIVE_TENSOR};
    out->tensor.dtype =
        dtype_from_dlpack(tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes);
    if (dtype_bits(out->tensor.dtype) == 0 || dtype_bits(out->tensor.dtype) % 8 != 0)
        FAIL(UNSUPPORTED, "gave a tensor of an element type that is not passed on");
    if (tensor->device.device_type != kDLCPU || !is_compact(tensor))
        FAIL(UNSUPPORTED, "gave a tensor that is not compact in host memory");
    TRY(take_shape(tensor->shape, (size_t)tensor->ndim, &out->tensor.shape));
    out->tensor.data = (uint8_t *)tensor->data + tensor->byte_offset;
    return NULL;
}

static Error *take_result(const AbiAny *result, NativeValue *out) {
    *out = (NativeValue){.kind = NATIVE_NIL};
    switch (result->type) {
    case ABI_NONE:
        return NULL;
    case ABI_INT:
        *out = (NativeValue){.kind = NATIVE_INT, .integer = result->integer};
        return NULL;
    case ABI_BOOL:
        *out = (NativeValue){.kind = NATIVE_BOOL, .integer = result->integer != 0};
        return NULL;
    case ABI_FLOAT:
        *out = (NativeValue){.kind = NATIVE_FLOAT, .real = result->real};
        return NULL;
    case ABI_DTYPE:
        out->kind = NATIVE_DTYPE;
        out->dtype = dtype_from_dlpack(result->dtype.code, result->dtype.bits, result->dtype.lanes);
        if (out->dtype == DTYPE_NONE) FAIL(UNSUPPORTED, "gave an unknown element type");
        return NULL;
    case ABI_SMALL_TEXT:
        out->kind = NATIVE_STRING;
        out->string.data = result->small;
        out->string.size = result->small_size < sizeof result->small ? result->small_size : 0;
        return NULL;
    case ABI_STRING: {
        const AbiBytes *bytes = &((const AbiStringObject *)result->object)->bytes;
        out->kind = NATIVE_STRING;
        out->string.data = bytes->data;
        out->string.size = bytes->size;
        return NULL;
    }
    case ABI_SHAPE: {
        const AbiDims *dims = &((const AbiShapeObject *)result->object)->dims;
        out->kind = NATIVE_SHAPE;
        return take_shape(dims->data, dims->size, &out->shape);
    }
    case ABI_TENSOR:
        return take_tensor(&((const AbiTensorObject *)result->object)->tensor, out);
    default:
        FAIL(UNSUPPORTED, "gave a value of type %d, which is not passed on", result->type);
    }
}

static void drop_given(NativeServer *server) {
    if (server->given.type >= ABI_OBJECT) native_loader_release(server->given.object);
    server->given = (AbiAny){0};
}

/* ---- commands ---- */

static Error *serve_load(NativeServer *server, ByteReader *in) {
    uint64_t place, size;
    char *preload;
    NativeValue nil = {.kind = NATIVE_NIL};
    TRY(byte_read_u64(in, &place));
    TRY(byte_read_u64(in, &size));
    if (server->loaded || place > NATIVE_DATA_MAX || size > NATIVE_DATA_MAX - place)
        FAIL(CORRUPT, "a library at a place that it cannot have");
    TRY(byte_read_text(in, RING_PAYLOAD_MAX, &preload));
    Error *error = native_loader_open(server->data + place, size, preload, &server->loaded);
    memory_free(preload);
    TRY(error);
    return send_value(server, &nil);
}

static Error *serve_keep(NativeServer *server, ByteReader *in) {
    uint64_t place, size;
    TRY(byte_read_u64(in, &place));
    TRY(byte_read_u64(in, &size));
    if (place > NATIVE_DATA_MAX || size > NATIVE_DATA_MAX - place)
        FAIL(CORRUPT, "bytes to keep at a place that they cannot have");
    if (size && mprotect(server->data + place, size, PROT_READ) != 0)
        FAIL(IO, "kept bytes cannot be protected: %s", strerror(errno));
    return NULL;
}

static Error *read_arguments(
    NativeServer *server, ByteReader *in, uint32_t count, Arguments *arguments) {
    TRY(arguments_create(count, arguments));
    for (uint32_t i = 0; i < count; i++) {
        NativeValue value;
        TRY(native_value_read(in, &value));
        TRY(set_argument(server, arguments, i, &value));
    }
    return byte_reader_check_end(in);
}

static Error *send_result(NativeServer *server) {
    NativeValue value;
    Error *error = take_result(&server->given, &value);
    if (!error && value.kind == NATIVE_TENSOR)
        return send_room(server, native_tensor_bytes(&value.tensor));
    if (!error) error = send_value(server, &value);
    drop_given(server);
    return error;
}

static Error *run_function(
    NativeServer *server, const NativeCallee *callee, const Arguments *arguments) {
    drop_given(server);
    TRY(native_loader_call(callee, arguments->items, arguments->count, &server->given));
    return send_result(server);
}

static Error *serve_call(NativeServer *server, ByteReader *in) {
    char *name;
    uint32_t count;
    NativeCallee callee;
    Arguments arguments = {0};
    TRY(byte_read_text(in, RING_PAYLOAD_MAX, &name));
    Error *error = byte_read_count(in, 1, &count);
    if (!error && !server->loaded)
        error = error_make(ERROR_CORRUPT, __FILE__, __LINE__, "a call without a library");
    if (!error) error = native_loader_find(server->loaded, name, &callee);
    if (!error) error = read_arguments(server, in, count, &arguments);
    if (!error) error = run_function(server, &callee, &arguments);
    arguments_deinit(&arguments);
    memory_free(name);
    return error;
}

static Error *serve_fetch(NativeServer *server, ByteReader *in) {
    uint64_t place;
    NativeValue value;
    TRY(byte_read_u64(in, &place));
    if (server->given.type != ABI_TENSOR) FAIL(CORRUPT, "there is no tensor to fetch");
    TRY(take_result(&server->given, &value));
    uint64_t bytes = native_tensor_bytes(&value.tensor);
    if (place > NATIVE_DATA_MAX || bytes > NATIVE_DATA_MAX - place)
        FAIL(CORRUPT, "a tensor has no room at its place");
    if (bytes) memcpy(server->data + place, value.tensor.data, bytes);
    value.tensor.place = place;
    Error *error = send_value(server, &value);
    drop_given(server);
    return error;
}

static Error *serve_record(NativeServer *server, uint32_t kind, ByteReader *in) {
    switch (kind) {
    case NATIVE_COMMAND_LOAD:
        return serve_load(server, in);
    case NATIVE_COMMAND_KEEP:
        return serve_keep(server, in);
    case NATIVE_COMMAND_CALL:
        return serve_call(server, in);
    case NATIVE_COMMAND_FETCH:
        return serve_fetch(server, in);
    default:
        FAIL(CORRUPT, "a command of kind %u is none", kind);
    }
}

/* Serves until the parent ends. */
static Error *serve(NativeServer *server) {
    for (;;) {
        RingRecord record;
        if (ring_next(&server->commands, &record) != RING_READY)
            FAIL(CORRUPT, "native-worker: the parent's cursor makes no sense");
        ByteReader in = byte_reader(record.bytes, record.size);
        Error *error = serve_record(server, record.kind, &in);
        ring_done(&server->commands, &record);
        if (error && record.kind == NATIVE_COMMAND_KEEP) return error; /* nobody reads an answer */
        if (error) TRY(send_error(server, error));
    }
}

Error *native_server_run(void) {
    NativeServer server = {0};
    pthread_t watcher;
    TRY(open_memory(&server));
    if (!thread_start(&watcher, "parent", watch_parent, NULL))
        FAIL(OUT_OF_MEMORY, "the system gives no more threads");
    return serve(&server);
}
