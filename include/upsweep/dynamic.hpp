// SPDX-License-Identifier: Apache-2.0
// upsweep/dynamic.hpp: calls with types and operators known only at run time, for the command and other languages.
//
// An array is a pointer, a length and an element type. The policy says where the array is: a Policy expects host
// memory, a gpu::Policy device memory, and Staged host memory for a call on a GPU. The input of a scan, a reduction or
// offsets may be passed in chunks. The carry contains the result of the preceding chunks, and each call updates it.
// Errors are those of scan.hpp, reduce.hpp, offsets.hpp, segmented_reduce.hpp, segmented_scan.hpp and
// segmented_sort.hpp. Two more cases are invalid_argument. The first is floats folded into integers. The second is min
// and max of integers in a type that cannot represent all values of the elements' type. Call the functions of other
// headers directly: those of select.hpp and pack.hpp move elements by their size, and those of subset_sum.hpp,
// filtered_sum.hpp, query.hpp, ladder.hpp and climb.hpp have no types to choose.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

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

/// The fold of what precedes the elements of a scan or a reduction: the ScanCarry of an element type known at run time.
class Carry {
 public:
  /// Makes an empty carry: nothing precedes.
  explicit Carry(Type type);
  /// Returns a carry of one element.
  static Carry of(Type type, const void* element);
  /// Returns the value that an operator starts from: 0 for sums, and the identity of the other operators.
  static Carry identity(Operator op, Type type);

  [[nodiscard]] Type type() const { return type_; }
  /// Returns whether anything precedes.
  [[nodiscard]] bool any() const;
  /// Writes the value as one element: 0 if nothing precedes.
  void value(void* element) const;
  /// Returns how many times 2^bits a checked sum of integers exceeds the value; 0 if it fits, and for all other types.
  [[nodiscard]] std::int64_t wraps() const;

  [[nodiscard]] void* data() { return bytes_.bytes; }  ///< a ScanCarry
  [[nodiscard]] int size() const;                      ///< in bytes

 private:
  Type type_;
  detail::CarryBytes bytes_{};
};

struct ScanOptions {
  Operator op = Operator::add;
  bool exclusive = false;
};

// Each returns the id of the rung that ran.

/// Computes out[i] = carry ⊕ in[0] ⊕ … ⊕ in[i], without in[i] if exclusive. The type of the computation is the type of
/// `out`, which is also the type of the carry.
std::string_view scan(const Policy& policy, const ScanOptions& options, ConstArray in, Array out, Carry& carry);
/// Computes a scan on a device, without waiting. The carry must be empty and is not advanced.
std::string_view scan(const gpu::Policy& policy, const ScanOptions& options, ConstArray in, Array out, Carry& carry);
/// Returns the size of the Workspace that such a scan needs.
gpu::WorkspaceSize scan_workspace(const gpu::Policy& policy, const ScanOptions& options, ConstArray in, Array out);

/// Computes carry = carry ⊕ in[0] ⊕ ….
std::string_view reduce(const Policy& policy, Operator op, ConstArray in, Carry& carry);
/// Computes a reduction on a device. Waits, because the result is returned in the carry.
std::string_view reduce(const gpu::Policy& policy, Operator op, ConstArray in, Carry& carry);

/// The shape of an array of outer x length x inner elements, in row-major order. Calls along an axis use the middle
/// one.
struct Axis {
  std::int64_t outer = 1;
  std::int64_t length = 0;
  std::int64_t inner = 1;
};
/// Computes scans along an axis: out[o][i][j] = init ⊕ in[o][0][j] ⊕ … ⊕ in[o][i][j], without the last element if
/// exclusive. `init` is an element of out's type; null: the value that the operator begins with. `out` may be `in`.
/// Columns of up to 4,096 elements are folded in order. In longer columns, floats are folded in blocks of 4,096. This
/// call has no ladder. Throws what scan() throws; the index of overflow is the first output that does not fit. In this
/// function and those below, any of the threads calls `go_on` from time to time. If `go_on` returns false, the call
/// ends with the error interrupted.
void scan_along(const Policy& policy, const ScanOptions& options, const Axis& axis, ConstArray in, Array out,
                const void* init = nullptr, const detail::GoOn& go_on = {});
/// Computes reductions along an axis: out[o][j] = init ⊕ in[o][0][j] ⊕ …. `out` must not overlap `in`.
void reduce_along(const Policy& policy, Operator op, const Axis& axis, ConstArray in, Array out,
                  const void* init = nullptr, const detail::GoOn& go_on = {});

/// Computes offsets: offsets[0] = carry.total, offsets[i + 1] = offsets[i] + (stops[i] - starts[i]). `starts` and
/// `stops` are int32, uint32 or int64, both of one type. `offsets` has one element more.
std::string_view offsets(const Policy& policy, ConstArray starts, ConstArray stops, std::int64_t* offsets,
                         OffsetsCarry& carry, bool strict = false);
/// Computes offsets on a device. Waits, because the carry is updated.
std::string_view offsets(const gpu::Policy& policy, ConstArray starts, ConstArray stops, std::int64_t* offsets,
                         OffsetsCarry& carry, bool strict = false);

