#pragma once
/* Moves many jobs: all of them before a node's maintenance (drain), or some to even the load among
 * nodes (rebalance). Made by daemon.c; called by route_nodes.c and route_migrations.c on handler
 * threads; a drain has a thread of its own.
 *
 * A node takes no jobs from the beginning of its drain until node_drain_end. */
#include "scheduler/migration/migrations.h"

typedef struct NodeDrain NodeDrain;

typedef struct NodeDrainStatus {
    bool draining; /* the node takes no jobs; stays true after the drain is over */
    bool over;     /* no job moves any more */
    size_t jobs, moved;
    size_t stayed; /* jobs that could not be moved; error has the newest reason */
    char error[512];
} NodeDrainStatus;

/* Borrows all arguments. own_node: this home's number. */
MUST_CHECK Error *node_drain_create(
    Migrations *migrations, Control *control, uint64_t own_node, NodeDrain **out_drain);
/* Leaves the moves that have begun to the migrations. */
void node_drain_release(NodeDrain *drain);
DEFINE_OWN(NodeDrain, node_drain_release);

/* Begins to move every unfinished job away. to: a node; NULL: each job goes to the least loaded
 * node. Errors: NOT_FOUND the node; CONFLICT a drain is under way; UNREACHABLE no node answers. */
MUST_CHECK Error *node_drain_begin(NodeDrain *drain, const char *to);
/* Ends the drain; the node takes jobs again. */
void node_drain_end(NodeDrain *drain);
void node_drain_get_status(NodeDrain *drain, NodeDrainStatus *out_status);

/* Called for each job that begins to move. */
typedef Error *NodeDrainVisitor(void *context, JobId job, const char *node);
/* Moves jobs to nodes that have fewer of them for each device, until the load is even: first
 * waiting jobs, the newest of them first, then running ones. Returns when the moves have begun. */
MUST_CHECK Error *node_drain_rebalance(NodeDrain *drain, NodeDrainVisitor *visit, void *context);
