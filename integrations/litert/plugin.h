// What the host loads: the two functions that the library exports.
#pragma once

#include <cstddef>

#include "integrations/litert/litert_abi.h"

#define TILEWRIGHT_EXPORT extern "C" __attribute__((visibility("default")))

/// Null for want of memory only: see its definition. `report` may be null.
TILEWRIGHT_EXPORT tw::litert::Delegate* tflite_plugin_create_delegate(const char* const* keys,
                                                                      const char* const* values,
                                                                      size_t count,
                                                                      void (*report)(const char*));
TILEWRIGHT_EXPORT void tflite_plugin_destroy_delegate(tw::litert::Delegate* delegate);
