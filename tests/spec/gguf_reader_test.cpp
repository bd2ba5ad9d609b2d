#include "spec/gguf_reader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <regex>
#include <sstream>

#include "folder.h"
#include "gguf_bytes.h"
#include "spec/gguf_types.h"

namespace tw::gguf_reader_test {
namespace {

/// What `read` ends with, from its place on; "" if it reads a model.
template <typename Read>
std::string error_by(Read&& read) {
  try {
    read();
  } catch (const GgufError& error) {
    const std::string what = error.what();
    // One line, with its place.
    EXPECT_TRUE(std::regex_match(what, std::regex(".+: byte [0-9]+: .+"))) << what;
    return what.substr(what.find(": byte ") + 2);
  }
  return "";
}

std::string error_of(const std::filesystem::path& file) {
  return error_by([&] { (void)read_gguf(file); });
}

std::string error_of(const std::string& bytes) {
  std::istringstream stream(bytes);
  return error_by([&] { (void)read_gguf(stream, "m.gguf"); });
}

std::string with_number(std::string bytes, const GgufBytes::Claim& claim, uint64_t value) {
  for (size_t i = 0; i < claim.bytes; ++i) {
    bytes[claim.offset + i] = static_cast<char>(value >> 8 * i & 255);
  }
  return bytes;
}

uint64_t number_at(const std::string& bytes, const GgufBytes::Claim& claim) {
  uint64_t value = 0;
  for (size_t i = 0; i < claim.bytes; ++i) {
    value |= uint64_t{static_cast<unsigned char>(bytes[claim.offset + i])} << 8 * i;
  }
  return value;
}

TEST(GgufReader, ReadsAModel) {
  const Folder folder;
  const GgufModel model = read_gguf(folder.write("m.gguf", small_gguf().bytes()));
  EXPECT_EQ(model.architecture, "llama");
  EXPECT_EQ(model.name, "Small one");
  EXPECT_EQ(model.experts_used, 2U);
  ASSERT_EQ(model.tensors.size(), 5U);
  EXPECT_EQ(model.tensors[0].sizes, std::vector<uint64_t>{32});
  EXPECT_EQ(model.tensors[3].name, "blk.1.ffn_up_exps.weight");
  EXPECT_EQ(model.tensors[3].sizes, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(gguf_type_name(model.tensors[1].type), "Q4_0");
  EXPECT_EQ(gguf_type_name(99), "type 99");
}

TEST(GgufReader, ReadsVersions2And3) {
  EXPECT_EQ(error_of(GgufBytes(2).counts(0, 0).bytes()), "");
  EXPECT_EQ(error_of(GgufBytes(3).counts(0, 0).bytes()), "");
  EXPECT_EQ(error_of(GgufBytes(1).counts(0, 0).bytes()), "byte 4: version 1; 2 and 3 are legal");
  EXPECT_EQ(error_of(GgufBytes(0x03000000).counts(0, 0).bytes()),
            "byte 4: a big-endian file; little-endian ones are legal");
}

TEST(GgufReader, RefusesWhatIsNoModel) {
  const Folder folder;
  const std::string foreign = "byte 0: not a GGUF file: those begin with the letters GGUF";
  EXPECT_EQ(error_of(std::string()), foreign);
  EXPECT_EQ(error_of(std::string("GGU")), foreign);
  EXPECT_EQ(error_of(std::string("a text of some length")), foreign);
  EXPECT_EQ(error_of(folder.path() / "none"), "byte 0: not a file that can be read");
  EXPECT_EQ(error_of(folder.path()), "byte 0: not a file that can be read");
  EXPECT_EQ(error_of(std::filesystem::path("/dev/zero")), "byte 0: not a file that can be read");
}

TEST(GgufReader, NoticesEveryTruncation) {
  const std::string whole = small_gguf().bytes();
  EXPECT_EQ(error_of(whole), "");
  // The last values are those of no tensor.
  for (size_t length = 0; length < whole.size() - 32; ++length) {
    EXPECT_NE(error_of(whole.substr(0, length)), "") << length;
  }
}

TEST(GgufReader, SurvivesEveryCountChanged) {
  const GgufBytes file = small_gguf();
  ASSERT_EQ(file.claims().size(), 35U);
  for (const GgufBytes::Claim& claim : file.claims()) {
    const uint64_t real = number_at(file.bytes(), claim);
    const uint64_t most = claim.bytes == 8 ? UINT64_MAX : UINT32_MAX;
    for (const uint64_t value : {most, most / 2, most / 2 + 1, most / 8, most / 24 + 1, most - 7}) {
      EXPECT_NE(error_of(with_number(file.bytes(), claim, value)), "")
          << claim.offset << " " << value;
    }
    for (const uint64_t value : {uint64_t{0}, real - 1, real + 1, real + 8, real ^ 64, real * 2}) {
      (void)error_of(with_number(file.bytes(), claim, value));
    }
  }
}

TEST(GgufReader, SurvivesEveryByteChanged) {
  const std::string whole = small_gguf().bytes();
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ flip);
      (void)error_of(bytes);
    }
  }
}

