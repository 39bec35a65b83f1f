#include "store/database/disk_room.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* A cancelled job's event, a page that is split while rows go: a few pages. */
#define SPARE ((uint64_t)256 << 10)

/* With so much free space, more is allocated at once than needed. */
#define PLENTY ((uint64_t)256 << 20)

/* Marks a file for which blocks cannot be allocated ahead; take does not try again. */
#define UNKNOWN UINT64_MAX

/* False: the disk has no room. Some file systems then keep all that was free, so callers ask for no
 * more than needed. */
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

static bool has_plenty(int file) {
    struct statvfs disk;
    return fstatvfs(file, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize > PLENTY;
}

/* Takes more than needed where plenty is free, so that the next pages need no call. */
static bool take_and_more(int file, uint64_t end, uint64_t more, uint64_t *inout_room) {
    return take(file, has_plenty(file) ? end + more : end, inout_room);
}

void disk_room_prepare(Connection *connection) {
    uint64_t ahead = (uint64_t)database_infos[connection->kind].log_room;
    uint64_t end = connection_log_size(connection) + ahead;
    if (end <= connection->log_room || !connection_open_log(connection)) return;
    if (take_and_more(connection->log_file, end, ahead, &connection->log_room)) return;
    /* without more room, the log begins again at its start after a copy */
    error_free(connection_checkpoint(connection, NULL));
    /* in a log that begins again */
    (void)take(connection->log_file, ahead / 2, &connection->log_room);
}

void disk_room_recover(Connection *connection) {
    if (!connection->log_full) return;
    error_free(connection_checkpoint(connection, NULL)); /* the next commit tries again */
    connection->log_full = false;
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
    if (take_and_more(connection->file, end, SPARE, &connection->file_room)) return NULL;
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
