#include "tuner/program/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "measure/machine_limits.h"
#include "tilewright/tilewright.hpp"
#include "tuner/device_text.h"
#include "tuner/evidence.h"
#include "tuner/layers.h"
#include "tuner/program/candidate.h"
#include "tuner/program/cores.h"
#include "tuner/program/search.h"

namespace tw::tuner {
namespace {

using Line = std::function<void(const std::string&)>;

constexpr double kSearchPart = 0.75;  // of the budget; the rest confirms the winners
constexpr int kConfirmations = 3;     // processes
constexpr double kLimitsFrom = 10;    // seconds of budget: what the core can do is measured, too

tw_device detected() {
  auto device = tilewright::sized<tw_device>();
  if (tw_device_detect(&device) != TW_OK) throw std::runtime_error(tw_error_message());
  return device;
}

/// One job on one core, or on as many as its matrices want threads. Its part of the progress is
/// from `begin` on.
class Tuning {
 public:
  Tuning(const Job& job, const tw_device& device, double begin, double part, const Line& emit)
      : job_(job),
        emit_(emit),
        device_(device),
        allowed_(measure::allowed_cores()),
        records_(job.known),
        begin_(begin),
        whole_(part) {
    // A child finds out, so that this process keeps all of its cores.
    run_watched(
        [&](Watch&, const Emit& line) {
          const measure::Conditions c = measure::settle(job.cpu);
          line(fmt::format("{} {}", c.core, c.cache_bytes));
        },
        [&](const std::string& line) { std::sscanf(line.c_str(), "%d %zu", &cpu_, &cache_); },
        job.patience);
    core_ = core_of(device_, cluster_of(device_, cpu_));
    origin_.tool = "tilewright " TILEWRIGHT_VERSION;
    origin_.device = device_.name;
    origin_.virtual_machine = device_.virtual_machine != 0;
    origin_.core = core_;
    for (const JobMatmul& matmul : job.matmuls) {
      helpers_of(device_, allowed_, cpu_, matmul.wanted.threads);  // there are enough
    }
  }

  void run() {
    const std::vector<Weighted> all = weighted();
    for (const Weighted& w : all) jobs_.push_back(w.matmul);
    if (job_.budget != 0) {
      if (job_.budget < 0 || job_.budget >= kLimitsFrom) measure_limits();
      search_all(all);
      confirm_all();
    }
    for (const JobMatmul& matmul : jobs_) emit_choice(matmul);
  }

 private:
  struct Weighted {
    JobMatmul matmul;
    double weight;  ///< predicted nanoseconds
  };

  /// As the job has them, and with hot weights if it says so; those that take longest first.
  std::vector<Weighted> weighted() const {
    std::vector<Weighted> all;
    for (const JobMatmul& matmul : job_.matmuls) {
      const Choice model = choose({}, device_, core_, matmul.wanted);
      const double weight =
          matmul.count * model.total_ns() / static_cast<double>(matmul.wanted.threads);
      all.push_back({matmul, weight});
      if (job_.hot && matmul.wanted.regime == Regime::streamed) {
        JobMatmul hot = matmul;
        hot.wanted.regime = Regime::hot;
        all.push_back({hot, weight / 4});
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Weighted& a, const Weighted& b) { return a.weight > b.weight; });
    return all;
  }

  void search_all(const std::vector<Weighted>& all) {
    double weight_left = 0, least = 0;
    for (const Weighted& w : all) weight_left += w.weight;
    least = weight_left * 0.04;  // small ones get their part, too
    for (const Weighted& w : all) weight_left += std::max(w.weight, least) - w.weight;
    seconds_left_ = job_.budget * kSearchPart;
    for (size_t i = 0; i < all.size(); ++i) {
      const double weight = std::max(all[i].weight, least);
      part_ = whole_ * kSearchPart / static_cast<double>(all.size());
      part_begin_ = begin_ + part_ * static_cast<double>(i);
      const double start = measure::now();
      const double share = job_.budget < 0 ? -1 : seconds_left_ * weight / weight_left;
      search_one(all[i].matmul, share);
      seconds_left_ -= measure::now() - start;
      weight_left -= weight;
    }
  }

