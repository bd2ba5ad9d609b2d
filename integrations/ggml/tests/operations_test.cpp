// The package's own tests of single operations, compared with its CPU backend.
#include <cstdlib>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "llama.h"
#include "support/environment.h"

namespace tw::llama {
namespace {

size_t count(const std::string& text, const std::string& pattern) {
  const std::regex wanted(pattern);
  return static_cast<size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), wanted), {}));
}

const std::vector<std::string> types = {
    "q4_0",   "q4_1",   "q5_0",    "q5_1",  "q8_0",   "q4_K",    "q5_K",  "q6_K", "q2_K", "q3_K",
    "iq4_nl", "iq4_xs", "mxfp4",   "nvfp4", "tq2_0",  "tq1_0",   "q2_0",  "bf16", "f16",  "f32",
    "q1_0",   "iq3_s",  "iq3_xxs", "iq2_s", "iq2_xs", "iq2_xxs", "iq1_m", "iq1_s"};

bool is_emulated() {
  return std::getenv("QEMU_CPU") != nullptr;
}

/// The package's program makes rows of these by tables of neighbors of 512 or more rows of a grid,
/// which take it half a minute under QEMU, in each process that has any.
bool is_long_type(const std::string& type) {
  return type == "iq2_s" || type == "iq2_xs" || type == "iq1_m" || type == "iq1_s";
}

std::vector<std::string> types_here() {
  std::vector<std::string> here;
  for (const std::string& type : types) {
    if (!is_emulated() || test::is_long() || !is_long_type(type)) here.push_back(type);
  }
  return here;
}

std::string any_type() {
  std::string any;
  for (const std::string& type : types_here()) any += (any.empty() ? "(" : "|") + type;
  return any + ")";
}

class Operations : public LlamaTest, public testing::WithParamInterface<const char*> {};

/// Counts cases of each type among what test-backend-ops said.
void expect_right(const std::string& operation, const char* type_is, const Finished& finished,
                  size_t fewest) {
  const std::string said = finished.output + finished.messages;
  EXPECT_EQ(finished.status, 0) << said;
  EXPECT_EQ(count(said, "FAIL"), 0U) << said;
  for (const std::string& type : types_here()) {
    const size_t right = count(said, type_is + type + ",[^\n]*OK");
    std::cout << operation << " " << type << ": " << right << " right, "
              << count(said, type_is + type + ",[^\n]*not supported") << " not claimed\n";
    EXPECT_GE(right, fewest) << said;
  }
}

TEST_P(Operations, AllThatWeClaimAreRight) {
  // The package has cases of minutes too; QEMU is slow. Of experts, one a type is small enough
  // then, and of many types there are only three.
  const bool emulated = is_emulated();
  const std::string digits = emulated ? "[0-9]{1,2}" : "[0-9]{1,3}";
  // Of matrices one row, which has kernels of its own, two, and whole tiles.
  const bool few = emulated && !test::is_long() && GetParam() == std::string("MUL_MAT");
  const bool of_experts = !emulated && !test::is_long() && GetParam() == std::string("MUL_MAT_ID");
  const Finished finished = ours(std::string("test-backend-ops -b tilewright -o ") + GetParam() +
                                     " -p 'type_a=" + any_type() +
                                     ",type_b=f32,(n_mats=[0-9]{1,2},.*)?m=" + digits + ",n=" +
                                     (few          ? "(1|2|16)"
                                      : of_experts ? "(1|32)"
                                                   : digits) +
                                     ",'",
                                 {{"TILEWRIGHT_GGML_TEST", "1"}, {"TILEWRIGHT_BF16", "1"}});
  expect_right(GetParam(), "type_a=", finished, emulated ? 1 : of_experts ? 2 : 3);
}

// The reference's rows are ggml's own, so that the same bits are equal.
using Lookups = LlamaTest;
TEST_F(Lookups, AllThatWeClaimAreRight) {
  expect_right("GET_ROWS", "type=",
               ours("test-backend-ops -b tilewright -o GET_ROWS -p 'type=" + any_type() +
                        ",n=[0-9]+,m=[0-9]{1,3},r=[0-9]+,be1=[0-9]{1,2},'",
                    {{"TILEWRIGHT_GGML_TEST", "1"}}),
               3);
}

// The package has thousands of cases; these are of every size of heads that models have.
using Attentions = LlamaTest;
TEST_F(Attentions, AllThatWeClaimAreRight) {
  const bool emulated = is_emulated();
  const std::string shapes = emulated ? "hsk=64,hsv=64,.*kv=113,nb=3,"
                                      : "hsk=(40|64|72|96|128|576),.*kv=(113|512),nb=(1|3),";
  const Finished finished = ours("test-backend-ops -b tilewright -o FLASH_ATTN_EXT -p '" + shapes +
                                     ".*type_K=(f16|q8_0),type_V=(f16|q8_0),'",
                                 {{"TILEWRIGHT_GGML_TEST", "1"}});
  const std::string said = finished.output + finished.messages;
  EXPECT_EQ(finished.status, 0) << said;
  EXPECT_EQ(count(said, "FAIL"), 0U) << said;
  for (const std::string type : {"f16", "q8_0"}) {
    const std::string its = "type_K=" + type + ",type_V=" + type + ",[^\n]*";
    const size_t right = count(said, its + "OK");
    std::cout << "FLASH_ATTN_EXT " << type << ": " << right << " right\n";
    EXPECT_GE(right, emulated ? 8U : 100U) << said;
    EXPECT_EQ(count(said, its + "not supported"), 0U) << said;
  }
}

struct RowsCase {
  const char* name;
  const char* shapes;                    ///< of the package's cases that are done soon
  std::map<std::string, size_t> fewest;  ///< of each operation
};

class Rows : public LlamaTest, public testing::WithParamInterface<RowsCase> {};

/// Several operations at a time: the package's program makes the cases of all first, for seconds
/// under QEMU.
TEST_P(Rows, AllThatWeClaimAreRight) {
  std::string operations;
  for (const auto& [operation, fewest] : GetParam().fewest) {
    operations += (operations.empty() ? "" : ",") + operation;
  }
  const Finished finished =
      ours("test-backend-ops -b tilewright -o " + operations + " -p '" + GetParam().shapes + "'",
           {{"TILEWRIGHT_GGML_TEST", "1"}});
  const std::string said = finished.output + finished.messages;
  EXPECT_EQ(finished.status, 0) << said;
  EXPECT_EQ(count(said, "FAIL"), 0U) << said;
  for (const auto& [operation, fewest] : GetParam().fewest) {
    const size_t right = count(said, operation + "[(][^\n]*OK");
    std::cout << operation << ": " << right << " right\n";
    EXPECT_GE(right, fewest) << operation << ":\n" << said;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, Rows,
    testing::Values(
        RowsCase{"AnyShape",
                 "",
                 {{"RMS_NORM", 40}, {"SCALE", 4}, {"SWIGLU", 8}, {"SET_ROWS", 20}, {"CPY", 5}}},
        RowsCase{"SmallShapes",
                 "ne=.[0-9]{1,4},[0-9]{1,2},|ne_a=.[0-9]+,[0-9]+,[24],1",
                 {{"ADD", 20}, {"MUL", 15}, {"ROPE", 60}, {"CONT", 2}}}),
    [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(Of, Operations, testing::Values("MUL_MAT", "MUL_MAT_ID"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tw::llama
