#include "scheduler/service/output_answer.h"

#include <string.h>

#include "base/allocator.h"
#include "base/name_map.h"
#include "serialize/arrays/array_bundle.h"
#include "serialize/arrays/npz_pieces.h"
#include "store/jobs/job_outputs.h"
#include "store/jobs/stored_content.h"

const OutputAnswerLimits output_answer_limits = {
    .rows_max = 10000, .bytes_max = (uint64_t)256 << 20, .held_max = 1 << 20};

/* Strings are written at the width of the longest one: so much may become of them. */
#define TEXTS_MAX ((uint64_t)64 << 20)

/* Memory of a part beside its data: the part, its name, and the allocator's overhead. */
enum { PART_BYTES = 512 };

/* How much one pull writes, if no chunk has more. */
enum { ENOUGH = 128 << 10 };

/* One row's share of a member. */
typedef struct Part {
    NamedArray array; /* without data where that stands in chunks */
    int64_t sequence;
    size_t chunk_first, chunk_count; /* of the row's; 0: the data is in the array */
    struct Part *next;
} Part;

/* An array of the file. */
typedef struct Member {
    NamedArray form; /* name, type and shape; its texts are the first part's */
    Part *first, **last;
    struct Member *next;
} Member;

typedef struct OutputAnswer {
    Store *store;
    TenantId tenant;
    JobId job;
    bool append;
    NameMap *names; /* to members; while the answer is planned */
    Member *first, **last;
    uint64_t bytes, held, parts; /* planned so far */
    uint64_t piece;              /* memory for the bytes that are read at once */
    /* Where it is while it is read. */
    NpzPieces *writer;
    Member *member; /* NULL: the directory comes next */
    Part *part;     /* of the member; NULL: the member ends next */
    bool begun;
    size_t chunk;           /* of the part */
    StoredContent *content; /* the row that the part stands in; NULL: not open */
} OutputAnswer;

/* ---- life ---- */

static void release_member(Member *member) {
    while (member->first) {
        Part *part = member->first;
        member->first = part->next;
        named_array_deinit(&part->array);
        memory_free(part);
    }
    memory_free(member->form.name);
    memory_free(member);
}

static void release(void *self) {
    OutputAnswer *answer = self;
    if (!answer) return;
    while (answer->first) {
        Member *member = answer->first;
        answer->first = member->next;
        release_member(member);
    }
    name_map_release(answer->names);
    npz_pieces_release(answer->writer);
    stored_content_close(answer->content);
    memory_free(answer);
}
DEFINE_OWN(OutputAnswer, release);

/* ---- planning ---- */

static Error *add_member(OutputAnswer *answer, const NamedArray *array, Member **out_member) {
    void *memory;
    TRY(memory_alloc(1, sizeof(Member), &memory));
    Member *member = memory;
    member->form = (NamedArray){
        .dtype = array->dtype, .shape = array->shape, .size = array->size, .texts = array->texts};
    member->last = &member->first;
    *answer->last = member;
    answer->last = &member->next;
    TRY(memory_copy_text(array->name, &member->form.name));
    TRY(name_map_set(answer->names, array->name, member));
    *out_member = member;
    return NULL;
}

static bool fits(const Member *member, const NamedArray *array) {
    Shape shape = array->shape;
    if (shape.rank > 0) shape.dims[0] = member->form.shape.dims[0];
    return array->dtype == member->form.dtype && shape_equal(&shape, &member->form.shape);
}

/* Finds the destination of the array: a member of its own, or the end of the one with its name. */
static Error *find_member(OutputAnswer *answer, const NamedArray *array, Member **out_member) {
    Member *member = name_map_find(answer->names, array->name);
    if (!member) return add_member(answer, array, out_member);
    if (!answer->append || array->shape.rank == 0 || array->dtype == DTYPE_STRING)
        FAIL(INVALID, "two arrays are named %s", array->name);
    if (!fits(member, array)) FAIL(CORRUPT, "outputs %s do not fit together", array->name);
    member->form.shape.dims[0] += array->shape.dims[0];
    member->form.size += array->size;
    *out_member = member;
    return NULL;
}

