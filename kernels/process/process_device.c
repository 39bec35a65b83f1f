#include "kernels/process/process_device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/spin.h"
#include "kernels/process/process_internal.h"

static ProcessDevice *device_of(ProcessPeer *peer) {
    return (ProcessDevice *)((char *)peer - offsetof(ProcessDevice, peer));
}

/* ---- the end of the worker ---- */

static void wake_all(ProcessDevice *device) {
    (void)pthread_mutex_lock(&device->mutex);
    bool may_wake = device->may_wake;
    (void)pthread_mutex_unlock(&device->mutex);
    if (may_wake) process_lending_wake(device->lending);
}

static void worker_gone(void *context) {
    ProcessDevice *device = context;
    atomic_store(&device->peer.gone, true);
    wake_all(device);
}

static void give_up(ProcessPeer *peer, const char *why) {
    ProcessDevice *device = device_of(peer);
    char *copy;
    Error *error = memory_copy_text(why, &copy);
    (void)pthread_mutex_lock(&device->mutex);
    if (!error && !device->why) device->why = TAKE(copy);
    (void)pthread_mutex_unlock(&device->mutex);
    if (error)
        error_free(error);
    else
        memory_free(copy);
    atomic_store(&peer->gone, true);
    process_child_kill(device->child);
    wake_all(device);
}

/* Called when the worker's socket is closed: a killed process closes its socket before the parent
 * learns of its end. */
static void hung_up(ProcessPeer *peer) {
    if (process_child_wait(device_of(peer)->child))
        atomic_store(&peer->gone, true);
    else
        give_up(peer, "does not listen");
}

/* The result is ignored: a worker that has ended needs no wake-up. */
static void nudge(ProcessPeer *peer, uint32_t channel) {
    (void)!send(
        process_child_socket(device_of(peer)->child), &channel, sizeof channel, MSG_NOSIGNAL);
}

static Error *describe(ProcessPeer *peer) {
    ProcessDevice *device = device_of(peer);
    TextBuilder OWN_TEXT(text) = {0};
    (void)pthread_mutex_lock(&device->mutex);
    if (device->why) text_append(&text, device->why);
    (void)pthread_mutex_unlock(&device->mutex);
    if (!text.size) process_child_describe(device->child, &text);
    FAIL(DEVICE_LOST, "%s is lost: its worker process %s", peer->name,
        text.size ? text_builder_get(&text) : "is gone");
}

/* ---- opening ---- */

