#include "tools/client/answer_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/client/remote.h"

enum { NAME_SIZE = 64, VALUE_SIZE = 32 };

/* Finds the first name of "one|other|-" that the object has. out_name: that name, or "-", or "". */
static json_object *find(json_object *object, const char *names, size_t length, char *out_name) {
    const char *end = names + length;
    json_object *value = NULL;
    out_name[0] = 0;
    for (const char *at = names; !value && at < end;) {
        const char *bar = memchr(at, '|', (size_t)(end - at));
        const char *stop = bar ? bar : end;
        (void)snprintf(out_name, NAME_SIZE, "%.*s", (int)(stop - at), at);
        value = remote_field(object, out_name);
        at = stop + 1;
    }
    return value;
}

static void print_field(json_object *object, const char *field, size_t length) {
    char name[NAME_SIZE], value[VALUE_SIZE], *kind = (char[]){""};
    const char *colon = memchr(field, ':', length);
    const int width = colon ? (int)strtol(colon + 1, &kind, 10) : 0;
    json_object *found = find(object, field, colon ? (size_t)(colon - field) : length, name);
    const char *text = strcmp(name, "-") == 0 ? "-" : remote_text(object, name);
    if (*kind == 't') {
        remote_print_time(remote_real(object, name), value);
        text = value;
    } else if (*kind == 'M') {
        (void)snprintf(value, sizeof value, "%.1f", remote_real(object, name) / 1e6);
        text = value;
    } else if (json_object_is_type(found, json_type_int)) {
        (void)snprintf(value, sizeof value, "%lld", (long long)json_object_get_int64(found));
        text = value;
    }
    printf("%*s", width, text);
}

void answer_line_print(const char *format, json_object *object) {
    for (const char *at = format; *at;) {
        const char *brace = strchrnul(at, '{'), *end = strchr(brace, '}');
        printf("%.*s", (int)(brace - at), at);
        if (!end) break;
        print_field(object, brace + 1, (size_t)(end - brace - 1));
        at = end + 1;
    }
    printf("\n");
}
