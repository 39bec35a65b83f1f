#include <stdio.h>
#include <unistd.h>

#include "tools/client/remote_models.h"
#include "vm/assembly/assembly.h"
#include "scheduler/http/client/json_fields.h"

const CommandOption command_disasm_options[] = {
    {"relax", NULL, false, "as Relax's text; not there yet"},
    {"summary", NULL, false, "without the constants' data"},
    {0},
};

static Error *disassemble(
    const CommandContext *context, ModelAccess *models, const char *what, TextBuilder *text) {
    OWN(Executable, executable) = NULL;
    ModelFileOptions options = {0};
    if (access(what, F_OK) == 0)
        TRY(model_file_load(models, what, &options, &executable));
    else {
        OWN(HttpClient, client) = NULL;
        TRY(remote_find(context, &client));
        if (!client && !models->store) {
            model_access_close(models);
            TRY(model_access_open(context, true, models));
        }
        TRY(client ? remote_models_load(client, what, models, &executable)
                   : model_access_load(models, what, NULL, &executable));
    }
    TRY(assembly_print(executable, !command_flag(context, "summary"), text));
    return text_builder_check(text);
}

static Error *print_one(
    const CommandContext *context, ModelAccess *access, const char *what, uint32_t count) {
    TextBuilder OWN_TEXT(text) = {0};
    json_object *object;
    TRY(disassemble(context, access, what, &text));
    if (!context->json) {
        if (count > 1) printf("/* %s */\n", what);
        (void)fputs(text_builder_get(&text), stdout);
        return NULL;
    }
    TRY(json_fields_create(&object));
    json_fields_text(object, "source", what);
    json_fields_text(object, "assembly", text_builder_get(&text));
    return command_print_json(object);
}

/* Prints an answer or an error line for each source. The first error decides the exit code. */
Error *command_disasm(CommandContext *context) {
    ModelAccess OWN_ACCESS(access) = {0};
    if (command_flag(context, "relax"))
        FAIL(UNSUPPORTED, "disasm --relax: Relax executables cannot be read or printed yet");
    TRY(model_access_open_files(&access));
    Error *first = NULL;
    for (uint32_t i = 0; i < context->argument_count; i++) {
        Error *error = print_one(context, &access, context->arguments[i], context->argument_count);
        if (!error) continue;
        if (!first) {
            first = error;
            continue;
        }
        command_print_error(context, error);
        error_free(error); /* printed already; only the first error is returned */
    }
    return first;
}
