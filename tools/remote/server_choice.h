#pragma once
/* Chooses the daemon that requests go to, with the token for it. Callers: the library, remote.c,
 * command_login.c. Threads: any; no state.
 *
 * The first of these that is given decides:
 *   the wish's server    an address, or the name of a profile
 *   LAYOVER_SERVER       an address
 *   the wish's home      the daemon that holds it
 *   LAYOVER_PROFILE      the name of a profile
 *   LAYOVER_HOME         the daemon that holds that home
 *   a profile "default"
 *   the default home's daemon
 *
 * A profile's token goes to the profile's server alone, and a token of the environment
 * (LAYOVER_TOKEN, LAYOVER_TOKEN_FILE) never goes to a profile's server. */
#include "scheduler/http/client/http_client.h"

typedef struct ServerWish {
    const char *server;  /* NULL: none. A profile's name, or an address: it has a '/' or a ':' */
    const char *token;   /* NULL: as above */
    const char *tenant;  /* NULL: the profile's, else the token's */
    const char *ca_file; /* NULL: the profile's, or LAYOVER_CA */
    const char *home;    /* NULL: none */
} ServerWish;

/* What was chosen. All members are owned; NULL where there is none. */
typedef struct ServerChoice {
    char *server; /* an address as http_client.h has it; NULL: no daemon is there */
    char *token, *tenant, *ca_file;
} ServerChoice;

/* Errors: NOT_FOUND there is no such profile; INVALID the file of profiles; REFUSED a token's file
 * that others may read. */
MUST_CHECK Error *server_choice_find(const ServerWish *wish, ServerChoice *out);
/* Clears the token and releases all. */
void server_choice_deinit(ServerChoice *choice);
#define OWN_CHOICE(name) __attribute__((cleanup(server_choice_deinit))) name
/* Makes a client of the chosen server, which must not be NULL. */
MUST_CHECK Error *server_choice_open(const ServerChoice *choice, HttpClient **out);

/* Whether the text is an address; else it is the name of a profile. */
bool server_choice_is_address(const char *text);
