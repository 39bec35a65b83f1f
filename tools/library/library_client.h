#pragma once
/* Connections of a client of layover_jobs.h. Callers: library_client.c, library_jobs.c. Threads:
 * any. */
#include "base/refcount.h"
#include "include/layover_jobs.h"
#include "serialize/arrays/array_list.h"
#include "tools/library/library_internal.h"
#include "tools/remote/remote_request.h"
#include "tools/remote/server_choice.h"

enum { LIBRARY_IDLE_MAX = 8 };

struct LayoverClient {
    Refcount refcount;
    ServerChoice choice;
    /* Under library_process_lock_clients. Those of another process are never used. */
    uint32_t process;
    HttpClient *idle[LIBRARY_IDLE_MAX];
    uint32_t idle_count;
};

/* A connection for one call. */
typedef struct LibraryCall {
    LayoverClient *client;
    HttpClient *http; /* NULL until it is begun */
} LibraryCall;

/* Takes an idle connection, or makes one. */
MUST_CHECK Error *library_call_begin(LayoverClient *client, LibraryCall *out);
/* Gives it back. */
void library_call_end(LibraryCall *call);
#define OWN_CALL(name) __attribute__((cleanup(library_call_end))) LibraryCall name

/* Asks for JSON Lines, all pages, and answers with an array of them. */
MUST_CHECK Error *library_call_list(
    LibraryCall *call, const TextBuilder *path, LayoverValue *out_json);

/* ---- library_arrays.c ---- */

/* Writes inputs to an .npz file; their tensors are consumed, also on failure. */
MUST_CHECK Error *library_arrays_write(
    const LayoverNamedValue *inputs, uint32_t count, const char *path);
/* Moves arrays into values; the list is left with empty arrays. */
MUST_CHECK Error *library_arrays_give(ArrayList *inout_list, LayoverNamedValues **out);
