// `tilewright records`, as a user runs it.
#include <gtest/gtest.h>

#include <functional>

#include "spec/folder.h"
#include "support/run_command.h"
#include "tuner/sample_record.h"

namespace tw::records_test {
namespace {

using namespace tuner;

Ran run(const Folder& folder, const std::string& arguments) {
  return run_command("cd '" + folder.path().string() + "' && '" TILEWRIGHT_COMMAND "' records " +
                     arguments);
}

Record measured(const char* kernel, double ratio, double width) {
  Record record = tuner::test::sample_record();
  record.good = true;
  record.ran.kernel = kernel;
  record.ratio = {ratio, ratio / width, ratio * width, 40};
  return record;
}

TEST(Records, CheckCountsAndNamesBadLines) {
  const Folder folder;
  const std::string line = to_line(tuner::test::sample_record());
  folder.write("good.jsonl", line + "\n");
  folder.write("bad.jsonl", line + "\nrubbish\n" + line.substr(0, 100));
  Ran ran = run(folder, "check good.jsonl");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.output, "good.jsonl: 1 record, 0 bad lines\n");
  ran = run(folder, "check good.jsonl bad.jsonl");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.output,
            "good.jsonl: 1 record, 0 bad lines\n"
            "bad.jsonl:2: crc is missing, the line is cut or no record; ,\"crc\":\"8 hex digits\"} "
            "at its end is legal\n"
            "bad.jsonl:3: the line has no end: its writing was cut short; a newline is legal\n"
            "bad.jsonl: 1 record, 2 bad lines\n");
  ran = run(folder, "check none.jsonl");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.output, "cannot read none.jsonl: No such file or directory\n");
}

TEST(Records, MergeWritesTheUnion) {
  const Folder folder;
  folder.write("a.jsonl", to_line(measured("a", 1, 1.1)) + "\nrubbish\n");
  folder.write("b.jsonl",
               to_line(measured("a", 1, 1.1)) + "\n" + to_line(measured("b", 1, 1.1)) + "\n");
  EXPECT_EQ(run(folder, "merge a.jsonl b.jsonl -o c.jsonl").output,
            "c.jsonl: 2 records; 1 repeated line and 1 bad line left out\n");
  EXPECT_EQ(run(folder, "check c.jsonl").output, "c.jsonl: 2 records, 0 bad lines\n");
  const Ran refused = run(folder, "merge a.jsonl -o c.jsonl");
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(run(folder, "check c.jsonl").output, "c.jsonl: 2 records, 0 bad lines\n");
}

TEST(Records, BestShowsTheWinnerAndWhatFailed) {
  const Folder folder;
  Record baseline = measured("default", 1, 1);
  baseline.ratio = {};
  const auto against = [&](const char* kernel, double ratio) {
    Record record = measured(kernel, ratio, 1.01);
    record.ran.hash = std::hash<std::string>()(kernel);
    record.baseline = identity(baseline.ran);
    return record;
  };
  Record crash = against("crashes", 1.5);
  crash.outcome = Outcome::crash;
  crash.detail = "SIGILL";
  Record noisy = against("fast", 1.08);
  noisy.good = false;
  Record alone = measured("alone", 1, 1);
  alone.problem.m = 1;
  std::string text;
  for (const Record& record : {baseline, against("slow", 0.9), noisy, against("near", 1.02),
                               against("crashes", 1.5), crash, alone}) {
    text += to_line(record) + "\n";
  }
  folder.write("all.jsonl", text + "rubbish\n");
  const Ran ran = run(folder, "best all.jsonl");
  EXPECT_EQ(ran.status, 0);
  const std::string core = "Cortex-X3 (" + identity(crash.core) + "): ";
  EXPECT_EQ(
      ran.output,
      "all.jsonl: 1 bad line left out (`tilewright records check` shows them)\n" + core +
          "matmul_clamp_f32_qsi8d32p_qsi4c32p, n 4096, k 2048, blocks of 32 with f16, m 1, hot, 2 "
          "threads\n"
          "  best       unknown: the baseline has no record\n" +
          core +
          "matmul_clamp_f32_qsi8d32p_qsi4c32p, n 4096, k 2048, blocks of 32 with f16, m 128, hot, "
          "2 threads\n"
          "  best       fast\n"
          "             slices of 256 columns x 64 rows, rows first, prefetch 1024, gcc 12.2.0\n"
          "  next       near\n"
          "             slices of 256 columns x 64 rows, rows first, prefetch 1024, gcc 12.2.0\n"
          "  lead       1.059 times as fast, 95 %: 1.044 to 1.074: sure\n"
          "  noisy      1 record of the best one\n"
          "  left out   1 record: the kernel failed, or against another baseline\n" +
          core +
          "failed, and chosen nowhere\n"
          "  crash      crashes: SIGILL\n");
}

