// Products against a plain loop: batches, experts, strides, numbers of threads.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <thread>
#include <tuple>

#include "ggml/tensors.h"
#include "integrations/ggml/multiply.h"

namespace tw::ggml::multiply_test {
namespace {

std::vector<float> input_row(const Tensor& input, size_t i1, size_t i2, size_t i3) {
  std::vector<float> row(static_cast<size_t>(input.ne[0]));
  for (size_t i = 0; i < row.size(); ++i) row[i] = float_at(input, i, i1, i2, i3);
  return row;
}

size_t extent(const Tensor& tensor, int i) {
  return static_cast<size_t>(tensor.ne[i]);
}

/// Outputs start as NaNs, so that one that is left out shows.
OwnTensor make_output(Extents extents) {
  OwnTensor output = make_tensor(type_f32, extents);
  std::fill(output.bytes.begin(), output.bytes.end(), uint8_t{0xff});
  return output;
}

template <class... Index>
void expect_near(float value, const Expected& want, Index... at) {
  if (std::abs(value - want.sum) <= want.error + 1e-30) return;
  EXPECT_NEAR(value, want.sum, want.error + 1e-30) << testing::PrintToString(std::tuple(at...));
}

void check_mul_mat(const PackedTensor& weights, const Tensor& input, const Tensor& output) {
  const size_t n = extent(weights.tensor, 1);
  const auto rows = rows_of(weights.source);
  const size_t repeat2 = extent(input, 2) / extent(weights.tensor, 2);
  const size_t repeat3 = extent(input, 3) / extent(weights.tensor, 3);
  for (size_t i3 = 0; i3 < extent(input, 3); ++i3) {
    for (size_t i2 = 0; i2 < extent(input, 2); ++i2) {
      const size_t matrix = i3 / repeat3 * extent(weights.tensor, 2) + i2 / repeat2;
      for (size_t i1 = 0; i1 < extent(input, 1); ++i1) {
        const std::vector<float> row = input_row(input, i1, i2, i3);
        for (size_t column = 0; column < n; ++column) {
          expect_near(float_at(output, column, i1, i2, i3),
                      expected(weights.tensor.type, rows[matrix * n + column], row), column, i1, i2,
                      i3);
        }
      }
    }
  }
}

class Multiply : public testing::TestWithParam<int32_t> {
 protected:
  static size_t k(size_t least) { return whole_blocks(GetParam(), least); }
  PackedTensor weights(Extents extents) {
    extents[0] = k(extents[0]);
    return pack(random_weights(random_, GetParam(), extents));
  }
  void run(const std::vector<Node>& nodes, int threads = 2) {
    for (const Node& node : nodes) ASSERT_TRUE(can_multiply(node));
    ASSERT_EQ(multiply(nodes, threads, scratch_), success);
  }
  std::mt19937 random_{3};
  Scratch scratch_;
};

OwnTensor output_of(const Tensor& weights, const Tensor& input) {
  return make_output({extent(weights, 1), extent(input, 1), extent(input, 2), extent(input, 3)});
}

TEST_P(Multiply, RowsOfManyCounts) {
  const PackedTensor w = weights({96, 77, 1, 1});
  for (const size_t m : {1, 2, 3, 5, 8, 17, 64, 100}) {
    const OwnTensor input = random_floats(random_, {k(96), m, 1, 1});
    const OwnTensor output = output_of(w.tensor, input.tensor);
    run({{&w.tensor, &input.tensor, nullptr, &output.tensor}});
    check_mul_mat(w, input.tensor, output.tensor);
  }
}

/// What rounding to 8 bits leaves as it is, in blocks of 16 and more, up to `block`.
OwnTensor random_codes(std::mt19937& random, Extents extents, size_t block) {
  OwnTensor made = make_tensor(type_f32, extents);
  for (size_t i = 0; i < made.bytes.size() / sizeof(float); ++i) {
    const int code = i % 16 == 0 ? 127 : static_cast<int>(random() % 255) - 127;
    const float value = std::ldexp(static_cast<float>(code), -static_cast<int>(i / block % 5));
    std::memcpy(&made.bytes[i * sizeof value], &value, sizeof value);
  }
  return made;
}

// Products of codes are integers: nothing is lost but in scales, and in the sum of some blocks.
// Those of bf16 lose of codes what they lose of other values.
TEST_P(Multiply, CodesAreExact) {
  if (weight_type(GetParam())->block == 0) return;
  const PackedTensor w = weights({512, 77, 1, 1});
  const Packing& packing = *find_packing(*weight_type(GetParam()), 77, k(512));
  tw_segment segments[TW_MAX_SEGMENTS];
  size_t count = 0;
  tw_plan_segments(packing.plan.get(), 1, segments, &count);
  // As long as the blocks in which activations are quantized, or of some of them.
  const size_t block = std::max<size_t>(64, segments[0].kernel->lhs->block);
  for (const size_t m : {1, 2, 4, 17}) {
    if (plan_for(packing, m, true) != packing.plan.get()) continue;
    const OwnTensor input = random_codes(random_, {k(512), m, 1, 1}, block);
    const OwnTensor output = output_of(w.tensor, input.tensor);
    run({{&w.tensor, &input.tensor, nullptr, &output.tensor}});
    const auto rows = rows_of(w.source);
    for (size_t row = 0; row < m; ++row) {
      const std::vector<float> values = input_row(input.tensor, row, 0, 0);
      for (size_t column = 0; column < 77; ++column) {
        const Expected want = expected(GetParam(), rows[column], values);
        EXPECT_NEAR(float_at(output.tensor, column, row, 0, 0), want.sum, 1e-6 * want.sizes)
            << column << " " << row;
      }
    }
  }
}

TEST_P(Multiply, AnyNumberOfThreadsGivesTheSameBits) {
  const PackedTensor w = weights({64, 40, 1, 1});
  const OwnTensor input = random_floats(random_, {k(64), 3, 1, 1});
  Bytes first;
  for (const int threads : {1, 2, 3, 16, 64}) {
    const OwnTensor output = output_of(w.tensor, input.tensor);
    run({{&w.tensor, &input.tensor, nullptr, &output.tensor}}, threads);
    if (first.empty()) first = output.bytes;
    EXPECT_EQ(output.bytes, first) << threads << " threads";
    check_mul_mat(w, input.tensor, output.tensor);
  }
}

/// Memory of which the page with the last byte holds up whoever touches it first: time enough for
/// other threads to do what they must not do before. One at a time.
class SlowMemory {
 public:
  explicit SlowMemory(const Bytes& bytes)
      : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
        bytes_((bytes.size() + page_ - 1) / page_ * page_),
        at_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (at_ == MAP_FAILED) throw std::bad_alloc();
    std::memcpy(at_, bytes.data(), bytes.size());
    slow_page_ = static_cast<uint8_t*>(at_) + (bytes.size() - 1) / page_ * page_;
    touched_ = 0;
    struct sigaction action = {};
    action.sa_sigaction = hold_up;
    action.sa_flags = SA_SIGINFO;
    for (size_t i = 0; i < 2; ++i) sigaction(kSignals[i], &action, &before_[i]);
    mprotect(slow_page_, page_, PROT_NONE);
  }
  ~SlowMemory() {
    for (size_t i = 0; i < 2; ++i) sigaction(kSignals[i], &before_[i], nullptr);
    munmap(at_, bytes_);
  }
  SlowMemory(const SlowMemory&) = delete;
  SlowMemory& operator=(const SlowMemory&) = delete;
  void* at() const { return at_; }
  static bool was_touched() { return touched_ != 0; }

