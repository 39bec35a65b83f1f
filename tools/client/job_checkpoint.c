#include "tools/client/job_checkpoint.h"

#include "tools/remote/job_request.h"

Error *job_checkpoint_fetch(HttpClient *client, const CommandContext *context, const char *job,
    const char *path, bool release, uint64_t *out_bytes) {
    const JobCheckpointWish wish = {.from = command_option(context, "from"),
        .with_model = command_flag(context, "with-model"),
        .release = release};
    return job_request_checkpoint(client, job, &wish, path, out_bytes);
}
