#pragma once
/* Room on the disk that a database's writer takes ahead, so that on a full disk what is committed
 * can still be copied from the log into the file, and what makes room can be committed.
 *
 *   file  |== copied ==|-- committed, in the log --|.. spare ..|
 *   log   |== written ==|.. log_room ..|
 *
 * A commit that makes the file grow takes the blocks that it will need there, and a spare behind
 * them, which only a transaction that makes room (Transaction.frees) may use up. One that finds its
 * place in the file needs none. So a copy always
 * finds room; behind one the log begins anew, in the blocks that it has. Blocks are taken beyond
 * the end of a file (fallocate): no other program gets them, and no file is longer for it. Where
 * the file system cannot do that, or writes what is changed to other blocks, nothing is promised.
 */
#include "store/database/connection.h"

/* Before a transaction: the log has room ahead, of more blocks or by being copied. What has none in
 * spite of that says so itself. */
void disk_room_prepare(Connection *connection);
/* Before its commit. frees: it may use the spare. Errors: EXHAUSTED. */
MUST_CHECK Error *disk_room_take(Connection *connection, bool frees);
/* Behind one that found the disk full: its log is copied, so that the next one has all of the log,
 * and what it took of the disk in vain is given back. */
void disk_room_recover(Connection *connection);
/* The log was copied to its end, and the file cut behind it. */
void disk_room_renew(Connection *connection);
/* A commit left the log with fewer pages than the one before: it began anew, and was cut. */
void disk_room_note_new_log(Connection *connection);
