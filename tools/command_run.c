#include "tools/remote_run.h"
#include "tools/run_report.h"

const CommandOption command_run_options[] = {
    {"input", "FILE.npz|NAME=FILE.npy", true,
        "inputs: arrays named like them (.npz, .safetensors) or one each"},
    {"function", "F", false, "which function; default main"},
    RUN_SHARED_OPTIONS,
    {0},
};

Error *command_run(CommandContext *context) {
    ModelAccess OWN_ACCESS(access) = {0};
    RunMachine OWN_MACHINE(machine) = {0};
    OWN(Executable, executable) = NULL;
    OWN(HttpClient, client) = NULL;
    uint32_t function;
    const char *name = command_option(context, "function");
    TRY(run_options_check(context));
    TRY(remote_find(context, &client));
    if (client) return remote_run_model(context, client);
    TRY(model_access_open(context, true, &access));
    TRY(model_access_load(&access, context->arguments[0], NULL, &executable));
    TRY(executable_find_function(executable, name ? name : "main", &function));
    TRY(run_machine_open(context, access.pool, TAKE(executable), &machine));
    TRY(run_machine_start(&machine, context));
    return run_to_end(context, &machine);
}
