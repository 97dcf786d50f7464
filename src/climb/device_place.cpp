// SPDX-License-Identifier: Apache-2.0
// climb/device_place.cpp: runs rungs on a GPU, on arrays that rotate past its cache or on pinned ones, timed by events.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "climb/device_clock.hpp"
#include "climb/guest.hpp"
#include "climb/kernel_facts.hpp"
#include "climb/place.hpp"
#include "cuda/check.hpp"
#include "cuda/device_call.hpp"
#include "cuda/memory_pool.hpp"
#include "upsweep/machine.hpp"
#include "upsweep/reduce.hpp"

namespace upsweep {
namespace {

using gpu::require;

// Up to this time, launching is much of it: calls are also timed in a graph, and on arrays in the cache.
constexpr double kGraphSeconds = 1e-4;
constexpr std::size_t kMostSets = 32;

void copy_to_device(void* to, const void* from, std::int64_t bytes) {
  require(cudaMemcpy(to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice), "copying to the device");
}

cudaMemPool_t default_pool(int device) {
  cudaMemPool_t pool = nullptr;
  require(cudaDeviceGetDefaultMemPool(&pool, device), "asking for the device's pool");
  return pool;
}

/// Keeps all memory that calls have freed in a pool of the device while this object exists, so that allocation is not
/// timed.
class KeptPool {
 public:
  explicit KeptPool(cudaMemPool_t pool) : pool_(pool) {
    require(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &before_), "asking for the device's pool");
    std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
    require(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &all), "keeping freed memory");
  }
  ~KeptPool() {
    (void)cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &before_);
    (void)cudaMemPoolTrimTo(pool_, 0);
  }
  KeptPool(const KeptPool&) = delete;
  KeptPool& operator=(const KeptPool&) = delete;

 private:
  cudaMemPool_t pool_;
  std::uint64_t before_ = 0;
};

/// The arrays of an instance. There are several sets if one would stay in the device's cache from run to run.
class DevicePlace final : public ClimbPlace, private gpu::CurrentDevice {
 public:
  DevicePlace(Instance& instance, int device);

  [[nodiscard]] Backend backend() const override { return Backend::cuda; }
  [[nodiscard]] std::string device() const override { return gpu::devices()[static_cast<std::size_t>(device_)].name; }
  void upload() override;
  void poison() override;
  void fetch() override;
  std::string_view run(std::string_view rung, std::int64_t n) override {
    if (!is_guests(rung)) return instance_.run(policy(rung), at().data(), n);
    instance_.run_guest(stream_.get(), at().data(), n);
    return rung;
  }
  std::function<void()> runner(std::string_view rung, Overflow overflow) override;
  std::vector<Contender> limits() override;
  [[nodiscard]] Clock& clock() override { return clock_; }
  void require_usable() override { require(cudaDeviceSynchronize(), "waiting for the device"); }
  void add_details(Row& row, const std::function<void()>& run) override;

 private:
  /// Switches to the next set before every sample.
  class RotatingClock final : public gpu::EventClock {
   public:
    explicit RotatingClock(DevicePlace& place) : EventClock(place.stream_.get()), place_(place) {}
    void next() override { place_.turn_ = (place_.turn_ + 1) % place_.sets_.size(); }

   private:
    DevicePlace& place_;
  };
  struct Set {
    std::vector<void*> at;
    std::vector<std::unique_ptr<gpu::DeviceBytes>> owned;
    std::unique_ptr<gpu::DeviceBytes> limit;  // both ends of the copy
  };

  [[nodiscard]] const std::vector<void*>& at() const { return sets_[turn_].at; }
  [[nodiscard]] std::byte* limit() const { return static_cast<std::byte*>(sets_[turn_].limit->get()); }
  [[nodiscard]] gpu::Policy policy(std::string_view rung) const {
    return gpu::Policy{}.with_device(device_).with_rung(rung).with_stream(stream_.get());
  }
  [[nodiscard]] bool is_guests(std::string_view rung) const {
    return instance_.guest != nullptr && instance_.guest->info().id == rung;
  }
  [[nodiscard]] bool stays_on_host(const HostArray& array) const {
    return instance_.group.is_pinned && !array.is_output;
  }

  Instance& instance_;
  int device_;
  KeptPool pool_;
  KeptPool default_pool_;  // from which a guest allocates
  std::vector<HostArray> arrays_;
  std::vector<std::unique_ptr<gpu::Pinned>> pinned_;
  gpu::OwnStream stream_;
  std::vector<Set> sets_;
  std::size_t turn_ = 0;
  RotatingClock clock_{*this};
};

DevicePlace::DevicePlace(Instance& instance, int device)
    : CurrentDevice(device),
      instance_(instance),
      device_(device),
      pool_(gpu::pool_of(device)),
      default_pool_(default_pool(device)),
      arrays_(instance.arrays()) {
  for (const HostArray& array : arrays_) {
    if (stays_on_host(array)) pinned_.push_back(std::make_unique<gpu::Pinned>(array.data, array.bytes));
  }
  const std::int64_t cache = gpu::devices()[static_cast<std::size_t>(device)].l2_bytes;
  const auto moved = static_cast<std::int64_t>(instance.group.limit_bytes);
  const auto sets = moved == 0 || instance.group.is_pinned ? 1 : static_cast<std::size_t>(2 * cache / moved + 1);
  sets_.resize(std::min(sets, kMostSets));
  for (Set& set : sets_) {
    for (const HostArray& array : arrays_) {
      if (stays_on_host(array)) {
        set.at.push_back(array.data);
        continue;
      }
      set.owned.push_back(std::make_unique<gpu::DeviceBytes>(array.bytes));
      set.at.push_back(set.owned.back()->get());
    }
    if (moved > 0) set.limit = std::make_unique<gpu::DeviceBytes>(moved);
  }
}