 private:
  static constexpr int kSignals[] = {SIGSEGV, SIGBUS};  // systems differ in which one it is
  static void hold_up(int signal, siginfo_t* info, void* /*context*/) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const auto* touched = static_cast<const uint8_t*>(info->si_addr);
    if (touched < slow_page_ || touched >= slow_page_ + page) {
      std::signal(signal, SIG_DFL);  // somebody else's fault: it comes again
      return;
    }
    touched_ = 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    mprotect(slow_page_, page, PROT_READ | PROT_WRITE);
  }
  static inline uint8_t* slow_page_ = nullptr;
  static inline volatile std::sig_atomic_t touched_ = 0;
  size_t page_, bytes_;
  void* at_;
  struct sigaction before_[2] = {};
};

TEST(MultiplyThreads, WaitForWhatOthersPack) {
  std::mt19937 random(5);
  const PackedTensor w = pack(random_weights(random, type_q8_0, {4096, 64, 1, 1}));
  Scratch scratch;
  OwnTensor input = random_floats(random, {4096, 128, 1, 1});  // packed in slices
  const auto product = [&](int threads) {
    OwnTensor output = output_of(w.tensor, input.tensor);
    EXPECT_EQ(multiply({{&w.tensor, &input.tensor, nullptr, &output.tensor}}, threads, scratch),
              success);
    return output;
  };
  const OwnTensor alone = product(1);
  // The same rows are packed there again: a thread that does not wait must not find them.
  std::fill(scratch.memory.get(), scratch.memory.get() + scratch.bytes, uint8_t{0});
  const SlowMemory memory(input.bytes);
  input.tensor.data = memory.at();
  EXPECT_EQ(product(2).bytes, alone.bytes);
  EXPECT_TRUE(SlowMemory::was_touched());
}

