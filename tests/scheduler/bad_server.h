#pragma once
/* A server that answers every connection with the same bytes, whatever it is asked. */
#include <pthread.h>

typedef struct BadServer {
    int listener;
    pthread_t thread;
    const char *answer; /* NULL: closes at once */
    char url[64];
} BadServer;

void bad_server_start(BadServer *server, const char *answer);
void bad_server_stop(BadServer *server);
