#pragma once
/* A file of the home that only occupies room. store_open gives the room up on a full disk, so that
 * the databases' logs can be written (disk_room.h), and store_close takes it again when the disk
 * has some. The file's length is 0, so a copy of the home does not contain it. Threads: the one
 * that opens or closes the store. */

/* RESERVE_SIZE is the room ahead of both logs, their indexes and the files' spare.
 * RESERVE_SIZE_MIN, taken when the disk has less, suffices to begin both logs: less than a closed
 * store gives back. */
enum { RESERVE_SIZE = 6 << 20, RESERVE_SIZE_MIN = 9 << 18 };

/* Called before the databases are opened. Gives the reserve up when the disk has less free space
 * than that. Never fails. */
void reserve_open(const char *home);
/* Called after the databases were closed. Takes the reserve again. */
void reserve_close(const char *home);
