#pragma once
/* One direction of a channel between two processes: a queue of records in memory that both have
 * mapped, with one writer and one reader.
 *
 *                     read           written         both only grow; modulo RING_BYTES
 *                      |               |
 *      | free          | record record | free                        | padding |
 *
 *      record: u32 size of the payload, u32 kind, payload, zeros up to a multiple of RING_ALIGNMENT
 *
 * A record lies in one piece, so that what is copied to or from a device needs no other buffer; the
 * rest before the end is padding. An empty ring begins again at its start: pages that a large
 * record needed once are the only ones beyond it that are ever touched.
 *
 * Neither side believes the other's numbers: what cannot be is RING_BROKEN. Payload stays the
 * other's to overwrite: copy what is to be looked at twice.
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
    _Atomic uint32_t reader_sleeps; /* a futex: 1 while it does */
    _Alignas(64) _Atomic uint64_t read;
    _Atomic uint32_t writer_sleeps;
    _Alignas(64) uint8_t bytes[RING_BYTES];
} RingShared;

/* One side's view. */
typedef struct Ring {
    RingShared *shared;
    const atomic_bool *gone; /* the other side is no more: set before ring_wake */
    uint64_t spin_ns;        /* how long it is waited for without sleeping */
    uint64_t position;       /* of its own cursor: the shared one is only for the other side */
    /* Called while it waits, and again after as many nanoseconds as it answers; 0: it need not.
     * NULL: nobody looks. */
    uint64_t (*look)(void *self);
    void *self;
} Ring;

typedef enum RingState {
    RING_READY,
    RING_GONE,
    RING_BROKEN, /* what the other side wrote makes no sense */
} RingState;

typedef struct RingRecord {
    uint32_t kind;
    uint32_t size;
    const uint8_t *bytes; /* until ring_done */
} RingRecord;

/* From where the last writer or reader of that memory stopped. */
Ring ring_make_writer(RingShared *shared, const atomic_bool *gone, uint64_t spin_ns);
Ring ring_make_reader(RingShared *shared, const atomic_bool *gone, uint64_t spin_ns);
/* Room for a record of up to `size` bytes, in *out_bytes; waits for the reader to make some.
 * size <= RING_PAYLOAD_MAX. Nothing is written before ring_end. */
RingState ring_begin(Ring *ring, uint32_t size, void **out_bytes);
/* Gives the reader what was begun; size: how much of it was filled. kind > 0. */
void ring_end(Ring *ring, uint32_t kind, uint32_t size);
/* The next record, waiting for it. */
RingState ring_next(Ring *ring, RingRecord *out_record);
/* The writer may have the place of that record. */
void ring_done(Ring *ring, const RingRecord *record);
/* Both sides look again, also whether the other is gone. Threads: any. */
void ring_wake(RingShared *shared);
