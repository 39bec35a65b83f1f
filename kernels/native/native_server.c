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
#include "base/text.h"
#include "kernels/native/native_arguments.h"
#include "kernels/native/native_machine.h"
#include "kernels/native/native_memory.h"
#include "kernels/native/native_results.h"
#include "kernels/native/native_runtime.h"
#include "kernels/process/process_memory.h"
#include "kernels/process/process_server.h"

typedef struct NativeServer {
    NativeRings *rings;
    uint8_t *data;
    Ring commands, answers;
    atomic_bool gone; /* the parent has closed the socket */
    NativeLoaded *loaded;
    NativeMachine *machine;    /* NULL: not needed yet */
    NativeArguments arguments; /* of the call that is not answered yet */
    AbiAny given;              /* what it gave */
    NativeResults measured;    /* the given value, when its tensors are to be fetched */
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

static Error *send_error(NativeServer *server, NativeAnswer kind, Error *owned_error) {
    ByteWriter OWN_BYTES(bytes) = {0};
    byte_write_u32(&bytes, error_code(owned_error));
    byte_write_text(&bytes, error_message(owned_error));
    error_free(owned_error);
    return send_bytes(server, kind, &bytes);
}

static Error *send_nil(NativeServer *server) {
    const NativeValue nil = {.kind = NATIVE_NIL};
    ByteWriter OWN_BYTES(bytes) = {0};
    byte_write_u32(&bytes, 1);
    native_value_write(&bytes, &nil);
    return send_bytes(server, NATIVE_ANSWER_DONE, &bytes);
}

static Error *send_room(NativeServer *server, uint64_t size) {
    ByteWriter OWN_BYTES(bytes) = {0};
    byte_write_u64(&bytes, size);
    return send_bytes(server, NATIVE_ANSWER_ROOM, &bytes);
}

/* Forgets the call. Errors: CONFLICT something outside the call holds one of its arguments. */
static Error *end_call(NativeServer *server) {
    bool kept;
    native_runtime_release_any(&server->given);
    server->measured = (NativeResults){0};
    native_arguments_deinit(&server->arguments, &kept);
    if (kept)
        FAIL(CONFLICT, "keeps an argument after the call, outside the execution: build the model "
                       "with exec_mode=\"bytecode\"");
    return NULL;
}

/* Sends the result. Its tensors go to `place` of the data. */
static Error *send_result(NativeServer *server, uint64_t place) {
    ByteWriter OWN_BYTES(bytes) = {0};
    Error *error =
        native_results_write(&server->given, &server->measured, server->data, place, &bytes);
    Error *kept = end_call(server);
    if (!kept) {
        TRY(error);
        return send_bytes(server, NATIVE_ANSWER_DONE, &bytes);
    }
    error_free(error); /* the other one says more */
    return send_error(server, NATIVE_ANSWER_LAST, kept);
}

/* ---- commands ---- */

static Error *serve_load(NativeServer *server, ByteReader *in) {
    uint64_t place, size;
    char *preload;
    TRY(byte_read_u64(in, &place));
    TRY(byte_read_u64(in, &size));
    if (server->loaded || place > NATIVE_DATA_MAX || size > NATIVE_DATA_MAX - place)
        FAIL(CORRUPT, "a library at a place that it cannot have");
    TRY(byte_read_text(in, RING_PAYLOAD_MAX, &preload));
    Error *error = native_loader_open(server->data + place, size, preload, &server->loaded);
    memory_free(preload);
    TRY(error);
    return send_nil(server);
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

/* Runs a function of the library. */
static Error *run_function(NativeServer *server, const char *name) {
    NativeCallee callee;
    const NativeArguments *arguments = &server->arguments;
    TRY(native_loader_find(server->loaded, name, &callee));
    return native_loader_call(&callee, arguments->items, arguments->count, &server->given);
}

/* Runs a function of the Relax executable that the library holds. */
static Error *run_machine(NativeServer *server, const char *name) {
    AbiObject *function;
    const NativeArguments *arguments = &server->arguments;
    if (!server->machine) TRY(native_machine_create(server->loaded, &server->machine));
    TRY(native_machine_find(server->machine, name, &function));
    return native_runtime_call(function, arguments->items, arguments->count, &server->given);
}

static Error *call(NativeServer *server, const char *name, ByteReader *in) {
    const NativeShared shared = {server->data};
    const bool whole = text_starts_with(name, NATIVE_MACHINE_PREFIX);
    if (!server->loaded) FAIL(CORRUPT, "a call without a library");
    TRY(native_arguments_read(in, &shared, whole, &server->arguments));
    TRY(whole ? run_machine(server, name) : run_function(server, name));
    return native_results_measure(&server->given, &server->measured);
}

static Error *serve_call(NativeServer *server, ByteReader *in) {
    char *name;
    TRY(end_call(server));
    TRY(byte_read_text(in, RING_PAYLOAD_MAX, &name));
    Error *error = call(server, name, in);
    memory_free(name);
    if (!error && server->measured.has_tensors)
        return send_room(server, server->measured.tensor_bytes);
    if (!error) return send_result(server, 0);
    Error *kept = end_call(server);
    if (kept) error_free(kept); /* the call's own error says more */
    return send_error(server, kept ? NATIVE_ANSWER_LAST : NATIVE_ANSWER_ERROR, error);
}

static Error *serve_fetch(NativeServer *server, ByteReader *in) {
    uint64_t place;
    TRY(byte_read_u64(in, &place));
    if (!server->measured.has_tensors) FAIL(CORRUPT, "there is no tensor to fetch");
    if (place % NATIVE_ALIGNMENT || place > NATIVE_DATA_MAX ||
        server->measured.tensor_bytes > NATIVE_DATA_MAX - place)
        FAIL(CORRUPT, "tensors have no room at their place");
    return send_result(server, place);
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
        if (error) TRY(send_error(server, NATIVE_ANSWER_ERROR, error));
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
