#include "kernels/registry/device_registry.h"
#include "kernels/process/process_server.h"
#include "tools/client/command.h"

const CommandOption command_worker_options[] = {{0}};

Error *command_worker(CommandContext *context) {
    return process_server_run(context->arguments[0], device_open_here);
}
