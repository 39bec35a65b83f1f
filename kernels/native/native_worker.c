#include "kernels/native/native_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/spin.h"
#include "kernels/device/kernel_stop.h"
#include "kernels/native/native_blocks.h"
#include "kernels/native/native_memory.h"
#include "kernels/process/process_child.h"

enum { LOOK_NS = 5 * 1000 * 1000 };

/* Bytes that the worker keeps between calls. */
typedef struct Kept {
    uint64_t key, place, size;
} Kept;

struct NativeWorker {
    ProcessChild *child;
    int memory; /* the shared file */
    NativeRings *rings;
    uint8_t *data;
    uint64_t data_bytes; /* that the file has */
    Ring commands, answers;
    atomic_bool gone;
    Kept *kept;
    size_t kept_count, kept_capacity;
    uint64_t kept_end;
    ByteWriter answer; /* the last one: results refer to it */
    NativeValue *results;
    size_t result_capacity;
};

/* ---- the end of the worker ---- */

static void worker_gone(void *context) {
    NativeWorker *worker = context;
    atomic_store(&worker->gone, true);
    ring_wake(&worker->rings->commands);
    ring_wake(&worker->rings->answers);
}

bool native_worker_is_alive(const NativeWorker *worker) { return !atomic_load(&worker->gone); }

static bool is_discarded(void) {
    KernelStop *stop = kernel_stop_scope.stop;
    return stop && kernel_stop_get(stop) & KERNEL_STOP_DISCARD;
}

/* Called while this thread waits for an answer: kills the worker of an execution that was thrown
 * away, since nothing else ends a function that never returns. */
static uint64_t look(void *self) {
    NativeWorker *worker = self;
    if (is_discarded()) process_child_kill(worker->child);
    return LOOK_NS;
}

static void end_child(NativeWorker *worker) {
    process_child_kill(worker->child);
    (void)process_child_wait(worker->child);
    atomic_store(&worker->gone, true);
}

static Error *describe_end(NativeWorker *worker) {
    TextBuilder OWN_TEXT(text) = {0};
    end_child(worker);
    if (is_discarded()) return error_abandoned();
    process_child_describe(worker->child, &text);
    FAIL(FAILED, "its process %s", text.size ? text_builder_get(&text) : "is gone");
}

/* ---- shared memory ---- */

/* Makes the file so large that the data has `size` bytes. */
static Error *make_room(NativeWorker *worker, uint64_t size) {
    const uint64_t step = UINT64_C(1) << 20;
    if (size <= worker->data_bytes) return NULL;
    if (size > NATIVE_DATA_MAX)
        FAIL(EXHAUSTED, "a native call needs %llu bytes; %llu are the most",
            (unsigned long long)size, (unsigned long long)NATIVE_DATA_MAX);
    uint64_t rounded = (size + step - 1) / step * step;
    if (ftruncate(worker->memory, (off_t)(NATIVE_DATA + rounded)) != 0)
        FAIL(OUT_OF_MEMORY, "no memory for a native call: %s", strerror(errno));
    worker->data_bytes = rounded;
    return NULL;
}

