#include "command/choices_file.h"

#include <fmt/format.h>

#include <sstream>

#include "emit/c_text.h"

namespace tw {
namespace {

std::string size_text(size_t size) {
  return size == SIZE_MAX ? "SIZE_MAX" : fmt::format("{}", size);
}

const char* decode_text(tw_decode decode) {
  return decode == TW_DECODE_ALWAYS  ? "TW_DECODE_ALWAYS"
         : decode == TW_DECODE_NEVER ? "TW_DECODE_NEVER"
                                     : "TW_DECODE_UNSET";
}

std::string settings_text(const tuner::Choice& choice, size_t number) {
  std::string text = fmt::format("static const tw_setting settings_{}[] = {{\n", number);
  for (const tw_setting& s : tuner::settings_of(choice)) {
    text += fmt::format("    {{{}, {}, \"{}\",\n     {{{}, {}, {}, {}, {}}}}},\n", s.m_first,
                        size_text(s.m_last), s.kernel, s.tuning.n_block,
                        size_text(s.tuning.m_block), size_text(s.tuning.rhs_prefetch),
                        s.tuning.order == TW_ROWS_FIRST ? "TW_ROWS_FIRST" : "TW_COLUMNS_FIRST",
                        decode_text(s.tuning.decode));
  }
  return text + "};\n";
}

std::string scales_text(const std::string& scales) {
  return "TW_SCALES_" + upper(scales.empty() ? "unset" : scales);
}

/// Of names separated by blanks.
tw_features features_of(const std::string& names) {
  tw_features features = 0;
  std::istringstream words(names);
  for (std::string word; words >> word;) features |= tw_feature_from_name(word.c_str());
  return features;
}

std::string core_text(const tuner::Core& core) {
  return fmt::format(
      "        .core = {{.midr = UINT64_C({:#x}), .family = {}, .model = {}, .stepping = {},\n"
      "                 .max_mhz = {}, .capacity = {}, .l1_bytes = {}, .l2_bytes = {},\n"
      "                 .l3_bytes = {}, .features = UINT64_C({:#x}), .vector_bytes = {},\n"
      "                 .streaming_vector_bytes = {}}},\n",
      core.midr, core.family, core.model, core.stepping, core.mhz, core.capacity, core.l1, core.l2,
      core.l3, features_of(core.features), core.vector, core.streaming);
}

std::string row_text(const tuner::Winner& winner, size_t number) {
  const tuner::Wanted& wanted = winner.wanted;
  return fmt::format(
      "    {{\n"
      "        .family = \"{}\",\n"
      "        .n = {},\n"
      "        .k = {},\n"
      "        .block = {},\n"
      "        .scales = {},\n"
      "        .threads = {},\n"
      "{}"
      "        .settings = settings_{},\n"
      "        .setting_count = sizeof settings_{} / sizeof(tw_setting),\n"
      "    }},\n",
      wanted.family, wanted.n, wanted.k, wanted.block, scales_text(wanted.scales), wanted.threads,
      core_text(winner.core), number, number);
}

}  // namespace

std::string choices_file(const std::vector<tuner::Winner>& winners) {
  std::string text = "#include \"tilewright/choices.h\"\n\n", rows;
  for (size_t i = 0; i < winners.size(); ++i) {
    text += settings_text(winners[i].choice, i) + "\n";
    rows += row_text(winners[i], i);
  }
  // An array of nothing, which C does not know, has one row that nobody counts.
  return text + fmt::format(
                    "const tw_chosen tw_generated_choices[] = {{\n{}}};\n"
                    "const size_t tw_generated_choice_count = {};\n",
                    rows.empty() ? "    {0},\n" : rows, winners.size());
}

}  // namespace tw
