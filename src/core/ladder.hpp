// SPDX-License-Identifier: Apache-2.0
// core/ladder.hpp: a rung as the row that its file declares, a ladder as a list of rungs, and how a call chooses one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "upsweep/detail/no_cuda.hpp"
#include "upsweep/error.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/policy.hpp"

namespace upsweep {

/// `Call` is the argument of the problem's rungs. It is const if they write nothing back into it.
template <class Call>
struct Rung {
  RungInfo info;
  /// Returns null if the rung can run the call on this machine, otherwise the reason. A null function refuses nothing.
  const char* (*refusal)(const Call& call, const Policy& policy) noexcept = nullptr;
  Status (*run)(Call& call, const Policy& policy) noexcept = nullptr;  ///< null: not built
  /// Device memory that the call needs; null: none.
  gpu::WorkspaceSize (*workspace)(const Call& call) noexcept = nullptr;
};

/// Replaces the functions of a rung in a build without them.
struct NotBuilt {
  template <class Function>
  constexpr operator Function*() const noexcept {  // NOLINT(google-explicit-constructor): a null pointer
    return nullptr;
  }
};
#if !UPSWEEP_HAS_CUDA
// The names in the rows of rungs on a GPU, for a build without CUDA.
inline constexpr NotBuilt launch{};
template <auto>
inline constexpr NotBuilt launch_by{};
inline constexpr NotBuilt workspace{};
template <auto>
inline constexpr NotBuilt workspace_by{};
#endif

/// The rungs of a problem, starting with the naive loop.
template <class Call>
using Ladder = std::span<const Rung<Call>* const>;

template <class Call>
std::vector<RungInfo> infos(Ladder<Call> ladder) {
  std::vector<RungInfo> all;
  for (const auto* rung : ladder) all.push_back(rung->info);
  return all;
}

/// Returns why a rung of that backend cannot process arrays that are, or are not, on a device. Returns null if it can.
const char* backend_refusal(Backend backend, bool on_device) noexcept;

template <class Call>
bool is_on_device(const Call& call) {
  if constexpr (requires { call.launch; }) return call.launch != nullptr;
  return false;
}

/// Returns why the rung cannot run the call here, or null.
template <class Call>
const char* refusal_of(const Rung<Call>& rung, std::type_identity_t<const Call>& call, const Policy& policy) noexcept {
  if (rung.run == nullptr) return "not built";
  const char* reason = backend_refusal(rung.info.backend(), is_on_device(call));
  if (reason != nullptr || rung.refusal == nullptr) return reason;
  return rung.refusal(call, policy);
}

/// Returns the rung if it can run the call. Otherwise throws unsupported.
template <class Call>
const Rung<Call>& usable(const Rung<Call>* rung, std::type_identity_t<const Call>& call, const Policy& policy) {
  const char* reason = refusal_of(*rung, call, policy);
  if (reason != nullptr) throw Error(Code::unsupported, std::string(rung->info.id) + ": " + reason);
  return *rung;
}

/// Throws unknown_rung, or unsupported for a rung of another ladder. The message lists the available rungs (`known`).
[[noreturn]] void refuse_rung(std::string_view id, const std::string& known);

/// Returns the rung with that id. Throws as require_built() and refuse_rung() do.
template <class Call>
const Rung<Call>* rung_called(Ladder<Call> ladder, std::string_view id) {
  detail::require_built(id);
  for (const auto* rung : ladder) {
    if (rung->info.id == id) return rung;
  }
  std::string known;
  for (const auto* rung : ladder) known.append(known.empty() ? "" : ", ").append(rung->info.id);
  refuse_rung(id, known);
}

/// Returns the rung that the policy names, if it can run the call. Throws unknown_rung, unsupported and not_built.
template <class Call>
const Rung<Call>& named_rung(Ladder<Call> ladder, std::type_identity_t<const Call>& call, const Policy& policy) {
  return usable(rung_called(ladder, policy.rung), call, policy);
}

/// Throws invalid_argument for a negative thread count and unsupported for an instruction set that the CPU lacks.
void require_policy(const Policy& policy);

/// Throws the Error for a failure that is the same for every problem.
[[noreturn]] void throw_status(const Status& status, std::string_view rung);

/// Returns why a SIMD rung cannot run with the policy's instruction set, or null.
const char* isa_refusal(Isa isa) noexcept;

/// The refusal of a SIMD rung that supports every call.
template <class Call>
const char* needs_isa(const Call&, const Policy& policy) noexcept {
  return isa_refusal(policy.isa);
}

}  // namespace upsweep
