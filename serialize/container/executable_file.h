#pragma once
/* Executables as bytes: a container (.lvx) whose manifest is canonical, so that its SHA-256 is the
 * executable's identity.
 *
 * Stored as: docs/formats.md#executable */
#include "serialize/container/container.h"
#include "vm/code/executable.h"

enum {
    EXECUTABLE_PORTS_MAX = 1 << 16,
    EXECUTABLE_INLINE_SIZE =
        4096, /* constants up to this size stand in their section, not in chunks of their own */
};

/* The manifest goes to out_manifest (empty before), constants' chunks to the sink, its SHA-256 to
 * executable->identity. */
MUST_CHECK Error *executable_write(
    Executable *executable, WorkerPool *pool, ChunkSink sink, ByteWriter *out_manifest);
/* Sets executable->identity by writing to nowhere; for executables just compiled that are not
 * written, before others see them. */
MUST_CHECK Error *executable_identify(Executable *executable, WorkerPool *pool);
/* Verified code, identity set. Errors: CORRUPT, UNSUPPORTED (an operator or version this build
 * lacks). */
MUST_CHECK Error *executable_read(
    const Container *container, WorkerPool *pool, ChunkVerify verify, Executable **out);

/* The same without the data of large constants, which are never touched: for looking at functions
 * and ports, or to be made resident from a weight image. Costs no more than the manifest, whatever
 * the size of the model.
 */
MUST_CHECK Error *executable_read_outline(const Container *container, Executable **out);

/* Whole files; written atomically, and executable->identity is set. */
MUST_CHECK Error *executable_write_file(Executable *executable, WorkerPool *pool, const char *path);
/* Checks SHA-256 of everything: the file comes from outside. */
MUST_CHECK Error *executable_read_file(const char *path, WorkerPool *pool, Executable **out);
