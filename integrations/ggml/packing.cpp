#include "integrations/ggml/packing.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "integrations/common/message.h"
#include "integrations/common/this_device.h"
#include "integrations/ggml/flat.h"
#include "integrations/ggml/ggml_abi.h"
#include "integrations/ggml/settings.h"
#include "integrations/ggml/team.h"
#include "tilewright/tilewright.hpp"

namespace tw::ggml {

namespace {

constexpr WeightType kTypes[] = {
    {type_f32, "f32", "matmul_clamp_f32_f32_f32p", 0, 4, TW_NXK, "nxk", false},
    {type_f16, "f16", "matmul_clamp_f32_f32_f16p", 0, 2, TW_NXK, "nxk", false},
    {type_bf16, "bf16", "matmul_clamp_f32_f32_bf16p", 0, 2, TW_NXK, "nxk", true},
    {type_q4_0, "q4_0", "matmul_clamp_f32_qsi8d32p_qsi4c32p", 32, 18, TW_Q4_0, "q4_0", true},
    {type_q4_1, "q4_1", "matmul_clamp_f32_qsi8d32p_qmi4c32p", 32, 20, TW_Q4_1, "q4_1", true},
    {type_q5_0, "q5_0", "matmul_clamp_f32_qsi8d32p_qsi5c32p", 32, 22, TW_Q5_0, "q5_0", true},
    {type_q5_1, "q5_1", "matmul_clamp_f32_qsi8d32p_qmi5c32p", 32, 24, TW_Q5_1, "q5_1", true},
    {type_q8_0, "q8_0", "matmul_clamp_f32_qsi8d32p_qsi8c32p", 32, 34, TW_Q8_0, "q8_0", true},
    {type_q2_k, "q2_k", "matmul_clamp_f32_qsi8d32p_qmi2k16p", 256, 84, TW_Q2_K, "q2_k", true},
    {type_q3_k, "q3_k", "matmul_clamp_f32_qsi8d32p_qsi3k16p", 256, 110, TW_Q3_K, "q3_k", true},
    {type_q4_k, "q4_k", "matmul_clamp_f32_qsi8d32p_qmi4k32p", 256, 144, TW_Q4_K, "q4_k", true},
    {type_q5_k, "q5_k", "matmul_clamp_f32_qsi8d32p_qmi5k32p", 256, 176, TW_Q5_K, "q5_k", true},
    {type_q6_k, "q6_k", "matmul_clamp_f32_qsi8d32p_qsi6k16p", 256, 210, TW_Q6_K, "q6_k", true},
    {type_iq4_nl, "iq4_nl", "matmul_clamp_f32_qsi8d32p_qnl4c32p", 32, 18, TW_IQ4_NL, "iq4_nl",
     true},
    {type_iq4_xs, "iq4_xs", "matmul_clamp_f32_qsi8d32p_qnl4k32p", 256, 136, TW_IQ4_XS, "iq4_xs",
     true},
    {type_mxfp4, "mxfp4", "matmul_clamp_f32_qsi8d32p_qmx4c32p", 32, 17, TW_MXFP4, "mxfp4", true},
    {type_nvfp4, "nvfp4", "matmul_clamp_f32_qsi8d32p_qnv4k16p", 64, 36, TW_NVFP4, "nvfp4", true},
    {type_tq2_0, "tq2_0", "matmul_clamp_f32_qsi8d32p_qsi2c32p", 256, 66, TW_TQ2_0, "tq2_0", false},
    {type_q2_0, "q2_0", "matmul_clamp_f32_qsi8d32p_qsi2c32p", 64, 18, TW_Q2_0, "q2_0", false},
    {type_q1_0, "q1_0", "matmul_clamp_f32_qsi8d32p_qsi1c128p", 128, 18, TW_Q1_0, "q1_0", false},
    {type_tq1_0, "tq1_0", "matmul_clamp_f32_qsi8d32p_qsi2c32p", 256, 54, TW_TQ2_0, "tq2_0", false,
     66},
    {type_iq3_s, "iq3_s", "matmul_clamp_f32_qsi8d32p_qi3s4k32p", 256, 110, TW_IQ3_S_FLAT,
     "iq3_s_flat", true, 136},
    {type_iq3_xxs, "iq3_xxs", "matmul_clamp_f32_qsi8d32p_qi3x4k32p", 256, 98, TW_IQ3_XXS_FLAT,
     "iq3_xxs_flat", true, 136},
    {type_iq2_xxs, "iq2_xxs", "matmul_clamp_f32_qsi8d32p_qi2x3k16p", 256, 66, TW_IQ2_FLAT,
     "iq2_flat", true, 110},
    {type_iq2_xs, "iq2_xs", "matmul_clamp_f32_qsi8d32p_qi2x3k16p", 256, 74, TW_IQ2_FLAT, "iq2_flat",
     true, 110},
    {type_iq2_s, "iq2_s", "matmul_clamp_f32_qsi8d32p_qi2x3k16p", 256, 82, TW_IQ2_FLAT, "iq2_flat",
     true, 110},
    {type_iq1_s, "iq1_s", "matmul_clamp_f32_qsi8d32p_qi1x3k16p", 256, 50, TW_IQ1_FLAT, "iq1_flat",
     true, 110},
    {type_iq1_m, "iq1_m", "matmul_clamp_f32_qsi8d32p_qi1x3k16p", 256, 56, TW_IQ1_FLAT, "iq1_flat",
     true, 110},
};

/// Whether a model that fits the memory may no longer do so: such types only if somebody wants
/// that.
bool grows_much(const WeightType& type) {
  return 5 * type.flat_bytes > 7 * type.block_bytes;
}

/// A vectorized one if there is one.
const tw_packer* find_packer(const tw_layout& layout, const char* source) {
  std::vector<const tw_packer*> rows(tw_list_packers(&this_device(), nullptr, 0));
  tw_list_packers(&this_device(), rows.data(), rows.size());
  const tw_packer* found = nullptr;
  for (const tw_packer* row : rows) {
    if (row->layout->id != layout.id || std::strcmp(row->source, source) != 0) continue;
    if (found == nullptr || row->vectorized > found->vectorized) found = row;
  }
  return found;
}

bool make_plan(Packing& packing) {
  const WeightType& type = *packing.type;
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = type.family;
  matmul.n = packing.n;
  matmul.k = packing.k;
  matmul.block = type.block;
  const bool is_power = type.number == type_mxfp4;
  matmul.scales = is_power ? TW_SCALES_E8M0 : type.block != 0 ? TW_SCALES_F16 : TW_SCALES_UNSET;
  const Settings settings = find_settings(this_device(), matmul);
  matmul.settings = settings.rows.data();
  matmul.setting_count = settings.rows.size();
  tw_plan* plan = nullptr;
  const tw_status status = tw_plan_create(&this_device(), &matmul, &plan);
  packing.plan.reset(plan);
  if (status != TW_OK && is_set("TILEWRIGHT_LOG", "1")) message("{}", tw_error_message());
  return status == TW_OK;
}

/// f16 loses three of its bits: only if somebody wants that.
void make_rounded_plan(Packing& packing) {
  const WeightType& type = *packing.type;
  const bool allowed =
      type.rounds_well || (type.number == type_f16 && is_set("TILEWRIGHT_BF16", "1"));
  if (!allowed || is_set("TILEWRIGHT_BF16", "0")) return;
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = "matmul_clamp_f32_bf16p_bf16p";
  matmul.n = packing.n;
  matmul.k = packing.k;
  matmul.rhs_layout = tw_plan_rhs_layout(packing.plan.get())->id;
  tw_plan* plan = nullptr;  // most machines have none
  if (tw_plan_create(&this_device(), &matmul, &plan) == TW_OK) packing.rounded.reset(plan);
}

void set_sizes(Packing& packing) {
  const tw_layout& layout = *tw_plan_rhs_layout(packing.plan.get());
  packing.vector_bytes = vector_bytes_of(layout);
  packing.panel = layout.panel + layout.panel_scalable * (packing.vector_bytes / 16);
  const size_t bytes = tw_rhs_bytes(packing.plan.get());
  packing.panel_bytes = bytes / ((packing.n + packing.panel - 1) / packing.panel);
  packing.bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::unique_ptr<Packing> make_packing(const WeightType& type, size_t n, size_t k) {
  auto packing = std::make_unique<Packing>();
  if (type.flat_bytes != 0) {
    packing->flat =
        grows_much(type) && !is_set("TILEWRIGHT_GROW", "1") ? nullptr : find_flat_form(type.number);
    if (packing->flat == nullptr) return nullptr;
  }
  packing->type = &type;
  packing->n = n;
  packing->k = k;
  if (!make_plan(*packing)) return nullptr;
  packing->packer = find_packer(*tw_plan_rhs_layout(packing->plan.get()), type.source);
  if (packing->packer == nullptr) return nullptr;
  set_sizes(*packing);
  make_rounded_plan(*packing);
  return packing;
}

std::vector<tw_segment> segments_of(const Packing& packing, size_t m) {
  std::vector<tw_segment> segments(TW_MAX_SEGMENTS);
  size_t count = 0;
  tw_plan_segments(packing.plan.get(), m, segments.data(), &count);
  segments.resize(count);
  return segments;
}

/// Whole kernels of C for any CPU are no match for ggml's own.
bool is_portable(const Packing& packing, size_t m) {
  const std::vector<tw_segment> segments = segments_of(packing, m);
  return std::any_of(segments.begin(), segments.end(),
                     [](const tw_segment& segment) { return segment.kernel->features == 0; });
}

}  // namespace

const WeightType* weight_type(int32_t number) {
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const WeightType& type) { return type.number == number; });
  return found == std::end(kTypes) ? nullptr : found;
}

