// Shipped choices and records agree on which cores are of one kind.
#include <gtest/gtest.h>

#include "tilewright/choices.h"
#include "tilewright/tilewright.hpp"
#include "tuner/device_text.h"
#include "tuner/pipes.h"
#include "tuner/saved_devices.h"

namespace tw::tuner {
namespace {

/// What a choice that was measured on `there` is for a core of `here`.
tw_match match(const tw_core_kind& there, const tw_device& here, const tw_cluster& cluster) {
  const tw_setting setting = {1,
                              1,
                              "tw_matmul_clamp_f32_qai8dxp1x4_qsi4cxp4x4_1x4_scalar",
                              {64, 1, 0, TW_COLUMNS_FIRST, TW_DECODE_UNSET}};
  const tw_chosen chosen = {
      "matmul_clamp_f32_qai8dxp_qsi4cxp", 64, 64, 0, TW_SCALES_UNSET, 1, there, &setting, 1};
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = chosen.family;
  matmul.n = matmul.k = 64;
  auto found = tilewright::sized<tw_found>();
  EXPECT_EQ(tw_choice_find(&chosen, 1, &here, &cluster, 1, &matmul, &found), TW_OK);
  return found.match;
}

TEST(CoreKinds, AreTheSameForRecordsAndForShippedChoices) {
  size_t same_cores = 0, same_types = 0;
  for (const std::string& here : test::device_names()) {
    const tw_device device = test::saved_device(here);
    for (const std::string& there : test::device_names()) {
      const tw_device other = test::saved_device(there);
      for (size_t i = 0; i < device.cluster_count; ++i) {
        for (size_t j = 0; j < other.cluster_count; ++j) {
          const Core a = core_of(device, i), b = core_of(other, j);
          const bool exact = identity(a) == identity(b), type = same_type(a, b);
          same_cores += exact ? 1 : 0;
          same_types += !exact && type ? 1 : 0;
          EXPECT_EQ(match(tw_core_kind_of(&other, &other.clusters[j]), device, device.clusters[i]),
                    exact  ? TW_MATCH_CORE
                    : type ? TW_MATCH_TYPE
                           : TW_MATCH_ISA)
              << here << " " << i << ", " << there << " " << j;
        }
      }
    }
  }
  EXPECT_GT(same_cores, test::device_names().size());
  EXPECT_GT(same_types, 0U);
}

}  // namespace
}  // namespace tw::tuner
