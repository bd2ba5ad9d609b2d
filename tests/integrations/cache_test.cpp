// Packed weights kept in files: what is found again is what would be packed, whatever is in the
// folder and whoever else writes to it.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "integrations/common/packed_weights.h"
#include "integrations/common/pages.h"
#include "integrations/common/this_device.h"
#include "support/environment.h"
#include "support/files.h"
#include "support/test_folder.h"
#include "tilewright/tilewright.hpp"

namespace tw {
namespace {

namespace fs = std::filesystem;

/// Weights of 8 bits for static activations, of which all numbers are packed.
struct Codes {
  size_t n = 40, k = 64;
  std::vector<int8_t> data;
  std::vector<float> scales;
  std::vector<int32_t> bias;
  int32_t zero_point = -3;
  float lhs_scale = 0.5F, dst_scale = 0.25F;
  tw_rhs_order order = TW_NXK;

  Codes() : data(n * k), scales(n, 0.125F), bias(n) {
    std::mt19937 random(5);
    for (int8_t& code : data) code = static_cast<int8_t>(random());
    std::iota(bias.begin(), bias.end(), -7);
  }
};

PackedWeights weights_with(tw_matmul matmul) {
  PackedWeights made;
  made.n = matmul.n;
  made.k = matmul.k;
  tw_plan* plan = nullptr;
  tilewright::check(tw_plan_create(&this_device(), &matmul, &plan));
  made.plan.reset(plan);
  return made;
}

PackedWeights pack(const Codes& codes, const char* family = "matmul_clamp_qai8_qai8p_qsi8cxp") {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = family;
  matmul.n = codes.n;
  matmul.k = codes.k;
  matmul.lhs_type = matmul.dst_type = TW_S8;
  PackedWeights made = weights_with(matmul);
  auto source = tilewright::sized<tw_rhs_source>();
  source.order = codes.order;
  source.data = codes.data.data();
  source.data_bytes = codes.data.size();
  source.stride = codes.order == TW_NXK ? codes.k : codes.n;
  source.scales = codes.scales.data();
  source.scale_count = codes.scales.size();
  source.bias = codes.bias.data();
  source.bias_count = codes.bias.size();
  source.lhs_zero_point = codes.zero_point;
  source.lhs_scale = codes.lhs_scale;
  source.dst_scale = codes.dst_scale;
  pack_weights(source, {2}, made);
  return made;
}

std::string bytes_of(const PackedWeights& weights) {
  return {reinterpret_cast<const char*>(weights.packed.get()), weights.bytes};
}

class PackedCache : public testing::Test {
 protected:
  void SetUp() override { start(kept_folder()); }
  void TearDown() override { start(""); }

  static void start(const std::string& cache) {
    test::set_environment("TILEWRIGHT_CACHE", cache.c_str());
  }
  [[nodiscard]] std::string kept_folder() const { return folder_.path + "/kept"; }
  [[nodiscard]] std::vector<fs::path> kept() const {
    std::vector<fs::path> files;
    if (!fs::exists(kept_folder())) return files;
    for (const auto& entry : fs::directory_iterator(kept_folder())) files.push_back(entry.path());
    return files;
  }
  /// As it is without a cache.
  template <class Source>
  std::string expected(const Source& source) const {
    start("");
    std::string bytes = bytes_of(pack(source));
    start(kept_folder());
    return bytes;
  }
  /// What packing says, on stderr; the bytes must be right.
  template <class Source>
  std::string said_of(const Source& source) {
    const std::string wanted = expected(source);
    testing::internal::CaptureStderr();
    last_ = pack(source);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(bytes_of(last_) == wanted);
    return said;
  }

