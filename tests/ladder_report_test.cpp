// SPDX-License-Identifier: Apache-2.0
// tests/ladder_report_test.cpp: the text of a table with several thread counts, also if some of them were not timed.
#include "apps/upsweep/ladder_report.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace upsweep::command {
namespace {

/// One rung with 1, 2 and 4 threads, in 12, 8 and 6 seconds; the first `skipped` of them were not timed.
std::vector<Group> groups(int skipped) {
  std::vector<Group> all;
  for (const int threads : {1, 2, 4}) {
    Group group{.title = "scan of 9 int32", .n = 9, .threads = threads, .limit_bytes = 1, .copy_bytes_per_s = 1};
    Row row{.rung = {.id = "cpu.chained"}, .reason = "estimated 12 s", .threads = threads, .bytes = 1};
    if (std::ssize(all) >= skipped) {
      row.status = RowStatus::verified;
      row.reason.clear();
      row.median_s = 4 + 8.0 / threads;
    }
    group.rows.push_back(row);
    all.push_back(group);
  }
  return all;
}

bool has(const std::string& text, const std::string& line) { return text.find(line) != std::string::npos; }

TEST(LadderReport, SpeedupIsOverTheFewestThreadsAndEfficiencyPerThread) {
  const std::string all = climb_text(groups(0));
  EXPECT_TRUE(has(all, "12 s       0.08   1.00x       1.00  verified\n")) << all;
  EXPECT_TRUE(has(all, "8 s       0.12   1.50x       0.75  verified\n")) << all;
  EXPECT_TRUE(has(all, "6 s       0.17   2.00x       0.50  verified\n")) << all;
  const std::string most = climb_text(groups(1));
  EXPECT_TRUE(has(most, "8 s       0.12   1.00x       1.00  verified\n")) << most;
  EXPECT_TRUE(has(most, "6 s       0.17   1.33x       0.67  verified\n")) << most;
}

TEST(LadderReport, SaysWhatSpeedupAndEfficiencyAreOver) {
  const std::string all = climb_text(groups(0));
  EXPECT_FALSE(has(all, "over ")) << all;
  const std::string most = climb_text(groups(1));
  EXPECT_TRUE(has(most, "    1 thread: skipped: estimated 12 s\n")) << most;
  EXPECT_TRUE(has(most, "    speedup and efficiency: over 2 threads\n")) << most;
  const std::string none = climb_text(groups(3));
  EXPECT_FALSE(has(none, "over ")) << none;
}

}  // namespace
}  // namespace upsweep::command
