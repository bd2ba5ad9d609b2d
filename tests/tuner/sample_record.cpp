#include "tuner/sample_record.h"

#include <fmt/format.h>

#include "tuner/checksum.h"

namespace tw::tuner::test {

Record sample_record() {
  Record record;
  record.time = "2026-11-22T04:05:06Z";
  record.tool = "tilewright 0.1.0";
  record.device = "Pixel \"8\" \xc3\xa9";
  record.virtual_machine = true;
  record.core = {"Cortex-X3", 0x411fd4e0, 1,       2,           3,  2914, 1024,
                 64 << 10,    512 << 10,  4 << 20, "neon i8mm", 16, 32};
  record.problem = {"matmul_clamp_f32_qsi8d32p_qsi4c32p", 4096, 2048, 32, "f16", 128};
  record.regime = Regime::hot;
  record.threads = 2;
  record.measured_n = 1024;
  record.ran = {"tw_matmul_x_asm",
                0x8000000000000001,
                "neon_i8mm",
                0xfedcba9876543210,
                "gcc 12.2.0",
                256,
                64,
                "rows",
                1024,
                "no"};
  record.outcome = Outcome::ok;
  record.ns = {1234.5, 1200.25, 1190.1, {1234.5, 1190.1, 1e6 / 3}};
  record.ratio = {1.05, 1.01, 1.09, 40};
  record.baseline = "0123456789abcdef";
  record.ghz = 2.9;
  record.peak_gmacs = 119.5;
  record.read_gbs = 31.25;
  record.rhs_bytes = 16908288;
  record.dropped = 3;
  record.good = false;
  return record;
}

std::string signed_line(const std::string& members) {
  return fmt::format("{},\"crc\":\"{:08x}\"}}", members, crc32c(members));
}

std::string unsigned_part(const std::string& line) {
  return line.substr(0, line.rfind(",\"crc\":"));
}

}  // namespace tw::tuner::test