  /// For reports only: a machine that is too busy for it gets none.
  void measure_limits() {
    run_watched(
        [&](Watch& watch, const Emit& emit) {
          measure::settle(cpu_);
          const measure::Memory memory(std::max(4 * cache_, size_t{64} << 20));
          ++watch.beats;
          const measure::Limits limits = measure::measure_limits(memory, true);
          nlohmann::json peaks = nlohmann::json::object();
          for (const measure::PeakLimit& peak : limits.peaks) peaks[peak.instruction] = peak.gmacs;
          emit(nlohmann::json{{"read", limits.read_gbs}, {"peaks", peaks}}.dump());
        },
        [&](const std::string& line) {
          const nlohmann::json limits = nlohmann::json::parse(line);
          origin_.read_gbs = limits.at("read").get<double>();
          peaks_ = limits.at("peaks").get<std::map<std::string, double>>();
        },
        job_.patience);
  }

  SearchInput input_of(const JobMatmul& matmul, double seconds) const {
    SearchInput input;
    input.device = device_;
    input.origin = origin_;
    input.matmul = matmul;
    input.seconds = seconds;
    input.exhaustive = job_.exhaustive;
    input.cache_bytes = cache_;
    input.peaks = peaks_;
    return input;
  }

  /// Again after a crash, without what crashed.
  void search_one(const JobMatmul& matmul, double seconds) {
    if (seconds == 0 || (job_.budget > 0 && seconds <= 0)) return;
    SearchInput input = input_of(matmul, seconds);
    input.known = known_rows(matmul.wanted);
    if (input.known.size() == matmul.wanted.mix.size()) return;
    while (!watched(input, [&](Watch& watch, const Emit& emit) { search(input, watch, emit); })) {
      input.known = known_rows(matmul.wanted);
    }
  }

  /// False: something crashed, which `input` bans from now on.
  bool watched(SearchInput& input, const std::function<void(Watch&, const Emit&)>& work) {
    std::map<unsigned, Record> entrants;
    const Ended ended = run_watched(
        [&](Watch& watch, const Emit& emit) {
          const size_t threads = input.matmul.wanted.threads;
          measure::Team team(helpers_of(device_, allowed_, cpu_, threads));
          if (threads > 1) input.team = &team;
          measure::settle(cpu_);
          work(watch, emit);
        },
        [&](const std::string& line) { take(line, entrants); }, job_.patience);
    if (ended.ending == Ending::done) return true;
    const auto at = entrants.find(ended.entrant);
    if (at == entrants.end()) {
      throw std::runtime_error(
          fmt::format("measuring {} ended without a result: {}", input.matmul.name, ended.detail));
    }
    Record failed = at->second;
    failed.outcome = ended.ending == Ending::crash ? Outcome::crash : Outcome::timeout;
    failed.detail = ended.detail;
    keep(failed);
    input.banned.insert(identity(failed.ran));
    return false;
  }

  void take(const std::string& line, std::map<unsigned, Record>& entrants) {
    const nlohmann::json json = nlohmann::json::parse(line);
    if (!json.contains("event")) {
      keep(from_line(line));
    } else if (json["event"] == "entrant") {
      entrants[json["number"].get<unsigned>()] = from_line(json["record"].get<std::string>());
    } else {
      nlohmann::json whole = json;
      whole["done"] = part_begin_ + part_ * json["done"].get<double>();
      emit_(whole.dump());
    }
  }

  void keep(const Record& record) {
    records_.push_back(record);
    emit_(to_line(record));
  }

