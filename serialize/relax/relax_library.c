#include "serialize/relax/relax_library.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "serialize/relax/relax_elf.h"

/* The newest first; the last is the one of the older form. */
static const char *const symbols[] = {
    "__tvm_ffi__library_bin", "__tvm_ffi_library_bin", "__tvm_dev_mblob"};
enum { SYMBOLS = sizeof symbols / sizeof *symbols, MODULES_MAX = 1 << 16, KIND_SHOWN = 64 };

typedef struct Bytes {
    const uint8_t *data;
    size_t size;
} Bytes;

static Error *read_bytes(ByteReader *reader, const char *what, Bytes *out) {
    uint64_t size;
    TRY_WRAP(byte_read_u64(reader, &size), "%s", what);
    if (size > byte_reader_left(reader))
        FAIL(CORRUPT, "%s: %" PRIu64 " bytes, but only %zu are left", what, size,
            byte_reader_left(reader));
    TRY(byte_read_view(reader, (size_t)size, &out->data));
    out->size = (size_t)size;
    return NULL;
}

static Error *read_count(ByteReader *reader, const char *what, uint64_t *out) {
    TRY_WRAP(byte_read_u64(reader, out), "%s", what);
    if (*out > MODULES_MAX) FAIL(CORRUPT, "%" PRIu64 " %s", *out, what);
    return NULL;
}

/* Skips the rows of the modules' tree; *out: how many modules there are. */
static Error *skip_tree(ByteReader *reader, uint64_t *out) {
    uint64_t count, children;
    const uint8_t *words;
    TRY(read_count(reader, "rows of the tree of modules", &count));
    TRY(byte_read_view(reader, (size_t)count * 8, &words));
    TRY(read_count(reader, "imports of modules", &children));
    TRY(byte_read_view(reader, (size_t)children * 8, &words));
    *out = count ? count - 1 : 0;
    return NULL;
}

static bool is_kind(Bytes kind, const char *name) {
    return kind.size == strlen(name) && memcmp(kind.data, name, kind.size) == 0;
}

static void note_kind(TextBuilder *kinds, Bytes kind) {
    const int shown = kind.size > KIND_SHOWN ? KIND_SHOWN : (int)kind.size;
    if (kinds->size > 1000) return;
    text_appendf(kinds, "%s%.*s", kinds->size ? ", " : "", shown, (const char *)kind.data);
}

Error *relax_library_unpack(
    const void *blob, size_t size, bool older, const uint8_t **out_data, size_t *out_size) {
    TextBuilder OWN_TEXT(kinds) = {0};
    Bytes content, kind, payload;
    ByteReader reader = byte_reader(blob, size);
    uint64_t count;
    TRY(read_bytes(&reader, "the modules of the library", &content));
    reader = byte_reader(content.data, content.size);
    TRY(older ? read_count(&reader, "modules", &count) : skip_tree(&reader, &count));
    for (uint64_t i = 0; i < count; i++) {
        TRY_WRAP(read_bytes(&reader, "kind", &kind), "module %" PRIu64, i);
        note_kind(&kinds, kind);
        if (is_kind(kind, "_lib")) continue;
        const bool wanted =
            is_kind(kind, "relax.VMExecutable") || is_kind(kind, "relax.Executable");
        /* the sizes of other modules are not known in the older form */
        if (older && !wanted) break;
        const size_t start = reader.position;
        TRY_WRAP(read_bytes(&reader, "content", &payload), "module %" PRIu64, i);
        if (!wanted) continue;
        *out_data = older ? reader.data + start : payload.data;
        *out_size = older ? reader.position - start : payload.size;
        return NULL;
    }
    FAIL(UNSUPPORTED, "a library without a Relax executable: its modules are %s",
        kinds.size ? text_builder_get(&kinds) : "none");
}

bool relax_library_probe(const void *data, size_t size) {
    return size >= 4 && memcmp(data,
                            "\x7f"
                            "ELF",
                            4) == 0;
}

