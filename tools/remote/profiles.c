#include "tools/remote/profiles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "base/file.h"
#include "base/nearest.h"

static const char *const key_names[PROFILE_KEY_COUNT] = {
#define KEY(member, name, meaning) [PROFILE_##member] = name,
#include "tools/remote/profile_keys.def"
#undef KEY
};

void profiles_deinit(Profiles *profiles) {
    text_builder_deinit(&profiles->text);
    memory_free(profiles->items);
    *profiles = (Profiles){0};
}

Error *profiles_find_path(char **out_path) {
    static const struct {
        const char *variable, *below;
    } places[] = {
        {"LAYOVER_CONFIG", ""},
        {"XDG_CONFIG_HOME", "/layover/config"},
        {"HOME", "/.config/layover/config"},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        TextBuilder OWN_TEXT(path) = {0};
        const char *value = getenv(places[i].variable);
        if (!value || !*value) continue;
        text_appendf(&path, "%s%s", value, places[i].below);
        return text_builder_take(&path, out_path);
    }
    FAIL(NOT_FOUND, "no file of profiles: LAYOVER_CONFIG, XDG_CONFIG_HOME and HOME are not set");
}

/* ---- the parser: one line after the other ---- */

typedef struct Parser {
    const char *what;
    uint32_t line;
    const char *at, *end; /* of the line */
    Profiles *profiles;
    bool given[PROFILE_KEY_COUNT]; /* keys of the last profile */
} Parser;

#define FAIL_LINE(parser, ...)                                                                     \
    return error_wrap(error_make(ERROR_INVALID, __FILE__, __LINE__, __VA_ARGS__), "%s:%u",         \
        (parser)->what, (parser)->line)

static void skip_blanks(Parser *parser) {
    while (parser->at < parser->end && (*parser->at == ' ' || *parser->at == '\t')) parser->at++;
}

/* Returns whether only blanks and a comment are left. */
static bool is_over(Parser *parser) {
    skip_blanks(parser);
    return parser->at == parser->end || *parser->at == '#';
}

static Error *check_over(Parser *parser, const char *behind) {
    if (!is_over(parser)) FAIL_LINE(parser, "only a comment may stand behind %s", behind);
    return NULL;
}

/* Reads letters, digits and . _ - into out; text_is_name checks the rest. */
static void read_word(Parser *parser, char out[PROFILE_NAME_SIZE]) {
    size_t size = 0;
    while (parser->at < parser->end && size < PROFILE_NAME_SIZE - 1 &&
           !strchr(" \t]=\"#", *parser->at))
        out[size++] = *parser->at++;
    out[size] = 0;
}

static Error *read_header(Parser *parser, size_t begin) {
    Profiles *profiles = parser->profiles;
    char name[PROFILE_NAME_SIZE];
    parser->at++;
    skip_blanks(parser);
    read_word(parser, name);
    skip_blanks(parser);
    if (parser->at == parser->end || *parser->at != ']' || !text_is_name(name))
        FAIL_LINE(parser, "[NAME] is wanted: at most 64 letters, digits and . _ -");
    parser->at++;
    TRY(check_over(parser, "[NAME]"));
    if (profiles_find(profiles, name)) FAIL_LINE(parser, "the profile %s is there twice", name);
    if (profiles->count == PROFILES_MAX)
        FAIL_LINE(parser, "at most %d profiles are read", PROFILES_MAX);
    Profile *profile = &profiles->items[profiles->count++];
    memcpy(profile->name, name, sizeof name);
    profile->begin = begin;
    memset(parser->given, 0, sizeof parser->given);
    return NULL;
}

static Error *find_key(Parser *parser, const char *name, ProfileKey *out_key) {
    Nearest nearest = nearest_to(name);
    for (uint32_t i = 0; i < PROFILE_KEY_COUNT; i++) {
        *out_key = (ProfileKey)i;
        if (strcmp(key_names[i], name) == 0) return NULL;
        nearest_try(&nearest, key_names[i]);
    }
    FAIL_LINE(parser, "there is no key %s" NEAREST_TEXT, name, NEAREST_NAME(nearest, ""));
}

/* Reads a text in quotes. */
static Error *read_value(Parser *parser, char out[PROFILE_VALUE_SIZE]) {
    size_t size = 0;
    skip_blanks(parser);
    if (parser->at == parser->end || *parser->at != '"')
        FAIL_LINE(parser, "a text in double quotes is wanted");
    for (parser->at++; parser->at < parser->end && *parser->at != '"'; parser->at++) {
        if (*parser->at == '\\') {
            parser->at++;
            if (parser->at == parser->end || !strchr("\"\\", *parser->at))
                FAIL_LINE(parser, "only \\\" and \\\\ are escapes");
        }
        if (size == PROFILE_VALUE_SIZE - 1)
            FAIL_LINE(parser, "a text has at most %d bytes", PROFILE_VALUE_SIZE - 1);
        out[size++] = *parser->at;
    }
    if (parser->at == parser->end) FAIL_LINE(parser, "the closing quote is missing");
    parser->at++;
    out[size] = 0;
    if (size == 0) FAIL_LINE(parser, "the text is empty; leave the key out");
    return check_over(parser, "a value");
}

static Error *read_key(Parser *parser) {
    char name[PROFILE_NAME_SIZE];
    ProfileKey key;
    read_word(parser, name);
    skip_blanks(parser);
    if (!*name || parser->at == parser->end || *parser->at != '=')
        FAIL_LINE(parser, "[NAME], or KEY = \"VALUE\", is wanted");
    parser->at++;
    if (parser->profiles->count == 0)
        FAIL_LINE(parser, "the key %s stands in no profile; [NAME] begins one", name);
    TRY(find_key(parser, name, &key));
    if (parser->given[key]) FAIL_LINE(parser, "the key %s is there twice", name);
    parser->given[key] = true;
    return read_value(parser, parser->profiles->items[parser->profiles->count - 1].values[key]);
}