size_t row_bytes(const WeightType& type, size_t k) {
  return type.block != 0 ? k / type.block * type.block_bytes : k * type.block_bytes;
}

/// As packers read it.
static size_t packers_row_bytes(const WeightType& type, size_t k) {
  return type.flat_bytes != 0 ? k / type.block * type.flat_bytes : row_bytes(type, k);
}

const Packing* find_packing(const WeightType& type, size_t n, size_t k) {
  static std::mutex mutex;
  static std::map<std::tuple<int32_t, size_t, size_t>, std::unique_ptr<Packing>> known;
  if (n == 0 || k == 0 || (type.block != 0 && k % type.block != 0)) return nullptr;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace({type.number, n, k});
  if (is_new) at->second = make_packing(type, n, k);
  return at->second.get();
}

const tw_plan* plan_for(const Packing& packing, size_t rows, bool rounds) {
  const tw_plan* plan = packing.plan.get();
  const tw_plan* rounded = packing.rounded.get();
  if (!rounds || rounded == nullptr) return plan;
  return tw_plan_cycles(rounded, rows) < tw_plan_cycles(plan, rows) ? rounded : plan;
}

bool is_worth_it(const Packing& packing) {
  constexpr size_t kFewestRows = 32, kPrompt = 512;
  return packing.n >= kFewestRows && packing.n >= packing.panel && !is_portable(packing, 1) &&
         !is_portable(packing, kPrompt);
}

