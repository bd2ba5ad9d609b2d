#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <stdexcept>

#include "target/target_fixture.h"

namespace tw::tuner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = Target::Kind;
using Lines = std::vector<std::string>;

class LocalTarget : public TargetTest {};

bool alive(const std::string& pid_file) {
  pid_t pid = 0;
  std::ifstream(pid_file) >> pid;
  return pid > 0 && kill(pid, 0) == 0;
}

TEST_F(LocalTarget, HandsOnItsLines) {
  const std::string program = script("cat \"$1\"; echo; echo not ours; printf '{\"b\": 2}\\r\\n'");
  EXPECT_EQ(run({}, program), (Lines{"{\"the\": \"job\"}", "{\"b\": 2}"}));
  EXPECT_EQ(error_, "");
}

TEST_F(LocalTarget, LinesComeAsTheyArePrinted) {
  const std::string program = script(
      "echo '{\"a\": 1}'; i=0; while [ ! -e \"$0.seen\" ] && [ $i -lt 500 ]; do sleep 0.01; "
      "i=$((i + 1)); done; [ -e \"$0.seen\" ] && echo '{\"b\": 2}'");
  on_line_ = [&](const std::string&) { std::ofstream(program + ".seen") << "yes"; };
  EXPECT_THAT(run({}, program), ElementsAre("{\"a\": 1}", "{\"b\": 2}"));
}

TEST_F(LocalTarget, HalfALineIsNoLine) {
  EXPECT_EQ(run({}, script("echo '{\"a\": 1}'; printf '{\"b\"'")), Lines{"{\"a\": 1}"});
}

TEST_F(LocalTarget, ManyLines) {
  const std::string program = script("yes '{\"line\": \"of some length\"}' | head -n 200000");
  EXPECT_EQ(run({}, program).size(), 200000U);
  EXPECT_EQ(error_, "");
}

TEST_F(LocalTarget, AFailureSaysWhatTheProgramSaid) {
  EXPECT_EQ(run({}, script("echo '{\"a\": 1}'; echo boom >&2; exit 3")), Lines{"{\"a\": 1}"});
  EXPECT_EQ(error_, "this machine: ended with status 3: boom");
}

TEST_F(LocalTarget, ASignalHasItsName) {
  EXPECT_EQ(run({}, script("echo '{\"a\": 1}'; kill -KILL $$")), Lines{"{\"a\": 1}"});
  EXPECT_THAT(error_, HasSubstr("killed (SIGKILL); was memory short?"));
  run({}, script("kill -ILL $$"));
  EXPECT_EQ(error_, "this machine: ended by SIGILL");
  run({Kind::exec, "true && sh -c"}, script("kill -ILL $$"));
  EXPECT_THAT(error_, HasSubstr("true && sh -c: ended by SIGILL"));
}

TEST_F(LocalTarget, EndsWithTheProgramWhoeverHoldsItsOutput) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run({}, script("sleep 30 & echo '{\"a\": 1}'")), Lines{"{\"a\": 1}"});
  EXPECT_EQ(run({}, script("echo '{\"a\": 1}'; exec >&- 2>&-; sleep 0.3")), Lines{"{\"a\": 1}"});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(LocalTarget, AFullDiskIsSaidWithAdvice) {
  EXPECT_EQ(run({}, script("echo '{\"a\": 1}'; cat \"$1\" >/dev/full")), Lines{"{\"a\": 1}"});
  EXPECT_THAT(error_, HasSubstr("No space left on device; free some space"));
}

TEST_F(LocalTarget, AnErrorOfTheReaderStopsTheProgram) {
  const std::string program =
      script("echo $$ >\"$0.pid\"; while sleep 0.01; do echo '{\"a\": 1}'; done");
  on_line_ = [](const std::string&) { throw std::runtime_error("the file of records is full"); };
  EXPECT_THROW(run({}, program), std::runtime_error);
  EXPECT_FALSE(alive(program + ".pid"));
}

TEST_F(LocalTarget, AnInterruptCleansUpFirst) {
  const std::string program = script("echo $$ >\"$0.pid\"; echo '{\"a\": 1}'; exec sleep 30");
  on_line_ = [](const std::string&) { kill(getpid(), SIGINT); };
  EXPECT_EQ(run({}, program), Lines{"{\"a\": 1}"});
  EXPECT_EQ(error_, "this machine: interrupted by SIGINT");
  EXPECT_FALSE(alive(program + ".pid"));
}

TEST_F(LocalTarget, TheProgramEndsWithItsTuner) {
  const std::string program = script("echo $$ >\"$0.pid\"; echo '{\"a\": 1}'; exec sleep 30");
  const pid_t tuner = fork();
  if (tuner == 0) {
    run({}, program);
    _exit(0);
  }
  ASSERT_TRUE(comes_true([&] { return alive(program + ".pid"); }));
  kill(tuner, SIGKILL);
  waitpid(tuner, nullptr, 0);
  EXPECT_TRUE(comes_true([&] { return !alive(program + ".pid"); }));
}

TEST_F(LocalTarget, ProgramsThatCannotRun) {
  run({}, (folder_ / "nothing").string());
  EXPECT_THAT(error_, HasSubstr("nothing: No such file or directory; it should be"));
  EXPECT_THAT(error_, HasSubstr("--program"));
  const std::string program = script("true");
  std::filesystem::permissions(program, std::filesystem::perms::owner_read);
  run({}, program);
  EXPECT_THAT(error_, HasSubstr("Permission denied; is it executable (`chmod +x`)"));
  run({}, arm_program());
  EXPECT_THAT(error_, HasSubstr("Exec format error; it is for Linux aarch64: --exec runs it"));
}

TEST_F(LocalTarget, NoFolderForTemporaryFiles) {
  set_environment("TMPDIR", "/nowhere");
  try {
    run({Kind::exec, "env"}, script("true"));
    FAIL() << "no error";
  } catch (const std::system_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot make the folder /nowhere/tilewright."));
  }
}

TEST_F(LocalTarget, ACommandIsSplitAsTheShellDoes) {
  const Target target{Kind::exec, "env 'A=b  c' sh"};
  EXPECT_EQ(run(target, script("echo \"{$A}\"; cat \"$1\"; echo")),
            (Lines{"{b  c}", "{\"the\": \"job\"}"}));
  EXPECT_EQ(error_, "");
  run({Kind::exec, "no-such-wrapper -x"}, script("true"));
  EXPECT_THAT(error_, HasSubstr("no-such-wrapper -x: ended with status 127: "));
  EXPECT_THAT(error_, HasSubstr("not found"));
}

}  // namespace
}  // namespace tw::tuner
