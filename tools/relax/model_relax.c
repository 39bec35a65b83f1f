#include "tools/relax/model_relax.h"

#include "base/text.h"
#include "serialize/relax/relax_library.h"
#include "serialize/relax/relax_translate.h"

bool model_relax_is_file(const char *path, const uint8_t *head, size_t size) {
    return relax_file_probe(head, size) || relax_library_probe(head, size) ||
           text_ends_with(path, ".so") || text_ends_with(path, ".bin");
}

/* *out_library: the whole file, and where the Relax executable is in it. */
static Error *read_mapped(
    const char *path, const MappedFile *file, RelaxLibrary *out_library, RelaxFile **out) {
    const uint8_t *data;
    if (!file) FAIL(CORRUPT, "the file is empty");
    const uint8_t *whole = mapped_file_data(file);
    *out_library = (RelaxLibrary){.bytes = whole, .size = (size_t)mapped_file_size(file)};
    TRY(relax_library_find(
        whole, out_library->size, text_ends_with(path, ".so"), &data, &out_library->file_size));
    out_library->file_begin = (size_t)(data - whole);
    return relax_file_read(data, out_library->file_size, false, out);
}

/* Zeroes in place of missing bytes may be the cause of any error. */
static Error *check_damage(const char *path, const MappedFile *file, Error *owned_error) {
    if (!file || !mapped_file_is_damaged(file)) return error_wrap(owned_error, "%s", path);
    error_free(owned_error); /* the damage is told */
    FAIL(IO, "cannot read %s: it became shorter meanwhile, or its disk fails", path);
}

static Error *open_file(
    const char *path, MappedFile **out_file, RelaxLibrary *out_library, RelaxFile **out_relax) {
    OWN(MappedFile, file) = NULL;
    TRY(file_map(path, RELAX_FILE_SIZE_MAX, &file));
    TRY(check_damage(path, file, read_mapped(path, file, out_library, out_relax)));
    *out_file = TAKE(file);
    return NULL;
}

Error *model_relax_open(const char *path, MappedFile **out_file, RelaxFile **out_relax) {
    RelaxLibrary library;
    return open_file(path, out_file, &library, out_relax);
}

Error *model_relax_load(const char *path, Executable **out_executable) {
    RelaxLibrary library;
    OWN(MappedFile, file) = NULL;
    OWN(RelaxFile, relax) = NULL;
    OWN(Executable, executable) = NULL;
    TRY(open_file(path, &file, &library, &relax));
    const bool has_code = relax_library_has_code(library.bytes, library.size, relax);
    TRY(check_damage(path, file, relax_translate(relax, has_code ? &library : NULL, &executable)));
    *out_executable = TAKE(executable);
    return NULL;
}

Error *model_relax_write(const Executable *executable, const char *path, uint64_t *out_bytes) {
    ByteWriter OWN_BYTES(bytes) = {0};
    TRY(relax_translate_back(executable, &bytes));
    TRY(file_write_atomic(path, bytes.data, bytes.size));
    *out_bytes = bytes.size;
    return NULL;
}
