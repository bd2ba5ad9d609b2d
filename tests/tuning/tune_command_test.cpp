// `tilewright tune` on this machine, as a user runs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "measure/machine.h"
#include "spec/folder.h"
#include "support/own_lock.h"
#include "support/run_command.h"
#include "tilewright/tilewright.hpp"
#include "tuner/program/device_lock.h"
#include "tuner/record_file.h"

namespace tw::tuner {
namespace {

using testing::Test;

class TuneCommand : public Test {
 protected:
  void SetUp() override {
    folder_.write("w.yaml", "workload: w\nmatmuls: [{name: a, n: 128, k: 256}]\nm: [1, 5]\n");
  }

  Ran tune(const std::string& options) {
    return run_command("cd '" + folder_.path().string() +
                       "' && '" TW_COMMAND "' tune --workload w.yaml --records r.jsonl " + options);
  }

  [[nodiscard]] std::vector<Record> records() const {
    const std::filesystem::path path = folder_.path() / "r.jsonl";
    return std::filesystem::exists(path) ? read_records(path.string()).records
                                         : std::vector<Record>();
  }

  Folder folder_;
};

TEST_F(TuneCommand, OneAndTwoThreads) {
  const size_t cores = measure::allowed_cores().size();
  if (cores < 2) GTEST_SKIP() << "one core";
  // Other work may eat the seconds of what comes last: the next one, with more, measures only that.
  std::map<size_t, size_t> baselines;
  Ran ran;
  for (const char* budget : {"3", "6", "12"}) {
    ran = tune(std::string("--threads 1,2 --budget ") + budget);
    ASSERT_EQ(ran.status, 0) << ran.output;
    baselines.clear();
    for (const Record& r : records()) {
      EXPECT_EQ(r.outcome, Outcome::ok) << r.detail;
      if (r.ratio.rounds == 0) ++baselines[r.threads];
    }
    if (baselines.size() == 2) break;
  }
  EXPECT_GE(baselines[1], 1U);
  EXPECT_GE(baselines[2], 1U);
  EXPECT_EQ(baselines.size(), 2U);
  EXPECT_NE(ran.output.find(", 2 threads, weights from memory: "), std::string::npos) << ran.output;

  const Ran many = tune("--budget 1 --threads 100000");
  EXPECT_EQ(many.status, 1);
  EXPECT_NE(many.output.find("100000 threads: this process may use " + std::to_string(cores) +
                             " cores; 1 to " + std::to_string(cores) + " threads are legal"),
            std::string::npos)
      << many.output;
  EXPECT_EQ(tune("--threads 0").status, 2);
}

TEST_F(TuneCommand, NotWhileAnotherTunes) {
  const DeviceLock other;
  const Ran refused = tune("--budget 1");
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.output.find("process " + std::to_string(getpid()) + " ("), std::string::npos)
      << refused.output;
  EXPECT_NE(refused.output.find("tunes this device already"), std::string::npos) << refused.output;
  EXPECT_TRUE(records().empty());
  EXPECT_EQ(tune("--budget 0").status, 0);  // measures nothing
}

/// Another kernel than `than` that runs here on the same weights.
std::string other_kernel(const Configuration& than) {
  auto device = tilewright::sized<tw_device>();
  tw_device_detect(&device);
  std::vector<const tw_kernel*> rows(tw_list_kernels(&device, nullptr, 0));
  tw_list_kernels(&device, rows.data(), rows.size());
  for (const tw_kernel* row : rows) {
    const bool like_it = row->dst == TW_F32 && row->accumulate == 0 && row->rhs->id == than.layout;
    if (like_it && row->name != than.kernel) return row->name;
  }
  return "";
}

// Those that ship say what to do until the user has own ones.
TEST_F(TuneCommand, OwnRecordsBeatThoseThatShip) {
  std::vector<Record> own;
  const auto five_rows = [&own] {
    return std::find_if(own.begin(), own.end(), [](const Record& r) {
      return r.problem.m == 5 && r.outcome == Outcome::ok && r.ratio.rounds == 0;
    });
  };
  for (int i = 0; i < 10 && five_rows() == own.end(); ++i) {  // a busy machine needs more seconds
    ASSERT_EQ(tune("--budget 1").status, 0);
    own = records();
  }
  const auto baseline = five_rows();
  ASSERT_NE(baseline, own.end());
  Record planted = *baseline;
  planted.ran.kernel = other_kernel(baseline->ran);
  planted.ran.hash = tw_find_kernel(planted.ran.kernel.c_str())->content_hash;
  planted.ratio = {20, 19.9, 20.1, 30};
  planted.baseline = identity(baseline->ran);
  folder_.write("shipped/theirs.jsonl",
                to_line(*baseline) + "\nrubbish\n" + to_line(planted) + "\n");
  const std::string with = "TILEWRIGHT_SHIPPED_RECORDS=shipped '" TW_COMMAND
                           "' tune --workload w.yaml --budget 0 --records ";
  const auto run = [&](const std::string& file) {
    return run_command("cd '" + folder_.path().string() + "' && " + with + file);
  };
  const Ran theirs = run("none.jsonl");
  EXPECT_EQ(theirs.status, 0) << theirs.output;
  EXPECT_NE(theirs.output.find("shipped/theirs.jsonl: 1 bad line left out"), std::string::npos)
      << theirs.output;
  EXPECT_NE(theirs.output.find(" 20.000  exact "), std::string::npos) << theirs.output;
  const Ran mine = run("r.jsonl");
  EXPECT_EQ(mine.output.find(" 20.000 "), std::string::npos) << mine.output;
  EXPECT_NE(mine.output.find("  exact "), std::string::npos) << mine.output;

  // What ships spares nobody the measuring.
  std::filesystem::remove(folder_.path() / "r.jsonl");
  run_command("cd '" + folder_.path().string() + "' && TILEWRIGHT_SHIPPED_RECORDS=shipped '" +
              TW_COMMAND "' tune --workload w.yaml --budget 1 --records r.jsonl");
  EXPECT_FALSE(records().empty());
}

}  // namespace
}  // namespace tw::tuner
