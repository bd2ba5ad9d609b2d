// `tilewright tune` with the real program over every kind of target, cut off in the middle once.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "support/own_lock.h"
#include "support/run_command.h"
#include "target/remote_fixture.h"
#include "tuner/record_file.h"

namespace tw::tuner {
namespace {

using testing::HasSubstr;

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

class EndToEnd : public RemoteTest {
 protected:
  void SetUp() override {
    RemoteTest::SetUp();
    emulator_ = variable("TILEWRIGHT_TEST_EMULATOR", "");
    tuner_ = variable("TILEWRIGHT_TEST_TUNER", TILEWRIGHT_TUNER);
    std::ofstream(folder_ / "tiny.yaml")
        << "workload: tiny\nmatmuls: [{name: a, n: 256, k: 128}, {name: b, n: 128, k: 256}]\n"
           "m: [1, 8]\n";
    records_ = (folder_ / "records.jsonl").string();
  }

  /// On an emulated processor if there is one: then what is brought there is a script.
  std::string program() {
    return emulator_.empty() ? tuner_ : script("exec " + emulator_ + " " + tuner_ + " \"$@\"");
  }

  [[nodiscard]] std::string tune(const std::string& target, int seconds) const {
    return fmt::format("{} tune --budget {} --workload {} --records {} {}", TILEWRIGHT_COMMAND,
                       emulator_.empty() ? seconds : 2 * seconds, (folder_ / "tiny.yaml").string(),
                       records_, target);
  }

  [[nodiscard]] std::vector<Record> records() const {
    if (!std::filesystem::exists(records_)) return {};
    RecordFile file = read_records(records_);
    EXPECT_TRUE(file.bad.empty());
    return std::move(file.records);
  }

  using Rows = std::pair<size_t, size_t>;  ///< columns of the matrix; rows

  /// Whose contest has ended: the baseline's record is its last one.
  static std::set<Rows> finished(const std::vector<Record>& records) {
    std::set<Rows> rows;
    for (const Record& r : records) {
      if (r.outcome == Outcome::ok && r.ratio.rounds == 0) rows.emplace(r.problem.n, r.problem.m);
    }
    return rows;
  }

  /// Configurations that ran.
  static std::map<Rows, std::set<std::string>> contests(const std::vector<Record>& records) {
    std::map<Rows, std::set<std::string>> ran;
    for (const Record& r : records) ran[{r.problem.n, r.problem.m}].insert(identity(r.ran));
    return ran;
  }

  /// Tunes until a contest has ended, does `cut`, and tunes on.
  void tune_twice(const std::string& target, const std::function<void()>& cut,
                  const std::function<void()>& mend) {
    FILE* tuning = popen((tune(target, 8) + " 2>&1").c_str(), "r");
    ASSERT_TRUE(comes_true([this] { return !finished(records()).empty(); }, 180));
    cut();
    std::string said;
    for (int c; (c = std::fgetc(tuning)) != EOF;) said += static_cast<char>(c);
    EXPECT_NE(pclose(tuning), 0) << said;
    EXPECT_THAT(said, HasSubstr("the same command goes on from there"));
    const std::vector<Record> before = records();
    mend();
    const Ran second = run_command(tune(target, 4));
    EXPECT_EQ(second.status, 0) << second.output;
    EXPECT_THAT(second.output, HasSubstr("new records"));
    expect_goes_on(before, records());
  }

  /// What was known is kept and not searched again, but the winner may be confirmed; the rest is.
  static void expect_goes_on(const std::vector<Record>& before, const std::vector<Record>& after) {
    ASSERT_GT(after.size(), before.size());
    for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(to_line(after[i]), to_line(before[i]));
    const std::set<Rows> known = finished(before);
    EXPECT_LT(known.size(), 4U);
    size_t searched = 0;
    for (const auto& [rows, ran] :
         contests({after.begin() + static_cast<std::ptrdiff_t>(before.size()), after.end()})) {
      if (known.count(rows) != 0) {
        EXPECT_LE(ran.size(), 2U) << rows.first << " columns, " << rows.second << " rows again";
      } else if (ran.size() > 2) {
        ++searched;
      }
    }
    EXPECT_GT(searched, 0U);
  }

  std::string emulator_, tuner_, records_;
};

TEST_F(EndToEnd, ThroughACommand) {
  const std::string pid_file = (folder_ / "pid").string();
  const std::string wrapper =
      script("echo $$ >" + pid_file + "; exec " + emulator_ + " \"$@\"", "wrapper");
  tune_twice(
      "--exec " + wrapper + " --program " + tuner_,
      [&] {
        pid_t pid = 0;
        std::ifstream(pid_file) >> pid;
        ASSERT_GT(pid, 0);
        kill(pid, SIGKILL);
      },
      [] {});
}

TEST_F(EndToEnd, OverSsh) {
  if (!start(Far::ssh)) return;
  tune_twice(
      "--ssh board --program " + program(), [&] { far_->cut(); }, [&] { far_->serve(); });
}

TEST_F(EndToEnd, OnAPhone) {
  if (!start(Far::adb)) return;
  tune_twice(
      "--adb any --program " + program(), [&] { far_->cut(); }, [&] { far_->serve(); });
}

}  // namespace
}  // namespace tw::tuner
