// The kinds of benchmark. All but the comparison of records register with Google Benchmark;
// main.cpp runs them and prints their results in the columns given here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/limited_race.h"
#include "model/workload.h"
#include "session.h"
#include "table.h"

namespace tw::bench {

/// Counters of a row of a table: the limit of m rows by a kernel, the share of it that `rate` is,
/// and the limit with loads.
void set_limits(benchmark::State& state, const LimitedRace& race, size_t m, const tw_kernel& kernel,
                double rate);

/// Layers of a model through the run-time API, the plan's choice of kernels.
void register_workload(const Session& session, const Workload& workload);
Table workload_table();

/// Kernels by registry row, streamed and hot; those printed twice side by side.
struct KernelRequest {
  std::string kernel;  ///< name of a registry row; empty: all rows that this CPU runs
  std::string isa;     ///< only rows of this ISA; empty: all
  size_t m = 0;        ///< 0: the tile's for streamed weights, 128 for hot ones
  size_t n = 2048, k = 2048;
  std::optional<size_t> rhs_prefetch = {};  ///< bytes, 0: none; nothing: the plan's choice
};
void register_kernels(const Session& session, const KernelRequest& request);
Table kernel_table();

/// Convolutions through tables of rows, against plain products.
void register_convolutions(const Session& session);
Table convolution_table();

/// Depthwise convolutions of every family, images in cache and from memory.
void register_depthwise(const Session& session);
Table depthwise_table();

/// Attention: one query, and prompts.
void register_attention(const Session& session);
Table attention_table();

/// Single positions of keys and values, written into packed weights.
void register_appends(const Session& session);
Table append_table();

/// Gate and up in one call, against two.
void register_gated(const Session& session);
Table gated_table();

/// The workload as the plan alone runs it and as each file of records has it run; prints the table.
void compare_records(const Session& session, const Workload& workload,
                     const std::vector<std::string>& paths);

/// Packers by registry row, against memcpy on the same buffers; of a family's layouts, or all.
void register_packers(const Session& session, const std::string& family);
Table packer_table();

}  // namespace tw::bench
