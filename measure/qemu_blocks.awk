# SPDX-License-Identifier: Apache-2.0
# Reads a log of QEMU's -d exec,nochain,in_asm for an awk file beside it: the instructions of a
# block stand there when it is translated, "Trace" each time that it runs. sizes[ADDRESS]: how many
# a block has; traced(): the address of the block that this line says runs.
function address(text) {
  sub(/^0x/, "", text)
  sub(/^0+/, "", text)
  return text
}
function traced(parts) {
  split($0, parts, "/")
  return address(parts[2])
}
/^IN:/ {
  block = ""
  next
}
/^0x/ {
  sub(/:.*/, "")
  if (block == "") {
    block = address($0)
    sizes[block] = 0
  }
  ++sizes[block]
  next
}