static Error *add_part(
    OutputAnswer *answer, NamedArray *inout_array, int64_t sequence, size_t *inout_chunk) {
    Member *member;
    uint64_t bytes;
    void *memory;
    TRY(npz_pieces_measure(inout_array, &bytes));
    if (inout_array->dtype == DTYPE_STRING && bytes > TEXTS_MAX)
        FAIL(EXHAUSTED, "array %s: its strings take %llu bytes in an .npz, at most %llu do",
            inout_array->name, (unsigned long long)bytes, (unsigned long long)TEXTS_MAX);
    TRY(find_member(answer, inout_array, &member));
    TRY(memory_alloc(1, sizeof(Part), &memory));
    Part *part = memory;
    answer->parts++;
    *member->last = part;
    member->last = &part->next;
    part->sequence = sequence;
    part->chunk_first = *inout_chunk;
    if (inout_array->dtype != DTYPE_STRING && inout_array->size > ARRAY_BUNDLE_INLINE_SIZE) {
        part->chunk_count = chunk_count(inout_array->size, CHUNK_SIZE);
        answer->piece = 2 * CHUNK_SIZE;
        array_data_free(inout_array->data, inout_array->size);
        inout_array->data = NULL;
    } else
        answer->held += bytes;
    *inout_chunk += part->chunk_count;
    answer->bytes += bytes;
    part->array = *inout_array;
    *inout_array = (NamedArray){0};
    return NULL;
}

/* Plans a row without reading a chunk: data in chunks is memory that is never touched. */
static Error *plan_row(OutputAnswer *answer, int64_t sequence) {
    OWN(StoredContent, content) = NULL;
    ArrayList OWN_ARRAYS(arrays) = {0};
    size_t size, chunks, chunk = 0;
    TRY(stored_content_open(
        answer->store, answer->tenant, answer->job, JOB_CONTENT_OUTPUT, sequence, &content));
    const uint8_t *bytes = stored_content_bytes(content, &size);
    const ChunkRef *refs = stored_content_chunks(content, &chunks);
    TRY(array_bundle_read_form(bytes, size, refs, chunks, UINT64_MAX, &arrays));
    for (size_t i = 0; i < arrays.count; i++)
        TRY(add_part(answer, &arrays.items[i], sequence, &chunk));
    return NULL;
}

static bool has_room(
    const OutputAnswer *answer, const JobOutput *row, const OutputAnswerLimits *limits) {
    return answer->bytes + row->bytes_raw <= limits->bytes_max && answer->held < limits->held_max;
}

static Error *plan_rows(
    OutputAnswer *answer, int64_t since, const OutputAnswerLimits *limits, JobsApiOutputs *out) {
    OWN(JobOutputList, list) = NULL;
    TRY(job_outputs_list(answer->store, answer->tenant, answer->job, since, &list));
    out->next = since;
    for (size_t i = 0; i < list->count && i < limits->rows_max; i++) {
        int64_t sequence = list->items[i].sequence;
        if (i > 0 && !has_room(answer, &list->items[i], limits)) break;
        TRY_WRAP(plan_row(answer, sequence), "output %lld", (long long)sequence);
        out->next = sequence + 1;
        out->count++;
    }
    return NULL;
}

/* Types that numpy lacks are said beside their arrays. */
static Error *plan_descriptions(OutputAnswer *answer) {
    const Member *end = NULL;
    for (Member *member = answer->first; member != end; member = member->next) {
        bool has_form;
        NamedArray form = {0};
        size_t chunk = 0;
        TRY(npz_pieces_describe(&member->form, &has_form, &form));
        if (!has_form) continue;
        Error *error = add_part(answer, &form, 0, &chunk);
        named_array_deinit(&form);
        TRY(error);
    }
    return NULL;
}

/* ---- reading ---- */

static Error *open_content(OutputAnswer *answer) {
    if (answer->content) return NULL;
    return stored_content_open(answer->store, answer->tenant, answer->job, JOB_CONTENT_OUTPUT,
        answer->part->sequence, &answer->content);
}

