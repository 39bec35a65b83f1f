#include "compiler/relay/relay_check.h"

#include "base/allocator.h"
#include "compiler/relay/relay_check_internal.h"

Error *relay_want_global(RelayCheck *check, RelayGlobal *global) {
    global->wanted = true;
    if (global->type) return NULL;
    const size_t names = check->type_name_count;
    TRY(relay_declare_function(check, global->function));
    global->type = global->function->type;
    check->type_name_count = names;
    return NULL;
}

/* Checks every function that is wanted; checking one may want others. */
static Error *check_globals(RelayCheck *check) {
    RelayProgram *program = check->program;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < program->global_count; i++) {
            RelayGlobal *global = program->global_list[i];
            if (!global->wanted || global->checked) continue;
            more = global->checked = true;
            TRY(relay_want_global(check, global));
            TRY(relay_check_function(check, global->function));
            TRY(relay_check_waiting(check, false));
        }
    }
    return relay_check_waiting(check, true);
}

static Error *check_program(RelayCheck *check) {
    RelayProgram *program = check->program;
    TRY(name_map_create(&check->locals));
    TRY(relay_scratch_create(&check->scratch));
    /* the user's types are wanted; the prelude's are where they are used */
    for (size_t i = 0; i < program->data_count; i++) {
        RelayData *data = program->data_list[i];
        if (data->place.source || !data->wanted) continue;
        data->wanted = false;
        TRY(relay_want_data(check, data));
    }
    for (size_t i = 0; i < program->global_count; i++)
        if (program->global_list[i]->wanted) TRY(relay_want_global(check, program->global_list[i]));
    return check_globals(check);
}

Error *relay_check(RelayProgram *program) {
    RelayCheck check = {.program = program};
    Error *error = check_program(&check);
    name_map_release(check.locals);
    relay_scratch_release(check.scratch);
    memory_free(check.shadows);
    memory_free(check.type_names);
    memory_free(check.waiting);
    return error;
}
