// Options of the provider: the host keeps them as entries of the session's, with a prefix.
#include <cctype>
#include <memory>
#include <string_view>

#include "integrations/common/message.h"
#include "integrations/onnxruntime/provider.h"

namespace tw::onnxruntime {

namespace {

std::string option_prefix() {
  std::string prefix = std::string("ep.") + kProviderName + ".";
  for (char& letter : prefix) letter = static_cast<char>(std::tolower(letter));
  return prefix;
}

bool is_on(std::string_view key, std::string_view value) {
  if (value != "0" && value != "1") {
    throw Refused(fmt::format("option \"{}\" is \"{}\"; 0 and 1 are legal", key, value));
  }
  return value == "1";
}

void take_option(std::string_view key, std::string_view value, Settings& settings) {
  if (key == "threads") {
    settings.threads = threads_option(value);
  } else if (key == "convolutions") {
    settings.convolutions = is_on(key, value);
  } else if (key == "measure") {
    settings.measure = is_on(key, value);
  } else {
    throw Refused(fmt::format(
        "no option \"{}\"; \"threads\", \"convolutions\" and \"measure\" are legal", key));
  }
}

}  // namespace

Settings read_settings(const Api& api, const SessionOptions* options) {
  KeyValuePairs* entries = nullptr;
  check(api, api.entries(options, &entries));
  const std::unique_ptr<KeyValuePairs, void (*)(KeyValuePairs*)> held(entries, api.release_pairs);
  const char *const *keys = nullptr, *const *values = nullptr;
  size_t count = 0;
  api.all_pairs(entries, &keys, &values, &count);
  Settings settings;
  const std::string prefix = option_prefix();
  for (size_t i = 0; i < count; ++i) {
    const std::string_view key = keys[i];
    if (key.starts_with(prefix)) take_option(key.substr(prefix.size()), values[i], settings);
  }
  return settings;
}

}  // namespace tw::onnxruntime
