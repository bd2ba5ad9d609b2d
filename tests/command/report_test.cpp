// `tilewright report`, as a user runs it.
#include "tuner/report.h"

#include <gtest/gtest.h>

#include "emit/write_tree.h"
#include "spec/folder.h"
#include "support/run_command.h"
#include "tuner/sample_record.h"

namespace tw::report_test {
namespace {

Ran run(const Folder& folder, const std::string& arguments) {
  return run_command("cd '" + folder.path().string() + "' && '" TILEWRIGHT_COMMAND "' " +
                     arguments);
}

std::string page_text(const Folder& folder, const char* name) {
  return read_text(folder.path() / name);
}

TEST(ReportCommand, WritesAPageAndReplacesOnlyPages) {
  const Folder folder;
  const std::string line = tuner::to_line(tuner::test::sample_record());
  folder.write("a.jsonl", line + "\nrubbish\n");
  folder.write("b.jsonl", line + "\n");
  Ran ran = run(folder, "report --records a.jsonl --records b.jsonl");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.output,
            "report.html: 2 records; 1 damaged line left out (`tilewright records check` shows "
            "them)\n");
  const std::string both = page_text(folder, "report.html");
  EXPECT_EQ(both.rfind(tuner::kReportHead, 0), 0U);
  EXPECT_NE(both.find("1 damaged line left out"), std::string::npos);
  ran = run(folder, "report --records b.jsonl -o report.html");
  EXPECT_EQ(ran.output, "report.html: 1 record\n");
  EXPECT_NE(page_text(folder, "report.html"), both);

  folder.write("notes.html", "<p>mine</p>\n");
  for (const char* command : {"report --records b.jsonl -o notes.html",
                              "tune --budget 0 --records c.jsonl --report notes.html"}) {
    ran = run(folder, command);
    EXPECT_EQ(ran.status, 1);
    EXPECT_EQ(ran.output,
              "notes.html is not a report that this command made: move it away first\n");
  }
  EXPECT_EQ(page_text(folder, "notes.html"), "<p>mine</p>\n");
}

TEST(ReportCommand, SaysWhenThereIsNothingToShow) {
  const Folder folder;
  folder.write("empty.jsonl", "");
  EXPECT_EQ(run(folder, "report --records empty.jsonl -o page.html").output,
            "page.html: 0 records\n");
  EXPECT_NE(page_text(folder, "page.html").find("There are no records."), std::string::npos);
  const Ran ran = run(folder, "report --records none.jsonl -o none.html");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.output, "cannot read none.jsonl: No such file or directory\n");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "none.html"));
  EXPECT_EQ(run(folder, "report").status, 2);
}

}  // namespace
}  // namespace tw::report_test
