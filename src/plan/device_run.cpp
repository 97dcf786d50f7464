// SPDX-License-Identifier: Apache-2.0
// plan/device_run.cpp: runs a plan on a GPU: shared memory for its arrays, launches, and their outcome.
//
// A launch needs to know how long the arrays of a block are. The first run of a plan on a device finds that out from
// some of the events. If a block has longer lists, the kernel divides it; if a single event has, the kernel is launched
// again with more memory.
#include "plan/device_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "core/lists.hpp"
#include "cuda/device_call.hpp"
#include "cuda/scratch_parts.hpp"
#include "plan/block.hpp"
#include "plan/histogram.hpp"
#include "plan/run.hpp"
#include "upsweep/error.hpp"

namespace upsweep::plan::detail {
namespace {

/// Events of a block, at most. Fewer if their arrays need more than kArrayBytes of shared memory. On an H200, blocks of
/// 64 events took up to 1.45 times as long.
constexpr std::int64_t kEventsPerBlock = 128;
constexpr std::int64_t kArrayBytes = 96 << 10;
constexpr std::int64_t kFewEvents = 8;
/// Elements of a domain besides those that are expected: fewer events vary more.
constexpr std::int64_t kSpare = 32;
/// The first run finds out the lengths from these events, in memory for lists of this many elements.
constexpr std::int64_t kSample = 32 * kEventsPerBlock;
constexpr std::int64_t kSampleLength = 4096;
/// Blocks of threads per multiprocessor, at most.
constexpr std::int64_t kResident = 16;
/// If more than one of this many blocks is divided, the lengths are found out again.
constexpr std::int64_t kDividedShare = 8;
/// Bytes of the arenas of all blocks of threads.
constexpr std::int64_t kArenaBytes = std::int64_t{4} << 30;
/// The kernel takes at most 32,764 bytes.
constexpr int kMostWords = 4095;
constexpr std::uint64_t kNotShared = UINT64_MAX;
/// Bytes of the cells of a histogram with weights.
constexpr std::int64_t kMostSumBytes = std::int64_t{1} << 30;

template <class T>
std::size_t index(T i) {
  return static_cast<std::size_t>(i);
}

// -------------------------------------------------------------------------------------------------------------- layout

/// Where the arrays of a block are, in one memory.
struct Places {
  std::vector<std::int64_t> capacities;  ///< of domains; 0 if there is no such memory
  std::vector<std::int64_t> places;      ///< of arrays
  std::int64_t bytes = 0;
};

/// Where the arrays of a block are: in shared memory, and in the arena.
struct Layout {
  std::int64_t events = kEventsPerBlock;  ///< of a block
  Places shared, arena;
};

/// Places the largest arrays first. Arrays that are needed at the same time do not overlap.
Places placed(const Compiled& code, const std::vector<CudaArray>& arrays, std::vector<std::int64_t> capacities) {
  Places made{.capacities = std::move(capacities), .places = {}, .bytes = 0};
  std::vector<std::int64_t> bytes;
  bytes.reserve(arrays.size());
  for (const CudaArray& array : arrays) {
    const std::int64_t elements = made.capacities[index(array.domain)] + (array.has_end ? 1 : 0);
    bytes.push_back((elements * size_of(code.slots[index(array.slot)].type) + 15) / 16 * 16);
  }
  std::vector<std::size_t> order(arrays.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
  made.places.assign(arrays.size(), 0);
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;
  for (auto i = order.begin(); i != order.end(); ++i) {
    const CudaArray& array = arrays[*i];
    taken.clear();
    for (auto j = order.begin(); j != i; ++j) {
      if (arrays[*j].first > array.last || array.first > arrays[*j].last) continue;
      taken.emplace_back(made.places[*j], made.places[*j] + bytes[*j]);
    }
    std::ranges::sort(taken);
    std::int64_t at = 0;
    for (const auto& [begin, end] : taken) {
      if (at + bytes[*i] <= begin) break;
      at = std::max(at, end);
    }
    made.places[*i] = at, made.bytes = std::max(made.bytes, at + bytes[*i]);
  }
  return made;
}

/// Returns the places in shared memory if the arrays of kEventsPerBlock events are that long, and sets `events`.
Places placed_in_shared(const Compiled& code, const CudaCode& cuda, const std::vector<std::int64_t>& lengths,
                        std::int64_t most_bytes, std::int64_t& events) {
  for (events = kEventsPerBlock;; events /= 2) {
    std::vector<std::int64_t> capacities;
    for (const std::int64_t length : lengths) {
      const std::int64_t share = (length * events + kEventsPerBlock - 1) / kEventsPerBlock;
      capacities.push_back(share + share / 4 + kSpare);
    }
    capacities[0] = events;
    Places made = placed(code, cuda.arrays, std::move(capacities));
    if (made.bytes <= std::min(most_bytes, events > kFewEvents ? kArrayBytes : most_bytes)) return made;
    if (events == 1) return {};
  }
}

/// Returns the arena for single events that do not fit shared memory; nothing if none is known. If `is_only`, the plan
/// does not fit shared memory, and all events use the arena. Events that need more say so.
Places arena_of(const Compiled& code, const CudaCode& cuda, const DevicePlan& plan, bool is_only) {
  std::vector<std::int64_t> needed = plan.large;
  if (is_only) {
    needed.resize(plan.lengths.size());
    for (std::size_t d = 0; d < needed.size(); ++d) {
      needed[d] = std::max({needed[d], std::min(plan.lengths[d], kSampleLength), std::int64_t{1}});
    }
  }
  return needed.empty() ? Places{} : placed(code, cuda.arrays, std::move(needed));
}

// ---------------------------------------------------------------------------------------------------------- histograms

std::vector<std::int64_t> axis_words(const HistogramCode::AxisCode& axis) {
  const Binning& b = axis.binning;
  const CudaAxis header{.stride = b.stride,
                        .count = b.count,
                        .has_top = b.has_top ? 1 : 0,
                        .start = b.start,
                        .stop = b.stop,
                        .low = b.low,
                        .width = b.width,
                        .bins = b.bins,
                        .top = b.top};
  std::vector<std::int64_t> words(sizeof header / sizeof(std::int64_t));
  std::memcpy(words.data(), &header, sizeof header);
  for (const double edge : axis.edges) words.push_back(std::bit_cast<std::int64_t>(edge));
  words.insert(words.end(), axis.values.begin(), axis.values.end());
  words.insert(words.end(), axis.places.begin(), axis.places.end());
  return words;
}

std::int64_t words_of(const HistogramCode& histogram) {
  return histogram.cells * (histogram.has_weights ? 2 * kSumWords : 1);
}

/// Returns the float64 nearest to a sum: see kDigits.
double rounded(const std::int64_t* words) {
  const std::int64_t infinities = words[kDigits], negative = words[kDigits + 1], nans = words[kDigits + 2];
  if (nans > 0 || (infinities > 0 && negative > 0)) return std::nan("");
  if (infinities > 0) return HUGE_VAL;
  if (negative > 0) return -HUGE_VAL;
  constexpr std::int64_t kMask = (std::int64_t{1} << kDigitBits) - 1;
  constexpr int kCarried = kDigits + 3;  // the carry of the last digit has up to 64 bits
  std::int64_t digits[kCarried] = {};
  const auto carry_all = [&] {
    std::int64_t carry = 0;
    for (std::int64_t& digit : digits) {
      const std::int64_t sum = digit + carry;
      digit = sum & kMask, carry = sum >> kDigitBits;
    }
    return carry;
  };
  std::copy_n(words, kDigits, digits);
  const bool is_negative = carry_all() < 0;
  if (is_negative) {
    std::copy_n(words, kDigits, digits), std::fill_n(digits + kDigits, kCarried - kDigits, 0);
    for (std::int64_t& digit : digits) digit = -digit;
    (void)carry_all();
  }
  int top = kCarried - 1;
  while (top >= 0 && digits[top] == 0) --top;
  if (top < 0) return 0;
  const auto bit = [&](int i) { return i < 0 ? 0 : digits[i / kDigitBits] >> (i % kDigitBits) & 1; };
  int high = top * kDigitBits;
  while (high + 1 < (top + 1) * kDigitBits && digits[top] >> (high + 1 - top * kDigitBits) != 0) ++high;
  const int low = std::max(high - 52, 0);
  std::uint64_t mantissa = 0;
  for (int i = high; i >= low; --i) mantissa = mantissa << 1 | static_cast<std::uint64_t>(bit(i));
  bool is_more = false;  // than a half of the last bit
  for (int i = 0; i < low - 1 && !is_more; ++i) is_more = bit(i) != 0;
  if (low > 0 && bit(low - 1) != 0 && (is_more || (mantissa & 1) != 0)) ++mantissa;
  const double size = std::ldexp(static_cast<double>(mantissa), low - 1074);
  return is_negative ? -size : size;
}

/// Returns the bins of a histogram with weights or without.
std::vector<std::byte> bins_of(const HistogramCode& histogram, const std::vector<std::int64_t>& words) {
  std::int64_t bins = 1;
  for (const std::int64_t extent : histogram.shape) bins *= extent;
  const auto size = histogram.has_weights ? sizeof(WeightedBin) : sizeof(std::int64_t);
  std::vector<std::byte> made(index(bins) * size);
  if (!histogram.has_weights) {
    copy_cells(histogram, reinterpret_cast<const std::byte*>(words.data()), made.data());
    return made;
  }
  std::vector<WeightedBin> cells(index(histogram.cells));
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    const std::int64_t* const sums = words.data() + cell * 2 * kSumWords;
    cells[cell] = {rounded(sums), rounded(sums + kSumWords)};
  }
  copy_cells(histogram, reinterpret_cast<const std::byte*>(cells.data()), made.data());
  return made;
}

// ------------------------------------------------------------------------------------------------------------ launches

/// The report of a launch.
struct Outcome {
  std::vector<std::int64_t> lengths;  ///< of domains: the largest ones of an attempt
  std::vector<std::int64_t> large;    ///< of domains: the largest ones of an attempt of one event
  std::vector<std::int64_t> totals;   ///< of counters
  CudaTrouble trouble;
};

/// The launches of one run.
class Launches {
 public:
  Launches(const Compiled& code, const CudaCode& cuda, const gpu::Program& program, const gpu::Policy& policy,
           std::span<const Column> columns, std::span<const Scalar> parameters)
      : code_(code),
        cuda_(cuda),
        program_(program),
        policy_(policy),
        limits_(gpu::launch_limits(policy.device)),
        words_(index(cuda.words.count)) {
    const CudaWords& w = cuda.words;
    choose_counted();
    for (const int c : code.used_columns) {
      set(w.columns + 2 * c, columns[index(c)].data);
      words_[index(w.columns + 2 * c + 1)] = static_cast<std::uint64_t>(columns[index(c)].length);
    }
    for (std::size_t s = 0; s < code.scalars.size(); ++s) {
      const ScalarSlot& scalar = code.scalars[s];
      words_[index(w.scalars) + s] =
          scalar.parameter < 0 ? scalar.number.bits() : parameters[index(scalar.parameter)].bits();
    }
    send_axes();
  }

