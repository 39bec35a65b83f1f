#include "tools/client/secret_line.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { CTRL_C = 3 };

/* One letter at a time: what is behind the line is for the next question. */
static Error *read_line(char out[SECRET_LINE_SIZE]) {
    for (size_t size = 0;;) {
        char letter;
        const ssize_t got = read(STDIN_FILENO, &letter, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) FAIL(IO, "read stdin: %s", strerror(errno));
        out[size] = 0;
        if (got == 0 || letter == '\n') return NULL;
        if (letter == CTRL_C) FAIL(INTERRUPTED, "interrupted");
        if (size == SECRET_LINE_SIZE - 1)
            FAIL(INVALID, "a line has at most %d bytes", SECRET_LINE_SIZE - 1);
        out[size++] = letter;
    }
}

static Error *check_letters(char *inout_line) {
    size_t size = strlen(inout_line);
    if (size > 0 && inout_line[size - 1] == '\r') inout_line[--size] = 0;
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)inout_line[i] < ' ' || inout_line[i] == 0x7f)
            FAIL(INVALID, "the line has control characters");
    return NULL;
}

/* Without ISIG, Ctrl-C is a letter, here one that ends the line: so the process does not end while
 * its terminal shows nothing. */
static Error *read_hidden(char out[SECRET_LINE_SIZE]) {
    struct termios shown, hidden;
    if (tcgetattr(STDIN_FILENO, &shown) != 0) FAIL(IO, "the terminal: %s", strerror(errno));
    hidden = shown;
    hidden.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ISIG);
    hidden.c_cc[VEOL] = CTRL_C;
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) != 0)
        FAIL(IO, "the terminal cannot hide what is typed: %s", strerror(errno));
    Error *error = read_line(out);
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
    (void)fputs("\n", stderr);
    return error;
}

Error *secret_line_ask(const char *question, bool hidden, char out[SECRET_LINE_SIZE]) {
    const bool terminal = isatty(STDIN_FILENO);
    if (terminal) (void)fprintf(stderr, "%s: ", question);
    TRY(terminal && hidden ? read_hidden(out) : read_line(out));
    return check_letters(out);
}
