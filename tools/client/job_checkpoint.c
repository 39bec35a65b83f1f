#include "tools/client/job_checkpoint.h"

Error *job_checkpoint_fetch(HttpClient *client, const CommandContext *context, const char *job,
    const char *path, bool release, uint64_t *out_bytes) {
    TextBuilder OWN_TEXT(address) = {0};
    HttpClientReply OWN_REPLY(reply) = {0};
    const char *from = command_option(context, "from");
    remote_path(&address, release ? ROUTE_JOB_RELEASE : ROUTE_JOB_CHECKPOINT, &job);
    if (from) http_client_query(&address, "from", from);
    if (command_flag(context, "with-model")) http_client_query(&address, "with_model", "1");
    TRY(text_builder_check(&address));
    HttpClientCall call = {
        .method = release ? HTTP_METHOD_POST : HTTP_METHOD_GET,
        .path = text_builder_get(&address),
        .json = release ? "{\"release\":true}" : NULL,
        .output = path,
    };
    TRY(http_client_call(client, &call, &reply));
    *out_bytes = reply.bytes;
    return NULL;
}
