#include "tools/client/model_print.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "scheduler/http/routes/model_json.h"
#include "tools/client/colour.h"
#include "tools/client/remote.h"

void model_print_header(void) {
    printf("%-24s %7s %12s  %-16s %-16s %s\n", "model", "version", "MB stored", "created",
        "executable", "aliases");
}

void model_print_row(json_object *version) {
    char created[32];
    json_object *aliases = remote_field(version, "aliases");
    remote_print_time(remote_real(version, "created"), created);
    printf("%-24s %7lld %12.1f  %-16s %.16s", remote_text(version, "model"),
        (long long)remote_int(version, "version"), remote_real(version, "bytes_stored") / 1e6,
        created, remote_text(version, "executable"));
    size_t count =
        json_object_is_type(aliases, json_type_array) ? json_object_array_length(aliases) : 0;
    for (size_t i = 0; i < count; i++)
        printf(
            "%s%s", i ? "," : " ", json_object_get_string(json_object_array_get_idx(aliases, i)));
    printf("\n");
}

static void print_shape(json_object *port, TextBuilder *out) {
    json_object *shape = remote_field(port, "shape"), *symbols = remote_field(port, "symbols");
    if (!json_object_is_type(shape, json_type_array)) {
        text_append(out, "?");
        return;
    }
    for (size_t d = 0; d < json_object_array_length(shape); d++) {
        int64_t dim = json_object_get_int64(json_object_array_get_idx(shape, d));
        json_object *symbol = json_object_is_type(symbols, json_type_array)
                                  ? json_object_array_get_idx(symbols, d)
                                  : NULL;
        text_append(out, d ? ", " : "");
        if (dim >= 0)
            text_appendf(out, "%lld", (long long)dim);
        else
            text_append(out, symbol ? json_object_get_string(symbol) : "?");
    }
}

static void print_ports(const char *what, json_object *ports) {
    size_t count =
        json_object_is_type(ports, json_type_array) ? json_object_array_length(ports) : 0;
    for (size_t i = 0; i < count; i++) {
        TextBuilder OWN_TEXT(shape) = {0};
        json_object *port = json_object_array_get_idx(ports, i);
        print_shape(port, &shape);
        const char *form = remote_text(port, "form");
        printf("  %-8s %s: %s%s%s [%s]\n", what, remote_text(port, "name"), form, *form ? " " : "",
            remote_text(port, "dtype"), text_builder_get(&shape));
    }
}

void model_print_all(json_object *version) {
    json_object *functions = remote_field(version, "functions");
    size_t count =
        json_object_is_type(functions, json_type_array) ? json_object_array_length(functions) : 0;
    model_print_header();
    model_print_row(version);
    const char *lowered = remote_text(version, "lowered_to");
    if (*lowered) printf("lowered to %s\n", lowered);
    for (size_t i = 0; i < count; i++) {
        json_object *function = json_object_array_get_idx(functions, i);
        printf("function %s\n", remote_text(function, "name"));
        print_ports("input", remote_field(function, "inputs"));
        print_ports("output", remote_field(function, "outputs"));
    }
}

void model_print_warnings(
    const CommandContext *context, const TextBuilder *warnings, json_object *inout_object) {
    for (const char *line = text_builder_get(warnings); *line;) {
        const int size = (int)strcspn(line, "\n");
        if (!context->json && !context->quiet)
            (void)fprintf(stderr, "%slayover: warning:%s %.*s\n",
                colour_begin(STDERR_FILENO, COLOUR_YELLOW), colour_end(STDERR_FILENO), size, line);
        line += size + (line[size] == '\n');
    }
    if (inout_object) model_warnings_json(warnings, inout_object);
}
