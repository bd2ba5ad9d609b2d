// Records in the file that TILEWRIGHT_RECORDS names decide what runs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "integrations/ggml/settings.h"
#include "tilewright/tilewright.hpp"
#include "tuner/device_text.h"
#include "tuner/record_file.h"

namespace tw::ggml {
namespace {

/// A runnable kernel of the family that is not what the plan takes for one row.
const tw_kernel* other_kernel(const tw_device& device, const tw_matmul& matmul) {
  tw_plan* plan = nullptr;
  EXPECT_EQ(tw_plan_create(&device, &matmul, &plan), TW_OK);
  tw_segment segments[TW_MAX_SEGMENTS];
  size_t count = 0;
  tw_plan_segments(plan, 1, segments, &count);
  std::vector<const tw_kernel*> rows(tw_list_kernels(&device, nullptr, 0));
  tw_list_kernels(&device, rows.data(), rows.size());
  const tw_kernel* other = nullptr;
  for (const tw_kernel* row : rows) {
    const bool fits = row->family == std::string(matmul.family) &&
                      row->rhs->id == segments[0].kernel->rhs->id && row->tile_m == 1;
    if (fits && row != segments[0].kernel) other = row;
  }
  tw_plan_destroy(plan);
  return other;
}

tuner::Record record_of(const tw_device& device, const tw_matmul& matmul, const tw_kernel& kernel) {
  tuner::Record record;
  record.time = "2026-11-22T04:05:06Z";
  record.tool = "test";
  record.core = tuner::core_of(device, 0);
  record.problem = {matmul.family, matmul.n, matmul.k, 0, "", 1};
  record.measured_n = matmul.n;
  record.ran = {
      kernel.name, kernel.content_hash, kernel.isa, kernel.rhs->id, "", 64, 1, "columns", 0, ""};
  record.ns = {100, 100, 100, {100}};
  record.ratio = {1.5, 1.4, 1.6, 10};
  record.baseline = "0123456789abcdef";
  return record;
}

TEST(Settings, ComeFromRecords) {
  auto device = tilewright::sized<tw_device>();
  ASSERT_EQ(tw_device_detect(&device), TW_OK);
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = "matmul_clamp_f32_f32_f32p";
  matmul.n = matmul.k = 256;
  const tw_kernel* kernel = other_kernel(device, matmul);
  if (kernel == nullptr) GTEST_SKIP() << "this CPU has one kernel of one row only";
  const std::string path = testing::TempDir() + "ggml_settings.jsonl";
  std::filesystem::remove(path);
  tuner::append_record(path, record_of(device, matmul, *kernel));
  setenv("TILEWRIGHT_RECORDS", path.c_str(), 1);
  const Settings settings = find_settings(device, matmul);
  unsetenv("TILEWRIGHT_RECORDS");
  std::filesystem::remove(path);
  ASSERT_EQ(settings.rows.size(), 1);
  EXPECT_STREQ(settings.rows[0].kernel, kernel->name);
  EXPECT_EQ(settings.rows[0].m_first, 1);
  EXPECT_TRUE(find_settings(device, matmul).rows.empty()) << "the variable is gone";
}

}  // namespace
}  // namespace tw::ggml
