#include "tuner/record_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <thread>

#include "tuner/sample_record.h"

namespace tw::tuner::test {
namespace {

namespace fs = std::filesystem;

class RecordFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("tilewright_records_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string read(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  fs::path folder_;
};

/// Told apart by a number, in `dropped`.
Record numbered(size_t number) {
  Record record = sample_record();
  record.dropped = number;
  return record;
}

std::set<size_t> numbers(const RecordFile& file) {
  std::set<size_t> found;
  for (const Record& record : file.records) found.insert(record.dropped);
  return found;
}

template <class Call>
std::string message(Call call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

template <class Work>
pid_t child(Work work) {
  const pid_t process = fork();
  if (process == 0) {
    work();
    _exit(0);
  }
  return process;
}

int wait_for(pid_t process) {
  int status = 0;
  EXPECT_EQ(waitpid(process, &status, 0), process);
  return status;
}

TEST_F(RecordFiles, AppendMakesTheFileAndReadingGivesItBack) {
  for (size_t i = 0; i < 3; ++i) append_record(path("a"), numbered(i));
  const RecordFile file = read_records(path("a"));
  ASSERT_EQ(file.records.size(), 3U);
  EXPECT_TRUE(file.bad.empty());
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(to_line(file.records[i]), to_line(numbered(i)));
  }
}

TEST_F(RecordFiles, MissingFilesAndFoldersSaySo) {
  EXPECT_EQ(message([&] { read_records(path("no")); }),
            "cannot read " + path("no") + ": No such file or directory");
  EXPECT_EQ(message([&] { read_records(folder_); }),
            "cannot read " + folder_.string() + ": Is a directory");
  EXPECT_EQ(message([&] { append_record(path("no/a"), sample_record()); }),
            "cannot open for writing " + path("no/a") + ": No such file or directory");
}

TEST_F(RecordFiles, DamagedLinesAreCountedAndSkipped) {
  const std::string line = to_line(sample_record());
  std::string flipped = line;
  flipped[100] ^= 1;
  const std::string nothing_but_zeros(300, '\0');
  write("a", line + "\n" + flipped + "\n" + line + "\n\n" + nothing_but_zeros + "\n" +
                 std::string(1 << 20, 'x') + "\n" + line + "\n" + line.substr(0, 4000) + line +
                 "\n" + line + "\n" + line);
  const RecordFile file = read_records(path("a"));
  EXPECT_EQ(file.records.size(), 4U);
  std::string bad;
  for (const BadLine& b : file.bad) {
    bad += std::to_string(b.line) + ": " + b.what.substr(0, b.what.find_first_of(",:;")) + "\n";
  }
  EXPECT_EQ(bad,
            "2: crc does not match\n"
            "4: crc is missing\n"
            "5: crc is missing\n"
            "6: the line has more than 4096 bytes\n"
            "8: crc does not match\n"
            "10: the line has no end\n");
}

TEST_F(RecordFiles, LinesOfEveryLengthAroundTheLimit) {
  for (size_t length = 4090; length < 4105; ++length) {
    write("a", std::string(length, 'x') + "\n" + to_line(sample_record()) + "\n");
    const RecordFile file = read_records(path("a"));
    EXPECT_EQ(file.records.size(), 1U) << length;
    ASSERT_EQ(file.bad.size(), 1U) << length;
    EXPECT_EQ(file.bad[0].what.rfind("the line has more", 0) == 0, length > 4096) << length;
    write("a", std::string(length, 'x'));
    EXPECT_EQ(read_records(path("a")).bad.size(), 1U) << length;
  }
}

TEST_F(RecordFiles, AppendClosesALineThatSomebodyLeftOpen) {
  const std::string line = to_line(numbered(1));
  write("a", line + "\n" + line.substr(0, 50));
  append_record(path("a"), numbered(2));
  const RecordFile file = read_records(path("a"));
  EXPECT_EQ(numbers(file), (std::set<size_t>{1, 2}));
  ASSERT_EQ(file.bad.size(), 1U);
  EXPECT_EQ(file.bad[0].line, 2U);
}

TEST_F(RecordFiles, TwoWritersAtOnceLoseNothing) {
  constexpr size_t each = 150;
  std::vector<pid_t> writers;
  for (size_t writer = 0; writer < 2; ++writer) {
    writers.push_back(child([&] {
      for (size_t i = 0; i < each; ++i) append_record(path("a"), numbered(writer * each + i));
    }));
  }
  for (const pid_t writer : writers) EXPECT_EQ(wait_for(writer), 0);
  const RecordFile file = read_records(path("a"));
  EXPECT_EQ(file.records.size(), 2 * each);
  EXPECT_EQ(numbers(file).size(), 2 * each);
  EXPECT_TRUE(file.bad.empty());
}

// A merge replaces the file that others append to: they must notice.
TEST_F(RecordFiles, MergingWhatIsBeingWrittenLosesNothing) {
  constexpr size_t count = 60;
  append_record(path("a"), numbered(count));
  const pid_t writer = child([&] {
    for (size_t i = 0; i < count; ++i) append_record(path("a"), numbered(i));
  });
  int status = 0;
  size_t merges = 0;
  while (waitpid(writer, &status, WNOHANG) == 0) {
    merge_records({path("a")}, path("a"));
    ++merges;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // or the writer gets no turn
  }
  EXPECT_EQ(status, 0);
  EXPECT_GT(merges, 0U);
  EXPECT_EQ(numbers(read_records(path("a"))).size(), count + 1);
}

/// Memory that a killed child has written is still there.
std::atomic<size_t>& shared_counter() {
  void* memory = mmap(nullptr, sizeof(std::atomic<size_t>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  return *new (memory) std::atomic<size_t>(0);
}

TEST_F(RecordFiles, KilledWritersLoseNoCompleteRecord) {
  std::atomic<size_t>& appended = shared_counter();
  std::mt19937 random(7);
  for (int kill_number = 0; kill_number < 200; ++kill_number) {
    const size_t before = appended;
    const pid_t writer = child([&] {
      for (;;) {
        append_record(path("a"), numbered(appended));
        ++appended;
      }
    });
    // A busy machine starts it late.
    while (appended == before && waitpid(writer, nullptr, WNOHANG) == 0) {
      std::this_thread::yield();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 12000));
    kill(writer, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(wait_for(writer)));
  }
  const RecordFile file = read_records(path("a"));
  const std::set<size_t> found = numbers(file);
  for (size_t i = 0; i < appended; ++i) EXPECT_EQ(found.count(i), 1U) << i;
  EXPECT_LE(file.bad.size(), 200U);  // at most the line that each one was writing
  EXPECT_GT(appended, 10U);          // or nothing was tried
}

TEST_F(RecordFiles, FullDiskKeepsWhatWasThereAndSaysSo) {
  append_record(path("a"), numbered(1));
  const size_t length = fs::file_size(path("a"));
  for (const size_t more : {size_t{0}, size_t{1}, length / 2, length - 1}) {
    const pid_t writer = child([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit = {length + more, length + more};
      setrlimit(RLIMIT_FSIZE, &limit);
      const std::string text = message([&] { append_record(path("a"), numbered(2)); });
      const bool good = text == "cannot append to " + path("a") + ": File too large; its first " +
                                    std::to_string(length) + " bytes are kept, the new line is not";
      if (!good) std::fprintf(stderr, "%s\n", text.c_str());
      _exit(good ? 0 : 1);
    });
    EXPECT_EQ(wait_for(writer), 0) << more;
    EXPECT_EQ(fs::file_size(path("a")), length) << more;
  }
  EXPECT_EQ(message([&] { append_record("/dev/full", numbered(2)); }),
            "cannot append to /dev/full: No space left on device; its first 0 bytes are kept, the "
            "new line is not");
  append_record(path("a"), numbered(2));
  EXPECT_EQ(numbers(read_records(path("a"))), (std::set<size_t>{1, 2}));
}

TEST_F(RecordFiles, FullDiskLeavesTheMergedFileAlone) {
  append_record(path("a"), numbered(1));
  append_record(path("a"), numbered(2));
  const std::string before = read("a");
  const pid_t merger = child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {100, 100};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string text = message([&] { merge_records({path("a")}, path("a")); });
    _exit(text == "cannot write " + path("a") + ": File too large" ? 0 : 1);
  });
  EXPECT_EQ(wait_for(merger), 0);
  EXPECT_EQ(read("a"), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(RecordFiles, MergingIsASetUnion) {
  std::mt19937 random(3);
  const std::string names[] = {"a", "b", "c"};
  for (const std::string& name : names) {
    for (int i = 0; i < 20; ++i) {
      Record record = numbered(random() % 30);
      record.time = "2026-11-22T04:05:" + std::to_string(10 + record.dropped % 7) + "Z";
      append_record(path(name), record);
    }
  }
  const auto merged = [&](const std::vector<std::string>& inputs) {
    static int outputs = 0;
    const std::string output = "out" + std::to_string(outputs++);
    std::vector<std::string> paths;
    for (const std::string& input : inputs) paths.push_back(path(input));
    merge_records(paths, path(output));
    return output;
  };
  const std::string all = read(merged({"a", "b", "c"}));
  EXPECT_EQ(read(merged({"c", "b", "a"})), all);
  EXPECT_EQ(read(merged({merged({"a", "b"}), "c"})), all);
  EXPECT_EQ(read(merged({"a", merged({"b", "c"})})), all);
  EXPECT_EQ(read(merged({"a", "b", "c", "a"})), all);
  EXPECT_EQ(read(merged({merged({"a", "b", "c"})})), all);
  std::set<size_t> either = numbers(read_records(path("a")));
  either.merge(numbers(read_records(path("b"))));
  EXPECT_EQ(numbers(read_records(path(merged({"a", "b"})))), either);
  const std::vector<Record> records = read_records(path(merged({"a", "b"}))).records;
  EXPECT_TRUE(std::is_sorted(records.begin(), records.end(),
                             [](const Record& x, const Record& y) { return x.time < y.time; }));
}

TEST_F(RecordFiles, MergingCountsWhatItLeavesOut) {
  const std::string line = to_line(numbered(1));
  write("a", line + "\n" + line + "\nrubbish\n" + to_line(numbered(2)) + "\n" + line);
  const Merged merged = merge_records({path("a")}, path("b"));
  EXPECT_EQ(merged.records, 2U);
  EXPECT_EQ(merged.repeated, 1U);
  EXPECT_EQ(merged.bad, 2U);
  // Lines of a newer tool keep the members that this one does not know.
  const std::string newer = signed_line(unsigned_part(line) + ",\"thermal\":3");
  write("c", newer + "\n");
  merge_records({path("c")}, path("d"));
  EXPECT_EQ(read("d"), newer + "\n");
}

TEST_F(RecordFiles, MergingReplacesOnlyItsInputs) {
  append_record(path("a"), numbered(1));
  append_record(path("b"), numbered(2));
  EXPECT_EQ(message([&] { merge_records({path("a")}, path("b")); }),
            path("b") +
                " exists and is not among the files to merge: name it there too, or move it away");
  EXPECT_EQ(numbers(read_records(path("b"))), (std::set<size_t>{2}));
  merge_records({path("b"), path("a")}, path("b"));
  EXPECT_EQ(numbers(read_records(path("b"))), (std::set<size_t>{1, 2}));
  EXPECT_EQ(message([&] {
              merge_records({path("a"), path("no")}, path("d"));
            }),
            "cannot read " + path("no") + ": No such file or directory");
  EXPECT_FALSE(fs::exists(path("d")));
}

}  // namespace
}  // namespace tw::tuner::test
