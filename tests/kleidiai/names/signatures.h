// What a client of KleidiAI sees: compiled against our headers, and against KleidiAI's.
#pragma once

#include <string>
#include <vector>

namespace tw::test {

struct Signature {
  std::string name, type;
  friend bool operator==(const Signature&, const Signature&) = default;
};

std::vector<Signature> our_signatures();
std::vector<Signature> their_signatures();

}  // namespace tw::test
