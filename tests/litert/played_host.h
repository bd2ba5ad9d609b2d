// What TensorFlow Lite does with a delegate, as far as these tests need it: tensors in memory of
// their own, neighbors that were replaced become one node, one operation of its own (RELU).
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "integrations/litert/litert_abi.h"
#include "litert/models/model.h"

namespace tw::litert {

class PlayedHost {
 public:
  /// `model` stays where it is.
  PlayedHost(const Model& model, int threads);
  ~PlayedHost();
  PlayedHost(const PlayedHost&) = delete;
  PlayedHost& operator=(const PlayedHost&) = delete;

  Status apply(Delegate& delegate);
  /// Before prepare().
  void resize_input(const std::vector<int32_t>& shape);
  Status prepare();
  Status invoke();
  /// The outputs' shapes are those that the model says.
  [[nodiscard]] bool has_declared_outputs() const;

  std::vector<uint8_t>& bytes(int32_t tensor) { return memory_[static_cast<size_t>(tensor)]; }
  [[nodiscard]] size_t replaced() const { return replaced_; }
  [[nodiscard]] const std::string& messages() const { return messages_; }

 private:
  struct Step {  ///< of the plan
    Node node = {};
    Registration registration = {};
    std::vector<Ints*> lists;  ///< that are this node's own
  };
  friend struct Callbacks;
  struct Free {
    void operator()(Ints* list) const { std::free(list); }
  };
  struct Ends {  ///< of a part
    std::vector<int32_t> inputs, outputs;
  };

  void set_tensor(size_t i);
  void add_to_plan(int32_t node);
  int32_t add_node(const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs);
  void add_part(const std::vector<int32_t>& nodes, const Registration& registration,
                Delegate* delegate);
  [[nodiscard]] Ends ends_of(const std::vector<int32_t>& nodes) const;
  [[nodiscard]] bool is_read_elsewhere(int32_t tensor, const std::vector<int32_t>& nodes) const;
  void allocate();
  Status run_own(const Step& step);

  const Model& model_;
  Context context_ = {};
  std::vector<Tensor> tensors_;
  std::vector<AffineQuantization> quantizations_;
  std::vector<std::vector<uint8_t>> memory_;
  std::vector<std::unique_ptr<Step>> nodes_;
  Ints* plan_ = nullptr;
  Partition preview_ = {};
  std::unique_ptr<Ints, Free> preview_outputs_;
  size_t replaced_ = 0;
  std::string messages_;
};

}  // namespace tw::litert
