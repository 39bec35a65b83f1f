/* Files of TVM's Relax and Relay VMs, and libraries with a Relax executable. What is read is
 * printed, written back byte for byte, translated and run. */
#include <assert.h>
#include <string.h>

#include "serialize/relax/relax_library.h"
#include "serialize/relax/relax_text.h"
#include "serialize/relax/relax_translate.h"
#include "serialize/relay/relay_file.h"
#include "tests/fuzz/fuzz_run.h"
#include "tests/fuzz/fuzz_target.h"

static Error *use_relax(const uint8_t *data, size_t size) {
    const uint8_t *found;
    size_t found_size;
    TextBuilder OWN_TEXT(text) = {0};
    ByteWriter OWN_BYTES(back) = {0};
    OWN(RelaxFile, file) = NULL;
    OWN(Executable, executable) = NULL;
    TRY(relax_library_find(data, size, false, &found, &found_size));
    TRY(relax_file_read(found, found_size, false, &file));
    TRY(relax_text_print(file, &text));
    TRY(relax_text_print_python(file, &text));
    TRY(relax_text_print_stats(file, &text));
    TRY(relax_translate(file, NULL, &executable));
    TRY(relax_translate_back(executable, &back));
    assert(back.size == found_size && memcmp(back.data, found, found_size) == 0);
    fuzz_run_executable(executable);
    return NULL;
}

static Error *use_graph(const uint8_t *data, size_t size) {
    RelaxLibraryGraph graph;
    bool found;
    TRY(relax_library_find_graph(data, size, &found, &graph));
    if (!found) return NULL;
    assert(graph.json >= data && graph.json + graph.json_size <= data + size);
    assert(graph.params >= data && graph.params + graph.params_size <= data + size);
    assert(graph.blob_begin <= size && graph.blob_size <= size - graph.blob_begin);
    return NULL;
}

static Error *use_relay(const uint8_t *data, size_t size) {
    TextBuilder OWN_TEXT(text) = {0};
    OWN(RelayFile, file) = NULL;
    TRY(relay_file_read(data, size, &file));
    return relay_text_print(file, &text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    error_free(use_relax(data, size)); /* either is right */
    error_free(use_graph(data, size)); /* either is right */
    error_free(use_relay(data, size)); /* either is right */
    return 0;
}
