#pragma once
/* Values of the fixtures' .json files. Used by the fixture driver. */
#include <json-c/json.h>

#include "base/error.h"
#include "vm/objects/value.h"

/* {"kind": tensor {dtype, shape, data} | int | float | bool | str | shape | tuple {fields} | dtype
 * | null, "value": …} as a value, tensors on the host. */
MUST_CHECK Error *fixture_json_read(json_object *object, Value *out);
/* Whether the object says that the call must fail. */
bool fixture_json_is_error(json_object *object);
