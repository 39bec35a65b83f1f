#include <stdio.h>
#include <string.h>

#include "tools/client/command.h"

const CommandOption command_completion_options[] = {{0}};

/* Prints a text inside single quotes of the three shells. */
static void print_quoted(const char *text) {
    printf("'");
    for (; *text; text++)
        if (*text == '\'')
            printf("'\\''");
        else
            printf("%c", *text);
    printf("'");
}

static void print_option_words(const CommandOption *options) {
    for (const CommandOption *option = options; option->name; option++)
        printf(" --%s", option->name);
}

/* Appends the options that stand before a verb and have a value: --home | --tenant. */
static void print_options_with_values(void) {
    const char *before = "";
    for (const CommandOption *option = command_global_options; option->name; option++) {
        if (!option->value) continue;
        printf("%s--%s", before, option->name);
        before = " | ";
    }
}

/* Words that are neither a verb nor an option are completed as files' names. */
static void print_bash(void) {
    printf("_layover() {\n"
           "    local word=\"${COMP_WORDS[COMP_CWORD]}\" verb= words= i\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        case \"${COMP_WORDS[i]}\" in\n"
           "        ");
    print_options_with_values();
    printf(") ((i++)) ;;\n"
           "        -*) ;;\n"
           "        *) verb=\"${COMP_WORDS[i]}\"; break ;;\n"
           "        esac\n"
           "    done\n"
           "    case \"$verb\" in\n");
    printf("    '') words='");
    for (const Command *at = commands; at->verb; at++)
        printf("%s%s", at == commands ? "" : " ", at->verb);
    printf("' ;;\n");
    for (const Command *at = commands; at->verb; at++) {
        printf("    %s) words='", at->verb);
        print_option_words(at->options);
        printf("' ;;\n");
    }
    printf("    esac\n"
           "    COMPREPLY=()\n"
           "    case \"$word\" in\n"
           "    -*) words=\"$words");
    print_option_words(command_global_options);
    printf("\" ;;\n"
           "    *) [ -z \"$verb\" ] || words= ;;\n"
           "    esac\n"
           "    [ -z \"$words\" ] || mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
           "}\n"
           "complete -o default -F _layover layover\n");
}

static void print_fish_option(const char *verb, const CommandOption *option) {
    printf("complete -c layover");
    if (verb) printf(" -n '__fish_seen_subcommand_from %s'", verb);
    printf(" -l %s%s -d ", option->name, option->value ? " -r" : "");
    print_quoted(option->help);
    printf("\n");
}

static void print_fish(void) {
    for (const CommandOption *option = command_global_options; option->name; option++)
        print_fish_option(NULL, option);
    for (const Command *at = commands; at->verb; at++) {
        printf("complete -c layover -n __fish_use_subcommand -f -a %s -d ", at->verb);
        print_quoted(at->summary);
        printf("\n");
        for (const CommandOption *option = at->options; option->name; option++)
            print_fish_option(at->verb, option);
    }
}

/* zsh: the words without their descriptions, whose brackets and colons it would read as its own. */
static void print_zsh(void) {
    printf("#compdef layover\n"
           "local -a verbs options\n"
           "local verb word\n"
           "verbs=(");
    for (const Command *at = commands; at->verb; at++) printf(" %s", at->verb);
    printf(")\n"
           "for word in ${words[2,CURRENT-1]}; do\n"
           "    if (( ${verbs[(Ie)$word]} )); then verb=$word; break; fi\n"
           "done\n"
           "options=(");
    print_option_words(command_global_options);
    printf(")\n"
           "case $verb in\n");
    for (const Command *at = commands; at->verb; at++) {
        printf("%s) options+=(", at->verb);
        print_option_words(at->options);
        printf(") ;;\n");
    }
    printf("esac\n"
           "if [[ $PREFIX == -* ]]; then compadd -- $options\n"
           "elif [[ -z $verb ]]; then compadd -- $verbs\n"
           "else _files\n"
           "fi\n");
}

Error *command_completion(CommandContext *context) {
    static const struct {
        const char *shell;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"fish", print_fish}, {"zsh", print_zsh}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(context->arguments[0], shells[i].shell) == 0) {
            shells[i].print();
            return NULL;
        }
    FAIL(USAGE, "completion: bash, fish or zsh is wanted, and not %s", context->arguments[0]);
}
