#pragma once
/* The store as the control thread's logic sees it: the store port of control_ports.h over the
 * catalog, its writer and the I/O threads. Used by control.c. */
#include "scheduler/control/control.h"
#include "scheduler/control/control_ports.h"
#include "scheduler/executor/io_pool.h"

typedef struct ControlStore ControlStore;

/* What was stored is told through the mailbox. options, io: borrowed. */
MUST_CHECK Error *control_store_create(
    const ControlOptions *options, IoPool *io, ControlMailbox mailbox, ControlStore **out_store);
ControlStorePort control_store_get_port(ControlStore *store);
/* Waits until everything that was ordered is done, and its messages are posted. Behind the end of
 * the I/O threads. */
void control_store_finish(ControlStore *store);
void control_store_release(ControlStore *store);