  /// Returns the shared memory for arrays.
  [[nodiscard]] std::int64_t shared_bytes() const { return limits_.shared_per_block - team_bytes() - counted_bytes(); }

  /// Runs the kernel on the first events. `outputs` has the memory of each output, and its elements.
  Outcome run(const Layout& layout, std::int64_t events, std::span<void* const> outputs,
              std::span<const std::int64_t> capacities) {
    const CudaWords& w = cuda_.words;
    const std::int64_t blocks = (events + layout.events - 1) / layout.events;
    const std::int64_t counters = cuda_.counters, domains = code_.domains;
    gpu::ScratchParts sizes(nullptr);
    take_parts(sizes, blocks);
    if (scratch_.bytes() < sizes.bytes()) scratch_ = {}, scratch_ = DeviceMemory(policy_, sizes.bytes());
    gpu::ScratchParts parts(scratch_.data());
    const Parts at = take_parts(parts, blocks);
    gpu::clear(scratch_.data(), sizes.bytes(), policy_.stream);
    const std::int64_t arena_bytes = layout.arena.bytes;
    std::int64_t most = std::min(blocks, limits_.multiprocessors * kResident);
    if (arena_bytes > 0) most = std::clamp<std::int64_t>(kArenaBytes / arena_bytes, 1, most);
    if (arena_.bytes() < most * arena_bytes) arena_ = {}, arena_ = DeviceMemory(policy_, most * arena_bytes);
    const auto number = [&](int i, std::int64_t x) { words_[index(i)] = static_cast<std::uint64_t>(x); };
    number(CudaWords::events, events), number(CudaWords::blocks, blocks);
    number(CudaWords::events_per_block, layout.events);
    set(CudaWords::tickets, at.ticket), set(CudaWords::states, at.states), set(CudaWords::lengths, at.lengths);
    set(CudaWords::totals, at.totals), set(CudaWords::trouble, at.trouble);
    set(CudaWords::arena, arena_bytes > 0 ? arena_.data() : nullptr);
    number(CudaWords::arena_bytes, arena_bytes);
    number(CudaWords::is_large, layout.shared.capacities.empty() ? 1 : 0);
    set_places(layout.shared, 0), set_places(layout.arena, 1);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      set(w.outputs + 2 * static_cast<int>(o), outputs[o]);
      number(w.outputs + 2 * static_cast<int>(o) + 1, capacities[o]);
    }
    std::int64_t shared = layout.shared.bytes;
    for (std::size_t h = 0; h < code_.histograms.size(); ++h) {
      set(w.cells + static_cast<int>(h), at.cells[h]);
      words_[index(w.counted) + h] = is_counted_[h] ? static_cast<std::uint64_t>(shared) : kNotShared;
      if (is_counted_[h]) shared += counted_bytes(code_.histograms[h]);
    }
    program_.launch("plan", most, kCudaThreads, shared, policy_.stream, words_);
    Outcome made;
    std::vector<std::int64_t> report(index(2 * domains + counters) + sizeof(CudaTrouble) / sizeof(std::int64_t));
    gpu::fetch(report.data(), at.trouble, static_cast<std::int64_t>(report.size() * sizeof(std::int64_t)),
               policy_.stream);
    const auto trouble = [&](int i) { return static_cast<std::uint64_t>(report[index(i)]); };
    made.trouble = {.check = trouble(0), .too_large = trouble(1), .bad_lists = trouble(2), .divided = trouble(3)};
    const auto* const rest = report.data() + sizeof(CudaTrouble) / sizeof(std::int64_t);
    made.lengths.assign(rest, rest + domains);
    made.large.assign(rest + domains, rest + 2 * domains);
    made.totals.assign(rest + 2 * domains, rest + 2 * domains + counters);
    cells_ = at.cells;
    return made;
  }

