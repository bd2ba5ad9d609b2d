#include "tuner/record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "tuner/checksum.h"
#include "tuner/sample_record.h"

namespace tw::tuner::test {
namespace {

std::string what(const std::string& line) {
  try {
    from_line(line);
  } catch (const RecordError& error) {
    return error.what;
  }
  return "a record";
}

std::string what(const Record& record) {
  try {
    to_line(record);
  } catch (const RecordError& error) {
    return error.what;
  }
  return "a line";
}

TEST(Checksum, HasTheKnownValues) {
  static_assert(crc32c("123456789") == 0xe3069283);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cU);
}

TEST(Record, LineIsStable) {
  const std::string line = to_line(sample_record());
  EXPECT_EQ(
      line.rfind("{\"v\":1,\"time\":\"2026-11-22T04:05:06Z\",\"tool\":\"tilewright 0.1.0\",", 0),
      0U)
      << line;
  EXPECT_EQ(unsigned_part(line).size() + 18, line.size());
  EXPECT_NE(line.find("\"hash\":\"0x8000000000000001\""), std::string::npos);
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(Record, RoundTripKeepsEveryMember) {
  const Record record = sample_record();
  const Record back = from_line(to_line(record));
  EXPECT_EQ(back.time, record.time);
  EXPECT_EQ(back.tool, record.tool);
  EXPECT_EQ(back.device, record.device);
  EXPECT_EQ(back.virtual_machine, record.virtual_machine);
  EXPECT_EQ(identity(back.core), identity(record.core));
  EXPECT_EQ(back.core.name, record.core.name);
  EXPECT_EQ(back.core.midr, record.core.midr);
  EXPECT_EQ(back.core.mhz, record.core.mhz);
  EXPECT_EQ(back.core.streaming, record.core.streaming);
  EXPECT_EQ(back.problem.family, record.problem.family);
  EXPECT_EQ(back.problem.n, record.problem.n);
  EXPECT_EQ(back.problem.k, record.problem.k);
  EXPECT_EQ(back.problem.block, record.problem.block);
  EXPECT_EQ(back.problem.scales, record.problem.scales);
  EXPECT_EQ(back.problem.m, record.problem.m);
  EXPECT_EQ(back.regime, record.regime);
  EXPECT_EQ(back.threads, record.threads);
  EXPECT_EQ(back.measured_n, record.measured_n);
  EXPECT_EQ(identity(back.ran), identity(record.ran));
  EXPECT_EQ(back.outcome, record.outcome);
  EXPECT_EQ(back.detail, record.detail);
  EXPECT_EQ(back.ns.median, record.ns.median);
  EXPECT_EQ(back.ns.p20, record.ns.p20);
  EXPECT_EQ(back.ns.least, record.ns.least);
  EXPECT_EQ(back.ns.samples, record.ns.samples);  // bit for bit
  EXPECT_EQ(back.ratio.median, record.ratio.median);
  EXPECT_EQ(back.ratio.low, record.ratio.low);
  EXPECT_EQ(back.ratio.high, record.ratio.high);
  EXPECT_EQ(back.ratio.rounds, record.ratio.rounds);
  EXPECT_EQ(back.baseline, record.baseline);
  EXPECT_EQ(back.ghz, record.ghz);
  EXPECT_EQ(back.peak_gmacs, record.peak_gmacs);
  EXPECT_EQ(back.read_gbs, record.read_gbs);
  EXPECT_EQ(back.rhs_bytes, record.rhs_bytes);
  EXPECT_EQ(back.dropped, record.dropped);
  EXPECT_EQ(back.good, record.good);
  EXPECT_EQ(to_line(back), to_line(record));
}

TEST(Record, OutcomesOtherThanOkHaveNoTimes) {
  for (const Outcome outcome : {Outcome::wrong, Outcome::crash, Outcome::timeout}) {
    Record record = sample_record();
    record.outcome = outcome;
    record.detail = "SIGILL";
    record.ns = {};
    record.ratio = {};
    record.baseline = "";
    const Record back = from_line(to_line(record));
    EXPECT_EQ(back.outcome, outcome);
    EXPECT_EQ(back.detail, "SIGILL");
  }
}

TEST(Record, EveryFlippedBitIsFound) {
  const std::string line = to_line(sample_record());
  for (size_t i = 0; i < line.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = line;
      damaged[i] = static_cast<char>(damaged[i] ^ 1 << bit);
      EXPECT_THROW(from_line(damaged), RecordError) << i << " " << bit;
    }
  }
}

TEST(Record, EveryCutIsFound) {
  const std::string line = to_line(sample_record());
  for (size_t length = 0; length < line.size(); ++length) {
    EXPECT_THROW(from_line(line.substr(0, length)), RecordError) << length;
    EXPECT_THROW(from_line(line.substr(line.size() - length)), RecordError) << length;
  }
  EXPECT_THROW(from_line(line + " "), RecordError);
  EXPECT_THROW(from_line(line + line), RecordError);
}

TEST(Record, DamageHasMessages) {
  const std::string line = to_line(sample_record());
  const std::string crc = line.substr(line.size() - 10, 8);
  EXPECT_EQ(
      what(""),
      "crc is missing, the line is cut or no record; ,\"crc\":\"8 hex digits\"} at its end is "
      "legal");
  std::string damaged = line;
  damaged[7] = '8';
  EXPECT_EQ(what(damaged).rfind("crc does not match, the line is damaged; \"crc\":\"", 0), 0U);
  EXPECT_EQ(what(std::string(5000, 'x')),
            "the line has more than 4096 bytes; up to 4096 are legal");
  EXPECT_EQ(what(signed_line("{\"v\":1")), "time is missing; every record has it");
  EXPECT_EQ(what(signed_line("{\"v\":1,,")), "byte 8 is no JSON; one object is legal");
  EXPECT_EQ(what(signed_line("{\"v\":2")),
            "v is 2; this version reads 1 only: use the tool that wrote it");
  EXPECT_EQ(what(signed_line("{\"x\":2")), "v is missing; 1 is legal");
}

/// The sample's line with one member replaced, checksum right; null: the member is taken away.
std::string with(const std::string& pointer, const nlohmann::json& value) {
  auto json = nlohmann::json::parse(unsigned_part(to_line(sample_record())) + "}");
  const nlohmann::json::json_pointer at(pointer);
  EXPECT_TRUE(json.contains(at)) << pointer;
  json[at] = value;
  if (value.is_null()) json[at.parent_pointer()].erase(at.back());
  const std::string text = json.dump();
  return signed_line(text.substr(0, text.size() - 1));
}

// But one, which tools did not always write.
TEST(Record, EveryMemberIsRequiredAndTyped) {
  const auto json = nlohmann::json::parse(unsigned_part(to_line(sample_record())) + "}");
  const auto flat = json.flatten();
  size_t members = 0;
  for (const auto& [pointer, value] : flat.items()) {
    std::string name = pointer.substr(1);
    if (name.find("samples") != std::string::npos || name == "v") continue;
    if (const size_t slash = name.find('/'); slash != std::string::npos) name[slash] = '.';
    const bool optional = name == "ran.decodes";
    EXPECT_EQ(what(with(pointer, nullptr)),
              optional ? "a record" : name + " is missing; every record has it");
    for (const nlohmann::json& wrong :
         {nlohmann::json::array({1}), nlohmann::json(-1), nlohmann::json("\n")}) {
      const std::string message = what(with(pointer, wrong));
      EXPECT_EQ(message.rfind(name + " is " + wrong.dump() + "; ", 0), 0U) << message;
      EXPECT_NE(message.find(" legal"), std::string::npos) << message;
    }
    ++members;
  }
  EXPECT_EQ(members, 52U);
}

TEST(Record, RangesAreNamed) {
  const struct {
    const char* member;
    nlohmann::json value;
    const char* message;
  } cases[] = {
      {"/time", "2026-13-22T04:05:06Z",
       "time is \"2026-13-22T04:05:06Z\"; a time like \"2026-11-22T04:05:06Z\" is legal"},
      {"/tool", "a\\b", "tool is \"a\\\\b\"; a text of printable ASCII without \" and \\ is legal"},
      {"/core", 7, "core is 7; an object, {...}, is legal"},
      {"/core/midr", "0x0F",
       "core.midr is \"0x0F\"; a number of 64 bits like \"0x410fd4e0\" is legal"},
      {"/core/midr", "0x10000000000000000",
       "core.midr is \"0x10000000000000000\"; a number of 64 bits like \"0x410fd4e0\" is legal"},
      {"/core/vector", 512, "core.vector is 512; a whole number from 0 to 256 is legal"},
      {"/problem/n", 0, "problem.n is 0; a whole number from 1 is legal"},
      {"/problem/k", 2.5, "problem.k is 2.5; a whole number from 1 is legal"},
      {"/problem/scales", "f64",
       "problem.scales is \"f64\"; \"\", \"f32\", \"f16\", \"bf16\" are legal"},
      {"/problem/scales", "",
       "problem.scales is \"\" and problem.block 32; both, or neither (\"\", "
       "0), are legal"},
      {"/regime", "cold", "regime is \"cold\"; \"streamed\", \"hot\" are legal"},
      {"/measured_n", 4097, "measured_n is 4097; a whole number from 1 to 4096 is legal"},
      {"/ran/order", "", "ran.order is \"\"; \"columns\", \"rows\" are legal"},
      {"/ran/decodes", "", "ran.decodes is \"\"; \"yes\", \"no\" are legal"},
      {"/outcome", "fine",
       "outcome is \"fine\"; \"ok\", \"wrong\", \"crash\", \"timeout\" are legal"},
      {"/ns/p20", 1300.0,
       "ns.least is 1190.1, ns.p20 1300, ns.median 1234.5; none above the next one is legal"},
      {"/ns/least", 0, "ns.least is 0; where outcome is \"ok\", numbers above 0 are legal"},
      {"/ns/samples",
       {1.0, -1.0},
       "ns.samples is [1.0,-1.0]; a list of at most 64 numbers of at least 0 is legal"},
      {"/ns/samples", std::vector<int>(65, 1),
       "ns.samples is [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1...; a list of at most 64 numbers of "
       "at least 0 is legal"},
      {"/ratio/low", 1.06,
       "ratio.low is 1.06, ratio.median 1.05, ratio.high 1.09; where ratio.rounds is above 0, "
       "numbers above 0, none above the next one, are legal"},
      {"/ratio/high", 1.04,
       "ratio.low is 1.01, ratio.median 1.05, ratio.high 1.04; where ratio.rounds is above 0, "
       "numbers above 0, none above the next one, are legal"},
      {"/detail", std::string(201, 'x'),
       "detail is \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...; a text without control characters, "
       "at most 200 bytes, is legal"},
  };
  for (const auto& c : cases) EXPECT_EQ(what(with(c.member, c.value)), c.message);
}

TEST(Record, MembersOfNewerToolsAreLegal) {
  auto json = nlohmann::json::parse(unsigned_part(to_line(sample_record())) + "}");
  json["thermal"] = {{"zone", 3}};
  json["core"]["pipes"] = 4;
  const std::string text = json.dump();
  EXPECT_EQ(from_line(signed_line(text.substr(0, text.size() - 1))).core.mhz, 2914U);
}

TEST(Record, NumbersThatAreNoneAreNotWritten) {
  const double nan = std::nan("");
  const double infinite = std::numeric_limits<double>::infinity();
  const std::function<double&(Record&)> numbers[] = {
      [](Record& r) -> double& { return r.ns.median; },
      [](Record& r) -> double& { return r.ns.samples[1]; },
      [](Record& r) -> double& { return r.ratio.high; },
      [](Record& r) -> double& { return r.ghz; },
  };
  for (const auto& number : numbers) {
    for (const double wrong : {nan, infinite, -1.0}) {
      Record record = sample_record();
      number(record) = wrong;
      EXPECT_NE(what(record).find(" legal"), std::string::npos) << what(record);
    }
  }
  Record record = sample_record();
  record.problem.m = 0;
  EXPECT_EQ(what(record), "problem.m is 0; a whole number from 1 is legal");
}

TEST(Record, SamplesAreThinnedEvenly) {
  Record record = sample_record();
  record.ns.samples.clear();
  for (int i = 0; i < 6400; ++i) record.ns.samples.push_back(i);
  const std::vector<double> kept = from_line(to_line(record)).ns.samples;
  ASSERT_EQ(kept.size(), 64U);
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(kept[i], 100.0 * static_cast<double>(i));
}

TEST(Record, LongestLineFits) {
  Record record = sample_record();
  const std::string quotes(1000, '"');
  record.device = record.core.name = record.detail = quotes;
  const std::string word(200, 'w');
  record.tool = record.core.features = record.problem.family = word;
  record.ran.kernel = record.ran.isa = record.ran.compiler = record.baseline = word;
  for (size_t* number :
       {&record.core.family, &record.core.model, &record.core.stepping, &record.core.mhz,
        &record.core.capacity, &record.core.l1, &record.core.l2, &record.core.l3, &record.problem.n,
        &record.problem.k, &record.problem.block, &record.problem.m, &record.threads,
        &record.measured_n, &record.ran.n_block, &record.ran.m_block, &record.ran.prefetch,
        &record.ratio.rounds, &record.dropped}) {
    *number = SIZE_MAX;
  }
  record.core.midr = record.ran.hash = record.ran.layout = UINT64_MAX;
  record.ns.samples.assign(64, 1.2345678901234567e-300);
  record.ns.least = record.ns.p20 = record.ns.median = 1.2345678901234567e-300;
  record.ratio.low = record.ratio.median = record.ratio.high = 1.2345678901234567e-300;
  record.ghz = 1.2345678901234567e-300;
  record.outcome = Outcome::timeout;
  const std::string line = to_line(record);
  EXPECT_LE(line.size(), 4096U);
  const Record back = from_line(line);
  EXPECT_EQ(back.detail, std::string(200, '"'));
  EXPECT_LT(back.ns.samples.size(), 64U);
}

TEST(Record, LabelsOfOthersAreMadeLegal) {
  Record record = sample_record();
  record.device = "a\nb\xff" + std::string(196, 'x') + "\xc3\xa9";
  const std::string device = from_line(to_line(record)).device;
  EXPECT_EQ(device.substr(0, 6), "a b\xef\xbf\xbd");
  EXPECT_EQ(device.size(), 200U);
  record.device = std::string(199, 'x') + "\xc3\xa9";
  EXPECT_EQ(from_line(to_line(record)).device, std::string(199, 'x'));
}

// Of older tools, too: they decoded nothing.
TEST(Record, WhetherWeightsWereDecodedIsLeftOutWhereNothingDecodesThem) {
  Record record = sample_record();
  EXPECT_NE(to_line(record).find("\"decodes\":\"no\""), std::string::npos);
  record.ran.decodes = "";
  const std::string line = to_line(record);
  EXPECT_EQ(line.find("decodes"), std::string::npos);
  EXPECT_EQ(from_line(line).ran.decodes, "");
}

TEST(Identity, TellsConfigurationsApart) {
  const Configuration base = sample_record().ran;
  EXPECT_EQ(identity(base).size(), 16U);
  EXPECT_EQ(identity(base), identity(sample_record().ran));
  const std::function<void(Configuration&)> changes[] = {
      [](Configuration& c) { c.kernel += "x"; }, [](Configuration& c) { ++c.hash; },
      [](Configuration& c) { c.isa += "x"; },    [](Configuration& c) { ++c.layout; },
      [](Configuration& c) { c.compiler = ""; }, [](Configuration& c) { ++c.n_block; },
      [](Configuration& c) { ++c.m_block; },     [](Configuration& c) { c.order = "columns"; },
      [](Configuration& c) { c.prefetch = 0; },  [](Configuration& c) { c.decodes = "yes"; },
  };
  for (const auto& change : changes) {
    Configuration other = base;
    change(other);
    EXPECT_NE(identity(other), identity(base));
  }
}

TEST(Identity, IsOfTheKindOfCore) {
  const Core base = sample_record().core;
  Core same = base;
  same.name = "another label";
  same.midr ^= 1;  // revision
  same.mhz += 50;
  EXPECT_EQ(identity(same), identity(base));
  const std::function<void(Core&)> changes[] = {
      [](Core& c) { c.midr ^= 0x10; }, [](Core& c) { ++c.family; },
      [](Core& c) { ++c.model; },      [](Core& c) { ++c.stepping; },
      [](Core& c) { c.mhz += 600; },   [](Core& c) { c.capacity = 800; },
      [](Core& c) { c.l1 *= 2; },      [](Core& c) { c.l2 *= 2; },
      [](Core& c) { c.l3 *= 2; },      [](Core& c) { c.features = "neon"; },
      [](Core& c) { c.vector = 32; },  [](Core& c) { c.streaming = 64; },
  };
  for (const auto& change : changes) {
    Core other = base;
    change(other);
    EXPECT_NE(identity(other), identity(base));
  }
}

}  // namespace
}  // namespace tw::tuner::test
