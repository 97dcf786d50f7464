// SPDX-License-Identifier: Apache-2.0
// bench/gpu_aggregate.cpp: the aggregate ladder on a GPU: columns that are there, that stay in the host's memory, or that
// are sent first, as in the lecture.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "aggregate/occupancy.hpp"
#include "aggregate/reference.hpp"
#include "aggregate/rung.hpp"
#include "buffer.hpp"
#include "cuda/device_call.hpp"
#include "gpu_clock.hpp"
#include "gpu_ladder.hpp"
#include "table.hpp"
#include "upsweep/aggregate.hpp"
#include "upsweep/machine.hpp"
#include "upsweep/reduce.hpp"

namespace upsweep::bench {
namespace {

using detail::AggregateCall;
using gpu::require;

constexpr std::int64_t kSector = 32;
// Above that launching is no part of the time.
constexpr double kGraphSeconds = 1e-3;
// The lecture sends parts of the columns in several streams: four keep the copy engine busy, and the kernels of eight parts
// leave an eighth of the work behind the last copy.
constexpr int kStreams = 4;
constexpr int kParts = 8;

void copy_async(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (bytes == 0) return;
  require(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, stream), "copying over the link");
}

std::uint64_t sum_of(const std::int64_t* values, std::int64_t count) {
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<std::uint64_t>(values[i]);
  return sum;
}

/// Where the columns are for a call.
struct Columns {
  const std::uint32_t* key;
  const std::int64_t* quantity;
  const std::int64_t* price;
};

class Climb {
 public:
  Climb(const LadderRequest& request, const Progress& progress, const Table& table)
      : request_(request),
        progress_(progress),
        table_(table),
        n_(table.rows()),
        expected_(aggregate::expected_sum(table.key(), table.quantity(), table.price(), n_, request.limit)) {}

  Group resident();
  Group host_resident();
  Group sent();

 private:
  [[nodiscard]] Group empty_group() const;
  [[nodiscard]] bool wants(const RungInfo& rung) const {
    return rung.backend() == Backend::cuda && (request_.rung.empty() || rung.id == request_.rung);
  }
  [[nodiscard]] gpu::Policy policy_of(std::string_view rung) const {
    return gpu::Policy{}.with_rung(rung).with_stream(stream_.get());
  }
  [[nodiscard]] double touched_bytes() const {
    return static_cast<double>(
        aggregate::expected_bytes(table_.key(), table_.quantity(), table_.price(), n_, request_.limit, kSector));
  }
  /// The call on the first `count` rows, into `out` or, where the host does a part, into `waited_`.
  void run(const gpu::Policy& policy, bool host_adds, const Columns& columns, std::int64_t count, std::int64_t* out) {
    if (host_adds) {
      waited_ = select_sum(policy, columns.key, columns.quantity, columns.price, count, request_.limit).sum;
    } else {
      select_sum_async(policy, columns.key, columns.quantity, columns.price, count, request_.limit, out);
    }
  }
  /// Fills the row's status.
  template <class Body>
  void attempt(Row& row, Body body) {
    progress_("verifying " + std::string(row.rung.id) + " on " + std::to_string(n_));
    try {
      row.reason = body();
      row.status = row.reason.empty() ? RowStatus::verified : row.status;
    } catch (const Error& error) {
      row.status = error.code() == Code::unsupported ? RowStatus::skipped : RowStatus::failed;
      row.reason = error.what();
    }
  }
  void time_variants(Row& row, const Columns& columns);
  Staged send_once(const Rung<AggregateCall>& rung, int parts);
  void send(Row& row);

  const LadderRequest& request_;
  const Progress& progress_;
  const Table& table_;
  const std::int64_t n_;
  const std::int64_t expected_;
  std::int64_t waited_ = 0;
  Stream stream_;
  EventClock clock_{stream_.get()};