/* The memory is sealed, since a reader of memory that shrinks would get SIGBUS. */
static Error *share_memory(ProcessDevice *device, int descriptor) {
    const size_t size = sizeof(ProcessShared);
    if (descriptor < 0 || ftruncate(descriptor, (off_t)size) != 0 ||
        fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        FAIL(IO, "no memory to share with a worker process: %s", strerror(errno));
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
    if (memory == MAP_FAILED)
        FAIL(OUT_OF_MEMORY, "no memory to share with a worker process: %s", strerror(errno));
    device->shared = memory;
    device->shared->magic = PROCESS_MAGIC;
    return NULL;
}

static Error *start_worker(ProcessDevice *device, const char *spec) {
    int descriptor = memfd_create("layover-worker", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    Error *error = share_memory(device, descriptor);
    const ProcessChildOptions options = {.verb = "worker",
        .spec = spec,
        .memory = descriptor,
        .gone = worker_gone,
        .context = device};
    if (!error) error = process_child_start(&options, &device->child);
    if (descriptor >= 0) (void)close(descriptor);
    return error;
}

static Error *fail_early(const ProcessDevice *device) {
    FAIL(DEVICE_LOST, "the worker process of %s ended before it had opened the device",
        device->base.name);
}

static Error *greet(const ProcessDevice *device, uint64_t spin_ns) {
    const ProcessHello hello = {.magic = PROCESS_MAGIC,
        .version = PROCESS_WIRE_VERSION,
        .channel_count = PROCESS_CHANNELS_MAX,
        .bytes = sizeof(ProcessShared),
        .spin_ns = spin_ns};
    int socket = process_child_socket(device->child);
    if (send(socket, &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) return fail_early(device);
    return NULL;
}

/* Clears functions that the device in the worker does not have. */
static void leave_out(DeviceClass *class_, uint8_t has) {
    if (!(has & PROCESS_HAS_PACKING)) {
        class_->pack_rule = NULL;
        class_->pack = NULL;
    }
    class_->stops_kernels = has & PROCESS_HAS_STOPS;
    if (has & PROCESS_HAS_QUEUES) return;
    class_->stream_create = NULL;
    class_->stream_destroy = NULL;
    class_->stream_synchronize = NULL;
    class_->event_create = NULL;
    class_->event_destroy = NULL;
    class_->event_record = NULL;
    class_->event_wait = NULL;
    class_->event_synchronize = NULL;
    class_->event_elapsed = NULL;
}

/* Reads u32 version, u8 opened; then the determinism class and the device's abilities, or the
 * error. */
static Error *read_welcome(ProcessDevice *device, ByteReader *reader) {
    uint32_t version;
    uint8_t opened, has;
    Error *refusal = NULL;
    TRY(byte_read_u32(reader, &version));
    if (version != PROCESS_WIRE_VERSION)
        FAIL(UNSUPPORTED, "the worker process speaks version %u, this one speaks %d", version,
            PROCESS_WIRE_VERSION);
    TRY(byte_read_u8(reader, &opened));
    if (!opened) {
        TRY(process_wire_read_error(reader, &refusal));
        return refusal;
    }
    TRY(byte_read_text(reader, PROCESS_TEXT_MAX, &device->determinism_class));
    TRY(byte_read_u8(reader, &has));
    leave_out(&device->own_class, has);
    return byte_reader_check_end(reader);
}

/* Waits as long as the driver takes to open. If the worker ends, its socket closes and ends the
 * wait. */
static Error *hear_welcome(ProcessDevice *device) {
    uint8_t bytes[PROCESS_WELCOME_MAX];
    ssize_t size;
    do size = recv(process_child_socket(device->child), bytes, sizeof bytes, 0);
    while (size < 0 && errno == EINTR);
    if (size <= 0) return fail_early(device);
    ByteReader reader = byte_reader(bytes, (size_t)size);
    Error *error = read_welcome(device, &reader);
    if (error_code(error) == ERROR_CORRUPT && !device->determinism_class)
        return error_wrap(error, "what the worker process of %s answers", device->base.name);
    return error;
}

static Error *open_worker(ProcessDevice *device, const char *spec) {
    uint64_t spin_ns = spin_limit_ns();
    TRY(start_worker(device, spec));
    TRY(greet(device, spin_ns));
    TRY(hear_welcome(device));
    TRY(process_lending_create(&device->peer, device->shared, process_child_socket(device->child),
        spin_ns, &device->lending));
    (void)pthread_mutex_lock(&device->mutex);
    device->may_wake = true;
    (void)pthread_mutex_unlock(&device->mutex);
    return NULL;
}

static void close_device(Device *base) {
    ProcessDevice *device = process_device(base);
    process_child_end(device->child); /* after this call, no thread calls wake_all */
    process_lending_release(device->lending);
    if (device->shared) (void)munmap(device->shared, sizeof(ProcessShared));
    process_kernels_deinit(device);
    (void)pthread_mutex_destroy(&device->mutex);
    memory_free(device->determinism_class);
    memory_free(device->why);
    memory_free(device);
}

/* ---- memory ---- */

static Error *read_u64(
    ProcessChannel *channel, const ByteWriter *answer, uint32_t count, uint64_t *out) {
    ByteReader reader = byte_reader(answer->data, answer->size);
    Error *error = NULL;
    for (uint32_t i = 0; i < count && !error; i++) error = byte_read_u64(&reader, &out[i]);
    if (!error) error = byte_reader_check_end(&reader);
    return error ? process_channel_reject(channel, error) : NULL;
}

static Error *memory_info(Device *device, DeviceMemory *out) {
    ProcessPlace place;
    ByteWriter OWN_BYTES(answer) = {0};
    uint64_t numbers[2];
    TRY(process_place_init(device, NULL, &place));
    Error *error =
        process_channel_call(place.channel, PROCESS_CALL_MEMORY, NULL, (ProcessBytes){0}, &answer);
    if (!error) error = read_u64(place.channel, &answer, 2, numbers);
    process_place_deinit(&place);
    TRY(error);
    *out = (DeviceMemory){
        .total_bytes = numbers[0], .free_bytes = numbers[1] < numbers[0] ? numbers[1] : numbers[0]};
    return NULL;
}

/* Checks an address of new memory. Sums of the address and an offset inside must not wrap
 * around. */
static Error *check_address(uint64_t address, uint64_t size) {
    if (size > 0 &&
        (address == 0 || address % DEVICE_ALIGNMENT != 0 || address > UINT64_MAX - size))
        FAIL(CORRUPT, "an address of new memory that none can have");
    return NULL;
}

static Error *alloc(Device *device, DeviceStream *stream, uint64_t size, uint64_t *out_address) {
    ProcessPlace place;
    ByteWriter OWN_BYTES(head) = {0};
    ByteWriter OWN_BYTES(answer) = {0};
    uint64_t address;
    byte_write_u64(&head, size);
    byte_write_u64(&head, atomic_load(&process_device(device)->frees));
    TRY(process_place_init(device, stream, &place));
    Error *error =
        process_channel_call(place.channel, PROCESS_CALL_ALLOC, &head, (ProcessBytes){0}, &answer);
    if (!error) error = read_u64(place.channel, &answer, 1, &address);
    if (!error) {
        error = check_address(address, size);
        if (error) error = process_channel_reject(place.channel, error);
    }
    process_place_deinit(&place);
    if (!error) *out_address = address;
    return error;
}

static void free_memory(Device *device, DeviceStream *stream, uint64_t address, uint64_t size) {
    ProcessPlace place;
    ByteWriter OWN_BYTES(head) = {0};
    if (!address) return;
    byte_write_u64(&head, address);
    byte_write_u64(&head, size);
    Error *error = process_place_init(device, stream, &place);
    if (!error) {
        error = process_channel_post(place.channel, PROCESS_CALL_FREE, &head, (ProcessBytes){0});
        if (!error) (void)atomic_fetch_add(&process_device(device)->frees, 1);
        process_place_deinit(&place);
    }
    error_free(error); /* if the worker has ended, so has the memory */
}

/* ---- copies ---- */

/* Posts the bytes in several records; the worker copies one while the next is written. */
static Error *post_copy(ProcessChannel *channel, uint64_t to, const void *from, uint64_t size) {
    enum { PART = RING_PAYLOAD_MAX - 4096 }; /* leaves room for the head, in whole pages */
    const uint8_t *at = from;
    for (uint64_t part; size > 0; size -= part, at += part, to += part) {
        ByteWriter OWN_BYTES(head) = {0};
        part = size < PART ? size : PART;
        byte_write_u64(&head, to);
        TRY(process_channel_post(
            channel, PROCESS_CALL_COPY_FROM_HOST, &head, (ProcessBytes){at, part}));
    }
    return NULL;
}

static Error *copy_from_host(
    Device *device, DeviceStream *stream, uint64_t to, const void *from, uint64_t size) {
    ProcessPlace place;
    TRY(process_place_init(device, stream, &place));
    return process_place_finish(&place, post_copy(place.channel, to, from, size));
}

static Error *copy_to_host(
    Device *device, DeviceStream *stream, void *to, uint64_t from, uint64_t size) {
    ProcessPlace place;
    ByteWriter OWN_BYTES(head) = {0};
    byte_write_u64(&head, from);
    byte_write_u64(&head, size);
    TRY(process_place_init(device, stream, &place));
    Error *error = process_channel_read(place.channel, PROCESS_CALL_COPY_TO_HOST, &head, to, size);
    process_place_deinit(&place);
    return error;
}

static Error *copy(
    Device *device, DeviceStream *stream, uint64_t to, uint64_t from, uint64_t size) {
    ProcessPlace place;
    ByteWriter OWN_BYTES(head) = {0};
    byte_write_u64(&head, to);
    byte_write_u64(&head, from);
    byte_write_u64(&head, size);
    TRY(process_place_init(device, stream, &place));
    return process_place_finish(
        &place, process_channel_post(place.channel, PROCESS_CALL_COPY, &head, (ProcessBytes){0}));
}

static void determinism_class(Device *device, TextBuilder *out) {
    text_append(out, process_device(device)->determinism_class);
}

static const DeviceClass class_of_all = {
    .abi_version = DEVICE_ABI_VERSION,
    .close = close_device,
    .memory = memory_info,
    .stream_create = process_stream_create,
    .stream_destroy = process_stream_destroy,
    .stream_synchronize = process_stream_synchronize,
    .event_create = process_event_create,
    .event_destroy = process_event_destroy,
    .event_record = process_event_record,
    .event_wait = process_event_wait,
    .event_synchronize = process_event_synchronize,
    .event_elapsed = process_event_elapsed,
    .alloc = alloc,
    .free = free_memory,
    .copy_from_host = copy_from_host,
    .copy_to_host = copy_to_host,
    .copy = copy,
    .plan = process_plan,
    .pack_rule = process_pack_rule,
    .pack = process_pack,
    .kernels = process_kernels,
    .host_memory = false,
    .determinism_class = determinism_class,
};

Error *process_device_open(const char *kind, uint32_t index, const char *spec, Device **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ProcessDevice), &memory));
    ProcessDevice *device = memory;
    (void)snprintf(device->kind, sizeof device->kind, "%s", kind);
    device->own_class = class_of_all;
    device->own_class.kind = device->kind;
    device->base.class_ = &device->own_class;
    device->base.index = index;
    (void)snprintf(device->base.name, sizeof device->base.name, "%s:%u", kind, index);
    device->peer = (ProcessPeer){.name = device->base.name,
        .give_up = give_up,
        .hung_up = hung_up,
        .describe = describe,
        .nudge = nudge};
    (void)pthread_mutex_init(&device->mutex, NULL);
    OWN(Device, owned) = &device->base;
    TRY(open_worker(device, spec));
    *out = TAKE(owned);
    return NULL;
}