  /// Returns the cells of a histogram of the last launch.
  [[nodiscard]] std::vector<std::int64_t> cells(std::size_t histogram) const {
    std::vector<std::int64_t> made(index(words_of(code_.histograms[histogram])));
    gpu::fetch(made.data(), cells_[histogram], static_cast<std::int64_t>(made.size() * sizeof(std::int64_t)),
               policy_.stream);
    return made;
  }

 private:
  /// The struct Team of the kernel without counters and domains, and what CUDA reserves.
  static constexpr std::int64_t kTeamBytes = 2 << 10;
  /// Histograms of at most this many cells are counted in shared memory first.
  static constexpr std::int64_t kCounted = 1024;

  struct Parts {
    std::uint64_t* ticket = nullptr;
    std::uint64_t* states = nullptr;
    CudaTrouble* trouble = nullptr;  ///< the lengths and the totals follow
    std::int64_t *lengths = nullptr, *totals = nullptr;
    std::vector<std::int64_t*> cells;
  };
  Parts take_parts(gpu::ScratchParts& parts, std::int64_t blocks) const {
    Parts made;
    made.ticket = parts.take<std::uint64_t>(1);
    const std::int64_t domains = code_.domains;
    auto* const report = parts.take<std::int64_t>(
        static_cast<std::int64_t>(sizeof(CudaTrouble) / sizeof(std::int64_t)) + 2 * domains + cuda_.counters);
    made.trouble = reinterpret_cast<CudaTrouble*>(report);
    if (report != nullptr) {
      made.lengths = report + sizeof(CudaTrouble) / sizeof(std::int64_t);
      made.totals = made.lengths + 2 * domains;
    }
    made.states = parts.take<std::uint64_t>(blocks * cuda_.counters);
    for (const HistogramCode& histogram : code_.histograms) {
      made.cells.push_back(parts.take<std::int64_t>(words_of(histogram)));
    }
    return made;
  }

