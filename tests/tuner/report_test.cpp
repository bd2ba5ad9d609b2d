// The page of a report: the right winner with its reasons, whatever records say, and nothing that
// it would have to fetch.
#include "tuner/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <regex>

#include "tuner/choose.h"
#include "tuner/device_text.h"
#include "tuner/plans.h"
#include "tuner/report_model.h"
#include "tuner/report_text.h"
#include "tuner/sample_record.h"
#include "tuner/saved_devices.h"

namespace tw::tuner::test::report_test {
namespace {

/// Weights from memory, one row: 4096 x 2048 at 10 GB/s take 0.84 ms, at 100 GMAC/s 0.08 ms.
Record baseline_record() {
  Record record = sample_record();
  record.good = true;
  record.virtual_machine = false;
  record.regime = Regime::streamed;
  record.threads = 1;
  record.problem.m = 1;
  record.ran.kernel = "tw_base_4x16_avx2";
  record.ran.m_block = 1;
  record.ran.hash = 1;
  record.ns = {1e6, 1e6, 1e6, {}};
  record.ratio = {};
  record.baseline = "";
  record.peak_gmacs = 100;
  record.read_gbs = 10;
  record.rhs_bytes = size_t{4096} * 2048;
  return record;
}

/// Times of the baseline / times of this.
Record measured(const char* kernel, double median, double low, double high, size_t rounds = 40) {
  Record record = baseline_record();
  record.baseline = identity(record.ran);
  record.ran.kernel = kernel;
  record.ran.hash = std::hash<std::string>()(kernel);
  record.ratio = {median, low, high, rounds};
  return record;
}

Record with_rows(Record record, size_t m) {
  record.problem.m = m;
  return record;
}

Record hot(Record record) {
  record.regime = Regime::hot;
  return record;
}

std::string page_of(const std::vector<Record>& records) {
  return report_page(records, {{"mine.jsonl", records.size(), 0}},
                     regrets(records, registry_facts));
}

/// What stands between the first `from` and the next `to`; "" if they do not.
std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const size_t begin = text.find(from);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find(to, begin) - begin);
}

/// The row of the choice for one number of rows.
std::string choice_row(const std::string& page, const std::string& m) {
  const std::string choice = between(page, "<h4>Choice</h4>", "</table>");
  return between(choice, ">" + m + "</a>", "</tr>");
}

