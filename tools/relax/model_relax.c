#include "tools/relax/model_relax.h"

#include "base/text.h"
#include "serialize/relax/relax_library.h"
#include "serialize/relax/relax_translate.h"

bool model_relax_is_file(const char *path, const uint8_t *head, size_t size) {
    return relax_file_probe(head, size) || relax_library_probe(head, size) ||
           text_ends_with(path, ".so") || text_ends_with(path, ".bin");
}

static Error *read_mapped(const char *path, const MappedFile *file, RelaxFile **out) {
    const uint8_t *data;
    size_t size;
    if (!file) FAIL(CORRUPT, "the file is empty");
    TRY(relax_library_find(mapped_file_data(file), (size_t)mapped_file_size(file),
        text_ends_with(path, ".so"), &data, &size));
    return relax_file_read(data, size, false, out);
}

/* Zeroes in place of missing bytes may be the cause of any error. */
static Error *check_damage(const char *path, const MappedFile *file, Error *owned_error) {
    if (!file || !mapped_file_is_damaged(file)) return error_wrap(owned_error, "%s", path);
    error_free(owned_error); /* the damage is told */
    FAIL(IO, "cannot read %s: it became shorter meanwhile, or its disk fails", path);
}

Error *model_relax_open(const char *path, MappedFile **out_file, RelaxFile **out_relax) {
    OWN(MappedFile, file) = NULL;
    TRY(file_map(path, RELAX_FILE_SIZE_MAX, &file));
    TRY(check_damage(path, file, read_mapped(path, file, out_relax)));
    *out_file = TAKE(file);
    return NULL;
}

/* Translates a file together with the library that it is in, if that has compiled functions. */
static Error *translate(
    const char *path, const MappedFile *file, const RelaxFile *relax, Executable **out) {
    const uint8_t *whole = mapped_file_data(file), *data;
    RelaxLibrary library = {.bytes = whole, .size = (size_t)mapped_file_size(file)};
    if (!relax_library_has_code(whole, library.size, relax))
        return relax_translate(relax, NULL, out);
    TRY(relax_library_find(
        whole, library.size, text_ends_with(path, ".so"), &data, &library.file_size));
    library.file_begin = (size_t)(data - whole);
    return relax_translate(relax, &library, out);
}

Error *model_relax_load(const char *path, Executable **out_executable) {
    OWN(MappedFile, file) = NULL;
    OWN(RelaxFile, relax) = NULL;
    OWN(Executable, executable) = NULL;
    TRY(model_relax_open(path, &file, &relax));
    TRY(check_damage(path, file, translate(path, file, relax, &executable)));
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
