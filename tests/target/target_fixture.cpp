#include "target/target_fixture.h"

#include <elf.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace tw::tuner {

namespace fs = std::filesystem;

bool comes_true(const std::function<bool()>& condition, int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    usleep(10'000);
  }
  return true;
}

void TargetTest::SetUp() {
  std::string name = (fs::temp_directory_path() / "target_test.XXXXXX").string();
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  folder_ = name;
  scratch_ = (folder_ / "scratch").string();
  fs::create_directory(scratch_);
  set_environment("TMPDIR", scratch_);
}

void TargetTest::TearDown() {
  EXPECT_TRUE(comes_true([this] { return leftovers().empty(); })) << leftovers().front();
  for (const std::string& name : variables_) unsetenv(name.c_str());
  fs::remove_all(folder_);
}

void TargetTest::set_environment(const char* name, const std::string& value) {
  setenv(name, value.c_str(), 1);
  variables_.emplace_back(name);
}

std::string TargetTest::script(const std::string& text, const std::string& name) {
  const fs::path path = folder_ / name;
  std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
  fs::permissions(path, fs::perms::owner_all);
  return path.string();
}

std::string TargetTest::arm_program() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = EM_AARCH64;
  const fs::path path = folder_ / "arm_program";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<char*>(&header), sizeof header);
  fs::permissions(path, fs::perms::owner_all);
  return path.string();
}

std::vector<std::string> TargetTest::leftovers() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(scratch_)) names.push_back(entry.path().string());
  return names;
}

std::vector<std::string> TargetTest::run(const Target& target, const std::string& program) {
  std::vector<std::string> lines;
  error_.clear();
  try {
    run_on_target(target, program, "{\"the\": \"job\"}", [&](const std::string& line) {
      lines.push_back(line);
      on_line_(line);
    });
  } catch (const TargetError& error) {
    error_ = error.what;
  }
  return lines;
}

}  // namespace tw::tuner
