#include "tuner/target.h"

#include <fmt/format.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tw::tuner {
std::string to_text(const Target& target) {
  return target.kind == Target::Kind::local ? "this machine" : target.address;
}
void run_on_target(const Target& target, const std::string& program, const std::string& job,
                   const std::function<void(const std::string&)>& on_line) {
  const std::string file = fmt::format("/tmp/tilewright-job-{}.json", getpid());
  std::ofstream(file) << job;
  FILE* p = popen(fmt::format("{} {} {}", target.address, program, file).c_str(), "r");
  char* line = nullptr;
  size_t size = 0;
  while (getline(&line, &size, p) > 0) {
    std::string text(line);
    text.pop_back();
    on_line(text);
  }
  std::free(line);
  const int status = pclose(p);
  std::filesystem::remove(file);
  if (status != 0) throw TargetError{fmt::format("the program ended with status {}", status)};
}
}  // namespace tw::tuner
