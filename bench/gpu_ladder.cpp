// SPDX-License-Identifier: Apache-2.0
// bench/gpu_ladder.cpp: device arrays, verification and event timing of the CUDA rungs of every ladder.
#include "gpu_ladder.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include "buffer.hpp"
#include "clock.hpp"
#include "core/visit.hpp"
#include "cuda/check.hpp"
#include "gpu_clock.hpp"
#include "made.hpp"
#include "ragged/reference.hpp"
#include "scan/reference.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/ragged.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/scan.hpp"

namespace upsweep::bench {
namespace {

using gpu::require;

// Up to here launching is a good part of the time: calls are also timed in a graph.
constexpr std::int64_t kGraphLength = 1 << 20;

// --------------------------------------------------------------------------------------------------------- a course

/// What differs between the problems at one type and size. The last two arrays are the copy's.
struct Course {
  double bytes = 0;  ///< the least that must be read and written
  std::unique_ptr<Rotation> arrays;
  std::size_t output = 0;                                                 ///< which array
  std::function<std::string_view(const gpu::Policy&, std::int64_t)> run;  ///< on the first n; the rung's id
  std::function<gpu::WorkspaceSize(const gpu::Policy&)> workspace;        ///< for all
  std::vector<std::function<std::function<std::string(const RungInfo&)>()>>
      inputs;  ///< fills; then verifies: "" or not
};

std::string wrong_at(std::int64_t index) {
  return index == kNoIndex ? "" : "wrong from index " + std::to_string(index);
}

class Climber {
 public:
  Climber(const LadderRequest& request, const Progress& progress) : request_(request), progress_(progress) {}

  /// Verifies every rung on every input, then times them on the last.
  Group climb(Group group, Course course);

 private:
  [[nodiscard]] gpu::Policy policy_of(std::string_view rung) const {
    return gpu::Policy{}.with_rung(rung).with_stream(stream_.get());
  }
  void verify(Row& row, Course& course, std::int64_t n, const std::function<std::string(const RungInfo&)>& wrong);
  std::string slow(std::string_view rung, const Course& course, std::int64_t n);
  void time(Group& group, Course& course);

