#include "tuner/pipes.h"

#include <fmt/format.h>

namespace tw::tuner {
namespace {

constexpr uint64_t implementer(uint64_t midr) {
  return midr >> 24 & 0xff;
}
constexpr uint64_t part(uint64_t midr) {
  return midr >> 4 & 0xfff;
}

/// Instructions a cycle of fmla, sdot and smmla on vectors of 16 bytes, from Arm's optimization
/// guides and the schedulers of LLVM 19.
struct Pipes {
  uint64_t implementer, part;
  const char* rates;
};
constexpr Pipes kPipes[] = {
    {0x41, 0xd03, "1/0/0 in order"}, {0x41, 0xd05, "1/1/0 in order"},
    {0x41, 0xd46, "2/2/2 in order"}, {0x41, 0xd80, "2/2/2 in order"},
    {0x41, 0xd8f, "2/2/2 in order"}, {0x41, 0xd0b, "2/2/0"},
    {0x41, 0xd0c, "2/2/0"},          {0x41, 0xd0d, "2/2/0"},
    {0x41, 0xd41, "2/2/0"},          {0x41, 0xd4b, "2/2/0"},
    {0x41, 0xd44, "4/4/0"},          {0x41, 0xd47, "2/2/2"},
    {0x41, 0xd49, "2/2/2"},          {0x41, 0xd4d, "2/2/2"},
    {0x41, 0xd81, "2/2/2"},          {0x41, 0xd87, "2/2/2"},
    {0x41, 0xd8e, "2/2/2"},          {0x41, 0xd40, "4/4/4"},
    {0x41, 0xd48, "4/4/4"},          {0x41, 0xd4e, "4/4/4"},
    {0x41, 0xd4f, "4/4/4"},          {0x41, 0xd82, "4/4/4"},
    {0x41, 0xd84, "4/4/4"},          {0x41, 0xd85, "6/6/6"},
    {0x41, 0xd8c, "6/6/6"},          {0x51, 0x001, "4/4/2"},
};

}  // namespace

bool same_type(const Core& a, const Core& b) {
  if (a.midr != 0 || b.midr != 0) {
    return implementer(a.midr) == implementer(b.midr) && part(a.midr) == part(b.midr);
  }
  return a.family != 0 && a.family == b.family && a.model == b.model;
}

std::string pipe_class(const Core& core) {
  if (core.midr == 0) {
    return core.family == 0 ? "" : fmt::format("family {}: {}", core.family, core.features);
  }
  for (const Pipes& p : kPipes) {
    if (p.implementer == implementer(core.midr) && p.part == part(core.midr)) return p.rates;
  }
  return "";
}

}  // namespace tw::tuner
