// The tables that are shipped: each loads, and what they name exists.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "schedule/cost.h"
#include "spec/core_reader.h"
#include "spec/isa_reader.h"
#include "spec/spec_reader.h"
#include "spec/workload_reader.h"

namespace tw {
namespace {

const std::filesystem::path source_dir = TILEWRIGHT_SOURCE_DIR;
const std::filesystem::path templates_dir = source_dir / "templates";

TEST(Templates, EachInstructionTableLoads) {
  IsaLibrary isas(templates_dir);
  const std::vector<std::string> names = isas.known();
  ASSERT_GE(names.size(), 3U);
  for (const std::string& name : names) {
    const Isa& isa = isas.get(name);
    EXPECT_EQ(isa.name, name);
    EXPECT_FALSE(isa.rows.empty()) << name;
    EXPECT_EQ(&isas.get(name), &isa);
  }
}

/// Units of outer products execute nothing else.
bool executes(const CoreModel& core, const Isa& isa) {
  const bool outer = std::any_of(isa.rows.begin(), isa.rows.end(), [](const Row& row) {
    const auto& classes = row.issue_classes;
    return std::find(classes.begin(), classes.end(), "outer") != classes.end();
  });
  return core.classes.contains("outer") == outer;
}

TEST(Templates, CoresHaveTheClassesOfWhatTheyExecute) {
  IsaLibrary isas(templates_dir);
  const std::vector<std::string> cores = yaml_names(templates_dir / "core");
  ASSERT_FALSE(cores.empty());
  for (const std::string& core_name : cores) {
    const CoreModel core = read_core(templates_dir, core_name);
    for (const std::string& isa_name : isas.known()) {
      const Isa& isa = isas.get(isa_name);
      if (!executes(core, isa)) continue;
      EXPECT_EQ(missing_class(core, isa), "") << core_name << ", " << isa_name;
    }
  }
  EXPECT_EQ(missing_class(read_core(templates_dir, "neoverse-n2"), isas.get("sme")), "mode");
}

/// Classes that rows have, kinds of others ("convert.half") among them.
std::set<std::string> classes_of_rows() {
  IsaLibrary isas(templates_dir);
  std::set<std::string> all;
  for (const std::string& name : isas.known()) {
    for (const Row& row : isas.get(name).rows) {
      all.insert(row.issue_classes.begin(), row.issue_classes.end());
    }
  }
  return all;
}

TEST(Templates, CoresHaveTheSameClasses) {
  const std::set<std::string> of_rows = classes_of_rows();
  std::set<std::string> of_cores;
  const CoreModel generic = read_core(templates_dir, "generic");
  for (const std::string& name : yaml_names(templates_dir / "core")) {
    const CoreModel core = read_core(templates_dir, name);
    if (core.classes.contains("outer")) continue;
    for (const auto& [issue_class, unused] : generic.classes) {
      if (issue_class.find('.') != std::string::npos) continue;
      EXPECT_TRUE(core.classes.contains(issue_class)) << name << " lacks " << issue_class;
    }
    for (const auto& [issue_class, unused] : core.classes) {
      const bool is_kind = issue_class.find('.') != std::string::npos;
      EXPECT_TRUE(is_kind ? of_rows.contains(issue_class) : generic.classes.contains(issue_class))
          << name << " has " << issue_class << ", which no row is";
      of_cores.insert(issue_class);
    }
  }
  for (const std::string& issue_class : of_rows) {
    if (issue_class.find('.') == std::string::npos) continue;
    EXPECT_TRUE(of_cores.contains(issue_class)) << "no core tells apart " << issue_class;
  }
}

TEST(Templates, DefaultCoresExist) {
  IsaLibrary isas(templates_dir);
  for (const std::string& name : isas.known()) {
    const std::string& core = isas.get(name).default_core;
    if (core.empty()) continue;
    EXPECT_EQ(read_core(templates_dir, core).name, core) << name;
  }
}

TEST(Templates, EachSpecLoads) {
  IsaLibrary isas(templates_dir);
  size_t specs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir / "specs")) {
    if (entry.path().extension() != ".yaml") continue;
    EXPECT_FALSE(read_spec(entry.path(), isas).empty()) << entry.path();
    ++specs;
  }
  EXPECT_GE(specs, 1U);
}

TEST(Templates, EachWorkloadLoads) {
  size_t workloads = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir / "specs/workloads")) {
    const Workload workload = read_workload(entry.path());
    EXPECT_EQ(workload.name, entry.path().stem());
    ++workloads;
  }
  EXPECT_GE(workloads, 1U);
}

}  // namespace
}  // namespace tw
