#include "tuner/program/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>

#include "measure/machine_limits.h"

namespace tw::tuner {
namespace {

constexpr double kRoundSeconds = 0.003;  // of one candidate
constexpr double kMostMacs = 4e9;        // of one call: some milliseconds
constexpr double kFewMacs = 1e9;         // where seconds are few
constexpr size_t kMostBytes = size_t{32} << 20;

std::string time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

/// Any layout of the weights' own kind: random weights are made for it.
const tw_layout& some_layout(const SearchInput& input) {
  const Wanted& wanted = input.matmul.wanted;
  return *planned_candidate(input.device, wanted, 1).kernel->rhs;
}

size_t columns_to_run(const Wanted& wanted, const tw_layout& layout, double most_macs,
                      size_t hot_bytes) {
  size_t most_rows = 1;
  for (const Calls& c : wanted.mix) most_rows = std::max(most_rows, c.m);
  constexpr size_t unit = 512;  // whole tiles and blocks of columns
  const double bytes_a_column = static_cast<double>(wanted.k * layout.data_bits) / 8;
  double columns = most_macs / static_cast<double>(most_rows * wanted.k);
  columns = std::min(columns, static_cast<double>(kMostBytes) / bytes_a_column);
  if (hot_bytes > 0) {
    columns = std::min(columns, static_cast<double>(hot_bytes) / bytes_a_column);
    return std::min(wanted.n, std::max(static_cast<size_t>(columns) / 64 * 64, size_t{64}));
  }
  const size_t rounded = static_cast<size_t>(columns) / unit * unit;
  return std::min(wanted.n, std::max(rounded, 2 * unit));
}

}  // namespace

Shape::Shape(const SearchInput& input) : input_(input) {
  const Wanted& wanted = input.matmul.wanted;
  const bool hot = wanted.regime == Regime::hot;
  const tw_layout& layout = some_layout(input);
  const size_t l2 = input.device.l2_bytes > 0 ? input.device.l2_bytes : size_t{256} << 10;
  const bool few = input.seconds >= 0 && input.seconds < 3;
  const size_t n =
      columns_to_run(wanted, layout, few ? kFewMacs : kMostMacs, hot ? l2 / 2 : size_t{0});
  weights_ = measure::random_weights(n, wanted.k, layout);
  rotate_bytes_ = hot ? 0 : std::min(4 * input.cache_bytes, measure::available_memory() / 4);
}

std::shared_ptr<measure::Activations> Shape::activations(size_t m) {
  if (activations_ == nullptr || activations_->m != m) {
    activations_ = std::make_shared<measure::Activations>(m, weights_);
  }
  return activations_;
}

std::unique_ptr<measure::PlannedMatmul> Shape::make(const Candidate& candidate, size_t m) {
  const uint64_t layout = candidate.kernel->rhs->id;
  measure::MatmulOptions options;
  options.family = candidate.kernel->family;
  options.rotate_bytes = rotate_bytes_;
  options.rhs_layout = layout;
  options.team = input_.team;
  options.settings = {{m, m, candidate.kernel->name, candidate.tuning}};
  options.scratch = true;
  const auto packed = packed_.find(layout);
  if (packed != packed_.end()) options.packed = packed->second;
  auto matmul = std::make_unique<measure::PlannedMatmul>(input_.device, weights_, options);
  packed_[layout] = matmul->packed();
  matmul->prepare(activations(m));
  if (matmul->segments(m)[0].kernel != candidate.kernel) {
    measure::fail(fmt::format("{} was asked for, {} would run", candidate.kernel->name,
                              matmul->segments(m)[0].kernel->name));
  }
  return matmul;
}

Cell::Cell(const SearchInput& input, Shape& shape, size_t m, Watch& watch, const Emit& emit)
    : input_(input),
      shape_(shape),
      m_(m),
      watch_(watch),
      emit_(emit),
      contest_(own_surroundings()) {}

/// `columns` of them are packed into so many bytes.
size_t Shape::rhs_bytes(uint64_t layout) const {
  const auto packed = packed_.find(layout);
  if (packed == packed_.end()) return 0;
  const double part = static_cast<double>(input_.matmul.wanted.n) / static_cast<double>(columns());
  return static_cast<size_t>(static_cast<double>(packed->second->bytes()) * part);
}

Record Cell::record_of(const Configuration& run) const {
  Record record = input_.origin;
  const Wanted& wanted = input_.matmul.wanted;
  record.time = time_text();
  record.problem = {wanted.family, wanted.n, wanted.k, wanted.block, wanted.scales, m_};
  record.regime = wanted.regime;
  record.threads = wanted.threads;
  record.measured_n = shape_.columns();
  record.ran = run;
  record.rhs_bytes = shape_.rhs_bytes(run.layout);
  if (record.threads > 1) {  // the limits are one core's
    record.read_gbs = 0;
    return record;
  }
  const tw_kernel* kernel = tw_find_kernel(run.kernel.c_str());
  const auto peak = input_.peaks.find(measure::peak_loop_of(*kernel).instruction);
  if (peak != input_.peaks.end()) record.peak_gmacs = peak->second;
  return record;
}

/// Runs it once, in the knowledge that it may crash, and looks at what it computed.
bool Cell::works(Entrant& entrant) {
  Record failed = record_of(entrant.run);
  failed.outcome = Outcome::crash;
  emit_(
      nlohmann::json{{"event", "entrant"}, {"number", entrant.number}, {"record", to_line(failed)}}
          .dump());
  watch_.entrant = entrant.number;
  bool right = true;
  try {
    entrant.matmul = shape_.make(entrant.candidate, m_);
    entrant.matmul->spoil_output();
    entrant.matmul->run();
    entrant.matmul->check();
  } catch (const std::exception& error) {
    failed.outcome = Outcome::wrong;
    failed.detail = std::string(error.what()).substr(0, 300);
    emit_(to_line(failed));
    right = false;
  }
  watch_.entrant = 0;
  ++watch_.beats;
  return right;
}

void Cell::enter(const Candidate& candidate) {
  static unsigned numbers = 0;
  Entrant entrant{candidate, configuration_of(candidate), nullptr, ++numbers};
  const std::string id = identity(entrant.run);
  if (std::count(seen_.begin(), seen_.end(), id) != 0 || input_.banned.count(id) != 0) return;
  seen_.push_back(id);
  if (!works(entrant)) return;
  const std::shared_ptr<measure::PlannedMatmul> matmul = entrant.matmul;
  contest_.enter([matmul, number = entrant.number, this] {
    watch_.entrant = number;
    matmul->pack_lhs();
    matmul->run();
    watch_.entrant = 0;
    ++watch_.beats;
  });
  entrants_.push_back(std::move(entrant));
}

void Cell::race(size_t rounds, double seconds, bool separate) {
  const double end = measure::now() + seconds;
  for (size_t i = 0; i < rounds; ++i) {
    if (i > 0 && (measure::now() > end || contest_.left() < 2)) return;
    contest_.round(kRoundSeconds);
    if (separate && i >= 5 && contest_.separated()) return;
  }
}

void Cell::drop(double slower_than, size_t most) {
  contest_.drop(slower_than, most);
  free_losers();
}

void Cell::keep_layouts(const std::vector<uint64_t>& layouts) {
  for (size_t i = 1; i < entrants_.size(); ++i) {
    const uint64_t id = entrants_[i].run.layout;
    if (std::count(layouts.begin(), layouts.end(), id) == 0) contest_.leave(i);
  }
  free_losers();
}

void Cell::free_losers() {
  for (size_t i = 0; i < entrants_.size(); ++i) {
    if (!contest_.is_left(i)) entrants_[i].matmul.reset();
  }
}

std::vector<Candidate> Cell::best(size_t count) const {
  std::vector<size_t> order;
  for (size_t i = 0; i < entrants_.size(); ++i) {
    if (contest_.is_left(i)) order.push_back(i);
  }
  const auto speed = [&](size_t i) { return i == 0 ? 1.0 : contest_.ratio(i, 0).median; };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return speed(a) > speed(b); });
  std::vector<Candidate> found;
  for (size_t i = 0; i < std::min(count, order.size()); ++i) {
    found.push_back(entrants_[order[i]].candidate);
  }
  return found;
}

