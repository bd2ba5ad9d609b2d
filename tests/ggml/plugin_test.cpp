// The plug-in through its tables.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "ggml/attention_op.h"
#include "ggml/host.h"
#include "ggml/loaded.h"
#include "ggml/tensors.h"
#include "integrations/ggml/buffer.h"
#include "integrations/ggml/multiply.h"

extern "C" int ggml_backend_score();

namespace tw::ggml {
namespace {

class Plugin : public testing::Test {
 protected:
  void SetUp() override {
    if (dlsym(RTLD_DEFAULT, "ggml_tensor_overhead") == nullptr) {
      GTEST_SKIP() << "a static program: a plug-in finds no names in it";
    }
    fake_host = {};
    unsetenv("TILEWRIGHT_GGML");
    unsetenv("TILEWRIGHT_GGML_TEST");
    unsetenv("TILEWRIGHT_GGML_ANY_VERSION");
  }
  std::string decline() {
    testing::internal::CaptureStderr();
    EXPECT_EQ(ggml_backend_init(), nullptr);
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(Plugin, DeclinesVersionsThatItDoesNotKnow) {
  for (const int version : {1, 4, 6}) {
    fake_host.version = version;
    EXPECT_NE(decline().find("we know 2 and 3"), std::string::npos) << version;
  }
}

TEST_F(Plugin, DeclinesTensorsThatItDoesNotKnow) {
  fake_host.tensor_bytes += 8;
  EXPECT_NE(decline().find("tensors have"), std::string::npos);
}

TEST_F(Plugin, CanBeSwitchedOff) {
  EXPECT_GT(ggml_backend_score(), 0);
  setenv("TILEWRIGHT_GGML", "0", 1);
  EXPECT_EQ(ggml_backend_init(), nullptr);
  EXPECT_EQ(ggml_backend_score(), 0);
}

Tensor make_op(Tensor output, Tensor* weights, Tensor* input, Tensor* ids = nullptr) {
  output.op = ids != nullptr ? kMulMatId : kMulMat;
  output.src[0] = weights;
  output.src[1] = input;
  output.src[2] = ids;
  return output;
}

TEST_F(Plugin, LoadsAndMultipliesInEveryVersion) {
  std::mt19937 random(5);
  setenv("TILEWRIGHT_GGML_ANY_VERSION", "1", 1);
  const std::pair<int, size_t> hosts[] = {{2, 6}, {3, 8}, {6, 7}, {4, 8}};
  for (const auto& [version, slots] : hosts) {
    fake_host.version = version;
    fake_host.buffer_type_slots = slots;
    Registration* made = ggml_backend_init();
    ASSERT_NE(made, nullptr);
    EXPECT_EQ(made->api_version, version);
    Device* device = made->device(made, 0);
    const OwnTensor weights = random_weights(random, type_q4_0, {64, 40, 1, 1});
    const auto loaded = load(device, weights);
    Bytes back(weights.bytes.size());
    loaded->buffer->functions.get_tensor(loaded->buffer, &loaded->tensor, back.data(), 0,
                                         back.size());
    EXPECT_EQ(back, weights.bytes);

    OwnTensor input = random_floats(random, {64, 3, 1, 1});
    const OwnTensor output = make_tensor(type_f32, {40, 3, 1, 1});
    Tensor op = make_op(output.tensor, &loaded->tensor, &input.tensor);
    ASSERT_TRUE(device->functions.supports_op(device, &op));
    Backend* backend = device->functions.make_backend(device, nullptr);
    std::vector<Tensor*> graph = {&op};
    EXPECT_EQ(backend->functions.compute(backend, reinterpret_cast<Graph*>(&graph)), success);
    const Expected want = expected(weights.tensor.type, row_of(weights, 39), row_of(input, 2));
    EXPECT_NEAR(float_at(op, 39, 2, 0, 0), want.sum, want.error);
    backend->functions.free(backend);
  }
}

TEST_F(Plugin, LargeWeightsAreSetInPieces) {
  std::mt19937 random(6);
  Registration* made = ggml_backend_init();
  OwnTensor weights = make_tensor(type_f32, {4096, 1043, 1, 1});  // 16 MiB and some rows
  for (size_t i = 0; i < weights.bytes.size(); i += 61) {
    weights.bytes[i] = static_cast<uint8_t>(random());
  }
  const auto loaded = load(made->device(made, 0), weights);
  Bytes back(weights.bytes.size());
  loaded->buffer->functions.get_tensor(loaded->buffer, &loaded->tensor, back.data(), 0,
                                       back.size());
  EXPECT_TRUE(back == weights.bytes);
}

TEST_F(Plugin, OutputsLieInTheCpusMemory) {
  Registration* made = ggml_backend_init();
  Device* device = made->device(made, 0);
  Backend* backend = device->functions.make_backend(device, nullptr);
  Device* second = backend->device;
  EXPECT_NE(device->functions.buffer_type(device), ggml_backend_cpu_buffer_type());
  EXPECT_EQ(second->functions.buffer_type(second), ggml_backend_cpu_buffer_type());
  EXPECT_TRUE(second->functions.supports_buffer_type(second, ggml_backend_cpu_buffer_type()));
  EXPECT_EQ(second->registration, made);
  backend->functions.free(backend);
}

/// A loader asks with a buffer of no size.
TEST_F(Plugin, TakesWeightsThatItIsFasterWith) {
  Registration* made = ggml_backend_init();
  Device* device = made->device(made, 0);
  Buffer empty = {{}, device->functions.buffer_type(device), nullptr, 0};
  Buffer cpus = {{}, ggml_backend_cpu_buffer_type(), nullptr, 0};
  OwnTensor weights = make_tensor(type_q4_0, {64, 64, 1, 1});
  OwnTensor few = make_tensor(type_q4_0, {64, 4, 1, 1});
  OwnTensor input = make_tensor(type_f32, {64, 512, 1, 1});
  Tensor op =
      make_op(make_tensor(type_f32, {64, 512, 1, 1}).tensor, &weights.tensor, &input.tensor);
  const auto takes = [&] { return device->functions.supports_op(device, &op); };
  EXPECT_FALSE(takes()) << "in no buffer";
  weights.tensor.buffer = &cpus;
  EXPECT_FALSE(takes()) << "in the CPU's buffer";
  weights.tensor.buffer = &empty;
  EXPECT_TRUE(takes());
  op.op_params[kInputPrecision] = 20;
  EXPECT_FALSE(takes()) << "activations of 16 bits";
  op.op_params[kInputPrecision] = precision_q8;
  EXPECT_TRUE(takes());
  weights.tensor.view_src = &few.tensor;
  EXPECT_FALSE(takes()) << "a view";
  few.tensor.buffer = &empty;
  op = make_op(make_tensor(type_f32, {4, 512, 1, 1}).tensor, &few.tensor, &input.tensor);
  EXPECT_FALSE(takes()) << "4 rows";
  op.op = 40;
  EXPECT_FALSE(takes()) << "another operation";
  op.op = kView;
  EXPECT_TRUE(takes()) << "nothing to compute";
}

/// Tables that nothing multiplies by would only be moved out of a mapped file.
TEST_F(Plugin, MultipliesBySmallMatricesThatTheHostMakes) {
  std::mt19937 random(6);
  Registration* made = ggml_backend_init();
  Device* device = made->device(made, 0);
  OwnTensor matrix = random_floats(random, {64, 64, 1, 1});
  OwnTensor input = random_floats(random, {64, 9, 3, 1});
  const OwnTensor output = make_tensor(type_f32, {64, 9, 3, 1});
  Tensor op = make_op(output.tensor, &matrix.tensor, &input.tensor);
  const auto takes = [&] { return device->functions.supports_op(device, &op); };
  EXPECT_FALSE(takes()) << "weights that are in no buffer";
  matrix.tensor.flags = flag_input;
  EXPECT_TRUE(takes());
  Backend* backend = device->functions.make_backend(device, nullptr);
  std::vector<Tensor*> graph = {&op};
  ASSERT_EQ(backend->functions.compute(backend, reinterpret_cast<Graph*>(&graph)), success);
  backend->functions.free(backend);
  for (const size_t row : {0, 8, 26}) {
    for (const size_t column : {0, 63}) {
      const Expected want = expected(type_f32, row_of(matrix, column), row_of(input, row));
      EXPECT_NEAR(float_at(op, column, row % 9, row / 9, 0), want.sum, want.error);
    }
  }
  OwnTensor large = random_floats(random, {64, 260, 1, 1});
  large.tensor.flags = flag_input;
  op = make_op(make_tensor(type_f32, {260, 9, 3, 1}).tensor, &large.tensor, &input.tensor);
  EXPECT_FALSE(takes()) << "a large one";
}

TEST_F(Plugin, LooksUpTokensThatOutputsMayBeMultipliedBy) {
  std::mt19937 random(8);
  Registration* made = ggml_backend_init();
  Device* device = made->device(made, 0);
  OwnTensor source = random_weights(random, type_q8_0, {64, 40, 1, 1});
  OwnTensor numbers = make_tensor(type_i32, {2, 1, 1, 1});
  const int32_t wanted[] = {39, 7};
  std::memcpy(numbers.bytes.data(), wanted, sizeof wanted);
  const OwnTensor output = make_tensor(type_f32, {64, 2, 1, 1});
  Buffer empty = {{}, device->functions.buffer_type(device), nullptr, 0};
  source.tensor.buffer = &empty;
  const auto looks_up = [&](Tensor* weights, const char* name) {
    std::strcpy(weights->name, name);
    Tensor op = make_op(output.tensor, weights, &numbers.tensor);
    op.op = kGetRows;
    return device->functions.supports_op(device, &op);
  };
  EXPECT_TRUE(looks_up(&source.tensor, "token_embd.weight"));
  EXPECT_FALSE(looks_up(&source.tensor, "per_layer_token_embd.weight"));
  EXPECT_FALSE(looks_up(&source.tensor, "position_embd.weight"));
  source.tensor.buffer = nullptr;
  EXPECT_FALSE(looks_up(&source.tensor, "token_embd.weight")) << "in no buffer";
  const auto loaded = load(device, source);
  EXPECT_TRUE(looks_up(&loaded->tensor, "whatever is there already"));

  Tensor op = make_op(output.tensor, &loaded->tensor, &numbers.tensor);
  op.op = kGetRows;
  Backend* backend = device->functions.make_backend(device, nullptr);
  std::vector<Tensor*> graph = {&op};
  EXPECT_EQ(backend->functions.compute(backend, reinterpret_cast<Graph*>(&graph)), success);
  for (const size_t i : {0U, 1U}) {
    EXPECT_EQ(float_at(op, 63, i, 0, 0), row_of(source, static_cast<size_t>(wanted[i])).back());
  }
  backend->functions.free(backend);
}

/// A context would choose unfused attention if the device of its layers, the CPU, did not take the
/// fused one.
TEST_F(Plugin, AttendsAfterTheContextsProbe) {
  Registration* made = ggml_backend_init();
  Device* device = made->device(made, 0);
  AttentionOp one({1, 70}), several({9, 70});
  const auto takes = [&](const AttentionOp& attention) {
    return device->functions.supports_op(device, &attention.op);
  };
  Backend* backend = device->functions.make_backend(device, nullptr);
  EXPECT_FALSE(takes(one));
  EXPECT_FALSE(takes(one)) << "the next layer's";
  EXPECT_TRUE(takes(several));
  EXPECT_TRUE(takes(one));
  Backend* next = device->functions.make_backend(device, nullptr);
  EXPECT_FALSE(takes(one));
  std::vector<Tensor*> graph = {&one.op};
  EXPECT_EQ(next->functions.compute(next, reinterpret_cast<Graph*>(&graph)), success);
  EXPECT_EQ(one.wrong(), "");
  EXPECT_TRUE(takes(one)) << "something was computed";
  backend->functions.free(backend);
  next->functions.free(next);
}

TEST_F(Plugin, AttendsWhereItIsFaster) {
  AttentionOp odd({2, 70, 1, 1, 33, 33}), even({2, 70}), probe({1, 70});
  for (const bool is_test : {false, true}) {
    if (is_test) setenv("TILEWRIGHT_GGML_TEST", "1", 1);
    Registration* made = ggml_backend_init();
    Device* device = made->device(made, 0);
    device->functions.supports_op(device, &probe.op);
    EXPECT_TRUE(device->functions.supports_op(device, &even.op));
    EXPECT_EQ(device->functions.supports_op(device, &odd.op), is_test) << "portable kernels";
  }
}

TEST_F(Plugin, HostsWithoutAttentionAreServed) {
  fake_host.has_attention = false;
  Registration* made = ggml_backend_init();
  ASSERT_NE(made, nullptr);
  Device* device = made->device(made, 0);
  AttentionOp attention({2, 70});
  EXPECT_FALSE(device->functions.supports_op(device, &attention.op));
}

TEST_F(Plugin, TakesRowsThatAreNotPacked) {
  OwnTensor a = make_tensor(type_f32, {64, 4, 1, 1}), b = make_tensor(type_f32, {64, 1, 1, 1});
  Tensor sum = a.tensor;
  sum.op = kAddNumber;
  sum.src[0] = &a.tensor;
  sum.src[1] = &b.tensor;
  std::mt19937 random(8);
  Registration* made = ggml_backend_init();
  Device* device = made->device(made, 0);
  EXPECT_TRUE(device->functions.supports_op(device, &sum));
  const auto packed = load(device, random_weights(random, type_f32, {64, 40, 1, 1}));
  sum.src[1] = &packed->tensor;
  EXPECT_FALSE(device->functions.supports_op(device, &sum));
}

TEST_F(Plugin, HasTheHostsThreadsWhereTheyAreOpenMps) {
  if (dlopen("libgomp.so.1", RTLD_LAZY | RTLD_GLOBAL) == nullptr) GTEST_SKIP() << dlerror();
  const auto said = [] {
    setenv("TILEWRIGHT_LOG", "1", 1);
    testing::internal::CaptureStderr();
    EXPECT_NE(ggml_backend_init(), nullptr);
    unsetenv("TILEWRIGHT_LOG");
    return testing::internal::GetCapturedStderr();
  };
  const std::string own = "threads: our own", openmps = "threads: OpenMP's";
  fake_host.features = Features::with_openmp;
  EXPECT_NE(said().find(openmps), std::string::npos);
  setenv("TILEWRIGHT_GGML_THREADS", "own", 1);
  EXPECT_NE(said().find(own), std::string::npos);
  unsetenv("TILEWRIGHT_GGML_THREADS");
  fake_host.features = Features::without_openmp;
  EXPECT_NE(said().find(own), std::string::npos);
}

// Marked ones only, of hosts that mark any: inputs of others hold anything.
TEST_F(Plugin, ComputesWhatIsNeeded) {
  fake_host.features = Features::without_openmp;
  Registration* made = ggml_backend_init();
  Device* device = made->device(made, 0);
  OwnTensor rows = make_tensor(type_f32, {64, 2, 1, 1}),
            numbers = make_tensor(type_i32, {1, 1, 1, 1});
  std::memset(rows.bytes.data(), 0, rows.bytes.size());
  std::memset(numbers.bytes.data(), 0x55, numbers.bytes.size());
  const OwnTensor found = make_tensor(type_f32, {64, 1, 1, 1});
  Tensor lookup = found.tensor, copy = make_tensor(type_f32, {64, 2, 1, 1}).tensor;
  lookup.op = kGetRows;
  lookup.src[0] = &rows.tensor;
  lookup.src[1] = &numbers.tensor;
  const OwnTensor target = make_tensor(type_f32, {64, 2, 1, 1});
  copy = target.tensor;
  copy.op = kCpyNumber;
  copy.src[0] = &rows.tensor;
  Backend* backend = device->functions.make_backend(device, nullptr);
  std::vector<Tensor*> graph = {&lookup, &copy};
  const auto status = [&] {
    testing::internal::CaptureStderr();
    const Status got = backend->functions.compute(backend, reinterpret_cast<Graph*>(&graph));
    testing::internal::GetCapturedStderr();
    return got;
  };
  EXPECT_EQ(status(), failed);
  copy.flags = flag_compute;
  EXPECT_EQ(status(), success);
  backend->functions.free(backend);
}

TEST_F(Plugin, TestModeTakesWeightsAnywhere) {
  setenv("TILEWRIGHT_GGML_TEST", "1", 1);
  Registration* made = ggml_backend_init();
  Device* device = made->device(made, 0);
  OwnTensor weights = make_tensor(type_f16, {64, 4, 1, 1});
  OwnTensor input = make_tensor(type_f32, {64, 2, 1, 1});
  Tensor op = make_op(make_tensor(type_f32, {4, 2, 1, 1}).tensor, &weights.tensor, &input.tensor);
  EXPECT_TRUE(device->functions.supports_op(device, &op));
}

TEST_F(Plugin, NumbersOfExpertsThatAreNotThereAreAnError) {
  std::mt19937 random(5);
  Registration* made = ggml_backend_init();
  Device* device = made->device(made, 0);
  const OwnTensor weights = random_weights(random, type_q8_0, {64, 40, 3, 1});
  const auto loaded = load(device, weights);
  OwnTensor input = random_floats(random, {64, 1, 1, 1});
  OwnTensor ids = make_tensor(type_i32, {1, 1, 1, 1});
  const int32_t expert = 3;
  std::memcpy(ids.bytes.data(), &expert, sizeof expert);
  const OwnTensor output = make_tensor(type_f32, {40, 1, 1, 1});
  Tensor op = make_op(output.tensor, &loaded->tensor, &input.tensor, &ids.tensor);
  Backend* backend = device->functions.make_backend(device, nullptr);
  std::vector<Tensor*> graph = {&op};
  testing::internal::CaptureStderr();
  EXPECT_EQ(backend->functions.compute(backend, reinterpret_cast<Graph*>(&graph)), failed);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("expert 3"), std::string::npos);
  backend->functions.free(backend);
}

TEST_F(Plugin, BuffersRefuseWhatCanNotBePacked) {
  Registration* made = ggml_backend_init();
  Device* device = made->device(made, 0);
  BufferType* type = device->functions.buffer_type(device);
  Buffer* buffer = calls_of(type).allocate(type, 4096);
  OwnTensor other = make_tensor(type_i32, {64, 4, 1, 1});
  testing::internal::CaptureStderr();
  EXPECT_EQ(buffer->functions.init_tensor(buffer, &other.tensor), failed);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("type 26"), std::string::npos);
  buffer->functions.free(buffer);
  delete buffer;
}

}  // namespace
}  // namespace tw::ggml