  /// Rows whose baseline has a record: it is the last one of theirs.
  [[nodiscard]] std::set<size_t> known_rows(const Wanted& wanted) const {
    std::set<size_t> rows;
    for (const Record& r : records_) {
      const tw_kernel* kernel = tw_find_kernel(r.ran.kernel.c_str());
      if (is_of_matrix(r, wanted) && r.outcome == Outcome::ok && r.ratio.rounds == 0 &&
          identity(r.core) == identity(core_) && kernel != nullptr &&
          kernel->content_hash == r.ran.hash) {
        rows.insert(r.problem.m);
      }
    }
    return rows;
  }

  /// Where the choice is not what the plan would do, in processes of their own.
  void confirm_all() {
    for (const JobMatmul& matmul : jobs_) {
      const Choice choice = choose(records_, device_, core_, matmul.wanted);
      std::vector<Pair> pairs;
      for (const RowsChoice& rows : choice.rows) {
        if (rows.rung != Rung::exact) continue;
        const Candidate planned = planned_candidate(device_, matmul.wanted, rows.m);
        const Configuration baseline = configuration_of(planned);
        if (identity(baseline) == identity(rows.run)) continue;
        pairs.push_back({rows.m, baseline, rows.run});
      }
      if (pairs.empty()) continue;
      const double each = job_.budget < 0 ? 1e9
                                          : job_.budget * (1 - kSearchPart) / kConfirmations /
                                                static_cast<double>(jobs_.size());
      SearchInput input = input_of(matmul, each);
      for (int i = 0; i < kConfirmations; ++i) {
        watched(input, [&](Watch& watch, const Emit& emit) { confirm(input, pairs, watch, emit); });
      }
    }
  }

  void emit_choice(const JobMatmul& matmul) {
    const Choice choice = choose(layered(records_, job_.shipped), device_, core_, matmul.wanted);
    nlohmann::json rows = nlohmann::json::array();
    for (const RowsChoice& r : choice.rows) {
      rows.push_back({{"m", r.m},
                      {"calls", r.calls},
                      {"kernel", r.run.kernel},
                      {"rung", name(r.rung)},
                      {"ns", r.ns},
                      {"baseline_ns", r.baseline_ns},
                      {"n_block", r.run.n_block},
                      {"m_block", r.run.m_block},
                      {"order", r.run.order},
                      {"prefetch", r.run.prefetch},
                      {"decodes", r.run.decodes}});
    }
    const Wanted& wanted = matmul.wanted;
    emit_(nlohmann::json{{"event", "choice"},
                         {"name", matmul.name},
                         {"count", matmul.count},
                         {"family", wanted.family},
                         {"n", wanted.n},
                         {"k", wanted.k},
                         {"hot", wanted.regime == Regime::hot},
                         {"core", core_.name},
                         {"threads", wanted.threads},
                         {"layout", fmt::format("{:016x}", choice.layout)},
                         {"rows", rows}}
              .dump());
  }

  const Job& job_;
  const Line& emit_;
  const tw_device& device_;
  std::vector<int> allowed_;
  std::vector<Record> records_;
  double begin_, whole_;
  std::vector<JobMatmul> jobs_;
  int cpu_ = -1;
  size_t cache_ = 0;
  std::map<std::string, double> peaks_;
  Core core_;
  Record origin_;
  double seconds_left_ = 0, part_begin_ = 0, part_ = 1;
};

}  // namespace

void tune(const Job& job, const Line& emit) {
  emit(device_event());
  const tw_device device = detected();
  const std::vector<int> cores = cores_to_tune(device, measure::allowed_cores(), job.cpu);
  const double part = 1 / static_cast<double>(cores.size());
  for (size_t i = 0; i < cores.size(); ++i) {
    Job one = job;
    one.cpu = cores[i];
    if (job.budget > 0) one.budget = job.budget * part;
    Tuning(one, device, part * static_cast<double>(i), part, emit).run();
  }
}

std::string device_event() {
  return nlohmann::json{{"event", "device"}, {"device", nlohmann::json::parse(to_text(detected()))}}
      .dump();
}

}  // namespace tw::tuner
