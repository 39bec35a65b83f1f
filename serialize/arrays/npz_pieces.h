#pragma once
/* Writes an .npz file as a stream: members piece by piece, each appended to bytes that the caller
 * sends. Sent bytes are never needed again, so checksums stand behind the members' data, as zip's
 * data descriptors. Caller: output_answer.c in scheduler/service. Threads: one at a time per
 * stream. */
#include "serialize/arrays/array_list.h"
#include "base/bytes.h"

typedef struct NpzPieces NpzPieces;

MUST_CHECK Error *npz_pieces_create(NpzPieces **out);
void npz_pieces_release(NpzPieces *stream);
DEFINE_OWN(NpzPieces, npz_pieces_release);

/* Begins a member.
 *
 * form:   its name, element type and shape; only a string array's data is read, for the width of
 *         its strings.
 * Errors: INVALID a name that was written before. */
MUST_CHECK Error *npz_pieces_begin(NpzPieces *stream, const NamedArray *form, ByteWriter *out);
/* Adds the member's next elements: a string array's all at once; of other arrays whole elements,
 * and whole bytes except at the array's end. data: as in a NamedArray. */
MUST_CHECK Error *npz_pieces_add(NpzPieces *stream, const NamedArray *elements, ByteWriter *out);
/* Ends the member. Its bytes must match its form. */
MUST_CHECK Error *npz_pieces_end(NpzPieces *stream, ByteWriter *out);
/* Writes the directory, which ends the file. */
MUST_CHECK Error *npz_pieces_finish(NpzPieces *stream, ByteWriter *out);

/* Computes how many bytes the array's elements take in the file. */
MUST_CHECK Error *npz_pieces_measure(const NamedArray *form, uint64_t *out_bytes);
/* Makes the NAME.dtype array for an element type that numpy lacks. has_form false: numpy has the
 * type. */
MUST_CHECK Error *npz_pieces_describe(
    const NamedArray *form, bool *out_has_form, NamedArray *out_form);
