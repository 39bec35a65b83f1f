#include "tools/remote/job_request.h"

#include <string.h>

#include "serialize/arrays/npz.h"

Error *job_request_write_inputs(const char *path, const ArrayList *inputs) {
    OWN(FileOutput, output) = NULL;
    OWN(NpzWriter, writer) = NULL;
    TRY(file_output_create(path, &output));
    TRY(npz_writer_create(output, &writer));
    for (size_t i = 0; i < inputs->count; i++) TRY(npz_writer_add(writer, &inputs->items[i]));
    TRY(npz_writer_finish(writer));
    return file_output_commit(output);
}

Error *job_request_submit(
    HttpClient *client, json_object *policy, const char *inputs_path, json_object **out_job) {
    HttpClientReply OWN_REPLY(reply) = {0};
    const char *text = json_object_to_json_string_ext(policy, JSON_C_TO_STRING_PLAIN);
    if (!text) FAIL(OUT_OF_MEMORY, "no memory for a request");
    HttpClientCall call = {
        .method = HTTP_METHOD_POST,
        .path = route_info(ROUTE_JOB_SUBMIT)->pattern,
        .parts = {{.name = "policy",
                      .content_type = "application/json",
                      .data = text,
                      .size = strlen(text)},
            {.name = "inputs", .content_type = "application/octet-stream", .path = inputs_path}},
        .part_count = 2,
    };
    TRY(http_client_call(client, &call, &reply));
    return remote_parse(text_builder_get(&reply.text), out_job);
}

Error *job_request_restore(HttpClient *client, const char *path, bool with_outputs,
    const char *device, json_object **out_job) {
    TextBuilder OWN_TEXT(address) = {0};
    remote_path(&address, ROUTE_CHECKPOINT_RESTORE, NULL);
    if (with_outputs) http_client_query(&address, "with_outputs", "1");
    if (device) http_client_query(&address, "device", device);
    return remote_send_file(client, &address, path, out_job);
}

Error *job_request_checkpoint(HttpClient *client, const char *job, const JobCheckpointWish *wish,
    const char *path, uint64_t *out_bytes) {
    TextBuilder OWN_TEXT(address) = {0};
    HttpClientReply OWN_REPLY(reply) = {0};
    remote_path(&address, wish->release ? ROUTE_JOB_RELEASE : ROUTE_JOB_CHECKPOINT, &job);
    if (wish->from) http_client_query(&address, "from", wish->from);
    if (wish->with_model) http_client_query(&address, "with_model", "1");
    TRY(text_builder_check(&address));
    HttpClientCall call = {
        .method = wish->release ? HTTP_METHOD_POST : HTTP_METHOD_GET,
        .path = text_builder_get(&address),
        .json = wish->release ? "{\"release\":true}" : NULL,
        .output = path,
    };
    TRY(http_client_call(client, &call, &reply));
    *out_bytes = reply.bytes;
    return NULL;
}
