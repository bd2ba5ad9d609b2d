// Debian's llama.cpp with our plug-in, on tiny models of random weights. The environment says what
// is tested; without it, the packages and the plug-in for this machine:
//   TILEWRIGHT_TEST_LLAMA    the folder of the unpacked packages
//   TILEWRIGHT_TEST_PLUGIN   libggml-tilewright.so for them
//   TILEWRIGHT_TEST_BUILD    the folder of greedy, precision and libllama_other_version.so
//                            for them
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tw::llama {

using Environment = std::map<std::string, std::string>;

struct Finished {
  int status = 0;  ///< exit status; -1: ended by a signal
  std::string output;
  std::string messages;  ///< stderr
};

/// The packages, the plug-in, and a folder for files that is removed at the end of all tests.
class LlamaTest : public testing::Test {
 protected:
  /// Skips where the packages are not set up; fails then where TILEWRIGHT_ALL_TOOLS is set.
  void SetUp() override;

  /// The file of a model, in quotes, written when it is asked for first: "tiny", "q4_0".
  static std::string model(const std::string& shape, const std::string& type);
  static std::string folder();

  /// A program of the packages: "llama-completion --help". With our plug-in, which says what it
  /// does. TILEWRIGHT_TEST_LLAMA in the environment: other packages.
  static Finished ours(const std::string& command, Environment environment = {});
  static Finished debian(const std::string& command, const Environment& environment = {});

  /// The command that continues a prompt; `files` in quotes, one or more.
  static std::string greedy(const std::string& files, int threads, int batch = 512,
                            const char* load = "mmap");
  /// A file of this build that is for the packages' architecture.
  static std::string built(const std::string& name);
};

/// Of those that "tilewright: NAME: ..., decode KERNEL, prompt KERNEL" says.
size_t weights_on_our_kernels(const std::string& messages);
/// Whether some was computed, as "tilewright: computes attention ..., on KERNEL" says.
bool attention_on_our_kernels(const std::string& messages);

}  // namespace tw::llama
