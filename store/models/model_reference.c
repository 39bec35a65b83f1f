#include "store/models/model_reference.h"

#include <string.h>

#include "base/text.h"
#include "store/database/store_name.h"

static bool is_number(const char *text) { return text[strspn(text, "0123456789")] == 0; }

Error *model_reference_check_alias(const char *alias) {
    TRY(store_name_check("alias", alias));
    if (is_number(alias))
        FAIL(INVALID, "alias %s reads like a version; use a name with a letter", alias);
    if (strcmp(alias, "newest") == 0)
        FAIL(
            INVALID, "alias newest: the newest version is NAME without an alias; use another name");
    return NULL;
}

Error *model_reference_parse(const char *text, ModelReference *out_reference) {
    ModelReference reference = {0};
    const char *at = strchr(text, '@');
    size_t length = at ? (size_t)(at - text) : strlen(text);
    if (length >= sizeof reference.model)
        FAIL(INVALID, "model \"%.80s\" is no name; it is longer than %d letters", text,
            MODEL_NAME_SIZE - 1);
    memcpy(reference.model, text, length);
    TRY(store_name_check("model", reference.model));
    if (at && is_number(at + 1)) {
        reference.kind = MODEL_REFERENCE_VERSION;
        if (!text_parse_i64(at + 1, &reference.version) || reference.version < 1)
            FAIL(INVALID, "model %s: \"%.80s\" is no version", reference.model, at + 1);
    } else if (at) {
        reference.kind = MODEL_REFERENCE_ALIAS;
        TRY_WRAP(model_reference_check_alias(at + 1), "model %s", reference.model);
        memcpy(reference.alias, at + 1, strlen(at + 1) + 1);
    }
    *out_reference = reference;
    return NULL;
}
