#include "store/database/disk_room.h"

#include "store/database/disk_blocks.h"
#include "store/database/query.h"

void disk_room_prepare(Connection *connection) {
    uint64_t ahead = (uint64_t)database_infos[connection->kind].log_room;
    uint64_t end = connection_log_size(connection) + ahead;
    if (end <= connection->log_room || !connection_open_log(connection)) return;
    if (disk_blocks_take_and_more(connection->log_file, end, ahead, &connection->log_room)) return;
    /* without more room, the log begins again at its start after a copy */
    error_free(connection_checkpoint(connection, NULL));
    /* in a log that begins again */
    (void)disk_blocks_take(connection->log_file, ahead / 2, &connection->log_room);
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
    if (!frees && pages > connection->pages) end += DISK_BLOCKS_SPARE;
    if (end <= connection->file_room) return NULL;
    if (disk_blocks_take_and_more(connection->file, end, DISK_BLOCKS_SPARE, &connection->file_room))
        return NULL;
    return connection_error(connection, SQLITE_FULL);
}
