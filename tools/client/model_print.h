#pragma once
/* Models for people, from the JSON that a store or a daemon gives (model_json.h). */
#include <json-c/json_object.h>

void model_print_header(void);
void model_print_row(json_object *version);
/* The header, the row, and the ports of every function. */
void model_print_all(json_object *version);
