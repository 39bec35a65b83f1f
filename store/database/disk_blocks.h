#pragma once
/* Blocks that a file has allocated ahead of its end (disk_room.h). A file's `room` is how far they
 * reach. Called by connection.c and disk_room.c, under the writer's lock. No state. */
#include <stdbool.h>
#include <stdint.h>

/* A cancelled job's event, a page that is split while rows go: a few pages. */
#define DISK_BLOCKS_SPARE ((uint64_t)256 << 10)

/* The room of a file for which blocks cannot be allocated ahead; no call tries again. */
#define DISK_BLOCKS_UNKNOWN UINT64_MAX

/* Allocates blocks up to `end`. Returns false when the disk is full; some file systems have then
 * taken all there was, so callers ask for no more than they need. */
bool disk_blocks_take(int file, uint64_t end, uint64_t *inout_room);
/* Allocates `more` behind the end where the disk has plenty, so that the next calls need none. */
bool disk_blocks_take_and_more(int file, uint64_t end, uint64_t more, uint64_t *inout_room);
/* Allocates a spare behind the file's present end, after the file was cut there. */
void disk_blocks_renew(int file, uint64_t *inout_room);
/* Notes that the file was cut to `kept` bytes. */
void disk_blocks_note_cut(uint64_t kept, uint64_t *inout_room);