static Error *check_letters(const Parser *parser) {
    for (const char *at = parser->at; at < parser->end; at++)
        if ((unsigned char)*at < ' ' && *at != '\t')
            FAIL_LINE(parser, "there is a control character");
    if (!text_is_utf8(parser->at, (size_t)(parser->end - parser->at)))
        FAIL_LINE(parser, "the line is not UTF-8");
    return NULL;
}

static Error *read_line(Parser *parser, size_t begin) {
    TRY(check_letters(parser));
    if (is_over(parser)) return NULL;
    return *parser->at == '[' ? read_header(parser, begin) : read_key(parser);
}

static Error *read_lines(Parser *parser) {
    const char *text = text_builder_get(&parser->profiles->text);
    const size_t size = parser->profiles->text.size;
    for (size_t begin = 0; begin < size;) {
        const char *feed = memchr(text + begin, '\n', size - begin);
        const size_t end = feed ? (size_t)(feed - text) : size;
        parser->line++;
        parser->at = text + begin;
        parser->end = text + end;
        if (parser->end > parser->at && parser->end[-1] == '\r') parser->end--;
        TRY(read_line(parser, begin));
        begin = feed ? end + 1 : end;
        if (parser->profiles->count)
            parser->profiles->items[parser->profiles->count - 1].end = begin;
    }
    return NULL;
}

static Error *check_servers(const Parser *parser) {
    for (uint32_t i = 0; i < parser->profiles->count; i++)
        if (!*parser->profiles->items[i].values[PROFILE_SERVER])
            FAIL(INVALID, "%s: the profile %s has no server", parser->what,
                parser->profiles->items[i].name);
    return NULL;
}

Error *profiles_parse(const char *what, const void *text, size_t size, Profiles *out_profiles) {
    Profiles OWN_PROFILES(profiles) = {0};
    Parser parser = {.what = what, .profiles = &profiles};
    void *memory;
    if (size > PROFILES_SIZE_MAX)
        FAIL(INVALID, "%s has %zu bytes, at most %d are read", what, size, PROFILES_SIZE_MAX);
    TRY(memory_alloc(PROFILES_MAX, sizeof(Profile), &memory));
    profiles.items = memory;
    if (size) text_append_bytes(&profiles.text, text, size);
    TRY(text_builder_check(&profiles.text));
    TRY(read_lines(&parser));
    TRY(check_servers(&parser));
    *out_profiles = profiles;
    profiles = (Profiles){0};
    return NULL;
}

Error *profiles_read(const char *path, Profiles *out_profiles) {
    uint8_t *data = NULL;
    size_t size = 0;
    Error *error = file_read(path, PROFILES_SIZE_MAX, &data, &size);
    if (error_code(error) == ERROR_NOT_FOUND) {
        error_free(error); /* a file that is not there has no profiles */
        return profiles_parse(path, "", 0, out_profiles);
    }
    TRY(error);
    error = profiles_parse(path, data, size, out_profiles);
    memory_unmap(data, size);
    return error;
}

const Profile *profiles_find(const Profiles *profiles, const char *name) {
    for (uint32_t i = 0; i < profiles->count; i++)
        if (strcmp(profiles->items[i].name, name) == 0) return &profiles->items[i];
    return NULL;
}

/* ---- the writer ---- */

static void print_value(TextBuilder *text, const char *value) {
    text_append(text, "\"");
    for (; *value; value++) {
        if (*value == '"' || *value == '\\') text_append(text, "\\");
        text_append_bytes(text, value, 1);
    }
    text_append(text, "\"\n");
}

static void print_profile(TextBuilder *text, const Profile *profile) {
    text_appendf(text, "[%s]\n", profile->name);
    for (uint32_t i = 0; i < PROFILE_KEY_COUNT; i++) {
        if (!*profile->values[i]) continue;
        text_appendf(text, "%s = ", key_names[i]);
        print_value(text, profile->values[i]);
    }
}

static Error *write_private(const char *path, const TextBuilder *text) {
    OWN(FileOutput, output) = NULL;
    TRY(file_output_create_private(path, &output));
    TRY(file_output_write(output, text_builder_get(text), text->size));
    return file_output_commit(output);
}

Error *profiles_write(
    const char *path, const Profiles *profiles, const char *name, const Profile *profile) {
    TextBuilder OWN_TEXT(text) = {0};
    Profiles OWN_PROFILES(checked) = {0};
    const char *before = text_builder_get(&profiles->text);
    const Profile *old = profiles_find(profiles, name);
    const size_t size = profiles->text.size, begin = old ? old->begin : size;
    const size_t end = old ? old->end : size;
    text_append_bytes(&text, before, begin);
    if (begin > 0 && before[begin - 1] != '\n') text_append(&text, "\n");
    if (!old && begin > 0) text_append(&text, "\n");
    if (profile) print_profile(&text, profile);
    if (profile && end < size) text_append(&text, "\n");
    text_append_bytes(&text, before + end, size - end);
    TRY(text_builder_check(&text));
    /* what is written must be readable */
    TRY(profiles_parse(path, text_builder_get(&text), text.size, &checked));
    return write_private(path, &text);
}

Error *profiles_resolve(const char *path, const char *value, char **out_path) {
    TextBuilder OWN_TEXT(resolved) = {0};
    const char *slash = strrchr(path, '/');
    if (value[0] != '/' && slash) text_append_bytes(&resolved, path, (size_t)(slash - path) + 1);
    text_append(&resolved, value);
    return text_builder_take(&resolved, out_path);
}
