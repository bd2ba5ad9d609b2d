// Whole tunings, by the programs that users run.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "spec/folder.h"
#include "support/own_lock.h"
#include "support/run_command.h"
#include "tilewright/tilewright.hpp"
#include "tuner/job.h"
#include "tuner/record_file.h"

namespace tw::tuner {
namespace {

namespace fs = std::filesystem;
using tw::Folder;

Job small_job(double budget) {
  Job job;
  JobMatmul matmul;
  matmul.name = "layer";
  matmul.wanted.family = "matmul_clamp_f32_qai8dxp_qsi4cxp";
  matmul.wanted.n = 128;
  matmul.wanted.k = 256;
  matmul.wanted.mix = {{1, 8}, {5, 1}};
  job.matmuls = {matmul};
  job.budget = budget;
  return job;
}

struct Answer {
  int status = 0;
  std::vector<Record> records;
  std::map<size_t, nlohmann::json> rows;  ///< of the choice, by m
};

Answer tune(const char* program, const Job& job) {
  const Folder folder;
  folder.write("job.json", to_text(job));
  const Ran ran = run_command(std::string(program) + " " + (folder.path() / "job.json").string());
  Answer answer;
  answer.status = ran.status;
  std::istringstream lines(ran.output);
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_discarded()) {
      ADD_FAILURE() << line;
    } else if (!json.contains("event")) {
      answer.records.push_back(from_line(line));
    } else if (json["event"] == "choice") {
      for (const auto& row : json["rows"]) answer.rows[row["m"].get<size_t>()] = row;
    }
  }
  return answer;
}

/// Another kernel that runs here on the same packed weights.
const tw_kernel* other_kernel(const Configuration& than, const std::string& nor) {
  auto device = tilewright::sized<tw_device>();
  tw_device_detect(&device);
  std::vector<const tw_kernel*> rows(tw_list_kernels(&device, nullptr, 0));
  tw_list_kernels(&device, rows.data(), rows.size());
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const tw_kernel* row) {
    return row->dst == TW_F32 && row->accumulate == 0 && row->rhs->id == than.layout &&
           row->name != than.kernel && row->name != nor;
  });
  return found == rows.end() ? nullptr : *found;
}

// Each process knows only what it is given.
TEST(Tune, APlantedRecordFlipsTheChoiceOfAFreshProcess) {
  Job job = small_job(1);
  job.matmuls[0].wanted.mix = {{5, 1}};
  const Answer measured = tune(TW_TUNER, job);
  ASSERT_EQ(measured.status, 0);
  ASSERT_FALSE(measured.records.empty());
  job.budget = 0;
  job.known = measured.records;
  const Answer before = tune(TW_TUNER, job);
  ASSERT_EQ(before.rows.size(), 1U);
  EXPECT_EQ(before.rows.at(5).at("rung"), "exact");
  EXPECT_TRUE(before.records.empty());  // nothing was measured

  // Said to be twenty times as fast as what the plan would do.
  const auto baseline = std::find_if(job.known.begin(), job.known.end(), [](const Record& r) {
    return r.outcome == Outcome::ok && r.ratio.rounds == 0;
  });
  ASSERT_NE(baseline, job.known.end());
  const tw_kernel* kernel = other_kernel(baseline->ran, before.rows.at(5).at("kernel"));
  ASSERT_NE(kernel, nullptr);
  Record planted = *baseline;
  planted.ran.kernel = kernel->name;
  planted.ran.hash = kernel->content_hash;
  planted.ratio = {20, 19.9, 20.1, 30};
  planted.baseline = identity(baseline->ran);
  job.known.push_back(planted);
  const Answer after = tune(TW_TUNER, job);
  EXPECT_EQ(after.rows.at(5).at("kernel"), kernel->name);
  EXPECT_NE(before.rows.at(5).at("kernel"), kernel->name);
}

// Whether weights become floats first is measured, too.
TEST(Tune, DecodingIsMeasuredBesideWhatReadsPackedWeights) {
  Job job = small_job(1);
  Wanted& wanted = job.matmuls[0].wanted;
  wanted.family = "matmul_clamp_f32_f32_qai4c32p";
  wanted.block = 32;
  wanted.scales = "f16";
  wanted.mix = {{64, 1}};
  const Answer answer = tune(TW_TUNER, job);
  EXPECT_EQ(answer.status, 0);
  std::map<std::string, size_t> counts;
  for (const Record& r : answer.records) {
    if (r.outcome == Outcome::ok) ++counts[r.ran.decodes];
  }
  EXPECT_NE(counts["yes"], 0U);
  EXPECT_NE(counts["no"], 0U);
  EXPECT_EQ(counts[""], 0U);
}

