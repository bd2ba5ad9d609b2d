#include "spec/core_reader.h"

#include <gtest/gtest.h>

#include "folder.h"

namespace tw::core_reader_test {
namespace {

const std::string core =
    "core: c1\nwidth: 3\nin_order: true\nports: [v0, v1, l0]\nghz: 1.8\n"
    "classes:\n"
    "  dot: {latency: 4, uses: [v0 v1]}\n"
    "  load_pair: {latency: 6, uses: [2 * l0, v1]}\n"
    "  move: {latency: 0, uses: []}\n";

std::string error(const std::string& text) {
  const Folder folder;
  folder.write("core/c1.yaml", text);
  return folder.error([&] { read_core(folder.path(), "c1"); });
}

TEST(CoreReader, ReadsACore) {
  const Folder folder;
  folder.write("core/c1.yaml", core);
  const CoreModel model = read_core(folder.path(), "c1");
  EXPECT_EQ(model.name, "c1");
  EXPECT_EQ(model.width, 3);
  EXPECT_TRUE(model.in_order);
  EXPECT_DOUBLE_EQ(model.ghz, 1.8);
  EXPECT_EQ(model.ports.size(), 3U);
  EXPECT_EQ(model.classes.at("dot").latency, 4);
  EXPECT_EQ(model.classes.at("dot").uses.at(0).ports, (std::vector<int>{0, 1}));
  const IssueClass& pair = model.classes.at("load_pair");
  ASSERT_EQ(pair.uses.size(), 2U);
  EXPECT_EQ(pair.uses[0].cycles, 2);
  EXPECT_EQ(pair.uses[0].ports, std::vector<int>{2});
  EXPECT_TRUE(model.classes.at("move").uses.empty());
}

TEST(CoreReader, ReadsHowInstructionsIssue) {
  const Folder folder;
  folder.write("core/c1.yaml", "vector_bytes: 16\n" + core +
                                   "  fma: {latency: 4, late: true, uses: [v0]}\n"
                                   "  and: {latency: 1, first: true, micro_ops: 2, uses: [v0]}\n");
  const CoreModel model = read_core(folder.path(), "c1");
  EXPECT_EQ(model.vector_bytes, 16);
  EXPECT_FALSE(model.classes.at("dot").late || model.classes.at("dot").first);
  EXPECT_EQ(model.classes.at("dot").micro_ops, 1);
  EXPECT_TRUE(model.classes.at("fma").late);
  EXPECT_TRUE(model.classes.at("and").first);
  EXPECT_EQ(model.classes.at("and").micro_ops, 2);
}

TEST(CoreReader, ReadsWhoHasSuchCores) {
  const Folder folder;
  folder.write("core/c1.yaml",
               "cpus: {maker: Intel, family: 6, features: [avx512f]}\nl2_bytes: 2097152\n"
               "stream_prefetch: 3072\nrow_panels: 2\n" +
                   core);
  folder.write("core/c2.yaml", "core: c2\nextends: c1\n");
  const CoreModel model = read_core(folder.path(), "c1");
  EXPECT_EQ(model.cpus.maker, "Intel");
  EXPECT_EQ(model.cpus.family, 6);
  EXPECT_EQ(model.cpus.features, std::vector<std::string>{"avx512f"});
  EXPECT_EQ(model.l2_bytes, 2097152);
  EXPECT_EQ(model.stream_prefetch, 3072);
  EXPECT_EQ(model.row_panels, 2);
  const CoreModel heir = read_core(folder.path(), "c2");
  EXPECT_EQ(heir.cpus.maker, "") << "other processors have it, or it would be no core of its own";
  EXPECT_EQ(heir.stream_prefetch, 3072);
  const std::vector<CoreModel> known = read_known_cores(folder.path());
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known[0].name, "c1");
}

TEST(CoreReader, RefusesProcessorsThatAreNone) {
  EXPECT_EQ(error("cpus: {maker: Amd, family: 26}\n" + core),
            "core/c1.yaml:1:15: unknown maker 'Amd'; known makers: AMD, Intel");
  EXPECT_EQ(error("cpus: {maker: AMD, family: 300}\n" + core),
            "core/c1.yaml:1:28: 'family' must be at most 255");
  EXPECT_EQ(error("stream_prefetch: -1\n" + core),
            "core/c1.yaml:1:18: 'stream_prefetch' must be from 0 to 1048576 bytes");
}

TEST(CoreReader, ReadsHowFarACoreLooksAhead) {
  const Folder folder;
  folder.write("core/c1.yaml", "window: 320\nqueue: 64 * v0 v1\n" + core);
  const CoreModel model = read_core(folder.path(), "c1");
  EXPECT_EQ(model.window, 320);
  EXPECT_EQ(model.queue.cycles, 64);
  EXPECT_EQ(model.queue.ports, (std::vector<int>{0, 1}));
  EXPECT_EQ(error("window: 320\n" + core), "core/c1.yaml:1:1: key 'queue' is missing");
  EXPECT_EQ(error("window: 9999\nqueue: 64 * v0\n" + core),
            "core/c1.yaml:1:9: 'window' must be at most 4096");
}

TEST(CoreReader, ReadsWhatLowersTheClock) {
  const std::string rest = "vector_bytes: 64, multiplies: 1.2, loads: 0.4, classes: [dot]}\n";
  const Folder folder;
  folder.write("core/c1.yaml", "slow_clock: {ghz: 1.5, " + rest + core);
  const SlowClock clock = read_core(folder.path(), "c1").slow_clock;
  EXPECT_DOUBLE_EQ(clock.ghz, 1.5);
  EXPECT_EQ(clock.vector_bytes, 64);
  EXPECT_DOUBLE_EQ(clock.multiplies, 1.2);
  EXPECT_DOUBLE_EQ(clock.loads, 0.4);
  EXPECT_EQ(clock.classes, std::vector<std::string>{"dot"});
  EXPECT_EQ(error("slow_clock: {ghz: 1.8, " + rest + core),
            "core/c1.yaml:1:19: a slow clock's 'ghz' is above 0 and below the core's");
  EXPECT_EQ(error("slow_clock: {ghz: 1.5, vector_bytes: 64, multiplies: 0, loads: 1}\n" + core),
            "core/c1.yaml:1:54: 'multiplies' must be above 0");
}

TEST(CoreReader, ExtendsAnotherCore) {
  const Folder folder;
  folder.write("core/c1.yaml", core);
  folder.write("core/c2.yaml",
               "core: c2\nextends: c1\nwidth: 4\nclasses: {dot: {latency: 2, uses: [v1]}}\n");
  const CoreModel model = read_core(folder.path(), "c2");
  EXPECT_EQ(model.name, "c2");
  EXPECT_EQ(model.width, 4);
  EXPECT_TRUE(model.in_order);
  EXPECT_EQ(model.classes.at("dot").latency, 2);
  EXPECT_EQ(model.classes.at("load_pair").latency, 6);
}

TEST(CoreReader, RefusesMistakes) {
  EXPECT_EQ(error("core: c2\n"),
            "core/c1.yaml:1:7: the file is called c1.yaml, so 'core' must be c1");
  EXPECT_EQ(error("core: c1\nwidth: 2\n"), "core/c1.yaml:1:1: key 'ports' is missing");
  EXPECT_EQ(error(core + "  mul: {latency: 4, uses: [v0 v2]}\n"),
            "core/c1.yaml:10:28: unknown port 'v2'; did you mean 'v0'? known ports: v0, v1, l0");
  EXPECT_EQ(error(core + "  mul: {latency: 4, uses: [2 v0]}\n"),
            "core/c1.yaml:10:28: unknown port '2'; known ports: v0, v1, l0");
  EXPECT_EQ(error(core + "  mul: {latency: 4, uses: [2 *]}\n"),
            "core/c1.yaml:10:28: a use names the ports that can take it: \"v0 v1\"");
  EXPECT_EQ(error(core + "  mul: {latency: 400, uses: [v0]}\n"),
            "core/c1.yaml:10:18: 'latency' must be from 0 to 100 cycles");
  EXPECT_EQ(error(core + "  mul: {latency: 4}\n"),
            "core/c1.yaml:10:8: key 'uses' is missing in 'mul'");
  EXPECT_EQ(error("core: c1\nextends: c1\n"), "core/c1.yaml:2:10: 'c1' extends itself");
  EXPECT_EQ(error("core: c1\nextends: c2\n"),
            "core/c1.yaml:2:10: unknown core 'c2'; did you mean 'c1'? known cores: c1");
}

}  // namespace
}  // namespace tw::core_reader_test
