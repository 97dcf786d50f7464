// SPDX-License-Identifier: Apache-2.0
// plan/block.cpp: runs the instructions of a plan on the events of a block.
//
// A block is tried as a whole. If a domain becomes too large, or a check fails, half of the events are tried. This is
// repeated until the domain fits, or the event is found whose check fails. Results of an event do not depend on the
// other events.
#include "plan/block.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/lists.hpp"
#include "plan/argsort.hpp"
#include "plan/tuples.hpp"
#include "plan/types.hpp"

namespace upsweep::plan::detail {
namespace {

/// Attempts that must succeed before twice the events are tried: an attempt that fails costs up to half of one that
/// succeeds.
constexpr int kSuccesses = 4;

int kernel_of_offsets(ElementType type) { return type == ElementType::int32 ? 0 : type == ElementType::uint32 ? 1 : 2; }

class Attempt {
 public:
  Attempt(const RunContext& context, Worker& worker, std::int64_t begin, std::int64_t count)
      : context_(context), code_(context.code), w_(worker), begin_(begin), count_(count) {}

  /// Returns the check that failed, of several the one recorded first; -1 if none did. Throws TooLarge, Error.
  int run() {
    bind_inputs();
    for (const Instruction& in : code_.instructions) {
      if (in.action == Action::group) {
        group(in);
      } else {
        structure(in);
      }
    }
    return failed_;
  }

  /// Throws the Error of the first list whose offsets are bad.
  void check_inputs() {
    bind_inputs();
    for (std::size_t i = 0; i < code_.inputs.size(); ++i) {
      const InputDomain& input = code_.inputs[i];
      if (input.column < 0) continue;
      const auto [begin, end] = bounds(input.parent);
      const Column& column = column_of(input.column);
      for (std::int64_t list = begin; list < end; ++list) {
        const bool ascends = offset_at(column, input.offsets, list) <= offset_at(column, input.offsets, list + 1);
        if (!ascends) refuse_lists(i, INT64_MAX);
      }
    }
  }

 private:
  // ---- inputs

  void bind_inputs() {
    w_.lengths[0] = count_;
    for (std::size_t i = 0; i < code_.inputs.size(); ++i) bind_input(i);
    for (const BoundColumn& bound : code_.columns) {
      if (bound.is_table) continue;
      const Column& column = column_of(bound.column);
      const auto input = static_cast<std::size_t>(bound.input);
      const std::int64_t begin = bound.input < 0 ? begin_ : w_.begins[input];
      if (bound.input >= 0 && w_.ends[input] > column.length) refuse_lists(input, column.length);
      w_.slots[index(bound.slot)] =
          const_cast<std::byte*>(static_cast<const std::byte*>(column.data)) + begin * size_of(bound.type);
    }
  }

  void bind_input(std::size_t i) {
    const InputDomain& input = code_.inputs[i];
    const auto [begin, end] = bounds(input.parent);
    std::int64_t first = 0, last = 0;
    if (input.column < 0) {
      if (__builtin_mul_overflow(begin, input.size, &first) || __builtin_mul_overflow(end, input.size, &last)) {
        throw Error(Code::overflow, "plan: " + std::to_string(end) + " lists of " + std::to_string(input.size) +
                                        " elements exceed int64");
      }
    } else {
      const Column& column = column_of(input.column);
      if (column.length < end + 1) {
        throw Error(Code::unequal_lengths, "column " + std::to_string(input.column) + " has " +
                                               std::to_string(column.length) + " offsets, but " + std::to_string(end) +
                                               " lists need " + std::to_string(end + 1));
      }
      first = offset_at(column, input.offsets, begin), last = offset_at(column, input.offsets, end);
      if (first < 0 || last < first) refuse_lists(i, INT64_MAX);
    }
    w_.begins[i] = first, w_.ends[i] = last;
    set_length(input.domain, last - first);
  }

  [[nodiscard]] std::pair<std::int64_t, std::int64_t> bounds(std::int32_t input) const {
    if (input < 0) return {begin_, begin_ + count_};
    return {w_.begins[index(input)], w_.ends[index(input)]};
  }

