// SPDX-License-Identifier: Apache-2.0
// bench/gpu_ladder.cpp: device arrays, verification and event timing of the CUDA rungs of the scan ladder.
#include "gpu_ladder.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "buffer.hpp"
#include "clock.hpp"
#include "core/visit.hpp"
#include "cuda/check.hpp"
#include "made.hpp"
#include "scan/reference.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/scan.hpp"

namespace upsweep::bench {
namespace {

using gpu::require;

constexpr int kRounds = 31;
constexpr int kWarmUp = 3;
// A rung is tried on so many elements first, so that one that would take minutes is not started at all.
constexpr std::int64_t kProbe = 1 << 15;

class DeviceBytes {
 public:
  explicit DeviceBytes(std::int64_t bytes) {
    require(cudaMalloc(&memory_, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))), "allocating an array");
  }
  ~DeviceBytes() { (void)cudaFree(memory_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  [[nodiscard]] void* data() const { return memory_; }

 private:
  void* memory_ = nullptr;
};

/// Two events around one run, on the default stream.
class EventClock {
 public:
  EventClock() {
    require(cudaEventCreate(&begin_), "creating an event");
    require(cudaEventCreate(&end_), "creating an event");
  }
  ~EventClock() {
    (void)cudaEventDestroy(begin_);
    (void)cudaEventDestroy(end_);
  }
  EventClock(const EventClock&) = delete;
  EventClock& operator=(const EventClock&) = delete;

  double seconds_of(const std::function<void()>& run) {
    require(cudaEventRecord(begin_), "timing");
    run();
    require(cudaEventRecord(end_), "timing");
    require(cudaEventSynchronize(end_), "running a rung");
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, begin_, end_), "timing");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

/// Input and output, several times over where one pair would stay in the device's cache from run to run.
template <class T>
class Arrays {
 public:
  Arrays(std::int64_t n, std::int64_t cache_bytes) : n_(n) {
    const std::int64_t bytes = std::max<std::int64_t>(n, 1) * std::int64_t{sizeof(T)};
    const std::int64_t pairs = std::clamp<std::int64_t>(2 * cache_bytes / (2 * bytes), 1, 32);
    for (std::int64_t i = 0; i < pairs; ++i) {
      in_.push_back(std::make_unique<DeviceBytes>(bytes));
      out_.push_back(std::make_unique<DeviceBytes>(bytes));
    }
  }
  void fill(const T* values) {
    for (const auto& in : in_) {
      require(cudaMemcpy(in->data(), values, size(), cudaMemcpyHostToDevice), "copying to the device");
    }
  }
  void poison() { require(cudaMemset(out(), 0xA5, size()), "clearing an array"); }
  void fetch(T* values) {
    require(cudaMemcpy(values, out(), size(), cudaMemcpyDeviceToHost), "copying from the device");
  }
  void next() { turn_ = (turn_ + 1) % in_.size(); }
  [[nodiscard]] const T* in() const { return static_cast<const T*>(in_[turn_]->data()); }
  [[nodiscard]] T* out() const { return static_cast<T*>(out_[turn_]->data()); }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(n_) * sizeof(T); }

 private:
  std::int64_t n_;
  std::size_t turn_ = 0;
  std::vector<std::unique_ptr<DeviceBytes>> in_;
  std::vector<std::unique_ptr<DeviceBytes>> out_;
};

template <class T>
class ScanCourse {
 public:
  explicit ScanCourse(std::int64_t n) : n_(n), host_(n), result_(n), arrays_(n, gpu::devices()[0].l2_bytes) {}

  Group climb(const LadderRequest& request, const Progress& progress) {
    Group group{.problem = Problem::scan, .device = gpu::devices()[0].name, .type = type_of<T>(), .n = n_};
    for (const auto& rung : ladder(Problem::scan)) {
      if (rung.backend != Backend::cuda || (!request.rung.empty() && rung.id != request.rung)) continue;
      progress("verifying " + std::string(rung.id) + " on " + std::to_string(n_));
      Row row{.rung = rung, .bytes = 2.0 * static_cast<double>(n_) * sizeof(T)};
      verify(row, request.max_seconds);
      group.rows.push_back(std::move(row));
    }
    progress("timing on " + std::to_string(n_));
    time(group, request.rung.empty());
    return group;
  }

