/* Captures and graphs of the fake driver: lists of commands, which a launch queues one by one. A
 * capture is spoiled by what it does not take; ending it then gives no graph, as with a real
 * driver. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_cuda/fake_driver.h"

struct CUgraph_st {
    FakeCommand *first, **last;
    bool spoiled;
    struct CUgraph_st *next; /* of those that are being recorded */
};

struct CUgraphExec_st {
    struct CUctx_st *context;
    FakeCommand *first;
};

static struct CUgraph_st *recorded; /* not ended */

static void release_commands(FakeCommand *command) {
    while (command) {
        FakeCommand *next = command->next;
        fake_command_release(command);
        command = next;
    }
}

/* ---- captures ---- */

void fake_graph_spoil(struct CUgraph_st *graph) {
    graph->spoiled = true;
    fake_control.mistakes++;
}

void fake_graph_spoil_all(void) {
    for (struct CUgraph_st *graph = recorded; graph; graph = graph->next) graph->spoiled = true;
}

int fake_graph_add(struct CUgraph_st *graph, FakeCommand *owned_command) {
    int result = CUDA_SUCCESS;
    if (graph->spoiled) result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!owned_command->capturable) {
        fake_graph_spoil(graph);
        result = owned_command->waits ? CUDA_ERROR_STREAM_CAPTURE_ISOLATION
                                      : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (result != CUDA_SUCCESS) {
        fake_command_release(owned_command);
        return result;
    }
    *graph->last = owned_command;
    graph->last = &owned_command->next;
    return CUDA_SUCCESS;
}

FAKE_CUDA_FUNCTION cuStreamBeginCapture_v2(CUstream stream, int mode) {
    FAKE_CUDA_CALL(context);
    (void)context;
    struct CUgraph_st **capture = fake_stream_capture(stream);
    if (*capture) FAKE_CUDA_RETURN(CUDA_ERROR_ILLEGAL_STATE);
    if (mode != CU_STREAM_CAPTURE_MODE_RELAXED) FAKE_CUDA_RETURN(CUDA_ERROR_INVALID_VALUE);
    struct CUgraph_st *graph = calloc(1, sizeof *graph);
    if (!graph) FAKE_CUDA_RETURN(CUDA_ERROR_OUT_OF_MEMORY);
    graph->last = &graph->first;
    graph->next = recorded;
    recorded = graph;
    *capture = graph;
    fake_control.captures++;
    fake_control.graphs++;
    FAKE_CUDA_RETURN(CUDA_SUCCESS);
}

static void release_graph(CUgraph graph) {
    release_commands(graph->first);
    free(graph);
    fake_control.graphs--;
}

/* The stream is itself again, whatever the result. */
FAKE_CUDA_FUNCTION cuStreamEndCapture(CUstream stream, CUgraph *out) {
    (void)pthread_mutex_lock(&fake_mutex);
    struct CUctx_st *context = fake_driver_current();
    struct CUgraph_st **capture = fake_stream_capture(stream), *graph = *capture, **at = &recorded;
    int result = context ? context->error : CUDA_ERROR_INVALID_CONTEXT;
    *out = NULL;
    if (!graph) FAKE_CUDA_RETURN(CUDA_ERROR_ILLEGAL_STATE);
    while (*at != graph) at = &(*at)->next;
    *at = graph->next;
    *capture = NULL;
    if (result == CUDA_SUCCESS) result = fake_control_fail(__func__);
    if (result == CUDA_SUCCESS && graph->spoiled) result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (result == CUDA_SUCCESS)
        *out = graph;
    else
        release_graph(graph);
    FAKE_CUDA_RETURN(result);
}

FAKE_CUDA_FUNCTION cuGraphDestroy(CUgraph graph) {
    (void)pthread_mutex_lock(&fake_mutex);
    release_graph(graph);
    FAKE_CUDA_RETURN(CUDA_SUCCESS);
}

/* ---- executable graphs ---- */

/* Whoever runs a command releases it: each launch has its own. */
static bool copy_commands(const FakeCommand *from, FakeCommand **out) {
    FakeCommand *first = NULL, **last = &first;
    for (; from; from = from->next) {
        FakeCommand *copy = fake_command_create(from->params_size);
        if (!copy) {
            release_commands(first);
            return false;
        }
        memcpy(copy, from, sizeof *copy + from->params_size);
        copy->next = NULL;
        *last = copy;
        last = &copy->next;
    }
    *out = first;
    return true;
}

FAKE_CUDA_FUNCTION cuGraphInstantiateWithFlags(
    CUgraphExec *out, CUgraph graph, unsigned long long flags) {
    FAKE_CUDA_CALL(context);
    if (flags) FAKE_CUDA_RETURN(CUDA_ERROR_INVALID_VALUE);
    CUgraphExec executable = calloc(1, sizeof *executable);
    if (!executable) FAKE_CUDA_RETURN(CUDA_ERROR_OUT_OF_MEMORY);
    executable->context = context;
    if (!copy_commands(graph->first, &executable->first)) {
        free(executable);
        FAKE_CUDA_RETURN(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *out = executable;
    fake_control.instantiations++;
    fake_control.graphs++;
    FAKE_CUDA_RETURN(CUDA_SUCCESS);
}

static int compare(const FakeCommand *one, const FakeCommand *other) {
    for (; one && other; one = one->next, other = other->next)
        if (one->run != other->run) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    return one || other ? CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED
                        : CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

FAKE_CUDA_FUNCTION cuGraphExecUpdate_v2(
    CUgraphExec executable, CUgraph graph, CUgraphExecUpdateResultInfo *out) {
    FAKE_CUDA_CALL(context);
    FakeCommand *commands;
    (void)context;
    *out = (CUgraphExecUpdateResultInfo){.result = compare(executable->first, graph->first)};
    if (out->result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
        FAKE_CUDA_RETURN(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    if (!copy_commands(graph->first, &commands)) FAKE_CUDA_RETURN(CUDA_ERROR_OUT_OF_MEMORY);
    release_commands(executable->first);
    executable->first = commands;
    fake_control.updates++;
    FAKE_CUDA_RETURN(CUDA_SUCCESS);
}

/* All of it, or nothing. */
FAKE_CUDA_FUNCTION cuGraphLaunch(CUgraphExec executable, CUstream stream) {
    FAKE_CUDA_CALL(context);
    FakeCommand *command;
    if (executable->context != context || *fake_stream_capture(stream))
        FAKE_CUDA_RETURN(CUDA_ERROR_INVALID_VALUE);
    if (!copy_commands(executable->first, &command)) FAKE_CUDA_RETURN(CUDA_ERROR_OUT_OF_MEMORY);
    while (command) {
        FakeCommand *next = command->next;
        command->next = NULL;
        (void)fake_stream_push(stream, command); /* the context is whole */
        command = next;
    }
    fake_control.graph_launches++;
    FAKE_CUDA_RETURN(CUDA_SUCCESS);
}

FAKE_CUDA_FUNCTION cuGraphExecDestroy(CUgraphExec executable) {
    (void)pthread_mutex_lock(&fake_mutex);
    release_commands(executable->first);
    free(executable);
    fake_control.graphs--;
    FAKE_CUDA_RETURN(CUDA_SUCCESS);
}
