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

/// Cases of the package's program, which has some of minutes and thousands of others, too.
struct Claim {
  std::string operation;
  std::string shapes;
  std::vector<std::string> types;  ///< how a case says it: "type_a=q4_0"
  size_t fewest = 0;               ///< right ones of a type
  size_t most_left = SIZE_MAX;     ///< those that we do not claim
};

std::vector<std::string> said_of(const std::string& type_is, const std::vector<std::string>& all) {
  std::vector<std::string> said;
  for (const std::string& type : all) said.push_back(type_is + type);
  return said;
}

/// QEMU is slow. Of experts, one a type is small enough then, and of many types there are only
/// three. Of matrices one row, which has kernels of its own, two, and whole tiles.
std::vector<Claim> claims() {
  const bool emulated = is_emulated();
  const std::string digits = emulated ? "[0-9]{1,2}" : "[0-9]{1,3}";
  const bool few = !test::is_long();
  const std::string by_floats = "type_a=" + any_type() + ",type_b=f32,";
  const std::vector<std::string> of_caches = {"f32", "f16", "bf16", "q8_0", "q4_0"};
  std::vector<std::string> caches;
  for (const std::string& type : of_caches) caches.push_back("type_K=" + type + ",type_V=" + type);
  return {
      {"MUL_MAT", by_floats + "m=" + digits + ",n=" + (emulated && few ? "(1|2|16)" : digits) + ",",
       said_of("type_a=", types_here()), emulated ? 1U : 3U},
      {"MUL_MAT_ID",
       by_floats + "n_mats=[0-9]{1,2},.*m=" + digits +
           ",n=" + (!emulated && few ? "(1|32)" : digits) + ",",
       said_of("type_a=", types_here()), emulated ? 1U : 2U},
      // The reference's rows are ggml's own, so that the same bits are equal.
      {"GET_ROWS", "type=" + any_type() + ",n=[0-9]+,m=[0-9]{1,3},r=[0-9]+,be1=[0-9]{1,2},",
       said_of("type=", types_here()), 3},
      // Of every size of heads that models have.
      {"FLASH_ATTN_EXT",
       (emulated ? "hsk=64,hsv=64,.*kv=113,nb=3,"
                 : "hsk=(40|64|72|96|128|576),.*kv=(113|512),nb=(1|3),") +
           std::string(".*type_K=(b?f16|f32|q8_0|q4_0),type_V=(b?f16|f32|q8_0|q4_0),"),
       caches, emulated ? 8U : 100U, 0}};
}

/// All in one process: it makes the cases of all operations first, for seconds under QEMU, and
/// tables of neighbors as long for types that have grids.
using Operations = LlamaTest;
TEST_F(Operations, AllThatWeClaimAreRight) {
  std::string operations, shapes;
  for (const Claim& claim : claims()) {
    operations += (operations.empty() ? "" : ",") + claim.operation;
    shapes += (shapes.empty() ? "" : "|") + claim.shapes;
  }
  const Finished finished =
      ours("test-backend-ops -b tilewright -o " + operations + " -p '" + shapes + "'",
           {{"TILEWRIGHT_GGML_TEST", "1"}, {"TILEWRIGHT_BF16", "1"}});
  const std::string said = finished.output + finished.messages;
  EXPECT_EQ(finished.status, 0) << said;
  EXPECT_EQ(count(said, "FAIL"), 0U) << said;
  for (const Claim& claim : claims()) {
    for (const std::string& type : claim.types) {
      const std::string its = claim.operation + "[(][^\n]*" + type + ",[^\n]*";
      const size_t right = count(said, its + "OK"), left = count(said, its + "not supported");
      std::cout << claim.operation << " " << type << ": " << right << " right, " << left
                << " not claimed\n";
      EXPECT_GE(right, claim.fewest) << said;
      EXPECT_LE(left, claim.most_left) << said;
    }
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

}  // namespace
}  // namespace tw::llama
