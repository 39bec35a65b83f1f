#pragma once
/* Models from files of every format. Callers: the command line and the C library. Threads: one at a
 * time for a pool. */
#include "base/worker_pool.h"
#include "tools/models/model_file_options.h"
#include "vm/code/executable.h"

/* Finds a file's format: "onnx", "lva", "lvx", "relax", "relay", "nnvm" (by --format, else by its
 * first bytes and ending). */
MUST_CHECK Error *model_file_format(const char *path, const char *wanted, const char **out_format);
/* Compiles, assembles or reads a file. The identity is set for lvx; writing or registering sets
 * that of others. pool: hashes and unpacks. */
MUST_CHECK Error *model_file_load(WorkerPool *pool, const char *path,
    const ModelFileOptions *options, Executable **out_executable);
