// SPDX-License-Identifier: Apache-2.0
// plan/run.cpp: runs the blocks of a plan on the available threads, and copies the outputs together in order.
#include "plan/run.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "core/ladder.hpp"
#include "cpu/parallel.hpp"
#include "plan/block.hpp"
#include "plan/device_run.hpp"
#include "plan/elementary_loops.hpp"
#include "plan/histogram.hpp"
#include "system/interruption.hpp"

namespace upsweep::plan::detail {
namespace {

/// Instructions of all blocks per worker: about 100 us, since an instruction of a block takes about 0.5 us. Waking a
/// thread takes up to 50 us.
constexpr std::int64_t kInstructionsPerWorker = 200;
/// A worker with more memory is not kept for the next run.
constexpr std::int64_t kKeptBytes = std::int64_t{64} << 20;
/// Runs whose memory is kept.
constexpr std::size_t kKeptRuns = 16;
/// Bytes of an output that a thread copies at least.
constexpr std::int64_t kCopiedPerWorker = std::int64_t{1} << 20;
/// Bytes of an output that is not copied if one worker has appended it.
constexpr std::int64_t kReleased = std::int64_t{1} << 20;
/// Blocks between two calls of the function that may end a run.
constexpr std::int64_t kBlocksPerQuestion = 16;

/// The element kernels of an instruction set, with those of elementary functions.
struct ElementTable {
  ElementKernel kernels[kElementKernels];

