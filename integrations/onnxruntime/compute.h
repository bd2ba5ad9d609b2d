// A node that the host made of one of ours.
#pragma once

#include <mutex>

#include "integrations/onnxruntime/host.h"
#include "integrations/onnxruntime/operation.h"

namespace tw::onnxruntime {

/// Memory for a call's inputs as kernels read them, and for what is packed of them.
struct CallMemory {
  Scratch inputs, packed;
};

/// A session's: as many as calls have run at the same time.
class MemoryPool {
 public:
  std::unique_ptr<CallMemory> take();
  void put_back(std::unique_ptr<CallMemory> memory);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<CallMemory>> idle_;
};

struct Settings {
  int threads = 0;            ///< of our own; 0: those of the session
  bool convolutions = false;  ///< whether they are ours
  bool measure = false;       ///< whether what the runtime does faster is left to it
};

class Compute : public NodeCompute {
 public:
  /// `inputs` are the made node's: constants that are packed are not among them.
  Compute(const Api& api, Layer layer, std::shared_ptr<const PackedWeights> weights,
          const std::vector<std::string>& inputs, const Settings& settings, MemoryPool& memory);
  /// Throws HostFailed, Refused, tilewright::Error or std::bad_alloc.
  void run(KernelContext* context);
  [[nodiscard]] const Api& api() const { return api_; }

 private:
  struct Places {
    std::optional<size_t> input, bias, scale, zero;
  };
  [[nodiscard]] const Value* value(const KernelContext* context, size_t input) const;
  [[nodiscard]] const void* data(const KernelContext* context, size_t input) const;
  /// One number of an input, or the layer's.
  [[nodiscard]] float number(const KernelContext* context, const Number& number,
                             const std::optional<size_t>& place) const;
  [[nodiscard]] Threads threads(const KernelContext* context) const;

  const Api& api_;
  const Layer layer_;
  const std::shared_ptr<const PackedWeights> weights_;
  Places at_;
  const Settings settings_;
  MemoryPool& memory_;
};

}  // namespace tw::onnxruntime