  /// Throws the Error of the first bad list.
  [[noreturn]] void refuse_lists(std::size_t i, std::int64_t content) const {
    while (code_.inputs[i].column < 0 && code_.inputs[i].parent >= 0) {  // regular lists of a list that is too long
      content /= std::max<std::int64_t>(code_.inputs[i].size, 1);
      i = index(code_.inputs[i].parent);
    }
    const InputDomain& input = code_.inputs[i];
    const auto [begin, end] = bounds(input.parent);
    if (input.column < 0) {
      throw Error(Code::unequal_lengths, "plan: " + std::to_string(end) + " lists of " + std::to_string(input.size) +
                                             " elements need " + std::to_string(end * input.size) +
                                             ", but the content has " + std::to_string(content));
    }
    const Column& column = column_of(input.column);
    for (std::int64_t list = begin; list < end; ++list) {
      const std::int64_t start = offset_at(column, input.offsets, list),
                         stop = offset_at(column, input.offsets, list + 1);
      // Offsets ascend also over empty lists, so that an empty list past the end is bad.
      const Code code = stop < start     ? Code::stop_before_start
                        : start < 0      ? Code::negative_start
                        : stop > content ? Code::stop_past_end
                                         : Code::ok;
      if (code != Code::ok) throw_bad_list(code, list, start, stop, content);
    }
    throw_changed("an array of offsets");
  }

  // ---- places

  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] const Column& column_of(std::int32_t column) const { return context_.columns[column]; }

  template <class T>
  [[nodiscard]] T* at(std::int32_t slot) const {
    return static_cast<T*>(w_.slots[index(slot)]);
  }
  std::int32_t* make(std::int32_t slot, std::int64_t elements) {
    return static_cast<std::int32_t*>(make_any(slot, elements));
  }
  void* make_any(std::int32_t slot, std::int64_t elements) {
    return w_.array(code_.slots[index(slot)], slot, elements, context_.limit);
  }
  [[nodiscard]] std::int64_t length(std::int32_t domain) const { return w_.lengths[index(domain)]; }
  void set_length(std::int32_t domain, std::int64_t elements) {
    if (elements > (count_ > 1 ? kBlockElements : kMostElements)) throw TooLarge{};
    w_.lengths[index(domain)] = elements;
  }

  // ---- element-wise

  void group(const Instruction& in) {
    const std::int64_t n = length(in.domain);
    const Step *const first = code_.steps.data() + in.first, *const last = code_.steps.data() + in.last;
    for (const Step* step = first; step < last; ++step) {
      if (step->out_stride == 0) continue;
      if (step->output < 0) {
        make_any(step->out, n);
      } else {  // where the output is, since element-wise kernels write n elements exactly
        w_.slots[index(step->out)] = output_memory(step->output, n);
      }
    }
    for (std::int64_t begin = 0; begin < n; begin += kTile) {
      const std::int64_t count = std::min<std::int64_t>(kTile, n - begin);
      for (const Step* step = first; step < last; ++step) run_step(*step, begin, count);
    }
  }

  void run_step(const Step& step, std::int64_t begin, std::int64_t count) {
    const void* in[4];
    for (int k = 0; k < 4; ++k) {
      if (step.in[k] < 0) continue;
      in[k] = at<std::byte>(step.in[k]) + begin * step.in_stride[k];
    }
    if (step.length_of >= 0) {
      in[2] = step.kernel < kLookup     ? &w_.lengths[index(step.length_of)]
              : step.kernel != kNumbers ? &column_of(code_.slots[index(step.length_of)].index).length
              : step.length_of > 0      ? &w_.begins[index(step.length_of - 1)]
                                        : &begin_;
    }
    std::byte* const out = at<std::byte>(step.out) + begin * step.out_stride;
    if (step.kernel >= kCalls) return call_loop(code_, step, out, in, count);
    context_.elements[step.kernel](out, in, count, begin);
  }

  // ---- structure

