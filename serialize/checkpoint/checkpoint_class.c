#include "serialize/checkpoint/checkpoint_class.h"

#include <string.h>

#include "serialize/checkpoint/checkpoint.h"

enum { SHOWN_MAX = 200 /* bytes of a class: both have room in a job's event */ };

/* The text comes from a file and is shown on terminals, so control characters are replaced. */
static void append_class(TextBuilder *words, const char *text) {
    for (size_t i = 0; text[i] && i < SHOWN_MAX; i++) {
        char letter[2] = {text[i] >= ' ' && text[i] <= '~' ? text[i] : '?', 0};
        text_append(words, letter);
    }
    if (strlen(text) > SHOWN_MAX) text_append(words, "...");
}

static Error *compare(const char *before, Device *device, char **out_words) {
    TextBuilder OWN_TEXT(now) = {0};
    TextBuilder OWN_TEXT(words) = {0};
    *out_words = NULL;
    device->class_->determinism_class(device, &now);
    TRY(text_builder_check(&now));
    if (!before[0] || strcmp(before, text_builder_get(&now)) == 0) return NULL;
    text_append(&words, "goes on with another determinism class: ");
    append_class(&words, before);
    text_append(&words, " -> ");
    append_class(&words, text_builder_get(&now));
    text_append(&words, ": results may differ in their last bits");
    return text_builder_take(&words, out_words);
}

Error *checkpoint_class_find_change(const Container *container, Device *device, char **out_words) {
    CheckpointHeader header;
    TRY(checkpoint_read_header(container, &header));
    Error *error = compare(header.determinism_class, device, out_words);
    checkpoint_header_deinit(&header);
    return error;
}
