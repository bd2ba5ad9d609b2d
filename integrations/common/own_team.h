// Threads of our own, for hosts without OpenMP. They belong to the process; callers that come at
// the same time have different ones. A thread that has not begun when all is done is not waited
// for: where other processes have the cores, that is most of what parallel work would wait for.
#pragma once

namespace tw {

/// Those that this process may run on.
int available_cores();
/// As run_team; never on more threads than there are cores.
void run_own_team(int threads, void (*body)(void*), void* data);
/// From here to dismiss_own_team(), this thread's calls have the same threads, which stay awake for
/// a while after each.
void gather_own_team();
void dismiss_own_team();

}  // namespace tw