  void structure(const Instruction& in) {
    const std::int64_t n = in.domain >= 0 ? length(in.domain) : 0;
    const Kernels& kernels = context_.kernels;
    switch (in.action) {
      case Action::group:
        break;
      case Action::input_offsets: {
        const auto input = static_cast<std::size_t>(in.member);
        const InputDomain& of = code_.inputs[input];
        const auto* from =
            static_cast<const std::byte*>(column_of(of.column).data) + bounds(of.parent).first * size_of(of.offsets);
        const bool is_valid = kernels.input_offsets[kernel_of_offsets(of.offsets)](from, n, make(in.out, n + 1));
        if (!is_valid) refuse_lists(input, INT64_MAX);
        break;
      }
      case Action::regular_offsets: {
        set_length(in.made, checked_product(n, in.size));
        std::int32_t* out = make(in.out, n + 1);
        for (std::int64_t i = 0; i <= n; ++i) out[i] = static_cast<std::int32_t>(i * in.size);
        break;
      }
      case Action::filter: {
        std::int32_t* places = in.out < 0 ? nullptr : make(in.out, n);
        std::int32_t* before = in.extra < 0 ? nullptr : make(in.extra, n + 1);
        set_length(in.made, kernels.filter(at<std::uint8_t>(in.in[0]), n, places, before));
        break;
      }
      case Action::filter_offsets:
        kernels.at(at<std::int32_t>(in.in[1]), at<std::int32_t>(in.in[0]), n + 1, make(in.out, n + 1));
        break;
      case Action::flat_offsets:
        kernels.at(at<std::int32_t>(in.in[0]), at<std::int32_t>(in.in[1]), n + 1, make(in.out, n + 1));
        break;
      case Action::gather_offsets: {
        const auto [offsets, chosen] = gathered(in, n);
        sum_lengths(in, n,
                    [&](std::int64_t i) { return chosen[i] < 0 ? 0 : offsets[chosen[i] + 1] - offsets[chosen[i]]; });
        break;
      }
      case Action::gather_source: {
        const auto [offsets, chosen] = gathered(in, n);
        std::int32_t* from = w_.scratch(1, n, context_.limit);
        for (std::int64_t i = 0; i < n; ++i) from[i] = chosen[i] < 0 ? 0 : offsets[chosen[i]];
        kernels.runs(from, at<std::int32_t>(in.in[2]), n, make(in.out, length(in.made)));
        break;
      }
      case Action::combination_offsets: {
        const std::int32_t* offsets = at<std::int32_t>(in.in[0]);
        const int k = static_cast<int>(in.size);
        if (k == 2 && !in.flag) {
          sum_lengths(in, n, [&](std::int64_t i) {
            const std::int64_t m = offsets[i + 1] - offsets[i];
            return m * (m - 1) / 2;
          });
        } else if (k == 3 && !in.flag) {
          sum_lengths(in, n, [&](std::int64_t i) {
            const std::int64_t m = offsets[i + 1] - offsets[i];
            return m < 4096 ? m * (m - 1) * (m - 2) / 6 : tuple_count(m, 3, false);
          });
        } else {
          sum_lengths(in, n, [&](std::int64_t i) { return tuple_count(offsets[i + 1] - offsets[i], k, in.flag); });
        }
        break;
      }
      case Action::combination_source:
        combination_source(in, n);
        break;
      case Action::product_offsets: {
        const std::int32_t *parents = at<std::int32_t>(in.in[0]), *offsets = at<std::int32_t>(in.in[1]);
        sum_lengths(in, n, [&](std::int64_t i) { return offsets[parents[i] + 1] - offsets[parents[i]]; });
        break;
      }
      case Action::product_source: {
        std::int32_t* from = w_.scratch(1, n, context_.limit);
        kernels.at(at<std::int32_t>(in.in[1]), at<std::int32_t>(in.in[0]), n, from);
        kernels.runs(from, at<std::int32_t>(in.in[2]), n, make(in.out, length(in.made)));
        break;
      }
      case Action::concatenation_offsets: {
        std::int64_t total = 0;
        for (std::int32_t i = in.first; i < in.last; ++i) total += at<std::int32_t>(code_.operands[index(i)])[n];
        set_length(in.made, total);
        std::int32_t* out = make(in.out, n + 1);
        std::memcpy(out, at<std::int32_t>(code_.operands[index(in.first)]),
                    static_cast<std::size_t>(n + 1) * sizeof *out);
        for (std::int32_t i = in.first + 1; i < in.last; ++i)
          kernels.add(at<std::int32_t>(code_.operands[index(i)]), n + 1, out);
        break;
      }
      case Action::concatenation_source:
        concatenation_source(in, n);
        break;
      case Action::pad_offsets: {
        const std::int32_t* offsets = at<std::int32_t>(in.in[0]);
        sum_lengths(in, n,
                    [&](std::int64_t i) { return std::max<std::int64_t>(offsets[i + 1] - offsets[i], in.size); });
        break;
      }
      case Action::pad_source: {
        const std::int32_t *offsets = at<std::int32_t>(in.in[0]), *own = at<std::int32_t>(in.in[1]);
        kernels.pad(offsets, own, n, make(in.out, length(in.made)));
        break;
      }
      case Action::parents:
        kernels.parents(at<std::int32_t>(in.in[0]), n, make(in.out, length(in.made)));
        break;
      case Action::beside:
        beside(in);
        break;
      case Action::reduce: {
        std::int32_t* scratch = w_.scratch(0, length(in.made) + 1, context_.limit);
        void* out = make_any(in.out, n);
        kernels.reduce[in.which][static_cast<int>(in.type)](at<std::byte>(in.in[0]), at<std::int32_t>(in.in[1]), n, out,
                                                            scratch);
        break;
      }
      case Action::argsort: {
        std::int32_t* scratch = w_.scratch(0, length(in.made), context_.limit);
        std::int32_t* out = make(in.out, length(in.made));
        argsort(kernels, in.type, at<std::byte>(in.in[0]), at<std::int32_t>(in.in[1]), n, in.flag, out, scratch);
        break;
      }
      case Action::output:
        output(in, n);
        break;
      case Action::output_offsets:
        output_offsets(in, n);
        break;
      case Action::check:
        if (n > 0 && std::memchr(at<std::byte>(in.in[0]), 0, static_cast<std::size_t>(n)) != nullptr) {
          failed_ = failed_ < 0 ? in.member : std::min(failed_, in.member);
        }
        break;
      case Action::histogram:
        fill_histogram(in, n);
        break;
    }
  }

