// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/scan_call.hpp: a scan or a reduction as the compiled library receives it, with the types erased.
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

/// Memory for the ScanCarry of any element type; the templates refuse types that need more.
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

/// The rungs that take one.
struct DeviceScans {
  const char* (*lookahead_refusal)(int device) noexcept;  ///< null where it runs on the current device, which is that
  DeviceKernel<ScanCall> lookahead;
  DeviceKernel<ScanCall> lookback;
};

/// What a scan and a reduction have in common. Compiled operators name their types and operator; custom ones bring their
/// kernel.
struct ElementsCall {
  const void* in = nullptr;
  void* out = nullptr;  ///< of a reduction on a GPU: where the result goes
  std::int64_t n = 0;
  Type in_type = Type::custom;
  Type out_type = Type::custom;
  int in_size = 0;  ///< bytes of an element
  int out_size = 0;
  int carry_size = 0;  ///< bytes of a ScanCarry<Out>
  Operator op = Operator::custom;
  const ScanKernel* custom = nullptr;  ///< the kernel of a custom operator or type, else null
  const void* op_object = nullptr;     ///< its function object
  void* carry = nullptr;               ///< a ScanCarry<Out>: what precedes; advanced by the call, but not on a GPU
  const void* init_at = nullptr;       ///< on a GPU: an element in device memory that stands for the carry's total
  const std::int64_t* n_at =
      nullptr;  ///< on a GPU: how many of the n elements there are, where that is in device memory
  const gpu::Launch* launch = nullptr;  ///< where on a GPU; null: the arrays are the host's
};

struct ScanCall : ElementsCall {
  bool exclusive = false;
  const DeviceScans* device = nullptr;  ///< the kernels on a GPU of a custom operator or type, else null
};

struct ReduceCall : ElementsCall {
  const DeviceKernel<ReduceCall>* device = nullptr;  ///< as in ScanCall
};

/// Both run the rung that the policy names, or the top one that fits, return its id and throw Error.
std::string_view run_scan(const Policy& policy, const ScanCall& call);
std::string_view run_scan(const gpu::Policy& policy, const ScanCall& call);
std::string_view run_reduce(const Policy& policy, const ReduceCall& call);
/// Puts init ⊕ x0 ⊕ … into call.out.
std::string_view run_reduce(const gpu::Policy& policy, const ReduceCall& call);
/// The same into the carry, which is what it waits for; call.out is null.
std::string_view run_reduce_and_wait(const gpu::Policy& policy, const ReduceCall& call);
/// What run_scan() and both run_reduce() on a GPU take.
gpu::WorkspaceSize scan_workspace(const gpu::Policy& policy, const ScanCall& call);
gpu::WorkspaceSize reduce_workspace(const gpu::Policy& policy, const ReduceCall& call);

/// Up to this many elements a call without a named rung runs cpu.serial, inlined: a call into the library takes about
/// as long as the loop needs for 200 (120 ns on a Xeon at 2.5 GHz).
inline constexpr std::int64_t kInlineLength = 256;
inline constexpr std::string_view kInlineRung = "cpu.serial";

/// Throws unsupported for an instruction set that the CPU lacks.
void require_isa(Isa isa);

/// Whether a call of n elements runs inlined. That does not depend on the instruction set, which must be there all the
/// same; a bad thread count goes into the library, which refuses it.
inline bool runs_inline(const Policy& policy, std::int64_t n) {
  const bool inlined =
      n <= kInlineLength && policy.rung.empty() && policy.overflow == Overflow::wrap && policy.threads >= 0;
  if (inlined && policy.isa != Isa::best) require_isa(policy.isa);
  return inlined;
}

/// Whether two arrays are the same memory or do not overlap.
inline bool same_or_apart(const void* in, std::int64_t in_bytes, const void* out, std::int64_t out_bytes) noexcept {
  if (in == out) return in_bytes == out_bytes || in_bytes == 0;  // what is empty may end where the other begins
  const auto a = reinterpret_cast<std::uintptr_t>(in);
  const auto b = reinterpret_cast<std::uintptr_t>(out);
  return a + static_cast<std::uintptr_t>(in_bytes) <= b || b + static_cast<std::uintptr_t>(out_bytes) <= a;
}

/// Throws invalid_argument for a value in device memory, unless null, that lies in the output: it is read while outputs are written.
void require_outside_output(const void* value, std::int64_t bytes, const char* what, const ElementsCall& call);

/// Throws unsupported for an initial value or a length in device memory: of a rung that does not read them there.
void require_values_of_host(const ElementsCall& call, std::string_view rung);
/// The same for a length in device memory alone; null: there is none.
void require_length_of_host(const std::int64_t* n_at, std::string_view rung);

/// Throws overflow for a checked sum.
[[noreturn]] void throw_sum_overflow(Type type);

/// Throws invalid_argument for an array that require_array() refuses.
[[noreturn]] void refuse_array(std::int64_t n, const char* what);
/// Throws invalid_argument for a negative length or a null pointer where there are elements.
inline void require_array(const void* data, std::int64_t n, const char* what) {
  if (n < 0 || (data == nullptr && n > 0)) refuse_array(n, what);
}
/// Throws unequal_lengths.
void require_equal_lengths(std::int64_t in, std::int64_t out);

}  // namespace upsweep::detail