  // Of columns that are sent.
  struct Part {
    std::int64_t first = 0;
    std::int64_t count = 0;
    AggregateCall call;
    gpu::Launch launch;
    std::unique_ptr<gpu::Workspace> workspace;
    Event copied;
    Event computed;
    Event fetched;
  };
  std::unique_ptr<Rotation> arrays_;  // key, quantity, price, an output per part
  std::unique_ptr<Buffer<std::int64_t>> partials_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::unique_ptr<Part>> parts_;
  Event begin_;
};

Group Climb::empty_group() const {
  Group group{.problem = Problem::aggregate, .input = table_.name(), .type = Type::int64, .n = n_};
  group.device = gpu::devices()[0].name;
  group.filter = Filter{request_.limit, aggregate::expected_rows(table_.key(), n_, request_.limit), expected_};
  return group;
}

// ------------------------------------------------------------------------------------------- columns on the device

struct Timed {
  std::string name;
  std::function<void()> run;
  std::vector<double> samples = {};
  double used = 0;
};

/// In turn, round after round; `next` comes before each sample.
std::map<std::string, double, std::less<>> medians_of(EventClock& clock, std::vector<Timed>& all,
                                                      const std::function<void()>& next) {
  for (int round = -1; round < kRounds; ++round) {  // the first round warms up
    for (auto& timed : all) {
      if (timed.used > kBudget && timed.samples.size() >= kMinSamples) continue;
      next();
      const double seconds = clock.seconds_of(timed.run);
      timed.used += seconds;
      if (round >= 0) timed.samples.push_back(seconds);
    }
  }
  std::map<std::string, double, std::less<>> medians;
  for (const auto& timed : all) medians[timed.name] = median(timed.samples);
  return medians;
}

/// What the runtime says about each way to launch cuda.occupancy, and how long its kernel takes.
void Climb::time_variants(Row& row, const Columns& columns) {
  const auto policy = policy_of(row.rung.id);
  gpu::Workspace workspace(gpu::select_sum_workspace(policy, n_), 0, stream_.get());
  gpu::Launch launch = gpu::launch_on(policy);
  launch.kept = workspace.kept();
  launch.scratch = workspace.scratch();
  launch.size = workspace.size();
  AggregateCall call = detail::aggregate_call(columns.key, columns.quantity, columns.price, n_, request_.limit);
  call.launch = &launch;
  call.waits = true;
  const auto ways = aggregate::occupancy_variants();
  for (int i = 0; i < static_cast<int>(ways.size()); ++i) {
    const auto& way = ways[static_cast<std::size_t>(i)];
    const auto run = [&] {
      if (!aggregate::run_occupancy_variant(call, i).ok()) throw Error(Code::device_failed, "launching a variant");
    };
    run();
    std::vector<std::int64_t> sums(static_cast<std::size_t>(call.partial_count));
    gpu::fetch(sums.data(), call.partials, call.partial_count * 8, stream_.get());
    if (static_cast<std::int64_t>(sum_of(sums.data(), call.partial_count)) != expected_) {
      row.status = RowStatus::failed;
      row.reason = "wrong value in blocks of " + std::to_string(way.threads);
      return;
    }
    std::vector<Timed> one{{.name = "", .run = run}};
    row.variants.push_back({.name = std::to_string(way.threads) + (way.capped ? " threads, capped" : " threads"),
                            .registers = way.registers,
                            .shared_bytes = way.shared_bytes,
                            .blocks = way.blocks,
                            .occupancy = way.occupancy,
                            .median_s = medians_of(clock_, one, [] {})[""]});
  }
}

Group Climb::resident() {
  Group group = empty_group();
  const double bytes = touched_bytes();
  const auto read = static_cast<std::int64_t>(bytes) / 16 * 16;
  Rotation arrays({n_ * 4, n_ * 8, n_ * 8, 8, std::max<std::int64_t>(read, 16)}, gpu::devices()[0].l2_bytes, read);
  arrays.fill(0, table_.key(), n_ * 4);
  arrays.fill(1, table_.quantity(), n_ * 8);
  arrays.fill(2, table_.price(), n_ * 8);
  const auto columns = [&] {
    return Columns{arrays.array<const std::uint32_t>(0), arrays.array<const std::int64_t>(1),
                   arrays.array<const std::int64_t>(2)};
  };
  const auto out = [&] { return arrays.array<std::int64_t>(3); };

  // ---- Verify.
  for (const auto& rung : ladder(Problem::aggregate)) {
    if (!wants(rung) || rung.host_memory) continue;
    group.rows.push_back({.rung = rung, .status = RowStatus::failed, .bytes = bytes});
    Row& row = group.rows.back();
    attempt(row, [&]() -> std::string {
      const auto policy = policy_of(rung.id);
      const std::string slow = estimated_beyond(clock_, n_, request_.max_seconds,
                                                [&] { run(policy, rung.host_adds, columns(), kProbe, out()); });
      if (!slow.empty()) {
        row.status = RowStatus::skipped;
        return slow;
      }
      arrays.poison(3);
      waited_ = ~expected_;
      run(policy, rung.host_adds, columns(), n_, out());
      std::int64_t value = waited_;
      if (!rung.host_adds) arrays.fetch(&value, 3);
      return value == expected_ ? "" : "wrong value";
    });
  }

  // ---- Time, on columns that are not in the cache.
  progress_("timing on " + std::to_string(n_));
  std::vector<Timed> all;
  const auto half = read / 2;
  all.push_back({"copy", [&] {
                   auto* const from = arrays.array<std::byte>(4);
                   copy_async(from + half, from, half, cudaMemcpyDeviceToDevice, stream_.get());
                 }});
  const auto reading = policy_of({});
  auto reader = std::make_shared<gpu::Workspace>(gpu::reduce_workspace<std::int64_t, std::int64_t>(reading, read / 8),
                                                 0, stream_.get());
  all.push_back({"read", [&, reader] {
                   reduce_async(reading.with_workspace(*reader), arrays.array<const std::int64_t>(4), read / 8, out(),
                                0);
                 }});
  const auto add = [&](const std::string& name, const gpu::Policy& policy, bool host_adds) {
    auto workspace = std::make_shared<gpu::Workspace>(gpu::select_sum_workspace(policy, n_), 0, stream_.get());
    all.push_back({name, [&, workspace, policy, host_adds] {
                     run(policy.with_workspace(*workspace), host_adds, columns(), n_, out());
                   }});
  };
  if (request_.rung.empty()) {
    const Columns there = columns();
    group.api_rung = select_sum_async(policy_of({}), there.key, there.quantity, there.price, n_, request_.limit, out());
    add("api", policy_of({}), false);
  }
  for (const Row& row : group.rows) {
    if (row.status == RowStatus::verified) add(std::string(row.rung.id), policy_of(row.rung.id), row.rung.host_adds);
  }
  const auto next = [&] { arrays.next(); };
  auto medians = medians_of(clock_, all, next);
  group.copy_bytes_per_s = 2.0 * static_cast<double>(half) / medians["copy"];
  group.read_bytes_per_s = static_cast<double>(read) / medians["read"];
  group.api_s = medians["api"];

  // ---- In the cache, and in graphs.
  for (Row& row : group.rows) {
    if (row.status != RowStatus::verified) continue;
    row.median_s = medians[std::string(row.rung.id)];
    if (row.rung.id == "cuda.occupancy") time_variants(row, columns());
    if (row.rung.host_adds || row.median_s > kGraphSeconds) continue;
    const auto timed = std::find_if(all.begin(), all.end(), [&](const Timed& one) { return one.name == row.rung.id; });
    std::vector<Timed> warm{{.name = "", .run = timed->run}};
    row.graph_s = seconds_in_graph(clock_, [&] {
      arrays.next();
      timed->run();
    });
    row.warm_s = medians_of(clock_, warm, [] {})[""];
    row.warm_graph_s = seconds_in_graph(clock_, timed->run);
  }
  return group;
}

// --------------------------------------------------------------------------------------- columns in the host's memory

/// All three columns pinned.
struct PinnedTable {
  explicit PinnedTable(const Table& table)
      : key(table.key(), table.rows() * 4),
        quantity(table.quantity(), table.rows() * 8),
        price(table.price(), table.rows() * 8) {}
  Pinned key;
  Pinned quantity;
  Pinned price;
};

Group Climb::host_resident() {
  Group group = empty_group();
  group.host_resident = true;
  const double bytes = touched_bytes();
  for (const auto& rung : ladder(Problem::aggregate)) {
    if (!wants(rung) || !rung.host_memory) continue;
    group.rows.push_back({.rung = rung, .status = RowStatus::failed, .bytes = bytes});
  }
  if (group.rows.empty()) return group;
  if (n_ * 20 > machine().memory_bytes / 4) {
    for (Row& row : group.rows) {
      row.status = RowStatus::skipped;
      row.reason = "would pin more than a quarter of the memory";
    }
    return group;
  }
  const PinnedTable pinned(table_);
  const DeviceBytes keys(n_ * 4);
  const DeviceBytes out(8);
  auto* const sum = static_cast<std::int64_t*>(out.data());
  const Columns columns{table_.key(), table_.quantity(), table_.price()};
  std::vector<Timed> all;
  all.push_back(
      {"keys", [&] { copy_async(keys.data(), table_.key(), n_ * 4, cudaMemcpyHostToDevice, stream_.get()); }});
  for (Row& row : group.rows) {
    attempt(row, [&]() -> std::string {
      const auto policy = policy_of(row.rung.id);
      require(cudaMemset(sum, 0xA5, 8), "clearing an array");
      run(policy, false, columns, n_, sum);
      std::int64_t value = 0;
      gpu::fetch(&value, sum, 8, stream_.get());
      return value == expected_ ? "" : "wrong value";
    });
    if (row.status != RowStatus::verified) continue;
    const auto policy = policy_of(row.rung.id);
    auto workspace = std::make_shared<gpu::Workspace>(gpu::select_sum_workspace(policy, n_), 0, stream_.get());
    all.push_back({std::string(row.rung.id),
                   [&, workspace, policy] { run(policy.with_workspace(*workspace), false, columns, n_, sum); }});
  }
  progress_("timing on " + std::to_string(n_) + " in pinned memory");
  auto medians = medians_of(clock_, all, [] {});
  group.read_bytes_per_s = static_cast<double>(n_) * 4 / medians["keys"];
  for (Row& row : group.rows) {
    if (row.status == RowStatus::verified) row.median_s = medians[std::string(row.rung.id)];
  }
  return group;
}

// -------------------------------------------------------------------------------------------- columns that are sent

/// One run, from the columns in the host's memory to the sum there. Throws Error; the sum is left in `waited_`.
Staged Climb::send_once(const Rung<AggregateCall>& rung, int parts) {
  require(cudaDeviceSynchronize(), "running a rung");
  Staged staged;
  std::uint64_t sum = 0;
  double adding = 0;
  staged.total_s = seconds_of([&] {
    begin_.record(streams_[0]->get());
    std::int64_t partials = 0;
    for (int p = 0; p < parts; ++p) {
      Part& part = *parts_[static_cast<std::size_t>(p)];
      const cudaStream_t stream = part.launch.stream;
      // ---- Send.
      if (!rung.info.host_memory) {
        copy_async(arrays_->array<std::uint32_t>(0) + part.first, table_.key() + part.first, part.count * 4,
                   cudaMemcpyHostToDevice, stream);
        copy_async(arrays_->array<std::int64_t>(1) + part.first, table_.quantity() + part.first, part.count * 8,
                   cudaMemcpyHostToDevice, stream);
        copy_async(arrays_->array<std::int64_t>(2) + part.first, table_.price() + part.first, part.count * 8,
                   cudaMemcpyHostToDevice, stream);
      }
      part.copied.record(stream);
      // ---- Compute.
      const Status status = rung.run(part.call, {});
      if (!status.ok()) throw_status(status, rung.info.id);
      part.computed.record(stream);
      // ---- Fetch.
      copy_async(partials_->data() + partials, part.call.partials, part.call.partial_count * 8, cudaMemcpyDeviceToHost,
                 stream);
      part.fetched.record(stream);
      partials += part.call.partial_count;
    }
    for (int p = 0; p < parts; ++p) parts_[static_cast<std::size_t>(p)]->fetched.wait();
    adding = seconds_of([&] { sum = sum_of(partials_->data(), partials); });
  });
  waited_ = static_cast<std::int64_t>(sum);
  if (parts == 1) {
    const Part& part = *parts_[0];
    staged.transfer_s = part.copied.seconds_since(begin_) + part.fetched.seconds_since(part.computed);
    staged.kernel_s = part.computed.seconds_since(part.copied) + adding;
    return staged;
  }
  for (int p = 0; p < parts; ++p) {
    staged.transfer_s = std::max(staged.transfer_s, parts_[static_cast<std::size_t>(p)]->copied.seconds_since(begin_));
  }
  staged.kernel_s = staged.total_s - staged.transfer_s;
  return staged;
}

void Climb::send(Row& row) {
  const int parts = request_.transfer == Transfer::streams ? kParts : 1;
  const Policy named{.rung = row.rung.id};
  const Rung<AggregateCall>* rung = nullptr;
  for (int p = 0; p < parts; ++p) {
    Part& part = *parts_[static_cast<std::size_t>(p)];
    const auto policy = gpu::Policy{}.with_stream(streams_[static_cast<std::size_t>(p % kStreams)]->get());
    part.first = n_ * p / parts;
    part.count = n_ * (p + 1) / parts - part.first;
    part.launch = gpu::launch_on(policy);
    const bool sends = !row.rung.host_memory;
    const auto place = [&](const auto* there, const auto* here, const char* what) {
      using T = std::remove_pointer_t<decltype(there)>;
      return sends ? there + part.first : static_cast<T*>(gpu::mapped_memory(here + part.first, 0, what));
    };
    part.call = detail::aggregate_call(place(arrays_->array<const std::uint32_t>(0), table_.key(), "key"),
                                       place(arrays_->array<const std::int64_t>(1), table_.quantity(), "quantity"),
                                       place(arrays_->array<const std::int64_t>(2), table_.price(), "price"),
                                       part.count, request_.limit);
    part.call.out = arrays_->array<std::int64_t>(3) + p;
    part.call.launch = &part.launch;
    part.call.waits = true;
    rung = &aggregate::choose(part.call, named);
    const gpu::WorkspaceSize size = rung->workspace(part.call);
    part.workspace = std::make_unique<gpu::Workspace>(size, 0, policy.stream);
    part.launch.kept = part.workspace->kept();
    part.launch.scratch = part.workspace->scratch();
    part.launch.size = size;
  }
  std::vector<double> total;
  std::vector<double> transfer;
  std::vector<double> kernel;
  double used = 0;
  for (int round = -1; round < kRounds && (used < 2 * kBudget || total.size() < kMinSamples); ++round) {
    const Staged staged = send_once(*rung, parts);
    if (waited_ != expected_) {
      row.reason = "wrong value";
      return;
    }
    if (round < 0) continue;  // warms up
    used += staged.total_s;
    total.push_back(staged.total_s);
    transfer.push_back(staged.transfer_s);
    kernel.push_back(staged.kernel_s);
  }
  row.staged = Staged{median(total), median(transfer), median(kernel)};
  row.median_s = row.staged->total_s;
}

Group Climb::sent() {
  constexpr std::string_view kNames[] = {"", "pageable", "pinned", "streams"};
  Group group = empty_group();
  group.transfer = kNames[static_cast<int>(request_.transfer)];
  arrays_ = std::make_unique<Rotation>(
      std::vector<std::int64_t>{n_ * 4, n_ * 8, n_ * 8, kParts * std::int64_t{sizeof(std::int64_t)}}, 0);
  partials_ = std::make_unique<Buffer<std::int64_t>>(n_ + kParts);
  std::memset(partials_->data(), 0, static_cast<std::size_t>(n_ + kParts) * sizeof(std::int64_t));
  for (int s = 0; s < kStreams; ++s) streams_.push_back(std::make_unique<Stream>());
  for (int p = 0; p < kParts; ++p) parts_.push_back(std::make_unique<Part>());
  std::unique_ptr<PinnedTable> pinned;
  std::unique_ptr<Pinned> pinned_partials;
  if (request_.transfer != Transfer::pageable) {
    pinned = std::make_unique<PinnedTable>(table_);
    pinned_partials = std::make_unique<Pinned>(partials_->data(), (n_ + kParts) * std::int64_t{sizeof(std::int64_t)});
  }
  for (const auto& rung : ladder(Problem::aggregate)) {
    if (!wants(rung)) continue;
    group.rows.push_back({.rung = rung, .status = RowStatus::failed, .bytes = 20.0 * static_cast<double>(n_)});
    Row& row = group.rows.back();
    if (rung.host_memory && request_.transfer != Transfer::pinned) {
      row.status = RowStatus::skipped;
      row.reason = request_.transfer == Transfer::pageable ? "takes pinned memory" : "sends nothing: see pinned";
      continue;
    }
    attempt(row, [&]() -> std::string {
      send(row);
      return row.reason;
    });
  }
  for (auto& part : parts_) part->workspace.reset();  // before their streams
  return group;
}

}  // namespace

std::vector<Group> climb_aggregate_on_gpu(const LadderRequest& request, const Progress& progress) {
  std::vector<Group> groups;
  const auto climb = [&](const Table& table) {
    if (table.rows() == 0) throw Error(Code::empty, table.name() + ": has no rows to climb on");
    Climb all(request, progress, table);
    if (request.transfer != Transfer::none) {
      groups.push_back(all.sent());
      return;
    }
    for (Group group : {all.resident(), all.host_resident()}) {
      if (!group.rows.empty()) groups.push_back(std::move(group));
    }
  };
  if (!request.input.empty()) {
    climb(Table(request.input));
    return groups;
  }
  for (const std::int64_t n : request.sizes) climb(Table(n));
  return groups;
}

}  // namespace upsweep::bench
