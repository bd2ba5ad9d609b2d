// Loading, more than one model at a time, and what must not go wrong.
#include <cmath>
#include <filesystem>
#include <regex>
#include <thread>
#include <vector>

#include "llama.h"
#include "support/count_of.h"
#include "support/run_command.h"

namespace tw::llama {
namespace {

class Lifetime : public LlamaTest {
 protected:
  /// With our kernels the same text as without.
  static void expect_same(const std::string& command) {
    const Finished theirs = debian(command);
    expect_same(ours(command), theirs);
  }
  static void expect_same(const Finished& with_us, const Finished& theirs) {
    EXPECT_EQ(theirs.status, 0) << theirs.messages;
    EXPECT_EQ(with_us.status, 0) << with_us.messages;
    EXPECT_EQ(with_us.output, theirs.output);
    EXPECT_GT(weights_on_our_kernels(with_us.messages), 0U) << with_us.messages;
  }
};

TEST_F(Lifetime, ReadInsteadOfMapped) {
  expect_same(greedy(model("tiny", "q4_0"), 2, 512, "read"));
}

TEST_F(Lifetime, PromptsInParts) {
  for (const int batch : {1, 7, 33}) expect_same(greedy(model("tiny", "q8_0"), 2, batch));
}

TEST_F(Lifetime, TwoModelsAtOnceAndOneAgain) {
  for (const int threads : {1, 2})
    expect_same(greedy(model("tiny", "q4_0") + " " + model("tiny-moe", "f16"), threads));
}

// The package's test has two models with two contexts each, and compares what they say.
TEST_F(Lifetime, ContextsInThreads) {
  const Finished finished =
      ours("test-thread-safety -np 2 -t 2 -n 16 -c 256 --temp 0 -p 'one two three' -m " +
           model("tiny", "q4_0"));
  EXPECT_EQ(finished.status, 0) << finished.messages;
  EXPECT_EQ(weights_on_our_kernels(finished.messages), 32U) << finished.messages;
}

TEST_F(Lifetime, ATruncatedFileIsAnError) {
  const std::string cut = folder() + "/cut.gguf";
  for (const char* bytes : {"100", "20000", "500000"}) {
    ASSERT_EQ(
        run_command("head -c " + std::string(bytes) + " " + model("tiny", "q8_0") + " >" + cut)
            .status,
        0);
    const Finished finished = ours(greedy(cut, 2));
    EXPECT_EQ(finished.status, 1) << finished.messages;
    EXPECT_NE(finished.messages.find("cannot load " + cut), std::string::npos) << finished.messages;
  }
}

// Packed weights in files: made by whoever comes first, and mapped by the next.
TEST_F(Lifetime, StartsShareACache) {
  const Environment cache = {{"TILEWRIGHT_CACHE", folder() + "/cache"}};
  const std::string command = greedy(model("tiny-256", "q4_k_m"), 1);
  const Finished theirs = debian(command);
  std::vector<Finished> at_once(3);
  std::vector<std::thread> starts;
  for (Finished& finished : at_once) starts.emplace_back([&] { finished = ours(command, cache); });
  for (std::thread& start : starts) start.join();
  for (const Finished& finished : at_once) expect_same(finished, theirs);
  const Finished again = ours(command, cache);
  expect_same(again, theirs);
  const size_t mapped = count_of("mapped from the cache", again.messages);
  EXPECT_EQ(mapped, weights_on_our_kernels(again.messages)) << again.messages;
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(cache.at("TILEWRIGHT_CACHE"))) {
    EXPECT_EQ(entry.path().extension(), ".packed");
    ++files;
  }
  EXPECT_EQ(files, mapped);
}

/// What was measured of a kind of weights, in microseconds.
struct Measured {
  double one, ggmls_one, many, ggmls_many;
  bool is_ours;
};

std::vector<Measured> measured_in(const std::string& messages) {
  const std::regex line(
      "measured 1 row ([0-9.]+) us, ggml ([0-9.]+) us; 64 rows ([0-9.]+) us, ggml ([0-9.]+) us; "
      "(ours|left to ggml)");
  std::vector<Measured> found;
  for (std::sregex_iterator at(messages.begin(), messages.end(), line), end; at != end; ++at) {
    found.push_back({std::stod((*at)[1]), std::stod((*at)[2]), std::stod((*at)[3]),
                     std::stod((*at)[4]), (*at)[5] == "ours"});
  }
  return found;
}

// Which is faster nobody knows before; that all follows from what was measured is what is tested.
TEST_F(Lifetime, LeavesToGgmlWhatItDoesFaster) {
  for (const char* type : {"q4_0", "q8_0", "f16"}) {
    SCOPED_TRACE(type);
    const std::string command = greedy(model("tiny", type), 1);
    const Finished finished = ours(command, {{"TILEWRIGHT_MEASURE", "1"}});
    EXPECT_EQ(finished.status, 0) << finished.messages;
    EXPECT_EQ(finished.output, debian(command).output);
    const std::vector<Measured> measured = measured_in(finished.messages);
    ASSERT_FALSE(measured.empty()) << finished.messages;
    bool any_is_ours = false;
    for (const Measured& kind : measured) {
      const double ratio = (64 * kind.one + kind.many) / (64 * kind.ggmls_one + kind.ggmls_many);
      any_is_ours = any_is_ours || kind.is_ours;
      constexpr double kRounding = 0.01;
      if (std::abs(ratio - 1.03) < kRounding) continue;
      EXPECT_EQ(kind.is_ours, ratio < 1.03) << ratio;
    }
    EXPECT_EQ(weights_on_our_kernels(finished.messages) > 0, any_is_ours) << finished.messages;
  }
}

TEST_F(Lifetime, SwitchedOff) {
  const std::string command = greedy(model("tiny", "q4_0"), 1);
  const Finished off = ours(command, {{"TILEWRIGHT_GGML", "0"}});
  EXPECT_EQ(off.status, 0) << off.messages;
  EXPECT_EQ(off.output, debian(command).output);
  EXPECT_EQ(weights_on_our_kernels(off.messages), 0U) << off.messages;
}

// llama.cpp goes on without us.
TEST_F(Lifetime, AnUnknownVersionIsDeclined) {
  const std::string command = greedy(model("tiny", "q4_0"), 1);
  const Finished unknown = ours(command, {{"LD_PRELOAD", built("libllama_other_version.so")}});
  EXPECT_EQ(unknown.status, 0) << unknown.messages;
  EXPECT_EQ(unknown.output, debian(command).output);
  EXPECT_EQ(weights_on_our_kernels(unknown.messages), 0U) << unknown.messages;
  EXPECT_NE(unknown.messages.find("tilewright: this ggml has version 6"), std::string::npos)
      << unknown.messages;
}

TEST_F(Lifetime, TablesOfTheHostAreCounted) {
  const std::string said = ours(greedy(model("tiny", "q4_0"), 1)).messages;
  EXPECT_NE(said.find("plug-in interface 3, slots of tables: devices 15, backends 16, buffers 11, "
                      "buffer types 8"),
            std::string::npos)
      << said;
}

TEST_F(Lifetime, ActivationsOfMoreThan8BitsAreRefused) {
  const Finished finished = ours("'" + built("precision") + "'");
  const std::string of_each = ": 0 taken 10 refused 15 refused 20 refused 30 taken 40 taken\n";
  EXPECT_EQ(finished.output, "MUL_MAT" + of_each + "MUL_MAT_ID" + of_each) << finished.messages;
}

TEST_F(Lifetime, BesideTheBlasBackend) {
  for (const char* type : {"q4_0", "f16"}) {
    const std::string command = greedy(model("tiny", type), 2);
    const Finished with_blas = ours("--blas " + command);
    EXPECT_NE(with_blas.messages.find("loaded BLAS backend"), std::string::npos)
        << with_blas.messages;
    expect_same(with_blas, debian(command));
  }
}

}  // namespace
}  // namespace tw::llama
