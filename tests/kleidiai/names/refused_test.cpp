// What KleidiAI's debug builds refuse, ours refuse: each call in a process of its own.
#include "kleidiai/names/refused.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "kleidiai/names/operands.h"

namespace tw::test {

bool is_refused(const std::function<void()>& call) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    // Its message is expected, as is how it ends.
    std::signal(SIGABRT, [](int) { _exit(1); });
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(2);
    call();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
  return WEXITSTATUS(status) == 1;
}

namespace {

/// Some of theirs do not look where others do.
template <typename Call>
void expect_refused(bool theirs_look, const Call& call) {
  if (theirs_look) return expect_both_refuse(true, call);
  EXPECT_TRUE(is_refused([&] { call(false); }));
}

class KleidiaiRefuses : public testing::TestWithParam<Both<Matmul>> {};

TEST_P(KleidiaiRefuses, OffsetsThatAreNoMultiples) {
  const Both<Matmul>& both = GetParam();
  const size_t bl = kind_of(both.name).blocks ? 32 : 0;
  const auto kernel = [&](bool theirs) -> const Matmul& {
    return theirs ? both.theirs : both.ours;
  };
  const auto [m_step, n_step] = std::pair(both.theirs.m_step, both.theirs.n_step);
  expect_both_refuse(false, [&](bool t) { kernel(t).dst_offset(2 * m_step, n_step, 100); });
  expect_both_refuse(false, [&](bool t) { kernel(t).lhs_offset(m_step, 64, bl); });
  expect_both_refuse(false, [&](bool t) { kernel(t).rhs_offset(n_step, 64, bl); });
  const bool look = both.name != "matmul_clamp_f32_qai8dxp1x4_qsi4cxp4vlx4_1x4vl_sme2_sdot";
  expect_refused(look, [&](bool t) { kernel(t).dst_offset(0, n_step - 1, 100); });
  expect_refused(look, [&](bool t) { kernel(t).rhs_offset(n_step + 1, 64, bl); });
  if (m_step == 1) return;
  expect_both_refuse(true, [&](bool t) { kernel(t).dst_offset(m_step + 1, 0, 100); });
  expect_both_refuse(true, [&](bool t) { kernel(t).lhs_offset(m_step - 1, 64, bl); });
}

TEST_P(KleidiaiRefuses, ColumnsThatAreApart) {
  const Both<Matmul>& both = GetParam();
  const size_t bl = kind_of(both.name).blocks ? 32 : 0;
  const std::vector<uint8_t> packed(1 << 14);
  std::vector<float> out(64);
  const auto call = [&](bool theirs) {
    (theirs ? both.theirs : both.ours)
        .run(1, 2, 64, bl, packed.data(), packed.data(), out.data(), 16, 8, -1, 1, nullptr);
  };
  const bool sve = both.name.find("_sve_") != std::string::npos;
  const bool sme = both.name.find("_sme_") != std::string::npos;
  if (rows_of(both.name).f16) return expect_both_refuse(false, call);
  expect_refused(!sve && !sme, call);
}

INSTANTIATE_TEST_SUITE_P(, KleidiaiRefuses, testing::ValuesIn(matmuls()),
                         [](const auto& it) { return it.param.name; });

class KleidiaiPackersRefuse : public testing::TestWithParam<Both<RhsPacker>> {};

TEST_P(KleidiaiPackersRefuse, OffsetsAndMissingWeights) {
  const Both<RhsPacker>& both = GetParam();
  const WeightsKind kind = kind_of(both.name);
  const bool pairs = kind.nibbles && !kind.sequential;
  const bool fours = both.name.find("pnrx4") != std::string::npos;
  const bool deep = !kind.sequential && !kind.apart && !kind.table;
  const size_t group = kind.sequential && kind.offsets ? 8 : deep ? (pairs && !fours ? 16 : 8) : 4;
  const PanelShape shape = {kind.table && !kind.sequential ? 4U : 8U, group,
                            pairs || kind.apart || kind.offsets ? 2U : 1U, kind.blocks ? 32U : 0U};
  const auto packer = [&](bool theirs) -> const RhsPacker& {
    return theirs ? both.theirs : both.ours;
  };
  std::mt19937 random(5);
  const ClientWeights weights = random_weights(kind, 8, 64, shape.bl, random);
  std::vector<uint8_t> packed(1 << 14);
  expect_both_refuse(false, [&](bool t) { packer(t).packed_offset(16, 64, shape); });
  expect_both_refuse(true, [&](bool t) { packer(t).packed_offset(13, 64, shape); });
  expect_both_refuse(false,
                     [&](bool t) { packer(t).run(8, 64, shape, weights.from(), packed.data()); });
  expect_both_refuse(true, [&](bool t) {
    RhsSource nothing = weights.from();
    nothing.codes = nullptr;
    packer(t).run(8, 64, shape, nothing, packed.data());
  });
  if (kind.kxn && kind.nibbles) {
    expect_both_refuse(true, [&](bool t) { packer(t).offset(5, 100); });
  }
}

INSTANTIATE_TEST_SUITE_P(, KleidiaiPackersRefuse, testing::ValuesIn(rhs_packers()),
                         [](const auto& it) { return it.param.name; });

}  // namespace
}  // namespace tw::test
