// Packed weights kept in files: found again, and made again where they are not what they should be.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "ggml/host.h"
#include "ggml/loaded.h"
#include "integrations/common/pages.h"
#include "support/files.h"

namespace tw::ggml {
namespace {

namespace fs = std::filesystem;

using test::file_at;

class Cache : public testing::Test {
 protected:
  void SetUp() override {
    if (dlsym(RTLD_DEFAULT, "ggml_tensor_overhead") == nullptr) {
      GTEST_SKIP() << "a static program: a plug-in finds no names in it";
    }
    fake_host = {};
    std::string path = (fs::temp_directory_path() / "tilewright-cache-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
    start(folder_ / "kept");
  }
  void TearDown() override {
    unsetenv("TILEWRIGHT_CACHE");
    ggml_backend_init();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  void start(const fs::path& cache) {
    setenv("TILEWRIGHT_CACHE", cache.c_str(), 1);
    Registration* made = ggml_backend_init();
    device_ = made->device(made, 0);
  }
  [[nodiscard]] std::vector<fs::path> kept() const {
    std::vector<fs::path> files;
    if (!fs::exists(folder_ / "kept")) return files;
    for (const auto& entry : fs::directory_iterator(folder_ / "kept"))
      files.push_back(entry.path());
    return files;
  }
  OwnTensor weights(size_t n = 100) { return random_weights(random_, type_q4_0, {160, n, 3, 1}); }
  /// What loading says: lines on stderr.
  std::string load_quietly(const OwnTensor& source) {
    testing::internal::CaptureStderr();
    loaded_ = load(device_, source);
    EXPECT_EQ(bytes_of(*loaded_), source.bytes);
    return testing::internal::GetCapturedStderr();
  }

  std::mt19937 random_{11};
  fs::path folder_;
  Device* device_ = nullptr;
  std::unique_ptr<Loaded> loaded_;
};

TEST_F(Cache, SecondLoadMapsWhatTheFirstPacked) {
  const OwnTensor source = weights();
  EXPECT_EQ(load_quietly(source), "");
  ASSERT_EQ(kept().size(), 1U);
  const std::string file = fs::canonical(kept()[0]).string(), bytes = test::read_file(file);
  EXPECT_EQ(file_at(loaded_->tensor.data), file) << "the first one's memory is the file's too";
  struct stat before = {}, after = {};
  stat(file.c_str(), &before);
  EXPECT_EQ(load_quietly(source), "");
  EXPECT_EQ(file_at(loaded_->tensor.data), file);
  stat(file.c_str(), &after);
  EXPECT_EQ(before.st_ino, after.st_ino) << "written again";
  EXPECT_EQ(test::read_file(file), bytes);
}

TEST_F(Cache, OtherWeightsAreOtherFiles) {
  OwnTensor source = weights();
  load_quietly(source);
  source.bytes.back() ^= 1;
  load_quietly(source);
  load_quietly(weights(101));
  EXPECT_EQ(kept().size(), 3U);
}

TEST_F(Cache, WhatIsDamagedIsMadeAgainWithOneLine) {
  const OwnTensor source = weights();
  load_quietly(source);
  ASSERT_EQ(kept().size(), 1U);
  const fs::path file = kept()[0];
  const std::string good = test::read_file(file);
  const auto flipped = [&](size_t at) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    return bytes;
  };
  const std::string cases[] = {flipped(kHugePage),
                               flipped(kHugePage + 5000),
                               flipped(0),
                               flipped(40),
                               flipped(60),
                               good.substr(0, good.size() - 4096),
                               good.substr(0, 10),
                               "",
                               std::string(good.size(), 'x')};
  for (const std::string& bad : cases) {
    loaded_.reset();
    test::write_file(file, bad);
    const std::string said = load_quietly(source);
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_NE(said.find(file.string()), std::string::npos) << said;
    EXPECT_NE(said.find("packed again"), std::string::npos) << said;
    EXPECT_EQ(test::read_file(file), good);
    EXPECT_EQ(load_quietly(source), "");
  }
  EXPECT_EQ(kept().size(), 1U);
}

TEST_F(Cache, WhereNothingCanBeWrittenWeightsArePacked) {
  test::write_file(folder_ / "file", "");
  start(folder_ / "file" / "folder");
  const std::string said = load_quietly(weights());
  EXPECT_NE(said.find("TILEWRIGHT_CACHE: cannot write " + (folder_ / "file").string()),
            std::string::npos)
      << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_EQ(load_quietly(weights()), "") << "said again";
  EXPECT_EQ(file_at(loaded_->tensor.data), "");
}

TEST_F(Cache, WritingToMappedWeightsLeavesTheFile) {
  OwnTensor source = weights();
  load_quietly(source);
  load_quietly(source);
  const std::string good = test::read_file(kept()[0]);
  const BufferFunctions& functions = loaded_->buffer->functions;
  functions.memset_tensor(loaded_->buffer, &loaded_->tensor, 0x11, 1000, 3000);
  std::fill_n(source.bytes.begin() + 1000, 3000, uint8_t{0x11});
  EXPECT_EQ(bytes_of(*loaded_), source.bytes);
  EXPECT_EQ(test::read_file(kept()[0]), good);
  functions.clear(loaded_->buffer, 0);
  EXPECT_EQ(test::read_file(kept()[0]), good);
}

TEST_F(Cache, WeightsThatComeInPiecesAreNotKept) {
  const OwnTensor source = weights();
  load_quietly(source);
  const size_t before = kept().size(), half = source.bytes.size() / 2;
  const OwnTensor other = weights();
  const BufferFunctions& functions = loaded_->buffer->functions;
  functions.set_tensor(loaded_->buffer, &loaded_->tensor, other.bytes.data(), 0, half);
  functions.set_tensor(loaded_->buffer, &loaded_->tensor, other.bytes.data() + half, half,
                       other.bytes.size() - half);
  EXPECT_EQ(bytes_of(*loaded_), other.bytes);
  EXPECT_EQ(kept().size(), before);
}

}  // namespace
}  // namespace tw::ggml
