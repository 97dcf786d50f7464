// SPDX-License-Identifier: Apache-2.0
// tests/climb_test.cpp: every problem's declaration: wrong outputs are found, settings, and the climb.
#include "upsweep/climb.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "climb/problems.hpp"
#include "rungs.hpp"
#include "upsweep/machine.hpp"

namespace upsweep {
namespace {

ClimbRequest small_request(const ProblemInfo& problem) {
  ClimbRequest request;
  request.problem = problem.name;
  request.sizes = {10};
  return request;
}

std::vector<Group> climbed(const ClimbRequest& request) {
  return climb(request, [](const std::string&) {});
}

Code code_of(const ClimbRequest& request) {
  return tests::code_of([&] { (void)climbed(request); });
}

TEST(Problems, SayWhatTheyAre) {
  std::set<std::string_view> names;
  std::map<std::string_view, std::string_view> settings;  // settings of all problems; they are options of one command
  for (const ProblemInfo& one : problems()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    EXPECT_FALSE(one.inputs.empty()) << one.name;
    ASSERT_FALSE(one.rungs.empty()) << one.name;
    EXPECT_EQ(one.rungs[0].backend(), Backend::cpu) << one.name;
    std::set<std::string_view> ids;
    for (const RungInfo& rung : one.rungs) {
      EXPECT_TRUE(ids.insert(rung.id).second) << one.name << ' ' << rung.id;
      for (const auto text : {rung.idea, rung.needs, rung.traffic, rung.cost, rung.limit}) {
        EXPECT_FALSE(text.empty()) << one.name << ' ' << rung.id;
      }
    }
    for (const SettingInfo& setting : one.settings) {
      EXPECT_FALSE(setting.help.empty()) << setting.name;
      EXPECT_EQ(settings.emplace(setting.name, setting.help).first->second, setting.help) << setting.name;
    }
    EXPECT_EQ(&problem(one.name), &one);
  }
  EXPECT_THROW((void)problem("sort"), Error);
}

/// A rung that no ladder lists would be compiled but never run.
TEST(Problems, ListEveryRungThatHasARow) {
  namespace fs = std::filesystem;
  const char* const source = std::getenv("UPSWEEP_SOURCE_DIR");
  if (source == nullptr || !fs::exists(fs::path(source) / "src")) GTEST_SKIP() << "no sources here";
  std::map<std::string, std::set<std::string>> ids;  // by folder
  for (const ProblemInfo& one : problems()) {
    std::string folder(one.name);
    std::replace(folder.begin(), folder.end(), '-', '_');
    for (const RungInfo& rung : one.rungs) ids[folder].emplace(rung.id);
  }
  const std::regex row("extern const(expr)? Rung (cpu|cuda)_([a-z0-9_]+)( = .*|\\{.*)");
  int rows = 0;
  for (const auto& file : fs::recursive_directory_iterator(fs::path(source) / "src" / "problems")) {
    if (file.path().extension() != ".cpp" && file.path().extension() != ".cu") continue;
    std::ifstream text(file.path());
    std::smatch found;
    for (std::string line; std::getline(text, line);) {
      if (!std::regex_match(line, found, row)) continue;
      ++rows;
      const std::string id = found[2].str() + "." + found[3].str();
      EXPECT_TRUE(ids[file.path().parent_path().filename()].contains(id)) << file.path() << ": " << id;
    }
  }
  EXPECT_GT(rows, 130);
}

/// The output of a rung is correct, and a changed output is detected.
TEST(Problems, FindWrongOutputs) {
  for (const ProblemInfo& one : problems()) {
    int instances = 0;
    const std::string_view rung = one.rungs[0].id;
    declaration(one.name).visit_instances(small_request(one), Backend::cpu, [&](Instance& instance) {
      ++instances;
      SCOPED_TRACE(instance.group.title);
      EXPECT_GT(instance.bytes(one.rungs[0]), 0);
      for (int which = 0; which < instance.fills(); ++which) {
        instance.fill(which);
        std::vector<void*> at;
        const auto arrays = instance.arrays();
        at.reserve(arrays.size());
        for (const HostArray& array : arrays) at.push_back(array.data);
        EXPECT_EQ(instance.run(Policy{.rung = rung}, at.data(), instance.group.n), rung);
        EXPECT_EQ(instance.wrong(one.rungs[0]), "");
        const auto output = std::find_if(arrays.begin(), arrays.end(), [](const HostArray& a) { return a.is_output; });
        ASSERT_NE(output, arrays.end());
        for (std::int64_t i = 0; i < std::min<std::int64_t>(output->bytes, 8); ++i) {
          static_cast<std::byte*>(output->data)[i] ^= std::byte{0xFF};
        }
        EXPECT_NE(instance.wrong(one.rungs[0]), "");
      }
    });
    EXPECT_GT(instances, 0) << one.name;
  }
}

/// The number of threads of this process in addition to its first. Threads that a call created exist for some time.
std::ptrdiff_t threads_made() {
  namespace fs = std::filesystem;
  return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator()) - 1;
}

/// Runs the rung, with several threads if it supports them, on inputs that are long enough for that.
void run_by_threads(std::string_view problem, std::string_view rung) {
  ClimbRequest request{.problem = problem, .sizes = {std::int64_t{1} << 20}};
  if (problem == "subset-sum") {
    request.sizes = {28};
    request.settings["largest"] = {rung == "cpu.bits_simd" ? 20'000'000 : 200'000};  // it only shares long bitmaps
  }
  declaration(problem).visit_instances(request, Backend::cpu, [&](Instance& instance) {
    std::vector<void*> at;
    instance.fill(instance.fills() - 1);
    for (const HostArray& array : instance.arrays()) at.push_back(array.data);
    try {
      (void)instance.run(Policy{.threads = 4, .rung = rung}, at.data(), instance.group.n);
    } catch (const Error& error) {
      if (error.code() != Code::unsupported) throw;
    }
  });
}

/// Each rung runs in a separate process, because the threads of one rung still exist when the next one runs.
TEST(ProblemsDeathTest, SayWhichRungsUseThreads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  if (machine().threads < 2) GTEST_SKIP() << "one core";
  for (const ProblemInfo& one : problems()) {
    for (const RungInfo& rung : tests::cpu_rungs(one.name)) {
      SCOPED_TRACE(std::string(one.name) + " " + std::string(rung.id));
      const int says = rung.threads == Threads::one ? 0 : 1;
      const auto run = [&] {
        run_by_threads(one.name, rung.id);
        ::_exit(threads_made() > 0 ? 1 : 0);
      };
      EXPECT_EXIT(run(), testing::ExitedWithCode(says), "");
    }
  }
}

TEST(Climb, VerifiesEveryRungOfEveryProblem) {
  for (const ProblemInfo& one : problems()) {
    for (const Group& group : climbed(small_request(one))) {
      EXPECT_EQ(group.n, 10) << group.title;
      for (const Row& row : group.rows) {
        EXPECT_NE(row.status, RowStatus::failed) << group.title << ": " << row.rung.id << ": " << row.reason;
        if (row.status == RowStatus::verified) {
          EXPECT_GT(row.median_s, 0) << row.rung.id;
        }
      }
    }
  }
}

// ------------------------------------------------------------------------------------------------- counts of threads

constexpr std::int64_t kFloats = 1000;

/// Rungs that report how many threads they run on. The bits of a rung's output depend on the number of threads if its
/// name says so.
class CountedInstance final : public Instance {
 public:
  static inline std::map<std::string_view, std::set<int>> asked = {};  ///< per rung

  CountedInstance() { group = {.title = "counted", .type = Type::float64, .n = kFloats, .bytes = 2.0 * 8 * kFloats}; }
  [[nodiscard]] std::vector<HostArray> arrays() override {
    return {{in_.data(), kFloats * 8, false}, {out_.data(), kFloats * 8, true}};
  }
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override {
    asked[policy.rung].insert(policy.threads);
    auto* const out = static_cast<double*>(at[1]);
    std::fill(out, out + n, 1.0);
    if (policy.rung.ends_with("drifts") && policy.threads > 2) out[7] += 1e-12;
    return policy.rung.empty() ? "cpu.asked" : policy.rung;
  }
  std::string_view run(const gpu::Policy&, Arrays, std::int64_t) override { return ""; }
  /// A sum of floats may always be slightly wrong: bits that drift are within the bound.
  [[nodiscard]] std::string wrong(const RungInfo&) override { return out_[7] == 0 ? "wrong from index 7" : ""; }
  bool run_inlined() override { return true; }
  [[nodiscard]] std::vector<Peer> peers() override {
    return {
        {.row = {.rung = {.id = "peer", .kind = Kind::library, .threads = Threads::one}, .status = RowStatus::verified},
         .run = [] {}}};
  }
  void finish(int threads) override { group.facts.emplace_back("finished with", std::int64_t{threads}); }

 private:
  std::vector<double> in_ = std::vector<double>(kFloats, 1);
  std::vector<double> out_ = std::vector<double>(kFloats);
};

constexpr Problem kCounted{.info = []() -> ProblemInfo {
                             return {.name = "counted",
                                     .rungs = {{.id = "cpu.one", .threads = Threads::one},
                                               {.id = "cpu.asked"},
                                               {.id = "cpu.drifts"},
                                               {.id = "cpu.may_drifts", .determinism = Determinism::no},
                                               {.id = "cpu.every", .threads = Threads::every}},
                                     .inputs = {}};
                           },
                           .visit_instances =
                               [](const ClimbRequest&, Backend, const Problem::Visit& visit) {
                                 CountedInstance instance;
                                 visit(instance);
                               }};

std::vector<Group> climbed_with(const std::vector<int>& threads, const std::string& rung = "") {
  CountedInstance::asked.clear();
  return climb({.problem = "counted", .rung = rung, .threads = threads}, kCounted, [](const std::string&) {});
}

std::vector<std::string_view> ids_of(const Group& group) {
  std::vector<std::string_view> ids;
  ids.reserve(group.rows.size());
  for (const Row& row : group.rows) ids.push_back(row.rung.id);
  return ids;
}

/// Returns the position of the group that contains the rungs that use every core.
std::size_t group_of_every_core(const std::vector<Group>& groups) {
  const auto found =
      std::find_if(groups.begin(), groups.end(), [](const Group& group) { return group.threads >= machine().threads; });
  return found == groups.end() ? groups.size() - 1 : static_cast<std::size_t>(found - groups.begin());
}

TEST(Climb, RunsEveryRungWithEveryCountOfThreads) {
  const std::vector<Group> groups = climbed_with({8, 1, 2, 1});
  ASSERT_EQ(groups.size(), 3U);
  const int counts[] = {1, 2, 8};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    SCOPED_TRACE(counts[i]);
    EXPECT_EQ(groups[i].threads, counts[i]);
    EXPECT_GT(groups[i].copy_bytes_per_s, 0);
    EXPECT_GT(groups[i].read_bytes_per_s, 0);
    EXPECT_GT(groups[i].api_s, 0);
    EXPECT_EQ(groups[i].inlined_s > 0, i == 0);
    EXPECT_EQ(groups[i].first_s, groups[0].rows[0].median_s);
    const std::vector<Fact> facts = {{"finished with", std::int64_t{counts[i]}}};
    EXPECT_EQ(groups[i].facts, facts);
    std::vector<std::string_view> ids = {"cpu.asked", "cpu.drifts", "cpu.may_drifts"};
    if (i == 0) ids.insert(ids.begin(), "cpu.one");
    if (i == group_of_every_core(groups)) ids.emplace_back("cpu.every");
    if (i == 0) ids.emplace_back("peer");
    EXPECT_EQ(ids_of(groups[i]), ids);
    for (const Row& row : groups[i].rows) {
      const int on = row.rung.threads == Threads::one     ? 1
                     : row.rung.threads == Threads::every ? machine().threads
                                                          : counts[i];
      EXPECT_EQ(row.threads, on) << row.rung.id;
    }
  }
  EXPECT_EQ(CountedInstance::asked["cpu.asked"], (std::set{1, 2, 8}));
  EXPECT_EQ(CountedInstance::asked["cpu.one"], std::set{1});
  EXPECT_EQ(CountedInstance::asked["cpu.every"].size(), 1U);
}

TEST(Climb, FindsBitsThatFollowTheThreads) {
  int found = 0;
  for (const Group& group : climbed_with({1, 2, 8})) {
    for (const Row& row : group.rows) {
      const bool drifts = row.rung.id == "cpu.drifts" && group.threads == 8;
      EXPECT_EQ(row.status, drifts ? RowStatus::failed : RowStatus::verified) << row.rung.id << ' ' << group.threads;
      EXPECT_EQ(row.reason, drifts ? "other bits than with 1 thread, from index 7" : "") << row.rung.id;
      found += drifts ? 1 : 0;
    }
  }
  EXPECT_EQ(found, 1);
}

TEST(Climb, TakesOneCountAsItIs) {
  for (const int threads : {0, 3}) {
    const std::vector<Group> groups = climbed_with({threads});
    ASSERT_EQ(groups.size(), 1U);
    EXPECT_EQ(groups[0].threads, threads == 0 ? machine().threads : threads);
    const std::vector<std::string_view> ids = {"cpu.one",        "cpu.asked", "cpu.drifts",
                                               "cpu.may_drifts", "cpu.every", "peer"};
    EXPECT_EQ(ids_of(groups[0]), ids);
    for (const auto& [rung, counts] : CountedInstance::asked) EXPECT_EQ(counts, std::set{threads}) << rung;
  }
}

TEST(Climb, LeavesOutCountsThatNoRungRunsWith) {
  const std::vector<Group> groups = climbed_with({4, 8}, "cpu.one");
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].threads, 4);
  EXPECT_EQ(groups[0].rows[0].threads, 1);
}

