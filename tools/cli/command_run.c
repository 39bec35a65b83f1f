#include "tools/run/input_options.h"
#include "tools/run/remote_run.h"
#include "tools/run/run_report.h"

const CommandOption command_run_options[] = {
    {"input", INPUT_FORMS, true, INPUT_HELP},
    INPUT_VALUE_OPTIONS,
    {"function", "F", false, "which function; default main"},
    RUN_SHARED_OPTIONS,
    {0},
};

Error *command_run(CommandContext *context) {
    ModelAccess OWN_ACCESS(access) = {0};
    RunMachine OWN_MACHINE(machine) = {0};
    ModelVersion OWN_VERSION(version) = {0};
    OWN(HttpClient, client) = NULL;
    const char *reference = context->arguments[0];
    TRY(run_options_check(context));
    TRY(remote_find(context, &client));
    if (client) return remote_run_model(context, client);
    TRY(model_access_open(context, true, &access));
    TRY(models_find(access.store, access.tenant, reference, &version));
    TRY(run_machine_open_stored(context, &access, &version.executable, reference, &machine));
    TRY(run_machine_start(&machine, context));
    return run_to_end(context, &machine);
}