TEST_P(Multiply, BatchesOfOneMatrix) {
  const PackedTensor w = weights({64, 40, 1, 1});
  const OwnTensor input = random_floats(random_, {k(64), 5, 3, 2});
  const OwnTensor output = output_of(w.tensor, input.tensor);
  run({{&w.tensor, &input.tensor, nullptr, &output.tensor}});
  check_mul_mat(w, input.tensor, output.tensor);
}

TEST_P(Multiply, MatricesForBatches) {
  const PackedTensor w = weights({64, 40, 2, 3});
  const OwnTensor input = random_floats(random_, {k(64), 5, 4, 3});
  const OwnTensor output = output_of(w.tensor, input.tensor);
  run({{&w.tensor, &input.tensor, nullptr, &output.tensor}});
  check_mul_mat(w, input.tensor, output.tensor);
}

/// Rows apart, batches in another order, and values of a row apart.
TEST_P(Multiply, InputsOfAnyStrides) {
  const PackedTensor w = weights({64, 40, 1, 1});
  for (const std::array<int, 3> order : {std::array{0, 2, 1}, std::array{2, 1, 0}}) {
    const bool values_lie_apart = order[0] != 0;
    const OwnTensor memory =
        random_floats(random_, {values_lie_apart ? 9 : k(64), 6, values_lie_apart ? k(64) : 9, 2});
    Tensor input = memory.tensor;
    for (int i = 0; i < 3; ++i) {
      input.ne[i] = memory.tensor.ne[order[static_cast<size_t>(i)]];
      input.nb[i] = memory.tensor.nb[order[static_cast<size_t>(i)]];
    }
    const OwnTensor output = output_of(w.tensor, input);
    run({{&w.tensor, &input, nullptr, &output.tensor}});
    check_mul_mat(w, input, output.tensor);
  }
}

TEST_P(Multiply, SeveralMatricesOfOneInput) {
  const PackedTensor q = weights({64, 96, 1, 1}), v = weights({64, 32, 1, 1});
  const OwnTensor input = random_floats(random_, {k(64), 9, 1, 1});
  const OwnTensor a = output_of(q.tensor, input.tensor), b = output_of(v.tensor, input.tensor);
  run({{&q.tensor, &input.tensor, nullptr, &a.tensor},
       {&v.tensor, &input.tensor, nullptr, &b.tensor}});
  check_mul_mat(q, input.tensor, a.tensor);
  check_mul_mat(v, input.tensor, b.tensor);
}

/// Each with activations packed as its own kernels read them, which other types may share.
TEST(MultiplyTypes, SeveralTypesOfOneInput) {
  std::mt19937 random(4);
  const OwnTensor input = random_floats(random, {256, 9, 1, 1});
  std::vector<PackedTensor> weights;
  std::vector<OwnTensor> outputs;
  for (const int32_t type : types_here()) {
    weights.push_back(pack(random_weights(random, type, {256, 96, 1, 1})));
    outputs.push_back(output_of(weights.back().tensor, input.tensor));
  }
  std::vector<Node> nodes;
  for (size_t i = 0; i < weights.size(); ++i) {
    nodes.push_back({&weights[i].tensor, &input.tensor, nullptr, &outputs[i].tensor});
  }
  Scratch scratch;
  ASSERT_EQ(multiply(nodes, 2, scratch), success);
  for (size_t i = 0; i < weights.size(); ++i) {
    check_mul_mat(weights[i], input.tensor, outputs[i].tensor);
  }
}

