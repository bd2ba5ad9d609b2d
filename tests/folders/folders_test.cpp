// What docs/contracts.md says of the folders, held against their sources: which may include which,
// and what none of them may name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "model/format.h"
#include "model/operation.h"
#include "spec/isa_reader.h"
#include "spec/yaml_reader.h"

namespace tw::test {
namespace {

const std::filesystem::path source_dir = TILEWRIGHT_SOURCE_DIR;

/// From the top: a folder includes its own headers and those of folders behind it.
const std::vector<std::string> folders = {"command", "pipeline", "emit", "schedule",
                                          "lower",   "spec",     "ir",   "model"};

struct Source {
  std::string path;
  std::string text;  ///< without comments, but those of files()
};

/// With comments.
std::vector<Source> files(const std::filesystem::path& folder) {
  std::vector<Source> all;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir / folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path());
    std::ostringstream text;
    text << file.rdbuf();
    all.push_back({(folder / entry.path().filename()).string(), text.str()});
  }
  return all;
}

std::vector<Source> sources(const std::filesystem::path& folder) {
  static const std::regex comment("//[^\n]*");
  std::vector<Source> all = files(folder);
  for (Source& source : all) source.text = std::regex_replace(source.text, comment, "");
  return all;
}

std::vector<Source> sources(std::initializer_list<const char*> generator_folders) {
  std::vector<Source> all;
  for (const char* folder : generator_folders) {
    const std::vector<Source> some = sources(std::filesystem::path("generator") / folder);
    EXPECT_FALSE(some.empty()) << folder;
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::set<std::string> words(const std::string& text) {
  std::set<std::string> found;
  std::string word;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
    } else if (!word.empty()) {
      found.insert(std::move(word));
      word.clear();
    }
  }
  return found;
}

/// "file says 'word'", for each that does.
std::vector<std::string> mentions(const std::vector<Source>& all,
                                  const std::set<std::string>& forbidden) {
  std::vector<std::string> found;
  for (const Source& source : all) {
    for (const std::string& word : words(source.text)) {
      if (forbidden.count(word) != 0) found.push_back(source.path + " says '" + word + "'");
    }
  }
  return found;
}

using Mentions = std::vector<std::string>;

/// Of every table, with what assembly makes of it.
std::set<std::string> isas_and_instructions() {
  std::set<std::string> names;
  IsaLibrary isas(source_dir / "templates");
  for (const std::string& name : isas.known()) {
    names.insert(name);
    for (const Row& row : isas.get(name).rows) {
      for (const std::string& line : row.assembly) {
        // What is printed as a number has its text behind it.
        const size_t text = line.starts_with(".inst") ? line.find("// ") + 3 : 0;
        names.insert(line.substr(text, line.find(' ', text) - text));
      }
    }
  }
  // What also means something here: operations, registers that are no vectors, a keyword, a name.
  std::erase_if(names, [](const std::string& name) {
    return find_operation(name).has_value() || name == "scalar" || name == "and" || name == "b";
  });
  return names;
}

/// Types that other files may see, with their namespaces: those that no line indents, outside
/// namespaces without a name.
std::set<std::string> types_in(const std::string& text) {
  static const std::regex open("namespace ?([a-z:]*) \\{[^}]*");
  static const std::regex close("\\}  // namespace.*");
  static const std::regex type("(?:struct|class|enum class) (\\w+)(?: [^;].*)?");
  std::vector<std::string> names;
  std::set<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, open)) {
      if (line.starts_with("namespace tw")) names.clear();  // it is the outermost
      names.push_back(match[1]);
    } else if (std::regex_match(line, close)) {
      names.pop_back();
    } else if (std::regex_match(line, match, type) &&
               std::find(names.begin(), names.end(), "") == names.end()) {
      std::string name;
      for (const std::string& part : names) name += part + "::";
      found.insert(name + match[1].str());
    }
  }
  return found;
}

TEST(Folders, IncludeOnlyWhatIsBelow) {
  static const std::regex include("#include \"([a-z]+)/");
  const auto depth = [](const std::string& folder) {
    return std::find(folders.begin(), folders.end(), folder) - folders.begin();
  };
  for (const std::string& folder : folders) {
    for (const Source& source : sources({folder.c_str()})) {
      for (std::sregex_iterator it(source.text.begin(), source.text.end(), include), end; it != end;
           ++it) {
        const std::string included = (*it)[1];
        if (included == "tilewright") continue;  // the runtime's detection, for the command
        if (included == "tuner" && folder == "command") continue;
        EXPECT_LT(depth(included), static_cast<long>(folders.size())) << source.path;
        EXPECT_GE(depth(included), depth(folder)) << source.path << " includes " << included;
      }
    }
  }
}

