#include "compiler/relay/relay_import.h"

#include <string.h>

#include "compiler/relay/relay_check.h"
#include "compiler/relay/relay_lower.h"
#include "compiler/relay/text/relay_parse.h"
#include "compiler/relay/text/relay_tokens.h"
#include "compiler/relay/relay_prelude.h"

Error *relay_import(const uint8_t *data, size_t size, IrModule **out) {
    OWN(RelayProgram, program) = NULL;
    OWN(IrModule, module) = NULL;
    TRY(relay_program_create(&program));
    TRY(relay_parse(program, NULL, (const char *)data, size, false));
    TRY(relay_parse(program, "prelude", relay_prelude, sizeof relay_prelude - 1, true));
    TRY(relay_check(program));
    TRY(ir_module_create(&module));
    TRY(relay_lower(program, module));
    *out = TAKE(module);
    return NULL;
}

bool relay_probe(const uint8_t *data, size_t size) {
    static const char *const beginnings[] = {
        "#[version", "def @", "type ", "v0.0.4", "fn (", "free_var %", "let %"};
    const char *text = (const char *)data;
    size_t at = relay_mark_size(text, size);
    for (;;) { /* comments and white space */
        while (at < size && strchr(" \t\r\n", text[at]) && text[at]) at++;
        if (size - at < 2 || text[at] != '/' || (text[at + 1] != '*' && text[at + 1] != '/')) break;
        const char *end = text[at + 1] == '/' ? "\n" : "*/";
        at += 2;
        while (at < size && (size - at < strlen(end) || memcmp(text + at, end, strlen(end)) != 0))
            at++;
        at += strlen(end);
        if (at >= size) return false;
    }
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
        const size_t length = strlen(beginnings[i]);
        if (size - at >= length && memcmp(text + at, beginnings[i], length) == 0) return true;
    }
    return false;
}