TEST(Tune, WhatIsKnownIsNotMeasuredAgain) {
  Job job = small_job(1);
  size_t rows = 0;
  for (const JobMatmul& matmul : job.matmuls) rows += matmul.wanted.mix.size();
  const auto known_rows = [&job] {
    std::set<std::pair<size_t, size_t>> known;
    for (const Record& r : job.known) {
      if (r.ratio.rounds == 0) known.emplace(r.problem.n, r.problem.m);
    }
    return known.size();
  };
  for (int i = 0; i < 10 && known_rows() < rows; ++i) {  // a busy machine leaves some for later
    const Answer more = tune(TW_TUNER, job);
    job.known.insert(job.known.end(), more.records.begin(), more.records.end());
  }
  ASSERT_EQ(known_rows(), rows);
  const Answer again = tune(TW_TUNER, job);
  EXPECT_EQ(again.status, 0);
  // Nothing but the confirmation of winners, which compares two at a time.
  EXPECT_LE(again.records.size(), 12U);
}

// Kernels that crash, hang, or compute wrong values end neither the tuning nor up being chosen.
TEST(Tune, BadKernelsAreRecordsNotAnEnd) {
  Job job = small_job(2);
  job.patience = 1.5;
  const Answer answer = tune(TW_FAULTY_TUNER, job);
  EXPECT_EQ(answer.status, 0);
  std::map<std::string, Outcome> outcomes;
  std::map<std::string, std::string> details;
  for (const Record& r : answer.records) {
    if (r.outcome != Outcome::ok) outcomes[r.ran.kernel] = r.outcome;
    if (r.outcome != Outcome::ok) details[r.ran.kernel] = r.detail;
  }
  ASSERT_EQ(outcomes.size(), 3U);
  EXPECT_EQ(outcomes.at("crashing"), Outcome::crash);
  EXPECT_EQ(details.at("crashing"), "SIGILL");
  EXPECT_EQ(outcomes.at("hanging"), Outcome::timeout);
  EXPECT_EQ(outcomes.at("wrong"), Outcome::wrong);
  EXPECT_NE(details.at("wrong").find("the product is"), std::string::npos) << details.at("wrong");
  ASSERT_EQ(answer.rows.size(), 2U);
  for (const auto& [m, row] : answer.rows) EXPECT_EQ(row.at("kernel"), "as_it_ships");
}

/// How many times as long as the other the delayed kernel took, over all pairs of it; 1: no pairs.
double slowness_of_delayed(const std::vector<Record>& records) {
  double sum = 0;
  size_t pairs = 0;
  for (const Record& r : records) {
    if (r.ran.kernel != "delayed" || r.ratio.rounds < 3) continue;
    sum += 1 / r.ratio.median;
    ++pairs;
  }
  return pairs == 0 ? 1 : sum / static_cast<double>(pairs);
}

// Pairs of neighbours in time are compared, so that other work on the machine rarely hides 5 %:
// then it is tuned again.
TEST(Tune, ADelayOfFivePercentLoses) {
  Job job = small_job(4);
  job.patience = 1.5;
  job.matmuls[0].wanted.n = 1024;
  Answer answer;
  for (int i = 0; i < 5 && slowness_of_delayed(answer.records) < 1.02; ++i) {
    answer = tune(TW_FAULTY_TUNER, job);
  }
  EXPECT_GT(slowness_of_delayed(answer.records), 1.02);
  EXPECT_EQ(answer.rows.size(), 2U);
  for (const auto& [m, row] : answer.rows) EXPECT_EQ(row.at("kernel"), "as_it_ships");
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Starts the command in a process group of its own.
pid_t start(const std::vector<std::string>& words) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  setpgid(0, 0);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  if (freopen("/dev/null", "w", stdout) == nullptr || freopen("/dev/null", "w", stderr) == nullptr)
    _exit(127);
  execv(argv[0], argv.data());
  _exit(127);
}

// TILEWRIGHT_KILLS=1000 takes some minutes.
TEST(Tune, KilledAtAnyMomentItLosesNoCompleteRecord) {
  const char* asked = std::getenv("TILEWRIGHT_KILLS");
  const int kills = asked != nullptr ? std::atoi(asked) : 12;
  const Folder folder;
  folder.write("tiny.yaml",
               "workload: tiny\nmatmuls: [{name: a, n: 128, k: 256}]\nm: [1, 2, 3, 4, 5, 6]\n");
  const fs::path records = folder.path() / "r.jsonl";
  const std::vector<std::string> command = {
      TW_COMMAND,  "tune",           "--workload", (folder.path() / "tiny.yaml").string(),
      "--records", records.string(), "--budget",   "1",
      "--again"};
  std::mt19937 random(static_cast<unsigned>(getpid()));
  std::string before;
  for (int i = 0; i < kills; ++i) {
    const pid_t pid = start(command);
    ASSERT_GT(pid, 0);
    usleep(30000 + random() % 1200000);
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    const std::string after = fs::exists(records) ? read(records) : "";
    ASSERT_EQ(after.substr(0, before.size()), before) << "kill " << i;
    before = after;
  }
  ASSERT_FALSE(before.empty());
  const RecordFile file = read_records(records.string());
  const auto lines = static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  EXPECT_GE(file.records.size() + static_cast<size_t>(kills), lines);
  EXPECT_LE(file.bad.size(), static_cast<size_t>(kills));  // at most what was being written
  std::printf("%d kills, %zu records, %zu bad lines\n", kills, file.records.size(),
              file.bad.size());
}

}  // namespace
}  // namespace tw::tuner
