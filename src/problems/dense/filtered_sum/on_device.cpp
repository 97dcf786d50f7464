// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/on_device.cpp: GPU measurements that only the ladder makes: columns sent to the device
// first, as in "GPU optimization of a SQL aggregate", and the variants of cuda.occupancy.
#include "problems/dense/filtered_sum/instance.hpp"

#if UPSWEEP_HAS_CUDA

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "climb/device_clock.hpp"
#include "climb/kernel_facts.hpp"
#include "cuda/device_call.hpp"
#include "problems/dense/filtered_sum/occupancy.hpp"
#include "problems/dense/filtered_sum/rung.hpp"
#include "upsweep/detail/tuning/transfers.hpp"
#include "upsweep/filtered_sum.hpp"

namespace upsweep::impl::filtered_sum {
namespace {

using detail::FilteredSumCall;
using gpu::require;

constexpr int kStreams = gpu::tuning::kSent.streams;
constexpr int kChunks = gpu::tuning::kSent.chunks;
constexpr int kMostRounds = 31;

// -------------------------------------------------------------------------------------------- columns that are sent

class SentInstance final : public FilteredSumInstance {
 public:
  SentInstance(Table& table, std::uint32_t limit, Transfer transfer);

  [[nodiscard]] bool takes(const RungInfo&) const override { return true; }
  bool measure(Row& row, const ClimbRequest& request) override;

 private:
  struct SentChunk {
    std::int64_t first = 0;
    std::int64_t count = 0;
    FilteredSumCall call;
    std::optional<gpu::DeviceCall> memory;
    gpu::Event begun;
    gpu::Event copied;
    gpu::Event computed;
    gpu::Event fetched;
  };

  [[nodiscard]] int chunks() const { return transfer_ == Transfer::streams ? kChunks : 1; }
  const Rung& prepare(const RungInfo& rung);
  void send(const SentChunk& chunk, cudaStream_t stream) const;
  Staged run_once(const Rung& rung);
  [[nodiscard]] std::vector<Span> timeline() const;