/* The elements of one chunk of the part. */
static Error *write_chunk(OutputAnswer *answer, uint8_t *raw, ByteWriter *out) {
    const Part *part = answer->part;
    size_t count;
    const ChunkRef *refs = stored_content_chunks(answer->content, &count);
    if (part->chunk_first + part->chunk_count > count)
        FAIL(CORRUPT, "output %lld has changed", (long long)part->sequence);
    const ChunkRun run = {refs + part->chunk_first + answer->chunk, 1, raw};
    TRY(chunk_read_data(NULL, &run, 1, CHUNK_VERIFY_XXH3, stored_content_source(answer->content)));
    NamedArray piece = part->array;
    piece.data = raw;
    piece.size = run.refs->raw_size;
    piece.shape = (Shape){.rank = 1};
    const int64_t elements = shape_count_unchecked(&part->array.shape);
    const uint32_t bits = dtype_bits(piece.dtype);
    const int64_t before = (int64_t)((uint64_t)answer->chunk * CHUNK_SIZE * 8 / bits);
    const int64_t here = (int64_t)(piece.size * 8 / bits);
    piece.shape.dims[0] = here < elements - before ? here : elements - before;
    return npz_pieces_add(answer->writer, &piece, out);
}

static Error *write_part(OutputAnswer *answer, ByteWriter *out) {
    Part *part = answer->part;
    void *raw;
    if (part->chunk_count == 0) {
        TRY(npz_pieces_add(answer->writer, &part->array, out));
        named_array_deinit(&part->array); /* nobody wants it again */
    } else {
        TRY(open_content(answer));
        TRY(memory_alloc(CHUNK_SIZE, 1, &raw));
        Error *error = write_chunk(answer, raw, out);
        memory_free(raw);
        TRY(error);
        if (++answer->chunk < part->chunk_count) return NULL;
    }
    stored_content_close(answer->content);
    answer->content = NULL;
    answer->chunk = 0;
    answer->part = part->next;
    return NULL;
}

/* One step of the file. */
static Error *write_some(OutputAnswer *answer, ByteWriter *out) {
    Member *member = answer->member;
    if (!answer->begun) {
        answer->part = member->first;
        answer->begun = true;
        return npz_pieces_begin(answer->writer, &member->form, out);
    }
    if (answer->part) return write_part(answer, out);
    answer->member = member->next;
    answer->begun = false;
    return npz_pieces_end(answer->writer, out);
}

static Error *pull(void *self, ByteWriter *out, HttpStreamState *out_state) {
    OutputAnswer *answer = self;
    while (answer->member && out->size < ENOUGH) TRY(write_some(answer, out));
    *out_state = answer->member ? HTTP_STREAM_MORE : HTTP_STREAM_END;
    return answer->member ? NULL : npz_pieces_finish(answer->writer, out);
}

Error *output_answer_open(Store *store, const Job *job, int64_t since,
    const OutputAnswerLimits *limits, HttpStream *out_stream, JobsApiOutputs *out) {
    void *memory;
    JobsApiOutputs outputs = {0};
    TRY(memory_alloc(1, sizeof(OutputAnswer), &memory));
    OWN(OutputAnswer, answer) = memory;
    answer->store = store;
    answer->tenant = job->tenant;
    answer->job = job->id;
    answer->append = job->items_total >= 0;
    answer->last = &answer->first;
    answer->piece = 2 * ENOUGH;
    TRY(name_map_create(&answer->names));
    TRY(npz_pieces_create(&answer->writer));
    TRY(plan_rows(answer, since, limits, &outputs));
    TRY(plan_descriptions(answer));
    name_map_release(TAKE(answer->names));
    answer->member = answer->first;
    *out = outputs;
    const uint64_t held = answer->held + answer->parts * PART_BYTES + answer->piece;
    *out_stream = (HttpStream){.pull = pull, .close = release, .self = TAKE(answer), .held = held};
    return NULL;
}
