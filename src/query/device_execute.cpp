// SPDX-License-Identifier: Apache-2.0
// query/device_execute.cpp: pieces of a table by way of a chunk on the device, or chunks that lie there; the CPU helps out.
#include "query/device_execute.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "cpu/parallel.hpp"
#include "query/device_fold.hpp"
#include "query/execute.hpp"
#include "upsweep/device_table.hpp"

namespace upsweep::query {
namespace {

constexpr int kPieceBatches = 64;  // 4 million rows: 32 MB of 64-bit values
constexpr int kMostWorkers = 8;    // each holds a piece in pinned memory and one on the device

/// What workers add their times to.
struct Tally {
  std::mutex mutex;
  Answer& told;

  void add(const gpu::StagingTimes& times, double compile, std::int64_t rows_by_cpu) {
    const std::lock_guard lock(mutex);
    told.times.to_device += times.to_device;
    told.times.kernel += times.kernel;
    told.times.to_host += times.to_host;
    told.times.compile += compile;
    told.rows_by_cpu += rows_by_cpu;
  }
};

/// Pieces by way of the device.
class DeviceFolder final : public Folder {
 public:
  DeviceFolder(const Plan& plan, const Kernels& kernels, const gpu::Policy& policy, Tally& tally)
      : tally_(tally),
        cpu_(plan, kernels),
        staging_(policy),
        builder_(staging_, plan.fields, kPieceBatches * kBatchRows),
        fold_(plan, kernels, staging_, builder_.arrays()) {}
  ~DeviceFolder() override { tally_.add(staging_.times(), fold_.compile_seconds(), rows_by_cpu_); }

  Groups fold(std::span<const Batch> batches) override {
    for (const Batch& batch : batches) builder_.append(batch);
    const DeviceChunk chunk = builder_.finish(false);
    std::optional<Groups> groups = fold_.fold(chunk);
    if (groups) return std::move(*groups);
    rows_by_cpu_ += chunk.rows;
    return cpu_.fold(batches);
  }

 private:
  Tally& tally_;
  std::int64_t rows_by_cpu_ = 0;
  CpuFolder cpu_;
  gpu::Staging staging_;
  ChunkBuilder builder_;
  DeviceFold fold_;
};

/// The plan's columns of a chunk.
DeviceChunk columns_of(const Plan& plan, const DeviceChunk& chunk) {
  DeviceChunk those{.rows = chunk.rows, .first_row = chunk.first_row};
  for (const int column : plan.columns) those.columns.push_back(chunk.columns[static_cast<std::size_t>(column)]);
  return those;
}

/// A chunk that the device cannot compute: read back, batch by batch.
Groups fold_read_back(const Plan& plan, const Kernels& kernels, const DeviceTable& table, int part) {
  CpuFolder cpu(plan, kernels);
  Groups groups(plan, kernels);
  const auto reader = table.open(part, plan.columns);
  for (Batch batch; reader->next(batch);) groups.merge(cpu.fold({&batch, 1}));
  return groups;
}

Groups execute_there(const Plan& plan, const Kernels& kernels, const DeviceTable& table, const gpu::Policy& policy,
                     const QueryProgress& progress, Tally& tally) {
  Groups total(plan, kernels);
  gpu::Staging staging(policy);
  DeviceFold fold(plan, kernels, staging, 0);
  std::int64_t rows = 0;
  std::int64_t rows_by_cpu = 0;
  for (int part = 0; part < table.parts(); ++part) {
    const DeviceChunk& chunk = chunk_of(table, part);
    const std::optional<Groups> groups = fold.fold(columns_of(plan, chunk));
    total.merge(groups ? *groups : fold_read_back(plan, kernels, table, part));
    if (!groups) rows_by_cpu += chunk.rows;
    rows += chunk.rows;
    if (progress) progress(rows);
  }
  tally.add(staging.times(), fold.compile_seconds(), rows_by_cpu);
  return total;
}

}  // namespace

Groups execute(const Plan& plan, const Table& table, const gpu::Policy& policy, const QueryProgress& progress,
               Answer& told) {
  const Kernels& best = kernels(Isa::best);
  Tally tally{.told = told};
  const auto* const there = dynamic_cast<const DeviceTable*>(&table);
  if (there != nullptr && there->device() == policy.device) {
    return execute_there(plan, best, *there, policy, progress, tally);
  }
  const Folding folding{.kernels = best,
                        .workers = std::clamp(table.parts(), 1, std::min(cpu::hardware_threads(), kMostWorkers)),
                        .batches = kPieceBatches,
                        .make_folder = [&] { return std::make_unique<DeviceFolder>(plan, best, policy, tally); }};
  return execute(plan, table, folding, progress);
}

}  // namespace upsweep::query
