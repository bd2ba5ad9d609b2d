// The tests' runner: a host that they play.
#include <cstdlib>
#include <memory>

#include "integrations/litert/plugin.h"
#include "litert/played_host.h"
#include "litert/runner.h"
#include "support/environment.h"

namespace tw::litert {

namespace {

using OwnDelegate = std::unique_ptr<Delegate, decltype(&tflite_plugin_destroy_delegate)>;

OwnDelegate make_delegate(const RunOptions& options) {
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : options.options) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  return {tflite_plugin_create_delegate(keys.data(), values.data(), keys.size(), nullptr),
          tflite_plugin_destroy_delegate};
}

void copy_inputs(const Model& model, const std::vector<uint8_t>& inputs, PlayedHost& host) {
  auto from = inputs.begin();
  for (const int32_t input : model.inputs) {
    std::vector<uint8_t>& bytes = host.bytes(input);
    ASSERT_LE(bytes.size(), static_cast<size_t>(inputs.end() - from));
    std::copy_n(from, bytes.size(), bytes.begin());
    from += static_cast<std::ptrdiff_t>(bytes.size());
  }
}

Status run_played(const Model& model, const std::vector<uint8_t>& inputs, const RunOptions& options,
                  Delegate& delegate, PlayedHost& host) {
  if (host.apply(delegate) != ok) return error;
  if (host.replaced() == 0) return ok;  // what others than us do is not played
  if (!options.shape.empty()) host.resize_input(options.shape);
  if (host.prepare() != ok) return error;
  EXPECT_TRUE(host.has_declared_outputs() || !options.shape.empty());
  if (!inputs.empty()) copy_inputs(model, inputs, host);
  return host.invoke();
}

}  // namespace

void LitertTest::SetUp() {}

Outcome LitertTest::run_model(const Model& model, const std::vector<uint8_t>& inputs,
                              const RunOptions& options) {
  std::map<std::string, std::string> environment = options.environment;
  environment.insert(
      {{"TILEWRIGHT_LITERT_TEST", "1"}, {"TILEWRIGHT_LOG", "0"}, {"TILEWRIGHT_CACHE", ""}});
  for (const auto& [name, value] : environment) test::set_environment(name.c_str(), value.c_str());
  testing::internal::CaptureStderr();
  Outcome outcome;
  std::vector<OwnDelegate> delegates;
  std::vector<std::unique_ptr<PlayedHost>> hosts;
  for (int i = 0; i < options.clones && outcome.status == 0; ++i) {
    delegates.push_back(make_delegate(options));
    hosts.push_back(std::make_unique<PlayedHost>(model, options.threads));
    outcome.status = run_played(model, inputs, options, *delegates.back(), *hosts.back());
  }
  PlayedHost& host = *hosts.back();
  outcome.replaced = host.replaced();
  if (outcome.status == 0) {
    for (const int32_t output : model.outputs) {
      outcome.outputs.insert(outcome.outputs.end(), host.bytes(output).begin(),
                             host.bytes(output).end());
    }
  }
  outcome.messages = host.messages() + testing::internal::GetCapturedStderr();
  return outcome;
}

}  // namespace tw::litert
