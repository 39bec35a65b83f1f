#pragma once
/* The store port of control_ports.h over the catalog, its writer and the I/O threads. Created and
 * released by control_thread.c; used by the logic on the control thread. */
#include "scheduler/control/control.h"
#include "scheduler/control/control_ports.h"
#include "scheduler/executor/io_pool.h"

typedef struct ControlStore ControlStore;

/* The results of commits are posted to the mailbox. options, io: borrowed. */
MUST_CHECK Error *control_store_create(
    const ControlOptions *options, IoPool *io, ControlMailbox mailbox, ControlStore **out_store);
ControlStorePort control_store_get_port(ControlStore *store);
/* Waits until every order is done and its message is posted. Called when the I/O threads have
 * ended. */
void control_store_finish(ControlStore *store);
void control_store_release(ControlStore *store);
