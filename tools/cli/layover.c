/* The command line: parses the arguments, runs one verb, and ends with one line and an exit
 * code. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/allocator.h"
#include "tools/client/command.h"
#include "tools/client/nearest_model.h"

static int report(const CommandContext *context, Error *owned_error) {
    int exit_code = error_info(error_code(owned_error))->exit_code;
    (void)fflush(stdout);
    command_print_error(context, owned_error);
    error_free(owned_error);
    return exit_code;
}

int main(int argc, char **argv) {
    void *memory = NULL;
    CommandWanted wanted = COMMAND_WANTED_RUN;
    /* a reader that closed the pipe is an error of the write, not the end of the process */
    (void)signal(SIGPIPE, SIG_IGN);
    Error *error = memory_alloc(1, sizeof(CommandContext), &memory);
    if (error) {
        static const CommandContext plain;
        return report(&plain, error);
    }
    CommandContext *context = memory;
    error = command_line_parse(argc, argv, context, &wanted);
    if (!error && wanted == COMMAND_WANTED_HELP)
        command_line_print_help(context->command);
    else if (!error && wanted == COMMAND_WANTED_VERSION)
        error = command_line_print_version(context);
    else if (!error)
        error = nearest_model_explain(
            context, command_explain_reference(context, context->command->run(context)));
    if (!error && fflush(stdout) != 0)
        error = error_make(ERROR_IO, __FILE__, __LINE__, "the answer cannot be written");
    int exit_code = error ? report(context, error) : context->exit_code;
    memory_free(context);
    return exit_code;
}
