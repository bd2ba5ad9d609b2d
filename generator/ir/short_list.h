// A list of which the first elements stand inside: operands of operations cost no allocation.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <vector>

namespace tw {

/// As a std::vector; more than `inside` elements stand in one. What was moved from is only good for
/// assignment.
template <typename T, size_t inside>
class ShortList {
 public:
  ShortList() = default;
  ShortList(std::initializer_list<T> list) { assign(list.begin(), list.end()); }
  ShortList(const std::vector<T>& list) { assign(list.begin(), list.end()); }  // NOLINT: the same

  [[nodiscard]] size_t size() const { return all_.empty() ? few_size_ : all_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] T* begin() { return all_.empty() ? few_.data() : all_.data(); }
  [[nodiscard]] T* end() { return begin() + size(); }
  [[nodiscard]] const T* begin() const { return all_.empty() ? few_.data() : all_.data(); }
  [[nodiscard]] const T* end() const { return begin() + size(); }
  [[nodiscard]] T& operator[](size_t i) { return begin()[i]; }
  [[nodiscard]] const T& operator[](size_t i) const { return begin()[i]; }
  [[nodiscard]] const T& front() const { return *begin(); }
  [[nodiscard]] const T& back() const { return *std::prev(end()); }

  friend bool operator==(const ShortList& a, const ShortList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

  void push_back(const T& element) {
    if (!all_.empty()) {
      all_.push_back(element);
    } else if (few_size_ < inside) {
      few_[few_size_++] = element;
    } else {
      all_.assign(few_.begin(), few_.end());
      all_.push_back(element);
    }
  }
  void pop_back() {
    if (all_.empty()) {
      --few_size_;
    } else {
      all_.pop_back();
      if (all_.empty()) few_size_ = 0;
    }
  }
  void clear() {
    all_.clear();
    few_size_ = 0;
  }

 private:
  template <typename Iterator>
  void assign(Iterator first, Iterator last) {
    for (; first != last; ++first) push_back(*first);
  }

  std::array<T, inside> few_{};
  size_t few_size_ = 0;
  std::vector<T> all_;  ///< all elements when there are more than `inside`
};

}  // namespace tw
