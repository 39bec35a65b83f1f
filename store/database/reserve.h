#pragma once
/* A file of the home that only takes room: given up when a store is opened on a full disk, so that
 * its logs can be written (disk_room.h), and taken again when there is some. Its length is 0: a
 * copy of the home has none of it. */

/* Both logs' room ahead, their indexes, and the files' spare. Where there is not that much, what
 * both logs can be begun in: less than a closed store gives back. */
enum { RESERVE_SIZE = 6 << 20, RESERVE_SIZE_MIN = 9 << 18 };

/* Before the home's databases are opened: gives it up where the disk has less than that. Whether it
 * can be had is no failure of anything. */
void reserve_open(const char *home);
/* Behind their closing: takes it again. */
void reserve_close(const char *home);
