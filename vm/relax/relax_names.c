#include "vm/relax/relax_names.h"

#include "base/text.h"
#include "vm/execution/stateful.h"

static Error *check_execution(const PackedCall *call) {
    if (call->execution) return NULL;
    FAIL(INVALID, "names are kept by an execution, and there is none");
}

static Error *key_of(const char *prefix, const char *name, TextBuilder *out) {
    text_append(out, prefix);
    text_append(out, name);
    return text_builder_check(out);
}

Error *relax_names_find(
    const PackedCall *call, const char *prefix, const char *name, const Value **out) {
    TRY(check_execution(call));
    TextBuilder OWN_TEXT(key) = {0};
    TRY(key_of(prefix, name, &key));
    *out = stateful_find_named(call->execution, text_builder_get(&key));
    return NULL;
}

Error *relax_names_set(
    const PackedCall *call, const char *prefix, const char *name, const Value *value) {
    TRY(check_execution(call));
    TextBuilder OWN_TEXT(key) = {0};
    TRY(key_of(prefix, name, &key));
    return stateful_set_named(call->execution, text_builder_get(&key), value_copy(*value));
}

Error *relax_names_remove(const PackedCall *call, const char *prefix, const char *name) {
    TRY(check_execution(call));
    stateful_remove_named(call->execution, prefix, name);
    return NULL;
}
