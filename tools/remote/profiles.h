#pragma once
/* The file of profiles: servers under names, as `layover login` writes them. Callers:
 * server_choice.c, command_login.c. Threads: any; no state.
 *
 *   # a comment
 *   [work]
 *   server = "https://gpu1:8443"
 *   token_file = "work.token"
 *
 * The file is a part of TOML: tables of texts in double quotes, in which \" and \\ stand for a
 * quote and a backslash. A profile's name is a name as tenants have them (text_is_name). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

enum {
    PROFILES_SIZE_MAX = 64 << 10, /* of the file */
    PROFILES_MAX = 64,
    PROFILE_NAME_SIZE = 65,
    PROFILE_VALUE_SIZE = 1024, /* with the terminating NUL */
};

typedef enum ProfileKey {
#define KEY(member, name, meaning) PROFILE_##member,
#include "tools/remote/profile_keys.def"
#undef KEY
    PROFILE_KEY_COUNT
} ProfileKey;

typedef struct Profile {
    char name[PROFILE_NAME_SIZE];
    char values[PROFILE_KEY_COUNT][PROFILE_VALUE_SIZE]; /* "": not given */
    size_t begin, end;                                  /* its lines in the file's text */
} Profile;

typedef struct Profiles {
    TextBuilder text; /* the whole file */
    Profile *items;
    uint32_t count;
} Profiles;

void profiles_deinit(Profiles *profiles);
#define OWN_PROFILES(name) __attribute__((cleanup(profiles_deinit))) name

/* The file's path: $LAYOVER_CONFIG, else $XDG_CONFIG_HOME/layover/config, else
 * $HOME/.config/layover/config; release with memory_free. Errors: NOT_FOUND none of them is set. */
MUST_CHECK Error *profiles_find_path(char **out_path);
/* Reads a text. what: names the file in errors. Errors: INVALID the fault, with its line. */
MUST_CHECK Error *profiles_parse(
    const char *what, const void *text, size_t size, Profiles *out_profiles);
/* Reads the file; a missing one has no profiles. Errors: as profiles_parse; IO. */
MUST_CHECK Error *profiles_read(const char *path, Profiles *out_profiles);
/* Returns NULL where there is no such profile. The profiles own it. */
const Profile *profiles_find(const Profiles *profiles, const char *name);
/* Writes the file with this profile in the place of one of its name, or at its end; profile NULL:
 * without one of that name. All other lines stay as they are. The file gets mode 0600. Errors:
 * INVALID a value that no profile can have; EXHAUSTED too many profiles; IO. */
MUST_CHECK Error *profiles_write(
    const char *path, const Profiles *profiles, const char *name, const Profile *profile);
/* The path of a file that a value names. value: relative to the folder of the file of profiles. */
MUST_CHECK Error *profiles_resolve(const char *path, const char *value, char **out_path);