Error *relax_library_find(
    const void *data, size_t size, bool library, const uint8_t **out_data, size_t *out_size) {
    if (!library && !relax_library_probe(data, size)) {
        *out_data = data;
        *out_size = size;
        return NULL;
    }
    const uint8_t *blob;
    size_t blob_size, symbol;
    TRY(relax_elf_find(data, size, symbols, SYMBOLS, &blob, &blob_size, &symbol));
    return relax_library_unpack(blob, blob_size, symbol == SYMBOLS - 1, out_data, out_size);
}

static bool exports(const void *data, size_t size, const RelaxGlobal *function) {
    TextBuilder OWN_TEXT(symbol) = {0};
    const uint8_t *found;
    size_t found_size, found_name;
    text_append(&symbol, "__tvm_ffi_");
    if (function->kind == RELAX_NATIVE) text_append(&symbol, RELAX_NATIVE_PREFIX);
    text_append_bytes(&symbol, function->name.data, function->name.size);
    const char *const names[] = {text_builder_get(&symbol)};
    Error *error = text_builder_check(&symbol);
    if (!error) error = relax_elf_find(data, size, names, 1, &found, &found_size, &found_name);
    error_free(error);
    return !error;
}

/* The content of the module that makes a graph executor: str graph, u64 count of params, vec<str>
 * names, tensors, str name of the module. */
static Error *unpack_graph(ByteReader *reader, bool *out_found, RelaxLibraryGraph *out) {
    uint64_t count;
    Bytes kind, json;
    TRY(read_count(reader, "modules", &count));
    for (uint64_t i = 0; i < count; i++) {
        TRY_WRAP(read_bytes(reader, "kind", &kind), "module %" PRIu64, i);
        if (is_kind(kind, "_lib")) continue;
        if (!is_kind(kind, "GraphExecutorFactory") && !is_kind(kind, "GraphRuntimeFactory")) break;
        TRY_WRAP(read_bytes(reader, "the graph", &json), "module %" PRIu64, i);
        out->json = json.data;
        out->json_size = json.size;
        out->params = reader->data + reader->position;
        out->params_size = byte_reader_left(reader);
        *out_found = true;
        break; /* the sizes of other modules are not known */
    }
    return NULL;
}

Error *relax_library_find_graph(
    const void *data, size_t size, bool *out_found, RelaxLibraryGraph *out) {
    const char *const symbol = symbols[SYMBOLS - 1];
    const uint8_t *blob;
    size_t blob_size, found;
    Bytes content;
    bool exported;
    *out_found = false;
    TRY(relax_elf_exports(data, size, symbol, &exported));
    if (!exported) return NULL;
    TRY(relax_elf_find(data, size, &symbol, 1, &blob, &blob_size, &found));
    ByteReader reader = byte_reader(blob, blob_size);
    TRY(read_bytes(&reader, "the modules of the library", &content));
    reader = byte_reader(content.data, content.size);
    out->blob_begin = (size_t)(content.data - (const uint8_t *)data);
    out->blob_size = content.size;
    return unpack_graph(&reader, out_found, out);
}

Error *relax_library_exports(const void *data, size_t size, const char *name, bool *out_exported) {
    bool older;
    TextBuilder OWN_TEXT(symbol) = {0};
    text_appendf(&symbol, "__tvm_ffi_%s", name);
    TRY(text_builder_check(&symbol));
    TRY(relax_elf_exports(data, size, text_builder_get(&symbol), out_exported));
    if (*out_exported) return NULL;
    TRY(relax_elf_exports(data, size, "__tvm_module_ctx", &older));
    return older ? relax_elf_exports(data, size, name, out_exported) : NULL;
}

bool relax_library_has_code(const void *data, size_t size, const RelaxFile *file) {
    if (!relax_library_probe(data, size)) return false;
    for (uint64_t i = 0; i < file->function_count; i++)
        if (file->functions[i].kind != RELAX_BYTECODE && exports(data, size, &file->functions[i]))
            return true;
    return false;
}
