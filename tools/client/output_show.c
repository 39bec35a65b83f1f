#include "tools/client/output_show.h"

#include <stdio.h>
#include <string.h>

#include "tools/client/array_print.h"

static bool is_dash(const char *path) { return path && strcmp(path, "-") == 0; }

const char *output_file(const CommandContext *context) {
    const char *path = command_option(context, "output");
    return is_dash(path) ? NULL : path;
}

bool output_is_json(const CommandContext *context) {
    return context->json || is_dash(command_option(context, "output"));
}

static Error *write_out(const TextBuilder *text) {
    TRY(text_builder_check(text));
    if (fwrite(text_builder_get(text), 1, text->size, stdout) != text->size || fflush(stdout) != 0)
        FAIL(IO, "the answer cannot be written");
    return NULL;
}

Error *output_show(const ArrayList *arrays) {
    for (size_t i = 0; i < arrays->count; i++) {
        TextBuilder OWN_TEXT(text) = {0};
        array_print_lines(&arrays->items[i], &text);
        TRY(write_out(&text));
    }
    return NULL;
}

Error *output_show_json(
    const CommandContext *context, json_object *owned_object, const ArrayList *arrays) {
    TextBuilder OWN_TEXT(text) = {0};
    const bool whole = is_dash(command_option(context, "output"));
    if (!arrays) return command_print_json(owned_object);
    const char *object = json_object_to_json_string_ext(
        owned_object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    const size_t length = object ? strlen(object) : 0;
    if (length > 0) text_append_bytes(&text, object, length - 1); /* without the last brace */
    text_append(&text, length > 2 ? ",\"outputs\":[" : "\"outputs\":[");
    json_object_put(owned_object);
    if (length == 0) FAIL(OUT_OF_MEMORY, "no memory for the answer");
    for (size_t i = 0; i < arrays->count; i++) {
        if (i > 0) text_append(&text, ",");
        array_print_json(&arrays->items[i], whole, &text);
    }
    text_append(&text, "]}\n");
    return write_out(&text);
}
