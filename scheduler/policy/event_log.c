#include "scheduler/policy/event_log.h"

#include <stdbool.h>
#include <string.h>

#include "base/digest.h"

/* kind, time, digest, checksum */
enum { RECORD_SIZE_MIN = 1 + 8 + 8 + 4 };

static const char magic[8] = {'L', 'V', 'E', 'V', 'E', 'N', 'T', 'S'};

void event_log_begin(EventLogWriter *writer) {
    *writer = (EventLogWriter){0};
    byte_write_bytes(&writer->bytes, magic, sizeof magic);
    byte_write_u32(&writer->bytes, EVENT_LOG_VERSION);
    byte_write_u32(&writer->bytes, 0);
}

static void finish_record(EventLogWriter *writer, size_t start) {
    if (writer->bytes.failed) return;
    writer->checksum = (uint32_t)digest_xxh3_seeded(
        writer->bytes.data + start, writer->bytes.size - start, writer->checksum);
    byte_write_u32(&writer->bytes, writer->checksum);
}

void event_log_write(EventLogWriter *writer, const PolicyEvent *event, uint64_t digest) {
    PolicyEvent copy = *event;
    size_t start = writer->bytes.size;
    byte_write_u8(&writer->bytes, (uint8_t)event->kind);
    byte_write_u64(&writer->bytes, event->time_ns);
    for (const char *letter = policy_event_infos[event->kind].fields; *letter; letter++)
        byte_write_u64(&writer->bytes, *policy_event_field(&copy, *letter));
    byte_write_u64(&writer->bytes, digest);
    finish_record(writer, start);
    writer->count++;
}

void event_log_end(EventLogWriter *writer, uint64_t digest) {
    size_t start = writer->bytes.size;
    byte_write_u8(&writer->bytes, 0);
    byte_write_u64(&writer->bytes, writer->count);
    byte_write_u64(&writer->bytes, digest);
    finish_record(writer, start);
}

Error *event_log_open(const void *data, size_t size, EventLogReader *out_reader) {
    EventLogReader reader = {.bytes = byte_reader(data, size)};
    const uint8_t *found;
    uint32_t version, zero;
    TRY_WRAP(byte_read_view(&reader.bytes, sizeof magic, &found), "event log: header");
    if (memcmp(found, magic, sizeof magic) != 0) FAIL(CORRUPT, "not an event log");
    TRY_WRAP(byte_read_u32(&reader.bytes, &version), "event log: header");
    TRY_WRAP(byte_read_u32(&reader.bytes, &zero), "event log: header");
    if (version != EVENT_LOG_VERSION)
        FAIL(UNSUPPORTED, "event log: version %u; this program reads version %d", version,
            EVENT_LOG_VERSION);
    if (zero != 0) FAIL(CORRUPT, "event log: header: reserved bytes are set");
    *out_reader = reader;
    return NULL;
}

/* Whether fewer bytes are left than a record of this kind has. An unknown kind counts as whole:
 * reading it gives the right error. */
static bool is_torn(const ByteReader *bytes) {
    uint8_t kind = bytes->data[bytes->position];
    const char *fields = "";
    if (kind >= POLICY_EVENT_KIND_COUNT) return false;
    if (kind != 0) fields = policy_event_infos[kind].fields;
    return byte_reader_left(bytes) < RECORD_SIZE_MIN + strlen(fields) * sizeof(uint64_t);
}

static Error *read_record(EventLogReader *reader, PolicyEvent *out_event, uint64_t *out_digest) {
    const uint8_t *start = reader->bytes.data + reader->bytes.position;
    size_t position = reader->bytes.position;
    PolicyEvent event = {0};
    uint8_t kind;
    uint32_t checksum;
    TRY(byte_read_u8(&reader->bytes, &kind));
    if (kind >= POLICY_EVENT_KIND_COUNT) FAIL(CORRUPT, "event %u is unknown", kind);
    event.kind = (PolicyEventKind)kind;
    TRY(byte_read_u64(&reader->bytes, &event.time_ns));
    if (kind != 0) {
        for (const char *letter = policy_event_infos[kind].fields; *letter; letter++)
            TRY(byte_read_u64(&reader->bytes, policy_event_field(&event, *letter)));
    }
    TRY(byte_read_u64(&reader->bytes, out_digest));
    size_t size = reader->bytes.position - position;
    TRY(byte_read_u32(&reader->bytes, &checksum));
    reader->checksum = (uint32_t)digest_xxh3_seeded(start, size, reader->checksum);
    if (checksum != reader->checksum) FAIL(CORRUPT, "wrong checksum");
    if (kind != 0) TRY(error_recode(policy_event_check(&event), ERROR_CORRUPT));
    *out_event = event;
    return NULL;
}

Error *event_log_read(
    EventLogReader *reader, PolicyEvent *out_event, uint64_t *out_digest, EventLogItem *out_item) {
    PolicyEvent event;
    uint64_t digest;
    if (!byte_reader_left(&reader->bytes)) {
        *out_item = EVENT_LOG_CUT;
        return NULL;
    }
    if (is_torn(&reader->bytes)) {
        *out_item = EVENT_LOG_TORN;
        return NULL;
    }
    TRY_WRAP(read_record(reader, &event, &digest), "event log: record %llu",
        (unsigned long long)reader->count);
    if (event.kind == 0) {
        if (event.time_ns != reader->count)
            FAIL(CORRUPT, "event log: it ends after %llu events and says %llu",
                (unsigned long long)reader->count, (unsigned long long)event.time_ns);
        TRY_WRAP(byte_reader_check_end(&reader->bytes), "event log");
        *out_item = EVENT_LOG_END;
    } else {
        reader->count++;
        *out_event = event;
        *out_item = EVENT_LOG_EVENT;
    }
    *out_digest = digest;
    return NULL;
}