  ElementTable(const Kernels& of, Isa isa) {
    std::copy_n(of.element, int{kElementKernels}, kernels);
    for (int op = 0; op < kOps; ++op) {
      for (const ElementType type : {ElementType::float32, ElementType::float64}) {
        const ElementKernel loop = elementary_loop(static_cast<Op>(op), type, isa);
        if (loop != nullptr) kernels[op * kElementTypes + static_cast<int>(type)] = loop;
      }
    }
  }
};

const ElementKernel* element_kernels(Isa isa) {
  static const ElementTable baseline(kernels_baseline(), Isa::baseline), avx2(kernels_avx2(), Isa::avx2),
      avx512(kernels_avx512(), Isa::avx512);
  const Isa chosen = isa == Isa::best ? best_isa() : isa;
  return (chosen == Isa::avx512 ? avx512 : chosen == Isa::avx2 ? avx2 : baseline).kernels;
}

/// Asks for huge pages, of which far fewer are allocated. The advice may be refused.
void advise_huge_pages(void* memory, std::size_t bytes) {
  constexpr std::size_t kPage = std::size_t{1} << 21;
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(memory) & (kPage - 1);
  if (bytes < before + kPage) return;
  (void)madvise(static_cast<std::byte*>(memory) + before, (bytes - before) & ~(kPage - 1), MADV_HUGEPAGE);
}

std::string column_text(int column) { return "column " + std::to_string(column); }

void require_length(const Column& column, int number, std::int64_t needed, const char* per) {
  if (column.length >= needed) return;
  throw Error(Code::unequal_lengths, column_text(number) + " has " + std::to_string(column.length) + " elements, but " +
                                         per + " needs " + std::to_string(needed));
}

/// Expects each block to have the output of the first one, and a little more.
void expect_outputs(Worker& worker, std::int64_t blocks) {
  for (Bytes& output : worker.outputs) output.expect(output.size() * static_cast<std::size_t>(blocks + blocks / 8));
}

}  // namespace

std::byte* Bytes::append(std::size_t bytes) {
  if (size_ + bytes > capacity_) {
    std::size_t capacity = std::max({size_ + bytes, 2 * capacity_, expected_});
    // realloc() of much memory moves pages, and does not copy them.
    void* memory = std::realloc(memory_.get(), capacity);
    if (memory == nullptr) memory = std::realloc(memory_.get(), capacity = size_ + bytes);
    if (memory == nullptr) throw std::bad_alloc();
    memory_.release();  // NOLINT(bugprone-unused-return-value): realloc() has freed it
    memory_.reset(static_cast<std::byte*>(memory));
    capacity_ = capacity;
    advise_huge_pages(memory, capacity);
  }
  size_ += bytes;
  return memory_.get() + size_ - bytes;
}

void* Bytes::release() noexcept {
  void* const whole = memory_.release();
  void* const smaller = std::realloc(whole, size_);
  size_ = 0, capacity_ = 0;
  return smaller != nullptr ? smaller : whole;
}

Worker::Worker(const Compiled& code)
    : slots(code.slots.size()),
      lengths(static_cast<std::size_t>(code.domains)),
      begins(code.inputs.size()),
      ends(code.inputs.size()),
      outputs(code.outputs.size()),
      list_totals(code.outputs.size()),
      marks(code.outputs.size()),
      buffers_(static_cast<std::size_t>(code.buffers)),
      parameters_(code.scalars.size()) {
  const auto scalars = std::ranges::count_if(code.slots, [](const Slot& s) { return s.place == Place::scalar; });
  tiles_.resize((static_cast<std::size_t>(code.registers) + static_cast<std::size_t>(scalars)) * kTileBytes);
  std::size_t next = static_cast<std::size_t>(code.registers);
  for (std::size_t s = 0; s < code.slots.size(); ++s) {
    const Slot& slot = code.slots[s];
    if (slot.place == Place::tile) slots[s] = tiles_.data() + static_cast<std::size_t>(slot.index) * kTileBytes;
    if (slot.place == Place::scalar) slots[s] = tiles_.data() + next++ * kTileBytes;
  }
}

std::byte* Worker::grown(Buffer& buffer, std::size_t bytes, std::size_t stagger, std::int64_t limit) {
  if (buffer.capacity() >= bytes) return buffer.data();
  const std::size_t wanted = std::max<std::size_t>(bytes + bytes / 4, 4096);
  const std::int64_t total =
      buffer_bytes_ - static_cast<std::int64_t>(buffer.capacity()) + static_cast<std::int64_t>(wanted);
  if (total > limit) throw TooLarge{};
  buffer.grow(wanted, stagger);
  buffer_bytes_ = total;
  return buffer.data();
}

void* Worker::array(const Slot& slot, std::int32_t slot_id, std::int64_t elements, std::int64_t limit) {
  const std::size_t bytes = static_cast<std::size_t>(elements + kSlack) * static_cast<std::size_t>(size_of(slot.type));
  const auto index = static_cast<std::size_t>(slot.index);
  return slots[static_cast<std::size_t>(slot_id)] = grown(buffers_[index], bytes, index % 16 * 256, limit);
}

std::int32_t* Worker::scratch(int which, std::int64_t elements, std::int64_t limit) {
  const std::size_t bytes = static_cast<std::size_t>(elements + kSlack) * sizeof(std::int32_t);
  return reinterpret_cast<std::int32_t*>(grown(scratch_[which], bytes, 128, limit));
}

void call_loop(const Compiled& code, const Step& step, void* out, const void* const* in, std::int64_t n) {
  char* args[5];
  std::intptr_t steps[5];
  int k = 0;
  for (; k < 4 && step.in[k] >= 0; ++k) {
    const Slot& slot = code.slots[static_cast<std::size_t>(step.in[k])];
    // A NumPy loop reads its operands only. Its type of argument is the same for the result.
    args[k] = static_cast<char*>(const_cast<void*>(in[k]));
    steps[k] = slot.place == Place::scalar ? 0 : size_of(slot.type);
  }
  args[k] = static_cast<char*>(out);
  steps[k] = size_of(code.slots[static_cast<std::size_t>(step.out)].type);
  const std::intptr_t count = n;
  const Loop& loop = code.loops[static_cast<std::size_t>(step.kernel - kCalls)];
  loop.run(args, &count, steps, loop.data);
}

void Worker::set_scalars(const Compiled& code, std::span<const Scalar> parameters, const ElementKernel* kernels) {
  bool is_changed = !has_scalars_;
  for (std::size_t i = 0; i < code.scalars.size(); ++i) {
    const ScalarSlot& scalar = code.scalars[i];
    const Scalar number = scalar.parameter < 0 ? scalar.number : parameters[static_cast<std::size_t>(scalar.parameter)];
    if (has_scalars_ && parameters_[i] == number.bits()) continue;
    parameters_[i] = number.bits();
    is_changed = true;
    const auto size = static_cast<std::size_t>(size_of(number.type()));
    auto* tile = static_cast<std::byte*>(slots[static_cast<std::size_t>(scalar.slot)]);
    const std::uint64_t bits = number.bits();
    for (std::size_t k = 0; k < kTile + kSlack; ++k) std::memcpy(tile + k * size, &bits, size);
  }
  has_scalars_ = true;
  if (!is_changed) return;
  for (const Step& step : code.prologue) {
    const void* in[4];
    for (int k = 0; k < 4; ++k) in[k] = step.in[k] < 0 ? nullptr : slots[static_cast<std::size_t>(step.in[k])];
    void* const out = slots[static_cast<std::size_t>(step.out)];
    if (step.kernel < kCalls) {
      kernels[step.kernel](out, in, kTile + kSlack, 0);
    } else {
      call_loop(code, step, out, in, kTile + kSlack);
    }
  }
}

std::int64_t Worker::bytes() const noexcept {
  std::int64_t total = buffer_bytes_;
  for (const Bytes& output : outputs) total += static_cast<std::int64_t>(output.capacity());
  return total;
}

void check_inputs(const Compiled& code, std::span<const Column> given, std::span<const Scalar> parameters,
                  std::int64_t events) {
  if (events < 0) throw Error(Code::invalid_argument, "plan: the number of events is " + std::to_string(events));
  if (static_cast<std::int64_t>(given.size()) < code.names_of_columns) {
    throw Error(Code::invalid_argument, "plan: needs " + std::to_string(code.names_of_columns) + " columns, not " +
                                            std::to_string(given.size()));
  }
  for (const int column : code.used_columns) {
    const Column& c = given[static_cast<std::size_t>(column)];
    if (c.length < 0) {
      throw Error(Code::invalid_argument, column_text(column) + " has a negative length: " + std::to_string(c.length));
    }
    if (c.data == nullptr && c.length > 0) throw Error(Code::invalid_argument, column_text(column) + " is null");
  }
  for (const BoundColumn& column : code.columns) {
    if (column.is_table || column.input >= 0) continue;
    require_length(given[static_cast<std::size_t>(column.column)], column.column, events, "a value per event");
  }
  for (const InputDomain& input : code.inputs) {
    if (input.parent >= 0 || input.column < 0) continue;
    require_length(given[static_cast<std::size_t>(input.column)], input.column, events > 0 ? events + 1 : 0,
                   "an offset per event, and one more,");
  }
  for (const ScalarSlot& scalar : code.scalars) {
    if (scalar.parameter < 0) continue;
    const auto index = static_cast<std::size_t>(scalar.parameter);
    if (index >= parameters.size()) {
      throw Error(Code::invalid_argument, "plan: parameter " + std::to_string(index) + " is missing; there are " +
                                              std::to_string(parameters.size()));
    }
    if (parameters[index].type() != scalar.number.type()) {
      throw Error(Code::invalid_argument, "plan: parameter " + std::to_string(index) + " is " +
                                              std::string(name(parameters[index].type())) + ", but must be " +
                                              std::string(name(scalar.number.type())));
    }
  }
}

std::optional<Extent> extent_of(const Compiled& code, std::span<const Column> columns, std::int64_t events,
                                std::int32_t input) {
  if (input == 0) return Extent{0, events};
  const InputDomain& of = code.inputs[static_cast<std::size_t>(input - 1)];
  const std::optional<Extent> above = extent_of(code, columns, events, of.parent + 1);
  if (!above) return std::nullopt;
  Extent made;
  if (of.column < 0) {
    const bool overflows = __builtin_mul_overflow(above->first, of.size, &made.first) ||
                           __builtin_mul_overflow(above->last, of.size, &made.last);
    return overflows ? std::nullopt : std::optional(made);
  }
  if (above->first == above->last) return made;
  if (static_cast<std::size_t>(of.column) >= columns.size()) return std::nullopt;
  const Column& offsets = columns[static_cast<std::size_t>(of.column)];
  if (above->first < 0 || above->last < above->first || offsets.length <= above->last || offsets.data == nullptr) {
    return std::nullopt;
  }
  made = {offset_at(offsets, of.offsets, above->first), offset_at(offsets, of.offsets, above->last)};
  if (made.first < 0 || made.last < made.first) return std::nullopt;
  return made;
}

void Run::execute(const Policy& policy, std::span<const Column> given, std::span<const Scalar> parameters,
                  std::int64_t events, const Limits& limits, const upsweep::detail::GoOn& go_on,
                  std::span<void* const> to) {
  check_inputs(*code, given, parameters, events);
  columns.assign(given.begin(), given.end());
  destinations.assign(code->outputs.size(), {});
  for (std::size_t o = 0; o < std::min(to.size(), destinations.size()); ++o) {
    if (to[o] == nullptr || code->outputs[o].input < 0) continue;
    const auto extent = extent_of(*code, columns, events, code->outputs[o].input);
    if (extent) destinations[o] = {static_cast<std::byte*>(to[o]), *extent};
  }
  failure.reset();
  const ElementKernel* elements = element_kernels(policy.isa);
  const RunContext context{*code,          kernels(policy.isa), elements,
                           columns.data(), destinations.data(), limits.worker_bytes};
  const std::int64_t blocks = (events + kBlockEvents - 1) / kBlockEvents;
  const std::int64_t work = blocks * (code->node_instructions + 1);
  const int wanted = cpu::workers_for(work, kInstructionsPerWorker, policy.threads);
  const std::int64_t units = code->histograms.empty() ? blocks : histogram_units(*code, events, blocks);
  threads = static_cast<int>(std::clamp<std::int64_t>(units, 1, wanted));
  while (static_cast<int>(workers.size()) < threads) workers.push_back(nullptr);
  pieces.assign(static_cast<std::size_t>(blocks) * code->outputs.size(), {});
  const auto unit_bytes = static_cast<std::size_t>(code->unit_bytes);
  const std::size_t cell_bytes = static_cast<std::size_t>(std::max<std::int64_t>(units, 1)) * unit_bytes;
  if (cells.capacity() < cell_bytes) cells.grow(cell_bytes, 0);
  if (units == 0 && cell_bytes > 0) std::memset(cells.data(), 0, cell_bytes);

  Interruption interruption(&go_on);
  std::atomic<std::int64_t> next{0};
  std::mutex failing;  // guards what follows
  std::int64_t failed_block = blocks;
  std::exception_ptr error;
  const auto fail = [&](std::int64_t block, std::optional<Failure> check, std::exception_ptr thrown) {
    next.store(units, std::memory_order_relaxed);  // units before this one have begun, and run to their end
    const std::lock_guard lock(failing);
    if (block >= failed_block) return;
    failed_block = block, failure = check, error = std::move(thrown);
  };
  cpu::run_workers(threads, [&](int id) {
    std::int64_t block = 0;
    try {
      std::unique_ptr<Worker>& worker = workers[static_cast<std::size_t>(id)];
      if (worker == nullptr) worker = std::make_unique<Worker>(*code);
      for (Bytes& output : worker->outputs) output.resize_down(0);
      std::ranges::fill(worker->list_totals, 0);
      for (const BoundColumn& column : code->columns) {
        if (!column.is_table) continue;
        worker->slots[static_cast<std::size_t>(column.slot)] =
            const_cast<void*>(columns[static_cast<std::size_t>(column.column)].data);
      }
      worker->set_scalars(*code, parameters, elements);
      std::int64_t unit = 0;
      bool is_first = true;
      while ((unit = next.fetch_add(1, std::memory_order_relaxed)) < units) {
        if (unit_bytes > 0) {
          worker->cells = cells.data() + static_cast<std::size_t>(unit) * unit_bytes;
          std::memset(worker->cells, 0, unit_bytes);
        }
        const std::int64_t end = (unit + 1) * blocks / units;
        bool goes_on = true;
        for (block = unit * blocks / units; goes_on && block < end; ++block) {
          if (block % kBlocksPerQuestion == 0 && !interruption.goes_on()) {
            throw Error(Code::interrupted, kInterrupted.reason);
          }
          Piece* appended = pieces.data() + static_cast<std::size_t>(block) * code->outputs.size();
          for (std::size_t o = 0; o < code->outputs.size(); ++o) {
            appended[o] = {id, worker->outputs[o].size(), 0, 0};
            if (threads > 1 || destinations[o].data == nullptr) worker->list_totals[o] = 0;
          }
          const std::int64_t begin = block * kBlockEvents;
          const auto failed = run_block(context, *worker, begin, std::min(events - begin, kBlockEvents));
          if (failed) fail(block, failed, nullptr);
          goes_on = !failed;
          if (is_first) expect_outputs(*worker, blocks / threads);
          is_first = false;
          for (std::size_t o = 0; o < code->outputs.size(); ++o) {
            appended[o].bytes = worker->outputs[o].size() - appended[o].begin;
            appended[o].total = worker->list_totals[o];
          }
        }
      }
    } catch (...) {
      fail(block, std::nullopt, std::current_exception());
    }
  });
  if (error) std::rethrow_exception(error);
  if (failure) pieces.clear();
  if (!failure) finish_given_offsets();
  if (!failure) add_up(*code, cells.data(), units, threads);
  sum_sizes();
}

void Run::copy_bins(int histogram, void* to) const {
  const HistogramCode& of = code->histograms[static_cast<std::size_t>(histogram)];
  copy_cells(of, cells.data() + of.offset, static_cast<std::byte*>(to));
}

void Run::sum_sizes() {
  const std::size_t count = code->outputs.size();
  sizes.assign(count, 0);
  for (std::size_t i = 0; i < pieces.size(); ++i) sizes[i % count] += static_cast<std::int64_t>(pieces[i].bytes);
  for (std::size_t o = 0; o < count; ++o) {
    sizes[o] /= size_of(code->outputs[o].type);
    if (failure) continue;
    if (destinations[o].data != nullptr) sizes[o] = destinations[o].extent.last - destinations[o].extent.first;
    if (code->outputs[o].is_offsets) ++sizes[o];
  }
}

void Run::finish_given_offsets() {
  for (std::size_t o = 0; o < code->outputs.size(); ++o) {
    if (destinations[o].data == nullptr || !code->outputs[o].is_offsets) continue;
    auto* const offsets = reinterpret_cast<std::int64_t*>(destinations[o].data);
    offsets[0] = 0;
    if (threads == 1) continue;  // the worker counted from the first event, not from the beginning of each block
    const std::int64_t events = destinations[o].extent.last;
    const auto blocks = static_cast<std::int64_t>(pieces.size() / code->outputs.size());
    const auto total = [&](std::int64_t b) {
      return pieces[static_cast<std::size_t>(b) * code->outputs.size() + o].total;
    };
    cpu::run_workers(threads, [&](int id) {
      const std::int64_t first = blocks * id / threads, last = blocks * (id + 1) / threads;
      std::int64_t base = 0;
      for (std::int64_t b = 0; b < first; ++b) base += total(b);
      for (std::int64_t b = first; b < last; base += total(b++)) {
        const std::int64_t end = std::min(events, (b + 1) * kBlockEvents);
        for (std::int64_t i = b * kBlockEvents; i < end; ++i) offsets[i + 1] += base;
      }
    });
  }
}

void Run::copy(int output, void* to) const {
  const auto o = static_cast<std::size_t>(output);
  const std::size_t count = code->outputs.size();
  if (sizes[o] == 0) return;
  if (destinations[o].data != nullptr) {
    if (destinations[o].data != to)
      std::memcpy(to, destinations[o].data, static_cast<std::size_t>(sizes[o] * size_of(code->outputs[o].type)));
    return;
  }
  const bool is_offsets = code->outputs[o].is_offsets;
  auto* out = static_cast<std::byte*>(to);
  if (is_offsets) {
    std::memset(out, 0, sizeof(std::int64_t));
    out += sizeof(std::int64_t);
  }
  const std::int64_t blocks = static_cast<std::int64_t>(pieces.size() / count);
  const auto copy_blocks = [&](std::int64_t first, std::int64_t last, std::byte* at, std::int64_t base) {
    for (std::int64_t b = first; b < last; ++b) {
      const Piece& piece = pieces[static_cast<std::size_t>(b) * count + o];
      const std::byte* from = workers[static_cast<std::size_t>(piece.worker)]->outputs[o].data() + piece.begin;
      if (!is_offsets) {
        if (piece.bytes > 0) std::memcpy(at, from, piece.bytes);
      } else {
        const std::size_t lists = piece.bytes / sizeof(std::int64_t);
        for (std::size_t i = 0; i < lists; ++i) {
          std::int64_t offset;
          std::memcpy(&offset, from + i * sizeof offset, sizeof offset);
          offset += base;
          std::memcpy(at + i * sizeof offset, &offset, sizeof offset);
        }
        base += piece.total;
      }
      at += piece.bytes;
    }
  };
  const std::int64_t bytes = sizes[o] * size_of(code->outputs[o].type);
  const int copiers = static_cast<int>(std::min<std::int64_t>(
      {cpu::workers_for(bytes, kCopiedPerWorker, threads), std::max<std::int64_t>(blocks, 1), threads}));
  cpu::run_workers(copiers, [&](int id) {
    const std::int64_t first = blocks * id / copiers, last = blocks * (id + 1) / copiers;
    std::byte* at = out;
    std::int64_t base = 0;
    for (std::int64_t b = 0; b < first; ++b) {
      const Piece& piece = pieces[static_cast<std::size_t>(b) * count + o];
      at += piece.bytes, base += piece.total;
    }
    copy_blocks(first, last, at, base);
  });
}

void* Run::release(int output) {
  const auto o = static_cast<std::size_t>(output);
  const bool is_appended = destinations[o].data == nullptr && !code->outputs[o].is_offsets;
  if (!is_appended || threads != 1 || failure || sizes[o] * size_of(code->outputs[o].type) < kReleased) return nullptr;
  sizes[o] = 0;
  return workers[0]->outputs[o].release();
}

// -------------------------------------------------------------------------------------------------------------- memory

Compiled::Compiled() = default;
Compiled::~Compiled() = default;

DevicePlans& Compiled::device_plans() const {
  const std::lock_guard lock(mutex_);
  if (device_plans_ == nullptr) device_plans_ = std::make_unique<DevicePlans>(*this);
  return *device_plans_;
}

std::unique_ptr<Run> Compiled::take_run() const {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return nullptr;
  std::unique_ptr<Run> run = std::move(idle_.back());
  idle_.pop_back();
  return run;
}

void Compiled::keep_run(std::unique_ptr<Run> run) const {
  run->code.reset();
  for (std::unique_ptr<Worker>& worker : run->workers) {
    if (worker != nullptr && worker->bytes() > kKeptBytes) worker.reset();
  }
  if (run->cells.capacity() > static_cast<std::size_t>(kKeptBytes)) run->cells.free();
  const std::lock_guard lock(mutex_);
  if (idle_.capacity() < kKeptRuns) idle_.reserve(kKeptRuns);
  if (idle_.size() < kKeptRuns) idle_.push_back(std::move(run));
}

void require_output(const Compiled& code, int output) {
  if (output >= 0 && static_cast<std::size_t>(output) < code.outputs.size()) return;
  throw Error(Code::invalid_argument, "plan: output " + std::to_string(output) + " does not exist; there are " +
                                          std::to_string(code.outputs.size()));
}

const HistogramCode& histogram_at(const Compiled& code, int histogram) {
  if (histogram >= 0 && static_cast<std::size_t>(histogram) < code.histograms.size()) {
    return code.histograms[static_cast<std::size_t>(histogram)];
  }
  throw Error(Code::invalid_argument, "plan: histogram " + std::to_string(histogram) + " does not exist; there are " +
                                          std::to_string(code.histograms.size()));
}

void require_histogram(const Compiled& code, int histogram, bool has_weights, bool has_failed) {
  if (histogram_at(code, histogram).has_weights != has_weights) {
    throw Error(Code::invalid_argument,
                "plan: histogram " + std::to_string(histogram) +
                    (has_weights ? " has no weights; use copy_counts()" : " has weights; use copy_sums()"));
  }
  if (has_failed) {
    throw Error(Code::invalid_argument,
                "plan: a check has failed, so histogram " + std::to_string(histogram) + " has no bins; see failure()");
  }
}

}  // namespace upsweep::plan::detail

