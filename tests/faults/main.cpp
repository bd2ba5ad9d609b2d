// Plants the faults of *.yaml beside this file, one at a time, and prints which test noticed each.
//
//   plant_faults HOST_BUILD ARM64_BUILD [--passed] [--first-of-each-kind] [PART OF A NAME]...
//   plant_faults --check      only whether each fault still applies to one file
//
// --passed: all tests of both builds have just passed, so without faults only those run that name a
// CPU of their own.
// --first-of-each-kind: of the faults in one folder that one program is to notice, the first one.
// Otherwise tests have all of their cases (TILEWRIGHT_LONG): some faults show in few.
//
// Exit status: 0 every fault was caught; 1 one was not, or does not apply any more; 2 wrong usage.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>
#include <tuple>

#include "faults/here.h"
#include "faults/seed.h"

namespace tw::test {
namespace {

namespace fs = std::filesystem;

/// work(0) ... work(count - 1), as many at once as there are cores.
template <typename Work>
void for_each_in_parallel(size_t count, const Work& work) {
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      for (size_t at = next++; at < count; at = next++) work(at);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// The folder of a fault and how it is read; the program that must notice it, on the CPU that it
/// names.
auto kind_of(const Fault& fault) {
  const fs::path file = fault.file;
  const CatchingTest& test = fault.tests.front();
  return std::tuple(file.parent_path(), file.extension(), fault.makes.empty(), test.build,
                    test.cpu.substr(0, test.cpu.find(',')), test.program);
}

/// Leaves the first of each kind; returns how many there were more.
size_t leave_first_of_each_kind(std::vector<Fault>& faults) {
  std::set<decltype(kind_of(faults.front()))> seen;
  return std::erase_if(faults,
                       [&](const Fault& fault) { return !seen.insert(kind_of(fault)).second; });
}

/// Names what does not apply to exactly one file any more; returns how many.
size_t print_stale(const std::vector<Fault>& faults) {
  size_t stale = 0;
  for (const Fault& fault : faults) {
    const std::string why = why_stale(root, fault);
    if (why.empty()) continue;
    fmt::print("{} ({}): {}\n", fault.name, fault.file, why);
    ++stale;
  }
  return stale;
}

bool wanted(const Fault& fault, const std::vector<std::string>& parts) {
  return parts.empty() || std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
           return fault.name.find(part) != std::string::npos;
         });
}

/// Every test that faults name passes without them. False, with a message, when one does not.
/// `passed`: those have that run on the CPU of their build.
bool all_pass(Builds& builds, const std::vector<Fault>& faults, bool passed) {
  std::set<std::tuple<std::string, std::string, std::string, std::string>> names;
  std::vector<CatchingTest> tests;
  for (const Fault& fault : faults) {
    for (const CatchingTest& test : fault.tests) {
      if (passed && test.cpu.empty()) continue;
      if (names.insert({test.build, test.cpu, test.program, test.filter}).second)
        tests.push_back(test);
    }
  }
  std::vector<std::string> wrong(tests.size());
  for_each_in_parallel(tests.size(), [&](size_t i) {
    try {
      wrong[i] = check_passes(builds, tests[i]);
    } catch (const std::exception& error) {
      wrong[i] = error.what();
    }
  });
  bool good = true;
  for (const std::string& text : wrong) {
    if (text.empty()) continue;
    fmt::print("{}\n", text);
    good = false;
  }
  return good;
}

std::vector<Verdict> seed_all(Builds& builds, const std::vector<Fault>& faults,
                              const fs::path& work) {
  std::vector<Verdict> verdicts(faults.size());
  for_each_in_parallel(faults.size(), [&](size_t i) {
    try {
      verdicts[i] = seed(builds, faults[i], work / std::to_string(i));
    } catch (const std::exception& error) {
      verdicts[i] = {false, error.what()};
    }
  });
  return verdicts;
}

/// The table; returns how many were caught.
size_t print(const std::vector<Fault>& faults, const std::vector<Verdict>& verdicts) {
  size_t name = 5;
  size_t file = 5;
  for (const Fault& fault : faults) {
    name = std::max(name, fault.name.size());
    file = std::max(file, fault.file.size());
  }
  fmt::print("{:<{}}  {:<{}}  caught by\n", "fault", name, "where", file);
  size_t caught = 0;
  for (size_t i = 0; i < faults.size(); ++i) {
    caught += verdicts[i].caught ? 1 : 0;
    fmt::print("{:<{}}  {:<{}}  {}\n", faults[i].name, name, faults[i].file, file,
               verdicts[i].caught ? verdicts[i].text : "NOTHING");
  }
  for (size_t i = 0; i < faults.size(); ++i) {
    if (!verdicts[i].caught) fmt::print("\n{}: {}\n", faults[i].name, verdicts[i].text);
  }
  return caught;
}

/// Takes out, and names, faults that this machine's CPU cannot run into; returns how many.
size_t leave_out_of_reach(std::vector<Fault>& faults) {
  return std::erase_if(faults, [](const Fault& fault) {
    std::string missing;
    for (const CatchingTest& test : fault.tests) {
      missing = missing_here(fault, test);
      if (missing.empty()) return false;
    }
    fmt::print("not on this machine, which lacks{}: {}\n", missing, fault.name);
    return true;
  });
}

int check() {
  const std::vector<Fault> faults = read_faults(root / "tests" / "faults");
  const size_t stale = print_stale(faults);
  fmt::print("{} of {} faults apply\n", faults.size() - stale, faults.size());
  return stale == 0 && !faults.empty() ? 0 : 1;
}

int run(const fs::path& host, const fs::path& arm64, std::vector<std::string> parts) {
  const auto start = std::chrono::steady_clock::now();
  const bool passed = std::erase(parts, "--passed") > 0;
  const bool few = std::erase(parts, "--first-of-each-kind") > 0;
  if (!few) setenv("TILEWRIGHT_LONG", "1", 1);
  std::vector<Fault> faults = read_faults(root / "tests" / "faults");
  std::erase_if(faults, [&](const Fault& fault) { return !wanted(fault, parts); });
  const size_t elsewhere = leave_out_of_reach(faults);
  const size_t more = few ? leave_first_of_each_kind(faults) : 0;
  Builds builds{BuildTree(host), BuildTree(arm64)};
  if (!all_pass(builds, faults, passed)) return 1;
  const fs::path work = fs::absolute(host) / "tests" / "faults" / "planted";
  fs::remove_all(work);
  const size_t caught = print(faults, seed_all(builds, faults, work));
  fs::remove_all(work);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("\n{} of {} faults caught, {:.0f} s", caught, faults.size(), took.count());
  if (more > 0) fmt::print("; the first of each kind, of {}", faults.size() + more);
  if (elsewhere > 0) fmt::print("; {} need a CPU that has what this one lacks", elsewhere);
  fmt::print("\n");
  return caught == faults.size() && !faults.empty() ? 0 : 1;
}

}  // namespace
}  // namespace tw::test

int main(int argc, char** argv) {
  const bool check = argc == 2 && std::string(argv[1]) == "--check";
  if (argc < 3 && !check) {
    fmt::print(stderr,
               "plant_faults --check\n"
               "plant_faults HOST_BUILD ARM64_BUILD [--passed] [--first-of-each-kind] "
               "[PART OF A NAME]...\n");
    return 2;
  }
  try {
    if (check) return tw::test::check();
    return tw::test::run(argv[1], argv[2], {argv + 3, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