  Transfer transfer_;
  gpu::DeviceBytes key_;
  gpu::DeviceBytes quantity_;
  gpu::DeviceBytes price_;
  gpu::DeviceBytes out_;  // one sum for each chunk
  cpu::Pages<std::uint64_t> partials_;
  std::vector<std::unique_ptr<gpu::Pinned>> pinned_;
  std::vector<std::unique_ptr<gpu::OwnStream>> streams_;
  std::vector<std::unique_ptr<SentChunk>> chunks_;  // destroyed before their streams
  gpu::Event begin_;
};

SentInstance::SentInstance(Table& table, std::uint32_t limit, Transfer transfer)
    : FilteredSumInstance(table, limit, Backend::cuda, Memory::resident),
      transfer_(transfer),
      key_(table.rows * 4),
      quantity_(table.rows * 8),
      price_(table.rows * 8),
      out_(kChunks * std::int64_t{sizeof(std::int64_t)}),
      partials_(table.rows + kChunks) {
  const auto name = kTransfers[static_cast<std::size_t>(transfer)];
  group.lines.emplace_back("columns are sent: " + std::string(name));
  group.facts.emplace_back("transfer", std::string(name));
  group.bytes = 20.0 * static_cast<double>(table.rows);
  group.limit_bytes = 0;
  const std::int64_t partial_bytes = partials_.size() * std::int64_t{sizeof(std::int64_t)};
  std::memset(partials_.data(), 0, static_cast<std::size_t>(partial_bytes));
  if (transfer != Transfer::pageable) {
    for (const HostArray& array : arrays()) {
      if (!array.is_output) pinned_.push_back(std::make_unique<gpu::Pinned>(array.data, array.bytes));
    }
    pinned_.push_back(std::make_unique<gpu::Pinned>(partials_.data(), partial_bytes));
  }
  for (int s = 0; s < kStreams; ++s) streams_.push_back(std::make_unique<gpu::OwnStream>());
  for (int p = 0; p < chunks(); ++p) chunks_.push_back(std::make_unique<SentChunk>());
}

/// Assigns rows, a stream and memory to every chunk. Throws unsupported.
const Rung& SentInstance::prepare(const RungInfo& info) {
  const Rung* rung = nullptr;
  for (int p = 0; p < chunks(); ++p) {
    SentChunk& chunk = *chunks_[static_cast<std::size_t>(p)];
    const auto policy = gpu::Policy{}.with_stream(streams_[static_cast<std::size_t>(p % kStreams)]->get());
    chunk.first = table_.rows * p / chunks();
    chunk.count = table_.rows * (p + 1) / chunks() - chunk.first;
    const auto place = [&]<class T>(const gpu::DeviceBytes& there, const Elements<T>& here, const char* what) {
      if (!info.host_memory) return static_cast<const T*>(there.get()) + chunk.first;
      return static_cast<const T*>(gpu::mapped_memory(here.data() + chunk.first, policy.device, what));
    };
    chunk.call =
        detail::filtered_sum_call(place(key_, table_.key, "key"), place(quantity_, table_.quantity, "quantity"),
                                  place(price_, table_.price, "price"), chunk.count, limit_);
    chunk.call.out = static_cast<std::int64_t*>(out_.get()) + p;
    chunk.call.waits = true;
    const gpu::Launch bare = gpu::launch_on(policy);
    chunk.call.launch = &bare;
    rung = &choose(chunk.call, {.rung = info.id});
    chunk.memory.emplace(policy, rung->workspace(chunk.call));
    chunk.call.launch = &chunk.memory->launch();
  }
  return *rung;
}

void SentInstance::send(const SentChunk& chunk, cudaStream_t stream) const {
  const auto copy = [&]<class T>(const gpu::DeviceBytes& there, const Elements<T>& here) {
    if (chunk.count == 0) return;
    require(cudaMemcpyAsync(static_cast<T*>(there.get()) + chunk.first, here.data() + chunk.first,
                            static_cast<std::size_t>(chunk.count) * sizeof(T), cudaMemcpyHostToDevice, stream),
            "copying over the link");
  };
  copy(key_, table_.key);
  copy(quantity_, table_.quantity);
  copy(price_, table_.price);
}

/// Runs the rung once, from the columns in host memory to the sum in host memory (`sum_`). Throws Error.
Staged SentInstance::run_once(const Rung& rung) {
  require(cudaDeviceSynchronize(), "running a rung");
  HostClock host;
  Staged staged;
  double adding = 0;
  staged.total_s = host.seconds_of([&] {
    begin_.record(streams_[0]->get());
    std::int64_t partials = 0;
    for (const auto& chunk : chunks_) {
      const cudaStream_t stream = chunk->memory->launch().stream;
      // ---- Send.
      chunk->begun.record(stream);
      if (!rung.info.host_memory) send(*chunk, stream);
      chunk->copied.record(stream);
      // ---- Compute.
      const Status status = rung.run(chunk->call, {});
      if (!status.ok()) throw_status(status, rung.info.id);
      chunk->computed.record(stream);
      // ---- Fetch.
      require(cudaMemcpyAsync(partials_.data() + partials, chunk->call.partials,
                              static_cast<std::size_t>(chunk->call.partial_count) * sizeof(std::int64_t),
                              cudaMemcpyDeviceToHost, stream),
              "copying over the link");
      chunk->fetched.record(stream);
      partials += chunk->call.partial_count;
    }
    for (const auto& chunk : chunks_) chunk->fetched.wait();
    adding = host.seconds_of([&] {
      sum_ =
          static_cast<std::int64_t>(std::accumulate(partials_.data(), partials_.data() + partials, std::uint64_t{0}));
    });
  });
  if (chunks_.size() == 1) {
    const SentChunk& chunk = *chunks_[0];
    staged.transfer_s = chunk.copied.seconds_since(begin_) + chunk.fetched.seconds_since(chunk.computed);
    staged.kernel_s = chunk.computed.seconds_since(chunk.copied) + adding;
    return staged;
  }
  for (const auto& chunk : chunks_)
    staged.transfer_s = std::max(staged.transfer_s, chunk->copied.seconds_since(begin_));
  staged.kernel_s = staged.total_s - staged.transfer_s;
  return staged;
}

/// Returns the spans of the last run. The link sends one chunk at a time, whatever the streams, and not always in the
/// order of the requests. A chunk begins when the previous one has been sent and its own stream is free.
std::vector<Span> SentInstance::timeline() const {
  std::vector<std::pair<double, int>> sends;  // in the order in which they ended
  for (int p = 0; p < chunks(); ++p) {
    sends.emplace_back(chunks_[static_cast<std::size_t>(p)]->copied.seconds_since(begin_), p);
  }
  std::sort(sends.begin(), sends.end());
  std::vector<Span> spans;
  double sent = 0;
  for (const auto& [copied, p] : sends) {
    const SentChunk& chunk = *chunks_[static_cast<std::size_t>(p)];
    const double computed = chunk.computed.seconds_since(begin_);
    const int stream = p % kStreams;
    spans.push_back({"send", stream, std::max(sent, chunk.begun.seconds_since(begin_)), copied});
    spans.push_back({"compute", stream, copied, computed});
    spans.push_back({"fetch", stream, computed, chunk.fetched.seconds_since(begin_)});
    sent = copied;
  }
  return spans;
}

bool SentInstance::measure(Row& row, const ClimbRequest&) {
  if (row.rung.host_memory && transfer_ != Transfer::pinned) {
    row.reason = transfer_ == Transfer::pageable ? "needs pinned memory" : "sends nothing: see pinned";
    return true;
  }
  const Rung& rung = prepare(row.rung);
  std::vector<double> total;
  std::vector<double> transfer;
  std::vector<double> kernel;
  double used = 0;
  for (int round = -1; round < kMostRounds && (used < 1 || total.size() < 3); ++round) {
    sum_ = ~expected_;
    const Staged staged = run_once(rung);
    if (sum_ != expected_) {
      row.status = RowStatus::failed;
      row.reason = "wrong value";
      return true;
    }
    if (round < 0) continue;  // the first round warms up
    used += staged.total_s;
    total.push_back(staged.total_s);
    transfer.push_back(staged.transfer_s);
    kernel.push_back(staged.kernel_s);
  }
  row.status = RowStatus::verified;
  row.staged = Staged{median(total), median(transfer), median(kernel), timeline()};
  row.median_s = row.staged->total_s;
  return true;
}

}  // namespace

std::unique_ptr<Instance> sent_instance(Table& table, std::uint32_t limit, Transfer transfer) {
  return std::make_unique<SentInstance>(table, limit, transfer);
}

// --------------------------------------------------------------------------------- the kernels, and ways to launch one

void note_kernels(Row& row, const gpu::Policy& policy, const FilteredSumCall& asked) {
  const gpu::DeviceCall memory(policy, gpu::filtered_sum_workspace(policy, asked.n));
  FilteredSumCall call = asked;
  call.launch = &memory.launch();
  call.waits = true;
  const Policy by_name{.rung = row.rung.id};
  const Rung& rung = choose(call, by_name);
  row.kernels = gpu::kernels_of(policy.stream, [&] { (void)rung.run(call, {}); });
}

void time_occupancy(Row& row, const gpu::Policy& policy, const FilteredSumCall& asked, std::int64_t sum) {
  const gpu::DeviceCall memory(policy, gpu::filtered_sum_workspace(policy, asked.n));
  FilteredSumCall call = asked;
  call.launch = &memory.launch();
  call.waits = true;
  gpu::EventClock clock(policy.stream);  // the columns stay in the cache
  std::vector<Variant> ways = occupancy_variants();
  for (int i = 0; i < static_cast<int>(ways.size()); ++i) {
    Variant& way = ways[static_cast<std::size_t>(i)];
    std::vector<Contender> one{{.name = "", .run = [&] {
                                  if (!run_occupancy_variant(call, i).ok()) {
                                    throw Error(Code::device_failed, "launching a variant");
                                  }
                                }}};
    one[0].run();
    if (add_partials(call, policy.stream) != sum) {
      row.status = RowStatus::failed;
      row.reason = "wrong value in blocks of " + way.name;
      return;
    }
    time_in_turn(one, clock, kBudget);
    way.median_s = one[0].median();
  }
  row.variants = std::move(ways);
}

}  // namespace upsweep::impl::filtered_sum

#else

#include "cuda/not_built.hpp"

namespace upsweep::impl::filtered_sum {

std::unique_ptr<Instance> sent_instance(Table&, std::uint32_t, Transfer) { gpu::refuse(); }
void note_kernels(Row&, const gpu::Policy&, const detail::FilteredSumCall&) {}
void time_occupancy(Row&, const gpu::Policy&, const detail::FilteredSumCall&, std::int64_t) {}

}  // namespace upsweep::impl::filtered_sum

#endif