TEST(Folders, RuntimeKnowsNothingOfTheGenerator) {
  for (const Source& source : sources(std::filesystem::path("runtime/src"))) {
    for (const std::string& folder : folders) {
      EXPECT_EQ(source.text.find("#include \"" + folder + "/"), std::string::npos) << source.path;
    }
  }
}

TEST(Folders, TunerKnowsTheRuntimeOnly) {
  static const std::regex include("#include \"([a-z]+)/");
  for (const Source& source : sources(std::filesystem::path("tuner"))) {
    for (std::sregex_iterator it(source.text.begin(), source.text.end(), include), end; it != end;
         ++it) {
      const std::string included = (*it)[1];
      EXPECT_TRUE(included == "tuner" || included == "tilewright")
          << source.path << " includes " << included;
    }
  }
}

TEST(Folders, NoFamilyBelowTheSpecs) {
  std::set<std::string> families;
  for (const std::string& name : yaml_names(source_dir / "specs")) {
    const YamlNode spec = read_yaml(source_dir / "specs" / (name + ".yaml"));
    for (const YamlNode* family : spec.at("family").one_or_more()) families.insert(family->text());
  }
  EXPECT_FALSE(families.empty());
  EXPECT_EQ(mentions(sources({"model", "ir", "schedule", "emit", "lower"}), families), Mentions());
}

TEST(Folders, NoIsaAndNoInstructionWhereProgramsAreMade) {
  const std::set<std::string> names = isas_and_instructions();
  EXPECT_EQ(mentions(sources({"lower", "schedule"}), names), Mentions());
  const std::vector<Source> wrong = {{"a.cpp", "if (isa.name == \"avx2\") text = \"sdot\" + x;"}};
  EXPECT_EQ(mentions(wrong, names), Mentions({"a.cpp says 'avx2'", "a.cpp says 'sdot'"}));
}

TEST(Folders, NoFormatWhereProgramsAreHandled) {
  std::set<std::string> names;
  for (const Format& format : formats()) {
    if (format.scales != Granularity::none) names.emplace(format.name);
  }
  EXPECT_FALSE(names.empty());
  EXPECT_EQ(mentions(sources({"ir", "schedule", "emit", "lower"}), names), Mentions());
}

/// With specs, tests, documents and what is generated, that is all that a type of CONTRIBUTING's
/// "Add a type" costs.
TEST(Folders, FewFilesKnowAFormat) {
  constexpr int kMost = 4;
  std::vector<Source> all =
      sources({"model", "spec", "ir", "lower", "schedule", "emit", "pipeline", "command"});
  for (const char* folder : {"runtime/src", "runtime/include/tilewright", "tuner", "measure"}) {
    const std::vector<Source> some = sources(std::filesystem::path(folder));
    all.insert(all.end(), some.begin(), some.end());
  }
  std::set<std::string> names;
  for (const Format& format : formats()) {
    if (format.scales != Granularity::none) names.emplace(format.name);
  }
  const Mentions known = mentions(all, names);  // "FILE says 'FORMAT'"
  for (const std::string& name : names) {
    const auto files = std::count_if(known.begin(), known.end(), [&](const std::string& mention) {
      return mention.ends_with("says '" + name + "'");
    });
    EXPECT_GE(files, 1) << name;
    EXPECT_LE(files, kMost) << name << " in " << testing::PrintToString(known);
  }
}

/// Two types of one name in one program share destructors and functions of templates: whichever
/// the linker finds first.
TEST(Folders, EveryTypeHasANameOfItsOwn) {
  std::map<std::string, std::string> file_of;
  const auto twice = [&](const std::vector<Source>& all) {
    std::vector<std::string> found;
    for (const Source& source : all) {
      for (const std::string& type : types_in(source.text)) {
        const auto [first, is_new] = file_of.emplace(type, source.path);
        if (!is_new) found.push_back(type + " in " + first->second + " and " + source.path);
      }
    }
    return found;
  };
  std::vector<std::filesystem::path> all = {"tuner", "tuner/program", "measure", "bench"};
  for (const std::string& folder : folders) all.push_back("generator/" + folder);
  for (const std::filesystem::path& folder : all) EXPECT_EQ(twice(files(folder)), Mentions());
  EXPECT_GT(file_of.size(), 300U);
  const Source wrong = {"a.cpp", "namespace tw {\nnamespace {\nstruct Mine {};\n}  // namespace\n" +
                                     std::string("class Layout {};\n}  // namespace tw\n")};
  EXPECT_EQ(twice({wrong}), Mentions({"tw::Layout in " + file_of.at("tw::Layout") + " and a.cpp"}));
}

}  // namespace
}  // namespace tw::test