void DevicePlace::upload() {
  for (const Set& set : sets_) {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const HostArray& array = arrays_[i];
      if (!array.is_output && !stays_on_host(array)) copy_to_device(set.at[i], array.data, array.bytes);
    }
  }
  // Such a copy may return before all of it has arrived, and rungs run on a stream that does not wait for it.
  require(cudaDeviceSynchronize(), "copying to the device");
}

/// On the stream of the rungs: poison that is written later would overwrite outputs of a rung that has started.
void DevicePlace::poison() {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    if (!arrays_[i].is_output) continue;
    const auto bytes = static_cast<std::size_t>(arrays_[i].bytes);
    std::memset(arrays_[i].data, 0xA5, bytes);
    require(cudaMemsetAsync(at()[i], 0xA5, bytes, stream_.get()), "clearing an array");
  }
}

void DevicePlace::fetch() {
  require(cudaDeviceSynchronize(), "running a rung");
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    if (!arrays_[i].is_output) continue;
    require(cudaMemcpy(arrays_[i].data, at()[i], static_cast<std::size_t>(arrays_[i].bytes), cudaMemcpyDeviceToHost),
            "copying from the device");
  }
}

std::function<void()> DevicePlace::runner(std::string_view rung, Overflow /*not checked on GPUs*/) {
  if (is_guests(rung)) {
    return [this] { instance_.run_guest(stream_.get(), at().data(), instance_.group.n); };
  }
  const gpu::Policy by = policy(rung);
  auto workspace = std::make_shared<gpu::Workspace>(instance_.workspace(by), device_, stream_.get());
  return [this, by, workspace] { instance_.run(by.with_workspace(*workspace), at().data(), instance_.group.n); };
}

std::vector<Contender> DevicePlace::limits() {
  if (instance_.group.limit_bytes == 0) return {};
  if (instance_.group.is_pinned) {
    auto keys = std::make_shared<gpu::DeviceBytes>(arrays_[0].bytes);
    return {{.name = "read", .run = [this, keys] {
               require(cudaMemcpyAsync(keys->get(), arrays_[0].data, static_cast<std::size_t>(arrays_[0].bytes),
                                       cudaMemcpyHostToDevice, stream_.get()),
                       "copying over the link");
             }}};
  }
  const auto half = static_cast<std::int64_t>(instance_.group.limit_bytes / 2);
  std::vector<Contender> all{{.name = "copy", .run = [this, half] {
                                require(cudaMemcpyAsync(limit() + half, limit(), static_cast<std::size_t>(half),
                                                        cudaMemcpyDeviceToDevice, stream_.get()),
                                        "copying on the device");
                              }}};
  if (!instance_.group.reads_only) return all;
  const std::int64_t count = 2 * half / std::int64_t{sizeof(std::int64_t)};
  auto sum = std::make_shared<gpu::DeviceBytes>(sizeof(std::int64_t));
  auto workspace = std::make_shared<gpu::Workspace>(
      gpu::reduce_workspace<std::int64_t, std::int64_t>(policy(""), count), device_, stream_.get());
  all.push_back({.name = "read", .run = [this, count, sum, workspace] {
                   (void)reduce_async(policy("").with_workspace(*workspace),
                                      reinterpret_cast<const std::int64_t*>(limit()), count,
                                      static_cast<std::int64_t*>(sum->get()), 0);
                 }});
  return all;
}

void DevicePlace::add_details(Row& row, const std::function<void()>& run) {
  if (is_guest(row.rung)) return;  // its code may wait, which no graph can contain
  instance_.add_details(row, policy(row.rung.id), at().data());
  const bool waits = instance_.waits(row.rung) || row.rung.host_adds;
  if (!waits) row.kernels = gpu::kernels_of(stream_.get(), run);
  if (waits || row.median_s > kGraphSeconds || instance_.group.is_pinned) return;
  row.graph_s = seconds_in_graph(clock_, [&] {
    clock_.next();
    run();
  });
  if (sets_.size() == 1) return;
  gpu::EventClock still(stream_.get());  // always on the same set
  std::vector<Contender> warm{{.name = "", .run = run}};
  time_in_turn(warm, still, kBudget);
  row.warm_s = warm[0].median();
  row.warm_graph_s = seconds_in_graph(still, run);
}

}  // namespace

int gpu::first_usable_device() {
  const auto& all = gpu::devices();
  const auto usable = std::find_if(all.begin(), all.end(), [](const gpu::Device& one) { return one.error.empty(); });
  if (usable == all.end()) throw Error(Code::no_device, "no CUDA device on this machine");
  return static_cast<int>(usable - all.begin());
}

std::unique_ptr<ClimbPlace> device_place(Instance& instance) {
  return std::make_unique<DevicePlace>(instance, gpu::first_usable_device());
}

}  // namespace upsweep
