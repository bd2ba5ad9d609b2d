// The tests' runner with a host that they play, and what only that one shows.
#include "onnxruntime/played_host.h"
#include "onnxruntime/runner.h"
#include "support/environment.h"

namespace tw::onnxruntime {

void OnnxTest::SetUp() {
  test::set_environment("TILEWRIGHT_ONNXRUNTIME_TEST", "1");
  test::set_environment("TILEWRIGHT_LOG", "1");
}

Outcome OnnxTest::run(const std::vector<Case>& cases, const RunOptions& options) {
  std::map<std::string, std::string> environment = options.environment;
  environment.insert({"TILEWRIGHT_CACHE", ""});
  for (const auto& [name, value] : environment) test::set_environment(name.c_str(), value.c_str());
  Outcome outcome;
  PlayedOptions played{{{"session.disable_prepacking", "1"}}, options.threads, options.callers};
  for (const auto& [key, value] : options.options) {
    played.entries.emplace_back("ep.tilewrightexecutionprovider." + key, value);
  }
  for (const Case& one : cases) {
    testing::internal::CaptureStderr();
    const PlayedRun run = play(one, played);
    outcome.messages += testing::internal::GetCapturedStderr() + run.failed;
    if (!run.failed.empty()) outcome.status = 1;
    outcome.ours += run.is_ours ? 1 : 0;
    EXPECT_FALSE(run.keeps_constants);
    for (const Tensor& output : run.outputs) {
      if (output.bytes != run.outputs[0].bytes) outcome.messages += "callers have other outputs";
      EXPECT_EQ(output.bytes, run.outputs[0].bytes);
    }
    outcome.outputs.push_back(run.outputs);
  }
  return outcome;
}

TEST(Played, OldRuntimesAreToldSo) {
  EXPECT_EQ(play_old_runtime(), "tilewright: ONNX Runtime is older than 1.23");
}

}  // namespace tw::onnxruntime
