#include "kernels/native/native_server.h"
#include "tools/client/command.h"

const CommandOption command_native_worker_options[] = {{0}};

Error *command_native_worker(CommandContext *context) {
    (void)context; /* the argument names the library in lists of processes */
    return native_server_run();
}
