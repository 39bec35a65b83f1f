#include "tests/scheduler/bad_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/test_support.h"

static void *serve(void *argument) {
    BadServer *server = argument;
    char request[4096];
    for (;;) {
        int connection = accept(server->listener, NULL, NULL);
        if (connection < 0) return NULL;
        if (server->answer) {
            (void)recv(connection, request, sizeof request, 0);
            (void)send(connection, server->answer, strlen(server->answer), MSG_NOSIGNAL);
        }
        (void)shutdown(connection, SHUT_WR);
        (void)close(connection);
    }
}

void bad_server_start(BadServer *server, const char *answer) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server->answer = answer;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(server->listener, 4), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

void bad_server_stop(BadServer *server) {
    (void)shutdown(server->listener, SHUT_RDWR);
    (void)pthread_join(server->thread, NULL);
    (void)close(server->listener);
}
