#pragma once
/* Room on the disk that a database's writer allocates ahead. On a full disk, committed data can
 * then still be copied from the log into the file, and work that makes room can be committed.
 * Called by transaction.c and transaction_lock.c, under the writer's lock.
 *
 *   file  |== copied ==|-- committed, in the log --|.. spare ..|
 *   log   |== written ==|.. log_room ..|
 *
 * A commit that makes the file grow allocates the blocks that it will need there and a spare behind
 * them. Only a transaction that makes room (Transaction.frees) may use up the spare; a commit that
 * fits into the file needs no blocks. So a copy always finds room, and after a copy the log begins
 * anew in its own blocks. Blocks are allocated beyond the end of a file (fallocate): no other
 * program gets them, and no file becomes longer. File systems that cannot do that, or that write
 * changes to other blocks, give no such promise. */
#include "store/database/connection.h"

/* Called before a transaction. Gives the log room ahead, by more blocks or by copying it. When
 * neither is possible, the transaction itself reports that. */
void disk_room_prepare(Connection *connection);
/* Called before the commit. frees: the transaction may use the spare. Errors: EXHAUSTED. */
MUST_CHECK Error *disk_room_take(Connection *connection, bool frees);
/* Called after a transaction that found the disk full. Copies the log, so that the next transaction
 * has all of it, and returns blocks that were allocated in vain. */
void disk_room_recover(Connection *connection);
