#include "kernels/process/process_ring.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/spin.h"

typedef struct RecordHead {
    uint32_t size, kind;
} RecordHead;

/* An empty ring whose position is beyond this begins again at its start. */
enum { REWIND_BYTES = 1 << 16 };

_Static_assert(sizeof(RecordHead) == RING_HEAD_BYTES, "layout");
_Static_assert(RING_BYTES % RING_ALIGNMENT == 0, "padding has room for a head");

static uint64_t extent(uint64_t size) {
    return (size + RING_HEAD_BYTES + RING_ALIGNMENT - 1) & ~(uint64_t)(RING_ALIGNMENT - 1);
}

static uint64_t offset_of(uint64_t position) { return position % RING_BYTES; }

/* ---- sleeping and waking ---- */

static void sleep_on(_Atomic uint32_t *sleeps, uint64_t look_ns) {
    /* the peer wakes this thread; the limit of a second is for a peer that overwrites the shared
     * memory */
    const struct timespec limit = {.tv_sec = look_ns == 0, .tv_nsec = (long)look_ns};
    (void)syscall(SYS_futex, (uint32_t *)sleeps, FUTEX_WAIT, 1, &limit, NULL, 0);
}

static void wake(_Atomic uint32_t *sleeps) {
    if (atomic_load(sleeps) == 0) return;
    atomic_store(sleeps, 0);
    (void)syscall(SYS_futex, (uint32_t *)sleeps, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* Waits until the other side's cursor differs from `from`. */
static RingState wait_for(
    const Ring *ring, _Atomic uint64_t *cursor, uint64_t from, _Atomic uint32_t *sleeps) {
    if (spin_until_changed(cursor, from, ring->spin_ns)) return RING_READY;
    for (;;) {
        atomic_store(sleeps, 1);
        if (atomic_load(cursor) != from) break;
        if (atomic_load(ring->gone)) return RING_GONE;
        sleep_on(sleeps, ring->look ? ring->look(ring->self) : 0);
    }
    atomic_store(sleeps, 0);
    return RING_READY;
}

void ring_wake(RingShared *shared) {
    atomic_store(&shared->reader_sleeps, 1);
    wake(&shared->reader_sleeps);
    atomic_store(&shared->writer_sleeps, 1);
    wake(&shared->writer_sleeps);
}

Ring ring_make_writer(RingShared *shared, const atomic_bool *gone, uint64_t spin_ns) {
    return (Ring){.shared = shared,
        .gone = gone,
        .spin_ns = spin_ns,
        .position = atomic_load(&shared->written)};
}

Ring ring_make_reader(RingShared *shared, const atomic_bool *gone, uint64_t spin_ns) {
    return (Ring){
        .shared = shared, .gone = gone, .spin_ns = spin_ns, .position = atomic_load(&shared->read)};
}

/* ---- writing ---- */

static void put_head(Ring *ring, uint32_t kind, uint32_t size) {
    const RecordHead head = {size, kind};
    memcpy(ring->shared->bytes + offset_of(ring->position), &head, sizeof head);
}

static void publish(Ring *ring, uint64_t bytes) {
    ring->position += bytes;
    atomic_store(&ring->shared->written, ring->position);
    wake(&ring->shared->reader_sleeps);
}

static void pad(Ring *ring) {
    uint64_t rest = RING_BYTES - offset_of(ring->position);
    put_head(ring, RING_PADDING, (uint32_t)rest - RING_HEAD_BYTES);
    publish(ring, rest);
}

/* Waits until `bytes` more can be written. */
static RingState wait_for_room(Ring *ring, uint64_t bytes) {
    RingShared *shared = ring->shared;
    for (;;) {
        uint64_t read = atomic_load(&shared->read);
        uint64_t used = ring->position - read;
        if (used > RING_BYTES) return RING_BROKEN;
        if (bytes <= RING_BYTES - used) return RING_READY;
        RingState state = wait_for(ring, &shared->read, read, &shared->writer_sleeps);
        if (state != RING_READY) return state;
    }
}

RingState ring_begin(Ring *ring, uint32_t size, void **out_bytes) {
    uint64_t offset = offset_of(ring->position), bytes = extent(size);
    bool empty = atomic_load(&ring->shared->read) == ring->position;
    bool rewinds = empty && offset >= REWIND_BYTES && offset >= bytes;
    if (rewinds || RING_BYTES - offset < bytes) {
        RingState state = wait_for_room(ring, RING_BYTES - offset);
        if (state != RING_READY) return state;
        pad(ring);
    }
    RingState state = wait_for_room(ring, bytes);
    *out_bytes = ring->shared->bytes + offset_of(ring->position) + RING_HEAD_BYTES;
    return state;
}

void ring_end(Ring *ring, uint32_t kind, uint32_t size) {
    put_head(ring, kind, size);
    publish(ring, extent(size));
}

/* ---- reading ---- */

/* Reads the record at the reader's position; RING_BROKEN when it exceeds the written bytes. */
static RingState look_at(const Ring *ring, uint64_t available, RingRecord *out) {
    uint64_t offset = offset_of(ring->position);
    RecordHead head;
    if (available > RING_BYTES || available % RING_ALIGNMENT != 0) return RING_BROKEN;
    memcpy(&head, ring->shared->bytes + offset, sizeof head);
    uint64_t bytes = extent(head.size);
    if (bytes > available || bytes > RING_BYTES - offset) return RING_BROKEN;
    bool fits =
        head.kind == RING_PADDING ? bytes == RING_BYTES - offset : head.size <= RING_PAYLOAD_MAX;
    if (!fits) return RING_BROKEN;
    *out = (RingRecord){head.kind, head.size, ring->shared->bytes + offset + RING_HEAD_BYTES};
    return RING_READY;
}

RingState ring_next(Ring *ring, RingRecord *out_record) {
    RingShared *shared = ring->shared;
    for (;;) {
        RingState state = wait_for(ring, &shared->written, ring->position, &shared->reader_sleeps);
        if (state != RING_READY) return state;
        state = look_at(ring, atomic_load(&shared->written) - ring->position, out_record);
        if (state != RING_READY || out_record->kind != RING_PADDING) return state;
        ring_done(ring, out_record);
    }
}

void ring_done(Ring *ring, const RingRecord *record) {
    ring->position += extent(record->size);
    atomic_store(&ring->shared->read, ring->position);
    wake(&ring->shared->writer_sleeps);
}
