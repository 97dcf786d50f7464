// SPDX-License-Identifier: Apache-2.0
// upsweep/dynamic.hpp: the library by types and operators known at run time only: what the command and other languages call.
//
// Arrays are a pointer, a length and an element type. Where they are says the policy: a Policy takes the host's memory, a
// gpu::Policy a device's, and Staged the host's by way of a GPU. A scan, a reduction or offsets may come in chunks: the
// carry holds what precedes, and is advanced. Errors are those of scan.hpp, reduce.hpp, offsets.hpp, segmented_reduce.hpp,
// segmented_scan.hpp and segmented_sort.hpp; invalid_argument are floats folded into integers, and min and max of integers in
// a type that does not hold all of the elements' type. select.hpp and pack.hpp move elements by their size, and subset_sum.hpp,
// filtered_sum.hpp, query.hpp, ladder.hpp and climb.hpp have no types to be chosen: they are called as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "upsweep/chunked.hpp"
#include "upsweep/detail/by_key_call.hpp"
#include "upsweep/detail/go_on.hpp"
#include "upsweep/detail/group_by_call.hpp"
#include "upsweep/detail/offsets_call.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/detail/segmented_reduce_call.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/pack.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/segmented_sort.hpp"
#include "upsweep/select.hpp"
#include "upsweep/types.hpp"

namespace upsweep::dynamic {

struct ConstArray {
  const void* data = nullptr;
  std::int64_t length = 0;
  Type type = Type::int64;
};

struct Array {
  void* data = nullptr;
  std::int64_t length = 0;
  Type type = Type::int64;
};

/// What precedes the elements of a scan or a reduction: the ScanCarry of an element type known at run time.
class Carry {
 public:
  /// Nothing.
  explicit Carry(Type type);
  /// One element.
  static Carry of(Type type, const void* element);
  /// The value that an operator starts from: 0 for sums, and the identity of others.
  static Carry identity(Operator op, Type type);

  [[nodiscard]] Type type() const { return type_; }
  /// Whether anything precedes.
  [[nodiscard]] bool any() const;
  /// Writes the value as one element: 0 where nothing precedes.
  void value(void* element) const;
  /// How many times 2^bits a checked sum of integers exceeds the value; 0 where it fits, and for anything else.
  [[nodiscard]] std::int64_t wraps() const;

  [[nodiscard]] void* data() { return bytes_.bytes; }  ///< a ScanCarry
  [[nodiscard]] int size() const;                      ///< its bytes

