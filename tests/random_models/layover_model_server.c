/* layover-model-server: compiles and runs models that come on standard input, and answers on
 * standard output. tests/random_models/compare.py starts it once and sends it one model after the
 * other: a process for each would take longer than the models do.
 *
 * A frame is a u64 size and that many bytes, little-endian. A request: the model (u32 size, bytes),
 * its inputs (u32 count, values), u8 whether it also runs on sim:0, u16 the stop: thousandths of
 * its instructions that run on one device before the other goes on; above 1000: no stop. An
 * answer: runs, each u8 1, its name, u8 whether it worked, then its outputs (u32 count, values) or
 * the error's code and message; behind the last run u8 0. A value: u8 kind (0 nil, 1 tensor: u8
 * element type, u8 rank, i64 each dimension, u64 size, bytes; 2 list: u32 count, values). Strings
 * have the bytes of kernels/tensor/string_tensor.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "compiler/compile.h"
#include "kernels/registry/device_registry.h"
#include "kernels/tensor/string_tensor.h"
#include "serialize/checkpoint/checkpoint.h"
#include "vm/objects/adt.h"
#include "vm/execution/execution.h"
#include "vm/objects/list.h"

enum { PORTS_MAX = 64, DEPTH_MAX = 4, NO_STOP = 1000, FRAME_SIZE_MAX = 1 << 28 };
enum { KIND_NIL = 0, KIND_TENSOR = 1, KIND_LIST = 2 };

static const ExecutionOptions default_options = {0};

typedef struct Request {
    const uint8_t *model;
    uint32_t model_size, input_count;
    Value inputs[PORTS_MAX];
    uint8_t with_sim;
    uint16_t stop;
} Request;

typedef struct Machine {
    WorkerPool *pool;
    Device *host, *sim;
} Machine;

static Error *read_shape(ByteReader *reader, Shape *out) {
    uint8_t rank;
    TRY(byte_read_u8(reader, &rank));
    if (rank > SHAPE_RANK_MAX) FAIL(CORRUPT, "an input of rank %u", rank);
    *out = (Shape){.rank = rank};
    for (uint8_t i = 0; i < rank; i++) TRY(byte_read_i64(reader, &out->dims[i]));
    return NULL;
}

static Error *read_tensor(ByteReader *reader, Value *out) {
    uint8_t dtype;
    uint64_t size;
    Shape shape;
    const uint8_t *data;
    OWN(Tensor, tensor) = NULL;
    TRY(byte_read_u8(reader, &dtype));
    TRY(read_shape(reader, &shape));
    TRY(byte_read_u64(reader, &size));
    TRY(byte_read_view(reader, size, &data));
    if (dtype_bits((DType)dtype) == 0)
        TRY(tensor_create_bytes_on_host(device_host(), (DType)dtype, &shape, size, &tensor));
    else
        TRY(tensor_create_on_host(device_host(), (DType)dtype, &shape, &tensor));
    if (tensor_bytes(tensor) != size) FAIL(CORRUPT, "an input of %zu bytes", (size_t)size);
    if (size > 0) memcpy(tensor_data(tensor), data, size);
    *out = value_object(OBJECT_TENSOR, TAKE(tensor));
    return NULL;
}

static Error *read_list(ByteReader *reader, Value *out) {
    uint32_t count;
    OWN(List, list) = NULL;
    TRY(byte_read_u32(reader, &count));
    TRY(list_create(NULL, 0, &list));
    for (uint32_t i = 0; i < count; i++) {
        uint8_t kind;
        Value item;
        TRY(byte_read_u8(reader, &kind));
        if (kind != KIND_TENSOR) FAIL(CORRUPT, "an item of kind %u", kind);
        TRY(read_tensor(reader, &item));
        TRY(list_append(list, item));
    }
    *out = value_object(OBJECT_LIST, TAKE(list));
    return NULL;
}

static Error *read_value(ByteReader *reader, Value *out) {
    uint8_t kind;
    TRY(byte_read_u8(reader, &kind));
    *out = value_nil();
    if (kind == KIND_TENSOR) return read_tensor(reader, out);
    if (kind == KIND_LIST) return read_list(reader, out);
    return NULL;
}

static Error *read_request(ByteReader *reader, Request *request) {
    TRY(byte_read_u32(reader, &request->model_size));
    TRY(byte_read_view(reader, request->model_size, &request->model));
    uint32_t count;
    TRY(byte_read_u32(reader, &count));
    if (count > PORTS_MAX) FAIL(CORRUPT, "%u inputs", count);
    for (uint32_t i = 0; i < count; i++) {
        TRY(read_value(reader, &request->inputs[i]));
        request->input_count++;
    }
    TRY(byte_read_u8(reader, &request->with_sim));
    return byte_read_u16(reader, &request->stop);
}

static Error *write_tensor(ByteWriter *writer, const Tensor *tensor) {
    OWN(Tensor, copy) = NULL;
    const uint64_t size = tensor_bytes(tensor);
    byte_write_u8(writer, KIND_TENSOR);
    byte_write_u8(writer, (uint8_t)tensor->dtype);
    byte_write_u8(writer, (uint8_t)tensor->shape.rank);
    for (uint32_t i = 0; i < tensor->shape.rank; i++) byte_write_i64(writer, tensor->shape.dims[i]);
    byte_write_u64(writer, size);
    if (size == 0) return NULL;
    Shape bytes = {.rank = 1, .dims = {(int64_t)size}};
    TRY(tensor_create_on_host(device_host(), DTYPE_UINT8, &bytes, &copy));
    TRY(tensor_copy_to_host(tensor, tensor_data(copy)));
    byte_write_bytes(writer, tensor_data(copy), size);
    return NULL;
}

/* An output of ONNX: a tensor, a list of tensors, or nothing. */
static Error *write_value(ByteWriter *writer, const Value *value) {
    if (value_is(value, OBJECT_TENSOR)) return write_tensor(writer, value->tensor);
    if (value->tag == VALUE_NIL) {
        byte_write_u8(writer, KIND_NIL);
        return NULL;
    }
    if (!value_is(value, OBJECT_LIST)) FAIL(INTERNAL, "an output of kind %d", value->kind);
    byte_write_u8(writer, KIND_LIST);
    byte_write_u32(writer, value->list->count);
    for (uint32_t i = 0; i < value->list->count; i++) {
        const Value *item = &value->list->items[i];
        if (!value_is(item, OBJECT_TENSOR)) FAIL(INTERNAL, "an item of kind %d", item->kind);
        TRY(write_tensor(writer, item->tensor));
    }
    return NULL;
}

