// SPDX-License-Identifier: Apache-2.0
// tests/cores_test.cpp: the number of cores that the quotas of control groups allow, read from files as Linux shows
// them. Also the number of cores in affinity masks, and the values that a process determines at its first call.
#include "system/cores.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "cpu/parallel.hpp"
#include "in_child.hpp"
#include "patterns.hpp"
#include "system/quota.hpp"
#include "tests/temporary_folder.hpp"

namespace upsweep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kV2 = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

/// A folder with separate proc/ and sys/ folders.
class Cores : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void process(const std::string& groups, const std::string& mounts) {
    put("proc/self/cgroup", groups);
    put("proc/self/mountinfo", "22 1 0:21 / /proc rw - proc proc rw\n" + mounts);
  }
  void v2_group(const std::string& path) { process("0::" + path + "\n", kV2); }
  void quota_v1(const std::string& group, const std::string& quota, const std::string& period = "100000\n") {
    put(group + "/cpu.cfs_quota_us", quota);
    put(group + "/cpu.cfs_period_us", period);
  }
  [[nodiscard]] int cores() const { return quota_cores(root_); }

  tests::TemporaryFolder folder_;
  const fs::path& root_ = folder_.path();
};

TEST_F(Cores, V2) {
  v2_group("/a/b");
  put("sys/fs/cgroup/a/b/cpu.max", "200000 100000\n");
  EXPECT_EQ(cores(), 2);
}

TEST_F(Cores, AreRoundedUp) {
  v2_group("/a");
  const std::pair<const char*, int> quotas[] = {{"1000 100000\n", 1},   {"100000 100000\n", 1},
                                                {"100001 100000\n", 2}, {"150000 100000\n", 2},
                                                {"25000 10000\n", 3},   {"6400000 100000\n", 64}};
  for (const auto& [quota, expected] : quotas) {
    put("sys/fs/cgroup/a/cpu.max", quota);
    EXPECT_EQ(cores(), expected) << quota;
  }
}

TEST_F(Cores, AGroupAboveMayBeStricter) {
  v2_group("/a/b/c");
  put("sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n");
  put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/a/cpu.max", "300000 100000\n");
  EXPECT_EQ(cores(), 3);
  put("sys/fs/cgroup/a/b/c/cpu.max", "100000 100000\n");
  EXPECT_EQ(cores(), 1);
}

TEST_F(Cores, NoQuotaLimitsNothing) {
  EXPECT_EQ(cores(), INT_MAX);  // no files at all
  v2_group("/a");
  EXPECT_EQ(cores(), INT_MAX);  // no file of the group
  put("sys/fs/cgroup/a/cpu.max", "max 100000\n");
  EXPECT_EQ(cores(), INT_MAX);
}

TEST_F(Cores, DamagedFilesLimitNothing) {
  v2_group("/a");
  for (const char* text :
       {"", "\n", "x", "200000", "200000 0", "200000 x", "-5 100000", "0 100000", "nan nan", "\0\0"}) {
    put("sys/fs/cgroup/a/cpu.max", text);
    EXPECT_EQ(cores(), INT_MAX) << text;
  }
  put("sys/fs/cgroup/a/cpu.max", "100000 100000\n");
  EXPECT_EQ(cores(), 1);
  for (const char* groups : {"", "0", "0:", "::", "no colon\n", "0::not/from/the/root\n"}) {
    process(groups, kV2);
    EXPECT_EQ(cores(), INT_MAX) << groups;
  }
  for (const char* mounts :
       {"", "35", "35 24 0:30 / /sys/fs/cgroup rw", "35 24 - cgroup2 cgroup2 rw", " - ", "- cgroup2"}) {
    process("0::/a\n", mounts);
    EXPECT_EQ(cores(), INT_MAX) << mounts;
  }
  put("proc/self/cgroup", "0::/a\n");
  fs::remove(root_ / "proc/self/mountinfo");
  fs::create_directory(root_ / "proc/self/mountinfo");
  EXPECT_EQ(cores(), INT_MAX);
}

