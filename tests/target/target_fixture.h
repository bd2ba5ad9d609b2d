// Targets with programs that are shell scripts, in a temporary folder that must be empty again.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tuner/target.h"

namespace tw::tuner {

/// Waits for it; 20 seconds are ample for all but what a slow machine emulates.
bool comes_true(const std::function<bool()>& condition, int seconds = 20);

class TargetTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// A program of that shell text; $1 is the job.
  std::string script(const std::string& text, const std::string& name = "program");
  /// The first bytes of a program for 64-bit Arm.
  std::string arm_program();
  /// What is left of what programs and jobs were put into.
  [[nodiscard]] std::vector<std::string> leftovers() const;
  /// The lines that came, or those in front of an error.
  std::vector<std::string> run(const Target& target, const std::string& program);
  void set_environment(const char* name, const std::string& value);

  std::filesystem::path folder_;  ///< of the test's own
  std::string scratch_;           ///< where targets may put things; must be empty at the end
  std::string error_;             ///< of the last run; "": none
  std::function<void(const std::string&)> on_line_ = [](const std::string&) {};

 private:
  std::vector<std::string> variables_;
};

}  // namespace tw::tuner
