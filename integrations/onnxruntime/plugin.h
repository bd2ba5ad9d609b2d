// What the host loads: the two functions that the library exports.
#pragma once

#include "integrations/onnxruntime/onnxruntime_abi.h"

#define TILEWRIGHT_EXPORT extern "C" __attribute__((visibility("default")))

TILEWRIGHT_EXPORT tw::onnxruntime::Status* CreateEpFactories(
    const char* registered_name, const tw::onnxruntime::ApiBase* base,
    const tw::onnxruntime::Logger* logger, tw::onnxruntime::ProviderFactory** factories,
    size_t most, size_t* count);
TILEWRIGHT_EXPORT tw::onnxruntime::Status* ReleaseEpFactory(
    tw::onnxruntime::ProviderFactory* factory);
