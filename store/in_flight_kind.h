#pragma once
/* What a tenant's bytes on their way into the home belong to; each kind is counted apart
 * (in_flight.h). */

typedef enum InFlightKind {
    IN_FLIGHT_BODY,
    IN_FLIGHT_CHUNKS,
    IN_FLIGHT_KINDS,
} InFlightKind;
