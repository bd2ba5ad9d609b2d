#include "spec/yaml_reader.h"

#include <gtest/gtest.h>

#include <functional>

#include "folder.h"

namespace tw::yaml_reader_test {
namespace {

/// The error of reading `text` and then asking it something.
std::string error(
    const std::string& text,
    const std::function<void(const YamlNode&)>& ask = [](const YamlNode&) {}) {
  const Folder folder;
  const auto file = folder.write("a.yaml", text);
  return folder.error([&] { ask(read_yaml(file)); });
}

TEST(YamlReader, ValuesKnowWhereTheyStand) {
  const Folder folder;
  const YamlNode root = read_yaml(folder.write("a.yaml", "a: 1\nb:\n  - {c: [x, 16+4vl]}\n"));
  EXPECT_EQ(root.at("a").integer(), 1);
  const YamlNode& list = root.at("b").items()[0].at("c");
  EXPECT_EQ(list.items()[1].length(), Length(16, 4));
  EXPECT_EQ(list.items()[1].where().line, 3);
  EXPECT_EQ(list.items()[1].where().column, 13);
  EXPECT_EQ(root.find("d"), nullptr);
  EXPECT_EQ(root.at("a").texts(), std::vector<std::string>{"1"});
}

TEST(YamlReader, RefusesWhatIsNotYaml) {
  EXPECT_EQ(error("a: [1, 2\nb: 3\n"),
            "a.yaml:2:2: not valid YAML: end of sequence flow not found");
  EXPECT_EQ(error("a: \"x\n"), "a.yaml:1:6: not valid YAML: illegal EOF in scalar");
  EXPECT_EQ(error(""), "a.yaml:1:1: the file is empty");
  EXPECT_EQ(error("- 1\n"), "a.yaml:1:1: the file must be a map, found a list");
  EXPECT_EQ(error("a: 1\n---\nb: 2\n"), "a.yaml:3:1: the file has a second document; one is legal");
  EXPECT_EQ(error("a: &x [1]\nb: *x\n"),
            "a.yaml:2:4: aliases (*name) are not supported; write the value again");
  EXPECT_EQ(error("[1]: 2\n"), "a.yaml:1:1: a key must be a text");
}

// Files of a megabyte and a thousand levels end in an error, not in a crash.
TEST(YamlReader, RefusesHugeAndDeepFiles) {
  EXPECT_EQ(error("a: " + std::string(1 << 20, 'x')),
            "a.yaml:1:1: the file is too long: 262144 bytes are legal");
  EXPECT_EQ(error("a: " + std::string(1000, '[') + std::string(1000, ']')),
            "a.yaml:1:35: lists and maps in one another: 32 levels are legal, here is one more");
  std::string deep;
  for (size_t level = 0; level < 1000; ++level) deep += "- ";
  EXPECT_EQ(error(deep),
            "a.yaml:1:65: lists and maps in one another: 32 levels are legal, here is one more");
  std::string wide;
  for (int i = 0; i < 25000; ++i) wide += std::to_string(i) + ": 1\n";
  EXPECT_EQ(error(wide), "");
}

TEST(YamlReader, MessagesHaveOneLineOfSomeLength) {
  const auto ask = [](const YamlNode& root) { (void)root.at("a").integer(); };
  EXPECT_EQ(error("a: \"1\\n\\x1b2\"\n", ask),
            "a.yaml:1:4: 'a' must be a whole number, found '1??2'");
  const std::string cut = error("a: " + std::string(100000, 'x') + "\n", ask);
  EXPECT_LT(cut.size(), 4100U);
  EXPECT_NE(cut.find("xx ... xx"), std::string::npos);
  EXPECT_EQ(error("a: \"\\\n"), "a.yaml:1:7: not valid YAML: unknown escape character: ?");
}

TEST(YamlReader, RefusesUnreadableFiles) {
  const Folder folder;
  EXPECT_EQ(folder.error([&] { read_yaml(folder.path() / "none.yaml"); }),
            "none.yaml:1:1: the file cannot be read");
  std::filesystem::create_directory(folder.path() / "d.yaml");
  EXPECT_EQ(folder.error([&] { read_yaml(folder.path() / "d.yaml"); }),
            "d.yaml:1:1: the file cannot be read");
}

TEST(YamlReader, RefusesDuplicateKeys) {
  EXPECT_EQ(error("a: 1\nb: {c: 1, d: 2, c: 3}\n"), "a.yaml:2:17: duplicate key 'c'; first at 2:5");
}

TEST(YamlReader, RefusesUnknownKeysAndNamesTheNearest) {
  const auto ask = [](const YamlNode& root) { root.expect_keys({"isa", "technique", "tile"}); };
  EXPECT_EQ(error("isa: x\n  \ntecnique: dot\n", ask),
            "a.yaml:3:1: unknown key 'tecnique'; did you mean 'technique'? known keys: isa, "
            "technique, tile");
  EXPECT_EQ(error("telephone: x\n", ask),
            "a.yaml:1:1: unknown key 'telephone'; known keys: isa, technique, tile");
}

TEST(YamlReader, RefusesMissingKeys) {
  EXPECT_EQ(error("a: {b: 1}\n", [](const YamlNode& root) { (void)root.at("c"); }),
            "a.yaml:1:1: key 'c' is missing");
  EXPECT_EQ(error("a: {b: 1}\n", [](const YamlNode& root) { (void)root.at("a").at("c"); }),
            "a.yaml:1:4: key 'c' is missing in 'a'");
}

TEST(YamlReader, RefusesWrongTypes) {
  const auto ask = [](auto what) {
    return [what](const YamlNode& root) { (void)(root.at("a").*what)(); };
  };
  EXPECT_EQ(error("a: x1\n", ask(&YamlNode::integer)),
            "a.yaml:1:4: 'a' must be a whole number, found 'x1'");
  EXPECT_EQ(error("a: [1]\n", ask(&YamlNode::integer)),
            "a.yaml:1:4: 'a' must be a whole number, found a list");
  EXPECT_EQ(error("a: 99999999999999999999\n", ask(&YamlNode::integer)),
            "a.yaml:1:4: 'a' must be a whole number, found '99999999999999999999'");
  EXPECT_EQ(error("a: 0\n", ask(&YamlNode::positive)),
            "a.yaml:1:4: 'a' must be a whole number above 0, found '0'");
  EXPECT_EQ(error("a: 1.5.2\n", ask(&YamlNode::number)),
            "a.yaml:1:4: 'a' must be a number, found '1.5.2'");
  EXPECT_EQ(error("a: yes\n", ask(&YamlNode::boolean)),
            "a.yaml:1:4: 'a' must be true or false, found 'yes'");
  EXPECT_EQ(error("a: 4sv\n", ask(&YamlNode::length)),
            "a.yaml:1:4: 'a' must be a length such as 8, 4vl or 16+4vl, found '4sv'");
  EXPECT_EQ(error("a: {b: 1}\n", ask(&YamlNode::text)),
            "a.yaml:1:4: 'a' must be a text, found a map");
  EXPECT_EQ(error("a:\nb: 1\n", ask(&YamlNode::text)),
            "a.yaml:1:1: 'a' must be a text, found nothing");
  EXPECT_EQ(error("a: 1\n", ask(&YamlNode::entries)), "a.yaml:1:4: 'a' must be a map, found '1'");
  EXPECT_EQ(error("a: []\n", ask(&YamlNode::one_or_more)), "a.yaml:1:4: 'a' is an empty list");
}

TEST(YamlReader, ReadsLengths) {
  EXPECT_EQ(parse_length("64"), Length(64));
  EXPECT_EQ(parse_length("16vl"), Length(0, 16));
  EXPECT_EQ(parse_length("16+4vl+2svl"), Length(16, 4, 2));
  EXPECT_EQ(parse_length("vl"), Length(0, 1));
  for (const char* bad : {"", "+", "4x", "4vl+", "--1", "9999999999999999"}) {
    EXPECT_THROW(parse_length(bad), std::invalid_argument) << bad;
  }
}

}  // namespace
}  // namespace tw::yaml_reader_test