 private:
  Type type_;
  detail::CarryBytes bytes_{};
};

struct ScanOptions {
  Operator op = Operator::add;
  bool exclusive = false;
};

// Each returns the id of the rung that ran.

/// out[i] = carry ⊕ in[0] ⊕ … ⊕ in[i], without the last where exclusive, in elements of out's type, which is the carry's.
std::string_view scan(const Policy& policy, const ScanOptions& options, ConstArray in, Array out, Carry& carry);
/// On a device, without waiting: nothing may precede, and the carry is not advanced.
std::string_view scan(const gpu::Policy& policy, const ScanOptions& options, ConstArray in, Array out, Carry& carry);
gpu::WorkspaceSize scan_workspace(const gpu::Policy& policy, const ScanOptions& options, ConstArray in, Array out);

/// carry = carry ⊕ in[0] ⊕ …
std::string_view reduce(const Policy& policy, Operator op, ConstArray in, Carry& carry);
/// On a device; waits, as the value is returned in the carry.
std::string_view reduce(const gpu::Policy& policy, Operator op, ConstArray in, Carry& carry);

/// Arrays of outer x length x inner elements, the last axis's side by side; calls along one go along the axis in the middle.
struct Axis {
  std::int64_t outer = 1;
  std::int64_t length = 0;
  std::int64_t inner = 1;
};
/// out[o][i][j] = init ⊕ in[o][0][j] ⊕ … ⊕ in[o][i][j], without the last where exclusive. init is an element of out's type, null
/// what the operator begins with; out may be in. Columns of up to 4,096 elements are folded in order, floats in longer ones in
/// blocks of so many. There is no ladder. Throws what scan() throws; the index of overflow is that of the first such output.
/// Here and below go_on is asked now and then, in any of the threads: false ends the call as interrupted.
void scan_along(const Policy& policy, const ScanOptions& options, const Axis& axis, ConstArray in, Array out,
                const void* init = nullptr, const detail::GoOn& go_on = {});
/// out[o][j] = init ⊕ in[o][0][j] ⊕ …; out does not overlap in.
void reduce_along(const Policy& policy, Operator op, const Axis& axis, ConstArray in, Array out,
                  const void* init = nullptr, const detail::GoOn& go_on = {});

/// offsets[0] = carry.total, offsets[i + 1] = offsets[i] + (stops[i] - starts[i]); starts and stops are int32, uint32 or
/// int64, both the same, and offsets are one longer.
std::string_view offsets(const Policy& policy, ConstArray starts, ConstArray stops, std::int64_t* offsets,
                         OffsetsCarry& carry, bool strict = false);
/// On a device; waits, as the carry is advanced.
std::string_view offsets(const gpu::Policy& policy, ConstArray starts, ConstArray stops, std::int64_t* offsets,
                         OffsetsCarry& carry, bool strict = false);

// ---------------------------------------------------------------------------------------------------------------- lists

/// The lists between n + 1 offsets, of int32, uint32 or int64. Throws unsupported_type, unequal_lengths (not even one).
[[nodiscard]] Lists lists_of_offsets(ConstArray offsets);
/// The lists between as many starts and stops, both of one of these types.
[[nodiscard]] Lists lists_of_bounds(ConstArray starts, ConstArray stops);

/// out[i] = init ⊕ the elements of list i, in elements of out's type; null: their fold, of none the operator's identity, of sums 0.
std::string_view segmented_reduce(const Policy& policy, Operator op, const Lists& lists, ConstArray content, Array out,
                                  const void* init = nullptr, const Mask& valid = {});
/// Of every list any, all (out is uint8), count, count_nonzero, argmin or argmax (int64).
std::string_view segmented_reduce(const Policy& policy, Reducer reducer, const Lists& lists, ConstArray content,
                                  Array out, const Mask& valid = {});
/// out[j] = init ⊕ the elements of j's list up to element j, without that one where exclusive; out is as long as the content.
std::string_view segmented_scan(const Policy& policy, const ScanOptions& options, const Lists& lists,
                                ConstArray content, Array out, const void* init = nullptr, const Mask& valid = {});
/// The elements of every list in order; out is of the content's type.
std::string_view segmented_sort(const Policy& policy, const Lists& lists, ConstArray content, Array out,
                                const SortOptions& options = {});
/// The positions that put them in order; out is int64.
std::string_view segmented_argsort(const Policy& policy, const Lists& lists, ConstArray content, Array out,
                                   const SortOptions& options = {});

/// The same on a device, but for init, which is the host's. They wait, as a bad list is an error.
std::string_view segmented_reduce(const gpu::Policy& policy, Operator op, const Lists& lists, ConstArray content,
                                  Array out, const void* init = nullptr, const Mask& valid = {});
std::string_view segmented_reduce(const gpu::Policy& policy, Reducer reducer, const Lists& lists, ConstArray content,
                                  Array out, const Mask& valid = {});
std::string_view segmented_scan(const gpu::Policy& policy, const ScanOptions& options, const Lists& lists,
                                ConstArray content, Array out, const void* init = nullptr, const Mask& valid = {});
std::string_view segmented_sort(const gpu::Policy& policy, const Lists& lists, ConstArray content, Array out,
                                const SortOptions& options = {});
std::string_view segmented_argsort(const gpu::Policy& policy, const Lists& lists, ConstArray content, Array out,
                                   const SortOptions& options = {});

/// out_keys[r], out[r] = the key of run r, init ⊕ its values; both have capacity for the runs, out_keys is of the keys'
/// type. On a device too: see by_key.hpp.
ReducedByKey reduce_by_key(const Policy& policy, Operator op, ConstArray keys, ConstArray values, Array out_keys,
                           Array out, const void* init = nullptr);
ReducedByKey reduce_by_key(const gpu::Policy& policy, Operator op, ConstArray keys, ConstArray values, Array out_keys,
                           Array out, const void* init = nullptr);
/// out[j] = init ⊕ the values of j's run up to value j, without that one where exclusive.
std::string_view scan_by_key(const Policy& policy, const ScanOptions& options, ConstArray keys, ConstArray values,
                             Array out, const void* init = nullptr);
std::string_view scan_by_key(const gpu::Policy& policy, const ScanOptions& options, ConstArray keys, ConstArray values,
                             Array out, const void* init = nullptr);

/// out_keys[g], out[g] = the key of group g, the fold of its values, and counts[g] how many rows it has where `counts`
/// holds any; all have capacity for the groups, out_keys is of the keys' type, counts of int64. On a device too: see
/// group_by.hpp. go_on is asked by cpu.serial and by what the API runs.
Grouped group_by(const Policy& policy, Operator op, ConstArray keys, ConstArray values, Array out_keys, Array out,
                 Array counts = {}, const detail::GoOn& go_on = {});
Grouped group_by(const gpu::Policy& policy, Operator op, ConstArray keys, ConstArray values, Array out_keys, Array out,
                 Array counts = {});

/// A column for select() and pack(). Throws invalid_argument where both are not of one type.
[[nodiscard]] ContentColumn content_column(ConstArray content, Array out);

// -------------------------------------------------------------------------------------------------------------- on a GPU

/// Calls on the host's arrays by way of a GPU: a chunk goes there, is computed, and comes back. Once a rung has run,
/// all chunks run it, but of lists, where each call chooses. Checked sums of lists are exact ones; others are run where
/// no order of the elements could overflow, and refused (unsupported) else.
class Staged {
 public:
  /// Scans and reductions go there as chunked.hpp says, with at most `device_bytes` of the device's memory; `threads` copy. Throws
  /// not_built, no_device.
  explicit Staged(std::string_view rung = {}, int device = 0, std::int64_t device_bytes = 0, int threads = 0);
  ~Staged();
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  std::string_view scan(Overflow overflow, const ScanOptions& options, ConstArray in, Array out, Carry& carry);
  std::string_view reduce(Overflow overflow, Operator op, ConstArray in, Carry& carry);
  std::string_view offsets(ConstArray starts, ConstArray stops, std::int64_t* offsets, OffsetsCarry& carry,
                           bool strict = false);

