#pragma once
/* Handles requests: submissions, and what people ask of jobs. Migration, release, recovery and
 * drain have files of their own. On the control thread. */
#include "scheduler/node/message_queue.h"

/* Handles the message of a ControlRequest. */
void control_handle_request(void *context, Message *message);