  [[nodiscard]] std::int64_t team_bytes() const {
    return kTeamBytes + 32 * std::int64_t{cuda_.counters} + 16 * std::int64_t{code_.domains};
  }
  /// Chooses the first histograms, as long as arrays keep half of the shared memory.
  void choose_counted() {
    std::int64_t most = (limits_.shared_per_block - team_bytes()) / 2;
    for (const HistogramCode& histogram : code_.histograms) {
      const bool is_counted = !histogram.has_weights && histogram.cells <= kCounted && counted_bytes(histogram) <= most;
      is_counted_.push_back(is_counted);
      if (is_counted) most -= counted_bytes(histogram);
    }
  }
  static std::int64_t counted_bytes(const HistogramCode& histogram) { return (histogram.cells * 4 + 15) / 16 * 16; }
  [[nodiscard]] std::int64_t counted_bytes() const {
    std::int64_t bytes = 0;
    for (std::size_t h = 0; h < is_counted_.size(); ++h) {
      if (is_counted_[h]) bytes += counted_bytes(code_.histograms[h]);
    }
    return bytes;
  }

  void set_places(const Places& of, int which) {
    const CudaWords& w = cuda_.words;
    const auto domains = index(code_.domains), arrays = cuda_.arrays.size();
    for (std::size_t d = 0; d < domains; ++d) {
      words_[index(w.capacities) + index(which) * domains + d] =
          of.capacities.empty() ? 0 : static_cast<std::uint64_t>(of.capacities[d]);
    }
    for (std::size_t a = 0; a < arrays; ++a) {
      words_[index(w.places) + index(which) * arrays + a] =
          of.places.empty() ? 0 : static_cast<std::uint64_t>(of.places[a]);
    }
  }