  static std::int64_t checked_product(std::int64_t x, std::int64_t y) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(x, y, &product)) throw TooLarge{};
    return product;
  }

  /// Makes offsets of lists whose lengths are lengths_of(i).
  template <class F>
  void sum_lengths(const Instruction& in, std::int64_t n, F length_of) {
    std::int32_t* __restrict out = make(in.out, n + 1);
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      out[i] = static_cast<std::int32_t>(total);
      total += length_of(i);  // fits: the elements of a block are less than 2^31, and so are their pairs than 2^62
    }
    out[n] = static_cast<std::int32_t>(total);
    set_length(in.made, total);
  }

  struct Gathered {
    const std::int32_t* offsets;
    const std::int32_t* chosen;  ///< list numbers in range; -1 if there are no lists
  };
  Gathered gathered(const Instruction& in, std::int64_t n) {
    const std::int32_t* given = at<std::int32_t>(in.in[1]);
    const auto last = static_cast<std::int32_t>(length(in.member) - 1);
    std::int32_t* chosen = w_.scratch(0, n, context_.limit);
    for (std::int64_t i = 0; i < n; ++i) chosen[i] = std::min(std::max(given[i], 0), last);
    return {at<std::int32_t>(in.in[0]), chosen};
  }

  void combination_source(const Instruction& in, std::int64_t n) {
    const std::int32_t *offsets = at<std::int32_t>(in.in[0]), *own = at<std::int32_t>(in.in[1]);
    const int k = static_cast<int>(in.size);
    const int members = (in.last - in.first) / 2;
    std::int32_t* out[kMostMembers];
    int member[kMostMembers];
    const std::int32_t* tables[kMostMembers];
    for (int m = 0; m < members; ++m) {
      out[m] = make(code_.operands[index(in.first + 2 * m)], length(in.made));
      member[m] = code_.operands[index(in.first + 2 * m + 1)];
      tables[m] = tuple_table(k, in.flag, member[m]);
    }
    for (std::int64_t list = 0; list < n; ++list) {
      if (tables[0] != nullptr) list = context_.kernels.tuples(tables, members, offsets, own, list, n, out);
      if (list == n) return;
      for (int m = 0; m < members; ++m) {
        put_tuples(offsets[list], offsets[list + 1] - offsets[list], k, in.flag, member[m], out[m] + own[list]);
      }
    }
  }

  void concatenation_source(const Instruction& in, std::int64_t n) {
    const std::int32_t* own = at<std::int32_t>(in.in[0]);
    std::int32_t* out = make(in.out, own[n]);
    const std::int32_t* operands = code_.operands.data();
    if (in.last - in.first == 2) {  // the usual number: no inner loop
      const std::int32_t *x = at<std::int32_t>(operands[in.first]), *y = at<std::int32_t>(operands[in.first + 1]);
      context_.kernels.interleave(x, y, n, out);
      return;
    }
    for (std::int64_t list = 0; list < n; ++list) {
      std::int32_t* to = out + own[list];
      std::int32_t base = 0;
      for (std::int32_t i = in.first; i < in.last; ++i) {
        const std::int32_t* offsets = at<std::int32_t>(operands[i]);
        for (std::int32_t e = offsets[list]; e < offsets[list + 1]; ++e) *to++ = base + e;
        base += offsets[n];
      }
    }
  }

  void beside(const Instruction& in) {
    std::int64_t total = 0;
    for (std::int32_t i = in.first; i < in.last; i += 2) total += length(code_.operands[index(i + 1)]);
    set_length(in.made, total);
    auto* out = static_cast<std::byte*>(make_any(in.out, total));
    for (std::int32_t i = in.first; i < in.last; i += 2) {
      const auto bytes = static_cast<std::size_t>(length(code_.operands[index(i + 1)]) * size_of(in.type));
      if (bytes > 0) std::memcpy(out, at<std::byte>(code_.operands[index(i)]), bytes);
      out += bytes;
    }
  }

  void output(const Instruction& in, std::int64_t n) {
    if (in.flag) return;  // a step has computed it where it is
    const auto bytes = static_cast<std::size_t>(n * size_of(in.type));
    if (bytes > 0) std::memcpy(output_memory(in.member, n), at<std::byte>(in.in[0]), bytes);
  }

  /// Returns memory for the next n elements of an output.
  [[nodiscard]] std::byte* output_memory(std::int32_t output, std::int64_t n) {
    std::byte* const given = given_memory(output, n);
    if (given != nullptr) return given;
    return w_.outputs[index(output)].append(static_cast<std::size_t>(n * size_of(code_.outputs[index(output)].type)));
  }

  /// Returns the caller's memory for n elements of an output, or null if there is none.
  [[nodiscard]] std::byte* given_memory(std::int32_t output, std::int64_t n) const {
    const Destination& given = context_.given[index(output)];
    if (given.data == nullptr) return nullptr;
    const OutputInfo& info = code_.outputs[index(output)];
    const std::int64_t begin = bounds(info.input - 1).first;
    // These elements are outside if the offsets of another block descend. The run fails there.
    if (begin < given.extent.first || n > given.extent.last - begin) return nullptr;
    const std::int64_t before = begin - given.extent.first + (info.is_offsets ? 1 : 0);
    return given.data + before * size_of(info.type);
  }

  void output_offsets(const Instruction& in, std::int64_t n) {
    const std::int32_t* offsets = at<std::int32_t>(in.in[0]);
    std::int64_t& total = w_.list_totals[index(in.member)];
    std::byte* const to = output_memory(in.member, n);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t offset = total + offsets[i + 1];
      std::memcpy(to + i * std::int64_t{sizeof offset}, &offset, sizeof offset);
    }
    total += offsets[n];
  }

  void fill_histogram(const Instruction& in, std::int64_t n) {
    const HistogramCode& histogram = code_.histograms[index(in.member)];
    const Kernels& kernels = context_.kernels;
    std::byte* cells = w_.cells + histogram.offset;
    std::int32_t at_cells[kTile];
    for (std::int64_t begin = 0; begin < n; begin += kTile) {
      const std::int64_t count = std::min<std::int64_t>(kTile, n - begin);
      std::memset(at_cells, 0, sizeof at_cells);
      std::int32_t operand = in.first;
      for (const HistogramCode::AxisCode& axis : histogram.axes) {
        const std::byte* x = at<std::byte>(code_.operands[index(operand++)]) + begin * std::int64_t{sizeof(double)};
        kernels.bin[static_cast<int>(axis.binning.rule)](axis.binning, x, count, at_cells);
      }
      if (histogram.has_weights) {
        const double* weights = at<double>(code_.operands[index(operand)]) + begin;
        kernels.add_weights(at_cells, weights, count, reinterpret_cast<WeightedBin*>(cells));
      } else {
        const std::int64_t distance = histogram.copies > 1 ? histogram.cells : 0;
        kernels.count(at_cells, count, reinterpret_cast<std::int64_t*>(cells), distance);
      }
    }
  }

  const RunContext& context_;
  const Compiled& code_;
  Worker& w_;
  std::int64_t begin_, count_;
  int failed_ = -1;
};

}  // namespace