TEST(Climb, TakesZeroForEveryCore) {
  const std::vector<Group> groups = climbed_with({0, machine().threads, 1024, 5000});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].threads, machine().threads);
  EXPECT_EQ(groups[1].threads, 1024);  // the maximum number of workers
}

TEST(Climb, RefusesNegativeCountsOfThreads) {
  ClimbRequest request = small_request(problem("scan"));
  for (const std::vector<int>& threads : {std::vector{-1}, {1, -1}, {}}) {
    request.threads = threads;
    EXPECT_EQ(code_of(request), Code::invalid_argument);
  }
}

TEST(Climb, RefusesWhatItCannotDo) {
  ClimbRequest request = small_request(problem("scan"));
  request.types = {Type::custom};
  EXPECT_EQ(code_of(request), Code::invalid_argument);
  request = small_request(problem("offsets"));
  request.types = {Type::float32};
  EXPECT_EQ(code_of(request), Code::invalid_argument);
  request = small_request(problem("scan"));
  request.rung = "cpu.nosuch";
  EXPECT_EQ(code_of(request), Code::unknown_rung);
  request.problem = "sort";
  EXPECT_EQ(code_of(request), Code::invalid_argument);
  request = small_request(problem("subset-sum"));
  request.settings["target"] = {.value = 125, .scale = 1};
  EXPECT_EQ(code_of(request), Code::invalid_argument);
}

}  // namespace
}  // namespace upsweep
