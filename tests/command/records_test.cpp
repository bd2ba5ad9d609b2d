// `tilewright records`, as a user runs it.
#include <gtest/gtest.h>

#include "spec/folder.h"
#include "support/run_command.h"
#include "tuner/sample_record.h"

namespace tw {
namespace {

using namespace tuner;

Ran run(const Folder& folder, const std::string& arguments) {
  return run_command("cd '" + folder.path().string() + "' && '" TILEWRIGHT_COMMAND "' records " +
                     arguments);
}

Record measured(const char* kernel, double ratio, double width) {
  Record record = test::sample_record();
  record.good = true;
  record.ran.kernel = kernel;
  record.ratio = {ratio, ratio / width, ratio * width, 40};
  return record;
}

TEST(Records, CheckCountsAndNamesBadLines) {
  const Folder folder;
  const std::string line = to_line(test::sample_record());
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
  Record crash = measured("crashes", 1, 1);
  crash.outcome = Outcome::crash;
  crash.detail = "SIGILL";
  Record noisy = measured("noisy", 2, 1.1);
  noisy.good = false;
  std::string text;
  for (const Record& record : {measured("slow", 0.9, 1.01), measured("fast", 1.08, 1.01),
                               measured("default", 1, 1.01), crash, noisy}) {
    text += to_line(record) + "\n";
  }
  Record other = measured("alone", 1, 1);
  other.problem.m = 1;
  other.regime = Regime::streamed;
  folder.write("all.jsonl", text + "rubbish\n" + to_line(other) + "\n");
  const Ran ran = run(folder, "best all.jsonl");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(
      ran.output,
      "all.jsonl: 1 bad line left out (`tilewright records check` shows them)\n"
      "Cortex-X3 (" +
          identity(crash.core) +
          "): matmul_clamp_f32_qsi8d32p_qsi4c32p, n 4096, "
          "k 2048, blocks of 32 with f16, m 128, hot, 2 threads\n"
          "  best       fast\n"
          "             slices of 256 columns x 64 rows, rows first, prefetch 1024, gcc 12.2.0\n"
          "  next       default\n"
          "             slices of 256 columns x 64 rows, rows first, prefetch 1024, gcc 12.2.0\n"
          "  lead       1.080 times as fast, 95 %: 1.065 to 1.095, 40 rounds: sure\n"
          "  crash      crashes: SIGILL\n"
          "  left out   1 record, too noisy\n"
          "Cortex-X3 (" +
          identity(crash.core) +
          "): matmul_clamp_f32_qsi8d32p_qsi4c32p, n 4096, "
          "k 2048, blocks of 32 with f16, m 1, streamed, 2 threads\n"
          "  best       alone\n"
          "             slices of 256 columns x 64 rows, rows first, prefetch 1024, gcc 12.2.0\n"
          "  next       nothing else was measured\n");
}

}  // namespace
}  // namespace tw
