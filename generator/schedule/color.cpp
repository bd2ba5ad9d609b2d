#include "schedule/color.h"

#include <algorithm>
#include <bit>
#include <deque>

namespace tw {
namespace {

/// What is colored at once: a web, or all webs of a group.
struct Unit {
  std::vector<int> webs;
  int begin = 0;    ///< where it first lives
  int length = 0;   ///< positions it lives at, of its longest web
  int freedom = 0;  ///< registers that it may take
};

class Colorer {
 public:
  Colorer(const Webs& webs, const Isa& isa, int file)
      : webs_(webs), file_(isa.files[static_cast<size_t>(file)]), file_index_(file) {
    const auto count = static_cast<size_t>(file_.count());
    number_ = file_.consecutive;
    for (size_t i = number_.size(); i < count; ++i) number_.push_back(static_cast<int>(i));
    at_number_.assign(static_cast<size_t>(*std::max_element(number_.begin(), number_.end())) + 1,
                      -1);
    for (size_t i = 0; i < count; ++i)
      at_number_[static_cast<size_t>(number_[i])] = static_cast<int>(i);
    prefer_registers(isa.convention);
    make_units();
    interfere();
  }

  Coloring run() {
    std::deque<size_t> order = first_order();
    Coloring best;
    // What found no register comes earlier next time.
    const size_t attempts = std::min<size_t>(units_.size() + 1, 100);
    for (size_t attempt = 0; attempt < attempts; ++attempt) {
      const int failed = try_order(order);
      if (failed < 0) {
        best.failed = -1;
        best.registers = registers_;
        return best;
      }
      best.failed = units_[static_cast<size_t>(failed)].webs.front();
      const auto at = std::find(order.begin(), order.end(), static_cast<size_t>(failed));
      order.erase(at);
      order.push_front(static_cast<size_t>(failed));
    }
    best.registers = registers_;
    return best;
  }

 private:
  const Web& web(int w) const { return webs_.webs[static_cast<size_t>(w)]; }

  void prefer_registers(const Convention& convention) {
    for (bool late : {false, true}) {
      for (int r = 0; r < file_.count(); ++r) {
        if (is_callee_saved(file_, r, convention) == late) preference_.push_back(r);
      }
    }
  }

  void make_units() {
    std::vector<char> seen(webs_.webs.size(), 0);
    std::vector<char> used(webs_.webs.size(), 0);
    for (int w : webs_.of) used[static_cast<size_t>(w)] = 1;
    for (size_t w = 0; w < webs_.webs.size(); ++w) {
      const Web& it = webs_.webs[w];
      if (!used[w] || seen[w] || it.file != file_index_ || it.live.empty() ||
          webs_.of[w] != static_cast<int>(w)) {
        continue;
      }
      Unit unit;
      unit.webs = it.group >= 0 ? webs_.groups[static_cast<size_t>(it.group)]
                                : std::vector<int>{static_cast<int>(w)};
      unit.begin = it.live.front().begin;
      unit.freedom = file_.count();
      for (int member : unit.webs) {
        seen[static_cast<size_t>(member)] = 1;
        int length = 0;
        for (const Interval& i : web(member).live) length += i.end - i.begin;
        unit.length = std::max(unit.length, length);
        unit.begin = std::min(unit.begin, web(member).live.front().begin);
        unit.freedom = std::min(unit.freedom, static_cast<int>(web(member).allowed.count()));
      }
      units_.push_back(std::move(unit));
    }
  }

  void interfere() {
    neighbors_.resize(webs_.webs.size());
    struct Piece {
      Interval live;
      int web;
    };
    std::vector<Piece> pieces;
    for (const Unit& unit : units_) {
      for (int w : unit.webs) {
        for (const Interval& i : web(w).live) pieces.push_back({i, w});
      }
    }
    std::sort(pieces.begin(), pieces.end(),
              [](const Piece& a, const Piece& b) { return a.live.begin < b.live.begin; });
    std::vector<Piece> active;
    for (const Piece& piece : pieces) {
      std::erase_if(active, [&](const Piece& p) { return p.live.end <= piece.live.begin; });
      for (const Piece& p : active) {
        if (p.web == piece.web) continue;
        neighbors_[static_cast<size_t>(p.web)].push_back(piece.web);
        neighbors_[static_cast<size_t>(piece.web)].push_back(p.web);
      }
      active.push_back(piece);
    }
    for (std::vector<int>& list : neighbors_) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }

  /// Long lists, then what may take few registers, then in the order in which live ranges begin, in
  /// which single webs of straight-line code always find registers if there are enough.
  std::deque<size_t> first_order() const {
    std::deque<size_t> order;
    for (size_t u = 0; u < units_.size(); ++u) order.push_back(u);
    std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) {
      const Unit& a = units_[x];
      const Unit& b = units_[y];
      if (a.webs.size() != b.webs.size()) return a.webs.size() > b.webs.size();
      if (a.freedom != b.freedom) return a.freedom < b.freedom;
      return a.begin != b.begin ? a.begin < b.begin : a.length > b.length;
    });
    return order;
  }

  /// Index of the unit that found nothing, -1 when all did.
  int try_order(const std::deque<size_t>& order) {
    registers_.assign(webs_.webs.size(), -1);
    for (size_t u : order) {
      if (!place(units_[u])) return static_cast<int>(u);
    }
    return -1;
  }

  bool place(const Unit& unit) {
    if (unit.webs.size() == 1) {
      const int w = unit.webs.front();
      const RegisterSet free = free_registers(w);
      for (int r : preference_) {
        if (!free[static_cast<size_t>(r)]) continue;
        registers_[static_cast<size_t>(w)] = r;
        return true;
      }
      return false;
    }
    std::vector<RegisterSet> free;
    for (int w : unit.webs) free.push_back(free_registers(w));
    const int numbers = static_cast<int>(at_number_.size());
    // Starting at a multiple of the list's length leaves room for other lists.
    const int step = static_cast<int>(std::bit_floor(unit.webs.size()));
    for (int offset = 0; offset < step; ++offset) {
      for (int first = offset; first < numbers; first += step) {
        if (place(unit, free, first)) return true;
      }
    }
    return false;
  }

  bool place(const Unit& unit, const std::vector<RegisterSet>& free, int first) {
    for (size_t i = 0; i < unit.webs.size(); ++i) {
      const auto number = static_cast<size_t>(first + web(unit.webs[i]).place);
      if (number >= at_number_.size() || at_number_[number] < 0) return false;
      if (!free[i][static_cast<size_t>(at_number_[number])]) return false;
    }
    for (int w : unit.webs) {
      registers_[static_cast<size_t>(w)] = at_number_[static_cast<size_t>(first + web(w).place)];
    }
    return true;
  }

  RegisterSet free_registers(int w) const {
    RegisterSet free = web(w).allowed;
    for (int other : neighbors_[static_cast<size_t>(w)]) {
      const int taken = registers_[static_cast<size_t>(other)];
      if (taken >= 0) free.reset(static_cast<size_t>(taken));
    }
    return free;
  }

  const Webs& webs_;
  const RegisterFile& file_;
  int file_index_;
  std::vector<int> number_;      ///< hardware number of each register
  std::vector<int> at_number_;   ///< register with that number, -1 if none may be used
  std::vector<int> preference_;  ///< registers in the order in which they are taken
  std::vector<Unit> units_;
  std::vector<std::vector<int>> neighbors_;  ///< per web: webs that live at the same time
  std::vector<int> registers_;
};

}  // namespace

Coloring color(const Webs& webs, const Isa& isa, int file) {
  return Colorer(webs, isa, file).run();
}

}  // namespace tw
