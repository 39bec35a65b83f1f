#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "include/layover.h"
#include "tools/client/command.h"

const CommandOption command_manual_options[] = {{0}};

/* The day of LAYOVER_VERSION: a page made twice of one version is the same page. */
#define MANUAL_DATE "2026-11-28"

/* Prints one character of a word that is typed or shown as it is: none becomes a typographic one.
 */
static void print_literal_character(char character) {
    switch (character) {
    case '\\':
        printf("\\e");
        break;
    case '-':
        printf("\\-");
        break;
    case '\'':
        printf("\\(aq");
        break;
    case '`':
        printf("\\(ga");
        break;
    case '^':
        printf("\\(ha");
        break;
    case '~':
        printf("\\(ti");
        break;
    default:
        printf("%c", character);
    }
}

static void print_literal(const char *text) {
    for (; *text; text++) print_literal_character(*text);
}

/* Prints a paragraph. Options in it keep their two dashes; a point or a quote at its begin is no
 * request. */
static void print_text(const char *text) {
    if (*text == '.' || *text == '\'') printf("\\&");
    for (; *text; text++)
        if (text[0] == '-' && text[1] == '-') {
            printf("\\-\\-");
            text++;
        } else if (strchr("\\~^`", *text))
            print_literal_character(*text);
        else
            printf("%c", *text);
}

static void print_sentence(const char *text) {
    char first[] = {(char)toupper((unsigned char)*text), 0};
    print_text(first);
    print_text(text + 1);
    printf(".\n");
}

static void print_options(const CommandOption *options) {
    for (const CommandOption *option = options; option->name; option++) {
        printf(".TP\n\\fB\\-\\-");
        print_literal(option->name);
        printf("\\fR");
        if (option->value) {
            printf(" \\fI");
            print_literal(option->value);
            printf("\\fR");
        }
        printf("%s\n", option->repeats ? " ..." : "");
        print_text(option->help);
        printf("\n");
    }
}

static void print_verb(const Command *command) {
    printf(".SS ");
    print_literal(command->verb);
    if (*command->usage) printf(" ");
    print_literal(command->usage);
    printf("%s\n", command->options[0].name ? " [options]" : "");
    print_sentence(command->summary);
    print_options(command->options);
    printf(".PP\nFor example:\n.PP\n.EX\n    ");
    print_literal(command->example);
    printf("\n.EE\n");
}

static void print_named(const char *name, const char *text) {
    printf(".TP\n\\fB%s\\fR\n", name);
    print_text(text);
    printf("\n");
}

static void print_head(void) {
    printf(".TH LAYOVER 1 \"" MANUAL_DATE "\" \"layover " LAYOVER_VERSION "\" \"User Commands\"\n"
           ".SH NAME\nlayover \\- run machine-learning models, stop and resume their executions\n"
           ".SH SYNOPSIS\n\\fBlayover\\fR [\\fIoptions\\fR] \\fIVERB\\fR [\\fIarguments\\fR] "
           "[\\fIoptions\\fR]\n"
           ".SH DESCRIPTION\n"
           "Layover compiles models once, stores them in a home, and runs them here or through a "
           "daemon that owns the home.\n"
           "A running model stops between any two instructions, becomes a small file, and goes on "
           "in another process, on another device or on another machine.\n"
           ".PP\n"
           "While a daemon holds the home, every verb goes through it.\n"
           ".SH OPTIONS\nEvery verb takes these options, in front of it or behind it.\n"
           "An option's value is the next word, or stands behind\n\\fB=\\fR;\n"
           "\\fB\\-o\\fR is \\fB\\-\\-output\\fR, \\fB\\-h\\fR is \\fB\\-\\-help\\fR,\n"
           "and no word behind \\fB\\-\\-\\fR is an option.\n");
}

static void print_foot(void) {
    static const struct {
        const char *name, *text;
    } codes[] =
        {
#define EXIT_CODE(number, meaning) {#number, meaning},
#include "tools/client/command_texts.def"
#undef EXIT_CODE
        },
      variables[] = {
#define ENVIRONMENT(name, meaning) {name, meaning},
#include "tools/client/command_texts.def"
#undef ENVIRONMENT
      };
    printf(".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        print_named(codes[i].name, codes[i].text);
    printf(".SH ENVIRONMENT\n");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        print_named(variables[i].name, variables[i].text);
    printf(".SH FILES\n");
    print_named("\\(ti/.local/share/layover", "the home of a user");
    print_named("/var/lib/layover", "the home of the system's daemon");
    printf(".SH SEE ALSO\n\\fBsystemctl\\fR(1) for the daemon, whose unit is\n\\fBlayover\\fR;\n"
           "the documents of the installation in \\fIshare/doc/layover\\fR.\n");
}

Error *command_manual(CommandContext *context) {
    (void)context;
    print_head();
    print_options(command_global_options);
    printf(".SH VERBS\n");
    command_line_visit_verbs(print_verb);
    print_foot();
    return NULL;
}
