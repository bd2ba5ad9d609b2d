// What an instruction multiplies at once; a spec calls it technique.
#pragma once

#include <string_view>

namespace tw {

enum class Technique { dot, mmla, fma, outer, tile };
constexpr Technique techniques[] = {Technique::dot, Technique::mmla, Technique::fma,
                                    Technique::outer, Technique::tile};
std::string_view name(Technique technique);

}  // namespace tw
