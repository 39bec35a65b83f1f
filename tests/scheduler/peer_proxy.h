#pragma once
/* Stands between two nodes: forwards requests, loses them or their answers, or lies. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef enum PeerAction {
    PEER_FORWARDS,
    PEER_LOSES_REQUEST,
    PEER_LOSES_ANSWER, /* it has been forwarded */
    PEER_SAYS,         /* what the rule says, and it is not forwarded */
    PEER_STALLS,       /* until the other side has enough of it, or the proxy stops */
} PeerAction;

/* For the first `times` requests whose line contains `part` (NULL: none). */
typedef struct PeerRule {
    const char *part, *says; /* says: a body, answered with status */
    PeerAction action;
    int status;
} PeerRule;

typedef struct PeerProxy {
    const char *target;    /* HOST:PORT, borrowed; NULL: nothing can be forwarded */
    pthread_mutex_t mutex; /* guards the rule */
    PeerRule rule;
    atomic_int times;
    void (*before)(void *context); /* called when the rule applies, before anything is forwarded */
    void *context;
    atomic_int applied, requests;
    atomic_bool stopping;
    int listener;
    pthread_t thread;
    char url[64];
} PeerProxy;

/* Not on the stack: the thread of a test that failed goes on when its stack is another's. */
PeerProxy *peer_proxy_start(const char *target);
void peer_proxy_set(
    PeerProxy *proxy, const char *part, PeerAction action, int times, int status, const char *says);
void peer_proxy_release(PeerProxy **proxy);
#define OWN_PROXY(name) __attribute__((cleanup(peer_proxy_release))) name
