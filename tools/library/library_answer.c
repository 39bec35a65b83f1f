/* JSON answers of layover.h and layover_jobs.h. */
#include "base/allocator.h"
#include "scheduler/http/client/json_body.h"
#include "tools/library/library_internal.h"

Error *library_answer(json_object *owned_answer, LayoverValue *out) {
    OWN_JSON(answer) = owned_answer;
    char *copy;
    const char *text = json_object_to_json_string_ext(
        answer, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    if (!text) FAIL(OUT_OF_MEMORY, "no memory for the answer");
    TRY(memory_copy_text(text, &copy));
    *out = (LayoverValue){LAYOVER_STRING, {.text = copy}};
    return NULL;
}