static Error *share(NativeWorker *worker) {
    worker->memory = memfd_create("layover-native", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (worker->memory < 0 || ftruncate(worker->memory, (off_t)NATIVE_DATA) != 0 ||
        fcntl(worker->memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
        FAIL(IO, "no memory to share with a native worker: %s", strerror(errno));
    TRY(native_map(worker->memory, &worker->rings, &worker->data));
    worker->commands = ring_make_writer(&worker->rings->commands, &worker->gone, spin_limit_ns());
    worker->answers = ring_make_reader(&worker->rings->answers, &worker->gone, spin_limit_ns());
    worker->answers.look = look;
    worker->answers.self = worker;
    return NULL;
}

/* ---- commands ---- */

static Error *post(NativeWorker *worker, NativeCommand command, const ByteWriter *bytes) {
    void *room;
    TRY(byte_writer_check(bytes));
    if (bytes->size > RING_PAYLOAD_MAX)
        FAIL(EXHAUSTED, "the arguments of a native call take %zu bytes; %d are the most",
            bytes->size, RING_PAYLOAD_MAX);
    if (ring_begin(&worker->commands, (uint32_t)bytes->size, &room) != RING_READY)
        return describe_end(worker);
    memcpy(room, bytes->data, bytes->size);
    ring_end(&worker->commands, command, (uint32_t)bytes->size);
    return NULL;
}

static Error *post_place(
    NativeWorker *worker, NativeCommand command, uint64_t place, uint64_t size, const char *text) {
    ByteWriter OWN_BYTES(bytes) = {0};
    byte_write_u64(&bytes, place);
    byte_write_u64(&bytes, size);
    if (text) byte_write_text(&bytes, text);
    return post(worker, command, &bytes);
}

static Error *read_error(ByteReader *reader) {
    char *text;
    uint32_t code;
    TRY(byte_read_u32(reader, &code));
    TRY(byte_read_text(reader, RING_PAYLOAD_MAX, &text));
    Error *error = code > ERROR_NONE && code < ERROR_CODE_COUNT
                       ? error_make((ErrorCode)code, __FILE__, __LINE__, "%s", text)
                       : error_make(ERROR_CORRUPT, __FILE__, __LINE__, "error %u is none", code);
    memory_free(text);
    return error;
}

/* Waits for an answer and copies it: the worker may overwrite the ring. */
static Error *wait_for_answer(NativeWorker *worker, NativeAnswer *out_kind, ByteReader *out) {
    RingRecord record;
    if (ring_next(&worker->answers, &record) != RING_READY) return describe_end(worker);
    worker->answer.size = 0;
    byte_write_bytes(&worker->answer, record.bytes, record.size);
    *out_kind = (NativeAnswer)record.kind;
    ring_done(&worker->answers, &record);
    TRY(byte_writer_check(&worker->answer));
    *out = byte_reader(worker->answer.data, worker->answer.size);
    if (*out_kind == NATIVE_ANSWER_LAST) end_child(worker);
    if (*out_kind == NATIVE_ANSWER_ERROR || *out_kind == NATIVE_ANSWER_LAST) return read_error(out);
    return NULL;
}

/* Checks that a tensor lies in `room` bytes of the data. */
static Error *find_bytes(
    NativeWorker *worker, uint64_t place, uint64_t room, NativeTensor *inout_tensor) {
    uint64_t bytes = native_tensor_bytes(inout_tensor), at = inout_tensor->place;
    if (at < place || at - place > room || bytes > room - (at - place))
        FAIL(CORRUPT, "a tensor of %llu bytes at a place that it cannot have",
            (unsigned long long)bytes);
    inout_tensor->data = worker->data + at;
    return NULL;
}

/* Reads a result and its fields; tensors lie in the `room` bytes at `place`, UINT64_MAX: none. */
static Error *read_results(
    NativeWorker *worker, ByteReader *reader, uint64_t place, uint64_t room) {
    uint32_t count;
    void *array;
    TRY(byte_read_count(reader, 1, &count));
    if (count > NATIVE_VALUES_MAX) FAIL(CORRUPT, "%u values", count);
    if (count > worker->result_capacity) {
        TRY(memory_alloc(count, sizeof(NativeValue), &array));
        memory_free(worker->results);
        worker->results = array;
        worker->result_capacity = count;
    }
    for (uint32_t i = 0; i < count; i++) {
        NativeValue *value = &worker->results[i];
        TRY(native_value_read(reader, value));
        if (value->kind == NATIVE_TENSOR) TRY(find_bytes(worker, place, room, &value->tensor));
    }
    TRY(native_values_check(worker->results, count, 1));
    return byte_reader_check_end(reader);
}

/* A worker whose answers make no sense is of no further use. */
static Error *give_up(NativeWorker *worker, Error *owned_error) {
    end_child(worker);
    return error_wrap(error_recode(owned_error, ERROR_FAILED), "its process answered nonsense");
}

/* ---- life ---- */

static Error *load(NativeWorker *worker, const NativeImage *image) {
    NativeAnswer kind;
    ByteReader reader;
    TRY(make_room(worker, image->size));
    memcpy(worker->data, image->bytes, image->size);
    TRY(post_place(worker, NATIVE_COMMAND_LOAD, 0, image->size, image->preload));
    TRY(wait_for_answer(worker, &kind, &reader));
    if (kind != NATIVE_ANSWER_DONE) FAIL(UNSUPPORTED, "its process does not answer as it should");
    return NULL;
}

Error *native_worker_start(const NativeImage *image, NativeWorker **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(NativeWorker), &memory));
    OWN(NativeWorker, worker) = memory;
    worker->memory = -1;
    TRY(share(worker));
    const ProcessChildOptions options = {.verb = "native-worker",
        .spec = image->name,
        .memory = worker->memory,
        .gone = worker_gone,
        .context = worker};
    TRY(process_child_start(&options, &worker->child));
    TRY_WRAP(load(worker, image), "the native library %s", image->name);
    *out = TAKE(worker);
    return NULL;
}

void native_worker_end(NativeWorker *worker) {
    if (!worker) return;
    if (worker->child) {
        process_child_kill(worker->child);
        process_child_end(worker->child);
    }
    native_unmap(worker->rings, worker->data);
    if (worker->memory >= 0) (void)close(worker->memory);
    memory_free(worker->kept);
    memory_free(worker->results);
    byte_writer_deinit(&worker->answer);
    memory_free(worker);
}

/* ---- calls ---- */

static const Kept *find_kept(const NativeWorker *worker, uint64_t key) {
    for (size_t i = 0; i < worker->kept_count; i++)
        if (worker->kept[i].key == key) return &worker->kept[i];
    return NULL;
}

/* Gives the worker the bytes of a key once; pages of their own, so that they can be protected. */
static Error *keep(NativeWorker *worker, const NativeTensor *tensor, uint64_t *out_place) {
    void *array = worker->kept;
    uint64_t size = native_tensor_bytes(tensor);
    uint64_t whole = (size + NATIVE_PAGE - 1) / NATIVE_PAGE * NATIVE_PAGE;
    TRY(memory_grow(&array, worker->kept_count, &worker->kept_capacity, sizeof(Kept)));
    worker->kept = array;
    TRY(make_room(worker, worker->kept_end + whole));
    if (size) memcpy(worker->data + worker->kept_end, tensor->data, size);
    TRY(post_place(worker, NATIVE_COMMAND_KEEP, worker->kept_end, whole, NULL));
    worker->kept[worker->kept_count++] = (Kept){tensor->key, worker->kept_end, size};
    *out_place = worker->kept_end;
    worker->kept_end += whole;
    return NULL;
}

static Error *place_kept(NativeWorker *worker, NativeValue *arguments, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        NativeTensor *tensor = &arguments[i].tensor;
        if (arguments[i].kind != NATIVE_TENSOR || !tensor->key) continue;
        const Kept *kept = find_kept(worker, tensor->key);
        if (kept)
            tensor->place = kept->place;
        else
            TRY(keep(worker, tensor, &tensor->place));
    }
    return NULL;
}