/// The first kernel of a row.
std::string chosen(const std::string& row) {
  const std::string title = "<code title=\"";
  const std::string found = between(row, title, "\">");
  return found.empty() ? "" : found.substr(title.size());
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Tags that are not closed, or not in that order; "" if all are.
std::string unbalanced(const std::string& page) {
  static const std::regex tag("<(/?)([a-zA-Z0-9]+)((?:[^>\"]|\"[^\"]*\")*)>");
  static const std::set<std::string> alone = {"meta", "br"};
  std::vector<std::string> open;
  const std::string body = std::regex_replace(page, std::regex("<style>[^<]*</style>"), "");
  for (std::sregex_iterator at(body.begin(), body.end(), tag), end; at != end; ++at) {
    const std::string name = (*at)[2], rest = (*at)[3];
    if (alone.count(name) != 0 || (!rest.empty() && rest.back() == '/')) continue;
    if ((*at)[1].length() == 0) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return "</" + name + "> at " + std::to_string(at->position());
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : "<" + open.back() + ">";
}

TEST(Report, NamesTheWinnerAndHowSureItIs) {
  const std::string page =
      page_of({measured("tw_slow_1x4_avx2", 0.8, 0.79, 0.81), baseline_record(),
               measured("tw_fast_8x8_avx2", 1.25, 1.2375, 1.2627),
               measured("tw_lucky_2x8_avx2", 2, 0.002, 2000, 3)});
  const std::string row = choice_row(page, "1");
  EXPECT_EQ(chosen(row), "tw_fast_8x8_avx2");
  EXPECT_TRUE(has(row, ">8x8_avx2</code>")) << row;
  EXPECT_TRUE(has(row, "80.0 %")) << row;
  EXPECT_TRUE(has(row, "79.2 to 80.8 %")) << row;
  EXPECT_TRUE(has(row, "800.0 µs")) << row;
  EXPECT_TRUE(has(row, "surely faster than the baseline")) << row;
  EXPECT_TRUE(has(row, "4x16_avx2</code>, takes 25.0 % longer (23.7 to 26.3 %)")) << row;
  const std::string won = between(page, "<tr class=\"won\">", "</tr>");
  EXPECT_TRUE(has(won, "8x8_avx2")) << won;
  EXPECT_TRUE(has(won, ">winner</b>")) << won;
  // Three lucky rounds prove nothing: below all that have an interval.
  const std::string candidates = between(page, "<h4>Candidates</h4>", "</table>");
  EXPECT_LT(candidates.find("1x4_avx2"), candidates.find("2x8_avx2"));
  EXPECT_TRUE(has(between(candidates, ">2x8_avx2", "</tr>"), "no interval"));
  EXPECT_TRUE(has(between(candidates, ">4x16_avx2", "</tr>"), ">baseline</b>"));
}

TEST(Report, WhatIsNotSeparatedIsATie) {
  const std::string row = choice_row(
      page_of({baseline_record(), measured("a_1x1_x", 1.02, 1.01, 1.03),
               measured("b_2x2_x", 1.018, 1.006, 1.03), measured("c_3x3_x", 1.019, 1, 1.03)}),
      "1");
  EXPECT_EQ(chosen(row), "a_1x1_x");
  EXPECT_TRUE(has(row, "next: <code title=\"c_3x3_x\">3x3_x</code>, tie within 2.2 %; 1 more tie"))
      << row;
  const std::string even =
      choice_row(page_of({baseline_record(), measured("a_1x1_x", 1.02, 0.99, 1.05)}), "1");
  EXPECT_EQ(chosen(even), "tw_base_4x16_avx2");
  EXPECT_TRUE(has(even, "none is surely faster")) << even;
  EXPECT_TRUE(has(even, "tie within 5.1 %")) << even;
}

TEST(Report, EscapesWhatRecordsSay) {
  const std::string hostile = "</code><script>alert('1')</script><img src=x onerror=\"y\">&";
  Record record = baseline_record();
  record.device = record.core.name = record.core.features = record.tool = hostile;
  record.problem.family = record.problem.scales = record.ran.isa = record.ran.compiler = hostile;
  record.ran.kernel = hostile;
  Record crash = record;
  crash.ran.hash = 77;
  crash.outcome = Outcome::crash;
  crash.detail = crash.time = hostile;
  const RungRegret rung{Rung::same_core,
                        {{1.5, hostile, "b_2x2_x", record.core, record.problem, Regime::hot}}};
  const Record other = measured("b_2x2_x", 1.5, 1.4, 1.6);
  const std::string page =
      report_page({record, hot(record), crash, other}, {{hostile, 3, 1}}, {rung});
  EXPECT_FALSE(has(page, "<script"));
  EXPECT_FALSE(has(page, "<img"));
  EXPECT_FALSE(has(page, "onerror=\""));
  EXPECT_TRUE(has(page, "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"));
  EXPECT_EQ(unbalanced(page), "");
}

// They are legal; what they show is theirs.
TEST(Report, ExtremeNumbersMakeAPage) {
  for (const double ns : {1e-308, 1e308}) {
    Record base = baseline_record();
    base.problem.n = base.problem.k = base.problem.m = SIZE_MAX;
    base.ns = {ns, ns, ns, {}};
    base.peak_gmacs = base.read_gbs = 1e308;
    Record other = base;
    other.ran.kernel = "a_1x1_x";
    other.baseline = identity(base.ran);
    other.ratio = {1e-300, 1e-300, 1e300, 40};
    EXPECT_EQ(unbalanced(page_of({base, other})), "");
  }
}

TEST(Report, EndsWithTheRegretOfEachRung) {
  const std::string page =
      page_of({baseline_record(), measured("tw_fast_8x8_avx2", 1.25, 1.2375, 1.2627)});
  const std::string regret = between(page, "Choosing without records", "</table>");
  EXPECT_TRUE(has(regret, "same core</th><td class=\"n\">0</td>")) << regret;
  EXPECT_TRUE(has(regret,
                  "cost model</th><td class=\"n\">1</td><td class=\"n\">1.250</td><td "
                  "class=\"n\">1.250</td><td>n 4096, k 2048, 1 row, streamed: "))
      << regret;
  EXPECT_LT(regret.find("tw_base_4x16_avx2"), regret.find("tw_fast_8x8_avx2"));
  EXPECT_FALSE(has(page_of({baseline_record()}), "Choosing without records"));
}

TEST(Report, NeedsNothingElse) {
  const std::string page =
      page_of({baseline_record(), measured("a_1x1_x", 1.1, 1.05, 1.15), hot(baseline_record())});
  EXPECT_EQ(page.rfind(kReportHead, 0), 0U);
  for (const char* outside : {"http", "<script", "<link", "<img", "src=", "url(", "@import"}) {
    EXPECT_FALSE(has(page, outside)) << outside;
  }
  EXPECT_EQ(unbalanced(page), "");
  EXPECT_EQ(unbalanced("<p><b></p></b>"), "</p> at 6");
}

TEST(Report, SaysWhichLimitHoldsAndHowNearItIs) {
  const std::string page =
      page_of({baseline_record(), with_rows(baseline_record(), 128), hot(baseline_record())});
  const std::string rates = between(page, "<h4>Speed and limits</h4>", "</table>");
  // 8.39 MB at 10 GB/s of 1 ms; 1.07 GMAC at 100 GMAC/s are more than the 1 ms it took.
  EXPECT_TRUE(has(rates, "838.9 µs</td><td>memory</td><td class=\"n\">83.9 %")) << rates;
  EXPECT_TRUE(has(rates, "10.74 ms</td><td>arithmetic</td><td class=\"n\">1073.7 %")) << rates;
  EXPECT_TRUE(has(rates, "<td class=\"n\">8.4</td><td class=\"n\">8.4</td>")) << rates;
  // Weights in the caches do not wait for memory.
  EXPECT_TRUE(has(rates, "83.89 µs</td><td>arithmetic</td><td class=\"n\">8.4 %")) << rates;
  EXPECT_TRUE(has(page, "memory: 10.0 GB/s"));
  EXPECT_TRUE(has(page, "arithmetic, neon_i8mm: 100 GMAC/s"));
  Record unknown = baseline_record();
  unknown.peak_gmacs = unknown.read_gbs = 0;
  unknown.rhs_bytes = 0;
  EXPECT_TRUE(has(page_of({unknown}), "No roofline"));
}

// Choosing takes no time from elsewhere.
TEST(Report, WithoutTheBaselineThereIsNoChoice) {
  const std::string page = page_of({measured("a_1x1_x", 1.1, 1.05, 1.15)});
  EXPECT_TRUE(has(choice_row(page, "1"), "no choice: the baseline has no record"));
  EXPECT_FALSE(has(page, ">winner</b>"));
}

TEST(Report, ShowsHotBesideStreamed) {
  const Record fast = measured("a_1x1_x", 1.1, 1.09, 1.11),
               other = measured("b_2x2_x", 1.2, 1.19, 1.21);
  const std::string streamed_only = page_of({baseline_record(), fast});
  EXPECT_FALSE(has(streamed_only, "Weights from memory, and in the caches"));
  const std::string page =
      page_of({baseline_record(), fast, hot(baseline_record()), hot(other), hot(fast)});
  const std::string table = between(page, "Weights from memory, and in the caches", "</table>");
  EXPECT_LT(table.find(">1x1_x"), table.find(">2x2_x"));
  EXPECT_TRUE(has(table, "another kernel, same layout")) << table;
  EXPECT_TRUE(has(page_of({baseline_record(), fast, hot(baseline_record()), hot(fast)}),
                  "<td>the same</td>"));
}

TEST(Report, FailuresAreListedAndDoNotWin) {
  Record crash = with_rows(measured("a_1x1_x", 1, 1, 1), 4);
  crash.outcome = Outcome::crash;
  crash.detail = "SIGILL at once";
  const std::string page = page_of({baseline_record(), measured("a_1x1_x", 3, 2.9, 3.1), crash});
  EXPECT_EQ(chosen(choice_row(page, "1")), "tw_base_4x16_avx2");
  EXPECT_TRUE(has(page, "1 record left out"));
  const std::string failures = between(page, "<h3>Failures</h3>", "</table>");
  EXPECT_TRUE(has(failures, "crash</td><td><code title=\"a_1x1_x\">")) << failures;
  EXPECT_TRUE(has(failures, "SIGILL at once")) << failures;
}

TEST(Report, ManyCandidatesAreCutButForTheBaseline) {
  std::vector<Record> records = {baseline_record()};
  for (int i = 0; i < 20; ++i) {
    const double faster = 1.5 + i / 100.0;
    records.push_back(measured(("k" + std::to_string(i) + "_1x1_x").c_str(), faster, faster - 0.001,
                               faster + 0.001));
  }
  const std::string candidates = between(page_of(records), "<h4>Candidates</h4>", "</table>");
  EXPECT_TRUE(has(candidates, ">9 more<")) << candidates;
  EXPECT_TRUE(has(candidates, ">baseline</b>"));
}

TEST(Report, CountsWhatIsDamagedAndSaysWhenThereIsNothing) {
  const std::string page =
      report_page({baseline_record()}, {{"a.jsonl", 1, 0}, {"b.jsonl", 0, 3}}, {});
  EXPECT_TRUE(has(page, "a.jsonl: 1 record</p>"));
  EXPECT_TRUE(has(page, "b.jsonl: 0 records, <span class=\"bad\">3 damaged lines left out</span>"));
  const std::string empty = report_page({}, {{"a.jsonl", 0, 0}}, {});
  EXPECT_TRUE(has(empty, "There are no records."));
  EXPECT_EQ(unbalanced(empty), "");
}

// Of real kernels, so that they may be chosen: the page shows what runs.
TEST(Report, HasTheWinnersOfTheChoice) {
  const tw_device device = saved_device("zen_4");
  const Core core = core_of(device, 0);
  const Wanted wanted{"matmul_clamp_f32_qai8dxp_qsi4cxp", 4096, 2048, 0, "", {{1, 1}, {64, 1}}};
  const Choice planned = choose({}, device, core, wanted);
  std::vector<const tw_kernel*> rows(tw_list_kernels(&device, nullptr, 0));
  tw_list_kernels(&device, rows.data(), rows.size());
  std::vector<Record> records;
  for (const RowsChoice& plan : planned.rows) {
    Record base = with_rows(baseline_record(), plan.m);
    base.core = core;
    base.problem = {wanted.family, wanted.n, wanted.k, 0, "", plan.m};
    base.ran = plan.run;
    records.push_back(base);
    double faster = plan.m == 1 ? 0.95 : 1.0;  // nobody beats the plan with one row
    for (const tw_kernel* kernel : rows) {
      if (kernel->dst != TW_F32 || kernel->accumulate != 0 || kernel->rhs->id != planned.layout ||
          kernel->name == plan.run.kernel)
        continue;
      Record other = base;
      other.baseline = identity(base.ran);
      other.ran.kernel = kernel->name;
      other.ran.hash = kernel->content_hash;
      other.ran.isa = kernel->isa;
      other.ratio = {faster, faster * 0.99, faster * 1.01, 40};
      records.push_back(other);
      faster += plan.m == 1 ? -0.01 : 0.02;
    }
  }
  const Choice choice = choose(records, device, core, wanted);
  const std::string page = page_of(records);
  ASSERT_EQ(choice.rows.size(), 2U);
  EXPECT_EQ(choice.rows[0].run.kernel, planned.rows[0].run.kernel);
  EXPECT_NE(choice.rows[1].run.kernel, planned.rows[1].run.kernel);
  for (const RowsChoice& by_choice : choice.rows) {
    EXPECT_EQ(by_choice.rung, Rung::exact);
    const std::string row = choice_row(page, std::to_string(by_choice.m));
    EXPECT_EQ(chosen(row), by_choice.run.kernel);
    EXPECT_TRUE(has(row, time_text(by_choice.ns))) << row;
  }
}

TEST(ReportText, KernelsByTheirTellingParts) {
  EXPECT_EQ(telling_part("tw_matmul_clamp_f32_qai8dxp1x4_qsi4cxp16x4_1x16_avx2_near_asm"),
            "1x16_avx2_near_asm");
  EXPECT_EQ(telling_part("no tile"), "no tile");
  KernelNames names;
  for (const char* kernel : {"tw_mul_f32_a_1x2_x", "tw_mul_f32_b_1x2_x", "b_3x2_x", "b_3x2_x"}) {
    names.add(kernel, "mul_f32_a");
  }
  EXPECT_EQ(names.html("tw_mul_f32_b_1x2_x"), "<code title=\"tw_mul_f32_b_1x2_x\">b_1x2_x</code>");
  EXPECT_EQ(names.html("b_3x2_x"), "<code title=\"b_3x2_x\">3x2_x</code>");
}

TEST(ReportText, NumbersAndSettings) {
  EXPECT_EQ(time_text(12.345), "12.35 ns");
  EXPECT_EQ(time_text(1234.5), "1.234 µs");
  EXPECT_EQ(time_text(2.5e9), "2.500 s");
  EXPECT_EQ(time_text(0), "");
  EXPECT_EQ(bytes_text(16576), "16.19 KiB");
  EXPECT_EQ(percent_text(0.1234), "12.3 %");
  Configuration run;
  const Problem problem{"f", 4096, 2048, 0, "", 128};
  EXPECT_EQ(settings_text(run, problem, 128), "as planned");
  run.n_block = 240;
  run.m_block = 64;
  run.order = "rows";
  EXPECT_EQ(settings_text(run, problem, 128),
            "slices of 240 columns × 64 rows, rows first, no prefetch");
  EXPECT_EQ(settings_text(run, problem, 64), "slices of 240 columns, no prefetch");
  run.n_block = 4096;
  run.prefetch = 2048;
  EXPECT_EQ(settings_text(run, problem, 64), "all columns, prefetch 2 KiB");
}

}  // namespace
}  // namespace tw::tuner::test::report_test