  const LadderRequest& request_;
  const Progress& progress_;
  Stream stream_;
  EventClock clock_{stream_.get()};
};

std::string Climber::slow(std::string_view rung, const Course& course, std::int64_t n) {
  return estimated_beyond(clock_, n, request_.max_seconds, [&] { course.run(policy_of(rung), kProbe); });
}

void Climber::verify(Row& row, Course& course, std::int64_t n,
                     const std::function<std::string(const RungInfo&)>& wrong) {
  progress_("verifying " + std::string(row.rung.id) + " on " + std::to_string(n));
  try {
    row.reason = slow(row.rung.id, course, n);
    if (!row.reason.empty()) {
      row.status = RowStatus::skipped;
      return;
    }
    course.arrays->poison(course.output);
    course.run(policy_of(row.rung.id), n);
    row.reason = wrong(row.rung);
    if (!row.reason.empty()) row.status = RowStatus::failed;
  } catch (const Error& error) {
    row.status = error.code() == Code::unsupported ? RowStatus::skipped : RowStatus::failed;
    row.reason = error.what();
    const std::string prefix = std::string(row.rung.id) + ": ";
    if (row.reason.starts_with(prefix)) row.reason.erase(0, prefix.size());
  }
}

/// In turn, round after round, like everything that is timed; the workspaces are there before.
void Climber::time(Group& group, Course& course) {
  struct Timed {
    std::string name;
    std::function<void()> run;
    std::vector<double> samples = {};
    double used = 0;
  };
  std::vector<Timed> all;
  const auto half = static_cast<std::size_t>(course.bytes / 2);
  all.push_back({"copy", [&] {
                   require(cudaMemcpyAsync(course.arrays->array<void>(course.output + 2),
                                           course.arrays->array<void>(course.output + 1), half,
                                           cudaMemcpyDeviceToDevice, stream_.get()),
                           "copying on the device");
                 }});
  const auto add = [&](const std::string& name, const gpu::Policy& policy) {
    auto workspace = std::make_shared<gpu::Workspace>(course.workspace(policy), 0, stream_.get());
    all.push_back(
        {name, [&course, workspace, policy, n = group.n] { course.run(policy.with_workspace(*workspace), n); }});
  };
  if (request_.rung.empty()) {
    group.api_rung = course.run(policy_of({}), group.n);
    add("api", policy_of({}));
  }
  for (const Row& row : group.rows) {
    if (row.status == RowStatus::verified) add(std::string(row.rung.id), policy_of(row.rung.id));
  }
  for (int round = -1; round < kRounds; ++round) {  // the first round warms up
    for (auto& timed : all) {
      if (timed.used > kBudget && timed.samples.size() >= kMinSamples) continue;
      course.arrays->next();
      const double seconds = clock_.seconds_of(timed.run);
      timed.used += seconds;
      if (round >= 0) timed.samples.push_back(seconds);
    }
  }
  std::map<std::string, double, std::less<>> medians;
  for (const auto& timed : all) medians[timed.name] = median(timed.samples);
  group.copy_bytes_per_s = 2.0 * static_cast<double>(half) / medians["copy"];
  group.api_s = medians["api"];
  for (Row& row : group.rows) {
    row.median_s = medians[std::string(row.rung.id)];
    if (row.status != RowStatus::verified || group.n > kGraphLength || row.median_s > 1e-4) continue;
    const auto timed = std::find_if(all.begin(), all.end(), [&](const Timed& one) { return one.name == row.rung.id; });
    row.graph_s = seconds_in_graph(clock_, [&] {
      course.arrays->next();
      timed->run();
    });
  }
}

Group Climber::climb(Group group, Course course) {
  group.device = gpu::devices()[0].name;
  for (const auto& rung : ladder(group.problem)) {
    if (rung.backend() != Backend::cuda || (!request_.rung.empty() && rung.id != request_.rung)) continue;
    group.rows.push_back({.rung = rung, .status = RowStatus::verified, .bytes = course.bytes});
  }
  for (const auto& fill : course.inputs) {
    const auto wrong = fill();
    for (Row& row : group.rows) {
      if (row.status == RowStatus::verified) verify(row, course, group.n, wrong);
    }
  }
  progress_("timing on " + std::to_string(group.n));
  time(group, course);
  return group;
}

// ------------------------------------------------------------------------------------------------------ the problems

std::unique_ptr<Rotation> arrays_of(std::vector<std::int64_t> sizes, double bytes) {
  const auto half = static_cast<std::int64_t>(bytes / 2);
  sizes.push_back(half);
  sizes.push_back(half);
  return std::make_unique<Rotation>(std::move(sizes), gpu::devices()[0].l2_bytes);
}

template <class T>
Group climb_scan(Climber& climber, Group group) {
  const std::int64_t n = group.n;
  const std::int64_t bytes = n * std::int64_t{sizeof(T)};
  Buffer<T> host(n);
  Buffer<T> result(n);
  Course course;
  course.bytes = 2.0 * static_cast<double>(bytes);
  course.arrays = arrays_of({bytes, bytes}, course.bytes);
  course.output = 1;
  Rotation& arrays = *course.arrays;
  course.run = [&](const gpu::Policy& policy, std::int64_t count) {
    return inclusive_scan(policy, arrays.array<const T>(0), count, arrays.array<T>(1)).rung;
  };
  course.workspace = [n](const gpu::Policy& policy) { return gpu::scan_workspace<T, T>(policy, n); };
  if constexpr (std::is_floating_point_v<T>) {
    course.inputs.emplace_back([&] {
      fill_fractions(host.data(), n);
      arrays.fill(0, host.data(), bytes);
      return [&](const RungInfo& rung) {
        arrays.fetch(result.data(), 1);
        return wrong_at(
            scan::first_beyond(scan::SumReference(), host.data(), result.data(), n, false, rung.float_bound));
      };
    });
  }
  course.inputs.emplace_back([&] {
    fill_whole(host.data(), n);
    arrays.fill(0, host.data(), bytes);
    return [&](const RungInfo&) {
      arrays.fetch(result.data(), 1);
      return wrong_at(scan::first_wrong(scan::ExactReference<T, Add>(add), host.data(), result.data(), n, false));
    };
  });
  return climber.climb(std::move(group), std::move(course));
}

template <class T>
Group climb_reduce(Climber& climber, Group group) {
  const std::int64_t n = group.n;
  const std::int64_t bytes = n * std::int64_t{sizeof(T)};
  Buffer<T> host(n);
  T value{};
  scan::SumReference fractions;
  T sum{};
  Course course;
  course.bytes = static_cast<double>(bytes);
  course.arrays = arrays_of({bytes, sizeof(T)}, course.bytes);
  course.output = 1;
  Rotation& arrays = *course.arrays;
  course.run = [&](const gpu::Policy& policy, std::int64_t count) {
    return reduce_async(policy, arrays.array<const T>(0), count, arrays.array<T>(1), T{});
  };
  course.workspace = [n](const gpu::Policy& policy) { return gpu::reduce_workspace<T, T>(policy, n); };
  if constexpr (std::is_floating_point_v<T>) {
    course.inputs.emplace_back([&] {
      fill_fractions(host.data(), n);
      arrays.fill(0, host.data(), bytes);
      for (std::int64_t i = 0; i < n; ++i) fractions.next(host[i]);
      return [&](const RungInfo& rung) -> std::string {
        arrays.fetch(&value, 1);
        return scan::is_close(fractions, value, rung.float_bound.factor(n, n)) ? "" : "wrong value";
      };
    });
  }
  course.inputs.emplace_back([&] {
    fill_whole(host.data(), n);
    arrays.fill(0, host.data(), bytes);
    for (std::int64_t i = 0; i < n; ++i) sum = add(sum, host[i]);
    return [&](const RungInfo&) -> std::string {
      arrays.fetch(&value, 1);
      return value == sum ? "" : "wrong value";
    };
  });
  return climber.climb(std::move(group), std::move(course));
}

/// Lists anywhere, or lists that lie one behind the other.
template <class T>
Group climb_ragged(Climber& climber, Group group, bool adjacent) {
  const std::int64_t n = group.n;
  const std::int64_t bytes = n * std::int64_t{sizeof(T)};
  Buffer<T> starts(n + 1);
  Buffer<T> stops(n);
  Buffer<std::int64_t> result(n + 1);
  Course course;
  course.bytes = static_cast<double>(n) * ((adjacent ? 1.0 : 2.0) * sizeof(T) + 8.0);
  course.arrays = arrays_of(
      {bytes + std::int64_t{sizeof(T)}, adjacent ? 0 : bytes, (n + 1) * 8, sizeof(gpu::OffsetsStatus)}, course.bytes);
  Rotation& arrays = *course.arrays;
  course.output = 3;
  const auto stops_on_device = [&, adjacent] {
    return adjacent ? arrays.array<const T>(0) + 1 : arrays.array<const T>(1);
  };
  course.run = [&, stops_on_device](const gpu::Policy& policy, std::int64_t count) {
    return compact_offsets_async(policy, arrays.array<const T>(0), stops_on_device(), count,
                                 arrays.array<std::int64_t>(2), arrays.array<gpu::OffsetsStatus>(3));
  };
  course.workspace = [n](const gpu::Policy& policy) { return gpu::offsets_workspace<T>(policy, n); };
  course.inputs.emplace_back([&, adjacent] {
    if (adjacent) {
      fill_adjacent(starts.data(), n);
    } else {
      fill_lists(starts.data(), stops.data(), n);
      arrays.fill(1, stops.data(), bytes);
    }
    arrays.poison(2);
    arrays.fill(0, starts.data(), bytes + (adjacent ? std::int64_t{sizeof(T)} : 0));
    const T* const ends = adjacent ? starts.data() + 1 : stops.data();
    return [&, ends](const RungInfo&) -> std::string {
      gpu::OffsetsStatus told = {};
      arrays.fetch(&told, 3);
      if (told.code != Code::ok) return "finds list " + std::to_string(told.first_bad) + " bad";
      arrays.fetch(result.data(), 2);
      arrays.poison(2);
      return wrong_at(ragged::first_wrong(starts.data(), ends, n, result.data()));
    };
  });
  if (adjacent) group.input = "adjacent lists";
  return climber.climb(std::move(group), std::move(course));
}

}  // namespace

std::vector<Group> climb_on_gpu(const LadderRequest& request, const Progress& progress) {
  if (gpu::devices().empty()) throw Error(Code::no_device, "no CUDA device on this machine");
  if (request.problem == Problem::aggregate) return climb_aggregate_on_gpu(request, progress);
  if (request.problem == Problem::subset_sum) return climb_subset_sum_on_gpu(request, progress);
  if (!request.input.empty()) throw Error(Code::unsupported, "the ladder on a GPU is climbed on made numbers only");
  std::vector<Group> groups;
  Climber climber(request, progress);
  for (const Type type : request.types) {
    for (const std::int64_t n : request.sizes) {
      const Group group{.problem = request.problem, .type = type, .n = n};
      if (request.problem == Problem::ragged) {
        visit_list_bound(type, [&]<class T>(std::type_identity<T>) {
          for (const bool adjacent : {false, true}) groups.push_back(climb_ragged<T>(climber, group, adjacent));
        });
        continue;
      }
      visit_type(type, [&]<class T>(std::type_identity<T>) {
        groups.push_back(request.problem == Problem::scan ? climb_scan<T>(climber, group)
                                                          : climb_reduce<T>(climber, group));
      });
    }
  }
  return groups;
}

}  // namespace upsweep::bench
