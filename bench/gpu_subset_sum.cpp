// SPDX-License-Identifier: Apache-2.0
// bench/gpu_subset_sum.cpp: the subset-sum ladder on a GPU: bitmaps verified on the host, timed by events beside a copy.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu_clock.hpp"
#include "gpu_ladder.hpp"
#include "subset_sum/ladder.hpp"
#include "subset_sum/reference.hpp"
#include "subset_sum_ladder.hpp"
#include "upsweep/subset_sum.hpp"

namespace upsweep::bench {
namespace {

// Up to here launching is a good part of the time: calls are also timed in a graph.
constexpr double kGraphSeconds = 2e-3;
constexpr double kMostChecked = 2e9;

class Climb {
 public:
  Climb(const LadderRequest& request, const Progress& progress, const SubsetInstance& instance)
      : request_(request), progress_(progress), instance_(instance), words_(instance.target / 64 + 1) {}

  Group run();

 private:
  [[nodiscard]] double work() const {
    return static_cast<double>(instance_.items.size()) * (static_cast<double>(instance_.target) + 1);
  }
  [[nodiscard]] gpu::Policy policy_of(std::string_view rung) const {
    return gpu::Policy{}.with_rung(rung).with_stream(stream_.get());
  }
  void fill(const SubsetInstance& instance, const gpu::Policy& policy, std::uint64_t* sums) const {
    detail::SubsetSumCall call =
        detail::fill_call(instance.items.data(), std::ssize(instance.items), instance.target, sums);
    call.per_thread = request_.subset.per_thread;
    (void)detail::run_reachable_sums(policy, call);
  }
  std::string verify(std::string_view rung, const SubsetInstance& instance, const gpu::Policy& policy);
  void climb_fill(Row& row);
  void climb_decision(Row& row);
  void copy(Group& group);

