#include <gmock/gmock.h>

#include <fstream>

#include "target/private_network.h"
#include "target/remote_fixture.h"

namespace tw::tuner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Lines = std::vector<std::string>;

/// What holds however a target is reached.
class RemoteTarget : public RemoteTest, public testing::WithParamInterface<Far> {};
INSTANTIATE_TEST_SUITE_P(Over, RemoteTarget, testing::Values(Far::ssh, Far::adb),
                         [](const auto& info) { return info.param == Far::ssh ? "ssh" : "adb"; });

class SshTarget : public RemoteTest {};
class AdbTarget : public RemoteTest {};

constexpr const char* kEndless =
    "i=0; while [ $i -lt 1000 ]; do echo \"{$i}\"; i=$((i + 1)); sleep 0.05; done";

TEST_P(RemoteTarget, HandsOnItsLinesAndRemovesWhatItBrought) {
  if (!start(GetParam())) return;
  const std::string program = script("cat \"$1\"; echo; echo warning >&2; pwd | sed 's/.*/{&}/'");
  const Lines lines = run(far_->target(), program);
  EXPECT_EQ(error_, "");
  EXPECT_THAT(lines, ElementsAre("{\"the\": \"job\"}", HasSubstr(scratch_)));
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_P(RemoteTarget, TheProgramArrivesWhole) {
  if (!start(GetParam())) return;
  const std::string program = script("sha256sum <\"$0\" | sed 's/.*/{&}/'; exit\n");
  std::ofstream big(program, std::ios::app | std::ios::binary);
  for (unsigned i = 0, x = 1; i < 3'000'000; ++i)
    big.put(static_cast<char>((x = x * 69069 + 1) >> 24));
  big.close();
  const Lines here = run({}, program);
  EXPECT_EQ(run(far_->target(), program), here);
  EXPECT_EQ(error_, "");
}

TEST_P(RemoteTarget, AFailureSaysWhatTheProgramSaid) {
  if (!start(GetParam())) return;
  EXPECT_EQ(run(far_->target(), script("echo '{\"a\": 1}'; echo boom >&2; exit 3")),
            Lines{"{\"a\": 1}"});
  EXPECT_EQ(error_, to_text(far_->target()) + ": ended with status 3: boom");
  EXPECT_EQ(run(far_->target(), script("echo '{\"a\": 1}'; kill -KILL $$")), Lines{"{\"a\": 1}"});
  EXPECT_THAT(error_, HasSubstr("killed (SIGKILL); was memory short?"));
}

TEST_P(RemoteTarget, ACutConnectionKeepsWhatCameAndCleansUpThere) {
  if (!start(GetParam())) return;
  int count = 0;
  on_line_ = [&](const std::string&) {
    if (++count == 3) far_->cut();
  };
  const Lines lines = run(far_->target(), script(kEndless));
  EXPECT_GE(lines.size(), 3U);
  EXPECT_LT(lines.size(), 100U);
  EXPECT_EQ(lines[2], "{2}");
  EXPECT_THAT(error_, HasSubstr(to_text(far_->target()) + ": the connection was lost"));
  EXPECT_TRUE(comes_true([this] { return leftovers().empty(); }));
  on_line_ = [](const std::string&) {};
  far_->serve();
  EXPECT_EQ(run(far_->target(), script("echo '{\"a\": 1}'")), Lines{"{\"a\": 1}"});
  EXPECT_EQ(error_, "");
}

TEST_P(RemoteTarget, AnErrorOfTheReaderStopsTheProgramThere) {
  if (!start(GetParam())) return;
  on_line_ = [](const std::string&) { throw std::runtime_error("the file of records is full"); };
  EXPECT_THROW(run(far_->target(), script(kEndless)), std::runtime_error);
  EXPECT_TRUE(comes_true([this] { return leftovers().empty(); }));
}

TEST_P(RemoteTarget, AProgramForAnotherProcessorIsNotBrought) {
  if (!start(GetParam())) return;
  run(far_->target(), arm_program());
  EXPECT_THAT(error_, HasSubstr(to_text(far_->target()) + " is Linux x86_64, but "));
  EXPECT_THAT(error_, HasSubstr("arm_program is for Linux aarch64; `cmake --preset host"));
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_P(RemoteTarget, AFullDiskThere) {
  if (!start(GetParam())) return;
  const std::string folder = (folder_ / "small").string();
  const SmallDisk disk(folder, true);
  set_environment("TILEWRIGHT_TARGET_FOLDER", folder);
  const std::string program = script("exit");
  std::filesystem::resize_file(program, 1'000'000);
  run(far_->target(), program);
  EXPECT_THAT(error_, HasSubstr("No space left on device; free some space in " + folder));
  EXPECT_THAT(error_, HasSubstr("TILEWRIGHT_TARGET_FOLDER"));
  EXPECT_TRUE(comes_true([&] { return std::filesystem::is_empty(folder); }));
}

TEST_P(RemoteTarget, AFolderThatProgramsMayNotRunIn) {
  if (!start(GetParam())) return;
  const std::string folder = (folder_ / "noexec").string();
  const SmallDisk disk(folder, false);
  set_environment("TILEWRIGHT_TARGET_FOLDER", folder);
  run(far_->target(), script("true"));
  EXPECT_THAT(error_, HasSubstr("Permission denied; " + folder));
  EXPECT_THAT(error_, HasSubstr("TILEWRIGHT_TARGET_FOLDER"));
  EXPECT_TRUE(comes_true([&] { return std::filesystem::is_empty(folder); }));
}

TEST_P(RemoteTarget, NoSuchFolderThere) {
  if (!start(GetParam())) return;
  set_environment("TILEWRIGHT_TARGET_FOLDER", "/no where");
  run(far_->target(), script("true"));
  EXPECT_THAT(error_, HasSubstr("/no where/tilewright."));
  EXPECT_THAT(error_, HasSubstr("No such file or directory"));
}

TEST_F(SshTarget, SilenceIsALostConnection) {
  if (!start(Far::ssh)) return;
  const std::string ssh = getenv("TILEWRIGHT_SSH");
  set_environment("TILEWRIGHT_SSH", ssh +
                                        " -o ServerAliveInterval=1 -o ServerAliveCountMax=1 "
                                        "-o ConnectTimeout=1");
  int count = 0;
  on_line_ = [&](const std::string&) {
    if (++count == 3) set_loopback(false);
  };
  EXPECT_GE(run(far_->target(), script(kEndless)).size(), 3U);
  set_loopback(true);
  EXPECT_THAT(error_, HasSubstr("the connection was lost"));
  far_->cut();
}

TEST_F(SshTarget, HostsThatCannotBeReached) {
  if (!start(Far::ssh)) return;
  const std::string program = script("true");
  run({Target::Kind::ssh, "no-such-host.invalid"}, program);
  EXPECT_THAT(error_, HasSubstr("ssh no-such-host.invalid: "));
  EXPECT_THAT(error_, HasSubstr("check the name, or give it an entry in ~/.ssh/config"));
  const std::string ssh = getenv("TILEWRIGHT_SSH");
  const std::string folder = (folder_ / "far_end").string();
  set_environment("TILEWRIGHT_SSH", ssh + " -o Port=2223");
  run(far_->target(), program);
  EXPECT_THAT(error_, HasSubstr("Connection refused; nothing there takes ssh connections"));
  set_environment("TILEWRIGHT_SSH", ssh);
  std::filesystem::rename(folder + "/other_key.pub", folder + "/authorized_keys");
  run(far_->target(), program);
  EXPECT_THAT(error_, HasSubstr("Permission denied (publickey); no key of yours"));
  EXPECT_THAT(error_, HasSubstr("`ssh-copy-id board`"));
  set_environment("TILEWRIGHT_SSH", ssh + " -o UserKnownHostsFile=/dev/null");
  run(far_->target(), program);
  EXPECT_THAT(error_, HasSubstr("Host key verification failed; run `ssh board` once by hand"));
  set_environment("TILEWRIGHT_SSH", "no-such-ssh");
  run(far_->target(), program);
  EXPECT_THAT(error_, HasSubstr("no-such-ssh"));
}

TEST_F(AdbTarget, PhonesThatCannotBeReached) {
  if (!start(Far::adb)) return;
  run({Target::Kind::adb, "ABC123"}, script("true"));
  EXPECT_THAT(error_, HasSubstr("'ABC123' not found"));
  EXPECT_THAT(error_, HasSubstr("connected: 127.0.0.1:5555 (device)"));
  far_->cut();
  run(far_->target(), script("true"));
  EXPECT_THAT(error_, HasSubstr("adb 127.0.0.1:5555: "));
}

TEST_F(AdbTarget, TheOnlyPhoneNeedsNoName) {
  if (!start(Far::adb)) return;
  EXPECT_EQ(run({Target::Kind::adb, ""}, script("echo '{\"a\": 1}'")), Lines{"{\"a\": 1}"});
  EXPECT_EQ(error_, "");
}

/// What adb says of phones that nobody has here.
TEST_F(TargetTest, WhatAdbComplainsOf) {
  const std::string program = script("true");
  const auto complaint = [&](const std::string& text) {
    set_environment("TILEWRIGHT_ADB",
                    script("[ \"$1\" = devices ] && printf 'List\\nA\\tdevice\\nB\\toffline\\n' || "
                           "{ echo 'error: " +
                               text + "' >&2; exit 1; }",
                           "adb"));
    run({Target::Kind::adb, ""}, program);
    return error_;
  };
  EXPECT_THAT(complaint("no devices/emulators found"), HasSubstr("turn on USB debugging"));
  EXPECT_THAT(complaint("device unauthorized."), HasSubstr("accept this machine"));
  EXPECT_THAT(complaint("device offline"), HasSubstr("adb reconnect"));
  EXPECT_EQ(complaint("more than one device/emulator"),
            "adb: error: more than one device/emulator; say which one with --adb SERIAL; "
            "connected: A (device), B (offline)");
}

}  // namespace
}  // namespace tw::tuner