 private:
  void verify(Row& row, double max_seconds) try {
    if (n_ > kProbe) {
      fill_whole(host_.data(), kProbe);
      arrays_.fill(host_.data());
      const gpu::Workspace workspace(gpu::scan_workspace<T, T>(policy_of(row.rung.id), kProbe));
      const double probe =
          clock_.seconds_of([&] { inclusive_scan(policy_of(row.rung.id), arrays_.in(), kProbe, arrays_.out()); });
      const double estimate = probe * static_cast<double>(n_) / static_cast<double>(kProbe);
      // A launch takes some microseconds whatever it does: only what is slow beyond that says anything.
      if (probe > 1e-3 && estimate > max_seconds) {
        row.reason = "estimated " + std::to_string(std::lround(estimate)) + " s";
        return;
      }
    }
    fill_whole(host_.data(), n_);
    run_once(row.rung.id);
    std::int64_t wrong = scan::first_wrong(scan::ExactReference<T, Add>(add), host_.data(), result_.data(), n_, false);
    if constexpr (std::is_floating_point_v<T>) {
      if (wrong == kNoIndex) {
        fill_fractions(host_.data(), n_);
        run_once(row.rung.id);
        wrong = scan::first_beyond(scan::SumReference(), host_.data(), result_.data(), n_, false, row.rung.float_bound);
      }
    }
    row.status = wrong == kNoIndex ? RowStatus::verified : RowStatus::failed;
    if (wrong != kNoIndex) row.reason = "wrong from index " + std::to_string(wrong);
  } catch (const Error& error) {
    row.status = error.code() == Code::unsupported ? RowStatus::skipped : RowStatus::failed;
    row.reason = error.what();
    const std::string prefix = std::string(row.rung.id) + ": ";
    if (row.reason.starts_with(prefix)) row.reason.erase(0, prefix.size());
  }

  static gpu::Policy policy_of(std::string_view rung) { return gpu::Policy{}.with_rung(rung); }

  void run_once(std::string_view rung) {
    arrays_.fill(host_.data());
    arrays_.poison();
    inclusive_scan(policy_of(rung), arrays_.in(), n_, arrays_.out());
    arrays_.fetch(result_.data());
  }

  /// In turn, round after round, like everything that is timed; the workspaces are there before.
  void time(Group& group, bool with_api) {
    struct Timed {
      std::string name;
      std::function<void()> run;
      std::vector<double> samples;
    };
    std::vector<Timed> all;
    all.push_back({"copy",
                   [&] {
                     require(cudaMemcpyAsync(arrays_.out(), arrays_.in(), arrays_.size(), cudaMemcpyDeviceToDevice),
                             "copying on the device");
                   },
                   {}});
    const auto add_scan = [&](const std::string& name, const gpu::Policy& policy) {
      auto workspace = std::make_shared<gpu::Workspace>(gpu::scan_workspace<T, T>(policy, n_));
      all.push_back({name,
                     [this, workspace, policy] {
                       inclusive_scan(policy.with_workspace(*workspace), arrays_.in(), n_, arrays_.out());
                     },
                     {}});
    };
    if (with_api) {
      group.api_rung = inclusive_scan(gpu::Policy{}, arrays_.in(), n_, arrays_.out()).rung;
      add_scan("api", {});
    }
    for (const Row& row : group.rows) {
      if (row.status == RowStatus::verified) add_scan(std::string(row.rung.id), policy_of(row.rung.id));
    }
    for (int round = -kWarmUp; round < kRounds; ++round) {
      for (auto& timed : all) {
        arrays_.next();
        const double seconds = clock_.seconds_of(timed.run);
        if (round >= 0) timed.samples.push_back(seconds);
      }
    }
    std::map<std::string, double, std::less<>> medians;
    for (const auto& timed : all) medians[timed.name] = median(timed.samples);
    group.copy_bytes_per_s = 2.0 * static_cast<double>(arrays_.size()) / medians["copy"];
    group.api_s = medians["api"];
    for (Row& row : group.rows) row.median_s = medians[std::string(row.rung.id)];
  }

  std::int64_t n_;
  Buffer<T> host_;
  Buffer<T> result_;
  Arrays<T> arrays_;
  EventClock clock_;
};

}  // namespace

std::vector<Group> climb_on_gpu(const LadderRequest& request, const Progress& progress) {
  if (gpu::devices().empty()) throw Error(Code::no_device, "no CUDA device on this machine");
  if (request.problem != Problem::scan) {
    throw Error(Code::unsupported, "the " + std::string(name(request.problem)) + " ladder has no CUDA rungs yet");
  }
  std::vector<Group> groups;
  for (const Type type : request.types) {
    for (const std::int64_t n : request.sizes) {
      visit_type(type,
                 [&]<class T>(std::type_identity<T>) { groups.push_back(ScanCourse<T>(n).climb(request, progress)); });
    }
  }
  return groups;
}

}  // namespace upsweep::bench
