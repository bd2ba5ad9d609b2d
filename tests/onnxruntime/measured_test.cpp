// Which nodes are ours by measurement, with sessions of a runtime that these tests play.
#include "integrations/onnxruntime/measured.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "integrations/onnxruntime/one_node.h"

namespace tw::onnxruntime {
namespace {

struct PlayedSessions {
  std::vector<std::string> models;
  bool refuses = false;
  std::chrono::milliseconds time_of_a_product{0};
  std::vector<float> numbers = std::vector<float>(1 << 16);
};
PlayedSessions* played = nullptr;

template <class Type>
Type* as(size_t number) {
  return reinterpret_cast<Type*>(number);
}

Status* create_session(const Environment*, const void* model, size_t bytes, const SessionOptions*,
                       Session** out) {
  if (played->refuses) return as<Status>(1);
  played->models.emplace_back(static_cast<const char*>(model), bytes);
  *out = as<Session>(played->models.size());
  return nullptr;
}

/// Products take their time, what a session costs otherwise is nothing.
Status* run(Session* session, const RunOptions*, const char* const*, const Value* const*, size_t,
            const char* const*, size_t, Value** outputs) {
  const std::string& model = played->models[reinterpret_cast<size_t>(session) - 1];
  const bool is_product = model.find("Identity") == std::string::npos;
  if (is_product) std::this_thread::sleep_for(played->time_of_a_product);
  outputs[0] = as<Value>(1);
  return nullptr;
}

Api sessions() {
  Api api = {};
  api.create_environment = [](int32_t, const char*, Environment** out) -> Status* {
    *out = as<Environment>(1);
    return nullptr;
  };
  api.create_options = [](SessionOptions** out) -> Status* {
    *out = as<SessionOptions>(1);
    return nullptr;
  };
  api.set_threads = [](SessionOptions*, int) -> Status* { return nullptr; };
  api.create_session = create_session;
  api.run = run;
  api.default_allocator = [](Allocator**) -> Status* { return nullptr; };
  api.create_tensor = [](Allocator*, const int64_t*, size_t, int32_t, Value** out) -> Status* {
    *out = as<Value>(1);
    return nullptr;
  };
  api.mutable_data = [](Value*, void** out) -> Status* {
    *out = played->numbers.data();
    return nullptr;
  };
  api.message_of_status = [](const Status*) { return "no such operator"; };
  api.release_status = [](Status*) {};
  api.release_environment = [](Environment*) {};
  api.release_session = [](Session*) {};
  api.release_value = [](Value*) {};
  api.release_options = [](SessionOptions*) {};
  return api;
}

class MeasuredTest : public testing::Test {
 protected:
  MeasuredTest() {
    played = &runtime;
    node.operation = "FusedMatMul";
    node.maker = "com.microsoft";
    node.inputs = {{"rows", type_f32, true, {4, 64}, nullptr},
                   {"weights", type_f32, true, {64, 32}, weights.data()}};
    node.outputs = {{"sums", type_f32, true, {4, 32}, nullptr}};
    node.integers = {{"transB", 0}};
    node.floats = {{"alpha", 2.0F}};
  }
  bool is_ours() { return measured.is_ours(api, node, describe(node)); }

