// SPDX-License-Identifier: Apache-2.0
// climb/host_place.cpp: runs rungs on the CPU, on the instance's own arrays, and copies and reads of the same size.
#include <algorithm>
#include <cstring>
#include <utility>

#include "climb/guest.hpp"
#include "climb/place.hpp"
#include "cpu/parallel.hpp"
#include "system/float_mode.hpp"
#include "system/pages.hpp"
#include "upsweep/machine.hpp"

namespace upsweep {
namespace {

// Below this size, a copy is memcpy's in cache, on one thread or on all, whichever is faster. From this size on, all
// threads copy past the caches, as the rungs do.
constexpr std::int64_t kCopyPastCaches = std::int64_t{8} << 20;
constexpr int kTrials = 3;

void fill_bytes(void* memory, std::int64_t bytes) {
  if (bytes > 0) std::memset(memory, kPoison, static_cast<std::size_t>(bytes));
}

class HostPlace final : public ClimbPlace {
 public:
  HostPlace(Instance& instance, int threads) : instance_(instance), arrays_(instance.arrays()), threads_(threads) {
    for (const HostArray& array : arrays_) at_.push_back(array.data);
  }

  [[nodiscard]] Backend backend() const override { return Backend::cpu; }
  [[nodiscard]] std::string device() const override { return ""; }
  void upload() override {}
  void poison() override {
    for (const HostArray& array : arrays_) {
      if (array.is_output) fill_bytes(array.data, array.bytes);
    }
  }
  void fetch() override {}
  std::string_view run(std::string_view rung, std::int64_t n) override {
    const KeptFloatMode kept;
    return run(policy(rung), n);
  }
  std::function<void()> runner(std::string_view rung, Overflow overflow) override {
    return [this, by = policy(rung).with_overflow(overflow)] { run(by, instance_.group.n); };
  }
  std::vector<Contender> limits() override;
  [[nodiscard]] Clock& clock() override { return clock_; }

 private:
  std::string_view run(const Policy& by, std::int64_t n) {
    const Guest* const guest = instance_.guest;
    if (guest == nullptr || by.rung != guest->info().id) return instance_.run(by, at_.data(), n);
    instance_.run_guest(cpu::worker_count(threads_), at_.data(), n);
    return guest->info().id;
  }
  void copy_in_cache(std::int64_t half, int workers);
  int workers_in_cache(std::int64_t half);
  [[nodiscard]] Policy policy(std::string_view rung) const { return par.with_threads(threads_).with_rung(rung); }

  Instance& instance_;
  std::vector<HostArray> arrays_;
  std::vector<void*> at_;
  int threads_;
  HostClock clock_;
  cpu::Pages<std::byte> limit_;  // both ends of the copy
};

void HostPlace::copy_in_cache(std::int64_t half, int workers) {
  cpu::run_workers(workers, [&](int worker) {
    const std::int64_t begin = half * worker / workers;
    const std::int64_t end = half * (worker + 1) / workers;
    std::memcpy(limit_.data() + half + begin, limit_.data() + begin, static_cast<std::size_t>(end - begin));
  });
}

/// One worker or all, by the minimum of some trials.
int HostPlace::workers_in_cache(std::int64_t half) {
  const int all = cpu::worker_count(threads_);
  if (all == 1) return 1;
  const auto seconds = [&](int workers) {
    double least = clock_.seconds_of([&] { copy_in_cache(half, workers); });
    for (int i = 1; i < kTrials; ++i) {
      least = std::min(least, clock_.seconds_of([&] { copy_in_cache(half, workers); }));
    }
    return least;
  };
  return seconds(all) < seconds(1) ? all : 1;
}

std::vector<Contender> HostPlace::limits() {
  const auto half = static_cast<std::int64_t>(instance_.group.limit_bytes / 2);
  if (half == 0) return {};
  limit_ = cpu::Pages<std::byte>(2 * half);
  fill_bytes(limit_.data(), 2 * half);
  const int workers = half < kCopyPastCaches ? workers_in_cache(half) : 0;
  const auto copy = [this, half, workers] {
    if (workers > 0) {
      copy_in_cache(half, workers);
    } else {
      copy_bytes(limit_.data() + half, limit_.data(), half, threads_);
    }
  };
  const std::int64_t read = instance_.group.reads_only ? 2 * half : half;
  return {{.name = "copy", .run = copy},
          {.name = "read", .run = [this, read] { (void)read_bytes(limit_.data(), read, threads_); }}};
}

}  // namespace

std::unique_ptr<ClimbPlace> host_place(Instance& instance, int threads) {
  return std::make_unique<HostPlace>(instance, threads);
}

}  // namespace upsweep