  // Lists, whose bounds, validity and content go there. Elements in no list: 0 of scans and positions; a sort leaves them as they are.
  std::string_view segmented_reduce(Overflow overflow, Operator op, const Lists& lists, ConstArray content, Array out,
                                    const void* init = nullptr, const Mask& valid = {});
  std::string_view segmented_reduce(Reducer reducer, const Lists& lists, ConstArray content, Array out,
                                    const Mask& valid = {});
  std::string_view segmented_scan(Overflow overflow, const ScanOptions& options, const Lists& lists, ConstArray content,
                                  Array out, const void* init = nullptr, const Mask& valid = {});
  std::string_view segmented_sort(const Lists& lists, ConstArray content, Array out, const SortOptions& options = {});
  std::string_view segmented_argsort(const Lists& lists, ConstArray content, Array out,
                                     const SortOptions& options = {});
  Selected select(const Lists& lists, const Mask& mask, std::int64_t* out_offsets,
                  std::span<const SelectColumn> columns);
  Selected select(const Mask& mask, std::span<const SelectColumn> columns);
  PackResult pack_offsets(const Lists& lists, std::int64_t content, std::int64_t* offsets);
  PackResult pack_content(const Lists& lists, const std::int64_t* offsets, std::span<const PackColumn> columns);

  [[nodiscard]] gpu::StagingTimes times() const;
  /// Of scans and reductions.
  [[nodiscard]] const gpu::ChunkedUse& use() const;
  [[nodiscard]] gpu::LinkRates measure_link() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace upsweep::dynamic