  void set(int word, const void* address) { words_[index(word)] = reinterpret_cast<std::uint64_t>(address); }

  void send_axes() {
    std::vector<std::int64_t> all;
    std::vector<std::size_t> begins;
    for (const HistogramCode& histogram : code_.histograms) {
      for (const HistogramCode::AxisCode& axis : histogram.axes) {
        const std::vector<std::int64_t> words = axis_words(axis);
        begins.push_back(all.size());
        all.insert(all.end(), words.begin(), words.end());
      }
    }
    if (all.empty()) return;
    const auto bytes = static_cast<std::int64_t>(all.size() * sizeof(std::int64_t));
    axes_ = DeviceMemory(policy_, bytes);
    gpu::send(axes_.data(), all.data(), bytes, policy_.stream);
    for (std::size_t i = 0; i < begins.size(); ++i) {
      set(cuda_.words.axes + static_cast<int>(i), axes_.data() + begins[i] * sizeof(std::int64_t));
    }
  }

  const Compiled& code_;
  const CudaCode& cuda_;
  const gpu::Program& program_;
  const gpu::Policy& policy_;
  gpu::LaunchLimits limits_;
  std::vector<std::uint64_t> words_;
  std::vector<bool> is_counted_;  ///< of histograms: whether shared memory has cells for them
  DeviceMemory scratch_, axes_, arena_;
  std::vector<std::int64_t*> cells_;
};

/// Throws the Error of the first bad list of some events.
[[noreturn]] void refuse_lists(const Compiled& code, const gpu::Policy& policy, std::span<const Column> columns,
                               std::int64_t begin, std::int64_t count, std::int64_t limit) {
  std::vector<Column> here(columns.begin(), columns.end());
  std::vector<std::vector<std::byte>> offsets;
  for (const InputDomain& input : code.inputs) {
    if (input.column < 0) continue;
    Column& column = here[index(input.column)];
    offsets.emplace_back(index(column.length * size_of(input.offsets)));
    gpu::fetch(offsets.back().data(), column.data, static_cast<std::int64_t>(offsets.back().size()), policy.stream);
    column.data = offsets.back().data();
  }
  Worker worker(code);
  refuse_inputs({code, kernels(Isa::best), nullptr, here.data(), nullptr, limit}, worker, begin, count);
  throw_changed("an array of offsets");
}

}  // namespace

