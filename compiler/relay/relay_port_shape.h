#pragma once
/* The ports of an exported function's value, by its type. Callers: relay_ports.c and the files that
 * read and write such values. Threads: one at a time per program.
 *
 *   a value NAME that is                               has the ports
 *   a tensor                                           NAME
 *   a tuple                                            of its fields NAME.0, NAME.1, ...
 *   data with one constructor                          of its fields, see below
 *   a list: no fields, or fields and the rest          of its fields, and NAME.sizes
 *   an option: no fields, or fields                    of its fields, and NAME.present
 *   other data                                         of all fields, and NAME.tag
 *
 * The fields of a constructor are NAME, if there is one, or NAME.0, NAME.1, ...; where several
 * constructors have fields, with the constructor's name: NAME.Circle, NAME.Box.0. The outermost
 * list or option does without sizes or present where a port of its fields tells how many there are.
 *
 * A level is a place that a list, an option or a constructor makes. All ports of a level have as
 * many items: tensors stand in a list (an optional where there is at most one), sizes and the like
 * are a vector. Data that holds data of its own type is one level, children before their parent. So
 * every port is written from its start to its end, and read from its end to its start. */
#include "compiler/relay/relay_types.h"

enum { RELAY_PORTS_MAX = 1000, RELAY_PORT_NONE = UINT32_MAX };

typedef enum RelayPortKind {
    RELAY_PORT_TENSOR,
    RELAY_PORT_RECORD, /* a tuple, data with one constructor */
    RELAY_PORT_LIST,
    RELAY_PORT_OPTION,
    RELAY_PORT_CHOICE,
    RELAY_PORT_NESTED, /* inner; may occur in itself */
    RELAY_PORT_AGAIN,  /* target, a node of kind NESTED around this one */
} RelayPortKind;

typedef struct RelayPortNode RelayPortNode;

/* The fields of one constructor. */
typedef struct RelayPortCase {
    const RelayConstructor *constructor; /* NULL: a tuple */
    uint32_t level;                      /* of the fields */
    uint32_t count;                      /* without a list's rest */
    RelayPortNode **fields;
} RelayPortCase;

/* A value, or all values at one place. */
struct RelayPortNode {
    RelayPortKind kind;
    const RelayType *type;
    const RelayPortNode *parent;
    uint32_t level;  /* of the value */
    uint32_t column; /* a tensor's, or the one with sizes, presence, tags; RELAY_PORT_NONE: none */
    uint32_t case_count; /* LIST: 1, without `empty`. OPTION: the full one, then the empty one */
    RelayPortCase *cases;
    const RelayConstructor *empty;
    RelayPortNode *inner;         /* NESTED */
    const RelayPortNode *target;  /* AGAIN */
    const RelayPortNode *carrier; /* a NESTED node around that occurs in this one; NULL: none */
    /* what stands in the node, without `column` */
    uint32_t columns_first, columns_end, levels_first, levels_end;
};

/* A port. */
typedef struct RelayPortColumn {
    const char *name;
    RelayPortKind kind;    /* TENSOR; LIST: sizes; OPTION: present; CHOICE: tag */
    const RelayType *type; /* of a tensor */
    uint32_t level;
} RelayPortColumn;

typedef enum RelayLevelForm {
    RELAY_LEVEL_ONE, /* level 0 */
    RELAY_LEVEL_OPTIONAL,
    RELAY_LEVEL_MANY,
} RelayLevelForm;

typedef struct RelayPortLevel {
    RelayLevelForm form;
    bool has_columns;
    const RelayPortNode *maker; /* NULL: level 0 */
} RelayPortLevel;

typedef struct RelayPortShape {
    RelayProgram *program;
    uint32_t column_count, column_capacity, level_count, level_capacity;
    RelayPortColumn *columns;
    RelayPortLevel *levels;
    RelayPortNode *root;
    uint32_t nested_count, nested_capacity;
    const RelayType **nested; /* types that hold themselves */
    const RelayType *refused; /* a part that has no ports; NULL: all have some */
    bool has_too_many;        /* the part is refused because there are RELAY_PORTS_MAX already */
} RelayPortShape;

/* Makes the ports of a value, unless refused is set. Memory: the program's. Errors: OUT_OF_MEMORY;
 * INVALID types with too many parts. */
MUST_CHECK Error *relay_port_shape_make(
    RelayProgram *program, const char *name, RelayType *type, RelayPortShape *out);

/* The node whose columns and levels change where a value of `node` is read or written. */
static inline const RelayPortNode *relay_port_reach(const RelayPortNode *node) {
    while (node->carrier) node = node->carrier;
    return node;
}