void unpack_rows(const Packing& packing, const void* matrix, size_t first, size_t count,
                 std::vector<uint8_t>& rows) {
  std::vector<uint8_t> flat;
  auto target = tilewright::sized<tw_rhs_target>();
  target.order = packing.type->order;
  target.stride = packers_row_bytes(*packing.type, packing.k);
  if (packing.flat != nullptr) flat.resize(count * target.stride);
  std::vector<uint8_t>& unpacked = packing.flat != nullptr ? flat : rows;
  target.data = unpacked.data();
  target.data_bytes = unpacked.size();
  const tw_status status =
      tw_unpack_rhs(packing.plan.get(), matrix, packing.bytes, first, count, &target);
  if (status != TW_OK) message("{}", tw_error_message());
  if (packing.flat == nullptr) return;
  const size_t bytes = row_bytes(*packing.type, packing.k);
  for (size_t i = 0; i < count; ++i) {
    packing.flat->unflatten(packing.k, &flat[i * target.stride], &rows[i * bytes]);
  }
}

namespace {

/// Of which the matrix's last panel has fewer.
void pack_panel(const Packing& packing, size_t rows, const uint8_t* source, uint8_t* panel) {
  const size_t stride = packers_row_bytes(*packing.type, packing.k);
  std::vector<uint8_t> flat;
  if (packing.flat != nullptr) {
    flat.resize(rows * stride);
    for (size_t i = 0; i < rows; ++i) {
      const uint8_t* row = source + i * row_bytes(*packing.type, packing.k);
      packing.flat->flatten(packing.k, row, &flat[i * stride]);
    }
  }
  tw_pack_args args = {};
  args.size = sizeof args;
  args.rows = rows;
  args.k = packing.k;
  args.row_end = rows;
  args.block = packing.type->block;
  args.source = packing.flat != nullptr ? flat.data() : source;
  args.source_stride = stride;
  args.packed = panel;
  args.packed_stride = packing.panel_bytes;
  args.vector_bytes = packing.vector_bytes;
  packing.packer->run(&args);
}

/// Rows of a panel within all matrices, as ggml has them.
struct PanelRows {
  size_t first, rows;     ///< of their matrix
  size_t begin, end;      ///< bytes
  size_t matrix, packed;  ///< offsets of the packed matrix and the panel
};

/// As they were packed.
std::vector<uint8_t> rows_of(const Packing& packing, const void* packed, const PanelRows& at) {
  std::vector<uint8_t> rows(at.end - at.begin);
  unpack_rows(packing, static_cast<const uint8_t*>(packed) + at.matrix, at.first, at.rows, rows);
  return rows;
}

size_t panels_of(const Packing& packing) {
  return (packing.n + packing.panel - 1) / packing.panel;
}

PanelRows panel_rows(const Packing& packing, size_t index) {
  const size_t panels = panels_of(packing), matrix = index / panels, panel = index % panels;
  const size_t bytes = row_bytes(*packing.type, packing.k);
  PanelRows at = {};
  at.first = panel * packing.panel;
  at.rows = std::min(packing.panel, packing.n - at.first);
  at.begin = (matrix * packing.n + at.first) * bytes;
  at.end = at.begin + at.rows * bytes;
  at.matrix = matrix * packing.bytes;
  at.packed = at.matrix + panel * packing.panel_bytes;
  return at;
}

/// Those of them that have the bytes.
PanelRows some_of(const Packing& packing, PanelRows at, size_t begin, size_t end) {
  const size_t bytes = row_bytes(*packing.type, packing.k), before = (begin - at.begin) / bytes;
  at.first += before;
  at.begin += before * bytes;
  at.rows = (end - at.begin + bytes - 1) / bytes;
  at.end = at.begin + at.rows * bytes;
  return at;
}

/// Calls `body` on all panels that the span touches, in parallel, with the bytes that they share.
template <class Body>
void for_panels(const Packing& packing, size_t matrices, Span span, const Body& body) {
  if (span.size == 0) return;
  const size_t bytes = row_bytes(*packing.type, packing.k), end = span.offset + span.size;
  const auto index_of = [&](size_t byte) {
    const size_t row = byte / bytes;
    return row / packing.n * panels_of(packing) + row % packing.n / packing.panel;
  };
  const size_t first = index_of(span.offset);
  const size_t last = std::min(index_of(end - 1) + 1, matrices * panels_of(packing));
  share_out(last - first, span.size, [&](size_t i) {
    const PanelRows at = panel_rows(packing, first + i);
    body(at, std::max(at.begin, span.offset), std::min(at.end, end));
  });
}

}  // namespace

void set_span(const Packing& packing, size_t matrices, Span span, const void* data, void* packed) {
  for_panels(packing, matrices, span, [&](const PanelRows& at, size_t begin, size_t end) {
    const auto* source = static_cast<const uint8_t*>(data) + (begin - span.offset);
    uint8_t* panel = static_cast<uint8_t*>(packed) + at.packed;
    if (begin == at.begin && end == at.end) {
      pack_panel(packing, at.rows, source, panel);
      return;
    }
    std::vector<uint8_t> rows = rows_of(packing, packed, at);
    std::memcpy(rows.data() + (begin - at.begin), source, end - begin);
    pack_panel(packing, at.rows, rows.data(), panel);
  });
}

void get_span(const Packing& packing, size_t matrices, Span span, const void* packed, void* data) {
  for_panels(packing, matrices, span, [&](const PanelRows& at, size_t begin, size_t end) {
    const PanelRows some = some_of(packing, at, begin, end);
    const std::vector<uint8_t> rows = rows_of(packing, packed, some);
    std::memcpy(static_cast<uint8_t*>(data) + (begin - span.offset),
                rows.data() + (begin - some.begin), end - begin);
  });
}

}  // namespace tw::ggml
