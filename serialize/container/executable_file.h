#pragma once
/* Executables as bytes: a container (.lvx) whose manifest is canonical, so that its SHA-256 is the
 * executable's identity. Callers: scheduler/executor, scheduler/jobs, scheduler/node, tools/.
 * Threads: any; one at a time per executable that is written.
 *
 * Stored as: docs/formats.md#executable */
#include "serialize/container/container.h"
#include "vm/code/executable.h"

enum {
    EXECUTABLE_PORTS_MAX = 1 << 16,
    EXECUTABLE_INLINE_SIZE =
        4096, /* constants up to this size are in their section, not in chunks of their own */
};

/* Writes an executable: its manifest to out_manifest (empty before), its constants' chunks to the
 * sink, and its SHA-256 to executable->identity. */
MUST_CHECK Error *executable_write(
    Executable *executable, WorkerPool *pool, ChunkSink sink, ByteWriter *out_manifest);
/* Sets executable->identity without keeping any bytes. For newly compiled executables that are not
 * written, before other threads see them. */
MUST_CHECK Error *executable_identify(Executable *executable, WorkerPool *pool);
/* Reads an executable. Its code is verified and its identity set. Errors: CORRUPT, UNSUPPORTED (an
 * operator or version this build lacks). */
MUST_CHECK Error *executable_read(
    const Container *container, WorkerPool *pool, ChunkVerify verify, Executable **out);

/* Reads an executable without the data of large constants, which must not be touched. For looking
 * at functions and ports, or for residency from a weight image. Reads only the manifest, so the
 * size of the model does not matter. */
MUST_CHECK Error *executable_read_outline(const Container *container, Executable **out);

/* Writes a whole file atomically and sets executable->identity. */
MUST_CHECK Error *executable_write_file(Executable *executable, WorkerPool *pool, const char *path);
/* Reads a whole file and checks all SHA-256 hashes, since the file comes from outside. */
MUST_CHECK Error *executable_read_file(const char *path, WorkerPool *pool, Executable **out);
