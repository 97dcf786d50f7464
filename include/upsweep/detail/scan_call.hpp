// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/scan_call.hpp: a scan or a reduction as the compiled library receives it, with erased types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/detail/scan_kernel.hpp"
#include "upsweep/error.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/types.hpp"

namespace upsweep::detail {

/// Memory for the ScanCarry of any element type. The templates refuse types that need more.
struct CarryBytes {
  static constexpr std::size_t kSize = 256;
  static constexpr std::size_t kAlignment = 64;
  alignas(kAlignment) std::byte bytes[kSize];
};

struct ScanCall;
struct ReduceCall;

/// A custom operator's kernel on a GPU, compiled where it is used (scan.cuh, reduce.cuh).
template <class Call>
struct DeviceKernel {
  Status (*run)(const Call& call) noexcept;
  gpu::WorkspaceSize (*workspace)(const Call& call) noexcept;
};

/// The rungs that support a custom operator.
struct DeviceScans {
  const char* (*lookahead_refusal)(int device) noexcept;  ///< null if look-ahead runs on `device`, the current device
  DeviceKernel<ScanCall> lookahead;
  DeviceKernel<ScanCall> lookback;
};

/// The common part of a scan and a reduction. Compiled operators name their types and operator. Custom operators
/// provide their kernel.
struct ElementsCall {
  const void* in = nullptr;
  void* out = nullptr;  ///< of a reduction on a GPU: receives the result
  std::int64_t n = 0;
  Type in_type = Type::custom;
  Type out_type = Type::custom;
  int in_size = 0;  ///< bytes of an element
  int out_size = 0;
  int carry_size = 0;  ///< bytes of a ScanCarry<Out>
  Operator op = Operator::custom;
  const ScanKernel* custom = nullptr;   ///< the kernel of a custom operator or type, otherwise null
  const void* op_object = nullptr;      ///< its function object
  void* carry = nullptr;                ///< a ScanCarry<Out>: what precedes; advanced by the call, except on a GPU
  const void* init_at = nullptr;        ///< on a GPU: an element in device memory that replaces the carry's total
  const std::int64_t* n_at = nullptr;   ///< on a GPU: the number of elements in device memory, at most n; null: n
  const gpu::Launch* launch = nullptr;  ///< where it runs on a GPU; null: the arrays are in host memory
};

struct ScanCall : ElementsCall {
  bool exclusive = false;
  const DeviceScans* device = nullptr;  ///< the GPU kernels of a custom operator or type, otherwise null
};

struct ReduceCall : ElementsCall {
  const DeviceKernel<ReduceCall>* device = nullptr;  ///< as in ScanCall
};

/// Both run the rung that the policy names, or the top rung that supports the call. They return its id and throw Error.
std::string_view run_scan(const Policy& policy, const ScanCall& call);
std::string_view run_scan(const gpu::Policy& policy, const ScanCall& call);
std::string_view run_reduce(const Policy& policy, const ReduceCall& call);
/// Writes init ⊕ x0 ⊕ … to call.out.
std::string_view run_reduce(const gpu::Policy& policy, const ReduceCall& call);
/// Waits, and writes the result to the carry. call.out is null.
std::string_view run_reduce_and_wait(const gpu::Policy& policy, const ReduceCall& call);
/// Return the workspace that run_scan() and both run_reduce() need on a GPU.
gpu::WorkspaceSize scan_workspace(const gpu::Policy& policy, const ScanCall& call);
gpu::WorkspaceSize reduce_workspace(const gpu::Policy& policy, const ReduceCall& call);

/// A call of at most this many elements without a named rung runs cpu.serial, inlined. A call into the library takes
/// about as long as the loop over 200 elements (120 ns on a Xeon at 2.5 GHz).
inline constexpr std::int64_t kInlineLength = 256;
inline constexpr std::string_view kInlineRung = "cpu.serial";

/// Throws unsupported for an instruction set that the CPU lacks.
void require_isa(Isa isa);

/// Whether a call of n elements runs inlined. That does not depend on the instruction set, which must be available in
/// any case. A bad thread count is passed to the library, which refuses it.
inline bool runs_inline(const Policy& policy, std::int64_t n) {
  const bool inlined =
      n <= kInlineLength && policy.rung.empty() && policy.overflow == Overflow::wrap && policy.threads >= 0;
  if (inlined && policy.isa != Isa::best) require_isa(policy.isa);
  return inlined;
}

/// Whether two arrays are the same memory or do not overlap.
inline bool same_or_apart(const void* in, std::int64_t in_bytes, const void* out, std::int64_t out_bytes) noexcept {
  if (in == out) return in_bytes == out_bytes || in_bytes == 0;  // an empty array may end where the other begins
  const auto a = reinterpret_cast<std::uintptr_t>(in);
  const auto b = reinterpret_cast<std::uintptr_t>(out);
  return a + static_cast<std::uintptr_t>(in_bytes) <= b || b + static_cast<std::uintptr_t>(out_bytes) <= a;
}

/// Throws invalid_argument if a value in device memory (null: none) is inside the output. The value is read while
/// outputs are written.
void require_outside_output(const void* value, std::int64_t bytes, const char* what, const ElementsCall& call);

/// Throws unsupported for an initial value or a length in device memory, for a rung that does not read them there.
void require_values_of_host(const ElementsCall& call, std::string_view rung);
/// Throws unsupported for a length in device memory only. A null pointer means none.
void require_length_of_host(const std::int64_t* n_at, std::string_view rung);

/// Throws overflow for a checked sum.
[[noreturn]] void throw_sum_overflow(Type type);

/// Throws invalid_argument for an array that require_array() refuses.
[[noreturn]] void refuse_array(std::int64_t n, const char* what);
/// Throws invalid_argument for a negative length, or for a null pointer if there are elements.
inline void require_array(const void* data, std::int64_t n, const char* what) {
  if (n < 0 || (data == nullptr && n > 0)) refuse_array(n, what);
}
/// Throws unequal_lengths if they differ.
void require_equal_lengths(std::int64_t in, std::int64_t out);

}  // namespace upsweep::detail
