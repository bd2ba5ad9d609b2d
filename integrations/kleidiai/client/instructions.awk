# SPDX-License-Identifier: Apache-2.0
# Adds up the instructions that micro-kernels retire, called functions of the same file with them:
#
#   awk -f measure/qemu_blocks.awk -f instructions.awk COUNTS LOG
#
# COUNTS: what count.so wrote. LOG: of QEMU, with -d exec,nochain,in_asm, for the micro-kernels' file
# and what they return to.
NR == FNR {
  if ($2 ~ /^kai_run_(i?matmul|dwconv)_/) {
    begins[address($5)] = 1
    returns[address($6)] = 1
  }
  next
}
/^Trace/ {
  at = traced()
  if (at in begins) inside = 1
  if (at in returns) inside = 0
  if (inside) total += sizes[at]
}
END { printf "%d\n", total }
