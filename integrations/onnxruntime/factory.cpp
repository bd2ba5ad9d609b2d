// The plug-in: a factory of providers, for the processor.
#include <memory>

#include "integrations/onnxruntime/plugin.h"
#include "integrations/onnxruntime/provider.h"
#include "tilewright/tilewright.hpp"

namespace tw::onnxruntime {

namespace {

struct OurFactory : ProviderFactory {
  explicit OurFactory(const Api& host);
  const Api& api;
};

const OurFactory& ours(const ProviderFactory* factory) {
  return *static_cast<const OurFactory*>(factory);
}

const char* factory_name(const ProviderFactory*) {
  return kProviderName;
}

const char* vendor(const ProviderFactory*) {
  return "tilewright";
}

uint32_t vendor_id(const ProviderFactory*) {
  return 0;  // of PCI's list, where we are not
}

const char* library_version(const ProviderFactory*) {
  static const std::string version = std::to_string(TILEWRIGHT_VERSION_MAJOR) + "." +
                                     std::to_string(TILEWRIGHT_VERSION_MINOR) + "." +
                                     std::to_string(TILEWRIGHT_VERSION_PATCH);
  return version.c_str();
}

Status* devices(ProviderFactory* factory, const HardwareDevice* const* known, size_t count,
                ProviderDevice** out, size_t most, size_t* out_count) {
  const Api& api = ours(factory).api;
  *out_count = 0;
  for (size_t i = 0; i < count && *out_count < most; ++i) {
    if (api.device_kind(known[i]) != device_cpu) continue;
    Status* failed =
        api.provider_api()->create_device(factory, known[i], nullptr, nullptr, &out[*out_count]);
    if (failed != nullptr) return failed;
    ++*out_count;
  }
  return nullptr;
}

Status* create(ProviderFactory* factory, const HardwareDevice* const*, const KeyValuePairs* const*,
               size_t, const SessionOptions* options, const Logger*, Provider** out) {
  const Api& api = ours(factory).api;
  *out = nullptr;
  return guarded(api, [&] { *out = new_provider(api, read_settings(api, options)); });
}

void release(ProviderFactory*, Provider* provider) {
  delete_provider(provider);
}

// Memory is the host's: nothing is copied between its nodes and ours.
Status* create_allocator(ProviderFactory*, const MemoryInfo*, const KeyValuePairs*,
                         Allocator** out) {
  *out = nullptr;
  return nullptr;
}

void release_allocator(ProviderFactory*, Allocator*) {}

Status* create_transfer(ProviderFactory*, DataTransfer** out) {
  *out = nullptr;
  return nullptr;
}

bool knows_streams(const ProviderFactory*) {
  return false;
}

OurFactory::OurFactory(const Api& host) : ProviderFactory(), api(host) {
  version = interface_version;
  ProviderFactory::name = factory_name;
  ProviderFactory::vendor = onnxruntime::vendor;
  ProviderFactory::devices = onnxruntime::devices;
  ProviderFactory::create = onnxruntime::create;
  ProviderFactory::release = onnxruntime::release;
  ProviderFactory::vendor_id = onnxruntime::vendor_id;
  ProviderFactory::library_version = onnxruntime::library_version;
  ProviderFactory::create_allocator = onnxruntime::create_allocator;
  ProviderFactory::release_allocator = onnxruntime::release_allocator;
  ProviderFactory::create_transfer = onnxruntime::create_transfer;
  ProviderFactory::knows_streams = onnxruntime::knows_streams;
}

}  // namespace

}  // namespace tw::onnxruntime

tw::onnxruntime::Status* CreateEpFactories(const char*, const tw::onnxruntime::ApiBase* base,
                                           const tw::onnxruntime::Logger*,
                                           tw::onnxruntime::ProviderFactory** factories,
                                           size_t most, size_t* count) {
  using namespace tw::onnxruntime;
  *count = 0;
  const Api* api = base->api(interface_version);
  if (api == nullptr) {  // then its first functions are still where they ever were
    const Api* oldest = base->api(1);
    return oldest->create_status(status_failed, "tilewright: ONNX Runtime is older than 1.23");
  }
  return guarded(*api, [&] {
    require(most != 0, "tilewright: no room for a factory");
    factories[0] = new OurFactory(*api);
    *count = 1;
  });
}

tw::onnxruntime::Status* ReleaseEpFactory(tw::onnxruntime::ProviderFactory* factory) {
  delete static_cast<tw::onnxruntime::OurFactory*>(factory);
  return nullptr;
}