TEST(Records, RegretShowsEachRung) {
  const Folder folder;
  Record baseline = measured("a_4x8", 1, 1);
  baseline.ratio = {};
  Record faster = measured("b_8x8", 1.25, 1.01);
  faster.baseline = identity(baseline.ran);
  std::string text;
  for (const size_t n : {1024, 2048}) {
    baseline.problem.n = faster.problem.n = baseline.measured_n = faster.measured_n = n;
    text += to_line(baseline) + "\n" + to_line(faster) + "\n";
  }
  folder.write("all.jsonl", text);
  const Ran ran = run(folder, "regret all.jsonl");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.output,
            "rung           cells  median   worst  worst where\n"
            "same core          2   1.000   1.000\n"
            "same core type     0       -       -\n"
            "same pipes         0       -       -\n"
            "ISA default        0       -       -\n"
            "fitted model       0       -       -\n"
            "cost model         2   1.250   1.250  n 1024, k 2048, 128 rows, hot: 4x8 instead of "
            "8x8\n");
}

TEST(Records, ShortenWritesANewFile) {
  const Folder folder;
  Record baseline = measured("default", 1, 1);
  baseline.ratio = {};
  std::string text = to_line(baseline) + "\n";
  for (const char* kernel : {"a", "b", "c"}) {
    Record record = measured(kernel, kernel[0] == 'b' ? 1.5 : 0.9, 1.01);
    record.baseline = identity(baseline.ran);
    text += to_line(record) + "\n";
  }
  folder.write("long.jsonl", text);
  EXPECT_EQ(run(folder, "shorten long.jsonl -o short.jsonl").output,
            "short.jsonl: 2 of 4 records\n");
  EXPECT_EQ(run(folder, "check short.jsonl").output, "short.jsonl: 2 records, 0 bad lines\n");
  EXPECT_NE(run(folder, "best short.jsonl").output.find("  best       b\n"), std::string::npos);
  EXPECT_EQ(run(folder, "shorten long.jsonl -o long.jsonl").status, 2);
}

// Below the user's own: cells of the same cores that these have nothing of.
TEST(Records, BestShowsWhatShipsAndIsNotMeasured) {
  const Folder folder;
  const auto cell = [](const char* winner, const std::function<void(Record&)>& change) {
    Record baseline = measured("default", 1, 1), best = measured(winner, 1.5, 1.01);
    baseline.ratio = {};
    best.baseline = identity(baseline.ran);
    change(baseline);
    change(best);
    return to_line(baseline) + "\n" + to_line(best) + "\n";
  };
  const auto same = [](Record&) {};
  folder.write("mine.jsonl", cell("mine", same));
  folder.write("shipped/a.jsonl",
               cell("shipped", same) + "rubbish\n" + cell("shipped for other rows", [](Record& r) {
                 r.problem.m = 7;
               }) + cell("shipped for another core", [](Record& r) { r.core.midr = 0x410fd460; }));
  folder.write("shipped/notes.txt", "no records");
  folder.write("none/notes.txt", "");
  const auto best = [&](const std::string& shipped) {
    setenv("TILEWRIGHT_SHIPPED_RECORDS", shipped.c_str(), 1);
    Ran ran = run(folder, "best mine.jsonl");
    unsetenv("TILEWRIGHT_SHIPPED_RECORDS");
    return ran;
  };
  const std::string alone = best("none").output;
  EXPECT_NE(alone.find("  best       mine\n"), std::string::npos) << alone;
  EXPECT_EQ(alone, best("no_such_folder").output);
  const Ran ran = best("shipped");
  EXPECT_EQ(ran.status, 0);
  EXPECT_NE(ran.output.find("shipped/a.jsonl: 1 bad line left out"), std::string::npos)
      << ran.output;
  const size_t below = ran.output.find("\nNot measured here, from the records that ship:\n");
  ASSERT_NE(below, std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("  best       mine\n"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("  best       shipped for other rows\n", below), std::string::npos);
  EXPECT_EQ(ran.output.find("  best       shipped\n"), std::string::npos) << ran.output;
  EXPECT_EQ(ran.output.find("another core"), std::string::npos) << ran.output;
}

}  // namespace
}  // namespace tw::records_test
