#pragma once
/* What the files of serialize/relay/ share. Pure: constant tables. */
#include "serialize/relay/relay_file.h"

enum { RELAY_FIELDS_MAX = 16, RELAY_FIELD_NAME_MAX = 16 };

typedef struct RelayOpcode {
    const char *name; /* NULL: that version has no such instruction */
    const char *fields;
} RelayOpcode;

RelayOpcode relay_opcode_find(int64_t number, uint32_t minor);

/* One field of an instruction. */
typedef struct RelayField {
    char name[RELAY_FIELD_NAME_MAX];
    bool is_list;
    uint64_t count; /* words that it takes */
} RelayField;

/* Finds how the words of an instruction (without the hash) belong to its fields. Errors: CORRUPT
 * fewer or more words than the fields take. */
MUST_CHECK Error *relay_opcode_fields(const RelayOpcode *opcode, const RelayWords *words,
    RelayField out_fields[RELAY_FIELDS_MAX], uint32_t *out_count);
