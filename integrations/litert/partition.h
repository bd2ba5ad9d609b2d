// Neighbors in the host's graph that are ours: to the host, one node.
#pragma once

#include <map>
#include <vector>

#include "integrations/common/product.h"
#include "integrations/litert/claims.h"

namespace tw::litert {

/// Tensors between our own nodes, which the host gives no memory.
class Between {
 public:
  /// Of operations in their order; `outputs` are the host's. Sizes are those of now.
  void place(const Context& context, const std::vector<Operation>& operations, const Ints& outputs);
  void* find(int32_t tensor);  ///< null: not one of them

 private:
  std::map<int32_t, size_t> offsets_;
  std::vector<uint8_t> memory_;
};

class OurNodes {
 public:
  /// Takes those of the partition.
  OurNodes(Claims& claims, const Partition& partition, int threads);
  /// Throw Refused, tilewright::Error or std::bad_alloc.
  void prepare(Context& context, const Node& node);
  void run(Context& context);

 private:
  std::vector<Operation> operations_;  ///< in order
  std::vector<int32_t> unread_;        ///< outputs that nobody reads any longer
  Between between_;
  Scratch scratch_;
  int threads_;  ///< 0: the interpreter's
};

}  // namespace tw::litert