std::map<uint64_t, double> Cell::layout_times() const {
  std::map<uint64_t, double> times;
  if (entrants_.empty()) return times;
  const double baseline = contest_.times(0).median;
  for (size_t i = 0; i < entrants_.size(); ++i) {
    const double speed = i == 0 ? 1 : contest_.ratio(i, 0).median;
    if (speed <= 0) continue;
    const auto [at, is_new] = times.try_emplace(entrants_[i].run.layout, baseline / speed);
    if (!is_new) at->second = std::min(at->second, baseline / speed);
  }
  return times;
}

void Cell::report() const {
  if (entrants_.empty()) return;
  const double scale =
      static_cast<double>(input_.matmul.wanted.n) / static_cast<double>(shape_.columns());
  const std::string baseline = identity(entrants_[0].run);
  for (size_t i = entrants_.size(); i-- > 0;) {
    Record record = record_of(entrants_[i].run);
    record.ns = contest_.times(i);
    if (record.ns.samples.empty()) continue;
    const auto scaled = [scale](double ns) { return std::round(ns * scale * 10) / 10; };
    for (double* ns : {&record.ns.median, &record.ns.p20, &record.ns.least}) *ns = scaled(*ns);
    for (double& sample : record.ns.samples) sample = scaled(sample);
    if (i > 0) {
      record.ratio = contest_.ratio(i, 0);
      record.baseline = baseline;
      if (record.ratio.rounds == 0) continue;
    }
    record.ghz = contest_.ghz();
    record.dropped = contest_.dropped_rounds();
    record.good = contest_.dropped_rounds() * 10 <= contest_.rounds() * 3;
    emit_(to_line(record));
  }
}

}  // namespace tw::tuner