TEST_F(Cores, AContainerSeesItsGroupAsTheRoot) {
  // With a separate namespace, the path is /. Without one, the group itself is mounted. In a namespace that was entered
  // from another one, the path leads out of it.
  put("sys/fs/cgroup/cpu.max", "400000 100000\n");
  v2_group("/");
  EXPECT_EQ(cores(), 4);
  process("0::/docker/4711\n", "35 24 0:30 /docker/4711 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(cores(), 4);
  v2_group("/../other");
  EXPECT_EQ(cores(), 4);
}

TEST_F(Cores, V1) {
  const std::string mounts =
      "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
      "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct\n";
  process("9:cpuset:/x\n8:cpu,cpuacct:/a/b\n0::/x\n", mounts);
  quota_v1("sys/fs/cgroup/cpu,cpuacct/a/b", "-1\n");
  EXPECT_EQ(cores(), INT_MAX);
  quota_v1("sys/fs/cgroup/cpu,cpuacct/a/b", "250000\n");
  EXPECT_EQ(cores(), 3);
  quota_v1("sys/fs/cgroup/cpu,cpuacct/a", "100000\n", "50000\n");
  EXPECT_EQ(cores(), 2);
  quota_v1("sys/fs/cgroup/cpu,cpuacct", "10000\n", "");
  EXPECT_EQ(cores(), 2);
}

TEST_F(Cores, V1AndV2AtOnce) {
  process("8:cpu:/a\n0::/b\n",
          "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
          "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  quota_v1("sys/fs/cgroup/cpu/a", "500000\n");
  EXPECT_EQ(cores(), 5);
  put("sys/fs/cgroup/unified/b/cpu.max", "200000 100000\n");
  EXPECT_EQ(cores(), 2);
}

// ---- this process. In children, each of which determines the value itself: this program has made no call before.

int cores_of_this_thread() {
  cpu_set_t mask;
  return sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 0;
}

void bind_this_thread() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
  sched_setaffinity(0, sizeof one, &one);
}

class Affinity : public testing::Test {
 protected:
  void SetUp() override {
    if (tests::kSanitized) GTEST_SKIP() << "sanitizers cannot follow a child of a program with threads";
    if (usual_ < 2 || quota_cores("/") < 2) GTEST_SKIP() << "there is one core";
  }
  int usual_ = cores_of_this_thread();
};

TEST_F(Affinity, AProcessThatRestrictsItselfBeforeItsFirstCallStaysThere) {
  EXPECT_EQ(tests::in_child([] {
              bind_this_thread();
              return hardware_threads() == 1;
            }),
            0);
}

TEST_F(Affinity, TheThreadThatCallsFirstSpeaksForTheProcessToo) {
  EXPECT_EQ(tests::in_child([&] {
              std::atomic<bool> bound{false};
              int found = 0;
              std::thread caller([&] {
                while (!bound) std::this_thread::yield();
                found = hardware_threads();
              });
              bind_this_thread();
              bound = true;
              caller.join();
              return found == std::min(usual_, quota_cores("/"));
            }),
            0);
}

TEST_F(Affinity, IsFoundAtTheFirstCall) {
  EXPECT_EQ(tests::in_child([&] {
              if (hardware_threads() != std::min(usual_, quota_cores("/"))) return false;
              bind_this_thread();
              use_every_core();
              return cores_of_this_thread() == usual_;
            }),
            0);
}

TEST_F(Affinity, AChildFindsItsOwn) {
  EXPECT_EQ(tests::in_child([] {
              return hardware_threads() > 1 && tests::in_child([] {
                                                 bind_this_thread();
                                                 return hardware_threads() == 1;
                                               }) == 0;
            }),
            0);
}

TEST(FirstCall, OfAThreadThatIsBeingCancelled) {
  if (tests::kSanitized) GTEST_SKIP() << "sanitizers cannot follow a child of a program with threads";
  EXPECT_EQ(tests::in_child([] {
              static std::atomic<int> ran{0};
              const auto call = [](void*) -> void* {
                pthread_cancel(pthread_self());
                cpu::run_workers(hardware_threads() + 1, [](int) { ++ran; });
                pthread_testcancel();
                return nullptr;
              };
              pthread_t caller{};
              pthread_create(&caller, nullptr, call, nullptr);
              void* result = nullptr;
              pthread_join(caller, &result);
              return result == PTHREAD_CANCELED && ran == hardware_threads() + 1;
            }),
            0);
}

TEST_F(Cores, OfThisProcess) {
  EXPECT_GE(hardware_threads(), 1);
  EXPECT_LE(hardware_threads(), quota_cores("/"));
  EXPECT_EQ(cpu::worker_count(0), hardware_threads());
  EXPECT_EQ(cpu::worker_count(hardware_threads() + 7), hardware_threads() + 7);
}

}  // namespace
}  // namespace upsweep
