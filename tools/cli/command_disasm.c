#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "serialize/relax/relax_text.h"
#include "serialize/relax/relax_translate.h"
#include "tools/relax/model_relax.h"
#include "tools/client/remote_models.h"
#include "vm/assembly/assembly.h"
#include "scheduler/http/client/json_fields.h"

const CommandOption command_disasm_options[] = {
    {"relax", NULL, false, "of a Relax executable: the text that TVM's as_text prints"},
    {"summary", NULL, false, "without the constants' data"},
    {0},
};

static Error *load(
    const CommandContext *context, ModelAccess *models, const char *what, Executable **out) {
    const ModelFileOptions options = {0};
    OWN(HttpClient, client) = NULL;
    if (access(what, F_OK) == 0) return model_file_load(models->pool, what, &options, out);
    TRY(remote_find(context, &client));
    if (client) return remote_models_load(client, what, models, out);
    if (!models->store) {
        model_access_close(models);
        TRY(model_access_open(context, true, models));
    }
    return model_access_load(models, what, NULL, out);
}

/* A Relax file, also one that cannot be translated. False: what is no such file. */
static Error *print_relax_file(const char *what, TextBuilder *text, bool *out_done) {
    const char *format;
    OWN(MappedFile, file) = NULL;
    OWN(RelaxFile, relax) = NULL;
    *out_done = false;
    if (access(what, F_OK) != 0) return NULL;
    TRY(model_file_format(what, NULL, &format));
    if (strcmp(format, "relax") != 0) return NULL;
    TRY(model_relax_open(what, &file, &relax));
    *out_done = true;
    return relax_text_print(relax, text);
}

static Error *print_relax(
    const CommandContext *context, ModelAccess *models, const char *what, TextBuilder *text) {
    OWN(Executable, executable) = NULL;
    OWN(RelaxFile, relax) = NULL;
    bool done;
    TRY(print_relax_file(what, text, &done));
    if (done) return NULL;
    TRY(load(context, models, what, &executable));
    TRY_WRAP(relax_translate_outline(executable, &relax), "%s", what);
    return relax_text_print(relax, text);
}

static Error *disassemble(
    const CommandContext *context, ModelAccess *models, const char *what, TextBuilder *text) {
    OWN(Executable, executable) = NULL;
    if (command_flag(context, "relax")) return print_relax(context, models, what, text);
    TRY(load(context, models, what, &executable));
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