static Error *send_call(
    NativeWorker *worker, const char *function, const NativeArgumentList *arguments) {
    ByteWriter OWN_BYTES(bytes) = {0};
    byte_write_text(&bytes, function);
    byte_write_u32(&bytes, arguments->count);
    byte_write_u32(&bytes, arguments->value_count);
    for (uint32_t i = 0; i < arguments->value_count; i++)
        native_value_write(&bytes, &arguments->values[i]);
    return post(worker, NATIVE_COMMAND_CALL, &bytes);
}

/* The worker keeps the tensors that a function gave until it is told where to put the bytes. */
static Error *fetch(NativeWorker *worker, ByteReader *room, uint64_t place) {
    uint64_t bytes;
    NativeAnswer kind;
    ByteReader reader;
    TRY(byte_read_u64(room, &bytes));
    place = (place + NATIVE_PAGE - 1) / NATIVE_PAGE * NATIVE_PAGE;
    if (bytes > NATIVE_DATA_MAX - place)
        FAIL(EXHAUSTED, "gave tensors of %llu bytes", (unsigned long long)bytes);
    TRY(make_room(worker, place + bytes));
    TRY(post_place(worker, NATIVE_COMMAND_FETCH, place, bytes, NULL));
    TRY(wait_for_answer(worker, &kind, &reader));
    Error *error = read_results(worker, &reader, place, bytes);
    return error ? give_up(worker, error) : NULL;
}

/* Reads what the function gave. */
static Error *read_given(
    NativeWorker *worker, NativeAnswer kind, ByteReader *reader, uint64_t end) {
    if (kind == NATIVE_ANSWER_ROOM) return fetch(worker, reader, end);
    Error *error = read_results(worker, reader, UINT64_MAX, 0);
    return error ? give_up(worker, error) : NULL;
}

static Error *call(NativeWorker *worker, const char *function, const NativeArgumentList *arguments,
    const NativeBlocks *blocks, NativeReceiver *receiver) {
    NativeAnswer kind;
    ByteReader reader;
    TRY(make_room(worker, blocks->end));
    native_blocks_send(blocks, worker->data);
    TRY(send_call(worker, function, arguments));
    TRY(wait_for_answer(worker, &kind, &reader));
    TRY(native_blocks_check(blocks, worker->data));
    TRY(read_given(worker, kind, &reader, blocks->end));
    TRY(receiver->receive(receiver, worker->results));
    if (!receiver->again) native_blocks_receive(blocks, worker->data);
    return NULL;
}

Error *native_worker_call(NativeWorker *worker, const char *function,
    const NativeArgumentList *arguments, NativeReceiver *receiver) {
    NativeBlocks blocks;
    NativeValue *values = arguments->values;
    const uint32_t count = arguments->value_count;
    if (arguments->count > NATIVE_ARGUMENTS_MAX)
        FAIL(UNSUPPORTED, "a native call of %u arguments; %d are the most", arguments->count,
            NATIVE_ARGUMENTS_MAX);
    if (count > NATIVE_VALUES_MAX)
        FAIL(UNSUPPORTED, "a native call of %u values; %d are the most", count, NATIVE_VALUES_MAX);
    TRY(place_kept(worker, values, count));
    TRY(native_blocks_create(values, count, worker->kept_end, &blocks));
    Error *error = call(worker, function, arguments, &blocks, receiver);
    native_blocks_deinit(&blocks);
    return error;
}