  PlayedSessions runtime;
  std::vector<float> weights = std::vector<float>(64 * 32, 0.5F);
  NodeFacts node;
  const Api api = sessions();
  Measured measured;
};

TEST_F(MeasuredTest, TakesWhatWeDoFaster) {
  runtime.time_of_a_product = std::chrono::milliseconds(20);
  EXPECT_TRUE(is_ours());
}

TEST_F(MeasuredTest, LeavesWhatTheRuntimeDoesFaster) {
  weights.resize(size_t{64} * 4096);
  node.inputs[0].shape = {200, 64};
  node.inputs[1].shape = {64, 4096};
  node.inputs[1].data = weights.data();
  EXPECT_FALSE(is_ours());
}

TEST_F(MeasuredTest, KnowsWhatItHasMeasured) {
  is_ours();
  const size_t sessions = runtime.models.size();
  is_ours();
  EXPECT_EQ(runtime.models.size(), sessions);
  node.inputs[0].shape = {8, 64};
  is_ours();
  EXPECT_EQ(runtime.models.size(), 2 * sessions);
}

TEST_F(MeasuredTest, TakesOneRowAndManyWhereRowsAreOpen) {
  runtime.time_of_a_product = std::chrono::milliseconds(20);
  node.inputs[0].shape = {-1, -1, 64};
  EXPECT_TRUE(is_ours());
  ASSERT_EQ(runtime.models.size(), 4U);
  // dim_value: 1, 1 and 64, then 1, 128 and 64, each behind its length
  EXPECT_NE(runtime.models[0].find("\x0a\x02\x08\x01\x0a\x02\x08\x01\x0a\x02\x08\x40"),
            std::string::npos);
  EXPECT_NE(runtime.models[2].find("\x0a\x02\x08\x01\x0a\x03\x08\x80\x01\x0a\x02\x08\x40"),
            std::string::npos);
}

/// Two names of one constant, an input that is a number, attributes of all kinds.
TEST_F(MeasuredTest, WritesWhatTheNodeIs) {
  const std::vector<uint8_t> codes = {7, 9};
  node.inputs.push_back({"codes", type_u8, true, {2}, codes.data()});
  node.inputs.push_back({"", type_none, false, {}, nullptr});
  node.inputs.push_back({"codes", type_u8, true, {2}, codes.data()});
  node.lists = {{"pads", {1, 300}}};
  node.words = {{"auto_pad", "NOTSET"}};
  const std::string model = model_of(node, {4, 64});
  const auto count = [&](const std::string& bytes) {
    size_t found = 0;
    for (size_t at = model.find(bytes); at != std::string::npos; at = model.find(bytes, at + 1)) {
      ++found;
    }
    return found;
  };
  using namespace std::string_literals;
  EXPECT_EQ(count("\x22\x0b"
                  "FusedMatMul"s),
            1U);
  EXPECT_EQ(count("\x3a\x0d"
                  "com.microsoft"s),
            1U);
  EXPECT_EQ(count("\x0a\x05"
                  "codes"s),
            2U);                      // both inputs
  EXPECT_EQ(count("\x0a\x00"s), 2U);  // the omitted one, and whose ONNX's own operators are
  EXPECT_EQ(count("\x42\x05"
                  "codes\x4a\x02\x07\x09"s),
            1U);  // the constant
  EXPECT_EQ(count("\x0a\x06"
                  "transB\x18\x00\xa0\x01\x02"s),
            1U);  // an INT
  EXPECT_EQ(count("\x0a\x05"
                  "alpha\x15\x00\x00\x00\x40\xa0\x01\x01"s),
            1U);  // a FLOAT
  EXPECT_EQ(count("\x0a\x04"
                  "pads\x40\x01\x40\xac\x02\xa0\x01\x07"s),
            1U);  // INTS
  EXPECT_EQ(count("\x0a\x08"
                  "auto_pad\x22\x06NOTSET\xa0\x01\x03"s),
            1U);  // a STRING
}

/// And says so however often it is asked.
TEST_F(MeasuredTest, RefusesWhatTheRuntimeDoesNotRunAlone) {
  runtime.refuses = true;
  for (int i = 0; i < 2; ++i) {
    try {
      is_ours();
      ADD_FAILURE() << "it was measured";
    } catch (const Refused& refused) {
      EXPECT_STREQ(refused.what(), "the runtime does not run it alone (no such operator)");
    }
  }
}

TEST_F(MeasuredTest, RefusesImagesOfAnySize) {
  Layer layer = describe(node);
  layer.window.emplace();
  node.inputs[0].shape = {1, 64, -1, -1};
  EXPECT_THROW(measured.is_ours(api, node, layer), Refused);
}

}  // namespace
}  // namespace tw::onnxruntime
