// The members of a record's line, listed once for writing and reading: `Members` is a writer with
// constant structs or a reader that fills them. docs/tuning.md has the same list for people.
#pragma once

#include "tuner/record.h"

namespace tw::tuner {

inline constexpr size_t kNoLimit = SIZE_MAX;
inline constexpr size_t kMostSamples = 64;

template <class Members, class CoreT>
void core_members(Members& members, CoreT& core) {
  members.label("name", core.name);
  members.hex("midr", core.midr);
  members.size("family", core.family, 0, kNoLimit);
  members.size("model", core.model, 0, kNoLimit);
  members.size("stepping", core.stepping, 0, kNoLimit);
  members.size("mhz", core.mhz, 0, kNoLimit);
  members.size("capacity", core.capacity, 0, kNoLimit);
  members.size("l1", core.l1, 0, kNoLimit);
  members.size("l2", core.l2, 0, kNoLimit);
  members.size("l3", core.l3, 0, kNoLimit);
  members.word("features", core.features);
  members.size("vector", core.vector, 0, 256);
  members.size("streaming", core.streaming, 0, 256);
}

template <class Members, class ProblemT>
void problem_members(Members& members, ProblemT& problem) {
  members.word("family", problem.family);
  members.size("n", problem.n, 1, kNoLimit);
  members.size("k", problem.k, 1, kNoLimit);
  members.size("block", problem.block, 0, kNoLimit);
  members.one_of("scales", problem.scales, {"", "f32", "f16", "bf16"});
  members.size("m", problem.m, 1, kNoLimit);
}

template <class Members, class ConfigurationT>
void configuration_members(Members& members, ConfigurationT& ran) {
  members.word("kernel", ran.kernel);
  members.hex("hash", ran.hash);
  members.word("isa", ran.isa);
  members.hex("layout", ran.layout);
  members.word("compiler", ran.compiler);
  members.size("n_block", ran.n_block, 0, kNoLimit);
  members.size("m_block", ran.m_block, 0, kNoLimit);
  members.one_of("order", ran.order, {"columns", "rows"});
  members.size("prefetch", ran.prefetch, 0, kNoLimit);
  members.optional_one_of("decodes", ran.decodes, {"yes", "no"});
}

template <class Members, class TimesT>
void times_members(Members& members, TimesT& ns) {
  members.real("median", ns.median);
  members.real("p20", ns.p20);
  members.real("least", ns.least);
  members.reals("samples", ns.samples);
}

template <class Members, class RatioT>
void ratio_members(Members& members, RatioT& ratio) {
  members.real("median", ratio.median);
  members.real("low", ratio.low);
  members.real("high", ratio.high);
  members.size("rounds", ratio.rounds, 0, kNoLimit);
}

/// All but "v", the first member, and "crc", the last one.
template <class Members, class RecordT>
void record_members(Members& members, RecordT& record) {
  members.time("time", record.time);
  members.word("tool", record.tool);
  members.label("device", record.device);
  members.flag("virtual_machine", record.virtual_machine);
  members.group("core", [&](Members& group) { core_members(group, record.core); });
  members.group("problem", [&](Members& group) { problem_members(group, record.problem); });
  members.choice("regime", record.regime, {"streamed", "hot"});
  members.size("threads", record.threads, 1, kNoLimit);
  members.size("measured_n", record.measured_n, 1, record.problem.n);
  members.group("ran", [&](Members& group) { configuration_members(group, record.ran); });
  members.choice("outcome", record.outcome, {"ok", "wrong", "crash", "timeout"});
  members.label("detail", record.detail);
  members.group("ns", [&](Members& group) { times_members(group, record.ns); });
  members.group("ratio", [&](Members& group) { ratio_members(group, record.ratio); });
  members.word("baseline", record.baseline);
  members.real("ghz", record.ghz);
  members.real("peak_gmacs", record.peak_gmacs);
  members.real("read_gbs", record.read_gbs);
  members.size("rhs_bytes", record.rhs_bytes, 0, kNoLimit);
  members.size("dropped", record.dropped, 0, kNoLimit);
  members.flag("good", record.good);
}

}  // namespace tw::tuner
