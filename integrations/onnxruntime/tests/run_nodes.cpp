// Times single nodes of realistic shapes in an ONNX Runtime, with our provider and without, on one
// thread:
//
//   run_onnx_nodes LIBRARY PLUGIN FOLDER RUNS
//
// Models are written to FOLDER. Prints for each node its name, both sides' microseconds of the best
// run, and how many times as fast ours is. Fails where an output of ours is not what plain loops
// give.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>

#include "integrations/onnxruntime/tests/session.h"
#include "onnxruntime/models/cases.h"

namespace tw::onnxruntime {
namespace {

struct NamedCase {
  std::string name;
  Case of;
};

std::vector<NamedCase> named_cases() {
  std::mt19937 random(20);
  std::vector<NamedCase> made;
  for (const int64_t rows : {128, 1}) {
    const std::string with_rows = ", " + std::to_string(rows) + " rows";
    const auto add = [&](const char* name, Case of) {
      made.push_back({name + with_rows, std::move(of)});
    };
    constexpr int64_t kSize = 1024, kBlock = 32;
    add("MatMulNBits 4, level 4", nbits_case({{rows}, kSize, kSize, kBlock, 4, false}, random));
    add("MatMulNBits 8, level 4", nbits_case({{rows}, kSize, kSize, kBlock, 8, false}, random));
    add("MatMulNBits 4, level 0",
        nbits_case({{rows}, kSize, kSize, kBlock, 4, true, false, 0}, random));
    add("MatMul", floats_case({"MatMul", {rows}, kSize, kSize}, random));
    for (const char* name :
         {"DynamicQuantizeMatMul", "MatMulIntegerToFloat", "QLinearMatMul", "MatMulInteger"}) {
      add(name, integers_case({name, {rows}, kSize, kSize}, random));
    }
  }
  made.push_back({"QLinearConv 3 x 3",
                  images_case({1, 64, 56, 56, 64, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}, random)});
  made.push_back({"QLinearConv 1 x 1", images_case({1, 256, 28, 28, 256}, random)});
  return made;
}

void check_outputs(const NamedCase& named, const Tensor& output) {
  const auto floats = values_of<float>(output);
  const auto sums = values_of<int32_t>(output);
  for (size_t i = 0; i < named.of.wanted.size(); ++i) {
    const double found = output.type == f32   ? double{floats[i]}
                         : output.type == i32 ? static_cast<double>(sums[i])
                                              : output.bytes[i];
    if (!(std::abs(found - named.of.wanted[i]) <= named.of.bounds[i])) {
      throw std::runtime_error(named.name + " is wrong");
    }
  }
}

/// Microseconds of the best run. Outputs are checked if they are ours: the runtime's own products
/// of u8 by s8 saturate on CPUs without VNNI.
double time_of(const Runtime& runtime, const std::string& model, const NamedCase& named, int runs,
               const ProviderOptions& options, bool is_ours) {
  const Runtime::Session session = runtime.open(model, options);
  Tensor input = named.of.inputs[0];
  const Runtime::Value value = runtime.value_of(input);
  double best = 0;
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto out = runtime.run(session.get(), {"a"}, {value.get()}, {"y"});
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (i == 0 || took.count() < best) best = took.count();
    if (i == 0 && is_ours) check_outputs(named, runtime.tensor_of("y", out[0].get()));
  }
  return best;
}

void run(const std::string& library, const std::string& plugin, const std::string& folder,
         int runs) {
  SessionChoice theirs, ours;
  theirs.library = ours.library = library;
  ours.provider = plugin;
  const std::vector<NamedCase> cases = named_cases();
  const std::string model = folder + "/node.onnx";
  const Runtime without_us(theirs), with_us(ours);
  for (const NamedCase& named : cases) {
    write_model(model, named.of.model);
    const double built_in = time_of(without_us, model, named, runs, {}, false);
    const double own = time_of(with_us, model, named, runs, {{"convolutions", "1"}}, true);
    const double chosen = time_of(with_us, model, named, runs, {{"measure", "1"}}, false);
    std::printf("%-34s %9.0f %9.0f %6.2fx %9.0f %6.2fx\n", named.name.c_str(), built_in, own,
                built_in / own, chosen, built_in / chosen);
  }
}

}  // namespace
}  // namespace tw::onnxruntime

int main(int count, char** words) {
  try {
    if (count != 5) throw std::invalid_argument("run_onnx_nodes LIBRARY PLUGIN FOLDER RUNS");
    tw::onnxruntime::run(words[1], words[2], words[3], std::stoi(words[4]));
    return EXIT_SUCCESS;
  } catch (const std::exception& failure) {
    std::cerr << "run_onnx_nodes: " << failure.what() << "\n";
    return EXIT_FAILURE;
  }
}
