// SPDX-License-Identifier: Apache-2.0
// sql/query/device_execute.cpp: folds a table's chunks, copied or resident, on a device; the CPU computes the others.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "cpu/parallel.hpp"
#include "sql/query/cpu_folder.hpp"
#include "sql/query/device_fold.hpp"
#include "sql/query/execute.hpp"
#include "sql/query/group_merge.hpp"
#include "system/memory.hpp"
#include "upsweep/detail/tuning/query.hpp"
#include "upsweep/error.hpp"
#include "upsweep/machine.hpp"

namespace upsweep::query {
namespace {

constexpr int kChunkBatches = gpu::tuning::kQuery.chunk_batches;
constexpr int kMostWorkers = gpu::tuning::kQuery.most_workers;       // each holds a chunk on the device
constexpr std::int64_t kFoldBytes = gpu::tuning::kQuery.fold_bytes;  // of a worker, in addition

/// The data that is on the device at a time.
struct DeviceChunks {
  int workers;
  int batches = kChunkBatches;  ///< batches of a chunk
  std::int64_t fold_bytes = kFoldBytes;
};

/// Half of the allowed device memory is for rows, half for groups and tables of dictionaries. Without keys and strings,
/// a sixteenth is enough for the latter. With little memory, chunks become shorter, and then there are fewer workers.
DeviceChunks chunks_of(const QueryPlan& plan, const Table& table, std::int64_t device_bytes) {
  DeviceChunks chunks{.workers = std::clamp(table.row_groups(), 1, std::min(cpu::hardware_threads(), kMostWorkers))};
  if (device_bytes == 0) return chunks;
  const auto is_text = [](const Field& field) { return field.kind == ValueKind::text; };
  const bool has_groups = !plan.keys.empty() || std::any_of(plan.fields.begin(), plan.fields.end(), is_text);
  const std::int64_t shares = has_groups ? 2 : 16;
  const std::int64_t for_groups = device_bytes / shares;
  std::int64_t bits = has_groups ? 32 : 0;  // bits of a row: its group, its values and their validity
  for (const Field& field : plan.fields) bits += width_of(field.storage) + 1;
  const std::int64_t batch_bytes = kBatchRows / 8 * std::max<std::int64_t>(bits, 1);
  const std::int64_t fit = (device_bytes - for_groups) / batch_bytes;
  if (fit == 0) {
    const std::int64_t minimum = (batch_bytes + shares - 2) / (shares - 1) * shares;
    throw Error(Code::invalid_argument,
                fmt::format("the rows of this query need {} of device memory, and {} may be used",
                            bytes_text(static_cast<double>(whole_megabytes(minimum))),
                            bytes_text(static_cast<double>(device_bytes))));
  }
  chunks.workers = static_cast<int>(std::min<std::int64_t>(chunks.workers, fit));
  chunks.batches = static_cast<int>(std::min<std::int64_t>(fit / chunks.workers, kChunkBatches));
  chunks.fold_bytes = std::min(for_groups / chunks.workers, kFoldBytes);
  return chunks;
}

DeviceTimes times_of(const gpu::Staging& staging, const DeviceFold& fold) {
  const gpu::StagingTimes& times = staging.times();
  return {times.to_device, times.kernel, times.to_host, fold.compile_seconds()};
}

/// Copies chunks to the device and folds them there.
class DeviceFolder final : public Folder {
 public:
  DeviceFolder(const QueryPlan& plan, const Kernels& kernels, const gpu::Policy& policy, const DeviceChunks& chunks)
      : cpu_(plan, kernels),
        staging_(policy),
        builder_(staging_, plan.fields, chunks.batches * kBatchRows),
        fold_(plan, staging_, builder_.arrays(), chunks.fold_bytes) {}

  Groups fold(std::span<const Batch> batches) override {
    for (const Batch& batch : batches) builder_.append(batch);
    const DeviceChunk chunk = builder_.finish(false);
    std::optional<Groups> groups = fold_.fold(chunk);
    if (groups) return std::move(*groups);
    rows_by_cpu_ += chunk.rows;
    return cpu_.fold(batches);
  }
  void add_cost(Folded& folded) const override {
    folded.rows_by_cpu += rows_by_cpu_;
    folded.bytes_to_device += builder_.bytes_copied();
    folded.times += times_of(staging_, fold_);
  }

 private:
  std::int64_t rows_by_cpu_ = 0;
  CpuFolder cpu_;
  gpu::Staging staging_;
  ChunkBuilder builder_;
  DeviceFold fold_;
};

/// Returns the plan's columns of a chunk.
DeviceChunk columns_of(const QueryPlan& plan, const DeviceChunk& chunk) {
  DeviceChunk those{.rows = chunk.rows, .first_row = chunk.first_row};
  for (const int column : plan.columns) those.columns.push_back(chunk.columns[static_cast<std::size_t>(column)]);
  return those;
}

/// Reads back a chunk that the device cannot compute, batch by batch, and folds it on the CPU.
Groups fold_read_back(const QueryPlan& plan, const Kernels& kernels, const Table& table, int row_group) {
  CpuFolder cpu(plan, kernels);
  Groups groups(plan);
  const auto reader = table.open(row_group, plan.columns);
  for (Batch batch; reader->next(batch);) merge(groups, cpu.fold({&batch, 1}));
  return groups;
}

Folded execute_there(const QueryPlan& plan, const Kernels& kernels, const Table& table, const gpu::Policy& policy,
                     std::int64_t device_bytes, const QueryProgress& progress, std::unique_ptr<Totals> totals) {
  Folded total{.totals = std::move(totals)};
  gpu::Staging staging(policy);
  constexpr std::int64_t kMost = 2 * kFoldBytes;  // there is only one DeviceFold
  DeviceFold fold(plan, staging, 0, device_bytes == 0 ? kMost : std::min(device_bytes, kMost));
  for (int row_group = 0; row_group < table.row_groups(); ++row_group) {
    const DeviceChunk& chunk = *table.chunk(row_group, policy.device);
    std::optional<Groups> groups = fold.fold(columns_of(plan, chunk));
    if (!groups) {
      groups = fold_read_back(plan, kernels, table, row_group);
      total.rows_by_cpu += chunk.rows;
    }
    total.totals->add(total.totals->chunk_of(*groups));
    total.totals->merge_some();
    total.rows += chunk.rows;
    if (progress) progress(total.rows);
  }
  total.totals->merge_all();
  total.times = times_of(staging, fold);
  return total;
}

}  // namespace

Folded execute(const QueryPlan& plan, const Table& table, const gpu::Policy& policy, std::int64_t device_bytes,
               const QueryProgress& progress, std::unique_ptr<Totals> totals) {
  const Kernels& best = kernels(Isa::best);
  // A table is either entirely on a device, or not at all.
  if (table.row_groups() > 0 && table.chunk(0, policy.device) != nullptr) {
    return execute_there(plan, best, table, policy, device_bytes, progress, std::move(totals));
  }
  const DeviceChunks chunks = chunks_of(plan, table, device_bytes);
  const Folding folding{.reading = {.kernels = best,
                                    .may_drop_conditions = false,  // a kernel is compiled for each plan
                                    .may_repeat_texts = false},
                        .workers = chunks.workers,
                        .batches = chunks.batches,
                        .make_folder = [&](const QueryPlan& whole) {
                          return std::make_unique<DeviceFolder>(whole, best, policy, chunks);
                        }};
  return execute(plan, table, folding, progress, std::move(totals));
}

}  // namespace upsweep::query
