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
// A rung is left out of further rounds once it has used so many seconds and has three samples.
constexpr double kBudget = 0.5;
constexpr std::size_t kMinSamples = 3;
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
      group.rows.push_back(
          {.rung = rung, .status = RowStatus::verified, .bytes = 2.0 * static_cast<double>(n_) * sizeof(T)});
    }
    if constexpr (std::is_floating_point_v<T>) {
      fill_fractions(host_.data(), n_);
      verify_all(group, progress, request.max_seconds, [&](const RungInfo& rung) {
        return scan::first_beyond(scan::SumReference(), host_.data(), result_.data(), n_, false, rung.float_bound);
      });
    }
    fill_whole(host_.data(), n_);
    verify_all(group, progress, request.max_seconds, [&](const RungInfo&) {
      return scan::first_wrong(scan::ExactReference<T, Add>(add), host_.data(), result_.data(), n_, false);
    });
    progress("timing on " + std::to_string(n_));
    time(group, request.rung.empty());
    return group;
  }

 private:
  /// first_wrong(rung) looks at result_, which the rung made of host_.
  template <class FirstWrong>
  void verify_all(Group& group, const Progress& progress, double max_seconds, FirstWrong first_wrong) {
    arrays_.fill(host_.data());
    for (Row& row : group.rows) {
      if (row.status != RowStatus::verified) continue;
      progress("verifying " + std::string(row.rung.id) + " on " + std::to_string(n_));
      try {
        row.reason = slow(row.rung.id, max_seconds);
        if (!row.reason.empty()) {
          row.status = RowStatus::skipped;
          continue;
        }
        arrays_.poison();
        inclusive_scan(policy_of(row.rung.id), arrays_.in(), n_, arrays_.out());
        arrays_.fetch(result_.data());
        const std::int64_t wrong = first_wrong(row.rung);
        if (wrong == kNoIndex) continue;
        row.status = RowStatus::failed;
        row.reason = "wrong from index " + std::to_string(wrong);
      } catch (const Error& error) {
        row.status = error.code() == Code::unsupported ? RowStatus::skipped : RowStatus::failed;
        row.reason = error.what();
        const std::string prefix = std::string(row.rung.id) + ": ";
        if (row.reason.starts_with(prefix)) row.reason.erase(0, prefix.size());
      }
    }
  }

  /// "estimated 71 s" where a short run says that the whole would take longer than it may, else "".
  std::string slow(std::string_view rung, double max_seconds) {
    if (n_ <= kProbe) return "";
    const auto run = [&] { inclusive_scan(policy_of(rung), arrays_.in(), kProbe, arrays_.out()); };
    run();  // the first launch loads the kernel
    const double estimate = clock_.seconds_of(run) * static_cast<double>(n_) / static_cast<double>(kProbe);
    // Every launch takes some microseconds: times below that say nothing about the length.
    return estimate > max_seconds && estimate > 20e-6 * static_cast<double>(n_) / static_cast<double>(kProbe)
               ? "estimated " + std::to_string(std::lround(estimate)) + " s"
               : "";
  }

  static gpu::Policy policy_of(std::string_view rung) { return gpu::Policy{}.with_rung(rung); }

  /// In turn, round after round, like everything that is timed; the workspaces are there before.
  void time(Group& group, bool with_api) {
    struct Timed {
      std::string name;
      std::function<void()> run;
      std::vector<double> samples;
      double used = 0;
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
    for (int round = -1; round < kRounds; ++round) {  // the first round warms up
      for (auto& timed : all) {
        if (timed.used > kBudget && timed.samples.size() >= kMinSamples) continue;
        arrays_.next();
        const double seconds = clock_.seconds_of(timed.run);
        timed.used += seconds;
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