static Error *write_outputs(ByteWriter *writer, const Execution *execution) {
    const Value *result = execution_get_result(execution);
    const Function *function =
        &execution_get_residency(execution)->executable->functions[execution_get_entry(execution)];
    const uint32_t count = function->result_count;
    byte_write_u32(writer, count);
    if (count == 1) return write_value(writer, result);
    if (!value_is(result, OBJECT_ADT) || result->adt->count != count)
        FAIL(INTERNAL, "not a tuple of %u outputs", count);
    for (uint32_t i = 0; i < count; i++) TRY(write_value(writer, &result->adt->fields[i]));
    return NULL;
}

static Error *start(Residency *residency, const Request *request, Execution **out) {
    uint32_t function;
    TRY(executable_find_function(residency->executable, "main", &function));
    return execution_create(
        residency, &default_options, function, request->inputs, request->input_count, out);
}

static Error *run_to_end(Execution *execution) {
    RunResult result;
    TRY(execution_run(execution, (Budget){0}, &result));
    if (result.kind != RUN_FINISHED) FAIL(INTERNAL, "it does not finish");
    return NULL;
}

/* The execution goes on with nothing but a checkpoint's bytes, on another residency. */
static Error *move(Execution *from, Residency *to, Execution **out) {
    ByteWriter OWN_BYTES(file) = {0};
    OWN(Snapshot, snapshot) = NULL;
    OWN(Container, container) = NULL;
    TRY(snapshot_take(from, &snapshot));
    TRY(checkpoint_write_memory(snapshot, NULL, &file));
    TRY(container_open_memory(CONTAINER_CHECKPOINT, file.data, file.size, &container));
    return checkpoint_read(container, NULL, CHUNK_VERIFY_SHA256, to, &default_options, NULL, out);
}

typedef struct Run {
    const char *name;
    Residency *residency, *other; /* other: NULL, or where it goes on after the stop */
    uint64_t stop;                /* instructions */
} Run;

static Error *run_into(
    const Run *run, const Request *request, ByteWriter *outputs, uint64_t *out_instructions) {
    OWN(Execution, execution) = NULL;
    OWN(Execution, moved) = NULL;
    TRY(start(run->residency, request, &execution));
    if (run->other) {
        RunResult result;
        TRY(execution_run(execution, (Budget){run->stop}, &result));
        if (result.kind != RUN_SUSPENDED) FAIL(INTERNAL, "it does not stop");
        TRY(move(execution, run->other, &moved));
    }
    Execution *last = moved ? moved : execution;
    TRY(run_to_end(last));
    *out_instructions = execution_get_counters(last).instructions;
    return write_outputs(outputs, last);
}