// ----------------------------------------------------------------------------------------------------------- interface

namespace upsweep::plan {
namespace {

void give_back(std::unique_ptr<detail::Run> run) noexcept {
  if (run == nullptr) return;
  const std::shared_ptr<const detail::Compiled> code = run->code;
  try {
    code->keep_run(std::move(run));
  } catch (const std::bad_alloc&) {
    return;  // it is freed
  }
}

}  // namespace

Result::Result(std::unique_ptr<detail::Run> run) noexcept : run_(std::move(run)) {}
Result::Result(Result&&) noexcept = default;
Result& Result::operator=(Result&& other) noexcept {
  std::swap(run_, other.run_);
  return *this;
}
Result::~Result() { give_back(std::move(run_)); }

std::optional<Failure> Result::failure() const noexcept { return run_->failure; }
int Result::outputs() const noexcept { return static_cast<int>(run_->code->outputs.size()); }
ElementType Result::type(int output) const {
  detail::require_output(*run_->code, output);
  return run_->code->outputs[static_cast<std::size_t>(output)].type;
}
std::int64_t Result::size(int output) const {
  detail::require_output(*run_->code, output);
  return run_->sizes[static_cast<std::size_t>(output)];
}
void Result::copy(int output, void* to) const {
  detail::require_output(*run_->code, output);
  run_->copy(output, to);
}
void* Result::release(int output) {
  detail::require_output(*run_->code, output);
  return run_->release(output);
}
void Result::copy_counts(int histogram, std::int64_t* to) const {
  detail::require_histogram(*run_->code, histogram, false, run_->failure.has_value());
  run_->copy_bins(histogram, to);
}
void Result::copy_sums(int histogram, WeightedBin* to) const {
  detail::require_histogram(*run_->code, histogram, true, run_->failure.has_value());
  run_->copy_bins(histogram, to);
}

DeviceResult::DeviceResult(std::unique_ptr<detail::DeviceRun> run) noexcept : run_(std::move(run)) {}
DeviceResult::DeviceResult(DeviceResult&&) noexcept = default;
DeviceResult& DeviceResult::operator=(DeviceResult&&) noexcept = default;
DeviceResult::~DeviceResult() = default;

std::optional<Failure> DeviceResult::failure() const noexcept { return run_->failure; }
int DeviceResult::outputs() const noexcept { return static_cast<int>(run_->code->outputs.size()); }
ElementType DeviceResult::type(int output) const {
  detail::require_output(*run_->code, output);
  return run_->code->outputs[static_cast<std::size_t>(output)].type;
}
std::int64_t DeviceResult::size(int output) const {
  detail::require_output(*run_->code, output);
  return run_->sizes[static_cast<std::size_t>(output)];
}
const void* DeviceResult::data(int output) const {
  detail::require_output(*run_->code, output);
  return size(output) > 0 ? run_->outputs[static_cast<std::size_t>(output)].data() : nullptr;
}
void DeviceResult::copy(int output, void* to) const {
  detail::require_output(*run_->code, output);
  run_->copy(output, to);
}
void DeviceResult::copy_counts(int histogram, std::int64_t* to) const {
  detail::require_histogram(*run_->code, histogram, false, run_->failure.has_value());
  const std::vector<std::byte>& bins = run_->bins[static_cast<std::size_t>(histogram)];
  std::memcpy(to, bins.data(), bins.size());
}
void DeviceResult::copy_sums(int histogram, WeightedBin* to) const {
  detail::require_histogram(*run_->code, histogram, true, run_->failure.has_value());
  const std::vector<std::byte>& bins = run_->bins[static_cast<std::size_t>(histogram)];
  std::memcpy(to, bins.data(), bins.size());
}

DeviceResult Plan::run(const gpu::Policy& policy, std::span<const Column> columns, std::span<const Scalar> parameters,
                       std::int64_t events, const Limits& limits) const {
  if (!policy.rung.empty()) throw Error(Code::unknown_rung, "plan: a plan has no rungs; leave `rung` empty");
  if (policy.overflow == Overflow::checked) {
    throw Error(Code::unsupported, "plan: integers wrap (modulo 2^bits); leave `overflow` at Overflow::wrap");
  }
  auto run = std::make_unique<detail::DeviceRun>(code_);
  run->execute(policy, columns, parameters, events, limits);
  return DeviceResult(std::move(run));
}

Result Plan::run(const Policy& policy, std::span<const Column> columns, std::span<const Scalar> parameters,
                 std::int64_t events, const Limits& limits, const upsweep::detail::GoOn& go_on,
                 std::span<void* const> outputs) const {
  require_policy(policy);
  if (!policy.rung.empty()) throw Error(Code::unknown_rung, "plan: a plan has no rungs; leave `rung` empty");
  std::unique_ptr<detail::Run> run = code_->take_run();
  if (run == nullptr) run = std::make_unique<detail::Run>();
  run->code = code_;
  try {
    run->execute(policy, columns, parameters, events, limits, go_on, outputs);
  } catch (...) {
    give_back(std::move(run));
    throw;
  }
  return Result(std::move(run));
}

std::vector<std::int64_t> Plan::sizes(std::span<const Column> columns, std::int64_t events) const {
  std::vector<std::int64_t> made;
  made.reserve(code_->outputs.size());
  for (const detail::OutputInfo& output : code_->outputs) {
    std::optional<detail::Extent> extent;
    if (output.input >= 0 && events >= 0) extent = detail::extent_of(*code_, columns, events, output.input);
    made.push_back(extent ? extent->last - extent->first + (output.is_offsets ? 1 : 0) : -1);
  }
  return made;
}

std::span<const int> Plan::columns() const noexcept { return code_->used_columns; }
int Plan::outputs() const noexcept { return static_cast<int>(code_->outputs.size()); }
ElementType Plan::type(int output) const {
  detail::require_output(*code_, output);
  return code_->outputs[static_cast<std::size_t>(output)].type;
}
int Plan::histograms() const noexcept { return static_cast<int>(code_->histograms.size()); }
std::span<const std::int64_t> Plan::shape(int histogram) const { return detail::histogram_at(*code_, histogram).shape; }
bool Plan::has_weights(int histogram) const { return detail::histogram_at(*code_, histogram).has_weights; }
int Plan::instructions() const noexcept { return code_->node_instructions; }
std::string Plan::to_text() const { return code_->to_text(); }
std::string Plan::to_cuda() const { return code_->device_plans().cuda.source; }

}  // namespace upsweep::plan
