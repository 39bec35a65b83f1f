#include "scheduler/http/server/http_gate.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "base/library/shared_library.h"
#include "scheduler/http/client/http_libraries.h"

enum {
    TLS_AGAIN = -28, /* GNUTLS_E_AGAIN */
    BUCKETS = 4096,
    PIECE_SIZE = 4096,
    DISCARDED_MAX = 64 << 10, /* after a refusal, at once: the sender reads the answer then */
};

/* Of a connection to the server, or of none that is known here. */
typedef ssize_t Receive(void *context, void *out, size_t size);

static struct {
    pthread_mutex_t mutex;
    HttpGate *buckets[BUCKETS];
    ssize_t (*recv)(int, void *, size_t, int);
    ssize_t (*record_recv)(void *, void *, size_t);
    bool plain, tls; /* installed */
} gates = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static HttpGate **bucket_of(uintptr_t key) {
    return &gates.buckets[(key ^ key >> 5 ^ key >> 17) % BUCKETS];
}

static HttpGate *find(uintptr_t key) {
    (void)pthread_mutex_lock(&gates.mutex);
    HttpGate *at = *bucket_of(key);
    while (at && at->key != key) at = at->next;
    (void)pthread_mutex_unlock(&gates.mutex);
    return at;
}

void http_gate_open(HttpGate *gate, int descriptor, void *session) {
    gate->key = session ? (uintptr_t)session : (uintptr_t)descriptor;
    (void)pthread_mutex_lock(&gates.mutex);
    HttpGate **bucket = bucket_of(gate->key);
    gate->next = *bucket;
    *bucket = gate;
    (void)pthread_mutex_unlock(&gates.mutex);
}

void http_gate_close(HttpGate *gate) {
    (void)pthread_mutex_lock(&gates.mutex);
    HttpGate **at = bucket_of(gate->key);
    while (*at && *at != gate) at = &(*at)->next;
    if (*at) *at = gate->next;
    (void)pthread_mutex_unlock(&gates.mutex);
    http_framing_deinit(&gate->framing);
}

/* Receives as much as there is: libmicrohttpd waits for the socket's next event if it gets less
 * than it asked for. again: the result that means no bytes now. */
static ssize_t receive(
    HttpGate *gate, Receive *from, void *context, void *out, size_t size, ssize_t again) {
    HttpFraming *framing = &gate->framing;
    uint8_t piece[PIECE_SIZE];
    size_t got = 0, discarded = 0;
    ssize_t count = 0;
    while (got < size) {
        const size_t ready = http_framing_take(framing, (uint8_t *)out + got, size - got);
        got += ready;
        if (ready) continue;
        const uint64_t free_bytes = http_framing_free_bytes(framing);
        const size_t room = size - got;
        if (free_bytes) {
            count =
                from(context, (uint8_t *)out + got, free_bytes < room ? (size_t)free_bytes : room);
            if (count <= 0) break;
            http_framing_pass(framing, (uint64_t)count);
            got += (size_t)count;
        } else {
            if (framing->state == HTTP_FRAMING_REFUSED) discarded += sizeof piece;
            count = discarded > DISCARDED_MAX ? again : from(context, piece, sizeof piece);
            if (discarded > DISCARDED_MAX) errno = EAGAIN;
            if (count <= 0) break;
            http_framing_add(framing, piece, (size_t)count);
        }
    }
    return got ? (ssize_t)got : count;
}

typedef struct Socket {
    int descriptor, flags;
} Socket;

static ssize_t receive_plain(void *context, void *out, size_t size) {
    const Socket *from = context;
    return gates.recv(from->descriptor, out, size, from->flags);
}

static ssize_t gate_recv(int descriptor, void *out, size_t size, int flags) {
    HttpGate *gate = find((uintptr_t)descriptor);
    if (!gate) return gates.recv(descriptor, out, size, flags);
    return receive(gate, receive_plain, &(Socket){descriptor, flags}, out, size, -1);
}

static ssize_t receive_tls(void *session, void *out, size_t size) {
    return gates.record_recv(session, out, size);
}

static ssize_t gate_record_recv(void *session, void *out, size_t size) {
    HttpGate *gate = find((uintptr_t)session);
    if (!gate) return gates.record_recv(session, out, size);
    return receive(gate, receive_tls, session, out, size, TLS_AGAIN);
}

static Error *redirect(const char *name, const void *replacement, void *out_previous) {
    void *inside, *previous = NULL;
    memcpy(&inside, &microhttpd.start_daemon, sizeof inside);
    TRY(shared_library_redirect(inside, name, replacement, &previous));
    memcpy(out_previous, &previous, sizeof previous);
    return NULL;
}

Error *http_gate_install(bool tls) {
    Error *error = NULL;
    const void *plain_gate, *tls_gate;
    ssize_t (*const plain_function)(int, void *, size_t, int) = gate_recv;
    ssize_t (*const tls_function)(void *, void *, size_t) = gate_record_recv;
    memcpy(&plain_gate, &plain_function, sizeof plain_gate);
    memcpy(&tls_gate, &tls_function, sizeof tls_gate);
    (void)pthread_mutex_lock(&gates.mutex);
    if (!gates.plain) error = redirect("recv", plain_gate, &gates.recv);
    gates.plain = gates.plain || !error;
    if (!error && tls && !gates.tls)
        error = redirect("gnutls_record_recv", tls_gate, &gates.record_recv);
    gates.tls = gates.tls || (tls && !error);
    (void)pthread_mutex_unlock(&gates.mutex);
    return error_wrap(error, "requests cannot be checked before libmicrohttpd reads them");
}
