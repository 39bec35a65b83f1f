#pragma once
/* One direction of a channel between two processes: a queue of records in memory that both have
 * mapped, with one writer and one reader. Called by process_channel.c and process_service.c.
 *
 *                     read           written         both only grow; modulo RING_BYTES
 *                      |               |
 *      | free          | record record | free                        | padding |
 *
 *      record: u32 size of the payload, u32 kind, payload, zeros up to a multiple of RING_ALIGNMENT
 *
 * A record lies in one piece, so that bytes copied to or from a device need no other buffer; the
 * rest before the end is padding. An empty ring begins again at its start: pages that a large
 * record needed once are the only ones beyond the start that are ever touched.
 *
 * Neither side trusts the other's numbers: an impossible one gives RING_BROKEN. The other side may
 * overwrite a payload at any time: copy bytes that are read twice.
 *
 * Threads: one writer, one reader. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum {
    RING_BYTES = 1 << 20,
    RING_ALIGNMENT = 16,
    RING_HEAD_BYTES = 8,
    RING_PAYLOAD_MAX = 1 << 18,
    RING_PADDING = 0, /* kind */
};

typedef struct RingShared {
    _Alignas(64) _Atomic uint64_t written;
    _Atomic uint32_t reader_sleeps; /* a futex: 1 while the reader sleeps */
    _Alignas(64) _Atomic uint64_t read;
    _Atomic uint32_t writer_sleeps;
    _Alignas(64) uint8_t bytes[RING_BYTES];
} RingShared;

/* One side's view. */
typedef struct Ring {
    RingShared *shared;
    const atomic_bool *gone; /* the other side has ended: set before ring_wake */
    uint64_t spin_ns;        /* how long a wait polls before it sleeps */
    uint64_t position;       /* of this side's cursor: the shared one is only for the other side */
    /* Called during a wait, and again after as many nanoseconds as it returns; 0: not again. NULL:
     * not called. */
    uint64_t (*look)(void *self);
    void *self;
} Ring;

typedef enum RingState {
    RING_READY,
    RING_GONE,
    RING_BROKEN, /* the other side wrote invalid bytes */
} RingState;

typedef struct RingRecord {
    uint32_t kind;
    uint32_t size;
    const uint8_t *bytes; /* valid until ring_done */
} RingRecord;

/* Continue where the last writer or reader of that memory stopped. */
Ring ring_make_writer(RingShared *shared, const atomic_bool *gone, uint64_t spin_ns);
Ring ring_make_reader(RingShared *shared, const atomic_bool *gone, uint64_t spin_ns);
/* Makes room for a record of up to `size` bytes, in *out_bytes; waits for the reader if needed.
 * size <= RING_PAYLOAD_MAX. The reader sees nothing before ring_end. */
RingState ring_begin(Ring *ring, uint32_t size, void **out_bytes);
/* Passes the begun record to the reader; size: the bytes that were filled. kind > 0. */
void ring_end(Ring *ring, uint32_t kind, uint32_t size);
/* Waits for the next record. */
RingState ring_next(Ring *ring, RingRecord *out_record);
/* Gives the place of that record back to the writer. */
void ring_done(Ring *ring, const RingRecord *record);
/* Makes both sides check again, also whether the other one has ended. Threads: any. */
void ring_wake(RingShared *shared);
