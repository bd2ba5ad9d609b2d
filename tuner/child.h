// A child process, read line by line.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tw::tuner {

using Line = std::function<void(const std::string&)>;

/// Hands on the whole lines that `text` begins with and takes them out of it.
void hand_on_lines(std::string& text, const Line& on_line);

/// "SIGILL"
std::string signal_name(int signal);

/// What can be run: a program's path and its arguments.
using Words = std::vector<std::string>;

struct Exit {
  int status = 0;      ///< exit status; 128 + n: signal n ended it, as shells say that
  std::string errors;  ///< the last few KB of what it wrote to stderr
};

/// From here on SIGINT, SIGTERM and SIGHUP only end what run_and_read waits for, so that whoever
/// called it can clean up; until destruction.
class SignalsHeldBack {
 public:
  SignalsHeldBack();
  ~SignalsHeldBack();
  SignalsHeldBack(const SignalsHeldBack&) = delete;
  SignalsHeldBack& operator=(const SignalsHeldBack&) = delete;
};

struct Interrupted {
  int signal;
};

/// Runs a command with the file `input` as its stdin ("": nothing), until it ends; hands on every
/// line of its stdout as it comes, but no last one without an end. `on_error` gets those of stderr.
/// The child ends when this process does or `on_line` throws. Throws Interrupted, and
/// std::system_error when the command can not be run.
Exit run_and_read(const Words& words, const std::string& input, const Line& on_line,
                  const Line& on_error);

}  // namespace tw::tuner
