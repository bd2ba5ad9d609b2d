// A network of this process's own: servers in it can be reached by nobody else.
#pragma once

#include <string>

namespace tw::tuner {

/// Leaves the machine's network and mounts for good, with nothing but a loopback device. "": done
/// (again), or why the system does not allow it.
std::string enter_private_network();

/// Silence on the loopback device, or not.
void set_loopback(bool up);

/// A file system of 64 KB, in a folder that it makes.
class SmallDisk {
 public:
  SmallDisk(const std::string& folder, bool programs_may_run);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

 private:
  std::string folder_;
};

}  // namespace tw::tuner
