// SPDX-License-Identifier: Apache-2.0
// core/ladder.hpp: a rung as the row that its file declares, a ladder as a list of rungs, and how a call finds its own.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "upsweep/error.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/policy.hpp"

namespace upsweep {

/// `Call` is what a rung of the problem is handed; const where it writes nothing back into it.
template <class Call>
struct Rung {
  RungInfo info;
  /// Null where the rung can run the call on this machine, else the reason why not; a null function refuses nothing.
  const char* (*refusal)(const Call& call, const Policy& policy) noexcept = nullptr;
  Status (*run)(Call& call, const Policy& policy) noexcept = nullptr;  ///< null: not built
  /// Device memory that the call needs; null: none.
  gpu::WorkspaceSize (*workspace)(const Call& call) noexcept = nullptr;
};

/// What stands for the functions of a rung in a build without them.
struct NotBuilt {
  template <class Function>
  constexpr operator Function*() const noexcept {  // NOLINT(google-explicit-constructor): a null pointer
    return nullptr;
  }
};
#if !UPSWEEP_HAS_CUDA
// What the rows of rungs on a GPU name in a build without CUDA.
inline constexpr NotBuilt launch{};
template <auto>
inline constexpr NotBuilt launch_by{};
inline constexpr NotBuilt workspace{};
template <auto>
inline constexpr NotBuilt workspace_by{};
#endif

/// From the naive loop up.
template <class Call>
using Ladder = std::span<const Rung<Call>* const>;

template <class Call>
std::vector<RungInfo> infos(Ladder<Call> ladder) {
  std::vector<RungInfo> all;
  for (const auto* rung : ladder) all.push_back(rung->info);
  return all;
}

/// Why a rung of that backend cannot take arrays that lie on a device, or do not; null where it can.
const char* backend_refusal(Backend backend, bool on_device) noexcept;

template <class Call>
bool is_on_device(const Call& call) {
  if constexpr (requires { call.launch; }) return call.launch != nullptr;
  return false;
}

/// Why the rung cannot run the call here, or null.
template <class Call>
const char* refusal_of(const Rung<Call>& rung, std::type_identity_t<const Call>& call, const Policy& policy) noexcept {
  if (rung.run == nullptr) return "not built";
  const char* reason = backend_refusal(rung.info.backend(), is_on_device(call));
  if (reason != nullptr || rung.refusal == nullptr) return reason;
  return rung.refusal(call, policy);
}

/// The rung, if it can run the call. Throws unsupported.
template <class Call>
const Rung<Call>& usable(const Rung<Call>* rung, std::type_identity_t<const Call>& call, const Policy& policy) {
  const char* reason = refusal_of(*rung, call, policy);
  if (reason != nullptr) throw Error(Code::unsupported, std::string(rung->info.id) + ": " + reason);
  return *rung;
}

/// Throws unknown_rung, or unsupported for a rung of another ladder, and says which ones are available (`known`).
[[noreturn]] void refuse_rung(std::string_view id, const std::string& known);

/// Throws as refuse_rung() does.
template <class Call>
const Rung<Call>* rung_called(Ladder<Call> ladder, std::string_view id) {
  for (const auto* rung : ladder) {
    if (rung->info.id == id) return rung;
  }
  std::string known;
  for (const auto* rung : ladder) known.append(known.empty() ? "" : ", ").append(rung->info.id);
  refuse_rung(id, known);
}

/// The rung that the policy names, if it can run the call. Throws unknown_rung and unsupported.
template <class Call>
const Rung<Call>& named_rung(Ladder<Call> ladder, std::type_identity_t<const Call>& call, const Policy& policy) {
  return usable(rung_called(ladder, policy.rung), call, policy);
}

/// Throws invalid_argument for a negative thread count and unsupported for an instruction set that the CPU lacks.
void require_policy(const Policy& policy);

/// Throws the Error of a failure that is the same for every problem.
[[noreturn]] void throw_status(const Status& status, std::string_view rung);

/// Why a SIMD rung cannot run under the policy's instruction set, or null.
const char* isa_refusal(Isa isa) noexcept;

/// The same as a rung's refusal.
template <class Call>
const char* needs_isa(const Call&, const Policy& policy) noexcept {
  return isa_refusal(policy.isa);
}

}  // namespace upsweep
