// Words and numbers of a report, safe to stand in HTML.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "tuner/record.h"

namespace tw::tuner {

/// For text and for attributes in double quotes.
std::string escaped(std::string_view text);

/// A kernel's name without what all names of its family begin with.
std::string short_kernel(const std::string& name, const std::string& family);

/// The part of a kernel's name that tells it from its fellows: "6x16_avx2_far_asm".
std::string telling_part(const std::string& name);

/// What to call kernels in one report: by their telling parts, where those are unlike.
class KernelNames {
 public:
  void add(const std::string& kernel);
  /// A code element that has the full name as its title.
  [[nodiscard]] std::string html(const std::string& kernel) const;

 private:
  [[nodiscard]] std::string label(const std::string& kernel) const;
  std::set<std::string> all_, tails_, ambiguous_;
};

/// Three or four digits and a unit.
std::string time_text(double ns);
std::string bytes_text(size_t bytes);
/// Of a part of 1: "96.2 %"; 0 and less: "" (unknown).
std::string percent_text(double part);
/// "12.3"; 0: "".
std::string rate_text(double rate);
/// "1 record", "2 records".
std::string counted_text(size_t count, const char* what);

/// "slices of 960 columns, prefetch 8 KiB".
std::string settings_text(const Configuration& run, const Problem& problem, size_t m);
/// "n 16384, k 2048, blocks of 32 with f16 scales, 2 threads", without the family.
std::string shape_text(const Problem& problem, size_t threads);

}  // namespace tw::tuner