DevicePlans::DevicePlans(const Compiled& code) : cuda(cuda_code(code)) {
  if (cuda.words.count <= kMostWords) return;
  throw Error(Code::unsupported, "plan: its kernel needs " + std::to_string(cuda.words.count) + " words, but takes " +
                                     std::to_string(kMostWords) + "; divide the program into several plans");
}

DevicePlan DevicePlans::get(int device) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = plans_.find(device);
    if (found != plans_.end()) return found->second;
  }
  double seconds = 0;
  DevicePlan made;
  made.program = gpu::program_of(cuda.source, device, seconds);
  keep(device, made);
  return made;
}

void DevicePlans::keep(int device, DevicePlan plan) {
  const std::lock_guard lock(mutex_);
  plans_[device] = std::move(plan);
}

DeviceMemory::DeviceMemory(const gpu::Policy& policy, std::int64_t bytes)
    : bytes_(bytes),
      device_(policy.device),
      stream_(policy.stream),
      resource_(policy.memory != nullptr ? policy.memory : &gpu::pool()) {
  if (bytes > 0) data_ = static_cast<std::byte*>(resource_->allocate(bytes, stream_));
}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  if (this == &other) return *this;
  free();
  data_ = std::exchange(other.data_, nullptr), bytes_ = std::exchange(other.bytes_, 0);
  device_ = other.device_, stream_ = other.stream_, resource_ = other.resource_;
  return *this;
}

void DeviceMemory::free() noexcept {
  if (data_ == nullptr) return;
  try {
    const gpu::CurrentDevice current(device_);
    resource_->deallocate(data_, bytes_, stream_);
  } catch (const Error&) {
    return;  // the device is lost, and its memory with it
  }
}

void DeviceRun::copy(int output, void* to) const {
  const gpu::CurrentDevice current(device_);
  const std::int64_t bytes = sizes[index(output)] * size_of(code->outputs[index(output)].type);
  if (bytes > 0) gpu::fetch(to, outputs[index(output)].data(), bytes, stream_);
}