void refuse_event(std::int64_t limit, std::int64_t event) {
  throw Error(Code::out_of_memory,
              "plan: the lists of event " + std::to_string(event) + " need more than the " +
                  std::to_string(limit >> 20) + " MiB of Limits::worker_bytes, or more than 2^31 - 4096 elements",
              event);
}

void refuse_inputs(const RunContext& context, Worker& worker, std::int64_t begin, std::int64_t count) {
  bool is_too_large = false;
  try {  // all at once, as a run does
    Attempt(context, worker, begin, count).check_inputs();
  } catch (const TooLarge&) {
    is_too_large = true;
  }
  if (!is_too_large) return;
  for (std::int64_t event = begin; event < begin + count; ++event) {
    try {
      Attempt(context, worker, event, 1).check_inputs();
    } catch (const TooLarge&) {
      refuse_event(context.limit, event);
    }
  }
}

std::optional<Failure> run_block(const RunContext& context, Worker& worker, std::int64_t begin, std::int64_t count) {
  const std::int64_t end = begin + count;
  std::int64_t size = worker.events;
  std::optional<Failure> failed;
  while (begin < end && !failed) {
    const std::int64_t n = std::min(size, end - begin);
    for (std::size_t o = 0; o < worker.outputs.size(); ++o) {
      worker.marks[o] = {worker.outputs[o].size(), worker.list_totals[o]};
    }
    int check = -1;
    bool is_too_large = false;
    try {
      check = Attempt(context, worker, begin, n).run();
    } catch (const TooLarge&) {
      is_too_large = true;
    }
    if (!is_too_large && check < 0) {
      begin += n;
      if (++worker.successes >= kSuccesses && size < kBlockEvents) size *= 2, worker.successes = 0;
      continue;
    }
    for (std::size_t o = 0; o < worker.outputs.size(); ++o) {
      worker.outputs[o].resize_down(worker.marks[o].bytes);
      worker.list_totals[o] = worker.marks[o].total;
    }
    worker.successes = 0;
    if (n > 1) {
      size = n / 2;
      continue;
    }
    if (is_too_large) refuse_event(context.limit, begin);
    failed = Failure{context.code.messages[static_cast<std::size_t>(check)], begin};
  }
  worker.events = size;
  return failed;
}

}  // namespace upsweep::plan::detail
