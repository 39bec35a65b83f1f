#pragma once
/* The file format of a policy's event log: all events and a digest of the actions they led to,
 * enough to take every decision again. Written by scheduler/node/event_recorder.c, read by
 * scheduler/simulate/replay.c. Pure: works on the caller's buffers; one thread for each.
 *
 *     OFFSET SIZE FIELD
 *     0      8    "LVEVENTS"
 *     8      4    version (1)
 *     12     4    zero
 *     16     ...  records:
 *                   1    kind (events.def); 0 ends the log
 *                   8    time; in the end record: number of events
 *                   8 n  the fields that events.def names for the kind, in that order
 *                   8    digest of all actions up to and with this event's
 *                   4    low half of the XXH3 of this record so far, seeded with the one before
 *
 * A log whose process died has no end record, and its last record may be incomplete; neither is an
 * error. */
#include "base/bytes.h"
#include "scheduler/policy/policy_event.h"

enum { EVENT_LOG_VERSION = 1 };

typedef struct EventLogWriter {
    ByteWriter bytes; /* not yet in the file; the caller may take the bytes and set size to 0 */
    uint32_t checksum;
    uint64_t count;
} EventLogWriter;

/* Writes the header. A failed write is remembered: byte_writer_check(&writer->bytes). */
void event_log_begin(EventLogWriter *writer);
void event_log_write(EventLogWriter *writer, const PolicyEvent *event, uint64_t digest);
void event_log_end(EventLogWriter *writer, uint64_t digest);

typedef struct EventLogReader {
    ByteReader bytes;
    uint32_t checksum;
    uint64_t count;
} EventLogReader;

/* Checks the header. The reader borrows the data. Errors: CORRUPT; UNSUPPORTED (another
 * version). */
MUST_CHECK Error *event_log_open(const void *data, size_t size, EventLogReader *out_reader);

typedef enum EventLogItem {
    EVENT_LOG_EVENT, /* *out_event and *out_digest are set */
    EVENT_LOG_END,   /* *out_digest is set to the digest of all actions */
    EVENT_LOG_CUT,   /* the log stops between two records */
    EVENT_LOG_TORN,  /* the log stops inside a record */
} EventLogItem;
/* Reads the next item and checks that every field is within its bounds. Errors: CORRUPT, naming the
 * record. */
MUST_CHECK Error *event_log_read(
    EventLogReader *reader, PolicyEvent *out_event, uint64_t *out_digest, EventLogItem *out_item);
