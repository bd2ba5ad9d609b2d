#include "tuner/saved_devices.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tuner/device_text.h"

namespace tw::tuner::test {
namespace {

const std::filesystem::path kFolder = TILEWRIGHT_SOURCE_DIR "/tests/tuner/devices";

}  // namespace

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string saved_text(const std::string& name) {
  std::ifstream in(kFolder / (name + ".json"));
  return {std::istreambuf_iterator<char>(in), {}};
}

tw_device saved_device(const std::string& name) {
  return device_from_text(saved_text(name));
}

}  // namespace tw::tuner::test