static void write_error(ByteWriter *answer, Error *owned_error) {
    byte_write_u8(answer, 0);
    byte_write_text(answer, error_info(error_code(owned_error))->name);
    byte_write_text(answer, error_message(owned_error));
    error_free(owned_error);
}

/* Appends the run to the answer; instructions 0 when it failed. */
static uint64_t answer_run(const Run *run, const Request *request, ByteWriter *answer) {
    ByteWriter OWN_BYTES(outputs) = {0};
    uint64_t instructions = 0;
    byte_write_u8(answer, 1);
    byte_write_text(answer, run->name);
    Error *error = run_into(run, request, &outputs, &instructions);
    if (!error) error = byte_writer_check(&outputs);
    if (error) {
        write_error(answer, error);
        return 0;
    }
    byte_write_u8(answer, 1);
    byte_write_bytes(answer, outputs.data, outputs.size);
    return instructions;
}

static Error *answer_model(const Machine *machine, const Request *request, ByteWriter *answer) {
    CompileOptions options = {.folder = NULL};
    OWN(Executable, executable) = NULL;
    OWN(Residency, cpu) = NULL;
    OWN(Residency, sim) = NULL;
    TRY(compile_source("onnx", request->model, request->model_size, &options, &executable));
    TRY(residency_create(executable, machine->host, machine->host, machine->pool, &cpu));
    uint64_t count = answer_run(&(Run){.name = "cpu", .residency = cpu}, request, answer);
    if (count == 0 || !request->with_sim) return NULL;
    TRY(residency_create(executable, machine->host, machine->sim, machine->pool, &sim));
    (void)answer_run(&(Run){.name = "sim", .residency = sim}, request, answer);
    if (request->stop > NO_STOP || count < 2) return NULL;
    uint64_t stop = 1 + (count - 2) * request->stop / NO_STOP;
    (void)answer_run(&(Run){"cpu, sim", cpu, sim, stop}, request, answer);
    (void)answer_run(&(Run){"sim, cpu", sim, cpu, stop}, request, answer);
    return NULL;
}

static Error *answer_frame(
    const Machine *machine, const uint8_t *data, size_t size, ByteWriter *answer) {
    ByteReader reader = byte_reader(data, size);
    Request request = {0};
    Error *error = read_request(&reader, &request);
    bool asked = error == NULL;
    if (asked) error = answer_model(machine, &request, answer);
    for (uint32_t i = 0; i < request.input_count; i++) value_release(&request.inputs[i]);
    if (!error) return NULL;
    if (!asked) return error;
    byte_write_u8(answer, 1);
    byte_write_text(answer, "compile");
    write_error(answer, error);
    return NULL;
}

/* False at the end of the input. */
static bool read_exactly(void *to, size_t size) { return fread(to, 1, size, stdin) == size; }

static Error *serve_one(const Machine *machine, uint64_t size) {
    ByteWriter OWN_BYTES(answer) = {0};
    uint8_t *data = malloc(size + 1);
    if (!data) FAIL(EXHAUSTED, "no memory for a request");
    Error *error = NULL;
    if (read_exactly(data, size)) error = answer_frame(machine, data, size, &answer);
    free(data);
    TRY(error);
    byte_write_u8(&answer, 0);
    TRY(byte_writer_check(&answer));
    uint64_t answer_size = answer.size;
    if (fwrite(&answer_size, sizeof answer_size, 1, stdout) != 1 ||
        fwrite(answer.data, 1, answer.size, stdout) != answer.size || fflush(stdout) != 0)
        FAIL(IO, "the answer cannot be written");
    return NULL;
}

static Error *serve(void) {
    OWN(WorkerPool, pool) = NULL;
    OWN(Device, host) = NULL;
    OWN(Device, sim) = NULL;
    TRY(worker_pool_create("server", 1, &pool));
    TRY(device_open("cpu", &host));
    TRY(device_open("sim:0", &sim));
    Machine machine = {pool, host, sim};
    for (uint64_t size; read_exactly(&size, sizeof size);) {
        if (size > FRAME_SIZE_MAX) FAIL(CORRUPT, "a frame that is too large");
        TRY(serve_one(&machine, size));
    }
    return NULL;
}

int main(void) {
    Error *error = serve();
    if (error) fprintf(stderr, "layover-model-server: %s\n", error_message(error));
    bool failed = error != NULL;
    error_free(error);
    return failed ? 1 : 0;
}
