#include "store/disk_room.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* A cancelled job's event, a page that is split while rows go: a few pages. */
#define SPARE ((uint64_t)256 << 10)

/* What is known of a file that cannot have blocks ahead: it is not asked again. */
#define UNKNOWN UINT64_MAX

/* false: there is no room. */
static bool take(int file, uint64_t end, uint64_t *inout_room) {
    uint64_t begin = *inout_room;
    if (end <= begin) return true;
    while (fallocate(file, FALLOC_FL_KEEP_SIZE, (off_t)begin, (off_t)(end - begin)) != 0) {
        if (errno == EINTR) continue;
        if (errno == ENOSPC || errno == EDQUOT) return false;
        end = UNKNOWN;
        break;
    }
    *inout_room = end;
    return true;
}

void disk_room_prepare(Connection *connection) {
    uint64_t ahead = (uint64_t)database_infos[connection->kind].log_room;
    uint64_t end = connection_log_size(connection) + ahead;
    if (!connection->log_full) {
        if (end <= connection->log_room || !connection_open_log(connection)) return;
        if (take(connection->log_file, end + ahead, &connection->log_room)) return;
        if (take(connection->log_file, end, &connection->log_room)) return;
    }
    connection->log_full = false;
    error_free(connection_checkpoint(connection, NULL)); /* then it goes on where it is */
}

Error *disk_room_take(Connection *connection, bool frees) {
    const DatabaseInfo *info = &database_infos[connection->kind];
    int64_t pages;
    bool found;
    Query OWN_QUERY(query) = query_start(connection, STATEMENT_COUNT_PAGES);
    TRY(query_find_i64(&query, &found, &pages));
    connection->taken_pages = pages;
    uint64_t end = (uint64_t)pages * (uint64_t)info->page_size;
    if (!frees && pages > connection->pages) end += SPARE;
    if (end <= connection->file_room) return NULL;
    if (take(connection->file, end + SPARE, &connection->file_room)) return NULL;
    if (take(connection->file, end, &connection->file_room)) return NULL;
    return connection_error(connection, SQLITE_FULL);
}

void disk_room_renew(Connection *connection) {
    struct stat status;
    if (connection->file_room == UNKNOWN || fstat(connection->file, &status) != 0) return;
    connection->file_room = (uint64_t)status.st_size;
    (void)take(connection->file, connection->file_room + SPARE, &connection->file_room);
}

void disk_room_note_new_log(Connection *connection) {
    uint64_t kept = (uint64_t)database_infos[connection->kind].log_size_max;
    if (connection->log_room != UNKNOWN && connection->log_room > kept) connection->log_room = kept;
}
