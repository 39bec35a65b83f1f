#include "scheduler/http/routes/inference_model.h"

#include <stdio.h>

#include "store/models/model_reference.h"

Error *inference_model_find(
    HttpService *service, const HttpRequest *request, JobsApiModel *out_model) {
    const JobsApi *jobs = &service->jobs;
    const char *model = http_request_name(request, 0);
    const char *version = request->match.name_count > 1 ? http_request_name(request, 1) : NULL;
    char reference[MODEL_REFERENCE_SIZE];
    if (!text_is_name(model)) FAIL(INVALID, "%.80s is no model name", model);
    if (version && !text_is_name(version)) FAIL(INVALID, "%.80s is no version or alias", version);
    (void)snprintf(reference, sizeof reference, version ? "%s@%s" : "%s", model, version);
    return jobs->class_->find_model(jobs->self, &request->caller, reference, out_model);
}
