// One tuning of a device at a time: two would measure each other.
#pragma once

namespace tw::tuner {

/// Held by this process and its children, gone with the last of them, however they end. It is a
/// name of the kernel's (a socket's abstract address), so it needs no folder and leaves no file.
class DeviceLock {
 public:
  /// Waits so many seconds for a holder that is ending: one whose connection was cut notices at its
  /// next line. Throws std::runtime_error that says who holds it. The environment variable
  /// TILEWRIGHT_LOCK is another name for it: tunings under unlike names do not see each other.
  explicit DeviceLock(double patience = 30);
  ~DeviceLock();
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;

 private:
  int socket_ = -1;
};

}  // namespace tw::tuner
