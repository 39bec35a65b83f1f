/* Models that are made ready before a job asks for them: control_expect_model of control.h. Called
 * on any thread; an I/O thread does the work. */
#include "scheduler/control/control.h"

#include "base/allocator.h"
#include "base/container_of.h"
#include "scheduler/control/adapters/control_executor.h"
#include "scheduler/control/state/control_devices.h"
#include "scheduler/control/state/control_state.h"

typedef struct Preparation {
    IoTask task;
    Control *control;
    TenantId tenant;
    Digest identity;
} Preparation;

/* A failure is ignored: the first run of the model fails in the same way, and reports it. */
static void prepare(IoTask *task) {
    Preparation *self = CONTAINER_OF(task, Preparation, task);
    uint32_t index;
    if (control_find_cpu(self->control, &index))
        error_free(resident_models_prepare(self->control->executor->models, self->tenant,
            &self->identity, self->control->executor->host));
    memory_free(self);
}

void control_expect_model(Control *control, TenantId tenant, const Digest *identity) {
    void *memory;
    Error *error = memory_alloc(1, sizeof(Preparation), &memory);
    if (error) {
        error_free(error); /* as prepare's */
        return;
    }
    Preparation *self = memory;
    *self = (Preparation){
        .task.run = prepare, .control = control, .tenant = tenant, .identity = *identity};
    io_pool_post(control->executor->io, &self->task);
}