TEST(GgufReader, SaysWhatIsWrong) {
  const auto pair = [] { return GgufBytes().counts(0, 1); };
  const auto tensor = [] { return GgufBytes().counts(1, 0); };
  EXPECT_EQ(error_of(GgufBytes().counts(uint64_t{1} << 40, 0).bytes()),
            "byte 8: 1099511627776 tensors; at most 1048576 are legal");
  EXPECT_EQ(error_of(GgufBytes().counts(0, 70000).bytes()),
            "byte 16: 70000 pairs of metadata; at most 65536 are legal");
  EXPECT_EQ(error_of(pair().number(90, 8).bytes()),
            "byte 32: a metadata key needs 90 bytes, and the file ends 0 bytes later");
  EXPECT_EQ(error_of(pair().text("k").number(13, 4).bytes()),
            "byte 33: the value of 'k' is of type 13; 0 to 12 are legal");
  EXPECT_EQ(
      error_of(pair().text("k").number(9, 4).number(11, 4).number(UINT64_MAX / 4, 8).bytes()),
      "byte 37: the value of 'k' has 4611686018427387903 elements of 8 bytes, and the file is "
      "49 bytes long");
  EXPECT_EQ(error_of(GgufBytes().counts(0, 2).number_pair("k", 1).number_pair("k", 2).bytes()),
            "byte 41: metadata key 'k' for the second time");
  EXPECT_EQ(error_of(pair().number_pair("general.alignment", 12).bytes()),
            "byte 53: the value of 'general.alignment' is 12; multiples of 8 are legal");
  EXPECT_EQ(error_of(pair().number_pair("split.count", 3).bytes()),
            "byte 47: the file is one of 3 parts of a model; the whole model in one file is legal");
  EXPECT_EQ(error_of(tensor().tensor("t", {}, 0).bytes()),
            "byte 33: 0 dimensions of tensor 't'; 1 to 4 are legal");
  EXPECT_EQ(error_of(tensor().tensor("t\n", {8, 0}, 0).bytes()),
            "byte 46: a size of tensor 't?' is 0; 1 to 1099511627776 are legal");
  EXPECT_EQ(error_of(tensor().tensor("t", {33, 2}, 8).values(80).bytes()),
            "byte 24: tensor 't' of Q8_0 has rows of 33 values; whole blocks of 32 are legal");
  EXPECT_EQ(error_of(tensor().tensor("t", {32, 2}, 8, 20).values(80).bytes()),
            "byte 24: tensor 't' of Q8_0 has 68 bytes at offset 20 of the values, and the file has "
            "80 bytes of values");
  EXPECT_EQ(error_of(GgufBytes().counts(2, 0).tensor("t", {8}, 0).tensor("t", {8}, 0).bytes()),
            "byte 57: tensor 't' for the second time");
}

TEST(GgufReader, ArraysInArraysEnd) {
  GgufBytes file;
  file.counts(0, 1).text("k").number(9, 4);
  for (int level = 0; level < 1000; ++level) file.number(9, 4).number(1, 8);
  EXPECT_EQ(error_of(file.bytes()),
            "byte 85: the value of 'k' has arrays in arrays 5 deep; 4 are legal");
}

// Sparse, so that it takes no room; no claim in it may take the time or memory of its size.
TEST(GgufReader, HugeFilesTakeNoTime) {
  const Folder folder;
  GgufBytes texts;
  texts.counts(0, 1).text("k").number(9, 4).number(8, 4).number(uint64_t{1} << 35, 8);
  GgufBytes numbers;
  numbers.counts(0, 1).text("k").number(9, 4).number(10, 4).number(uint64_t{1} << 36, 8);
  GgufBytes tensors;
  tensors.counts(1 << 20, 0);
  for (const GgufBytes* start : {&texts, &numbers, &tensors}) {
    const auto file = folder.write("huge.gguf", start->bytes());
    std::filesystem::resize_file(file, uint64_t{1} << 40);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_NE(error_of(file), "");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  }
}

}  // namespace
}  // namespace tw::gguf_reader_test
