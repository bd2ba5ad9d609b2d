// docs/specs.md: its examples make kernels, and it has all keys that specs have, and no others.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "spec/folder.h"
#include "support/run_command.h"

namespace tw::specs_document_test {
namespace {

std::string read_document() {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/docs/specs.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The specs that it shows, in their order: int4, depthwise, attention, blocks.
std::vector<std::string> examples() {
  const std::string text = read_document();
  const std::string begin = "```yaml\n";
  std::vector<std::string> found;
  for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    found.push_back(text.substr(at, text.find("```", at) - at));
  }
  return found;
}

Ran run(const Folder& folder, const std::string& arguments) {
  return run_command("cd '" + folder.path().string() + "' && '" TILEWRIGHT_COMMAND "' " +
                     arguments);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(SpecsDocument, ExamplesMakeKernels) {
  constexpr int kernels[] = {6, 8, 6, 16};
  const std::vector<std::string> specs = examples();
  ASSERT_EQ(specs.size(), std::size(kernels));
  for (size_t i = 0; i < specs.size(); ++i) {
    const Folder folder;
    folder.write("mine.yaml", specs[i]);
    const Ran ran = run(folder, "generate --spec mine.yaml --out out");
    EXPECT_EQ(ran.status, 0) << ran.output;
    EXPECT_TRUE(ran.output.starts_with("out: " + std::to_string(kernels[i]) + " kernels"))
        << ran.output;
  }
}

/// Adds the keys that one of the places of an example's spec may have.
void add_known_keys(const std::string& spec, const std::string& place, const std::string& with,
                    std::set<std::string>& keys) {
  const Folder folder;
  folder.write("mine.yaml", replaced(spec, place, with));
  const Ran ran = run(folder, "list --spec mine.yaml");
  std::smatch known;
  ASSERT_TRUE(std::regex_search(ran.output, known, std::regex("known keys: (.*)\n"))) << ran.output;
  const std::string list = known[1];
  const std::regex word("[a-z_]+");
  for (std::sregex_iterator key(list.begin(), list.end(), word), end; key != end; ++key) {
    keys.insert(key->str());
  }
}

TEST(SpecsDocument, HasTheKeysOfSpecsAndNoOthers) {
  const std::vector<std::string> specs = examples();
  ASSERT_EQ(specs.size(), 4U);
  std::set<std::string> keys;
  add_known_keys(specs[0], "dst: ", "zzz: 1\ndst: ", keys);
  add_known_keys(specs[0], "format: qai8dx", "zzz: 1, format: qai8dx", keys);
  add_known_keys(specs[0], "technique: dot", "zzz: 1, technique: dot", keys);
  add_known_keys(specs[0], "{m: 1", "{zzz: 1, m: 1", keys);
  add_known_keys(specs[0], "{mr: ", "{zzz: 1, mr: ", keys);
  add_known_keys(specs[0], "{prefetch: near", "{zzz: 1, prefetch: near", keys);
  add_known_keys(specs[1], "stride: ", "zzz: 1, stride: ", keys);
  add_known_keys(specs[2], "stage: ", "zzz: 1, stage: ", keys);
  add_known_keys(specs[3], "{lhs: 1", "{zzz: 1, lhs: 1", keys);
  add_known_keys(specs[3], "{length: ", "{zzz: 1, length: ", keys);
  const std::string text = read_document();
  for (const std::string& key : keys) {
    const std::regex named("[`{ ]" + key + "[`,}:]");
    EXPECT_TRUE(std::regex_search(text, named)) << "docs/specs.md does not name " << key;
  }
  const std::regex row("\n\\| `([a-z_]+)`(?:, `([a-z_]+)`)? \\|");
  for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at) {
    for (const size_t i : {1, 2}) {
      const std::string key = (*at)[i];
      EXPECT_TRUE(key.empty() || keys.contains(key)) << "no spec has a key " << key;
    }
  }
}

}  // namespace
}  // namespace tw::specs_document_test