  const LadderRequest& request_;
  const Progress& progress_;
  const SubsetInstance& instance_;
  std::int64_t words_;
  std::unique_ptr<DeviceBytes> sums_;
  std::vector<std::uint8_t> expected_;
  Stream stream_;
  EventClock clock_{stream_.get()};
};

std::string Climb::verify(std::string_view, const SubsetInstance& instance, const gpu::Policy& policy) {
  const std::int64_t words = instance.target / 64 + 1;
  const auto bytes = static_cast<std::size_t>(words) * sizeof(std::uint64_t);
  auto* const there = static_cast<std::uint64_t*>(sums_->data());
  gpu::require(cudaMemset(there, 0xA5, bytes), "clearing a bitmap");
  fill(instance, policy, there);
  gpu::require(cudaStreamSynchronize(stream_.get()), "running a rung");
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(words));
  gpu::require(cudaMemcpy(sums.data(), there, bytes, cudaMemcpyDeviceToHost), "copying from the device");
  const double all = static_cast<double>(instance.items.size()) * (static_cast<double>(instance.target) + 1);
  if (all > kMostChecked * 1.01) return wrong_in_bitmap(instance, sums.data());
  if (expected_.empty()) expected_ = subset_sum::expected_sums(instance.items, instance.target);
  const std::int64_t wrong = subset_sum::first_wrong(expected_, sums.data());
  return wrong < 0 ? "" : "wrong from sum " + std::to_string(wrong);
}

void Climb::climb_fill(Row& row) {
  const gpu::Policy without = policy_of(row.rung.id);
  const std::int64_t n = std::ssize(instance_.items);
  gpu::Workspace workspace(gpu::reachable_sums_workspace(without, n, instance_.target), 0, stream_.get());
  const gpu::Policy policy = without.with_workspace(workspace);
  const SubsetInstance small = work() <= kMostChecked ? instance_ : small_instance(instance_);
  row.reason = verify(row.rung.id, small, policy);
  auto* const sums = static_cast<std::uint64_t*>(sums_->data());
  const auto run = [&] { fill(instance_, policy, sums); };
  const double once = clock_.seconds_of(run);
  if (once > request_.max_seconds) {
    row.reason = estimated(once);
    return;
  }
  if (row.reason.empty() && work() > kMostChecked) row.reason = verify(row.rung.id, instance_, policy);
  row.status = row.reason.empty() ? RowStatus::verified : RowStatus::failed;
  std::vector<double> samples;
  double used = 0;
  for (int round = 0; round < kRounds && (samples.size() < kMinSamples || used < kBudget); ++round) {
    samples.push_back(clock_.seconds_of(run));
    used += samples.back();
  }
  row.median_s = median(samples);
  if (row.median_s < kGraphSeconds) row.graph_s = seconds_in_graph(clock_, run);
}

void Climb::climb_decision(Row& row) {
  SubsetSumOptions options{.reduce = false};
  const auto near = reachable_near(instance_);
  const gpu::Policy policy = policy_of(row.rung.id);
  const SubsetSum found = find_subset(policy, instance_.items, near, options);
  std::int64_t sum = 0;
  for (const std::int64_t i : found.indices) sum += instance_.items[static_cast<std::size_t>(i)];
  row.reason = found && sum == near ? "" : "does not find " + std::to_string(near);
  row.status = row.reason.empty() ? RowStatus::verified : RowStatus::failed;
  options.witness = false;
  std::vector<double> samples;
  for (int round = 0; round < 7; ++round) {
    samples.push_back(seconds_of([&] { (void)find_subset(policy, instance_.items, instance_.target, options); }));
  }
  row.median_s = median(samples);
}

/// The rate at which the device copies the bitmap.
void Climb::copy(Group& group) {
  const auto bytes = static_cast<std::size_t>(words_) * sizeof(std::uint64_t);
  const DeviceBytes to(static_cast<std::int64_t>(bytes));
  std::vector<double> samples;
  for (int round = 0; round < kRounds; ++round) {
    samples.push_back(clock_.seconds_of([&] {
      gpu::require(cudaMemcpyAsync(to.data(), sums_->data(), bytes, cudaMemcpyDeviceToDevice, stream_.get()),
                   "copying a bitmap");
    }));
  }
  group.copy_bytes_per_s = 2.0 * static_cast<double>(bytes) / median(samples);
}

Group Climb::run() {
  Group group = subset_group(instance_);
  group.device = gpu::devices()[0].name;
  if (instance_.fills) {
    sums_ = std::make_unique<DeviceBytes>(words_ * std::int64_t{sizeof(std::uint64_t)});
    copy(group);
  }
  for (const auto& rung : ladder(Problem::subset_sum)) {
    if (rung.backend() != Backend::cuda || (!request_.rung.empty() && rung.id != request_.rung)) continue;
    Row row{.rung = rung};
    progress_("timing " + std::string(rung.id) + " on " + std::to_string(instance_.items.size()) + " items");
    try {
      if (!subset_sum::fills(rung.id) || !instance_.fills) {
        climb_decision(row);
      } else {
        climb_fill(row);
        row.bytes = 2 * group.subset->bitmap_bytes * static_cast<double>(group.n);
      }
    } catch (const Error& error) {
      const bool skipped = error.code() == Code::unsupported || error.code() == Code::device_memory ||
                           error.code() == Code::out_of_memory;
      row.status = skipped ? RowStatus::skipped : RowStatus::failed;
      row.reason = error.what();
      const std::string prefix = std::string(rung.id) + ": ";
      if (row.reason.starts_with(prefix)) row.reason.erase(0, prefix.size());
    }
    group.rows.push_back(std::move(row));
  }
  return group;
}

}  // namespace

std::vector<Group> climb_subset_sum_on_gpu(const LadderRequest& request, const Progress& progress) {
  std::vector<Group> groups;
  for (const auto& instance : subset_instances(request, true)) {
    groups.push_back(Climb(request, progress, instance).run());
  }
  return groups;
}

}  // namespace upsweep::bench
