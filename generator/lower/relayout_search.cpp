#include "lower/relayout_search.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <queue>
#include <unordered_map>

namespace tw {
namespace {

/// Four bits a lane. Seven lanes, which is what 64 bytes of nibbles have, are in at most 130,922
/// orders: the search needs no limit of its own.
using Packed = uint64_t;

class Search {
 public:
  Search(const std::vector<PricedMove>& moves, int unit, const std::vector<LaneOrder>& starts,
         int spare)
      : moves_(moves), unit_(unit), lanes_(static_cast<int>(starts.front().size())), spare_(spare) {
    for (int i = 0; i < lanes_; ++i) goal_ |= Packed(i + 1) << (4 * i);
    for (size_t s = 0; s < starts.size(); ++s) {
      Packed packed = 0;
      for (int i = 0; i < lanes_; ++i) packed |= Packed(starts[s][size_t(i)]) << (4 * i);
      reach({packed, 0, -1, {s, -1}});
    }
  }

  std::optional<FoundWay> run() {
    while (!open_.empty()) {
      const int index = open_.top().index;
      open_.pop();
      const Reached now = all_[static_cast<size_t>(index)];
      if (best_.at(now.lanes) < now.cost) continue;
      if (now.lanes == goal_) return way_to(index);
      for (size_t m = 0; m < moves_.size(); ++m) go_on(now, index, m);
    }
    return std::nullopt;
  }

 private:
  struct Reached {
    Packed lanes = 0;
    int cost = 0;
    int before = -1;  ///< index
    FoundStep by{};   ///< where there is none before: {start, -1}
  };
  struct Open {
    int estimate, index;
    bool operator<(const Open& other) const {  // the smallest is on top, the earliest of equals
      return std::pair(estimate, index) > std::pair(other.estimate, other.index);
    }
  };

  [[nodiscard]] int missing(Packed lanes) const {
    int count = 0;
    for (int i = 0; i < lanes_; ++i) count += (lanes >> (4 * i) & 15) == 0 ? 1 : 0;
    return count;
  }

  /// What a lane lacks, each takes a move: at least one instruction for each of two vectors.
  void reach(const Reached& next) {
    const int estimate = next.cost + 2 * missing(next.lanes);
    const auto [place, is_new] = best_.try_emplace(next.lanes, next.cost);
    if (!is_new && place->second <= next.cost) return;
    place->second = next.cost;
    open_.push({estimate, static_cast<int>(all_.size())});
    all_.push_back(next);
  }

  void go_on(const Reached& now, int index, size_t m) {
    if (!moves_[m].move.pair) return enter(now, index, {m, -1});
    unsigned held = 0;
    for (int i = 0; i < lanes_; ++i) held |= 1U << (now.lanes >> (4 * i) & 15);
    for (int symbol = 1; symbol <= lanes_; ++symbol) {
      if ((held >> symbol & 1) == 0) enter(now, index, {m, symbol});
    }
    if (spare_ > missing(now.lanes)) enter(now, index, {m, 0});
  }

  void enter(const Reached& now, int index, FoundStep by) {
    const int* const from = moves_[by.move].move.from.data() + unit_;
    Packed lanes = 0;
    for (int i = 0; i < lanes_; ++i) {
      const int lane = from[i] - unit_;
      const Packed symbol = lane < lanes_ ? now.lanes >> (4 * lane) & 15 : Packed(by.symbol);
      lanes |= symbol << (4 * i);
    }
    reach({lanes, now.cost + moves_[by.move].cost, index, by});
  }

  [[nodiscard]] FoundWay way_to(int index) const {
    FoundWay way;
    const Reached* at = &all_[static_cast<size_t>(index)];
    for (; at->before >= 0; at = &all_[static_cast<size_t>(at->before)]) {
      way.steps.push_back(at->by);
    }
    way.start = at->by.move;
    std::reverse(way.steps.begin(), way.steps.end());
    return way;
  }

  const std::vector<PricedMove>& moves_;
  int unit_, lanes_, spare_;
  Packed goal_ = 0;
  std::vector<Reached> all_;
  std::unordered_map<Packed, int> best_;  ///< costs
  std::priority_queue<Open> open_;
};

std::optional<PricedMove> nibble_exchange(const Isa& isa, size_t width) {
  const bool inserts = isa.has(OpCode::shl_insert, 8) && isa.has(OpCode::shr_insert, 8);
  const bool masks = isa.has(OpCode::and_) && isa.has(OpCode::xor_) && isa.has(OpCode::shl, 32) &&
                     isa.has(OpCode::shr, 32);
  if (!inserts && !masks) return std::nullopt;
  return PricedMove{exchange_of(4, width), inserts ? 2 : 6, 4};
}

/// All that a search goes by.
std::vector<int> key_of(const std::vector<PricedMove>& moves, int unit,
                        const std::vector<LaneOrder>& starts, int spare) {
  std::vector<int> key = {unit, spare, static_cast<int>(starts.size())};
  for (const LaneOrder& lanes : starts) {
    key.push_back(static_cast<int>(lanes.size()));
    key.insert(key.end(), lanes.begin(), lanes.end());
  }
  for (const PricedMove& priced : moves) {
    key.push_back(priced.move.pair ? -priced.cost : priced.cost);
    key.push_back(static_cast<int>(priced.move.from.size()));
    key.insert(key.end(), priced.move.from.begin(), priced.move.from.end());
  }
  return key;
}

}  // namespace

LaneMove exchange_of(int bits, size_t width) {
  LaneMove move{{}, {}, {}, true};
  for (size_t i = 0; i <= width; ++i) move.from.push_back(static_cast<int>(i));
  std::swap(move.from[static_cast<size_t>(std::countr_zero(static_cast<unsigned>(bits)))],
            move.from[width]);
  return move;
}

std::vector<PricedMove> priced_moves(const Isa& isa, int unit) {
  std::vector<PricedMove> out;
  const std::vector<LaneMove> all = lane_moves(isa);
  for (const LaneMove& move : all) {
    bool whole = true;
    for (int i = 0; i < unit; ++i) whole = whole && move.from[static_cast<size_t>(i)] == i;
    const bool known = std::any_of(out.begin(), out.end(), [&](const PricedMove& other) {
      return other.move.from == move.from && other.move.pair == move.pair;
    });
    if (whole && !known) out.push_back({move, 2, 0});
  }
  if (all.empty() || unit != 2) return out;
  const size_t width = all.front().from.size() - (all.front().pair ? 1 : 0);
  if (const auto exchange = nibble_exchange(isa, width)) out.push_back(*exchange);
  return out;
}

std::optional<FoundWay> shortest_way(const std::vector<PricedMove>& moves, int unit,
                                     const std::vector<LaneOrder>& starts, int spare) {
  // Searched for once: by who asks whether there is a way, who takes it, each with layouts alike.
  static std::mutex guards_known;
  static std::map<std::vector<int>, std::optional<FoundWay>> known;
  const std::vector<int> key = key_of(moves, unit, starts, spare);
  {
    const std::lock_guard lock(guards_known);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  const std::optional<FoundWay> way = Search(moves, unit, starts, spare).run();
  const std::lock_guard lock(guards_known);
  return known.emplace(key, way).first->second;
}

}  // namespace tw
