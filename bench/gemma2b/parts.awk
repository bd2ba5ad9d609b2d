# SPDX-License-Identifier: Apache-2.0
# Adds up the instructions that kernels and packers of activations retire between calls of
# tw_gemma_part(): a line "KERNELS PACKERS" for each part.
#
#   awk -f measure/qemu_blocks.awk -f parts.awk LOG
/^Trace/ {
  at = traced()
  if (!(at in sizes)) {
    print "no instructions of a block at " at >"/dev/stderr"
    exit 1
  }
  if ($NF == "tw_gemma_part") {
    if (parts++) printf "%.0f %.0f\n", kernels, packers
    kernels = packers = 0
  } else if ($NF ~ /_lhs_pack_/) {
    packers += sizes[at]
  } else {
    kernels += sizes[at]
  }
}