TEST_P(Multiply, WeightsThatAreNotPacked) {
  const PackedTensor w = weights({64, 40, 2, 1});
  const OwnTensor input = random_floats(random_, {k(64), 5, 2, 1});
  const OwnTensor output = output_of(w.tensor, input.tensor);
  run({{&w.source.tensor, &input.tensor, nullptr, &output.tensor}});
  check_mul_mat(w, input.tensor, output.tensor);
}

OwnTensor random_ids(std::mt19937& random, size_t used, size_t tokens, size_t experts) {
  OwnTensor ids = make_tensor(type_i32, {used, tokens, 1, 1});
  auto* at = reinterpret_cast<int32_t*>(ids.bytes.data());
  for (size_t i = 0; i < used * tokens; ++i) at[i] = static_cast<int32_t>(random() % experts);
  return ids;
}

void check_mul_mat_id(const PackedTensor& weights, const Tensor& input, const OwnTensor& ids,
                      const Tensor& output) {
  const auto rows = rows_of(weights.source);
  const size_t n = extent(weights.tensor, 1), used = extent(ids.tensor, 0);
  for (size_t token = 0; token < extent(ids.tensor, 1); ++token) {
    for (size_t slot = 0; slot < used; ++slot) {
      const auto expert = static_cast<size_t>(
          reinterpret_cast<const int32_t*>(ids.bytes.data())[token * used + slot]);
      const std::vector<float> row = input_row(input, slot % extent(input, 1), token, 0);
      for (size_t column = 0; column < n; ++column) {
        expect_near(float_at(output, column, slot, token, 0),
                    expected(weights.tensor.type, rows[expert * n + column], row), column, slot,
                    token);
      }
    }
  }
}

TEST_P(Multiply, Experts) {
  for (const size_t inputs : {1, 2}) {
    for (const size_t tokens : {1, 3, 40}) {
      const PackedTensor gate = weights({64, 40, 5, 1}), up = weights({64, 40, 5, 1});
      const OwnTensor input = random_floats(random_, {k(64), inputs, tokens, 1});
      const OwnTensor ids = random_ids(random_, 2, tokens, 5);
      const OwnTensor a = make_output({40, 2, tokens, 1}), b = make_output({40, 2, tokens, 1});
      run({{&gate.tensor, &input.tensor, &ids.tensor, &a.tensor},
           {&up.tensor, &input.tensor, &ids.tensor, &b.tensor}});
      check_mul_mat_id(gate, input.tensor, ids, a.tensor);
      check_mul_mat_id(up, input.tensor, ids, b.tensor);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Multiply, testing::ValuesIn(types_here()), [](const auto& info) {
  return std::string(weight_type(info.param)->name);
});

TEST(CanMultiply, RefusesOtherTypesAndShapes) {
  std::mt19937 random(1);
  const OwnTensor weights = random_weights(random, type_q8_0, {64, 32, 2, 1});
  const OwnTensor halves = random_weights(random, type_f16, {64, 32, 2, 1});
  OwnTensor input = random_floats(random, {64, 3, 4, 1});
  OwnTensor output = make_output({32, 3, 4, 1});
  const Node node = {&weights.tensor, &input.tensor, nullptr, &output.tensor};
  EXPECT_TRUE(can_multiply(node));
  input.tensor.type = type_f16;
  EXPECT_FALSE(can_multiply(node));
  input.tensor.type = type_f32;
  for (const int32_t precision : {10, 15, 20}) {
    output.tensor.op_params[kInputPrecision] = precision;
    EXPECT_FALSE(can_multiply(node)) << "q8_0, activations of " << precision;
    EXPECT_TRUE(can_multiply({&halves.tensor, &input.tensor, nullptr, &output.tensor}));
  }
  output.tensor.op_params[kInputPrecision] = precision_q8;
  EXPECT_TRUE(can_multiply(node));
  input.tensor.ne[2] = 3;
  EXPECT_FALSE(can_multiply(node)) << "3 batches of 2 matrices";
}

}  // namespace
}  // namespace tw::ggml::multiply_test