  TestFolder folder_{"tilewright-cache"};
  PackedWeights last_;
};

TEST_F(PackedCache, SecondStartMapsWhatTheFirstPacked) {
  test::set_environment("TILEWRIGHT_LOG", "1");
  const std::string first = said_of(Codes()), second = said_of(Codes());
  test::set_environment("TILEWRIGHT_LOG", "0");
  EXPECT_NE(first.find("qsi8cxp-40x64: packed for the cache"), std::string::npos) << first;
  EXPECT_NE(second.find("qsi8cxp-40x64: mapped from the cache"), std::string::npos) << second;
  EXPECT_EQ(second.find("packed for"), std::string::npos) << second;
  ASSERT_EQ(kept().size(), 1U);
  EXPECT_EQ(test::file_at(last_.packed.get()), fs::canonical(kept()[0]));
}

TEST_F(PackedCache, EverythingThatIsPackedIsInTheKey) {
  const std::function<void(Codes&)> changes[] = {
      [](Codes&) {},
      [](Codes& codes) { codes.data.back() ^= 1; },
      [](Codes& codes) { codes.scales.back() *= 2; },
      [](Codes& codes) { codes.bias.back() += 1; },
      [](Codes& codes) { codes.zero_point += 1; },
      [](Codes& codes) { codes.lhs_scale *= 2; },
      [](Codes& codes) { codes.dst_scale *= 2; },
      [](Codes& codes) { codes.order = TW_KXN; },
      [](Codes& codes) {
        std::swap(codes.n, codes.k), codes.scales.resize(codes.n, 1), codes.bias.resize(codes.n);
      },
  };
  std::set<std::string> all;
  for (const auto& change : changes) {
    Codes codes;
    change(codes);
    EXPECT_EQ(said_of(codes), "");
    all.insert(bytes_of(last_));
  }
  EXPECT_EQ(all.size(), std::size(changes)) << "a change that changes nothing";
  EXPECT_EQ(kept().size(), std::size(changes));
}

/// One matrix of floats, packed for each kernel.
struct Floats {
  std::vector<float> data = std::vector<float>(96 * 64, 1.5F);
  const tw_kernel* kernel = nullptr;
};

PackedWeights pack(const Floats& floats) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = floats.kernel->family;
  matmul.n = 96;
  matmul.k = 64;
  matmul.kernel = floats.kernel->name;
  PackedWeights made = weights_with(matmul);
  auto source = tilewright::sized<tw_rhs_source>();
  source.data = floats.data.data();
  source.data_bytes = floats.data.size() * sizeof(float);
  source.stride = 64 * sizeof(float);
  pack_weights(source, {1}, made);
  return made;
}

TEST_F(PackedCache, LayoutsHaveFilesOfTheirOwn) {
  std::vector<const tw_kernel*> kernels(tw_list_kernels(&this_device(), nullptr, 0));
  tw_list_kernels(&this_device(), kernels.data(), kernels.size());
  Floats floats;
  std::iota(floats.data.begin(), floats.data.end(), 0.5F);
  std::set<uint64_t> layouts;
  for (const tw_kernel* kernel : kernels) {
    if (std::string(kernel->family) != "matmul_clamp_f32_f32_f32p") continue;
    if (!layouts.insert(kernel->rhs->id).second) continue;
    floats.kernel = kernel;
    EXPECT_EQ(said_of(floats), "") << kernel->name;
  }
  EXPECT_GT(layouts.size(), 1U);
  EXPECT_EQ(kept().size(), layouts.size());
}

TEST_F(PackedCache, WhatIsDamagedOrForeignIsMadeAgainWithOneLine) {
  Codes other;
  other.bias[0] = 99;
  said_of(other);
  const std::string foreign = test::read_file(kept().at(0));
  fs::remove(kept()[0]);
  said_of(Codes());
  const fs::path file = kept().at(0);
  const std::string good = test::read_file(file);
  const auto flipped = [&](size_t at) {
    std::string bytes = good;
    bytes.at(at) = static_cast<char>(bytes[at] ^ 1);
    return bytes;
  };
  const std::vector<std::string> cases = {foreign,     flipped(0),
                                          flipped(30), flipped(kHugePage),
                                          flipped(60), good.substr(0, good.size() - 4096),
                                          "",          std::string(good.size(), 'x')};
  for (const std::string& bad : cases) {
    last_ = {};
    test::write_file(file, bad);
    const std::string said = said_of(Codes());
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_NE(said.find(file.string()), std::string::npos) << said;
    EXPECT_NE(said.find("packed again"), std::string::npos) << said;
    EXPECT_TRUE(test::read_file(file) == good);
    EXPECT_EQ(said_of(Codes()), "");
  }
}

TEST_F(PackedCache, WhereNothingCanBeWrittenWeightsArePacked) {
  test::write_file(folder_.path + "/kept", "");
  const std::string said = said_of(Codes());
  EXPECT_NE(said.find("TILEWRIGHT_CACHE: cannot write " + kept_folder()), std::string::npos)
      << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  Codes other;
  other.bias[0] = 99;
  EXPECT_EQ(said_of(other), "") << "said again";
  EXPECT_EQ(test::file_at(last_.packed.get()), "");
}

/// What cannot be packed is not kept.
TEST_F(PackedCache, NothingIsKeptOfWhatIsRefused) {
  Codes codes;
  codes.bias[3] = 2147483647;
  EXPECT_THROW(pack(codes), tilewright::Error);
  EXPECT_EQ(kept().size(), 0U);
}

/// Packs, or maps, over and over, while other processes do; true: nothing was wrong.
bool is_right_beside_others(const std::string& folder, const std::string& wanted) {
  testing::internal::CaptureStderr();
  for (int round = 0; round < 10; ++round) {
    if (bytes_of(pack(Codes())) != wanted) return false;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".packed") unlink(entry.path().c_str());
    }
  }
  return testing::internal::GetCapturedStderr().empty();
}

/// Nobody reads what another one has not finished.
TEST_F(PackedCache, ProcessesAtOnce) {
  const std::string wanted = expected(Codes());
  std::vector<pid_t> processes;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(is_right_beside_others(kept_folder(), wanted) ? 0 : 1);
    processes.push_back(child);
  }
  for (const pid_t child : processes) {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(said_of(Codes()), "");
  EXPECT_EQ(kept().size(), 1U) << "files that were never finished";
}

}  // namespace
}  // namespace tw
