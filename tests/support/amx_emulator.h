// Intel's tiles on machines that have none: the instructions trap, and are executed here by their
// definition (Intel's manual, volume 2), which shares no code with the interpreter. Linux only.
#pragma once

namespace tw::test {

/// How code with tiles runs in this process.
enum class Tiles { none, emulated, native };

/// Asks the system for tiles the first time. Emulated: where vectors of 512 bits are native.
Tiles tiles_here();

/// In a handler of SIGILL, whose third argument `context` is: executes the instruction that
/// trapped, if it is one of tiles and legal, and moves on behind it. False: it is not, or the
/// machine would have faulted.
bool emulate_tiles(void* context);

/// Where tiles are emulated: has that done by a handler of SIGILL, for code that is called without
/// call_checked(), whose handler does it anyway. Others get what is none of tiles.
void install_tiles();

/// Has this thread shapes for tiles that nobody released, natively or emulated? Releases them.
bool release_tiles();

/// Rows that this thread has stored from tiles across two cache lines since the last call, which
/// takes a CPU several times as long; 0 where tiles are native.
int take_split_rows();

}  // namespace tw::test