void DeviceRun::execute(const gpu::Policy& policy, std::span<const Column> columns, std::span<const Scalar> parameters,
                        std::int64_t events, const Limits& limits) {
  const gpu::CurrentDevice current(policy.device);
  (void)gpu::launch_on(policy);  // the stream is one of the device
  gpu::require_no_capture(policy.stream, "the functions that a plan consists of");
  device_ = policy.device, stream_ = policy.stream;
  check_inputs(*code, columns, parameters, events);
  for (const int c : code->used_columns) {
    if (columns[index(c)].length == 0) continue;
    const std::string what = "column " + std::to_string(c);
    gpu::require_device_memory(columns[index(c)].data, policy.device, what.c_str());
  }
  for (const HistogramCode& histogram : code->histograms) {
    if (histogram.has_weights && words_of(histogram) * std::int64_t{8} > kMostSumBytes) {
      throw Error(Code::unsupported, "plan: on a GPU, a histogram with weights has at most " +
                                         std::to_string(kMostSumBytes / (16 * kSumWords)) + " bins, not " +
                                         std::to_string(histogram.cells));
    }
  }
  DevicePlans& plans = code->device_plans();
  DevicePlan plan = plans.get(policy.device);
  Launches launches(*code, plans.cuda, *plan.program, policy, columns, parameters);
  const std::vector<void*> nowhere(code->outputs.size(), nullptr);
  const std::vector<std::int64_t> nothing(code->outputs.size(), 0);
  const auto counter_of = [&](std::size_t o) { return plans.cuda.counter_of_output[o]; };

  const auto fail = [&](const CudaTrouble& trouble) {
    const std::uint64_t what = ~trouble.check;
    failure = Failure{code->messages[index(what & 0xffff)], static_cast<std::int64_t>(what >> 16)};
    outputs.clear(), outputs.resize(code->outputs.size());
    sizes.assign(code->outputs.size(), 0);
  };

  // Runs the first events, with more memory for large events as long as they need it. The first event with an error
  // decides, as on the CPU: later events may not have been run.
  const auto run = [&](Layout& layout, std::int64_t count, std::span<void* const> to,
                       std::span<const std::int64_t> capacities) {
    for (;;) {
      Outcome outcome = launches.run(layout, count, to, capacities);
      const CudaTrouble& trouble = outcome.trouble;
      const std::int64_t failed = trouble.check == 0 ? INT64_MAX : static_cast<std::int64_t>(~trouble.check >> 16);
      const std::int64_t near = trouble.bad_lists == 0 ? INT64_MAX : static_cast<std::int64_t>(~trouble.bad_lists);
      const std::int64_t event = trouble.too_large == 0 ? INT64_MAX : static_cast<std::int64_t>(~trouble.too_large);
      if (failed < std::min(near, event)) return outcome;
      if (near < event) {
        const std::int64_t begin = near / kBlockEvents * kBlockEvents;  // a block of the CPU, whose error is the same
        refuse_lists(*code, policy, columns, begin, std::min(kBlockEvents, events - begin), limits.worker_bytes);
      }
      if (event == INT64_MAX) return outcome;
      plan.large.resize(outcome.large.size());
      for (std::size_t d = 0; d < plan.large.size(); ++d) {
        plan.large[d] = std::max(plan.large[d], outcome.large[d]);
        plan.large[d] = std::max<std::int64_t>(plan.large[d], 1);
        if (plan.large[d] > kMostElements) refuse_event(limits.worker_bytes, event);
      }
      std::vector<std::int64_t> needed = plan.large;
      for (std::size_t d = 0; d < layout.arena.capacities.size(); ++d) {
        needed[d] = std::max(needed[d], layout.arena.capacities[d]);
      }
      layout.arena = placed(*code, plans.cuda.arrays, std::move(needed));
      if (layout.arena.bytes > limits.worker_bytes) refuse_event(limits.worker_bytes, event);
    }
  };

  Outcome outcome{
      .lengths = {}, .large = {}, .totals = std::vector<std::int64_t>(index(plans.cuda.counters)), .trouble = {}};
  if (plan.lengths.empty() && events > 0) {
    const std::int64_t sample = std::min(events, kSample);
    std::vector<std::int64_t> capacities(index(code->domains), kSampleLength);
    capacities[0] = kEventsPerBlock;
    Layout layout{.events = kEventsPerBlock, .shared = {}, .arena = placed(*code, plans.cuda.arrays, capacities)};
    outcome = run(layout, sample, nowhere, nothing);
    if (outcome.trouble.check != 0) return fail(outcome.trouble);
    plan.lengths = outcome.lengths;
    for (const std::int64_t total : outcome.totals) {
      plan.totals.push_back(static_cast<double>(total) / static_cast<double>(sample));
    }
  }
  const auto element_bytes = [&](std::size_t o) { return std::int64_t{size_of(code->outputs[o].type)}; };
  std::vector<std::int64_t> capacities;
  for (std::size_t o = 0; o < code->outputs.size(); ++o) {
    const bool is_known = counter_of(o) < 0 || plan.totals.empty();
    const double share = is_known ? 1.0 : plan.totals[index(counter_of(o))] * 1.02;
    capacities.push_back(static_cast<std::int64_t>(share * static_cast<double>(events)) + (is_known ? 0 : 1024) +
                         (code->outputs[o].is_offsets ? 1 : 0));
  }
  Layout layout;
  if (events > 0) {
    layout.shared = placed_in_shared(*code, plans.cuda, plan.lengths, launches.shared_bytes(), layout.events);
    layout.arena = arena_of(*code, plans.cuda, plan, layout.shared.capacities.empty());
    if (layout.arena.bytes > limits.worker_bytes) {  // of a run with other limits: this run finds out what it needs
      plan.large.clear();
      layout.arena = arena_of(*code, plans.cuda, plan, layout.shared.capacities.empty());
    }
  }
  for (;;) {
    outputs.clear();
    std::vector<void*> to;
    for (std::size_t o = 0; o < code->outputs.size(); ++o) {
      outputs.emplace_back(policy, capacities[o] * element_bytes(o));
      to.push_back(outputs.back().data());
      if (code->outputs[o].is_offsets) gpu::clear(to.back(), element_bytes(o), policy.stream);
    }
    if (events > 0) outcome = run(layout, events, to, capacities);
    if (outcome.trouble.check != 0) return fail(outcome.trouble);
    sizes.clear();
    bool fits = true;
    for (std::size_t o = 0; o < code->outputs.size(); ++o) {
      const std::int64_t elements =
          (counter_of(o) < 0 ? events : outcome.totals[index(counter_of(o))]) + (code->outputs[o].is_offsets ? 1 : 0);
      fits = fits && elements <= capacities[o];
      sizes.push_back(elements);
    }
    if (fits) break;
    capacities = sizes;
  }
  for (std::size_t h = 0; h < code->histograms.size(); ++h) {
    const HistogramCode& histogram = code->histograms[h];
    const std::vector<std::int64_t> words =
        events > 0 ? launches.cells(h) : std::vector<std::int64_t>(index(words_of(histogram)));
    bins.push_back(bins_of(histogram, words));
  }
  if (events < kSample) return;
  // An arena for large events leaves memory for few blocks of threads: the next run has none if it is not needed.
  bool is_large = layout.shared.capacities.empty();
  for (std::size_t d = 0; d < plan.large.size() && !is_large; ++d) {
    is_large = outcome.large[d] > layout.shared.capacities[d];
  }
  if (!is_large) plan.large.clear();
  // Many blocks were divided: the next run finds out how long the lists are.
  const bool is_other = static_cast<std::int64_t>(outcome.trouble.divided) * kDividedShare > events / layout.events;
  if (is_other) plan.lengths.clear(), plan.totals.clear();
  for (std::size_t c = 0; c < plan.totals.size(); ++c) {
    plan.totals[c] = static_cast<double>(outcome.totals[c]) / static_cast<double>(events);
  }
  plans.keep(policy.device, std::move(plan));
}

}  // namespace upsweep::plan::detail
