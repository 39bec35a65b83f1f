#pragma once
/* A file of the home that only takes room: given up when a store is opened on a full disk, so that
 * its logs can be written (disk_room.h), and taken again when there is some. Its length is 0: a
 * copy of the home has none of it. */

enum { RESERVE_SIZE = 6 << 20 }; /* both logs' room ahead, their indexes, and the files' spare */

/* Before the home's databases are opened: gives it up where the disk has less than that. Whether it
 * can be had is no failure of anything. */
void reserve_open(const char *home);
/* Behind their closing: takes it again. */
void reserve_close(const char *home);