// --------------------------------------------------------------------------------------------------------------- lists

/// Returns the lists between n + 1 offsets of int32, uint32 or int64. Throws unsupported_type, unequal_lengths (no
/// offset).
[[nodiscard]] Lists lists_of_offsets(ConstArray offsets);
/// Returns the lists between starts and stops. Both have the same length and one of these types.
[[nodiscard]] Lists lists_of_bounds(ConstArray starts, ConstArray stops);

/// Computes out[i] = init ⊕ the elements of list i, in out's type. If `init` is null, only the elements are folded;
/// the result of an empty list is then the operator's identity, for sums 0.
std::string_view segmented_reduce(const Policy& policy, Operator op, const Lists& lists, ConstArray content, Array out,
                                  const void* init = nullptr, const Mask& valid = {});
/// Computes any, all (out is uint8), count, count_nonzero, argmin or argmax (out is int64) of each list.
std::string_view segmented_reduce(const Policy& policy, Reducer reducer, const Lists& lists, ConstArray content,
                                  Array out, const Mask& valid = {});
/// Computes out[j] = init ⊕ the elements of j's list up to element j, without element j if exclusive. `out` is as long
/// as the content.
std::string_view segmented_scan(const Policy& policy, const ScanOptions& options, const Lists& lists,
                                ConstArray content, Array out, const void* init = nullptr, const Mask& valid = {});
/// Sorts the elements of each list; `out` has the content's type.
std::string_view segmented_sort(const Policy& policy, const Lists& lists, ConstArray content, Array out,
                                const SortOptions& options = {});
/// Computes the positions that sort the elements of each list; `out` is int64.
std::string_view segmented_argsort(const Policy& policy, const Lists& lists, ConstArray content, Array out,
                                   const SortOptions& options = {});

/// Overloads for device memory; only `init` is in host memory. They wait, because a bad list is an error.
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

/// Reduces each run of equal keys: out_keys[r] = the key of run r, out[r] = init ⊕ its values. Both outputs have
/// capacity for the runs, and out_keys has the type of the keys. The second overload is for a device: see by_key.hpp.
ReducedByKey reduce_by_key(const Policy& policy, Operator op, ConstArray keys, ConstArray values, Array out_keys,
                           Array out, const void* init = nullptr);
ReducedByKey reduce_by_key(const gpu::Policy& policy, Operator op, ConstArray keys, ConstArray values, Array out_keys,
                           Array out, const void* init = nullptr);
/// Computes out[j] = init ⊕ the values of j's run up to value j, without value j if exclusive.
std::string_view scan_by_key(const Policy& policy, const ScanOptions& options, ConstArray keys, ConstArray values,
                             Array out, const void* init = nullptr);
std::string_view scan_by_key(const gpu::Policy& policy, const ScanOptions& options, ConstArray keys, ConstArray values,
                             Array out, const void* init = nullptr);

/// Reduces each group of equal keys: out_keys[g] = the key of group g, out[g] = the fold of its values. Unless
/// `counts` is empty, it also writes counts[g] = the number of rows of group g. All outputs have capacity for the
/// groups. The type of out_keys is that of the keys, and the type of counts is int64. Only cpu.serial and the rung that
/// the API runs call `go_on`. The second overload is for a device: see group_by.hpp.
Grouped group_by(const Policy& policy, Operator op, ConstArray keys, ConstArray values, Array out_keys, Array out,
                 Array counts = {}, const detail::GoOn& go_on = {});
Grouped group_by(const gpu::Policy& policy, Operator op, ConstArray keys, ConstArray values, Array out_keys, Array out,
                 Array counts = {});

/// Returns a column for select() and pack(). Throws invalid_argument if both arrays do not have one type.
[[nodiscard]] ContentColumn content_column(ConstArray content, Array out);

// ------------------------------------------------------------------------------------------------------------ on a GPU

/// Calls on host arrays that compute on a GPU: each chunk is copied to the device, computed, and copied back. All
/// chunks run the rung that the first chunk ran. In calls on lists, each call chooses its rung. Checked sums of lists
/// are exact. Other checked sums run only if no order of the elements could overflow; otherwise they are refused
/// (unsupported).
class Staged {
 public:
  /// Chooses the device. Scans and reductions run as in chunked.hpp, with at most `device_bytes` of the device's
  /// memory and copies by `threads` threads. Throws not_built, no_device.
  explicit Staged(std::string_view rung = {}, int device = 0, std::int64_t device_bytes = 0, int threads = 0);
  ~Staged();
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  std::string_view scan(Overflow overflow, const ScanOptions& options, ConstArray in, Array out, Carry& carry);
  std::string_view reduce(Overflow overflow, Operator op, ConstArray in, Carry& carry);
  std::string_view offsets(ConstArray starts, ConstArray stops, std::int64_t* offsets, OffsetsCarry& carry,
                           bool strict = false);

  // Calls on lists also copy bounds, validity and content to the device. For elements in no list, scans and positions
  // write 0, and a sort leaves the output unchanged.
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
  /// Returns the use of scans and reductions.
  [[nodiscard]] const gpu::ChunkedUse& use() const;
  [[nodiscard]] gpu::LinkRates measure_link() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace upsweep::dynamic
