#pragma once
/* Moving many jobs: all of them before a node's maintenance (drain), or some of those that wait
 * or run (rebalance).
 *
 * While a node is drained, and after that until somebody ends it, it takes no jobs. */
#include "scheduler/migration/migrations.h"

typedef struct NodeDrain NodeDrain;

typedef struct NodeDrainStatus {
    bool draining; /* no jobs are taken; also when it is over */
    bool over;     /* nothing moves any more */
    size_t jobs, moved;
    size_t stayed; /* they could not be moved; the newest reason is in error */
    char error[512];
} NodeDrainStatus;

/* Everything is borrowed. own_node: this home's number. */
MUST_CHECK Error *node_drain_create(
    Migrations *migrations, Control *control, uint64_t own_node, NodeDrain **out_drain);
/* Leaves what is under way to the migrations. */
void node_drain_release(NodeDrain *drain);
DEFINE_OWN(NodeDrain, node_drain_release);

/* Begins to move every unfinished job away. to: a node; NULL: each to the least loaded node.
 * Errors: NOT_FOUND the node; CONFLICT it is being drained already; UNREACHABLE no node answers. */
MUST_CHECK Error *node_drain_begin(NodeDrain *drain, const char *to);
/* Jobs are taken again. */
void node_drain_end(NodeDrain *drain);
void node_drain_get_status(NodeDrain *drain, NodeDrainStatus *out_status);

/* Told of each job that begins to move. */
typedef Error *NodeDrainVisitor(void *context, JobId job, const char *node);
/* Moves jobs to nodes that have fewer of them for each device, until it is even: those that wait
 * first, the newest of them first, then those that run. Returns when they have begun to move. */
MUST_CHECK Error *node_drain_rebalance(NodeDrain *drain, NodeDrainVisitor *visit, void *context);
