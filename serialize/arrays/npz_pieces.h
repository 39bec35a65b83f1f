#pragma once
/* An .npz file as a stream: members piece by piece, each appended to bytes that are the caller's to
 * send. What was sent is never looked at again, so checksums stand behind the members' data, as
 * zip's data descriptors. */
#include "serialize/arrays/array_list.h"
#include "base/bytes.h"

typedef struct NpzPieces NpzPieces;

MUST_CHECK Error *npz_pieces_create(NpzPieces **out);
void npz_pieces_release(NpzPieces *stream);
DEFINE_OWN(NpzPieces, npz_pieces_release);

/* Begins a member.
 *
 * form:   its name, element type and shape; its data, and that of strings, is looked at for the
 *         width of strings alone.
 * Errors: INVALID a name that was written before. */
MUST_CHECK Error *npz_pieces_begin(NpzPieces *stream, const NamedArray *form, ByteWriter *out);
/* The next elements of it: all of a string array's at once, of others whole elements, and whole
 * bytes but for the last ones of an array. data: as a NamedArray has it. */
MUST_CHECK Error *npz_pieces_add(NpzPieces *stream, const NamedArray *elements, ByteWriter *out);
/* Ends the member, which has as many bytes as its form says. */
MUST_CHECK Error *npz_pieces_end(NpzPieces *stream, ByteWriter *out);
/* The directory; nothing comes behind it. */
MUST_CHECK Error *npz_pieces_finish(NpzPieces *stream, ByteWriter *out);

/* How many bytes the array's elements take in the file. */
MUST_CHECK Error *npz_pieces_measure(const NamedArray *form, uint64_t *out_bytes);
/* The array that says what type numpy lacks: NAME.dtype; has_form false: numpy has it. */
MUST_CHECK Error *npz_pieces_describe(
    const NamedArray *form, bool *out_has_form, NamedArray *out_form);
